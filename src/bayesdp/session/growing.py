"""A fixed account becomes one whose table grows: what the account has recorded of its rows must still hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bayesdp._support import validation
from bayesdp._support.documents import fingerprint
from bayesdp._support.messages import param
from bayesdp._support.validation import Scalar
from bayesdp._support.words import counted
from bayesdp.errors import InvalidInputError, LedgerError, ModelError
from bayesdp.frames.growth import Extent, extent_of_first, extents_of_parts, records_before
from bayesdp.ledger import Check, Entry, Ledger, State
from bayesdp.ledger.changes import refuse_other
from bayesdp.models import Model
from bayesdp.queries import LedgerKey
from bayesdp.rounding import shown_above
from bayesdp.session.accounting import spend_of
from bayesdp.session.approximate_accounting import accountant_for
from bayesdp.session.discretion import discreetly
from bayesdp.session.prepare import CheckedTable
from bayesdp.session.private_fit import first_fit
from bayesdp.session.public import check_members

__all__ = ["let_grow"]

_REFUSED = "the records are not what the model needs"

_ELSEWHERE = ("any-mechanism",)
"""The kinds of stored questions that state no number of records of their own."""


def let_grow(ledger: Ledger, frame: object, model: Model, dataset: str, *, reason: str) -> State:
    """Let the table of a fixed account grow from now on, for a reason that the ledger keeps; this cannot be undone.

    Everything that was charged stays charged: it read the rows that were there then. From now on, sessions are opened
    with `growing=True`, and all is converted under the model of any length.

    frame: the table as it is now: as it was, or with rows added after those that were there. What the account knows of
           the rows so far must still hold: how many there are, how many came before the ends of windows that were
           answered, and who is in which part. Their values cannot be compared.
    model: that of the account, of whatever length.

    Raises InvalidInputError if the table grows already, LedgerError for a table that contradicts the account, and if
    what was charged leaks more than the budget for a chain of any length (raise it first), ModelError for a model that
    does not cover growing tables, RefusedError for records that are outside of it. Then nothing is changed.
    """
    why = validation.line("reason", reason)
    longer = model.at_any_length()
    opening, state = _account(ledger, dataset)
    dataset, described = state.dataset, opening["description"]
    _check_model(dataset, opening["model"], longer)
    entries = ledger.entries(dataset)
    known = _converting(entries, longer)
    _check_leakage(state, longer, known, opening)
    checks: list[Check] = []

    def compared() -> tuple[CheckedTable, list[Extent], list[dict[str, Any]]]:
        table = CheckedTable.of(frame, longer, described["missing"], growing=True)
        checks.append(table.check_of(table.model_columns))
        ledger.check(dataset, checks[0])
        now = {**described, **table.description}
        if now["columns"] != described["columns"]:
            given = {"description": {"columns": now["columns"]}}
            refuse_other(dataset, {"description": {"columns": described["columns"]}}, given, list(table.table.schema))
        extent = extent_of_first(table.everything[0], longer.order, described["records"])
        _check_windows(dataset, table, extent, entries)
        checked = table.checked()
        return checked, [extent, *_parts(checked, extent, entries)], [*_members(dataset, checked, extent, entries)]

    def refused() -> None:
        ledger.refused(dataset, _REFUSED, checks[0] if checks else None)

    table, extents, parts = discreetly(compared, refused)
    size = {name: fact for name, fact in described.items() if name != "records"}
    return ledger.grow(
        state,
        model=table.model.opened_as.identity,
        description={**size, "growing": True},
        extents=[extent.to_dict() for extent in extents],
        parts=parts,
        reason=why,
    )


def _account(ledger: Ledger, dataset: str) -> tuple[Mapping[str, Any], State]:
    """Return how an account was opened and what it has spent; refuses one whose table grows already."""
    state = ledger.state(dataset)
    opening = ledger.opening(dataset)
    assert opening is not None
    described = opening["description"]
    if described.get("growing"):
        raise InvalidInputError(f"the table of {state.dataset!r} grows already; open it with " + param("growing", True))
    if not isinstance(described.get("records"), int):
        raise LedgerError(f"the account of {state.dataset!r} does not say how many rows its table has")
    return opening, state


def _check_model(dataset: str, opened: Mapping[str, Any], longer: Model) -> None:
    """Refuse another model than that of the account, apart from its length."""
    known = Model.from_dict(opened).at_any_length().opened_as.identity
    given = longer.opened_as.identity
    if fingerprint(known) != fingerprint(given):
        refuse_other(dataset, {"model": known}, {"model": given})


def _converting(entries: Iterable[Entry], longer: Model) -> Model:
    """Return the model that converts what was charged; refuses one that was learnt for a table that does not grow."""
    fit = first_fit(entry.content() for entry in reversed([*entries]) if entry.kind == "answer")
    if fit is None:
        return longer.opened_as
    if fit.model.at_any_length().identity != fit.model.identity:
        raise ModelError(
            "the account has learnt its model from a table that does not grow, with a limit on its length; open "
            "another account for the longer table, or go on with the table as it was"
        )
    return fit.model


def _check_leakage(state: State, longer: Model, converting: Model, opening: Mapping[str, Any]) -> None:
    """Refuse an account whose promise would not hold under the model of any length."""
    dataset, budget = state.dataset, state.budget
    if state.promise is not None and fingerprint(longer.opened_as.identity) != fingerprint(opening["model"]):
        raise LedgerError(
            f"the account of {dataset!r} promises (epsilon, delta), within limits that were fixed for chains of "
            "limited length; open another account for the table that grows"
        )
    accountant = accountant_for(converting, state.promise, opening["description"].get("credibility"))
    leaked = accountant.leaked(spend_of(state), budget)
    if leaked > budget:
        raise LedgerError(
            f"for chains of any length, what was charged to {dataset!r} leaks ε = {shown_above(leaked)}, more than "
            f"its budget of {budget:g}; raise the budget first: bayesdp budget raise"
        )


def _check_windows(dataset: str, table: CheckedTable, extent: Extent, entries: Sequence[Entry]) -> None:
    """Refuse a table that has another number of records in a window that was answered."""
    model = table.model
    if extent.order is None or table.missing != "error" or model.reads is not None or model.spread:
        return
    answered = {
        (query.get("since"), query["until"]): entry.content()["records"]
        for entry in entries
        if entry.kind == "answer" and (query := _interval(entry.content().get("query"), extent.until)) is not None
    }
    ends = sorted({end for window in answered for end in window if end is not None}, key=str)
    before = {None: 0, **dict(zip(ends, records_before(table.everything[0], extent.order, ends), strict=True))}
    for (since, until), records in answered.items():
        now = before[until] - before[since]
        if now != records:
            raise LedgerError(
                f"{table.name} has {counted(now, 'record')} before {until}{f' and since {since}' if since else ''}, "
                f"and had {records} when {dataset!r} was asked about them; a table that grows keeps its records"
            )


def _interval(query: object, reached: Scalar | None) -> Mapping[str, Any] | None:
    """Return a stored question if it is about all records of an interval that was complete; None for any other."""
    if not isinstance(query, Mapping) or query.get("until") is None or reached is None:
        return None
    if query.get("where") is not None or query.get("by") is not None or query.get("query") in _ELSEWHERE:
        return None
    until = query["until"]
    same = isinstance(until, str) == isinstance(reached, str)
    return query if same and until <= reached else None


def _parts(table: CheckedTable, extent: Extent, entries: Sequence[Entry]) -> Iterator[Extent]:
    """Yield how far each part reached that was charged."""
    keys = [LedgerKey.from_dict(entry.content()["query"]) for entry in entries if entry.kind == "charge"]
    for by in dict.fromkeys(key.by for key in keys if key.by is not None):
        named = list(dict.fromkeys(part for key in keys if key.by == by for part in key.parts))
        for part in extents_of_parts(table.everything[0], extent, by, named):
            yield part if extent.order is None else replace(part, records=part.through)


def _members(dataset: str, table: CheckedTable, extent: Extent, entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    """Yield who was in which part, by a column each, up to where the table ended; refuses other members."""
    end = None if extent.order is None or extent.until is None else (extent.order, extent.until)
    noted = {body["by"]: body for entry in entries if entry.kind == "parts" and (body := entry.content())}
    for by, before in noted.items():
        now = {"members": table.members(by, end), **({} if end is None else {"end": list(end)})}
        check_members(dataset, by, {**before, **({} if end is None else {"end": list(end)})}, now, table)
        yield {"by": by, **now}
