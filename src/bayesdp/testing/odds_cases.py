"""Random small networks and hidden Markov chains whose leakage the oracle can measure, as Hypothesis strategies."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from bayesdp.models import HiddenMarkov, Network
from bayesdp.models.odds import log_odds_ratio, odds_above
from bayesdp.testing.cases import Case, _entries, _laws, _values, finite_case, transition_matrices

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["hidden_markov_cases", "network_cases", "tree_cases"]

Pairs = Sequence[tuple[int, int]]


@st.composite
def tree_cases(draw: st.DrawFn) -> Case:
    """Draw a forest of up to four records and one hidden vertex, by its edges or by its degree and odds."""
    size = draw(st.integers(1, 5))
    parents = [draw(st.integers(-1, i - 1)) for i in range(1, size)]
    return draw(_field_cases(size, [(parent, i + 1) for i, parent in enumerate(parents) if parent >= 0], forest=True))


@st.composite
def network_cases(draw: st.DrawFn) -> Case:
    """Draw a network of up to four records and one hidden vertex, loops included, by its edges or by bounds."""
    size = draw(st.integers(1, 5))
    pairs = list(itertools.combinations(range(size), 2))
    return draw(_field_cases(size, draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [], forest=False))


@st.composite
def hidden_markov_cases(draw: st.DrawFn) -> Case:
    """Draw a hidden Markov chain of up to four records, by its probabilities or by their odds, from any start."""
    hidden, emitted = draw(st.sampled_from([(2, 2), (3, 2), (2, 3)]))
    records = draw(st.integers(1, 4 if emitted == 2 else 3))
    transition = draw(transition_matrices(hidden, zeros=False))
    emission = np.array([draw(_laws(emitted, zeros=False)) for _ in range(hidden)])
    joint = draw(_laws(hidden, zeros=False))[:, None] * emission  # hidden state now, then what was emitted until now
    for _ in range(records - 1):
        joint = np.einsum("z...,zy,yv->y...v", joint, transition, emission)
    values = draw(_values(emitted))
    length = draw(st.sampled_from([records, records + 3, None]))
    if draw(st.booleans()):
        model = HiddenMarkov(transition, emission, states=values, length=length)
    else:
        odds = [odds_above([log_odds_ratio(each)]) for each in (transition, emission)]
        model = HiddenMarkov(transition_odds=odds[0], emission_odds=odds[1], length=length)
    return finite_case(draw, model, joint.sum(axis=0), values)


@st.composite
def _field_cases(draw: st.DrawFn, size: int, pairs: Pairs, forest: bool) -> Case:
    """Draw a law with an arbitrary weight for each pair of values along each edge, and for each value of a vertex."""
    states = 2 if size > 3 else draw(st.integers(2, 3))
    hidden = [draw(st.integers(0, size - 1))] if size > 4 or (size > 1 and draw(st.booleans())) else []
    scale = draw(st.sampled_from([0.1, 0.5, 1.5]))
    joint: NDArray[np.float64] = np.ones((states,) * size)
    for vertex in range(size):
        joint = joint * draw(_laws(states, zeros=False)).reshape([states if k == vertex else 1 for k in range(size)])
    edges = []
    for first, second in pairs:
        cells = draw(st.lists(_entries(-scale, scale), min_size=states**2, max_size=states**2))
        weights = np.exp(np.array(cells).reshape(states, states))
        edges.append((first, second, odds_above([log_odds_ratio(weights)])))
        joint = joint * weights.reshape([states if k in (first, second) else 1 for k in range(size)])
    joint = joint.sum(axis=tuple(hidden))
    if draw(st.booleans()):
        model = Network(edges=edges, records=size, hidden=hidden)
    else:
        degree = int(np.bincount(np.array(pairs, dtype=int).ravel(), minlength=1).max())
        records = draw(st.sampled_from([None, size]))
        odds = max([1.0, *(each[2] for each in edges)])
        model = Network(odds=odds, degree=degree, records=records, forest=forest)
    return finite_case(draw, model, joint / joint.sum(), draw(_values(states)))
