"""Checks that every value passes before it means anything, with messages that name the value."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, TypeGuard

from bayesdp.errors import InvalidInputError

__all__ = [
    "Matrix",
    "Scalar",
    "Values",
    "distinct",
    "is_scalar",
    "items",
    "natural",
    "number",
    "positive",
    "positives",
    "probability",
    "scalar",
    "square",
    "text",
]

Scalar = str | int | float | bool
"""A value as it stands in a table or a JSON document."""

Values = Sequence[Scalar] | Any
Matrix = Sequence[Sequence[float]] | Any
"""Stored as tuples; NumPy arrays are taken too, which type checkers learn from the Any."""

Refuse = Callable[[str], InvalidInputError]


def number(name: str, value: object, refuse: Refuse = InvalidInputError) -> float:
    """Return `value` as a finite float, or refuse it by name.

    >>> number("tau", 1)
    1.0
    >>> number("tau", float("nan"))
    Traceback (most recent call last):
    ...
    bayesdp.errors.InvalidInputError: tau must be a finite number, not nan
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise refuse(f"{name} must be a number, not {value!r}")
    try:
        as_float = float(value)
    except OverflowError:
        raise refuse(f"{name} is too large for a floating-point number") from None
    if not math.isfinite(as_float):
        raise refuse(f"{name} must be a finite number, not {as_float}")
    return as_float


def positive(name: str, value: object, refuse: Refuse = InvalidInputError) -> float:
    """Return `value` as a float above zero."""
    as_float = number(name, value, refuse)
    if as_float <= 0:
        raise refuse(f"{name} must be greater than 0, not {as_float:g}")
    return as_float


def positives(name: str, values: object, refuse: Refuse = InvalidInputError) -> list[float]:
    """Return a non-empty list of floats above zero."""
    found = [positive(name, value, refuse) for value in items(name, values, refuse)]
    if not found:
        raise refuse(f"{name} is empty; give at least one value")
    return found


def probability(name: str, value: object, refuse: Refuse = InvalidInputError) -> float:
    """Return `value` as a float strictly between 0 and 1."""
    as_float = number(name, value, refuse)
    if not 0 < as_float < 1:
        raise refuse(f"{name} must lie strictly between 0 and 1, not {as_float:g}")
    return as_float


def natural(name: str, value: object, refuse: Refuse = InvalidInputError, least: int = 1) -> int:
    """Return `value` as a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise refuse(f"{name} must be a whole number, not {value!r}")
    if value < least:
        raise refuse(f"{name} must be at least {least}, not {value}")
    return int(value)


def text(name: str, value: object, refuse: Refuse = InvalidInputError) -> str:
    """Return `value` if it is a non-empty string."""
    if not isinstance(value, str) or not value.strip():
        raise refuse(f"{name} must be a non-empty text, not {value!r}")
    return value


def is_scalar(value: object) -> TypeGuard[Scalar]:
    """Tell whether `value` is a text, a number or a truth value."""
    return isinstance(value, str | bool | int | float)


def scalar(name: str, value: object, refuse: Refuse = InvalidInputError) -> Scalar:
    """Return `value` as a plain text, number or truth value; NumPy scalars become Python's."""
    item = getattr(value, "item", None)
    plain = item() if callable(item) and not is_scalar(value) else value
    if not is_scalar(plain):
        raise refuse(f"{name} must be a text, a number or a truth value, not {value!r}")
    if isinstance(plain, float):
        return number(name, plain, refuse)
    return plain


def square(name: str, value: object, refuse: Refuse = InvalidInputError) -> tuple[tuple[float, ...], ...]:
    """Return `value` as a non-empty square tuple of rows of finite numbers, naming the entry that is wrong."""
    rows = items(name, value, refuse)
    if not rows:
        raise refuse(f"{name} is empty; it needs at least one row")
    table = []
    for i, row in enumerate(rows):
        cells = items(f"{name}, row {i}", row, refuse)
        if len(cells) != len(rows):
            raise refuse(f"{name} must be square: it has {len(rows)} rows, but row {i} has {len(cells)} entries")
        table.append(tuple(number(f"{name}, row {i}, column {j}", cell, refuse) for j, cell in enumerate(cells)))
    return tuple(table)


def items(name: str, value: object, refuse: Refuse = InvalidInputError) -> Sequence[object]:
    """Return `value` as a sequence; NumPy arrays become lists, a single text is refused."""
    tolist = getattr(value, "tolist", None)
    plain = tolist() if callable(tolist) else value
    if isinstance(plain, str) or not isinstance(plain, Sequence):
        raise refuse(f"{name} must be a list, not {value!r}")
    return plain


def distinct(name: str, value: object, refuse: Refuse = InvalidInputError) -> tuple[Scalar, ...]:
    """Return `value` as a tuple of scalars in which none equals another."""
    scalars = tuple(scalar(f"{name}[{index}]", item, refuse) for index, item in enumerate(items(name, value, refuse)))
    for index, item in enumerate(scalars):
        if item in scalars[:index]:
            raise refuse(f"{name}[{index}] is {item!r}, which stands there already; {name} must be distinct")
    return scalars
