"""Checks of single values and lists, with messages that name the value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, TypeGuard

from bayesdp._support.messages import name_of
from bayesdp._support.words import counted
from bayesdp.errors import FrameError, InvalidInputError

__all__ = [
    "Matrix",
    "Missing",
    "Scalar",
    "Values",
    "brief",
    "check_probabilities",
    "checked_missing",
    "distinct",
    "escaped",
    "every",
    "is_scalar",
    "items",
    "line",
    "natural",
    "not_negative",
    "number",
    "plain_number",
    "positive",
    "positives",
    "probability",
    "rows_of_probabilities",
    "scalar",
    "square",
    "text",
]

Scalar = str | int | float | bool
"""A value in a table or a JSON document."""

Missing = Literal["error", "drop"]
"""The rule for missing values."""

Values = Sequence[Scalar] | Any
Matrix = Sequence[Sequence[float]] | Any
"""Stored as tuples. Any lets type checkers accept NumPy arrays, too."""

_ROW_SUM = 1e-9
"""Probabilities rounded to ten digits still count as summing to 1."""

_LARGEST_NATURAL = 10**18
"""Sizes and lengths must fit into 64-bit integers, even when multiplied by small numbers."""

_LONGEST_INTEGER = 10**300
"""Larger integers overflow a float."""

_UNPRINTABLE = r"\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
_CONTROL = re.compile(f"[{_UNPRINTABLE}]")
_CONTROL_IN_TEXT = re.compile(f"(?![\\n\\t])[{_UNPRINTABLE}]")
"""Characters that control a terminal, end a line or change its direction; texts may have line breaks and tabs."""

Refuse = Callable[[str], InvalidInputError]


def number(name: str, value: object, refuse: Refuse = InvalidInputError) -> float:
    """Return `value` as a finite float, or raise an error that names it.

    >>> number("tau", 1)
    1.0
    >>> number("tau", float("nan"))
    Traceback (most recent call last):
    ...
    bayesdp.errors.InvalidInputError: tau must be a finite number, not nan
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise refuse(name_of(name) + f" must be a number, not {brief(value)}")
    try:
        as_float = float(value)
    except OverflowError:
        raise refuse(name_of(name) + " is too large for a floating-point number") from None
    if not math.isfinite(as_float):
        raise refuse(name_of(name) + f" must be a finite number, not {as_float}")
    return as_float


def positive(name: str, value: object, refuse: Refuse = InvalidInputError) -> float:
    """Return `value` as a float above zero."""
    as_float = number(name, value, refuse)
    if as_float <= 0:
        raise refuse(name_of(name) + f" must be greater than 0, not {as_float:g}")
    return as_float


def not_negative(name: str, value: object, refuse: Refuse = InvalidInputError) -> float:
    """Return `value` as a float of at least zero."""
    as_float = number(name, value, refuse)
    if as_float < 0:
        raise refuse(name_of(name) + f" must be at least 0, not {as_float:g}")
    return as_float


def positives(name: str, values: object, refuse: Refuse = InvalidInputError) -> list[float]:
    """Return a non-empty list of floats above zero."""
    numbers = [positive(name, value, refuse) for value in items(name, values, refuse)]
    if not numbers:
        raise refuse(name_of(name) + " is empty; give at least one value")
    return numbers


def probability(name: str, value: object, refuse: Refuse = InvalidInputError) -> float:
    """Return `value` as a float strictly between 0 and 1."""
    as_float = number(name, value, refuse)
    if not 0 < as_float < 1:
        raise refuse(name_of(name) + f" must lie strictly between 0 and 1, not {as_float:g}")
    return as_float


def natural(name: str, value: object, refuse: Refuse = InvalidInputError, least: int = 1) -> int:
    """Return `value` as a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise refuse(name_of(name) + f" must be a whole number, not {brief(value)}")
    whole = int(value)
    if whole < least:
        raise refuse(name_of(name) + f" must be at least {least}, not {brief(whole)}")
    if whole > _LARGEST_NATURAL:
        raise refuse(name_of(name) + f" must be at most 10^18, not {brief(whole)}")
    return whole


def text(name: str, value: object, refuse: Refuse = InvalidInputError) -> str:
    """Return `value` if it is a non-empty string."""
    if not isinstance(value, str) or not value.strip():
        raise refuse(name_of(name) + f" must be a non-empty text, not {brief(value)}")
    return value


def every(*checks: tuple[Callable[[str, Any], object], Mapping[str, object]]) -> None:
    """Check the entries of a document: pairs of a check and the values it applies to, by their names.

    >>> every((text, {"dataset": "steps"}), (positive, {"tau": 0.5, "scale": -1}))
    Traceback (most recent call last):
    ...
    bayesdp.errors.InvalidInputError: scale must be greater than 0, not -1
    """
    for check, values in checks:
        for name, value in values.items():
            check(name, value)


def line(name: str, value: object, refuse: Refuse = InvalidInputError) -> str:
    """Return `value` if it is a non-empty string that can be printed on one line.

    >>> line("dataset", "steps\\n2012")
    Traceback (most recent call last):
    ...
    bayesdp.errors.InvalidInputError: dataset must not hold line breaks or control characters: 'steps\\n2012'
    """
    printable = text(name, value, refuse)
    if _CONTROL.search(printable):
        raise refuse(name_of(name) + f" must not hold line breaks or control characters: {brief(printable)}")
    return printable


def escaped(printed: str) -> str:
    """Return a text with its control characters, except line breaks and tabs, escaped as in JSON.

    >>> escaped("a\\x1b[2Jb")
    'a\\\\u001b[2Jb'
    """
    return _CONTROL_IN_TEXT.sub(lambda match: f"\\u{ord(match[0]):04x}", printed)


def plain_number(value: Scalar) -> Scalar:
    """Return the integer for a whole float or a truth value (1 for 1.0 and True), and any other value unchanged.

    >>> plain_number(1.0), plain_number(True), plain_number(0.5), plain_number("1")
    (1, 1, 0.5, '1')
    """
    return int(value) if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()) else value


def is_scalar(value: object) -> TypeGuard[Scalar]:
    """Return whether `value` is a text, a number or a truth value."""
    return isinstance(value, str | bool | int | float)


def scalar(name: str, value: object, refuse: Refuse = InvalidInputError) -> Scalar:
    """Return `value` as a plain text, number or truth value; NumPy scalars become Python's."""
    plain = value
    if not is_scalar(value) and not isinstance(value, type) and getattr(value, "ndim", None) == 0:
        plain = value.item()  # type: ignore[attr-defined]
    if not is_scalar(plain):
        raise refuse(name_of(name) + f" must be a text, a number or a truth value, not {brief(value)}")
    if isinstance(plain, float):
        return number(name, plain, refuse)
    if isinstance(plain, int) and abs(plain) > _LONGEST_INTEGER:
        raise refuse(name_of(name) + " is an integer of more than 300 digits")
    return plain


def square(name: str, value: object, refuse: Refuse = InvalidInputError) -> tuple[tuple[float, ...], ...]:
    """Return `value` as a non-empty square tuple of rows of finite numbers; an error names the wrong entry."""
    fast = _plain_square(value)
    if fast is not None:
        return fast
    rows = items(name, value, refuse)
    if not rows:
        raise refuse(name_of(name) + " is empty; it needs at least one row")
    table = []
    for i, row in enumerate(rows):
        cells = items(f"{name}, row {i}", row, refuse)
        if len(cells) != len(rows):
            entries = counted(len(cells), "entry", "entries")
            shape = f"it has {counted(len(rows), 'row')}, but row {i} has {entries}"
            raise refuse(name_of(name) + f" must be square: {shape}")
        table.append(tuple(number(f"{name}, row {i}, column {j}", cell, refuse) for j, cell in enumerate(cells)))
    return tuple(table)


def rows_of_probabilities(
    name: str, value: object, refuse: Refuse = InvalidInputError
) -> tuple[tuple[float, ...], ...]:
    """Return `value` as equally long rows of probabilities that sum to 1; an error names the wrong entry."""
    rows = items(name, value, refuse)
    if not rows:
        raise refuse(name_of(name) + " is empty; it needs at least one row")
    table = [items(f"{name}, row {i}", row, refuse) for i, row in enumerate(rows)]
    for i, row in enumerate(table):
        if not row or len(row) != len(table[0]):
            raise refuse(f"{name}: row {i} has {len(row)} entries, but row 0 has {len(table[0])}")
    checked = tuple(
        tuple(number(f"{name}, row {i}, column {j}", entry, refuse) for j, entry in enumerate(row))
        for i, row in enumerate(table)
    )
    check_probabilities(name, checked, refuse)
    return checked


def check_probabilities(name: str, table: Matrix, refuse: Refuse = InvalidInputError) -> None:
    """Refuse a table of numbers unless each is a probability and each row sums to 1."""
    for i, row in enumerate(table):
        for j, entry in enumerate(row):
            if not 0 <= entry <= 1:
                raise refuse(f"{name}, row {i}, column {j} must be a probability in [0, 1], not {entry:g}")
        total = math.fsum(row)
        if abs(total - 1) > _ROW_SUM:
            raise refuse(f"{name}, row {i} must sum to 1, but sums to {total:.12g}")


def mapping(name: str, value: object, refuse: Refuse = InvalidInputError) -> Mapping[str, object]:
    """Return `value` if it is a mapping from texts."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise refuse(name_of(name) + f" must map names to values, not {brief(value)}")
    return value


def items(name: str, value: object, refuse: Refuse = InvalidInputError) -> Sequence[object]:
    """Return `value` as a sequence; a NumPy array becomes a list, a single text is refused."""
    tolist = getattr(value, "tolist", None)
    plain = tolist() if callable(tolist) and not isinstance(value, type) else value
    if isinstance(plain, str | bytes | bytearray) or not isinstance(plain, Sequence):
        raise refuse(name_of(name) + f" must be a list, not {brief(value)}")
    return plain


def distinct(name: str, value: object, refuse: Refuse = InvalidInputError) -> tuple[Scalar, ...]:
    """Return `value` as a tuple of scalars without duplicates."""
    scalars = tuple(scalar(f"{name}[{index}]", item, refuse) for index, item in enumerate(items(name, value, refuse)))
    seen: set[Scalar] = set()
    for index, item in enumerate(scalars):
        if item in seen:
            raise refuse(f"{name}[{index}] is {brief(item)}, a duplicate; {name} must be distinct")
        seen.add(item)
    return scalars


def checked_missing(missing: object) -> Missing:
    """Return the rule for missing values, or refuse it."""
    if missing == "error":
        return "error"
    if missing == "drop":
        return "drop"
    raise FrameError(name_of("missing") + f' must be "error" or "drop", not {brief(missing)}')


def brief(value: object) -> str:
    """Return how a message shows a value: its repr, truncated to one line.

    Tables, columns and arrays may hold private values, so only their type is shown.
    """
    kind = type(value)
    if any(hasattr(kind, name) for name in _OF_DATA) and getattr(value, "shape", None) != ():
        return f"something of type {kind.__name__}"
    try:
        shown = repr(value)
    except ValueError:
        return "a number too long to show"
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"


_OF_DATA = ("shape", "columns", "to_pandas", "to_pylist")
_LONGEST_SHOWN = 80
"""Characters of a value that a message quotes."""

_LARGE_SQUARE = 32
"""NumPy checks matrices of more rows faster than a loop."""


def _plain_square(value: object) -> tuple[tuple[float, ...], ...] | None:
    """Return a large square table of finite floats, or None if its entries must be checked one by one."""
    import numpy as np

    if not isinstance(value, np.ndarray) and not (isinstance(value, Sequence) and len(value) > _LARGE_SQUARE):
        return None
    try:
        array = np.array(value)
    except ValueError:
        return None
    if array.dtype.kind not in "iuf" or array.ndim != 2 or array.shape[0] != array.shape[1] or not array.size:
        return None
    array = array.astype(np.float64)
    return tuple(map(tuple, array.tolist())) if np.isfinite(array).all() else None
