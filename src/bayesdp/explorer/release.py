"""The release that the holder of the data signs on the page: one session, one charge, and what can be filed of it.

A session keeps an answer in the ledger and gives it again at no cost, so that a second click or a second tab charges
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesdp._support import validation
from bayesdp.advice.next_steps import released_by
from bayesdp.errors import InvalidInputError
from bayesdp.explorer.choices import Choices, Target, positive
from bayesdp.explorer.explored_file import ExploredFile
from bayesdp.explorer.priced_assumptions import PricedAssumptions
from bayesdp.models.diagnosis import Diagnosis, Finding, Verdict, today
from bayesdp.session.session import Session

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from bayesdp.advice.priced_assumption import PricedAssumption
    from bayesdp.frames.source import Missing
    from bayesdp.models import Model
    from bayesdp.queries import Query
    from bayesdp.session.answer import Answer
    from bayesdp.session.answers import Answers
    from bayesdp.session.preview import Preview

__all__ = ["ReleaseOrder", "Signed", "order_of"]


@dataclass(frozen=True)
class Signed:
    """The fields of the release as they were typed.

    dataset: the name of the data set in the ledger.   name:   who is responsible.
    budget:  the ε of a new account.                   reason: why a contradicted assumption is accepted.
    """

    dataset: str = ""
    ledger: str = ""
    budget: str = ""
    name: str = ""
    reason: str = ""


@dataclass(frozen=True)
class ReleaseOrder:
    """A release that is ready to be made: the table, the model, the question, the promise, and who signs it."""

    path: str
    model: Model
    query: Query
    target: Target
    missing: Missing
    dataset: str
    ledger: str
    budget: float
    by: str
    accept: str | None = None
    credibility: float | None = None
    public: tuple[str, ...] = ()

    @property
    def promised(self) -> dict[str, Any]:
        """What the release promises: the arguments of `Session.release`."""
        stated = {"epsilon": self.target.epsilon} if self.target.alpha is None else {"alpha": self.target.alpha}
        return {**stated, "beta": self.target.beta}

    @property
    def account(self) -> dict[str, Any]:
        """The arguments of `Session` besides the table and the model; none that is at its default."""
        optional = {
            "delta": self.target.delta,
            "missing": None if self.missing == "error" else self.missing,
            "accept": self.accept,
            "credibility": self.credibility,
            "public": list(self.public) or None,
        }
        given = {name: value for name, value in optional.items() if value is not None}
        return {"dataset": self.dataset, "epsilon": self.budget, "ledger": self.ledger, "by": self.by, **given}

    def previewed(self) -> Preview:
        """Return what the release would cost; nothing is charged. Raises as `Session.preview` does."""
        with self._session() as session:
            return session.preview(self.query, **self.promised)

    def released(self) -> Answer | Answers:
        """Release and charge, or return the answer that the ledger has; of a question by windows, all answers.

        Raises as `Session.release` does.
        """
        with self._session() as session:
            if released_by(self.query) == "release_by":
                return session.release_by(self.query, **self.promised)
            return session.release(self.query, **self.promised)

    def _session(self) -> AbstractContextManager[Session]:
        return Session(self.path, self.model, **self.account)


def order_of(
    explored: ExploredFile, choices: Choices, priced_assumptions: PricedAssumptions | None, signed: Signed
) -> ReleaseOrder:
    """Return the release that was chosen and signed.

    Raises InvalidInputError if the page has no priced assumption for these choices, if the name of the data set or of
    the person is missing, or if a contradicted assumption is not accepted with a reason.
    """
    chosen = None if priced_assumptions is None else priced_assumptions.chosen(choices)
    if priced_assumptions is None or not priced_assumptions.fits(choices) or chosen is None or chosen.model is None:
        raise InvalidInputError("choose a question and an assumption first")
    target = choices.target
    model = _diagnosed(chosen, Path(explored.path).name, priced_assumptions.rows)
    denied = model.diagnosis is not None and bool(model.diagnosis.violated)
    if denied and not signed.reason.strip():
        raise InvalidInputError(
            f"the table contradicts the assumption {chosen.name!r}: choose another one, or enter the reason why you "
            "release under it, which the ledger and the statement keep"
        )
    credible = chosen.credible and target.delta is None
    return ReleaseOrder(
        explored.path,
        model,
        priced_assumptions.advice.query,
        target,
        "drop" if choices.missing == "drop" else "error",
        _line("the name of the data set", signed.dataset),
        _line("the ledger", signed.ledger),
        positive("the budget", signed.budget) if signed.budget.strip() else _usual_budget(target),
        _line("your name", signed.name),
        validation.line("the reason", signed.reason.strip()) if denied else None,
        priced_assumptions.advice.next_steps.credibility if credible else None,
        (choices.public,) if choices.public else (),
    )


def _line(name: str, typed: str) -> str:
    """Return a field that must not be empty, on one line."""
    if not typed.strip():
        raise InvalidInputError(f"enter {name}")
    return validation.line(name, typed.strip())


def _usual_budget(target: Target) -> float:
    if target.epsilon is None:
        raise InvalidInputError("enter the budget of the account; only an ε would be taken for it")
    return target.epsilon


def _diagnosed(chosen: PricedAssumption, table_name: str, rows: int | None) -> Model:
    """Return the model with the verdict of the table, so that the ledger and the statement keep it.

    rows: the number of rows of the table, if it is known; without it, only a violation can be said of this table.
    """
    model, verdict = chosen.model, chosen.verdict
    assert model is not None
    tested = isinstance(verdict, Verdict) and verdict != Verdict.NOT_TESTED
    if model.diagnosis is not None or not tested or (rows is None and verdict != Verdict.VIOLATED):
        return model
    about = "Does the table follow this assumption? Tested as bayesdp advise tests it."
    finding = Finding(chosen.name, about, "", Verdict(verdict), chosen.shown, "")
    known = rows or 0
    diagnosis = Diagnosis(
        model.assumption, (finding,), known, f"{known:,} rows", date=today(), table_name=table_name, rows=known
    )
    return model.with_diagnosis(diagnosis)
