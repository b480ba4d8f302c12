"""Hypothesis strategies of random small models whose leakage the oracle can compute."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from bayesdp.audit import oracle
from bayesdp.models import ArbitraryGroups, GaussianGroups, GaussianSeries, Independent, MarkovChain, Model
from bayesdp.queries import Count, Query, Sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Case",
    "chain_cases",
    "every_case",
    "finite_case",
    "gaussian_cases",
    "group_cases",
    "independent_cases",
    "kept_cases",
    "memory_cases",
    "transition_matrices",
    "walk_cases",
]

MECHANISMS = ("count", "sum", "response", "any")
"""Laplace noise on a count or a sum, randomized response on every record, and arbitrary τ-DP mechanisms."""

Kernels = Callable[[float], "NDArray[np.float64]"]


@dataclass(frozen=True)
class Case:
    """A model, a query, and the exact leakage of τ-DP answers to it on data that follow the model.

    measure: from the τ of each of one or more releases to their joint leakage.
    laplace: whether the answers are the query with Laplace noise, rather than another τ-DP mechanism.
    """

    model: Model
    query: Query
    measure: Callable[[Sequence[float]], float]
    description: str = ""
    laplace: bool = True

    def __repr__(self) -> str:
        return f"Case({self.model!r}, {self.query!r}, {self.description})"


def every_case() -> st.SearchStrategy[Case]:
    """Draw a case of any kind."""
    return st.one_of(
        independent_cases(), group_cases(), kept_cases(), chain_cases(), memory_cases(), gaussian_cases(), walk_cases()
    )


@st.composite
def independent_cases(draw: st.DrawFn) -> Case:
    """Draw up to four independent records of two or three values each."""
    states, records = draw(_sizes())
    joint: NDArray[np.float64] = np.ones(())
    for _ in range(records):
        joint = np.multiply.outer(joint, draw(_laws(states, zeros=True)))
    return finite_case(draw, Independent(), joint, draw(_values(states)))


@st.composite
def group_cases(draw: st.DrawFn) -> Case:
    """Draw one or two independent groups of records with an arbitrary joint law, zeros included."""
    states = draw(st.integers(2, 3))
    sizes = draw(st.sampled_from([(1,), (2,), (3,), (2, 1), (1, 2), (2, 2)]))
    joint: NDArray[np.float64] = np.ones(())
    for size in sizes:
        group = draw(_laws(states**size, zeros=True)).reshape((states,) * size)
        joint = np.multiply.outer(joint, group)
    return finite_case(draw, ArbitraryGroups(max(sizes)), joint, draw(_values(states)))


@st.composite
def kept_cases(draw: st.DrawFn) -> Case:
    """Draw one or two independent groups of two values, a few records of which are read, wherever they are."""
    sizes = draw(st.sampled_from([(2,), (3,), (4,), (3, 1), (2, 2), (3, 2)]))
    keep, size = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    joint: NDArray[np.float64] = np.ones(())
    read: list[int] = []
    for members in sizes:
        kept = draw(st.permutations(range(members)))[: min(keep, size)]
        read += [joint.ndim + place for place in sorted(kept)]
        joint = np.multiply.outer(joint, draw(_laws(2**members, zeros=True)).reshape((2,) * members))
    model = ArbitraryGroups(size, group="group", keep=keep)
    return finite_case(draw, model, joint, draw(_values(2)), read=read)


@st.composite
def chain_cases(
    draw: st.DrawFn, positive: bool = False, unlimited: bool = True, mechanisms: Sequence[str] = MECHANISMS
) -> Case:
    """Draw a Markov chain of two or three states and up to five records; zeros unless `positive`.

    A stationary chain starts in its stationary law, any other from a random law. The model's length is that of the
    chain, longer, or (if `unlimited`) any: the guarantee must hold for every length up to it.
    """
    states, records = draw(_sizes(longest=5))
    matrix = draw(transition_matrices(states, zeros=not positive))
    length = draw(st.sampled_from([records, records + 3, *([None] if unlimited else [])]))
    rows = tuple(tuple(map(float, row)) for row in matrix)
    values = draw(_values(states))
    chain = MarkovChain(rows, states=values, length=length, start="any")
    start = None
    if chain.is_irreducible and (positive or draw(st.booleans())):
        chain = MarkovChain(rows, states=values, length=length)
    else:
        start = draw(_laws(states, zeros=True))
    return finite_case(draw, chain, oracle.chain_joint(chain, records, start), values, mechanisms)


@st.composite
def memory_cases(draw: st.DrawFn, unlimited: bool = True, mechanisms: Sequence[str] = MECHANISMS) -> Case:
    """Draw a chain of two or three states with memory 2, and up to six records of it; no zeros.

    Starts and lengths as in `chain_cases`.
    """
    states = draw(st.integers(2, 3))
    records = draw(st.integers(1, 6 if states == 2 else 4))
    table = [[draw(_laws(states, zeros=False)).tolist() for _ in range(states)] for _ in range(states)]
    length = draw(st.sampled_from([records, records + 3, *([None] if unlimited else [])]))
    values, stationary = draw(_values(states)), draw(st.booleans())
    chain = MarkovChain(table, memory=2, states=values, length=length, start="stationary" if stationary else "any")
    start = None if stationary else draw(_laws(states**2, zeros=True)).reshape(states, states)
    return finite_case(draw, chain, oracle.chain_joint(chain, records, start), values, mechanisms)


@st.composite
def gaussian_cases(draw: st.DrawFn, equal_variances: bool | None = None) -> Case:
    """Draw a normal group of up to six records and a clipped sum; its leakage is the lemma's over all adversaries.

    The model is the covariance itself or, with equal variances, a bound on its correlations.
    """
    size = draw(st.integers(1, 6))
    equal = draw(st.booleans()) if equal_variances is None else equal_variances
    correlations = draw(_correlations(size))
    deviations = np.ones(size) if equal else np.array(draw(st.lists(_entries(0.25, 4), min_size=size, max_size=size)))
    covariance = correlations * np.outer(deviations, deviations)
    reach = draw(st.sampled_from([None, 0.5, 1.0, 3.0]))
    width = draw(_entries(0.5, 200))
    distance = None if reach is None else reach * width
    if equal and draw(st.booleans()):
        largest = float(np.abs(correlations - np.eye(size)).max())
        model = GaussianGroups(correlation=largest, size=size, distance=distance)
    else:
        model = GaussianGroups(covariance=covariance.tolist(), distance=distance)
    factor = oracle.gaussian_lemma(covariance, reach=reach or 1.0).factor
    return Case(model, Sum(bounds=(0.0, width)), lambda taus: factor * sum(taus), f"covariance {covariance.tolist()}")


@st.composite
def walk_cases(draw: st.DrawFn) -> Case:
    """Draw up to six normal records with a precision, or some of an autoregressive series, and a clipped sum.

    Records of a series may be missing: its length is the number of remaining records, larger, or any. Most precisions
    are walk-summable, with entries of all signs.
    """
    size = draw(st.integers(1, 6))
    reach, width = draw(st.sampled_from([None, 0.3, 1.0, 3.0])), draw(_entries(0.5, 200))
    distance = None if reach is None else reach * width
    model: Model
    if draw(st.booleans()):
        coefficients = np.array(draw(st.lists(_entries(-0.9, 0.9), min_size=1, max_size=3)))
        coefficients /= max(1.0, float(np.abs(coefficients).sum()) / 0.9)
        seen = sorted(draw(st.sets(st.integers(0, 8), min_size=size, max_size=size)))
        apart = np.abs(np.subtract.outer(seen, seen))
        spectrum = np.abs(np.fft.rfft(np.concatenate([[1.0], -coefficients]), 4096)) ** -2
        covariance: NDArray[np.float64] = np.asarray(np.fft.irfft(spectrum)[apart], dtype=np.float64)
        length = draw(st.sampled_from([size, size + 2, None]))
        gaps = seen[-1] - seen[0] >= size
        model = GaussianSeries(coefficients.tolist(), length=length, gaps=gaps, distance=distance)
    else:
        correlations = draw(_correlations(size))
        deviations = np.array(draw(st.lists(_entries(0.25, 4), min_size=size, max_size=size)))
        beside = correlations - np.eye(size)
        largest = float(np.abs(beside).sum(axis=1).max())
        if draw(st.integers(0, 3)) and largest > 1e-9:
            beside *= draw(_entries(0.05, 0.98)) / largest
        precision = (np.eye(size) + beside) / np.outer(deviations, deviations)
        covariance = np.asarray(np.linalg.inv((precision + precision.T) / 2), dtype=np.float64)
        model = GaussianGroups(precision=((precision + precision.T) / 2).tolist(), distance=distance)
    factor = oracle.gaussian_lemma((covariance + covariance.T) / 2, reach=reach or 1.0).factor
    return Case(model, Sum(bounds=(0.0, width)), lambda taus: factor * sum(taus), f"covariance {covariance.tolist()}")


@st.composite
def transition_matrices(draw: st.DrawFn, states: int, zeros: bool = True) -> NDArray[np.float64]:
    """Draw a transition matrix, with or without zeros."""
    return np.array([draw(_laws(states, zeros=zeros)) for _ in range(states)])


def _entries(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_nan=False, allow_infinity=False)


@st.composite
def _sizes(draw: st.DrawFn, longest: int = 4) -> tuple[int, int]:
    states = draw(st.integers(2, 3))
    return states, draw(st.integers(1, longest if states == 2 else longest - 1))


@st.composite
def _laws(draw: st.DrawFn, size: int, zeros: bool) -> NDArray[np.float64]:
    weight = _entries(0.001, 1)
    weights = draw(st.lists(st.just(0.0) | weight if zeros else weight, min_size=size, max_size=size))
    if sum(weights) == 0:
        weights[draw(st.integers(0, size - 1))] = 1.0
    return np.array(weights) / sum(weights)


@st.composite
def _correlations(draw: st.DrawFn, size: int) -> NDArray[np.float64]:
    """Draw a correlation matrix that is far from singular."""
    entry = _entries(-1, 1)
    factors = np.array(draw(st.lists(entry, min_size=size * size, max_size=size * size))).reshape(size, size)
    covariance = factors @ factors.T + draw(_entries(0.05, 10)) * np.eye(size)
    deviations = np.sqrt(np.diag(covariance))
    correlations = covariance / np.outer(deviations, deviations)
    np.fill_diagonal(correlations, 1.0)
    return np.array((correlations + correlations.T) / 2)


def _values(states: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(-3, 3), min_size=states, max_size=states, unique=True)


@st.composite
def _grids(draw: st.DrawFn, least: int, largest: int) -> tuple[tuple[float, float], float | None]:
    """Draw clipping bounds, within or around the values, and the step of the grid for rounding, if any."""
    low = draw(st.integers(least - 1, largest - 1))
    step = draw(st.sampled_from([None, 0.5, 1.0, 2.0, 3.0]))
    high = low + draw(st.integers(1, 4)) * (step or 1.0)
    return (float(low), float(high)), step


def finite_case(
    draw: st.DrawFn,
    model: Model,
    joint: NDArray[np.float64],
    values: list[int],
    mechanisms: Sequence[str] = MECHANISMS,
    read: Sequence[int] | None = None,
) -> Case:
    """Draw a mechanism for a finite law: a Laplace count, a Laplace sum, randomized response, or any τ-DP mechanism.

    read: the records that it reads; by default all.
    """
    places = tuple(range(joint.ndim) if read is None else read)
    states, records = joint.shape[0], len(places)
    chosen = draw(st.sampled_from(mechanisms))
    counted = draw(st.sampled_from(values))
    query: Query = Count(equals=counted)
    kernel: Kernels
    if chosen == "count":
        kernel = partial(oracle.laplace_sum, [float(value == counted) for value in values], records)
    elif chosen == "sum":
        bounds, step = draw(_grids(min(values), max(values)))
        query = Sum(bounds=bounds, step=step)
        kernel = partial(oracle.laplace_sum, values, records, bounds=bounds, step=step)
    elif chosen == "response":
        kernel = partial(oracle.generalized_randomized_response, states=states, records=records)
    else:
        possible = states**records
        heights = np.array(draw(st.lists(_entries(0, 8), min_size=possible, max_size=possible)))
        kernel = partial(_lipschitz, heights.reshape((states,) * records))

    def measure(taus: Sequence[float]) -> float:
        released = oracle.joint_release(*map(kernel, taus))
        unread = tuple(place for place in range(joint.ndim) if place not in places)
        likelihood = np.broadcast_to(np.expand_dims(released, unread), (*joint.shape, released.shape[-1]))
        return oracle.bdpl(joint, likelihood).epsilon

    return Case(model, query, measure, f"mechanism {chosen} on {joint.tolist()}", chosen in ("count", "sum"))


def _lipschitz(heights: NDArray[np.float64], tau: float) -> NDArray[np.float64]:
    """Return the likelihood of one rare output of a τ-DP mechanism: ln of it changes by at most τ per record."""
    smooth = np.empty_like(heights)
    points: list[tuple[Any, ...]] = list(itertools.product(*map(range, heights.shape)))
    for here in points:
        smooth[here] = min(
            heights[there] + tau * sum(a != b for a, b in zip(here, there, strict=True)) for there in points
        )
    return np.array(np.exp(smooth - smooth.max())[..., None])
