"""The priced assumptions of a table, as `advise` returns them, without texts that reveal a value of a record."""

from __future__ import annotations

from dataclasses import dataclass

from bayesdp._support.validation import brief
from bayesdp.advice.advice import NOTE, Advice
from bayesdp.advice.priced_assumption import PricedAssumption
from bayesdp.cli.advising import advised
from bayesdp.cli.options import split
from bayesdp.errors import BayesDPError, ExpressionError, InvalidInputError, NoColumnError, QueryError
from bayesdp.explorer.choices import Choices
from bayesdp.explorer.explored_file import ExploredFile
from bayesdp.explorer.question import question_of
from bayesdp.queries import Query
from bayesdp.rounding import shown_above

__all__ = ["NOTE", "PricedAssumptions", "Step", "look"]

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
class Step:
    """One priced assumption as the page shows it: texts without values of records."""

    name: str
    assumes: str
    verdict: str
    shown: str
    error: str
    recommended: bool
    possible: bool


@dataclass(frozen=True)
class PricedAssumptions:
    """The result of `advise` for a table, with the choices it belongs to."""

    advice: Advice
    choices: Choices

    @property
    def steps(self) -> tuple[Step, ...]:
        """The assumptions, from the strongest to the weakest."""
        return tuple(
            Step(
                assumption.name,
                assumption.assumes,
                assumption.verdict,
                assumption.shown if assumption.model is not None else self._why_not(assumption),
                "–" if assumption.alpha is None else shown_above(assumption.alpha, 3),
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

    def fits(self, choices: Choices) -> bool:
        """Whether the result belongs to the current choices."""
        return self.choices.looked_at == choices.looked_at

    def _why_not(self, assumption: PricedAssumption) -> str:
        if assumption.name == "arbitrary groups" and not self.choices.entity.strip():
            return "All records are one chain: name the columns of entities that are independent of each other."
        return _NO_SUCH_MODEL


def look(explored: ExploredFile, choices: Choices) -> PricedAssumptions:
    """Read the table and return its priced assumptions, without releasing, charging or storing anything.

    Raises InvalidInputError about the input, or, without the reason, if the table does not allow it.
    """
    counts = Query.kinds()[choices.kind].counts_values
    if not choices.column.strip():
        raise InvalidInputError("name the column, or a condition such as steps > 0")
    if counts and not choices.order_by.strip():
        raise InvalidInputError("name the columns that order the records, such as date,interval")
    if counts and not choices.values.strip() and choices.column.strip() in explored.columns:
        raise InvalidInputError(
            "enter the values to count; they must be public, so this page does not read them from the table"
        )
    names = {
        name: split(name.replace("_", " "), text)
        for name in ("order_by", "entity", "group")
        if (text := getattr(choices, name).strip())
    }
    if counts:
        names.pop("group", None)
    used = [*([] if counts else [choices.column.strip()]), *(name for several in names.values() for name in several)]
    unknown = [name for name in used if name not in explored.columns]
    if unknown:
        raise InvalidInputError(f"the table has no column {brief(unknown[0])}")
    reported = {
        **names,
        "step": choices.step.strip() or None,
        "role": None if counts else choices.role.strip() or None,
        "missing": choices.missing,
        "epsilon": 1.0 if choices.start == "alpha" else choices.target.epsilon,
        "beta": choices.target.beta,
    }
    question = question_of(choices)
    state = choices.column.strip() if counts else None
    try:
        return PricedAssumptions(advised(explored.path, question, state=state, **reported), choices)
    except NoColumnError as error:
        raise InvalidInputError(error.discreet) from None
    except BayesDPError as error:
        shown = str(error) if type(error) in _HARMLESS else _UNSAID
        raise InvalidInputError(shown) from None
