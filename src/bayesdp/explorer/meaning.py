"""What the choices about a table mean, in sentences that depend on no record."""

from __future__ import annotations

from bayesdp._support.words import listed
from bayesdp.errors import BayesDPError
from bayesdp.explorer.choices import WINDOWS, Choices
from bayesdp.explorer.explored_file import ExploredFile
from bayesdp.queries import Query

__all__ = ["meaning"]

_QUESTIONS = {
    "count": "how many records have",
    "proportion": "which share of the records has",
    "histogram": "how many records have each of",
    "sum": "the sum of",
    "mean": "the mean of",
    "variance": "the variance of",
}


def meaning(explored: ExploredFile, choices: Choices) -> tuple[str, ...]:
    """Return what is asked, what is protected, and which records may depend on each other, if a table is explored."""
    if explored.kind != "table":
        return ()
    texts = (_question(choices), _windows(choices), _correlated(choices), _promise(choices))
    return tuple(text for text in texts if text)


def _question(choices: Choices) -> str:
    wording = _QUESTIONS.get(choices.kind)
    if wording is None or not choices.column:
        return ""
    counts = Query.kinds()[choices.kind].counts_values
    if not counts:
        clipped = f", clipped to {choices.low} … {choices.high}" if choices.low and choices.high else ""
        return f"You ask for {wording} {choices.column}{clipped}."
    if choices.subject != choices.column:
        return f"You ask {wording} {choices.subject}."
    return f"You ask {wording} {choices.values.strip() or 'some values'} in the column {choices.column}."


def _windows(choices: Choices) -> str:
    since, until = choices.ends
    begin = f"from {since} on" if since else ""
    end = f"before {until}" if until else ""
    read = f"Only records {listed([text for text in (begin, end) if text], 'and')} are read." if since or until else ""
    if not choices.windows or choices.by not in WINDOWS:
        return read
    of_clock = [WINDOWS[choices.by]] if choices.clocks else []
    of_column = [f"each listed value of {choices.public}"] if choices.public else []
    declared = f" You declare that {choices.public} is public: anybody may know it of each record." if of_column else ""
    divided = (
        f"You get one answer for {listed([*of_clock, *of_column], 'and')}. A record is in one of these windows, so all "
        f"the answers together cost as much as one, and each has the error of one.{declared}"
    )
    return f"{divided} {read}".strip()


def _correlated(choices: Choices) -> str:
    if choices.order:
        together = f"Records that are close in the order of {listed(choices.order, 'and')} may depend on each other"
        apart = (
            f"; records with another {listed(choices.entities, 'or')} do not"
            if choices.entities
            else "; all records are one chain, since no column identifies independent chains"
        )
        return f"{together}{apart}."
    if choices.group:
        return f"Records with the same {choices.group} may depend on each other; records of others do not."
    return "No column orders or groups the records yet, so it is not known which of them may depend on each other."


def _promise(choices: Choices) -> str:
    try:
        target = choices.target
    except BayesDPError:
        return ""
    if target.epsilon is None:
        return "You start from an error; the page finds the smallest ε that it can keep."
    delta = "" if target.delta is None else f" and δ = {target.delta:g}"
    return f"You promise ε = {target.epsilon:g}{delta} for one record, whichever other records an attacker knows."
