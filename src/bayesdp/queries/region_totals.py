"""The largest total that the records of a table meet, of releases that each read a region of it.

Regions constrain dimensions: the columns of their orders and of their cells. A record has one place in every
dimension, and any combination of places may occur. So the result is never too small, whatever the table holds.
Proof: docs/theory/windows.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from bayesdp._support.validation import Scalar
from bayesdp._support.words import folded
from bayesdp.queries.region import Region

__all__ = [
    "Constraint",
    "Dimension",
    "Interval",
    "Vector",
    "cell_name",
    "constraints",
    "largest_totals",
    "overlap",
]

Vector = tuple[Fraction, ...]
"""Amounts of several kinds that add up side by side."""

Dimension = tuple[str, str]
"""The column of an order with the kind of its ends, or a column of cells."""


Place = tuple[int, Any]
"""An end of an interval: with 1 a value, with 0 and 2 that there is none."""


class Interval(NamedTuple):
    """The records with `since ≤ order < until`; None is no end."""

    since: Scalar | None
    until: Scalar | None

    @property
    def begin(self) -> Place:
        """Where it begins, to be compared with the begin and the end of any other."""
        return (0, 0) if self.since is None else (1, self.since)

    @property
    def end(self) -> Place:
        """Where it ends."""
        return (2, 0) if self.until is None else (1, self.until)

    @classmethod
    def between(cls, begin: Place, end: Place) -> Interval:
        """Return the interval between two places."""
        return cls(begin[1] if begin[0] == 1 else None, end[1] if end[0] == 1 else None)


Constraint = Interval | Set[str]
Box = Mapping[Dimension, Constraint]
"""What is demanded of a record in each dimension; nothing in one that is not named."""

Piece = tuple[Box, Vector]

_CELLS = "cells"
_MOST_DIMENSIONS = 4
"""Of regions that are connected, only the dimensions that most of them constrain are told apart: each multiplies the
work."""

_NUMBER = re.compile(r"[+-]?\d{1,40}(?:\.\d{1,40})?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:([ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?)?", re.ASCII)


def largest_totals(pieces: Iterable[Piece]) -> list[Vector]:
    """Return the sums of amounts that a record can meet, without those that another sum exceeds in every kind.

    Needs amounts that are not negative, each with the box of the records that meet it.

    >>> monday, tuesday = ({("weekday", "cells"): frozenset([day])} for day in ("mon", "tue"))
    >>> one, two = (Fraction(2), Fraction(0)), (Fraction(1), Fraction(1))
    >>> [tuple(map(int, met)) for met in largest_totals([(monday, one), (tuesday, two), ({}, one)])]
    [(4, 0), (3, 1)]
    """
    return _largest(list(pieces))


def overlap(one: Region | None, other: Region | None) -> bool:
    """Tell whether a record may be in both regions: not if they are shown to be disjoint.

    >>> morning, evening = (Region(cells=(("hour", (hour,)),)) for hour in ("7", "19"))
    >>> overlap(morning, evening), overlap(morning, None)
    (False, True)
    """
    mine, theirs = constraints(one), constraints(other)
    return not any(_disjoint(mine[dimension], theirs[dimension]) for dimension in mine.keys() & theirs.keys())


def _disjoint(one: Constraint, other: Constraint) -> bool:
    if isinstance(one, Interval) and isinstance(other, Interval):
        return one.end <= other.begin or other.end <= one.begin
    return not one & other  # type: ignore[operator]


@lru_cache(maxsize=4096)
def constraints(region: Region | None) -> Box:
    """Return what a region demands of a record in each dimension; ends that cannot be compared demand nothing."""
    if region is None:
        return {}
    found: dict[Dimension, Constraint] = {
        (name, _CELLS): frozenset(map(cell_name, cells)) for name, cells in region.cells
    }
    ends = [end for end in (region.since, region.until) if end is not None]
    kinds = {_kind(end) for end in ends}
    if region.order is not None and len(kinds) == 1 and None not in kinds and sorted(set(ends)) == ends:
        (kind,) = kinds
        found[region.order, str(kind)] = Interval(region.since, region.until)
    return found


def cell_name(text: str) -> str:
    """Return the name of a cell, the same for values that an engine may take for one.

    >>> cell_name("North") == cell_name("north "), cell_name("1.0") == cell_name("True") == cell_name("1")
    (True, True)
    """
    name = folded(text)
    name = {"true": "1", "false": "0"}.get(name, name)
    return str(Fraction(name)) if _NUMBER.fullmatch(name) else name


def _kind(end: Scalar) -> str | None:
    """Return the kind of an end: ends of one kind are in the order of the column. None if no order is certain.

    Numbers are of one kind, and so are dates and times that are written alike, in one time zone.
    """
    if not isinstance(end, str):
        return "number"
    match = _DATE.fullmatch(end)
    return None if match is None else "date" + re.sub(r"\d", "0", match[1] or "") + (match[2] or "")


def _largest(pieces: Sequence[Piece]) -> list[Vector]:
    """Return the largest sums over the places in all dimensions.

    Groups of pieces that share no dimension, not even through others, add up: a record in a piece of one may also be
    in any piece of the other.
    """
    largest: list[Vector] = []
    for connected in _connected(pieces):
        together = _most_used(connected)
        number = Counter(dimension for constrained, _ in together for dimension in constrained)
        used = max(number, key=lambda dimension: number[dimension], default=None)
        if used is None:
            found = [_sum([amounts for _, amounts in together])]
        else:
            open_to_all = [piece for piece in together if used not in piece[0]]
            places = _together([piece for piece in together if used in piece[0]], used)
            found = _undominated(
                total
                for some in places
                for total in _largest([(_without(used, one), amounts) for one, amounts in (*open_to_all, *some)])
            )
        largest = _undominated(_sum(pair) for pair in product(largest, found)) if largest else found
    return largest


def _connected(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Return pieces in groups that have no dimension in common."""
    alike: dict[frozenset[Dimension], list[Piece]] = {}
    for piece in pieces:
        alike.setdefault(frozenset(piece[0]), []).append(piece)
    groups: list[tuple[frozenset[Dimension], list[Piece]]] = []
    for dimensions, together in alike.items():
        joined = [group for group in groups if group[0] & dimensions]
        disjoint = [group for group in groups if not group[0] & dimensions]
        every = dimensions.union(*(others for others, _ in joined))
        groups = [*disjoint, (every, [*together, *(piece for _, some in joined for piece in some)])]
    return [group for _, group in groups]


def _without(dimension: Dimension, constrained: Box) -> Box:
    return {other: constraint for other, constraint in constrained.items() if other != dimension}


def _most_used(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces without constraints in other dimensions than those that most of them constrain."""
    number = Counter(dimension for constrained, _ in pieces for dimension in constrained)
    if len(number) <= _MOST_DIMENSIONS:
        return pieces
    used = {dimension for dimension, _ in number.most_common(_MOST_DIMENSIONS)}
    return [({name: one[name] for name in one if name in used}, amounts) for one, amounts in pieces]


def _together(pieces: Sequence[Piece], dimension: Dimension) -> Iterable[list[Piece]]:
    """Yield the pieces that contain one place of a dimension, for places enough: every other place is in fewer."""
    if isinstance(pieces[0][0][dimension], Interval):
        return _at_one_time(pieces, dimension)
    by_cell: dict[str, list[Piece]] = {}
    for piece in pieces:
        for cell in piece[0][dimension]:
            by_cell.setdefault(str(cell), []).append(piece)
    return by_cell.values()


def _at_one_time(pieces: Sequence[Piece], dimension: Dimension) -> Iterable[list[Piece]]:
    """Sweep over the intervals of pieces; yield those that are read at once, whenever one of them is about to end."""
    intervals = [Interval(*piece[0][dimension]) for piece in pieces]
    waiting = sorted(range(len(pieces)), key=lambda number: intervals[number].begin)
    ending: dict[Place, list[int]] = {}
    for number, interval in enumerate(intervals):
        ending.setdefault(interval.end, []).append(number)
    reading: dict[int, Piece] = {}
    place = 0
    for end in sorted(ending):
        begun = place
        while place < len(waiting) and intervals[waiting[place]].begin < end:
            reading[waiting[place]] = pieces[waiting[place]]
            place += 1
        if place > begun:
            yield list(reading.values())
        for number in ending[end]:
            del reading[number]


def _undominated(totals: Iterable[Vector]) -> list[Vector]:
    """Return totals without those that another one exceeds in every kind."""
    kept: list[Vector] = []
    for total in sorted(set(totals), reverse=True):
        if not any(all(mine <= theirs for mine, theirs in zip(total, other, strict=True)) for other in kept):
            kept.append(total)
    return kept


def _sum(amounts: Sequence[Vector]) -> Vector:
    return tuple(sum(column, _ZERO) for column in zip(*amounts, strict=True))


_ZERO = Fraction(0)
