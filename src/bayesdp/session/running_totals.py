"""The totals of a stream so far: how far off each may be, what the stream cost, and what is proven of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from bayesdp._support import hooks
from bayesdp._support.display import Displayed, PrintedTable, Section, lines, warned
from bayesdp._support.documents import Document
from bayesdp._support.words import counted
from bayesdp.errors import InvalidInputError
from bayesdp.frames.periods import Every
from bayesdp.queries import Query, Value
from bayesdp.rounding import shown_above, shown_below, shown_odds, shown_remaining
from bayesdp.session.answer import Answer, Posting, Promise
from bayesdp.session.measurement import Measurement

__all__ = ["RUNNING", "RunningError", "RunningPreview", "RunningTotal", "RunningTotals", "Source"]

RUNNING, SCHEMA = "running", 1

_SHOWN, _STATED = 12, 366
"""How many totals are printed, and how many have their accuracy in a document."""


@dataclass(frozen=True)
class RunningError:
    """How far off the total of the first `periods` is.

    deviation: its standard deviation.      alpha: it is off by α or more with probability at most β.
    """

    periods: int
    deviation: float
    alpha: float


class Source(Protocol):
    """Where totals come from: each is computed when it is asked for."""

    @property
    def complete(self) -> int:
        """How many periods are complete."""

    def name(self, periods: int) -> str:
        """Return the name of the last of so many periods."""

    def value(self, periods: int) -> Value:
        """Return the total of the first periods."""

    def deviation(self, periods: int) -> float:
        """Return its standard deviation."""

    def measurement(self, periods: int) -> Measurement:
        """Return it with its noise."""

    def errors(self) -> tuple[RunningError, ...]:
        """Return how far off some totals are, the one with the largest variance last."""


@dataclass(frozen=True)
class RunningTotal:
    """The total up to the end of a period, which is named.

    deviation: its standard deviation.      measurement: its intervals, and the number to publish.
    """

    period: str
    number: int
    source: Source = field(repr=False, compare=False)

    @cached_property
    def value(self) -> Value:
        """The total, with its noise."""
        return self.source.value(self.number)

    @cached_property
    def deviation(self) -> float:
        """Its standard deviation."""
        return self.source.deviation(self.number)

    @cached_property
    def measurement(self) -> Measurement:
        """The total with its accuracy, its intervals and the number to publish."""
        return self.source.measurement(self.number)

    def to_dict(self, *, stated: bool = True) -> dict[str, Any]:
        """Return the total as a JSON object. stated: with its accuracy, which takes a while to compute."""
        entries = {"period": self.period, "value": _listed(self.value), "deviation": self.deviation}
        if not stated:
            return entries
        measured = self.measurement
        intervals = [_listed(cell) for cell in measured.interval()]
        return entries | {"rounded": _listed(measured.rounded), "alpha": measured.accuracy(), "interval": intervals}


@dataclass(frozen=True)
class RunningTotals(Displayed, Document):
    """The totals of a stream up to the last period that is complete. `totals["2012-10-07"]` is an `Answer`.

    query:   what is added up, from the beginning of the stream to its horizon.
    every:   how long a period is.      horizon: how many there are; None for a stream without an end.
    source:  where its totals come from. A total that was released never changes.
    promise, posting: what is proven, and what the stream cost, as for an `Answer`. It is charged once, when it starts.
    """

    query: Query
    every: Every
    horizon: int | None
    promise: Promise
    posting: Posting
    source: Source = field(repr=False, compare=False)

    @cached_property
    def totals(self) -> tuple[RunningTotal, ...]:
        """The totals of all complete periods, oldest first."""
        names = ((self.source.name(number), number) for number in range(1, self.source.complete + 1))
        return tuple(RunningTotal(name, number, self.source) for name, number in names)

    @cached_property
    def errors(self) -> tuple[RunningError, ...]:
        """How far off some totals are, those of the future as well; the one with the largest variance last."""
        return self.source.errors()

    def __len__(self) -> int:
        return len(self.totals)

    def __iter__(self) -> Iterator[Answer]:
        return map(self._answer, self.totals)

    def __getitem__(self, period: str | int) -> Answer:
        found = next((total for total in self.totals if total.period == str(period)), None)
        if found is None:
            raise KeyError(period)
        return self._answer(found)

    @property
    def values(self) -> Mapping[str, Value]:
        """The total up to the end of each complete period, by its name."""
        return {total.period: total.value for total in self.totals}

    @property
    def latest(self) -> Answer:
        """The total of everything that is complete; InvalidInputError as long as no period is."""
        if not self.totals:
            raise InvalidInputError(f"no {_period(self.every)} is complete yet; {_waits(self.every)}")
        return self._answer(self.totals[-1])

    @property
    def worst(self) -> RunningError:
        """The error of the total with the largest variance, up to the horizon or within a year of periods."""
        return self.errors[-1]

    @property
    def epsilon(self) -> float:
        """By how much the stream raised what was leaked, when it started."""
        return self.posting.epsilon

    @property
    def epsilon_total(self) -> float:
        """What has leaked in all."""
        return self.posting.epsilon_total

    def statement(self) -> str:
        """Return the page about the last total for a data-protection officer."""
        return self.latest.statement()

    def plot(self, path: str | Path) -> Path:
        """Draw the totals with their intervals, and write the picture."""
        drawn: Path = hooks.call("plot.running", self, path)
        return drawn

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp running --json` prints; the last 366 totals have their accuracy."""
        posting = self.posting
        spent: dict[str, Any] = {"tau": posting.tau} if posting.loss is None else {"loss": posting.loss}
        return {
            "kind": RUNNING,
            "schema": SCHEMA,
            "query": self.query.to_dict(),
            "every": self.every,
            "horizon": self.horizon,
            "dataset": posting.dataset,
            "epsilon": posting.epsilon,
            "epsilon_total": posting.epsilon_total,
            "epsilon_remaining": posting.epsilon_remaining,
            **spent,
            "theorem": self.promise.theorem,
            "entry": posting.entry,
            "head": posting.head,
            "errors": [vars(error) for error in self.errors],
            "totals": [total.to_dict(stated=total.number > len(self) - _STATED) for total in self.totals],
            "latest": self.latest.to_dict() if self.totals else None,
        }

    @property
    def title(self) -> str:
        """What is added up, in words."""
        about = self.query.description
        return f"{about[:1].upper()}{about[1:]}, so far, every {_period(self.every)}"

    def _answer(self, total: RunningTotal) -> Answer:
        return Answer(total.measurement, self.promise, self.posting)

    def _printed(self) -> Sequence[Section]:
        posting, promise = self.posting, self.promise
        shown = self.totals[-_SHOWN:]
        rows = [[total.period, total.measurement.published, total.measurement.off_by] for total in shown]
        listed = [PrintedTable([_period(self.every), "total so far", "off by less than"], rows)] if rows else []
        more = len(self.totals) - len(shown)
        sentences = [
            *([f"The {counted(more, 'total')} before these are in `totals`."] if more else []),
            *([] if rows else [f"No {_period(self.every)} is complete yet; {_waits(self.every)}."]),
            _of_the_worst(self.worst, self.every, self.horizon),
            f"The stream {'was charged when it started' if posting.reused else 'cost'}"
            f"{': ' if posting.reused else ' '}ε = {shown_above(posting.epsilon)} for all of its totals; "
            f"{posting.dataset} has leaked ε = {shown_above(posting.epsilon_total)} in all; remaining: {posting.left}.",
            f"It protects {promise.protects}: {shown_odds(posting.epsilon_total)}."
            if posting.delta is None
            else f"It protects {promise.protects}; all ε are at δ = {shown_above(posting.delta)}.",
            f"{promise.proven}. Model: {promise.verdict}. The statement has the details.",
            *([] if promise.fitted is None else [promise.fitted]),
        ]
        beside = self.latest.warnings if self.totals else ()
        return [[*lines(f"{self.title}:"), *listed, *lines(*sentences), *warned(beside)]]


@dataclass(frozen=True)
class RunningPreview(Displayed, Document):
    """What a stream would cost, and how far off its totals would be; nothing has been charged or drawn.

    errors:  how far off some totals would be; the last is the one with the largest variance.
    started: the stream was charged before; its next totals cost nothing.
    tau, rho, noise_kind: the loss of the stream; rho in an account that promises (ε, δ).
    """

    query: Query
    every: Every
    horizon: int | None
    errors: tuple[RunningError, ...]
    beta: float
    epsilon: float
    epsilon_total: float
    epsilon_remaining: float
    theorem: str
    tau: float | None
    rho: float | None
    noise_kind: str
    started: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp running --dry-run --json` prints."""
        return {**vars(self), "query": self.query.to_dict(), "errors": [vars(error) for error in self.errors]}

    def _printed(self) -> Sequence[Section]:
        level = f"off by less than, in {shown_below(100 * (1 - self.beta))} % of cases"
        rows = [
            [str(error.periods), shown_above(error.deviation), shown_above(error.alpha)] for error in self.errors[:-1]
        ]
        left = shown_remaining(self.epsilon_remaining, self.epsilon_total + self.epsilon_remaining)
        spent = f"tau = {shown_below(self.tau)}" if self.tau is not None else f"rho = {shown_above(self.rho or 0.0)}"
        cost = (
            "The stream was charged when it started; its next totals cost nothing."
            if self.started
            else f"It would cost ε = {shown_above(self.epsilon)} (theorem {self.theorem}, {spent}) once, for all of "
            f"its totals, bringing the total to ε = {shown_above(self.epsilon_total)}, and leave {left}."
        )
        return [
            [
                *lines(f"A preview of {self.query.description}, every {_period(self.every)}. Nothing was charged."),
                PrintedTable([f"{_period(self.every)}s", "standard deviation", level], rows),
                *lines(_of_the_worst(self.errors[-1], self.every, self.horizon), cost),
            ]
        ]


def _of_the_worst(error: RunningError, every: Every, horizon: int | None) -> str:
    within = f"Of {horizon} totals" if horizon is not None else "Of the first 365 totals"
    return (
        f"{within}, that after {counted(error.periods, _period(every))} has the largest standard deviation, "
        f"{shown_above(error.deviation)}, and is off by less than {shown_above(error.alpha)}."
    )


def _period(every: Every) -> str:
    return "period" if isinstance(every, int) else every


def _waits(every: Every) -> str:
    return f"a {_period(every)} is complete when the table has a record after it"


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
