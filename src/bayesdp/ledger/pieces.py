"""The total of one key about windows: disjoint regions, each with what all releases that read it cost together.

A charge splits the regions that it overlaps. Neighbours of equal total are joined, so that a window that is published
every day takes the place of one, for as long as all days cost the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace

from bayesdp._support.documents import canonical
from bayesdp.ledger.amounts import Amounts
from bayesdp.queries.region import Region, known_fields
from bayesdp.queries.region_totals import Box, Constraint, Interval, constraints

__all__ = ["Pieces", "read", "with_charge", "written"]

Pieces = tuple[Amounts, ...]
"""The cost of the charges of one key, region by region; one piece if they read every record."""

_SEVERAL = '{"pieces":'


def read(text: str) -> Pieces:
    """Return the pieces of a stored total; ValueError or LedgerError for any other text."""
    if not text.startswith(_SEVERAL):
        return (Amounts.read(text),)
    document = known_fields(json.loads(text), "a total", {"pieces"})
    pieces = tuple(Amounts.read(canonical("a piece", piece)) for piece in document["pieces"])
    if len(pieces) < 2 or any(piece.region is None for piece in pieces):
        raise ValueError("a total in pieces has two regions or more")
    return pieces


def written(pieces: Pieces) -> str:
    """Return the text that an account stores: that of its one piece, or a list of several."""
    if len(pieces) == 1:
        return pieces[0].written
    return canonical("pieces", {"pieces": [json.loads(piece.written) for piece in pieces]})


def with_charge(pieces: Pieces, charge: Amounts) -> Pieces:
    """Return a total with one more charge; LedgerError if they do not add up.

    >>> def month(number):
    ...     region = Region("date", f"2012-{number:02}-01", f"2012-{number + 1:02}-01")
    ...     return Amounts.of({"tau": 0.5, "region": region.to_dict()})
    >>> (both,) = with_charge((month(1),), month(2))
    >>> both.region.until, both.tau
    ('2012-03-01', 0.5)
    """
    whole = None in (charge.region, *(piece.region for piece in pieces))
    added = [piece.plus(charge if whole else replace(charge, region=piece.region)) for piece in pieces]
    if charge.region is None:
        return tuple(added)
    new = _box(charge.region)
    boxes = [_box(piece.region) for piece in pieces if piece.region is not None]
    same = next((place for place, piece in enumerate(pieces) if piece.region == charge.region), None)
    if new is None or any(box is not None and box.keys() != new.keys() for box in boxes):
        return (*pieces, charge) if same is None else (*pieces[:same], added[same], *pieces[same + 1 :])
    apart = [piece for piece, box in zip(pieces, boxes, strict=True) if box is None]
    kept: list[tuple[Box, Amounts]] = []
    changed: list[tuple[Box, Amounts]] = []
    rest: list[Box] = [new]
    for piece, both, box in zip(pieces, added, boxes, strict=True):
        shared = None if box is None else _shared(box, new)
        if box is None:
            continue
        if shared is None:
            kept.append((box, piece))
            continue
        changed += [(part, piece) for part in _without(box, shared)]
        changed.append((shared, both))
        rest = [part for one in rest for part in _without(one, shared)]
    joined = _joined(kept, [*changed, *((part, charge) for part in rest)])
    return (*apart, *(replace(piece, region=_region(box)) for box, piece in joined))


def _joined(kept: list[tuple[Box, Amounts]], changed: list[tuple[Box, Amounts]]) -> list[tuple[Box, Amounts]]:
    """Return all boxes, after those that changed were joined with neighbours of equal total."""
    while changed:
        box, piece = changed.pop()
        found = next(
            (
                (place, union)
                for place, (other, beside) in enumerate(kept)
                if beside.exact == piece.exact and (union := _union(box, other)) is not None
            ),
            None,
        )
        if found is None:
            kept.append((box, piece))
        else:
            del kept[found[0]]
            changed.append((found[1], piece))
    return kept


def _box(region: Region) -> Box | None:
    """Return the constraint of a region in each dimension; None if that loses part of the region."""
    box = constraints(region)
    exact = len(box) == len(region.cells) + (region.order is not None)
    return box if exact else None


def _region(box: Box) -> Region:
    order, since, until, cells = None, None, None, {}
    for (column, _), constraint in box.items():
        if isinstance(constraint, Interval):
            order, (since, until) = column, constraint
        else:
            cells[column] = tuple(sorted(constraint))
    return Region(order, since, until, tuple(sorted(cells.items())))


def _shared(one: Box, other: Box) -> Box | None:
    """Return the intersection of two boxes of the same dimensions; None if it is empty."""
    both = {dimension: _both(constraint, other[dimension]) for dimension, constraint in one.items()}
    return None if None in both.values() else both  # type: ignore[return-value]


def _without(box: Box, part: Box) -> Iterator[Box]:
    """Yield disjoint boxes whose union is a box without a part of it."""
    rest = dict(box)
    for dimension, constraint in box.items():
        inside = part[dimension]
        if _both(constraint, inside) is None:
            yield rest
            return
        for outside in _outside(constraint, inside):
            yield {**rest, dimension: outside}
        rest[dimension] = _both(constraint, inside)  # type: ignore[assignment]


def _union(one: Box, other: Box) -> Box | None:
    """Return the union of two disjoint boxes if it is a box, else None."""
    differing = [dimension for dimension in one if one[dimension] != other[dimension]]
    if len(differing) != 1:
        return None
    (dimension,) = differing
    first, second = one[dimension], other[dimension]
    if not (isinstance(first, Interval) and isinstance(second, Interval)):
        return {**one, dimension: first | second}  # type: ignore[operator]
    if second.until is not None and second.until == first.since:
        first, second = second, first
    bounded = first.since is not None or second.until is not None
    meet = first.until is not None and first.until == second.since
    return {**one, dimension: Interval(first.since, second.until)} if meet and bounded else None


def _both(one: Constraint, other: Constraint) -> Constraint | None:
    if isinstance(one, Interval) and isinstance(other, Interval):
        since, until = max(one.begin, other.begin), min(one.end, other.end)
        return None if until <= since else Interval.between(since, until)
    return (one & other) or None  # type: ignore[operator]


def _outside(constraint: Constraint, inside: Constraint) -> Iterable[Constraint]:
    """Yield the constraints that cover a constraint without another one that overlaps it."""
    if not (isinstance(constraint, Interval) and isinstance(inside, Interval)):
        return filter(None, [constraint - inside])  # type: ignore[operator]
    pairs = ((constraint.begin, inside.begin), (inside.end, constraint.end))
    return [Interval.between(begin, end) for begin, end in pairs if begin < end]
