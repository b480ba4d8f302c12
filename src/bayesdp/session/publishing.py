"""The number to publish, and what must stand beside it.

Only what was released, and what is public, is looked at: none of this costs any privacy.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from math import ceil

from bayesdp.queries import Query
from bayesdp.rounding import float_above, hardly_a_promise

__all__ = ["last_place", "shortened", "shortened_accuracy", "warnings_about"]


def last_place(half: float, *, whole: bool) -> Fraction:
    """Return the place of the last digit that noise leaves: one below the first digit of an interval's half-width.

    whole: the number is one; it then keeps no digit below its units.

    >>> last_place(374.0, whole=True), last_place(0.0051, whole=False), last_place(3.0, whole=True)
    (Fraction(10, 1), Fraction(1, 10000), Fraction(1, 1))
    """
    place = Fraction(10) ** (Decimal(half).adjusted() - 1)
    return max(place, Fraction(1)) if whole else place


def shortened(cell: float, place: Fraction) -> Fraction:
    """Return a number without the digits below `place`, rounded to the nearest."""
    return round(Fraction(cell) / place) * place


def shortened_accuracy(alpha: float, cells: Iterable[float], place: Fraction) -> float:
    """Return by less than what shortened cells are off if the cells are off by less than α, to the same place.

    >>> shortened_accuracy(374.5, [4248], Fraction(10))
    380.0
    """
    moved = max(abs(shortened(cell, place) - Fraction(cell)) for cell in cells)
    return float_above(ceil((Fraction(alpha) + moved) / place) * place) if moved else alpha


def warnings_about(query: Query, records: int, alpha: float, epsilon_total: float) -> tuple[str, ...]:
    """Return what must be said of an answer that may be off by α, when ε has leaked in all.

    >>> from bayesdp import Count
    >>> warnings_about(Count("ill", equals=True), 100, alpha=300.0, epsilon_total=1.0)
    ('The noise is larger than any possible answer: this number says nothing.',)
    """
    low, high = query.possible(records)
    drowned = "The noise is larger than any possible answer: this number says nothing." if alpha > high - low else None
    return tuple(warning for warning in (drowned, hardly_a_promise(epsilon_total)) if warning is not None)
