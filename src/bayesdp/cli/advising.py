"""`bayesdp advise`: parse a query before there is a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayesdp.advice.advice import Advice
    from bayesdp.cli import options
    from bayesdp.cli.query_options import Question
    from bayesdp.models import Model

__all__ = ["advised"]


def advised(data: options.Source, question: Question | None, *, state: str | None, **chosen: Any) -> Advice:
    """Advise on a file; the query is about the states of `state`, or else about a column of numbers."""
    from bayesdp.advice.advise import advise

    query = None if question is None else question.under(_described(data, state))
    return advise(data, query, state=state, **chosen)


def _described(data: options.Source, state: str | None) -> Model:
    """Return a model with nothing but the column, and the states true and false for a condition."""
    from bayesdp.frames.aggregates import subject_of
    from bayesdp.frames.source import scan
    from bayesdp.models import Independent, OddsChain

    if state is None:
        return Independent()
    if subject_of(scan(data), state).condition is None:
        return OddsChain(1, column=state)
    return OddsChain(1, state=state, states=(False, True))
