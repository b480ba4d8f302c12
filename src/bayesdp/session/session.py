"""Sessions: releases about one table under one model, within one budget.

Every release takes the same path: read the exact answer, charge the ledger, commit, draw the noise, store the answer.
What fails before the charge costs nothing; what fails after it leaves the charge.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar

from bayesdp._support import validation
from bayesdp._support.display import Displayed, PrintedTable, Section
from bayesdp._support.documents import fingerprint
from bayesdp._support.messages import name_of, param
from bayesdp._support.validation import brief
from bayesdp._support.words import counted
from bayesdp.errors import InvalidInputError, LedgerError, ModelError
from bayesdp.frames.growth import Extent
from bayesdp.frames.periods import Every
from bayesdp.frames.source import Missing
from bayesdp.ledger import Check, Ledger, State, default_ledger
from bayesdp.losses import Loss, Neighbours, assumed_replacing
from bayesdp.models import AnyOf, Model
from bayesdp.models.layout import column_names
from bayesdp.queries import Query
from bayesdp.rounding import shown_above, shown_remaining
from bayesdp.session.accounting import check_credibility, remaining, spend_of
from bayesdp.session.answer import Answer
from bayesdp.session.answering import EXTENT, Answering
from bayesdp.session.answers import Answers
from bayesdp.session.approximate_accounting import ApproximateAccountant, NoiseKind, accountant_for, promise_of
from bayesdp.session.charging import carry_out
from bayesdp.session.delta_words import MEANING
from bayesdp.session.discretion import discreetly
from bayesdp.session.overview import overview_of
from bayesdp.session.plan import Target, plan
from bayesdp.session.prepare import CheckedTable
from bayesdp.session.preview import Preview, preview_of
from bayesdp.session.private_fit import Fit, check_expected, first_fit, learn, preview_of_fit
from bayesdp.session.private_fit_preview import FitPreview
from bayesdp.session.private_fit_spec import QUESTION, Within, private_fit_spec
from bayesdp.session.public import check_members, check_nameable
from bayesdp.session.randomize import Randomized, randomize
from bayesdp.session.record import Recorded, record
from bayesdp.session.releases import Releases, StoredRelease, release_stored
from bayesdp.session.retries import Attempt, with_retries
from bayesdp.session.running import RunningWork, on_the_same_grid, stream_of, stream_target
from bayesdp.session.running_totals import RunningPreview, RunningTotals
from bayesdp.theorems.leakage import BETA, DROPPED, notes_about

__all__ = ["Session", "budget_differs"]

T = TypeVar("T")

OUTSIDE = "the records are not what the model or the question needs"
"""What the ledger keeps of a refusal: the same for all, since more would tell about records."""


def budget_differs(dataset: str, budget: float, wanted: float) -> str:
    """Return that a data set has another budget than a session names, and what changes it.

    >>> budget_differs("steps", 2.0, 5.0)
    'the budget of steps is 2, not 5; bayesdp budget lower and raise change it'
    """
    return f"the budget of {dataset} is {budget:g}, not {wanted:g}; bayesdp budget lower and raise change it"


class Session(Displayed):
    """Releases answers about one table under one model, within one budget.

    frame:   a dataframe of any supported engine, or the path of files, or a list of such paths (docs/frames.md).
    model:   what is assumed about how records are correlated. The table must be within it.
    dataset: the name of the data set in the ledger. The same data must always have the same name: the ledger cannot
             know that two names are one table.
    epsilon: the budget. The first release writes it into the ledger with the model and a description of the table, and
             opening the data set again does not change it: `bayesdp budget lower` and `raise` do, and a warning states
             the budget that is in force.
    delta:   the δ of an account that promises (ε, δ), such as 1e-6: releases may have Gaussian noise, and what many of
             them cost grows with the square root of their number (docs/theory/accounting.md). It is fixed when the
             account is opened, for its whole life; None opens an account that promises ε alone, and goes on with an
             account as it was opened.
    ledger:  a SQLite file or URL, or a PostgreSQL URL; by default the user's own (`bayesdp.ledger.default_ledger`).
    missing: "error" or "drop"; by default as the model was fitted.
    accept:  why releases are made although the model's diagnosis says "violated"; without a reason they are refused.
             The ledger and the statement keep it.
    by:      who is responsible for the releases, for the ledger and the statement.
    separate_because: why this is not the table of another account that looks the same.
    credibility: the share of the models that the data leave possible which must keep every promise, for an estimated
             model (docs/uncertainty.md). The account keeps it; by default it is as the account was opened, and another
             one is refused.
    growing: rows will be added to the table, after those that are there. The account goes on with the longer table,
             and every bound is that of a chain of any length (docs/releases.md).
    public:  the columns that anyone may know, such as ["district", "date"]: only by these, and by those by which the
             model orders records or tells them apart, can a question be filtered or parted without noise. It is the
             word of the holder of the data, named when the account is opened and kept in it; `bayesdp budget public`
             names others later.

    No message of a session depends on a private value, beyond the one bit that it refuses: `bayesdp.check_table` says
    more, to those who may see the data. Refusals are entered in the ledger.

    Raises RefusedError for a table that is outside of the model, FrameError for what is no table, LedgerError for a
    ledger that cannot be used or that has the data set under another model or description.
    """

    def __init__(
        self,
        frame: object,
        model: Model,
        *,
        dataset: str,
        epsilon: float | None = None,
        delta: float | None = None,
        ledger: str | Path | Ledger | None = None,
        missing: Missing | None = None,
        accept: str | None = None,
        by: str | None = None,
        separate_because: str | None = None,
        credibility: float | None = None,
        growing: bool = False,
        public: Sequence[str] = (),
    ) -> None:
        if not isinstance(model, Model):
            raise InvalidInputError(f"expected a model such as MarkovChain(...) second, not {brief(model)}")
        if not isinstance(growing, bool):
            raise InvalidInputError(name_of("growing") + f" must be true or false, not {brief(growing)}")
        model = model.at_any_length() if growing else model
        named = column_names("public", public)
        budget = None if epsilon is None else validation.positive("epsilon", epsilon)
        promised = None if delta is None else validation.probability("delta", delta)
        self._dataset = validation.text("dataset", dataset)
        self._frame = frame
        self._accept = None if accept is None else _reason(accept)
        self._by = None if by is None else validation.line("by", by)
        self._owned = not isinstance(ledger, Ledger)
        self._checks: set[Check] = set()
        self._parts: set[str] = set()
        self._ledger = ledger if isinstance(ledger, Ledger) else Ledger(default_ledger() if ledger is None else ledger)
        try:
            _check_alone(model)
            self._ledger.check_model(
                self._dataset, model.opened_as.identity, budget=budget, apart_from=("gaps",), growing=growing
            )
            self._credibility = self._credibility_of(model, credibility)
            if promised is not None and self._credibility is not None:
                _refuse_credibility()
            self._checked_table = self._discreetly(lambda: CheckedTable.of(frame, model, missing, growing=growing))
            self._ledger.check_description(
                self._dataset,
                self._checked_table.description | self._converted_with,
                tuple(self._checked_table.table.schema),
            )
            check_nameable(named, self._checked_table.table, self._checked_table.model_columns)
            self._checked_table = self._checking(self._checked_table.model_columns, self._checked_table.checked)
            self._model = self._checked_table.model
            self._account = self._ledger.account(
                self._dataset,
                model=self._model.opened_as.identity,
                description=self._checked_table.description | self._converted_with,
                budget=budget,
                at_once=False,
                separate_because=separate_because,
                public=named,
                loss=None if promised is None else promise_of(self._model, budget, promised),
            )
            self._promise = self._account.promise
            if self._promise is not None:
                self._check_promise(self._promise)
            self._checked_table = replace(self._checked_table, public=frozenset(self._account.public))
            self._dataset, self._place = self._account.dataset, self._ledger.name
            self._take_over(first_fit(self._account.answers(QUESTION)))
            growth = None if self._account.grown is None else self._ledger.growth(self._dataset)
            stayed = [] if growth is None else [Extent.from_dict(extent) for extent in growth["extents"]]
            self._extent = self._grown(stayed) if growing else None
            self._checked_table = replace(
                self._checked_table, extent=self._extent, stayed_until=stayed[0].until if stayed else None
            )
            self._warn_of_budget(budget)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _credibility_of(self, model: Model, asked: float | None) -> float | None:
        """Return the credibility of the account: the one it was opened with, or the one asked of a new one."""
        wanted = None if asked is None else check_credibility(model, asked)
        known = self._ledger.description(self._dataset)
        if known is None:
            return wanted
        kept = known.get("credibility")
        if wanted not in (None, kept):
            opened = "without a credibility" if kept is None else f"with a credibility of {kept:g}"
            raise LedgerError(
                f"the data set {self._dataset!r} was opened {opened}, not with {wanted:g}; what was spent under one "
                "is not accounted for under another. Leave " + param("credibility") + " out to go on as it was opened"
            )
        return None if kept is None else check_credibility(model, kept)

    def _take_over(self, fit: Fit | None) -> None:
        """Continue with the model that the account has learnt, if any; refuses a model that was learnt elsewhere."""
        learnt = self._model.opened_as is not self._model
        if learnt and (fit is None or fit.model.identity != self._model.identity):
            raise LedgerError(
                f"the model was learnt by a release that the account of {self._dataset!r} does not know: what that "
                "release told would not be accounted for. Use the ledger and the data set it was learnt with"
            )
        known = self._model if fit is None else fit.model
        if fit is not None and self._checked_table.growing and known.at_any_length().identity != known.identity:
            raise LedgerError(
                f"the account of {self._dataset!r} has learnt its model from a table that did not grow, with a limit "
                "on its length"
            )
        known = known if self._promise is None else known.opened_as  # the limits are those of what was assumed first
        self._model = known if known is self._model else replace(known, diagnosis=self._model.diagnosis)
        self._checked_table = replace(self._checked_table, model=self._model)
        self._accountant = accountant_for(self._model, self._promise, self._credibility)
        self._facts = self._facts_of(self._model)

    @property
    def _converted_with(self) -> dict[str, Any]:
        """How the account converts spends, as far as the account stores it beside the model."""
        return {} if self._credibility is None else {"credibility": self._credibility}

    def _leaked(self, state: State) -> float:
        """Return the leakage of everything charged in a state of the account."""
        return self._accountant.leaked(spend_of(state), state.budget)

    def _check_promise(self, promise: Mapping[str, Any]) -> None:
        """Refuse a promise that no release can keep, before the account is opened."""
        if self._credibility is not None:
            _refuse_credibility()
        accountant = accountant_for(self._model, promise)
        assert isinstance(accountant, ApproximateAccountant)
        if not self._account.is_open:
            accountant.check(self._account.state().budget)

    def _grown(self, stayed: Sequence[Extent]) -> Extent:
        """Return how far the table reaches now; refuses a table that does not continue the earlier one.

        stayed: how far it reached as long as it did not grow.
        """
        charges = (entry.content() for entry in self._ledger.entries(self._dataset, "charge"))
        known = (charge.get("details", {}).get(EXTENT) for charge in charges)
        earlier = dict.fromkeys([*stayed, *(Extent.from_dict(extent) for extent in known if extent is not None)])
        return self._discreetly(lambda: self._checked_table.check_grown(tuple(earlier)))

    def _warn_of_budget(self, wanted: float | None) -> None:
        """Warn if the account was opened with another budget, which opening it again does not change."""
        state = self._account.last_state() if self._account.is_open else None
        if wanted is not None and state is not None and state.budget != wanted:
            warnings.warn(budget_differs(self._dataset, state.budget, wanted), stacklevel=3)

    def _discreetly(self, work: Callable[[], T]) -> T:
        """Run code that reads records: a refusal hides what is wrong with them, and is entered in the ledger."""
        return discreetly(work, lambda: self._ledger.refused(self._dataset, OUTSIDE))

    def _checking(self, columns: Iterable[str], work: Callable[[], T]) -> T:
        """Run code that reads private values of columns, and so reveals whether they are as the model assumes.

        The ledger records each such check before it runs, and limits their number (`ledger.checks`).
        """
        check = self._checked_table.check_of(columns)
        if check not in self._checks:
            self._ledger.check(self._dataset, check)
            self._checks.add(check)
        return discreetly(work, lambda: self._ledger.refused(self._dataset, OUTSIDE, check))

    def _check_parts(self, by: str) -> None:
        """Refuse parts whose members are no longer those of earlier releases."""
        extent = self._extent
        named = any(member.entity_columns for member in self._model.members)
        if by in self._parts or (extent is not None and not named):  # records without a name are counted (`Extent`)
            return
        end = None if extent is None or extent.order is None or extent.until is None else (extent.order, extent.until)
        now = {"members": self._checked_table.members(by, end), **({} if end is None else {"end": list(end)})}
        before = self._account.parts(by)
        if before is not None:
            check_members(self._dataset, by, before, now, self._checked_table)
        self._account.note_parts(by, before, now)
        self._parts.add(by)

    def _accepted(self, accept: str | None) -> str | None:
        """Return the reason for a release under a model that its diagnosis denies; refuses if no reason is given."""
        diagnosis = self._model.diagnosis
        if diagnosis is None or not diagnosis.violated:
            return None
        reason = self._accept if accept is None else _reason(accept)
        if reason is None:
            date, denied = diagnosis.date or "an unknown date", ", ".join(diagnosis.violated)
            raise ModelError(
                f"{diagnosis.table_name} contradicts the model, according to its diagnosis of {date} (violated: "
                f"{denied}), so nothing would be proven about a release; take a model that the data do not contradict, "
                "or give a reason: " + param("accept", like='"reason"') + ", which the ledger and the statement keep"
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
        """The model of the session."""
        return self._model

    @property
    def public(self) -> tuple[str, ...]:
        """The columns that the account names as public, sorted."""
        return self._account.public

    @property
    def delta(self) -> float | None:
        """The δ of the account; None if it promises ε alone."""
        return None if self._promise is None else float(self._promise["delta"])

    @property
    def budget(self) -> float:
        """The budget in force."""
        return self._account.state().budget

    @property
    def leaked(self) -> float:
        """The leakage of everything released so far."""
        return self._leaked(self._account.state())

    @property
    def remaining(self) -> float:
        """How much ε is left; a release can take all of it."""
        state = self._account.state()
        return remaining(state.budget, self._leaked(state))

    def __repr__(self) -> str:
        return f"<Session on {self._dataset!r}, model of type {self._model.kind!r}>"

    def _printed(self) -> Sequence[Section]:
        """Return the account from the ledger; nothing here was read from the table."""
        known = [("data set", self._dataset), ("model", self._model.kind), ("protected", self._model.protects)]
        try:
            state = self._account.state()
            total = self._leaked(state)
            used = (
                "ε leaked" if self._promise is None else f"ε used so far at δ = {shown_above(self._promise['delta'])}"
            )
            known += [
                (used, shown_above(total)),
                ("ε remaining", shown_remaining(remaining(state.budget, total), state.budget)),
                ("budget", f"{state.budget:g}"),
                ("charged so far", counted(state.charges, "release")),
            ]
            if self._promise is not None:
                known.append(("what δ means", MEANING))
        except LedgerError as error:
            known.append(("account", str(error)))
        return [[PrintedTable(["session", ""], [*known, ("ledger", self._place)])]]

    def plot(self, path: str | Path) -> Path:
        """Draw what the data set leaked release after release, below its budget, and write the picture."""
        return overview_of(self._ledger, self._dataset).plot(path)

    @property
    def history(self) -> Releases[StoredRelease]:
        """All releases of this data set in the ledger, oldest first.

        The ledger has only the cost of randomized columns and of releases made elsewhere.

        A charge whose answer was lost in a crash is not listed here, but in `bayesdp budget show`.
        """
        bodies = (entry.to_dict()["body"] for entry in self._ledger.entries(self._dataset, "answer"))
        return Releases(map(release_stored, bodies))

    def release(
        self,
        query: Query,
        *,
        epsilon: float | None = None,
        alpha: float | None = None,
        beta: float = BETA,
        accept: str | None = None,
        share: float | None = None,
        noise: NoiseKind | None = None,
    ) -> Answer:
        """Answer a question with noise, and charge for it.

        Give either `epsilon`, by how much the leakage of the data set may rise, or `alpha`: the answer may be off by
        that much with probability at most `beta`. A question that has been answered at least as well returns the stored
        answer at no cost.

        In an account that promises (ε, δ), `epsilon` is by how much the ε used so far may rise, and the noise is
        discrete Laplace or Gaussian noise, whichever errs less.

        accept: the reason for a release although the diagnosis is "violated"; by default that of the session.
        share:  which share of the limit of such an account the release takes, instead of ε or α: with 0.01, a hundred
                answers fit.
        noise:  insist on "laplace" or "gaussian".

        Raises BudgetError if the budget does not allow it, QueryError for a question the model does not describe,
        ModelError for a violated model without a reason, RefusedError for what is wrong with the records; then nothing
        is charged. A LedgerError after the charge leaves it.
        """
        if isinstance(query, Query) and any(len(query.listed.get(by, ())) != 1 for by in query.by_columns):
            raise InvalidInputError(
                f"{query.description} has several answers: release_by returns them, and so does release_all"
            )
        return self.release_all(
            [query], epsilon=epsilon, alpha=alpha, beta=beta, accept=accept, share=share, noise=noise
        )[0]

    def release_by(
        self,
        query: Query,
        *,
        epsilon: float | None = None,
        alpha: float | None = None,
        beta: float = BETA,
        accept: str | None = None,
        share: float | None = None,
        noise: NoiseKind | None = None,
    ) -> Answers:
        """Answer a question for each of its parts or windows (`by=`) with noise, in one scan and one charge.

        As `release`, with its `alpha`, `beta` and `noise`; `epsilon` or `share` is what the release may cost about each
        part or window: a record is in one of them, and pays for that answer alone. There is no answer about a window
        without records if it is a mean, another average or a quantile.

        Raises as `release` does, and InvalidInputError for a question without `by`.
        """
        if not isinstance(query, Query) or query.by is None:
            raise InvalidInputError(
                "release_by answers a question by parts or windows: give it "
                + param("by", "column")
                + " and "
                + param("by_cells", like="[...]")
                + ", or a clock of the order such as "
                + param("by", "hour")
            )
        answers = self.release_all(
            [query], epsilon=epsilon, alpha=alpha, beta=beta, accept=accept, share=share, noise=noise
        )
        windows = self._discreetly(lambda: self._checked_table.named_windows(query))
        if not windows:
            return Answers(query.by, answers)
        answered = {answer.query_fingerprint: answer for answer in answers}
        return Answers(
            query.by,
            tuple(answered[question] for _, question in windows if question in answered),
            cells=tuple(names for names, question in windows if question in answered),
            empty=tuple(names for names, question in windows if question not in answered),
        )

    def release_all(
        self,
        queries: Sequence[Query],
        *,
        epsilon: float | None = None,
        alpha: float | None = None,
        beta: float = BETA,
        accept: str | None = None,
        share: float | None = None,
        noise: NoiseKind | None = None,
    ) -> Releases[Answer]:
        """Answer several questions in one scan and one charge, all or nothing.

        `epsilon` or `share` is for all of them together, and they have one loss each, as large as the others';
        `alpha` and `beta` are for each of them. A question
        by parts or windows has an answer for each of them, in their order, and only those that read one record share an
        ε.
        """
        target, terms = Target.of(epsilon, alpha, beta, share, noise), self._terms(accept)
        wanted: tuple[Any, ...] = tuple(validation.items("queries", queries))
        columns = self._discreetly(lambda: self._checked_table.columns_read(wanted))
        release = partial(self._release, wanted, target, terms)
        return Releases(self._checking(columns, lambda: with_retries(release)))

    def _release(
        self, queries: tuple[Query, ...], target: Target, terms: Mapping[str, Any], attempt: Attempt
    ) -> tuple[Answer, ...]:
        """Answer questions in one attempt."""
        requested = self._checked_table.prepared(queries, attempt.bits)
        for by in dict.fromkeys(prepared.query.part_column for prepared in requested):
            if by is not None:
                self._check_parts(by)
        work = Answering(
            self._checked_table,
            self._accountant,
            self._extent,
            self._dataset,
            self._place,
            prepared=requested,
            target=target,
            terms=terms,
            facts=self._facts,
            attempt=attempt,
        )
        return work.answers(*carry_out(self._account, work))

    def _terms(self, accept: str | None) -> Mapping[str, Any]:
        """Return the circumstances of a release that the ledger and every answer store."""
        return {"diagnosis": self._diagnosed(), "accepted": self._accepted(accept), "by": self._by}

    def _diagnosed(self) -> Mapping[str, Any] | None:
        """Return the diagnosis of the model in short; one of another table does not count for this one.

        "Violated" counts on any table.
        """
        diagnosis = self._model.diagnosis
        if diagnosis is None:
            return None
        if diagnosis.violated or diagnosis.is_about(self._checked_table.name, self._checked_table.rows):
            return diagnosis.brief
        elsewhere = f"{diagnosis.verdict} on another table ({diagnosis.table_name}), not diagnosed on this one"
        return {**diagnosis.brief, "verdict": elsewhere}

    def running(
        self,
        query: Query,
        *,
        every: Every,
        horizon: int | None = None,
        epsilon: float | None = None,
        beta: float = BETA,
        accept: str | None = None,
        share: float | None = None,
        noise: NoiseKind | None = None,
    ) -> RunningTotals:
        """Return the totals so far, period after period, and charge for all of them once: when the stream starts.

        Asked again, when more periods are complete, it goes on with the stream that has the same question, periods,
        horizon and ε, at no cost. A period is complete once the table has a record after it; the number of records in
        it must not change any more. Every total is computed from answers about windows of periods, which the ledger
        stores (docs/theory/running-totals.md).

        query:   a count, a sum or a histogram; the stream begins with its `since`, by default with the period of the
                 first record. Of columns in `by` it has one value each.
        every:   "hour", "day", "week" or "month"; or a number of units of an order of whole numbers.
        horizon: how many periods there will be; None for a stream without an end, whose totals err a little more.
        beta:    how likely a total may be off by more than it states.

        The other arguments are those of `release`, and so is what it raises; QueryError also for a question whose
        answers do not add up, LedgerError for another number of records in a period that was complete before.
        """
        target, terms = stream_target(epsilon, beta, share, noise), self._terms(accept)
        columns = self._discreetly(lambda: self._checked_table.columns_read((query,)))
        go_on = partial(self._go_on, query, every, horizon, target, terms)
        return self._checking(columns, lambda: with_retries(go_on))

    def _go_on(
        self,
        query: Query,
        every: Every,
        horizon: int | None,
        target: Target,
        terms: Mapping[str, Any],
        attempt: Attempt,
    ) -> RunningTotals:
        """Start a stream or go on with it, in one attempt."""
        work = self._stream_work(query, every, horizon, target, terms, attempt)
        decision, released = carry_out(self._account, work)
        return work.totals(decision, released[work.stream.question])

    def _stream_work(
        self,
        query: Query,
        every: Every,
        horizon: int | None,
        target: Target,
        terms: Mapping[str, Any],
        attempt: Attempt,
        *,
        unread: bool = False,
    ) -> RunningWork:
        stream = stream_of(self._checked_table, query, every, horizon, target, attempt.bits, unread=unread)
        state = self._account.state(stream.question)
        return RunningWork(
            self._checked_table,
            self._accountant,
            self._extent,
            self._dataset,
            self._place,
            prepared=(on_the_same_grid(stream, self._checked_table, state),),
            target=target,
            terms=terms,
            facts=self._facts,
            attempt=attempt,
            account=self._account,
        )

    def preview_running(
        self,
        query: Query,
        *,
        every: Every,
        horizon: int | None = None,
        epsilon: float | None = None,
        beta: float = BETA,
        share: float | None = None,
        noise: NoiseKind | None = None,
    ) -> RunningPreview:
        """Return the cost of a stream of running totals, and how far off they would be. Nothing is charged.

        The arguments, `horizon` and `beta` among them, are those of `running`, and so is what it raises. Only the
        number of records is read, and public columns.
        """
        target = stream_target(epsilon, beta, share, noise)
        terms = {"diagnosis": self._diagnosed(), "accepted": None, "by": self._by}

        def previewed(attempt: Attempt) -> RunningPreview:
            work = self._stream_work(query, every, horizon, target, terms, attempt, unread=True)
            return work.preview(self._account.state(work.stream.question))

        return self._discreetly(lambda: with_retries(previewed))

    def preview(
        self,
        query: Query,
        *,
        epsilon: float | None = None,
        alpha: float | None = None,
        beta: float = BETA,
        share: float | None = None,
        noise: NoiseKind | None = None,
    ) -> Preview:
        """Return what a release of `query` would cost and how accurate it would be. Nothing is charged.

        `epsilon`, `alpha`, `beta`, `share` and `noise` are those of `release`, and so is what it raises.

        Only the number of records is read, and public columns: how many records pass a public filter, or are in a
        part. What depends on more is None. Of several parts it is the preview of the one whose answer would be least
        accurate.
        """
        target = Target.of(epsilon, alpha, beta, share, noise)

        def previewed(attempt: Attempt) -> Preview:
            requested = self._checked_table.prepared([query], attempt.bits, unread=True)
            state = self._account.state(*(prepared.question for prepared in requested))
            planned = plan(self._accountant, requested, target, state)
            previews = [preview_of(prepared, planned, target, self._accountant) for prepared in requested]
            worst = max(previews, key=lambda preview: (not preview.stored, preview.alpha or 0.0))
            return worst if len(requested) == 1 else replace(worst, query=query)

        return self._discreetly(lambda: with_retries(previewed))

    def randomize(self, *, epsilon: float, accept: str | None = None) -> Randomized:
        """Release every record's state of a binary chain by randomized response, as a column of the caller's engine.

        Each record is kept or flipped by chance on its own, so the column as a whole is τ-DP. It is not kept in the
        ledger: asking again is another release, and is charged again.

        Needs a chain of two states and a table in memory (pandas, Polars, PyArrow) that lacks none of them.
        """
        target, terms = Target.of(epsilon, None, BETA), {**self._terms(accept), **self._reached}
        return self._checking(
            self._checked_table.model_columns,
            lambda: with_retries(
                partial(randomize, self._frame, self._checked_table, self._accountant, self._account, target, terms)
            ),
        )

    @property
    def _reached(self) -> dict[str, Any]:
        """How far a growing table reaches, as charges about all of it say."""
        return {} if self._extent is None else {EXTENT: self._extent.to_dict()}

    def fit(
        self,
        kind: type[Model] = Model,
        *,
        tau: float,
        credibility: float = 0.95,
        within: Within | None = None,
        bounds: tuple[float, float] | None = None,
        odds_ceiling: float | Sequence[float] | None = None,
        correlation_ceiling: float | None = None,
        anyway: bool = False,
        accept: str | None = None,
    ) -> Fit:
        """Learn the model's odds ratio or correlation from noisy numbers, charge for them, and go on with it.

        The session must have been opened with a model that names its columns: an `OddsChain`, whose transitions are
        counted; an `OddsSeries` of two states, whose records and products by distance are added up; or
        `GaussianGroups` with a bound on every correlation, whose squares and products are added up. Its odds ratio,
        odds ratios or correlation are the ceiling, under which everything is converted until then, this release
        included. The same fit again is given from the ledger at no cost; an account learns once.

        tau:          the ordinary privacy of the noisy numbers. Inside normal groups it costs τ for every member.
        credibility:  how sure it is, given the noisy numbers, that the odds ratio or correlation is no larger.
        within:       of a chain or series: public columns by whose values frequencies may differ: "hour", "weekday",
                      "month" of an order of times, or columns with all the values they may have, {"district": ["north",
                      "south"]}.
        bounds:       of groups: values are clipped to them. Bounds closer than two standard deviations to the mean hide
                      the correlation, and the ceiling stands; wide ones take more noise.
        kind, odds_ceiling, correlation_ceiling: what the session was opened with, if it is to be said again; refused
                      if it was another.
        anyway:       make the fit even if the noise would most likely hide what is to be learnt (`preview_fit`).

        Raises ModelError for a model that has nothing to learn, BudgetError if the budget does not allow it under the
        ceiling, RefusedError for what is wrong with the records, LedgerError if something else was learnt before,
        InvalidInputError if the noise would most likely hide what is to be learnt; then nothing is charged.
        """
        if not isinstance(self._model, kind):
            raise ModelError(f'the session was opened with a model of type "{self._model.kind}", not "{kind.kind}"')
        opened = self._model.opened_as
        spec = private_fit_spec(opened, tau, credibility, {"within": within, "bounds": bounds})
        for parameter, ceiling in (("odds", odds_ceiling), ("correlation", correlation_ceiling)):
            if ceiling is not None and getattr(opened, parameter, None) != _ceiling(f"{parameter}_ceiling", ceiling):
                raise ModelError(f"the session was opened with another ceiling than {brief(ceiling)}")
        terms = {**self._terms(accept), **self._reached}
        if not anyway:
            check_expected(self._checked_table, self._account, spec)
        learning = partial(learn, self._checked_table, self._account, spec, terms)
        learnt = self._checking(self._checked_table.model_columns, lambda: with_retries(learning))
        self._take_over(learnt)
        return learnt

    def preview_fit(
        self,
        *,
        tau: float,
        credibility: float = 0.95,
        within: Within | None = None,
        bounds: tuple[float, float] | None = None,
    ) -> FitPreview:
        """Return what a private fit would cost, and what it would teach in ten cases. Nothing is charged.

        tau:    the loss of the fit, of which its noise follows.
        bounds: the range to which numbers would be clipped, for normal groups.

        The other arguments are those of `fit`, and so is what it raises. Only the number of records is read.
        """
        spec = private_fit_spec(self._model.opened_as, tau, credibility, {"within": within, "bounds": bounds})
        return preview_of_fit(self._checked_table, self._account, spec)

    def record(
        self,
        *,
        tau: float | None = None,
        loss: Loss | None = None,
        what: str,
        neighbours: Neighbours | None = None,
        definition: str = "pure",
        column: str | None = None,
        published: bool = False,
        window: Mapping[str, Any] | None = None,
        accept: str | None = None,
    ) -> Recorded:
        """Charge a release that is made elsewhere: with OpenDP, Tumult, diffprivlib or your own code.

        Record first and publish afterwards: then the budget can refuse it. What it is, and that its τ is right, is your
        word, which the ledger keeps. It must depend on no private column but those the model describes.

        tau:        its ordinary differential privacy.      what: what is released, in a line for the ledger.
        loss:       or its loss: a `PureLoss`, an `ApproximateLoss` (τ, δ) or a `ConcentratedLoss` ρ. Only an account
                    that promises (ε, δ) takes the last two. A tenth of its δ is set aside for those of such releases.
        neighbours: which data sets its loss compares: "replace", one record has another value; or "add-remove", there
                    is a record more or less, as in most libraries. To replace a record is to remove and to add one: τ
                    is charged double, δ times 1 + e^τ, ρ four times. Without it a τ is for "replace", and a loss is
                    refused.
        definition: "pure".
        column:     what it is about, for a model that does not name its column.
        published:  it is out already: it is charged even if the budget does not allow it.
        window:     the records that it reads, by public columns, as queries have them: {"since": …, "until": …} of the
                    order, {"by_cells": {"hour": [7, 8]}}, or both. By default all of them. That it reads no others is
                    your word.
        accept:     as for `release`.

        Raises InvalidInputError for what the account cannot take, BudgetError if the budget does not allow it; then
        nothing is charged.
        """
        if tau is not None and loss is None and neighbours is None:
            assumed_replacing("record(tau=...)")
        if column is not None:
            self._checked_table.check_private(column)
        region = None
        if window is not None:
            region = self._discreetly(lambda: self._checked_table.region_of(column, window))
        terms = {**self._terms(accept), **self._reached}
        return with_retries(
            lambda attempt: record(
                self._accountant,
                self._account,
                terms,
                tau=tau,
                loss=loss,
                what=what,
                neighbours=neighbours,
                definition=definition,
                column=column,
                published=published,
                region=region,
                attempt=attempt,
            )
        )

    def _facts_of(self, model: Model) -> Mapping[str, Any]:
        """Return the facts about the model in every answer, computed once before anything is charged."""
        size, rows = model.group_size, self._checked_table.rows
        read = None if model.reads is None else f"Of each group {model.reads} were read: {rows} records in all."
        notes = [
            *notes_about(model),
            *([] if read is None else [read]),
            *([DROPPED] if self._checked_table.missing == "drop" else []),
            *([_GROWING] if self._checked_table.growing else []),
            *([model.half_diagnosed] if isinstance(model, AnyOf) and model.half_diagnosed else []),
            *([_IMPOSSIBLE] if not model.about_values and size is not None and size >= rows > 1 else []),
        ]
        return {
            "assumption": model.assumption,
            "model_fingerprint": fingerprint(model.identity),
            "parameters": model.parameters,
            "notes": tuple(dict.fromkeys(notes)),
            "unchecked": model.unchecked,
        }


def _refuse_credibility() -> NoReturn:
    raise InvalidInputError(
        "a promise of (epsilon, delta) is about the model as it stands; a credibility is for accounts that promise "
        "epsilon alone. Leave one of the two out"
    )


_GROWING = (
    "Records may be added later, and the bound holds however many there will be; but later records must not react to "
    "earlier answers. That earlier records stayed as they were is seen by how many there are in each period, and "
    "otherwise taken for granted."
)

_IMPOSSIBLE = (
    "All records may be correlated with one another in any way: then no useful answer about all of them can be "
    "protected (docs/theory/impossibility.md)."
)


def _check_alone(model: Model) -> None:
    """Refuse several models of which one was learnt: its account is that of the one model."""
    if len(model.members) > 1 and any(member.opened_as is not member for member in model.members):
        raise ModelError("a model that was learnt by a release stands alone; it cannot be one of several")


def _reason(accept: object) -> str:
    """Return a checked reason: one line with at least one letter or digit."""
    if isinstance(accept, str) and not any(character.isalnum() for character in accept):
        raise InvalidInputError(param("accept") + " must say why, in words")
    return validation.line("accept", accept)


def _ceiling(name: str, value: object) -> float | tuple[float, ...]:
    """Return a ceiling: a number, or one for each distance of a series."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(validation.number(name, entry) for entry in value)
    return validation.number(name, value)
