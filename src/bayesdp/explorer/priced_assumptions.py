"""The priced assumptions of a table, as `advise` returns them, without texts that reveal a value of a record."""

from __future__ import annotations

from dataclasses import dataclass

from bayesdp._support.validation import brief
from bayesdp.advice.advice import NOTE, Advice
from bayesdp.advice.priced_assumption import PricedAssumption
from bayesdp.cli.advising import advised
from bayesdp.errors import BayesDPError, ExpressionError, FrameError, InvalidInputError, NoColumnError, QueryError
from bayesdp.explorer.choices import Choices
from bayesdp.explorer.explored_file import ExploredFile
from bayesdp.explorer.question import question_of
from bayesdp.frames.files import name_list
from bayesdp.frames.source import scan
from bayesdp.frames.windows import Order
from bayesdp.models import ChainLayout
from bayesdp.queries import Query
from bayesdp.queries.windows import PERIODS
from bayesdp.rounding import shown_above

__all__ = ["NOTE", "PricedAssumptions", "ShownAssumption", "check_complete", "priced_assumptions_of"]

_UNSAID = (
    "The table does not allow this. Common causes: values are missing (choose to leave them out), or several records "
    "of a chain have the same place in the order (name the columns that identify chains). The exact cause may depend "
    "on single records, so this page does not show it; people who may see the data can run bayesdp advise."
)
_NO_SUCH_MODEL = (
    "This model cannot be fitted to this table. The cause may depend on single records; bayesdp advise shows it."
)

_HARMLESS = (InvalidInputError, QueryError, ExpressionError)
"""Errors about the input, not about records: their messages may be shown."""


@dataclass(frozen=True)
class ShownAssumption:
    """One priced assumption as the page shows it: texts without values of records.

    share: the error in per cent of what is asked, as `advise` prints it; empty without an error.
    """

    name: str
    assumes: str
    verdict: str
    shown: str
    error: str
    share: str
    recommended: bool
    possible: bool


@dataclass(frozen=True)
class PricedAssumptions:
    """The result of `advise` for a table, with the choices it belongs to."""

    advice: Advice
    choices: Choices

    @property
    def shown(self) -> tuple[ShownAssumption, ...]:
        """The assumptions, from the strongest to the weakest."""
        return tuple(
            ShownAssumption(
                assumption.name,
                assumption.assumes,
                assumption.verdict,
                assumption.shown if assumption.model is not None else self._why_not(assumption),
                "–" if assumption.alpha is None else shown_above(assumption.alpha, 3),
                self._share(assumption),
                assumption is self.advice.recommended,
                assumption.model is not None and assumption.calibration is not None,
            )
            for assumption in self.advice.priced_assumptions
        )

    def chosen(self, choices: Choices) -> PricedAssumption | None:
        """Return the chosen assumption, else the recommended one; None if there is neither."""
        named = [
            assumption
            for assumption in self.advice.priced_assumptions
            if assumption.name == choices.assumption and assumption.calibration is not None
        ]
        return named[0] if named else self.advice.recommended

    @property
    def rows(self) -> int | None:
        """The number of rows of the table, if a diagnosis counted them."""
        models = (assumption.model for assumption in self.advice.priced_assumptions)
        return next((model.diagnosis.rows for model in models if model is not None and model.diagnosis), None)

    def fits(self, choices: Choices) -> bool:
        """Whether the result belongs to the current choices."""
        return self.choices.looked_at == choices.looked_at

    def _share(self, assumption: PricedAssumption) -> str:
        if assumption.relative_error is None:
            return ""
        return f"{shown_above(100 * assumption.relative_error, 2)} % of {self.advice.compared_with}"

    def _why_not(self, assumption: PricedAssumption) -> str:
        if assumption.name == "arbitrary groups" and not self.choices.entities:
            return "All records are one chain: name the columns of entities that are independent of each other."
        return _NO_SUCH_MODEL


def check_complete(explored: ExploredFile, choices: Choices) -> None:
    """Raise InvalidInputError, with what is missing, if the choices do not ask a question about a table yet."""
    counts = choices.kind in Query.kinds() and Query.kinds()[choices.kind].counts_values
    used = [
        choices.column,
        choices.public,
        *choices.order,
        *choices.entities,
        *([] if counts else [choices.group, choices.role]),
    ]
    for name in filter(None, used):
        if name not in explored.columns:
            known = name_list(list(explored.columns))
            raise InvalidInputError(f"the table has no column {brief(name)}; it has {known}")
    if not choices.column:
        raise InvalidInputError("choose the column of the question")
    if counts and not choices.order:
        raise InvalidInputError("choose the columns that order the records, such as a date")
    if counts and choices.subject == choices.column and not choices.values.strip():
        raise InvalidInputError(
            "enter the values to count, or a condition such as > 0; values must be public, so this page does not read "
            "them from the table"
        )
    if choices.public and choices.public == choices.column:
        raise InvalidInputError(
            f"the answer is about {brief(choices.column)}, which the noise protects, so it cannot divide the answers"
        )
    for clock in choices.clocks:
        if clock in explored.columns and not (clock == choices.order[0] and clock in PERIODS):
            raise InvalidInputError(
                f"the table has a column {clock!r}, so windows by {clock} are its values and not those of a clock. "
                "Rename the column, or choose it as the public column"
            )
        if clock in PERIODS and not all(choices.ends):
            raise InvalidInputError(
                f"enter the first day of all {clock}s, and the day after the last. They must be public, so this page "
                "does not read them from the table"
            )
    question_of(choices)


def _check_clocks(explored: ExploredFile, choices: Choices) -> None:
    """Raise InvalidInputError if the columns that order the records do not show the clocks of the question."""
    clocks = [clock for clock in choices.clocks if clock not in PERIODS]
    if not clocks:
        return
    try:
        order = Order.of(scan(explored.path), ChainLayout(choices.order))
    except BayesDPError:
        raise InvalidInputError(_UNSAID) from None
    for clock in clocks:
        try:
            order.reading(clock)
        except FrameError as error:
            raise InvalidInputError(str(error)) from None


def priced_assumptions_of(explored: ExploredFile, choices: Choices) -> PricedAssumptions:
    """Read the table and return its priced assumptions, without releasing, charging or storing anything.

    Raises InvalidInputError about the input, or, without the reason, if the table does not allow it.
    """
    check_complete(explored, choices)
    _check_clocks(explored, choices)
    counts = Query.kinds()[choices.kind].counts_values
    reported = {
        **({"order_by": choices.order} if choices.order else {}),
        **({"entity": choices.entities} if choices.entities else {}),
        **({"group": [choices.group]} if choices.group and not counts else {}),
        "step": choices.step.strip() or None,
        "role": None if counts else choices.role or None,
        "missing": choices.missing,
        "epsilon": 1.0 if choices.start == "alpha" else choices.target.epsilon,
        "beta": choices.target.beta,
        "delta": choices.target.delta,
    }
    question = question_of(choices)
    state = choices.subject if counts else None
    try:
        return PricedAssumptions(advised(explored.path, question, state=state, **reported), choices)
    except NoColumnError as error:
        raise InvalidInputError(error.discreet) from None
    except BayesDPError as error:
        shown = str(error) if type(error) in _HARMLESS else _UNSAID
        raise InvalidInputError(shown) from None
