"""The question that the choices ask, under a model."""

from __future__ import annotations

from bayesdp._support.validation import Scalar
from bayesdp.cli.query_options import Question, values_named
from bayesdp.errors import QueryError
from bayesdp.explorer.choices import Choices, number, whole
from bayesdp.explorer.subject import discreet, hides
from bayesdp.models import Model
from bayesdp.queries import Query

__all__ = ["KINDS", "asked", "public_values", "question_of"]

KINDS: tuple[str, ...] = tuple(kind for kind, query in Query.kinds().items() if not query.unforeseen)
"""What can be asked here: what has an accuracy that can be said before the release."""


def question_of(choices: Choices) -> Question:
    """Return what is asked, as the command line has it, before there is a model to read it under.

    Raises InvalidInputError and QueryError for what cannot be a question.
    """
    kind = Query.kinds().get(choices.kind)
    if kind is None or choices.kind not in KINDS:
        raise QueryError(f"choose one of {', '.join(KINDS)}")
    clips = not kind.counts_values
    bounds = (number("the lower bound", choices.low), number("the upper bound", choices.high)) if clips else None
    return Question(
        kind=choices.kind,
        states=(choices.values.strip() or None) if kind.counts_values else None,
        bounds=bounds,
        column=choices.column.strip() or None,
        where=None,
        public_filter=False,
        size=whole("the number of records", choices.size) if kind.averaged else None,
        own={},
    )


def public_values(choices: Choices, model: Model) -> tuple[Scalar, ...]:
    """Return the values that the reader typed, as the model has them: what is typed is public."""
    counts = choices.kind in KINDS and Query.kinds()[choices.kind].counts_values
    return tuple(values_named(choices.values, model)) if counts and choices.values.strip() else ()


def asked(choices: Choices, model: Model) -> tuple[Model, Query]:
    """Return the model, without words that must not be shown, and the question under it.

    Raises InvalidInputError and QueryError, whose messages hold nothing but what the reader typed.
    """
    question = question_of(choices)
    public = public_values(choices, model)
    counts = Query.kinds()[choices.kind].counts_values
    if hides(model, public) and not public:
        raise QueryError(
            "say which values to count. The model was fitted, so that its states are values of records: they are "
            "not listed here, and what you type must be public"
            if counts
            else f"a {choices.kind} adds the states of this model up, which were read from the table and are not used "
            "here; bayesdp calibrate does it on the command line"
        )
    shown = discreet(model, public)
    return shown, question.under(shown)
