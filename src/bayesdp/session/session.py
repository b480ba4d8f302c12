"""The one place where data, model, budget and noise meet.

Every release goes the same way: read the exact answer, charge the ledger, commit, draw the noise, store the answer.
What fails before the charge costs nothing; what fails after it leaves the charge.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bayesdp import __version__
from bayesdp._support import validation
from bayesdp._support.documents import Document
from bayesdp._support.validation import brief
from bayesdp.errors import (
    CalibrationError,
    FrameError,
    InvalidInputError,
    ModelError,
    QueryError,
    RecordsError,
    RefusedError,
)
from bayesdp.frames.aggregates import Tally
from bayesdp.frames.grid import FINEST_BITS
from bayesdp.frames.source import Missing
from bayesdp.frames.truths import TRUTH, truth_column
from bayesdp.ledger import Charge, Ledger, Receipt, State, default_ledger, fingerprint
from bayesdp.mechanisms import RandomizedResponseMechanism, require_private
from bayesdp.models import MarkovChain, Model
from bayesdp.queries import Count, Query
from bayesdp.rounding import float_above, shown_above, shown_below, shown_odds, shown_remaining
from bayesdp.session.accounting import affordable, leaked, remaining, spend_of
from bayesdp.session.answer import Answer
from bayesdp.session.plan import Asked, Plan, Target, TooFineError, plan
from bayesdp.session.prepare import Inquiry
from bayesdp.session.publishing import warnings_about
from bayesdp.theorems.leakage import BETA, DROPPED

__all__ = ["Preview", "Randomized", "Session"]

OUTSIDE = "the records are not what the model or the question needs"
"""What the ledger keeps of a refusal: the same for all, since more would tell about records."""

_GRIDS = (FINEST_BITS, 32, 24, 16, 8)
"""How fine a grid may be, in bits; a small τ needs a coarser one, so that its noise fits into 64 bits."""

_TOO_SMALL = "that takes more noise than fits into 64 bits; ask for a larger epsilon or a smaller alpha"

_PATIENCE = 3.0
_PAUSE = 0.02
"""How many seconds to wait for the answer to the same question by another process, and between looks at the ledger."""


@dataclass(frozen=True)
class Preview(Document):
    """What a release would cost and how accurate it would be; nothing has been charged or drawn.

    alpha:    the answer would be off by α or more with probability at most β.
    interval: how far the interval of level 1 − β would reach below and above the answer.
    records:  the public number of records.
    stored:   an answer that is as good is stored already, and would be returned at no cost.
    """

    query: Query
    tau: float
    scale: float
    alpha: float
    beta: float
    interval: tuple[float, float]
    epsilon: float
    epsilon_total: float
    epsilon_remaining: float
    theorem: str
    records: int
    stored: bool = False

    @property
    def warnings(self) -> tuple[str, ...]:
        """What would have to stand beside the number, in sentences."""
        return warnings_about(self.query, self.records, self.alpha, self.epsilon_total)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp release --dry-run --json` prints."""
        derived = {"query": self.query.to_dict(), "interval": list(self.interval), "warnings": list(self.warnings)}
        return {**vars(self), **derived}

    def __str__(self) -> str:
        if self.stored:
            return f"{self.query.description}: an answer as good as that is stored; asking for it costs nothing."
        left = shown_remaining(self.epsilon_remaining, self.epsilon_total + self.epsilon_remaining)
        lines = [
            f"A preview of {self.query.description}. Nothing was charged.",
            f"It would be off by less than {shown_above(self.alpha)} in {shown_below(100 * (1 - self.beta))} % of "
            f"cases (noise of scale {shown_above(self.scale)}, tau = {shown_below(self.tau)}).",
            f"It would cost ε = {shown_above(self.epsilon)} (theorem {self.theorem}), to ε = "
            f"{shown_above(self.epsilon_total)} in all, and leave {left}.",
            f"With that, {shown_odds(self.epsilon_total)}.",
        ]
        return "\n".join([*lines, *(f"Warning: {warning}" for warning in self.warnings)])


@dataclass(frozen=True)
class Randomized:
    """A column of true and false, each kept or flipped by chance, and what it cost.

    column: None in a session's history: the ledger does not keep it.
    """

    subject: str
    tau: float
    flip_probability: float
    epsilon: float
    epsilon_total: float
    epsilon_remaining: float
    theorem: str
    entry: int
    head: str
    column: Any = field(default=None, compare=False)


class Session:
    """Releases answers about one table under one model, within one budget.

    frame:   a dataframe of any supported engine, or the path of files (Parquet, CSV and others: docs/frames.md).
    model:   what is assumed about how records are correlated. The table must be within it.
    dataset: the name of the data set in the ledger. The same data must always have the same name: the ledger cannot
             know that two names are one table.
    epsilon: the budget. The first release writes it into the ledger with the model and a description of the table, and
             opening the data set again does not change it: `bayesdp budget lower` and `raise` do.
    ledger:  a SQLite file or URL, or a PostgreSQL URL; by default the user's own (`bayesdp.ledger.default_ledger`).
    missing: "error" or "drop"; by default as the model was fitted.
    accept:  why releases are made although the model's diagnosis says "violated"; without a reason they are refused.
             The ledger and the statement keep it.
    by:      who is responsible for the releases, for the ledger and the statement.
    separate_because: why this is not the table of another account that looks the same.

    No message of a session depends on a private value, beyond the one bit that it refuses: `bayesdp.check_table` says
    more, to those who may see the data. Refusals are entered in the ledger.

    Raises RefusedError for a table that is outside of the model, FrameError for what is no table, LedgerError for a
    ledger that cannot be used or that knows the data set under another model or description.
    """

    def __init__(
        self,
        frame: object,
        model: Model,
        *,
        dataset: str,
        epsilon: float | None = None,
        ledger: str | Path | Ledger | None = None,
        missing: Missing | None = None,
        accept: str | None = None,
        by: str | None = None,
        separate_because: str | None = None,
    ) -> None:
        if not isinstance(model, Model):
            raise InvalidInputError(f"expected a model such as MarkovChain(...) second, not {brief(model)}")
        budget = None if epsilon is None else validation.positive("epsilon", epsilon)
        self._dataset = validation.text("dataset", dataset)
        self._frame = frame
        self._accept = None if accept is None else validation.line("accept", accept)
        self._by = None if by is None else validation.line("by", by)
        self._owned = not isinstance(ledger, Ledger)
        self._ledger = ledger if isinstance(ledger, Ledger) else Ledger(default_ledger() if ledger is None else ledger)
        try:
            self._ledger.check_model(self._dataset, model.identity, budget=budget, apart_from=("gaps",))
            with self._discreet():
                self._inquiry = Inquiry.into(frame, model, missing)
            self._model = self._inquiry.model
            self._account = self._ledger.account(
                self._dataset,
                model=self._model.identity,
                description=self._inquiry.description,
                budget=budget,
                at_once=False,
                separate_because=separate_because,
            )
            self._dataset = self._account.dataset
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _discreet(self) -> Iterator[None]:
        """Say of whatever is wrong with the records only that it is refused, and enter the refusal in the ledger."""
        refused = False
        try:
            yield
        except RecordsError:
            refused = True
        if refused:
            self._ledger.refused(self._dataset, OUTSIDE)
            raise RefusedError

    def _accepted(self, accept: str | None) -> str | None:
        """Return the reason for a release under a model that its diagnosis denies; refuses one without a reason."""
        diagnosis = self._model.diagnosis
        if diagnosis is None or not diagnosis.violated:
            return None
        reason = self._accept if accept is None else validation.line("accept", accept)
        if reason is None:
            date, denied = diagnosis.date or "an unknown date", ", ".join(diagnosis.violated)
            raise ModelError(
                f"the model's diagnosis of {date} says that {diagnosis.table_name} does not follow it (violated: "
                f"{denied}), so nothing would be proven about a release; take a model the data do not deny, or say "
                'accept="reason" (--accept-violated REASON), which the ledger and the statement keep'
            )
        return reason

    def close(self) -> None:
        """Close the ledger, if this session opened it."""
        if self._owned:
            self._ledger.close()

    def open_account(self) -> State:
        """Open the data set's account now, without a release; LedgerError if it is open already."""
        return self._account.open()

    @property
    def model(self) -> Model:
        """What is assumed."""
        return self._model

    @property
    def budget(self) -> float:
        """The budget in force, as the ledger has it."""
        return self._account.state().budget

    @property
    def leaked(self) -> float:
        """The leakage of everything released so far."""
        return leaked(self._model, spend_of(self._account.state().totals))

    @property
    def remaining(self) -> float:
        """How much ε is left; a release can take all of it."""
        state = self._account.state()
        return remaining(state.budget, leaked(self._model, spend_of(state.totals)))

    @property
    def history(self) -> tuple[Answer | Randomized, ...]:
        """What the ledger says was released of this data set, oldest first; of randomized columns, what they cost.

        A charge whose answer was lost in a crash is not in it, but in `bayesdp budget show`.
        """
        bodies = (entry.to_dict()["body"] for entry in self._ledger.entries(self._dataset, "answer"))
        return tuple(_randomized(body) or Answer.stored(body) for body in bodies)

    def release(
        self,
        query: Query,
        *,
        epsilon: float | None = None,
        alpha: float | None = None,
        beta: float = BETA,
        accept: str | None = None,
    ) -> Answer:
        """Answer a question with noise, and charge for it.

        Give either `epsilon`, by how much the leakage of the data set may rise, or `alpha`: the answer may be off by
        that much with probability at most `beta`. A question that has been answered at least as well returns the stored
        answer at no cost.

        accept: why it is released although the model's diagnosis says "violated"; by default as the session was told.

        Raises BudgetError if the budget does not allow it, QueryError for a question the model does not speak about,
        ModelError for a violated model without a reason, RefusedError for what is wrong with the records; then nothing
        is charged. A LedgerError after the charge leaves it.
        """
        return self.release_all([query], epsilon=epsilon, alpha=alpha, beta=beta, accept=accept)[0]

    def release_all(
        self,
        queries: Sequence[Query],
        *,
        epsilon: float | None = None,
        alpha: float | None = None,
        beta: float = BETA,
        accept: str | None = None,
    ) -> tuple[Answer, ...]:
        """Answer several questions in one scan and one charge, all or nothing.

        `epsilon` is for all of them together, and they share one τ; `alpha` is for each of them.
        """
        target = Target.of(epsilon, alpha, beta)
        terms = self._terms(accept)
        asked: tuple[Any, ...] = tuple(validation.items("queries", queries))
        with self._discreet():
            for bits in _GRIDS:
                try:
                    return self._release(self._inquiry.asked(asked, bits), target, terms)
                except TooFineError:
                    continue
        raise CalibrationError(_TOO_SMALL)

    def _terms(self, accept: str | None) -> Mapping[str, Any]:
        """Return what the ledger and every answer keep of the circumstances of a release."""
        diagnosis = self._model.diagnosis
        return {
            "diagnosis": None if diagnosis is None else diagnosis.brief,
            "accepted": self._accepted(accept),
            "by": self._by,
        }

    def preview(
        self, query: Query, *, epsilon: float | None = None, alpha: float | None = None, beta: float = BETA
    ) -> Preview:
        """Say what a release would cost and how accurate it would be. Nothing is charged.

        No value is read, except to count the records of a mean that has a filter or leaves records out.
        """
        target = Target.of(epsilon, alpha, beta)
        with self._discreet():
            for bits in _GRIDS:
                (asked,) = self._inquiry.asked([query], bits)
                state = self._account.state(asked.question)
                try:
                    planned = plan(self._model, (asked,), target, state)
                except TooFineError:
                    continue
                return self._previewed(asked, planned, target, state)
        raise CalibrationError(_TOO_SMALL)

    def randomize(self, *, epsilon: float, accept: str | None = None) -> Randomized:
        """Release every record's state of a binary chain by randomized response, as a column of the caller's engine.

        Each record is kept or flipped by chance on its own, so the column as a whole is τ-DP. It is not kept in the
        ledger: asking again is another release, and is charged again.

        Needs a chain of two states and a table in memory (pandas, Polars, PyArrow) that lacks none of them.
        """
        target = Target.of(epsilon, None, BETA)
        terms = self._terms(accept)
        model = self._model
        if not isinstance(model, MarkovChain) or len(model.states) != 2 or model.subject is None:
            raise QueryError("randomized response is for a chain of two states that names its column or condition")
        with self._discreet():
            (asked,) = self._inquiry.asked([Count(model.subject, equals=tuple(model.states)[1])], FINEST_BITS)
            everyone = Count(model.subject, isin=tuple(model.states))
            truths = truth_column(self._frame, self._inquiry.table, asked.query)
            if self._inquiry.read([everyone])[0].counts != (self._inquiry.rows,):
                raise RecordsError(f"{self._inquiry.name} holds other states than the chain's")
            if len(truths) != self._inquiry.rows:
                raise FrameError(f"{self._inquiry.name} has {len(truths)} rows now, but had {self._inquiry.rows}")
        asked = replace(asked, question=fingerprint({"randomize": model.subject}))

        decided: list[tuple[Charge, RandomizedResponseMechanism]] = []

        def decide(state: State) -> Charge:
            spent = spend_of(state.totals)
            cost = affordable(model, (asked.query,), epsilon=target.epsilon or 0.0, spent=spent, budget=state.budget)
            planned = Plan(state.head, cost.tau, (asked,), {}, cost)
            charge = _charge(asked, planned, target.to_dict(), {**terms, "randomized": model.subject})
            mechanism = RandomizedResponseMechanism(cost.tau)
            require_private(mechanism)
            decided.append((charge, mechanism))
            return charge

        receipt = self._account.charge(decide)
        charge, mechanism = decided[-1]
        details = charge.details
        released = Randomized(
            subject=model.subject,
            tau=mechanism.tau,
            flip_probability=float(mechanism.flip_probability),
            epsilon=details["epsilon"],
            epsilon_total=details["epsilon_total"],
            epsilon_remaining=details["epsilon_remaining"],
            theorem=details["theorem"],
            entry=receipt.entry,
            head=receipt.head,
            column=mechanism.release_column(truths, TRUTH),
        )
        self._account.answer(receipt, {name: value for name, value in vars(released).items() if name != "column"})
        return released

    def _release(self, asked: tuple[Asked, ...], target: Target, terms: Mapping[str, Any]) -> tuple[Answer, ...]:
        """Release; another process that has been charged for the same question a moment ago is waited for."""
        begun = time.monotonic()
        while time.monotonic() < begun + _PATIENCE:
            try:
                return self._released(asked, target, terms, waiting=True)
            except _InTheMakingError:
                time.sleep(_PAUSE)
        return self._released(asked, target, terms, waiting=False)

    def _released(
        self, asked: tuple[Asked, ...], target: Target, terms: Mapping[str, Any], *, waiting: bool
    ) -> tuple[Answer, ...]:
        """Read, charge, commit, draw, store."""
        state = self._account.state(*(each.question for each in asked))
        made = plan(self._model, asked, target, state)
        if waiting:
            _check_unanswered(made, state)
        if not made.fresh:
            answers = self._again(made, state, target)
            return tuple(answers[each.question] for each in asked)
        tallies = dict(zip((each.question for each in asked), self._inquiry.exact(asked), strict=True))
        together = {"questions": sorted(tallies)} if len(asked) > 1 else {}
        request = target.to_dict() | together

        def decide(state: State) -> tuple[Charge, ...]:
            nonlocal made
            if state.head != made.head:
                made = plan(self._model, asked, target, state)
                if waiting:
                    _check_unanswered(made, state)
            return tuple(_charge(each, made, request, terms) for each in made.fresh)

        receipts = self._account.charge(decide)
        answers = self._again(made, receipts[0].state if receipts else self._account.state(), target)
        for each, receipt in zip(made.fresh, receipts, strict=True):
            drawn = self._drawn(each, tallies[each.question], made, receipt, target.beta, terms)
            self._account.answer(receipt, {**drawn.to_dict(), "asked": request})
            answers[each.question] = drawn
        return tuple(answers[each.question] for each in asked)

    def _again(self, made: Plan, state: State, target: Target) -> dict[str, Answer]:
        """Return the stored answers as they are given again, with the account of now."""
        if not made.stored:
            return {}
        total = leaked(self._model, spend_of(state.totals))
        left = remaining(state.budget, total)
        return {
            question: replace(answer, epsilon_total=total, epsilon_remaining=left, beta=target.beta, reused=True)
            for question, answer in made.stored.items()
        }

    def _drawn(
        self, asked: Asked, exact: Tally, made: Plan, receipt: Receipt, beta: float, terms: Mapping[str, Any]
    ) -> Answer:
        """Draw the noise of a charged release."""
        assert made.cost is not None
        mechanism = asked.mechanism(made.tau)
        noisy = mechanism.release(exact.counts)
        records = exact.public_records
        leakage = made.cost.leakage
        return Answer(
            value=asked.query.assembled(noisy, asked.grid, records),
            query=asked.query,
            dataset=self._dataset,
            records=exact.present,
            tau=made.tau,
            noise=mechanism.scale,
            unit=float_above(asked.worth(records)),
            rounding=float_above(asked.rounding(exact.present)),
            epsilon=made.cost.epsilon,
            epsilon_total=made.cost.total,
            epsilon_remaining=made.cost.left,
            theorem=leakage.theorem,
            proof=leakage.proof,
            scope=leakage.scope,
            protects=leakage.unit,
            assumption=leakage.assumption,
            timestamp=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            query_fingerprint=asked.question,
            model_fingerprint=fingerprint(self._model.identity),
            entry=receipt.entry,
            head=receipt.head,
            notes=self._notes(leakage.notes, len(made.fresh)),
            worst_case=leakage.worst_case,
            beta=beta,
            version=__version__,
            ledger=self._ledger.name,
            parameters=self._model.parameters,
            **terms,
        )

    def _notes(self, notes: Sequence[str], together: int) -> tuple[str, ...]:
        """Return what the reader of an answer must know beyond its numbers, each sentence once."""
        diagnosis = self._model.diagnosis
        size, rows = self._model.group_size, self._inquiry.rows
        sentences = [
            *notes,
            *([DROPPED] if self._inquiry.missing == "drop" else []),
            *([self._model.unchecked] if self._model.unchecked else []),
            *([_ELSEWHERE.format(diagnosis.table_name)] if diagnosis is not None and diagnosis.rows != rows else []),
            *([_IMPOSSIBLE] if not self._model.about_values and size is not None and size >= rows > 1 else []),
            *([f"This ε is for {together} answers released together."] if together > 1 else []),
        ]
        return tuple(dict.fromkeys(sentences))

    def _previewed(self, asked: Asked, found: Plan, target: Target, state: State) -> Preview:
        cost = found.cost
        if cost is None:
            return self._previewed_again(found.stored[asked.question], target, state)
        mechanism = asked.mechanism(found.tau)
        worth = asked.worth(asked.records)
        units, slack = mechanism.alpha(target.beta), asked.rounding(asked.records)
        half = float_above((Fraction(units) - 1) * worth + slack)
        return Preview(
            query=asked.query,
            tau=found.tau,
            scale=float_above(Fraction(mechanism.scale) * worth),
            alpha=float_above(Fraction(units) * worth + slack),
            beta=target.beta,
            interval=(-half, half),
            epsilon=cost.epsilon,
            epsilon_total=cost.total,
            epsilon_remaining=remaining(state.budget, cost.total),
            theorem=cost.leakage.theorem,
            records=asked.records,
        )

    def _previewed_again(self, answer: Answer, target: Target, state: State) -> Preview:
        total = leaked(self._model, spend_of(state.totals))
        half = answer.reach(target.beta)
        return Preview(
            query=answer.query,
            tau=answer.tau,
            scale=answer.scale,
            alpha=answer.accuracy(target.beta),
            beta=target.beta,
            interval=(-half, half),
            epsilon=0.0,
            epsilon_total=total,
            epsilon_remaining=remaining(state.budget, total),
            theorem=answer.theorem,
            records=answer.records,
            stored=True,
        )


def _randomized(body: Any) -> Randomized | None:
    """Return what a ledger stored of a randomized column, or None if that is not what it is."""
    known = {item.name for item in fields(Randomized)} - {"column"}
    return Randomized(**body) if isinstance(body, dict) and set(body) == known else None


class _InTheMakingError(Exception):
    """Another process was charged for the same question a moment ago, and will store its answer."""


def _check_unanswered(made: Plan, state: State) -> None:
    """Refuse, for now, to charge for a question whose answer is in the making; one lost in a crash is older."""
    now = datetime.datetime.now(datetime.UTC)
    for each in made.fresh:
        charged = state.unanswered(each.question)
        if charged is not None and (now - datetime.datetime.fromisoformat(charged)).total_seconds() < _PATIENCE:
            raise _InTheMakingError


_ELSEWHERE = "The diagnosis is one of {}, which has another number of rows than the table released from."

_IMPOSSIBLE = (
    "All records may be correlated with one another in any way: then no useful answer about all of them can be "
    "protected (docs/theory/impossibility.md)."
)


def _charge(asked: Asked, made: Plan, request: dict[str, Any], terms: Mapping[str, Any]) -> Charge:
    assert made.cost is not None
    details = {
        "asked": request,
        "epsilon": made.cost.epsilon,
        "epsilon_total": made.cost.total,
        "epsilon_remaining": made.cost.left,
        "theorem": made.cost.leakage.theorem,
        "sensitivity": asked.sensitivity,
        "query": asked.query.to_dict(),
        **{name: value for name, value in terms.items() if value is not None},
    }
    standing = asked.query.standing().to_dict()
    return Charge(asked.question, fingerprint(standing), standing, made.tau, details)
