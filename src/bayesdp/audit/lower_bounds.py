"""A lower bound on what any mechanism leaks, from its outputs alone.

Runs the mechanism on pairs of neighbouring tables (`neighbouring_tables`), chooses an event on half of the outputs
(`testers`) and counts it on the other half. It uses no theorem, so it treats this package, pipelines and other
libraries alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp._support import validation
from bayesdp._support.display import Displayed, Section, lines
from bayesdp._support.documents import Document
from bayesdp._support.messages import param
from bayesdp._support.progress import progress_bar
from bayesdp._support.validation import brief
from bayesdp.audit.neighbouring_tables import NeighbouringTables, pairs_of_neighbouring_tables
from bayesdp.audit.testers import Bound, Cells, Event, as_rows, best_event, excess_below, log_ratio_below
from bayesdp.audit.worst_cases import SCHEMA
from bayesdp.errors import InvalidInputError, PromiseBrokenError
from bayesdp.models import Model
from bayesdp.queries import Query
from bayesdp.rounding import shown_above, shown_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LowerBound", "lower_bound"]

_PILOT, _LARGEST_PILOT = 50, 2_000_000
"""For each pair of tables, a fiftieth of the runs, up to a limit, tests whether they can be distinguished."""

_MOST_CHOOSING = 10_000_000
"""The largest number of runs that choose the event; otherwise half of them do, and the others count it."""

_LEAST_RUNS = 100
_AT_ONCE = 250_000
"""The number of data sets drawn at once."""


@dataclass(frozen=True)
class LowerBound(Displayed, Document):
    """A lower bound on the leakage of a mechanism, with a confidence.

    epsilon: the lower bound on ε, at the δ claimed; 0 if no event distinguishes the tables.
    claimed: the ε claimed for the mechanism, if any.
    claimed_delta: the δ claimed with it; 0 for a pure claim.
    more, less: how often the event occurred in `runs` runs, for the table where it is more frequent and for the other.
    tables:  a description of the two neighbouring tables.
    """

    epsilon: float
    confidence: float
    runs: int
    more: int
    less: int
    tables: str
    claimed: float | None = None
    claimed_delta: float = 0.0

    @property
    def contradicted(self) -> bool:
        """Whether the bound exceeds the claim."""
        return self.claimed is not None and self.epsilon > self.claimed

    @property
    def delta(self) -> float:
        """The lower bound on δ at the ε claimed, from the same event; 0 if no ε is claimed."""
        if self.claimed is None:
            return 0.0
        more, less = np.array([self.more]), np.array([self.less])
        return float(excess_below(more, less, self.runs, self.confidence, self.claimed)[0])

    @property
    def reach(self) -> float:
        """The largest bound on ε that this number of runs can support, at the δ claimed."""
        most, none = np.array([self.runs]), np.array([0])
        return float(log_ratio_below(most, none, self.runs, self.confidence, self.claimed_delta)[0])

    def _printed(self) -> list[Section]:
        claim, bound = "", f"At least ε = {shown_below(self.epsilon, 4)} leaks"
        if self.claimed is not None:
            claim = f" Claimed: ε = {self.claimed:g}."
            if self.claimed_delta:
                stated = f"δ = {shown_above(self.claimed_delta, 3)}"
                claim = f" Claimed: ε = {self.claimed:g} with {stated}."
                least = f"At ε = {self.claimed:g}, δ is at least {shown_below(self.delta, 3)}"
                bound = f"{least}, and at {stated}, ε is at least {shown_below(self.epsilon, 4)}"
            if self.claimed >= self.reach:
                claim += f" Too few runs to contradict that: they can show at most ε = {shown_below(self.reach, 3)}."
        text = (
            f"{bound}, with a confidence of {100 * self.confidence:.6g} %: an event occurred in {self.more} of "
            f"{self.runs} runs on one table and in {self.less} of {self.runs} on its neighbour. "
            f"The two tables: {self.tables}.{claim}"
        )
        return [lines(text)]

    def to_dict(self) -> dict[str, Any]:
        """Return the lower bound as a JSON object."""
        return {
            "kind": "lower-bound",
            "schema": SCHEMA,
            "epsilon": self.epsilon,
            "confidence": self.confidence,
            "runs": self.runs,
            "more": self.more,
            "less": self.less,
            "worlds": self.tables,
            "claimed": self.claimed,
            "claimed_delta": self.claimed_delta,
            "delta": self.delta,
            "contradicted": self.contradicted,
            "reach": self.reach,
        }


def lower_bound(
    mechanism: Callable[[Any], Any],
    model: Model,
    query: Query | None = None,
    *,
    claimed: float | None = None,
    delta: float | None = None,
    runs: int = 20_000,
    confidence: float = 0.95,
    vectorised: bool = False,
    seed: int | None = None,
) -> LowerBound:
    """Return a lower bound on what a mechanism leaks about one record of data that follow a model.

    mechanism:  any function of a data set, given as a list of the records' values: your pipeline, a measurement of
                OpenDP, a tool of diffprivlib. It returns a number, a text, or a list of numbers.
    query:      the query it answers, if known; needed for sums of normal records, because of the bounds.
    claimed:    the ε claimed for it.
    delta:      the δ claimed beside it, if it is claimed to be (ε, δ): no event may be more than e^ε times as probable
                on one table as on the other, plus δ. A contradiction takes more runs, the smaller the true δ is.
    runs:       the number of runs on each of two neighbouring tables; every other pair is tried with a fiftieth of it.
    confidence: the confidence that the bound holds.
    vectorised: the mechanism takes a table with a row for each data set, and returns a row for each.
    seed:       the seed of the data sets; by default they are drawn anew each time. The mechanism draws its own noise.

    Returns a LowerBound. Raises PromiseBrokenError if the bound exceeds the claim: its `evidence` is the LowerBound.
    A bound below the claim proves nothing about the mechanism: worse tables and better events may exist, and to
    contradict ε takes several times e^ε runs.

    >>> from bayesdp import ArbitraryGroups
    >>> noise = np.random.default_rng(7)
    >>> plain = lambda records: sum(records) + noise.laplace(scale=1.0)
    >>> try:
    ...     lower_bound(plain, ArbitraryGroups(3), claimed=1.0, seed=7)
    ... except PromiseBrokenError as broken:
    ...     print(broken.claimed, broken.lower_bound > 2)
    1.0 True

    Gaussian noise of σ = 2 on a count is (1, 0.006)-DP, if records are independent. Three equal records:

    >>> gaussian = lambda tables: tables.sum(axis=1) + noise.normal(scale=2.0, size=len(tables))
    >>> try:
    ...     lower_bound(gaussian, ArbitraryGroups(3), claimed=1.0, delta=0.006, vectorised=True, seed=7)
    ... except PromiseBrokenError as broken:
    ...     print(broken.evidence.claimed_delta, broken.evidence.delta > 0.2)
    0.006 True
    """
    if not callable(mechanism):
        raise InvalidInputError(
            f"the mechanism {brief(mechanism)} cannot be called; wrap it in a function of a list of records: "
            "lambda records: mechanism.randomise(sum(records))"
        )
    if not isinstance(model, Model):
        raise InvalidInputError(f"expected a model such as MarkovChain(...), not {brief(model)}")
    claim = None if claimed is None else _Claim(validation.positive("claimed", claimed), _delta(delta))
    if claim is None and delta is not None:
        raise InvalidInputError(
            f"{param('delta')} needs {param('claimed')}, the ε of the claim: δ alone claims nothing"
        )
    runs = validation.natural("runs", runs, least=_LEAST_RUNS)
    confidence = validation.probability("confidence", confidence)
    generator = np.random.default_rng(None if seed is None else validation.natural("seed", seed, least=0))
    pairs = pairs_of_neighbouring_tables(model, query, 1.0 if claim is None else claim.epsilon)
    pilot = min(max(runs // _PILOT, _LEAST_RUNS), _LARGEST_PILOT)
    with progress_bar(2 * pilot * len(pairs) + 2 * runs, "auditing") as done:
        run = _Runs(mechanism, vectorised, generator, done)
        test = _Test(claim, confidence)
        chosen = max(pairs, key=lambda pair: run.promise(pair, pilot, test)) if len(pairs) > 1 else pairs[0]
        bound = run.bound(chosen, runs, test)
    if claim is not None and bound.contradicted:
        raise PromiseBrokenError(
            claim.epsilon, bound.epsilon, confidence, bound, claimed_delta=claim.delta, lower_delta=bound.delta
        )
    return bound


@dataclass(frozen=True)
class _Claim:
    """The ε and δ that are claimed; δ is 0 for a pure claim."""

    epsilon: float
    delta: float


def _delta(delta: float | None) -> float:
    return 0.0 if delta is None else validation.probability("delta", delta)


@dataclass(frozen=True)
class _Test:
    """Lower bounds from counts of events, with a confidence: on ε at the claimed δ, and on δ at the claimed ε."""

    claim: _Claim | None
    confidence: float

    @property
    def epsilon(self) -> Bound:
        """Lower bounds on ε."""
        delta = 0.0 if self.claim is None else self.claim.delta
        return lambda more, less, trials: log_ratio_below(more, less, trials, self.confidence, delta)

    def event(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> Event:
        """Return the event that promises the largest δ at the ε of an (ε, δ) claim, or the largest ε if none does."""
        exceeding = self._exceeding(first, second)
        return best_event(first, second, self.epsilon) if exceeding is None else exceeding

    def promise(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> tuple[float, float]:
        """Return the lower bounds on δ and on ε that these tables seem to support: first the larger δ, then ε."""
        exceeding = self._exceeding(first, second)
        return 0.0 if exceeding is None else exceeding.promise, best_event(first, second, self.epsilon).promise

    def _exceeding(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> Event | None:
        """Return the event that promises the largest δ at the ε of an (ε, δ) claim; None if none does."""
        claim = self.claim
        if claim is None or not claim.delta:
            return None
        epsilon = claim.epsilon
        event = best_event(
            first, second, lambda more, less, trials: excess_below(more, less, trials, self.confidence, epsilon)
        )
        return event if event.promise > 0 else None


@dataclass(frozen=True, eq=False)
class _Runs:
    """Runs of one mechanism on drawn data sets."""

    mechanism: Callable[[Any], Any]
    vectorised: bool
    generator: np.random.Generator
    done: Callable[[int], None]

    def outputs(self, data_sets: NDArray[np.generic]) -> NDArray[np.float64]:
        """Return the output of the mechanism for each data set, as rows of numbers."""
        if self.vectorised:
            rows = as_rows(np.asarray(self.mechanism(data_sets)))
            if len(rows) != len(data_sets):
                raise InvalidInputError(
                    f"a vectorised mechanism must return a row for each data set, not {len(rows)} for {len(data_sets)}"
                )
            self.done(len(rows))
            return rows
        answers = []
        for records in data_sets.tolist():
            answers.append(self.mechanism(records))
            self.done(1)
        return as_rows(answers)

    def batches(
        self, tables: NeighbouringTables, runs: int
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Yield outputs for both tables, equally many of each, in `runs` runs."""
        while runs > 0:
            now = min(runs, _AT_ONCE)
            yield (
                self.outputs(tables.first(now, self.generator)),
                self.outputs(tables.second(now, self.generator)),
            )
            runs -= now

    def promise(self, tables: NeighbouringTables, runs: int, test: _Test) -> tuple[float, float]:
        """Return the lower bounds that these tables seem to support."""
        _, (first, second) = self.cells(tables, runs)
        return test.promise(first, second)

    def cells(self, tables: NeighbouringTables, runs: int) -> tuple[Cells, NDArray[np.int64]]:
        """Return cells that may distinguish outputs, and the counts in each, a row for each table."""
        cells: Cells | None = None
        counts = np.zeros((2, 0), dtype=np.int64)
        for one, other in self.batches(tables, runs):
            if cells is None:
                cells = Cells.between(one, other)
                counts = np.zeros((2, cells.number), dtype=np.int64)
            counts += [cells.count(one), cells.count(other)]
        assert cells is not None
        return cells, counts

    def bound(self, tables: NeighbouringTables, runs: int, test: _Test) -> LowerBound:
        """Choose an event on some of the runs, and count it on the others."""
        choosing = min(runs // 2, _MOST_CHOOSING)
        cells, counts = self.cells(tables, choosing)
        event = test.event(counts[0], counts[1])
        more, less, tested = 0, 0, runs - choosing
        for one, other in self.batches(tables, tested):
            hits, misses = event.counts_of(cells.count(one), cells.count(other))
            more, less = more + hits, less + misses
        leaks = float(test.epsilon(np.array([more]), np.array([less]), tested)[0])
        claimed, delta = (None, 0.0) if test.claim is None else (test.claim.epsilon, test.claim.delta)
        return LowerBound(leaks, test.confidence, tested, more, less, tables.who, claimed, delta)
