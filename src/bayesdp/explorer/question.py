"""The query that the reader chose, under a model."""

from __future__ import annotations

from bayesdp._support.validation import Scalar
from bayesdp.cli.query_options import Question, end_named, values_named
from bayesdp.errors import QueryError
from bayesdp.explorer.choices import WINDOWS, Choices, number, whole
from bayesdp.explorer.explored_file import discreet, hides
from bayesdp.models import Model
from bayesdp.queries import Query

__all__ = ["KINDS", "model_and_query", "public_values", "question_of"]

KINDS: tuple[str, ...] = tuple(kind for kind, query in Query.kinds().items() if not query.unforeseen)
"""The kinds of queries whose accuracy can be computed before the release."""


def question_of(choices: Choices) -> Question:
    """Return the query as the command line represents it, before it is read under a model.

    Raises InvalidInputError and QueryError for choices that are not a valid query.
    """
    kind = Query.kinds().get(choices.kind)
    if kind is None or choices.kind not in KINDS:
        raise QueryError(f"there is no question {choices.kind!r}; choose one of {', '.join(KINDS)}")
    if choices.by not in WINDOWS:
        raise QueryError(f"there are no windows {choices.by!r}; choose one of {', '.join(filter(None, WINDOWS))}")
    clips = not kind.counts_values
    since, until = (end_named(end) if end else None for end in choices.ends)
    bounds = (number("the lower bound", choices.low), number("the upper bound", choices.high)) if clips else None
    return Question(
        kind=choices.kind,
        states=(choices.values.strip() or None) if kind.counts_values and choices.subject == choices.column else None,
        bounds=bounds,
        column=choices.subject or None,
        where=None,
        public_filter=False,
        size=whole("the number of records", choices.size) if kind.averaged else None,
        own={},
        by_column=choices.windows or None,
        by_cells=_cells(choices),
        since=since,
        until=until,
    )


def _cells(choices: Choices) -> list[str] | dict[str, list[str]] | None:
    """Return the listed values of the public column; with clocks beside it, by its name."""
    if not choices.public:
        return None
    return {choices.public: choices.listed} if choices.clocks else choices.listed


def public_values(choices: Choices, model: Model) -> tuple[Scalar, ...]:
    """Return the values that the reader typed, as states of the model; typed values count as public."""
    counts = choices.kind in KINDS and Query.kinds()[choices.kind].counts_values and choices.subject == choices.column
    return tuple(values_named(choices.values, model)) if counts and choices.values.strip() else ()


def model_and_query(choices: Choices, model: Model) -> tuple[Model, Query]:
    """Return the model, without states that must not be shown, and the query under it.

    Raises InvalidInputError and QueryError, whose messages contain only what the reader typed.
    """
    question = question_of(choices)
    public = public_values(choices, model)
    counts = Query.kinds()[choices.kind].counts_values
    if hides(model, public) and not public:
        raise QueryError(
            "enter the values to count. The states of a fitted model are values of records, so this page does not list "
            "them; enter public values only"
            if counts
            else f"a {choices.kind} adds up the states of this model. They were read from the table, so this page does "
            "not use them; run bayesdp calibrate on the command line instead"
        )
    shown = discreet(model, public)
    return shown, question.under(shown)
