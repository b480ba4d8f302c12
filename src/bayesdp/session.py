"""The one place where data, model, budget and noise meet.

Every release goes the same way: read the exact answer, charge the ledger, commit, draw the noise, store the answer.
What fails before the charge costs nothing; what fails after it leaves the charge.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bayesdp import validation
from bayesdp.accounting import affordable, leaked, remaining, spend_of, standing_for
from bayesdp.answer import Answer, Value
from bayesdp.documents import Document
from bayesdp.errors import CalibrationError, FrameError, InvalidInputError, QueryError
from bayesdp.frames.aggregates import Tally
from bayesdp.frames.grid import FINEST_BITS
from bayesdp.frames.source import Missing
from bayesdp.frames.truths import TRUTH, truth_column
from bayesdp.inquiry import Inquiry
from bayesdp.leakage.report import BETA, DROPPED
from bayesdp.ledger import Charge, Ledger, Receipt, State, default_ledger, fingerprint
from bayesdp.mechanisms import RandomizedResponseMechanism, require_private
from bayesdp.models import MarkovChain, Model
from bayesdp.planning import Asked, Plan, Target, TooFineError, plan
from bayesdp.queries import Count, Mean, Query
from bayesdp.rounding import float_above, shown_above, shown_below
from bayesdp.validation import brief

__all__ = ["Preview", "Randomized", "Session"]

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
    stored: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp release --dry-run --json` prints."""
        return {**vars(self), "query": self.query.to_dict(), "interval": list(self.interval)}

    def __str__(self) -> str:
        if self.stored:
            return f"{self.query.description}: an answer as good as that is stored; asking for it costs nothing."
        return (
            f"{self.query.description} would be off by less than {shown_above(self.alpha)} in "
            f"{shown_below(100 * (1 - self.beta))} % of cases (noise of scale {shown_above(self.scale)}, tau = "
            f"{shown_below(self.tau)}). It would cost ε = {shown_above(self.epsilon)} (theorem {self.theorem}) and "
            f"leave {shown_below(self.epsilon_remaining)}. Nothing was charged."
        )


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

    frame:   a dataframe of any supported engine, or the path of .parquet or .csv files.
    model:   what is assumed about how records are correlated.
    dataset: the name of the data set in the ledger. The same data must always have the same name: the ledger cannot
             know that two names are one table.
    epsilon: the budget. The first release writes it into the ledger with the model and a description of the table, and
             opening the data set again does not change it: `bayesdp budget lower` and `raise` do.
    ledger:  a SQLite file or URL, or a PostgreSQL URL; by default the one in BAYESDP_LEDGER, else the user's own.
    missing: "error" or "drop"; by default as the model was fitted.
    separate_because: why this is another data set than one in the ledger that looks the same; kept there.

    Raises FrameError for a table that does not fit the model, LedgerError for a ledger that cannot be used or that
    knows the data set under another model or description.
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
        separate_because: str | None = None,
    ) -> None:
        if not isinstance(model, Model):
            raise InvalidInputError(f"expected a model such as MarkovChain(...) second, not {brief(model)}")
        budget = None if epsilon is None else validation.positive("epsilon", epsilon)
        self._dataset = validation.text("dataset", dataset)
        self._model, self._frame = model, frame
        self._inquiry = Inquiry.into(frame, model, missing)
        self._fingerprint = fingerprint(model.to_dict())
        self._owned = not isinstance(ledger, Ledger)
        self._ledger = ledger if isinstance(ledger, Ledger) else Ledger(default_ledger() if ledger is None else ledger)
        try:
            self._account = self._ledger.account(
                self._dataset,
                model=model.to_dict(),
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
        self, query: Query, *, epsilon: float | None = None, alpha: float | None = None, beta: float = BETA
    ) -> Answer:
        """Answer a question with noise, and charge for it.

        Give either `epsilon`, by how much the leakage of the data set may rise, or `alpha`: the answer may be off by
        that much with probability at most `beta`. A question that has been answered at least as well returns the stored
        answer at no cost.

        Raises BudgetError if the budget does not allow it, QueryError for a question the model does not speak about,
        FrameError for what is wrong with the data; then nothing is charged. A LedgerError after the charge leaves it.
        """
        return self.release_all([query], epsilon=epsilon, alpha=alpha, beta=beta)[0]

    def release_all(
        self,
        queries: Sequence[Query],
        *,
        epsilon: float | None = None,
        alpha: float | None = None,
        beta: float = BETA,
    ) -> tuple[Answer, ...]:
        """Answer several questions in one scan and one charge, all or nothing.

        `epsilon` is for all of them together, and they share one τ; `alpha` is for each of them.
        """
        target = Target.of(epsilon, alpha, beta)
        asked: tuple[Any, ...] = tuple(validation.items("queries", queries))
        for bits in _GRIDS:
            try:
                return self._release(self._inquiry.asked(asked, bits), target)
            except TooFineError:
                continue
        raise CalibrationError(_TOO_SMALL)

    def preview(
        self, query: Query, *, epsilon: float | None = None, alpha: float | None = None, beta: float = BETA
    ) -> Preview:
        """Say what a release would cost and how accurate it would be. Nothing is charged.

        No value is read, except to count the records of a mean that has a filter or leaves records out.
        """
        target = Target.of(epsilon, alpha, beta)
        for bits in _GRIDS:
            (asked,) = self._inquiry.asked([query], bits)
            state = self._account.state(asked.question)
            try:
                found = plan(self._model, (asked,), target, state)
            except TooFineError:
                continue
            return self._previewed(asked, found, target, state)
        raise CalibrationError(_TOO_SMALL)

    def randomize(self, *, epsilon: float) -> Randomized:
        """Release every record's state of a binary chain by randomized response, as a column of the caller's engine.

        Each record is kept or flipped by chance on its own, so the column as a whole is τ-DP. It is not kept in the
        ledger: asking again is another release, and is charged again.

        Needs a chain of two states and a table in memory (pandas, Polars, PyArrow) that lacks none of them.
        """
        target = Target.of(epsilon, None, BETA)
        model = self._model
        if not isinstance(model, MarkovChain) or len(model.states) != 2 or model.subject is None:
            raise QueryError("randomized response is for a chain of two states that names its column or condition")
        (asked,) = self._inquiry.asked([Count(model.subject, equals=tuple(model.states)[1])], FINEST_BITS)
        everyone = Count(model.subject, isin=tuple(model.states))
        truths = truth_column(self._frame, self._inquiry.table, asked.query)
        if self._inquiry.read([everyone])[0].counts != (self._inquiry.rows,) or len(truths) != self._inquiry.rows:
            raise FrameError(f"{self._inquiry.name} has changed: it holds other states than the chain's, or other rows")
        asked = replace(asked, question=fingerprint({"randomize": model.subject}))

        decided: list[tuple[Charge, RandomizedResponseMechanism]] = []

        def decide(state: State) -> Charge:
            spent = spend_of(state.totals)
            cost = affordable(model, (asked.query,), epsilon=target.epsilon or 0.0, spent=spent, budget=state.budget)
            made = Plan(state.head, cost.tau, (asked,), {}, cost)
            charge = _charge(asked, made, target.to_dict(), randomized=model.subject)
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

    def _release(self, asked: tuple[Asked, ...], target: Target) -> tuple[Answer, ...]:
        """Release; another process that has been charged for the same question a moment ago is waited for."""
        begun = time.monotonic()
        while time.monotonic() < begun + _PATIENCE:
            try:
                return self._released(asked, target, waiting=True)
            except _InTheMakingError:
                time.sleep(_PAUSE)
        return self._released(asked, target, waiting=False)

    def _released(self, asked: tuple[Asked, ...], target: Target, *, waiting: bool) -> tuple[Answer, ...]:
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
            return tuple(_charge(each, made, request) for each in made.fresh)

        receipts = self._account.charge(decide)
        answers = self._again(made, receipts[0].state if receipts else self._account.state(), target)
        for each, receipt in zip(made.fresh, receipts, strict=True):
            answers[each.question] = self._drawn(each, tallies[each.question], made, receipt, request, target.beta)
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
        self, asked: Asked, exact: Tally, made: Plan, receipt: Receipt, request: dict[str, Any], beta: float
    ) -> Answer:
        """Draw the noise of a charged release, and store the answer."""
        assert made.cost is not None
        mechanism = asked.mechanism(made.tau)
        noisy = mechanism.release(exact.counts)
        leakage = made.cost.leakage
        several = len(made.fresh) > 1
        together = [f"This ε is for {len(made.fresh)} answers released together."] if several else []
        dropped = [DROPPED] if self._inquiry.missing == "drop" else []
        answer = Answer(
            value=_value(asked, noisy, exact.records),
            query=asked.query,
            dataset=self._dataset,
            records=exact.present,
            tau=made.tau,
            noise=mechanism.scale,
            unit=float_above(asked.worth(exact.records)),
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
            model_fingerprint=self._fingerprint,
            entry=receipt.entry,
            head=receipt.head,
            notes=(*dict.fromkeys((*leakage.notes, *dropped)), *together),
            worst_case=leakage.worst_case,
            beta=beta,
        )
        self._account.answer(receipt, {**answer.to_dict(), "asked": request})
        return answer

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


def _charge(asked: Asked, made: Plan, request: dict[str, Any], **more: str | None) -> Charge:
    assert made.cost is not None
    details = {
        "asked": request,
        "epsilon": made.cost.epsilon,
        "epsilon_total": made.cost.total,
        "epsilon_remaining": made.cost.left,
        "theorem": made.cost.leakage.theorem,
        "sensitivity": asked.sensitivity,
        "query": asked.query.to_dict(),
        **more,
    }
    standing = standing_for(asked.query).to_dict()
    return Charge(asked.question, fingerprint(standing), standing, made.tau, details)


def _value(asked: Asked, noisy: Sequence[int], records: int) -> Value:
    if asked.grid is None:
        return tuple(noisy) if asked.query.kind == "histogram" else noisy[0]
    total = asked.grid.total(noisy[0], records)
    return float(total / records if isinstance(asked.query, Mean) else total)
