"""Hypothesis strategies of random joint laws of a few records, each with a model that covers it.

A function makes the model from the law: `chain_laws(lambda odds, hidden: OddsChain(odds.max()))`. So the same laws test
any model that covers them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from bayesdp.audit.oracle import chain_joint
from bayesdp.audit.side_information import odds_ratios
from bayesdp.models import ArbitraryGroups, Independent, MarkovChain, Model
from bayesdp.models.chain import Chain
from bayesdp.models.memory import joint_law, stationary_law
from bayesdp.queries import Count, Query
from bayesdp.testing.cases import Case, finite_case

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Law",
    "additive_laws",
    "chain_laws",
    "group_laws",
    "hidden_chain_laws",
    "independent_laws",
    "markov_laws",
    "memory_chain_laws",
    "network_laws",
    "release_cases",
    "series_laws",
    "side_information",
    "tree_laws",
]

FromOdds = Callable[["NDArray[np.float64]", tuple[int, ...]], Model]
"""From the odds ratios of every two vertices, and the hidden vertices, to a model that covers them."""

FromEmissions = Callable[["NDArray[np.float64]", "NDArray[np.float64]", int], Model]
"""From the transition and the emission probabilities of a hidden chain, and the number of records."""

FromMemory = Callable[["NDArray[np.float64]", int, bool], Model]
"""From a table [before][now][next], the number of records, and whether the chain is stationary."""

_STRENGTHS = (0.1, 0.3, 1.0, 2.0, 4.0)
"""The logarithms of the largest odds ratio of two neighbours."""


@dataclass(frozen=True, eq=False)
class Law:
    """A joint law with one axis for each vertex, and a model that should cover it.

    hidden: the vertices without a record.
    """

    model: Model
    joint: NDArray[np.float64]
    hidden: tuple[int, ...] = ()
    query: Query = field(default_factory=lambda: Count(equals=1))

    @property
    def records(self) -> tuple[int, ...]:
        """The vertices with a record."""
        return tuple(vertex for vertex in range(self.joint.ndim) if vertex not in self.hidden)

    @property
    def targets(self) -> list[tuple[int, ...]]:
        """The secrets: every record, or every unit of consecutive records of a chain."""
        unit = min(self.model.unit if isinstance(self.model, Chain) else 1, len(self.records))
        return [self.records[first : first + unit] for first in range(len(self.records) - unit + 1)]

    def __repr__(self) -> str:
        return f"Law({self.model!r}, {self.joint.tolist()}, hidden={self.hidden})"


@st.composite
def chain_laws(draw: st.DrawFn, model_of: FromOdds, hidden: bool = False) -> Law:
    """Draw a chain of two to six records whose transitions change at every step; some are missing if `hidden`."""
    states, records = draw(_sizes())
    edges = [(record, record + 1) for record in range(records - 1)]
    return _law(draw, model_of, draw(_pairwise(states, records, edges)), hidden)


@st.composite
def independent_laws(draw: st.DrawFn) -> Law:
    """Draw one to four independent records."""
    states, records = draw(_sizes(least=1))
    return Law(Independent(), draw(_pairwise(states, min(records, 4), [])))


@st.composite
def group_laws(draw: st.DrawFn) -> Law:
    """Draw a group of one to three records; the likelier they are all alike, the closer to group privacy it leaks."""
    states, size, alike = (
        draw(st.sampled_from([2, 3])),
        draw(st.integers(1, 3)),
        draw(st.sampled_from([0.0, 5.0, 20.0])),
    )
    heights = draw(_generators()).uniform(-1, 1, size=(states,) * size)
    for value in range(states):
        heights[(value,) * size] += alike
    weights = np.exp(heights)
    return Law(ArbitraryGroups(size), weights / weights.sum())


@st.composite
def markov_laws(draw: st.DrawFn, positive: bool = False) -> Law:
    """Draw a stationary chain of two to four records; some transitions are impossible now and then, or `positive`."""
    states, records = draw(st.sampled_from([(2, 2), (2, 3), (2, 4), (3, 2), (3, 3)]))
    generator, spread = draw(_generators()), draw(st.sampled_from([0.3, 1.0, 2.0]))
    heights = generator.uniform(-spread, spread, size=(states, states)) + spread * np.eye(states)
    if not positive and states > 2 and draw(st.booleans()):
        heights[0, states - 1] = -np.inf
    rows = _normalised(heights)
    chain = MarkovChain(rows.tolist(), length=draw(st.sampled_from([records, records + 2])))
    return Law(chain, chain_joint(chain, records))


@st.composite
def tree_laws(draw: st.DrawFn, model_of: FromOdds, hidden: bool = False) -> Law:
    """Draw a tree of two to six vertices that depend on their neighbours only; some are hidden if `hidden`."""
    states, vertices = draw(_sizes())
    edges = [(draw(st.integers(0, vertex - 1)), vertex) for vertex in range(1, vertices)]
    return _law(draw, model_of, draw(_pairwise(states, vertices, edges)), hidden)


@st.composite
def network_laws(draw: st.DrawFn, model_of: FromOdds, hidden: bool = False) -> Law:
    """Draw a loop, a complete graph, a random graph, or a law of three or four records without structure."""
    kind = draw(st.sampled_from(["loop", "complete", "random", "any"]))
    if kind == "any":
        states, vertices = draw(st.sampled_from([(2, 3), (2, 4), (3, 3)]))
        scale = draw(st.sampled_from(_STRENGTHS)) / 4
        weights = np.exp(scale * draw(_generators()).uniform(-1, 1, size=(states,) * vertices))
        return _law(draw, model_of, weights / weights.sum(), hidden)
    states, vertices = draw(_sizes(least=3))
    pairs = [(first, second) for second in range(vertices) for first in range(second)]
    if kind == "loop":
        pairs = [(vertex, vertex + 1) for vertex in range(vertices - 1)] + [(0, vertices - 1)]
    elif kind == "random":
        pairs = [pair for pair in pairs if draw(st.booleans())]
    return _law(draw, model_of, draw(_pairwise(states, vertices, pairs)), hidden)


@st.composite
def series_laws(draw: st.DrawFn, model_of: FromOdds, hidden: bool = False) -> Law:
    """Draw a series of two to six records that depend on those up to three places away; some are `hidden`."""
    states, records = draw(_sizes())
    reach = draw(st.integers(1, 3))
    edges = [(first, second) for second in range(records) for first in range(max(second - reach, 0), second)]
    return _law(draw, model_of, draw(_pairwise(states, records, edges)), hidden)


@st.composite
def additive_laws(draw: st.DrawFn, model_of: FromOdds, series: bool = False, hidden: bool = False) -> Law:
    """Draw two to six vertices of two values whose effects add up and push the same way, some of them swapped.

    series: whether those up to three places apart depend on one another; otherwise they are drawn. Some are `hidden`.
    """
    vertices, strength, equal = draw(st.integers(2, 6)), draw(st.sampled_from(_STRENGTHS)), draw(st.booleans())
    reach = draw(st.integers(1, 3)) if series else vertices
    generator = draw(_generators())
    pairs = [(first, second) for second in range(vertices) for first in range(max(second - reach, 0), second)]
    kept = pairs if series or draw(st.booleans()) else [pair for pair in pairs if draw(st.booleans())]
    values = 2.0 * np.indices((2,) * vertices) - 1
    values *= generator.choice([-1.0, 1.0], size=vertices).reshape(-1, *[1] * vertices)
    heights = np.tensordot(generator.normal(scale=draw(st.sampled_from([0.0, 0.3, 1.5])), size=vertices), values, 1)
    strengths = {apart: strength / 4 * generator.random() for apart in range(1, vertices)}
    for first, second in kept:
        coupling = strengths[second - first] if equal else strength / 4 * generator.random()
        heights = heights + coupling * values[first] * values[second]
    weights = np.exp(heights)
    return _law(draw, model_of, weights / weights.sum(), hidden)


@st.composite
def hidden_chain_laws(draw: st.DrawFn, model_of: FromEmissions) -> Law:
    """Draw a hidden Markov chain of one to four records: first all hidden states, then all records, in order."""
    states, symbols, records = draw(
        st.sampled_from([(2, 2, 1), (2, 2, 2), (2, 2, 3), (2, 2, 4), (2, 3, 3), (3, 2, 3), (3, 3, 2)])
    )
    generator = draw(_generators())
    transition, emission = (
        _normalised(_factor(generator, (states, size), draw(st.sampled_from(_STRENGTHS))) + _heights(generator, size))
        for size in (states, symbols)
    )
    joint = _normalised(_heights(generator, states))
    for _ in range(records - 1):
        joint = joint[..., None] * transition
    for moment in range(records):
        own = emission.reshape([states if axis == moment else 1 for axis in range(records)] + [1] * moment + [symbols])
        joint = joint[..., None] * own
    return Law(model_of(transition, emission, records), joint, tuple(range(records)))


@st.composite
def memory_chain_laws(draw: st.DrawFn, model_of: FromMemory, stationary: bool | None = None) -> Law:
    """Draw a chain of one to six records in which the next depends on the last two; stationary, or from any start."""
    states, records = draw(_sizes(least=1))
    settled = draw(st.booleans()) if stationary is None else stationary
    generator, spread = draw(_generators()), draw(st.sampled_from([0.3, 1.0, 2.0]))
    table = _normalised(generator.uniform(-spread, spread, size=(states,) * 3))
    start = np.exp(generator.uniform(-spread, spread, size=(states, states)))
    joint = joint_law(table, stationary_law(table) if settled else start, records)
    return Law(model_of(table, records, settled), joint / joint.sum())


@st.composite
def release_cases(draw: st.DrawFn, laws: st.SearchStrategy[Law]) -> Case:
    """Draw a law and a mechanism that answers a query on its records: cases for `TheoremContract`."""
    law = draw(laws)
    joint = law.joint.sum(axis=law.hidden)
    return finite_case(draw, law.model, joint, list(range(joint.shape[0])))


@st.composite
def side_information(draw: st.DrawFn, shape: tuple[int, ...]) -> list[NDArray[np.float64]]:
    """Draw a likelihood for each vertex: no information, the exact value, or partial information."""
    generator, spread = draw(_generators()), draw(st.sampled_from([1.0, 3.0]))
    evidence = []
    for states in shape:
        kind = draw(st.sampled_from(["nothing", "value", "little", "little", "not one"]))
        likelihood = np.exp(generator.uniform(-spread, 0, size=states))
        if kind == "nothing":
            likelihood = np.ones(states)
        elif kind == "value":
            likelihood = (np.arange(states) == generator.integers(states)).astype(np.float64)
        elif kind == "not one":
            likelihood[generator.integers(states)] = 0.0
        evidence.append(likelihood)
    return evidence


def _law(draw: st.DrawFn, model_of: FromOdds, joint: NDArray[np.float64], hidden: bool) -> Law:
    vertices = range(joint.ndim)
    unrecorded = draw(st.sets(st.sampled_from(vertices), max_size=joint.ndim - 1)) if hidden else set()
    chosen = tuple(sorted(unrecorded))
    return Law(model_of(odds_ratios(joint), chosen), joint, chosen)


@st.composite
def _sizes(draw: st.DrawFn, least: int = 2) -> tuple[int, int]:
    """Draw the number of states and the number of vertices."""
    states = draw(st.sampled_from([2, 2, 3]))
    return states, draw(st.integers(least, 6 if states == 2 else 4))


def _generators() -> st.SearchStrategy[np.random.Generator]:
    """Draw a random generator: the zeros and ones that Hypothesis prefers give weak dependence only."""
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)


def _heights(generator: np.random.Generator, states: int) -> NDArray[np.float64]:
    """Return the logarithms of the weights of one vertex's values."""
    return generator.uniform(-1.5, 1.5, size=states)


def _factor(generator: np.random.Generator, shape: tuple[int, int], strength: float) -> NDArray[np.float64]:
    """Return the logarithms of a factor of two vertices whose largest odds ratio is e^strength.

    Rows and columns have mean 0, so only the dependence of the two vertices remains.
    """
    table = generator.uniform(-1, 1, size=shape)
    table = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    steps = table[:, None] - table[None, :]
    return np.asarray(strength * table / np.ptp(steps, axis=2).max())


def _normalised(logarithms: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logarithms)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


@st.composite
def _pairwise(draw: st.DrawFn, states: int, vertices: int, edges: list[tuple[int, int]]) -> NDArray[np.float64]:
    """Draw a law that is a product of one factor for each vertex and each edge (the lower vertex first).

    In half of them all edges have the same odds ratio. Occasionally a value is impossible at one vertex.
    """
    generator, strength, equal = draw(_generators()), draw(st.sampled_from(_STRENGTHS)), draw(st.booleans())
    table = np.zeros((states,) * vertices)
    for vertex in range(vertices):
        own = _heights(generator, states)
        if states > 2 and generator.random() < 0.1:
            own[generator.integers(states)] = -np.inf
        table = table + own.reshape([states if axis == vertex else 1 for axis in range(vertices)])
    for edge in edges:
        factor = _factor(generator, (states, states), strength * (1.0 if equal else generator.random()))
        table = table + factor.reshape([states if axis in edge else 1 for axis in range(vertices)])
    weights = np.exp(table)
    return np.asarray(weights / weights.sum())
