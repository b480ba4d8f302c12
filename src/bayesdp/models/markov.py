"""Markov chains: each record depends on the one before it, or on the last few."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bayesdp._support import hooks, validation
from bayesdp._support.arrays import Booleans, Floats, readonly
from bayesdp._support.display import table
from bayesdp._support.messages import in_python, name_of, param
from bayesdp._support.validation import Matrix, Scalar, Values, brief
from bayesdp.errors import ModelError
from bayesdp.models.chain import CHAIN_OPTIONS, MEMORY, ORDER_BY_TEXT, Chain
from bayesdp.models.diagnosis import Diagnosis
from bayesdp.models.fit_option import FitOption
from bayesdp.models.layout import ChainLayout, column_name
from bayesdp.models.memory import LARGEST_COUNT, block_log_odds, counts_of, lifted, lists, probabilities, stationary_of
from bayesdp.models.odds import log_odds_ratio, odds_above
from bayesdp.models.posterior import SMALLEST_WEIGHT
from bayesdp.models.states import check_states, check_varied
from bayesdp.rounding import shown_above, shown_below

__all__ = ["MOST_COMPARED", "MarkovChain"]

_AGREEMENT = 0.05
"""The relative tolerance between probabilities, which may be rounded, and the counts they were estimated from."""

_UNDERFLOW = 1e-300
"""Near the smallest normal float: a probability below this may have been rounded to 0."""

_MOST_SHOWN = 12
"""The most states whose transition probabilities are shown side by side."""

MOST_COMPARED = 400
"""For the odds ratio every two rows are compared, column by column: with 400 states, 64 million quotients."""

_SMALLEST_SHOWN = 0.0005
"""Smaller probabilities are shown with two leading digits, because four decimals would show only zeros."""


@dataclass(frozen=True)
class MarkovChain(Chain):
    """Records form a Markov chain with the given transition probabilities. Several entities are independent chains.

    transition: row x holds the probabilities of the next state after x; with memory=2 a table [before][now][next], and
                so on.
    states:     the states' names, in the order of the rows; by default 0, 1, 2, …
    length:     an upper bound on the number of records in one chain; None means any length.
    start:      "stationary" if the chain begins in its stationary law, "any" if that is not assumed.
    state:      the expression that defines the states if they are not the values of a column ("steps > 0").
    counts:     the transition counts that the probabilities were estimated from, if any; from_counts builds a chain
                from them. The two must agree, up to smoothing.
    memory:     the number of preceding records that a record depends on.
    gaps:       whether records are missing inside the chain.
    layout:     the columns of the table it was fitted on.

    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["idle", "active"], length=1000)
    >>> chain.stationary.tolist(), chain.gamma
    ([0.8, 0.2], 9.0)
    """

    transition: Matrix
    memory: int = field(default=1, kw_only=True)
    start: Literal["stationary", "any"] = field(default="stationary", kw_only=True)
    counts: Matrix | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "markov"
    _by_state: ClassVar[tuple[str, ...]] = ("states", "transition", "counts")
    fit_options: ClassVar[tuple[FitOption, ...]] = (
        *CHAIN_OPTIONS,
        ORDER_BY_TEXT,
        MEMORY,
        FitOption("smoothing", "The number added to every count of transitions.", "X", reads="number", default="0"),
        FitOption(
            "start", "The law of the first record: stationary, or any to assume nothing.", "LAW", default="stationary"
        ),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "memory", validation.natural("memory", self.memory, ModelError))
        checked = _transition(self.transition) if self.memory == 1 else probabilities(self.transition, self.memory)
        object.__setattr__(self, "transition", checked)
        object.__setattr__(self, "states", _states(self.states, len(self.transition)))
        if self.start not in ("stationary", "any"):
            raise ModelError(name_of("start") + f' must be "stationary" or "any", not {brief(self.start)}')
        if self.counts is not None:
            self._check_counts()
        if self.start == "stationary" and not self.is_irreducible:
            raise ModelError(
                "a stationary start needs a chain in which every state can be reached from every other; "
                f"{self._unreachable()}; use "
                + param("start", "any")
                + " or leave out the states that are never visited"
            )

    def _check_counts(self) -> None:
        counts = _counts(self.counts, self.memory)
        if len(counts) != len(self.transition):
            raise ModelError(
                name_of("counts") + f" must have {len(self.transition)} rows like transition, not {len(counts)}"
            )
        if self.memory > 1:
            self._check_remembered(np.array(counts, dtype=np.float64))
            object.__setattr__(self, "counts", counts)
            return
        place = _disagreement(np.array(counts, dtype=np.float64), np.array(self.transition))
        if place is not None:
            i, j = place
            raise ModelError(
                f"counts and transition disagree: row {i}, column {j} has the probability {self.transition[i][j]:g}, "
                f"but {counts[i][j]} of {sum(counts[i])} counts, and no smoothing of all counts gives that; leave "
                "the counts out, or build the chain from them" + in_python(" (from_counts)")
            )
        object.__setattr__(self, "counts", counts)

    def _check_remembered(self, counts: Floats) -> None:
        rows = (-1, len(self.transition))
        if _disagreement(counts.reshape(rows), np.array(self.transition).reshape(rows)) is not None:
            raise ModelError(
                "counts and transition disagree, and no smoothing of all counts gives it; leave the counts out, "
                "or build the chain from them" + in_python(" (from_counts)")
            )

    @classmethod
    def from_counts(
        cls,
        counts: Matrix,
        *,
        memory: int = 1,
        states: Values = (),
        length: int | None = None,
        start: Literal["stationary", "any"] = "stationary",
        smoothing: float = 0.0,
        gaps: bool = False,
        column: str | None = None,
        state: str | None = None,
        record: str = "record",
        layout: ChainLayout | None = None,
    ) -> Self:
        """Estimate the chain from transition counts, which the model keeps; with memory=2 a table [before][now][next].

        smoothing is added to every count first; 0 keeps unseen transitions impossible. The other arguments are those
        of the model. Raises ModelError for an invalid table, or a state that was never left.

        >>> MarkovChain.from_counts([[8, 2], [3, 1]]).transition
        ((0.8, 0.2), (0.75, 0.25))
        """
        check_states(counts=counts)
        memory = validation.natural("memory", memory, ModelError)
        table = np.array(_counts(counts, memory), dtype=np.float64)
        smoothing = validation.number("smoothing", smoothing, ModelError)
        if smoothing < 0:
            raise ModelError(name_of("smoothing") + f" must be at least 0, not {smoothing:g}")
        rows = []
        for i, row in enumerate(table.reshape(-1, len(table)).tolist()):
            smoothed = [count + smoothing for count in row]
            total = math.fsum(smoothed)
            if not 0 < total < math.inf:
                remembered = [int(place) for place in np.unravel_index(i, table.shape[:-1])]
                name = (
                    f" ({', '.join(brief(states[place]) for place in remembered)})" if len(states) == len(table) else ""
                )
                last = "this state" if memory == 1 else "these states"
                raise ModelError(
                    f"counts, row {i}{name} is empty: no record follows {last}, so the probabilities of the next one "
                    "cannot be estimated; leave the row out or give "
                    + param("smoothing")
                    + ", which adds that much to every count"
                )
            rows.append(tuple(count / total for count in smoothed))
        return cls(
            tuple(rows) if memory == 1 else np.array(rows).reshape(table.shape).tolist(),
            memory=memory,
            states=states,
            length=length,
            start=start,
            counts=counts,
            gaps=gaps,
            column=column,
            state=state,
            record=record,
            layout=layout,
        )

    @classmethod
    def fit(
        cls,
        frame: object,
        *,
        state: str,
        order_by: str | Sequence[str],
        entity: str | Sequence[str] | None = None,
        step: float | str | datetime.timedelta | None = None,
        memory: int = 1,
        smoothing: float = 0.0,
        missing: Literal["error", "drop"] = "error",
        start: Literal["stationary", "any"] = "stationary",
        record: str = "record",
        diagnose: bool = True,
        order_by_text: bool = False,
    ) -> Self:
        """Estimate the chain from a table of any engine, or from files by their path (docs/frames.md).

        state:     a column, or a condition such as "steps > 0", whose states are False and True.
        order_by:  the columns that order the records; ties are an error. Text must hold ISO 8601 dates or times.
        entity:    the columns that identify independent chains; None means that all records are one chain.
        step:      the spacing of the order (5, "5m", "1d", a timedelta): records farther apart have a gap between them,
                   and what follows a gap is not a transition. By default it is the spacing of nine in ten
                   records, if the others are multiples of it. The model stores it.
        memory:    the number of preceding records that a record depends on.
        smoothing: added to every count; 0 keeps transitions that were never seen impossible.
        missing:   "error" refuses missing states; "drop" makes each a gap and treats the pattern of gaps as public.
        diagnose:  whether to diagnose the assumption on the table and store the diagnosis in the model. False saves
                   time; the model then states that it was never diagnosed. With memory=2 or more there is no diagnosis.
        order_by_text: sort text in the order columns alphabetically.

        The model stores the counts and whether there may be gaps; without a step, there may be. Its length is the
        largest number of records of one entity. Raises FrameError for an invalid table, ModelError for a chain that
        cannot be estimated.

        >>> import polars
        >>> frame = polars.DataFrame({"t": range(6), "steps": [0, 4, 9, 0, 0, 3]})
        >>> MarkovChain.fit(frame, state="steps > 0", order_by="t").counts
        ((1, 2), (1, 1))
        """
        layout = ChainLayout(
            order_by, () if entity is None else entity, step, dropped=missing == "drop", order_by_text=order_by_text
        )
        memory = validation.natural("memory", memory, ModelError)
        state = column_name("state", state)
        table = hooks.call("table.scan", frame)
        layout = hooks.call("table.spacing", table, state, layout)
        counted = hooks.call("table.transitions", table, state, layout, missing, memory=memory)
        check_varied(counted.states, state)
        chain = cls.from_counts(
            counted.counts,
            memory=memory,
            states=counted.states,
            length=counted.longest,
            start=start,
            smoothing=smoothing,
            gaps=counted.gaps,
            column=None if counted.condition else state,
            state=state if counted.condition else None,
            record=record,
            layout=layout,
        )
        return chain.with_diagnosis(chain.diagnose(table)) if diagnose and memory == 1 else chain

    @property
    def no_diagnosis(self) -> str | None:
        if self.memory == 1:
            return None
        return (
            f"there is no diagnosis for a chain with a memory of {self.memory} records; that does not mean that the "
            "model fits"
        )

    def diagnose(
        self,
        frame: object,
        *,
        state: str | None = None,
        order_by: str | Sequence[str] | None = None,
        entity: str | Sequence[str] | None = None,
        step: float | str | datetime.timedelta | None = None,
        missing: Literal["error", "drop"] | None = None,
        order_by_text: bool | None = None,
    ) -> Diagnosis:
        """Diagnose whether the table looks as the model assumes: order one, the same chain over time and entities.

        A fitted model has its columns (state, order_by, entity), the step and the rule for missing values, which the
        arguments given replace; for any other model, name them as in fit (order_by_text, too).

        Raises ModelError if the columns are unknown or the chain has memory, FrameError for an invalid table.
        """
        if self.no_diagnosis is not None:
            raise ModelError(self.no_diagnosis)
        located = self.located(
            state=state, order_by=order_by, entity=entity, step=step, missing=missing, order_by_text=order_by_text
        )
        diagnosis: Diagnosis = hooks.call("diagnose.chain", located, frame)
        return diagnosis

    def draws(self, generator: np.random.Generator) -> Iterator[Self]:
        """Yield chains from the posterior: each row Dirichlet, its counts plus 1/2 (Jeffreys's prior).

        A transition that was never seen is possible in a drawn chain: the data cannot rule it out.
        """
        if self.counts is None:
            yield from super().draws(generator)
        weights = np.array(self.counts, dtype=np.float64) + 0.5
        while True:
            gammas = np.maximum(generator.standard_gamma(weights), SMALLEST_WEIGHT)
            rows = gammas / gammas.sum(axis=-1, keepdims=True)
            yield replace(self, transition=rows, counts=None)

    @cached_property
    def matrix(self) -> Floats:
        """The transition matrix as a read-only array, rows scaled to sum to one exactly as floats can.

        Raises ModelError for a chain with memory, which has none: use `table`.
        """
        if self.memory > 1:
            raise ModelError(f"a chain with a memory of {self.memory} records has no transition matrix")
        return self.table

    @cached_property
    def table(self) -> Floats:
        """The transition probabilities as a read-only array: an axis for each record remembered, one for the next."""
        table = np.array(self.transition, dtype=np.float64)
        table /= table.sum(axis=-1, keepdims=True)
        return readonly(table)

    @cached_property
    def _moves(self) -> Floats:
        """The transition matrix of blocks of the remembered records."""
        return self.matrix if self.memory == 1 else lifted(self.table)

    @property
    def persistence(self) -> float:
        """The modulus of the second eigenvalue of the transition matrix of blocks: 1 if the chain never forgets."""
        moduli = np.sort(np.abs(np.linalg.eigvals(self._moves)))
        return float(min(moduli[-2], 1.0)) if len(moduli) > 1 else 0.0

    @cached_property
    def stationary(self) -> Floats:
        """The stationary distribution of an irreducible chain.

        Raises ModelError for a reducible chain, which may have many, and for one with memory.
        """
        if self.memory == 1 and not self.is_irreducible:
            raise ModelError(f"the chain has no unique stationary law on all its states: {self._unreachable()}")
        return readonly(stationary_of(self.matrix))

    @property
    def gamma(self) -> float:
        """The paper's γ: the largest transition probability over the smallest; infinite with a zero.

        Raises ModelError for a chain with memory.
        """
        if self.memory > 1:
            raise ModelError(f"γ is about chains with a memory of one record, not {self.memory}")
        entries = [entry for row in self.transition for entry in row]
        return max(entries) / min(entries) if min(entries) > 0 else math.inf

    @cached_property
    def is_irreducible(self) -> bool:
        """Whether every state can be reached from every other; with memory, the last records can become any others."""
        return bool(self._reachable.all())

    @cached_property
    def is_primitive(self) -> bool:
        """Whether some power of the transition matrix is positive throughout (irreducible and not periodic)."""
        pattern = self._moves > 0
        size = len(pattern)
        exponent = 1
        while exponent < size * size - 2 * size + 2:
            pattern = _boolean_product(pattern, pattern)
            exponent *= 2
        return bool(pattern.all())

    @cached_property
    def _reachable(self) -> Booleans:
        pattern = (self._moves > 0) | np.eye(len(self._moves), dtype=bool)
        for _ in range(len(pattern).bit_length()):
            pattern = _boolean_product(pattern, pattern)
        return pattern

    def _unreachable(self) -> str:
        source, target = np.argwhere(~self._reachable)[0]
        if self.memory == 1:
            return f"there is no way from state {self.states[source]!r} to state {self.states[target]!r}"
        return f"the last records cannot turn from {self._remembered(source)} into {self._remembered(target)}"

    def _remembered(self, index: int) -> str:
        """Return the states that are remembered in one row of the table, the oldest first."""
        return ", ".join(str(self.states[int(place)]) for place in np.unravel_index(index, self.table.shape[:-1]))

    def reversal(self) -> Self:
        """Return the stationary chain read backwards: P̃(x, y) = w(y)·P(y, x)/w(x).

        The counts are dropped: read backwards, they estimate a slightly different chain.
        Raises ModelError for a chain that is not assumed stationary: read backwards, it has no fixed probabilities.
        """
        if self.start != "stationary":
            raise ModelError('only a stationary chain can be read backwards, but the start of this one is "any"')
        weights = self.stationary
        backwards = self.matrix.T * weights[None, :] / weights[:, None]
        backwards /= backwards.sum(axis=1, keepdims=True)
        return type(self)(
            tuple(tuple(map(float, row)) for row in backwards),
            states=self.states,
            length=self.length,
            start=self.start,
            state=self.state,
            gaps=self.gaps,
            unit=self.unit,
            column=self.column,
            record=self.record,
            layout=self.layout,
            diagnosis=self.diagnosis,
        )

    @property
    def estimated(self) -> bool:
        return self.counts is not None

    @property
    def assumption(self) -> str:
        size = len(self.transition)
        return (
            f"the records follow a {'stationary ' if self.start == 'stationary' else ''}Markov chain with "
            f"{size} state{'s' if size > 1 else ''}"
            + (f", a memory of {self.memory} records" if self.memory > 1 else "")
            + " and the given transition probabilities, "
            + self.extent
            + (" from an unknown start" if self.start == "any" else "")
            + self.entities
        )

    @cached_property
    def log_odds(self) -> float:
        """ln of the largest odds ratio of neighbouring records, rounded up; infinite if some states cannot follow some.

        With memory k, that of neighbouring blocks of k records.

        >>> round(MarkovChain([[0.9, 0.1], [0.4, 0.6]]).log_odds, 6)
        2.60269
        """
        return log_odds_ratio(self.transition) if self.memory == 1 else block_log_odds(self.table)

    @property
    def parameters(self) -> str:
        """The transition probabilities of up to a dozen states, or else their range, and the odds ratio."""
        rows = self.table[..., 0].size
        if rows <= _MOST_SHOWN:
            text = self._probabilities([""] * rows)
        else:
            possible = self.table[self.table > 0]
            text = (
                f"Transition probabilities between {len(self.states)} states: from {shown_below(possible.min(), 4)} to "
                f"{shown_above(possible.max(), 4)}; {self.table.size - possible.size} of {self.table.size} are 0."
            )
        return text if rows > MOST_COMPARED else f"{text}\n{self._odds}"

    @property
    def _odds(self) -> str:
        """The strength of dependence: the largest P(x,y)·P(x′,y′) / (P(x,y′)·P(x′,y)), in a sentence."""
        odds = odds_above([self.log_odds])
        tied = "records" if self.memory == 1 else f"blocks of {self.memory} records"
        if math.isinf(odds):
            return (
                f"Odds ratio of neighbouring {tied}: without limit; some states can follow one state but not another."
            )
        return f"Odds ratio of neighbouring {tied}: at most {shown_above(odds, 4)}."

    def summary(self) -> str:
        """Return what is assumed, and the transition probabilities of up to a dozen states with their counts."""
        summary = super().summary()
        rows = self.table[..., 0].size
        if rows > _MOST_SHOWN:
            return summary
        counts: Matrix = [[]] * rows
        if self.counts is not None:
            counts = np.array(self.counts).reshape(rows, -1).tolist()
        seen = ["of " + " + ".join(map(str, row)) if row else "" for row in counts]
        return f"{summary}\n\n{self._probabilities(seen)}"

    def _probabilities(self, notes: Sequence[str]) -> str:
        """Return the transition probabilities as a table, with a note on each row."""
        header = [f"{self.subject or 'state'}, then:", *map(str, self.states), ""]
        rows = [
            [self._remembered(index), *map(_shown, row), note]
            for index, (row, note) in enumerate(zip(self._flat, notes, strict=True))
        ]
        return table(header, rows)

    @property
    def _flat(self) -> list[list[float]]:
        """The rows of the table, one for each combination of remembered states."""
        return [list(map(float, row)) for row in np.array(self.transition).reshape(-1, len(self.states))]

    def _content(self) -> dict[str, Any]:
        content: dict[str, Any] = {
            "states": list(self.states),
            "transition": lists(self.transition),
            "length": self.length,
            "start": self.start,
        }
        if self.memory > 1:
            content["memory"] = self.memory
        if self.counts is not None:
            content["counts"] = lists(self.counts)
        return content | super()._content()

    @classmethod
    def _required(cls) -> frozenset[str]:
        return frozenset({"transition"})


def _shown(probability: float) -> str:
    """Format a probability; a small one with its leading digits, so that only 0 prints as 0."""
    return f"{probability:.2g}" if probability < _SMALLEST_SHOWN else f"{probability:.4f}"


def _counts(value: object, memory: int = 1) -> tuple[Any, ...]:
    if memory > 1:
        return counts_of(value, memory)
    table = validation.square("counts", value, ModelError)
    for i, row in enumerate(table):
        for j, count in enumerate(row):
            if not (0 <= count <= LARGEST_COUNT and count.is_integer()):
                raise ModelError(f"counts, row {i}, column {j} must be a whole number from 0 to 2^53, not {count:g}")
    return tuple(tuple(int(count) for count in row) for row in table)


def _disagreement(counts: Floats, transition: Floats) -> tuple[int, int] | None:
    """Return a row and column at which these probabilities do not follow from these counts; None if they do.

    The smoothing s ≥ 0 of all cells makes P = (n + s)/(Σn + ks). Each probability, give or take its rounding, bounds s
    from above or from below, and some s must satisfy all. A row without counts is uniform, whatever s is.
    """
    size, totals = counts.shape[1], counts.sum(axis=1, keepdims=True)
    most, least = (1 + _AGREEMENT) * transition + _UNDERFLOW, (1 - _AGREEMENT) * transition - _UNDERFLOW
    lower, upper = np.zeros_like(counts), np.full_like(counts, np.inf)
    for slope, room in ((1 - size * most, totals * most - counts), (size * least - 1, counts - totals * least)):
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = room / slope
        lower = np.where(slope < 0, np.maximum(lower, bound), lower)
        upper = np.where(slope > 0, np.minimum(upper, bound), upper)
        upper = np.where((slope == 0) & (room < 0), -np.inf, upper)
    upper[(totals == 0) & (np.abs(size * transition - 1) > _AGREEMENT)] = -np.inf
    alone = lower > upper
    if not alone.any() and lower.max() <= upper.min():
        return None
    row, column = np.argwhere(alone)[0] if alone.any() else np.unravel_index(np.argmax(lower), lower.shape)
    return int(row), int(column)


def _transition(value: object) -> tuple[tuple[float, ...], ...]:
    match value.tolist() if isinstance(value, np.ndarray) else value:
        case [[[*_], *_], *_]:
            raise ModelError(
                "transition has more levels than rows and columns; say "
                + param("memory")
                + ", the number of preceding records that a record depends on (2 for a table [before][now][next])"
            )
    table = validation.square("transition", value, ModelError)
    validation.check_probabilities("transition", table, ModelError)
    return table


def _states(states: Values, size: int) -> tuple[Scalar, ...]:
    if not states:
        return tuple(range(size))
    if len(states) != size:
        raise ModelError(name_of("states") + f" must name the {size} rows of transition, but names {len(states)}")
    return tuple(states)


def _boolean_product(left: Booleans, right: Booleans) -> Booleans:
    return (left.astype(np.float64) @ right.astype(np.float64)) > 0
