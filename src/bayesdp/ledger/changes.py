"""What differs between the model and table that an account was opened with and those that it is given now."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from typing import Any, NoReturn

from bayesdp._support.documents import fingerprint
from bayesdp._support.messages import param
from bayesdp._support.words import counted
from bayesdp.errors import LedgerError

__all__ = ["columns_mark", "refuse_fixed_or_growing", "refuse_other"]

_MOST_NEW = 3
"""Up to so many new columns are named among any others."""

_MOST_TRIED = 3000
"""How many sets of columns are compared at most."""

_LET_GROW = (
    "bayesdp budget grow DATA --model MODEL.json --dataset NAME --reason TEXT lets it grow; that is for the holder of "
    "the data to decide"
)


def columns_mark(columns: Collection[str]) -> str:
    """Return the fingerprint of the names of a table's columns, as a description has it.

    >>> columns_mark(["a", "b"]) == columns_mark(["b", "a"])
    True
    """
    return fingerprint({"columns": sorted(map(str, columns))})


def refuse_fixed_or_growing(dataset: str, description: Mapping[str, Any], *, growing: bool) -> None:
    """Refuse to open an account of a fixed table as one that grows, and the reverse.

    description: that of the account.      growing: whether it is to be opened as one that grows.
    """
    if bool(description.get("growing")) == growing:
        return
    if growing:
        raise LedgerError(
            f"the account of {dataset!r} is about a table of {_rows(description.get('records'))} that stays as it is, "
            "not about another one that grows: " + _LET_GROW
        )
    raise LedgerError(
        f"the account of {dataset!r} is about a table that grows, not about another one that stays as it is: open it "
        "with " + param("growing", True)
    )


def refuse_other(
    dataset: str, opened: Mapping[str, Any], given: Mapping[str, Any], columns: Collection[str] = ()
) -> NoReturn:
    """Refuse an account that was opened with another model or description, and state what differs.

    opened, given: objects with "model" and "description", as far as they are compared.
    columns:       the names of the columns of the table that is given.
    """
    differing = [name for name in ("model", "description") if name in given and given[name] != opened[name]]
    stated: list[str] = []
    if "model" in differing:
        stated += _of_models(opened["model"], given["model"])
    if "description" in differing:
        stated += _of_descriptions(opened["description"], given["description"], columns)
    named = f" ({'; '.join(stated)})" if stated else ""
    longer = _is_longer(opened, given)
    raise LedgerError(
        f"the data set {dataset!r} was opened with another {' and another '.join(differing)}{named}; what was spent "
        "under one is not accounted for under another. Use the one it was opened with: bayesdp budget export shows it"
        + (f". If rows were added to the table: {_LET_GROW}" if longer else "")
    )


def _is_longer(opened: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    then, now = (each.get("description", {}).get("records") for each in (opened, given))
    return isinstance(then, int) and isinstance(now, int) and then < now


def _of_models(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield the entries in which two models differ."""
    for name in sorted(then.keys() | now.keys()):
        before, after = then.get(name), now.get(name)
        if before != after:
            plain = all(isinstance(value, str | int | float | None) for value in (before, after))
            yield f'"{name}" was {_shown(before)}, now {_shown(after)}' if plain else f'another "{name}"'


def _shown(value: object) -> str:
    return "not given" if value is None else str(value)


def _of_descriptions(then: Mapping[str, Any], now: Mapping[str, Any], columns: Collection[str]) -> Iterator[str]:
    """Yield in what two descriptions of tables differ; only public facts are in them."""
    before, after = then.get("records"), now.get("records")
    if before is not None and after is not None and before != after:
        yield f"{_rows(before)} then, {after:,} now"
    if then.get("columns") != now.get("columns"):
        yield _of_columns(then.get("columns"), columns)
    if then.get("missing") != now.get("missing"):
        yield f"missing values: {then.get('missing')} then, {now.get('missing')} now"


def _of_columns(mark: object, columns: Collection[str]) -> str:
    """Return which columns are new, given the fingerprint of those that were there; else that there are others."""
    tried = 0
    for number in range(1, _MOST_NEW + 1):
        for new in combinations(columns, number):
            tried += 1
            if tried > _MOST_TRIED:
                return "other columns"
            if columns_mark(set(columns) - set(new)) == mark:
                return f"new column{'s' if number > 1 else ''} {', '.join(map(repr, new))}"
    return "other columns"


def _rows(number: object) -> str:
    return counted(number, "row").replace(str(number), f"{number:,}") if isinstance(number, int) else "an unknown size"
