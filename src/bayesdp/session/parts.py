"""Which releases touch each part of a table. Rules and proof: docs/theory/composition.md.

Public columns define the parts (`Query.by`), and the parts are independent of one another. A release on one of them
reveals nothing about the records of another, so a table leaks as much as the part that leaks most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from bayesdp._support.words import folded
from bayesdp.losses import PureLoss
from bayesdp.queries import Query
from bayesdp.queries.region import Region
from bayesdp.queries.region_totals import overlap
from bayesdp.rounding import float_above
from bayesdp.theorems.spend import Release, Spend, queries_of

__all__ = [
    "Exposure",
    "Reading",
    "Regions",
    "cells_of_parts",
    "everywhere",
    "exposures",
    "meet",
    "merged",
    "part_by_part",
    "readings_of",
]


class Reading(NamedTuple):
    """A query, and the records that it reads; None for all of them."""

    query: Query
    region: Region | None = None


Regions = Sequence[Region | None]
"""The records that each of several queries reads; empty if all of them read every record."""


def readings_of(queries: Sequence[Query], regions: Regions) -> tuple[Reading, ...]:
    """Return the keys of queries, each with the records that it reads."""
    read = regions or (None,) * len(queries)
    return tuple(Reading(query.ledger_key().query, region) for query, region in zip(queries, read, strict=True))


def part_by_part(query: Query) -> tuple[Query, ...]:
    """Return one question for each part; a question about the whole table is returned as it is.

    >>> from bayesdp import Count
    >>> [each.description for each in part_by_part(Count("on", equals=1, by="district", by_cells=["A", "B"]))]
    ["the number of records with on = 1 for district = 'A'", "the number of records with on = 1 for district = 'B'"]
    """
    if query.part_column is None:
        return (query,)
    return tuple(replace(query, by_cells=(cell,)) for cell in query.by_cells or ())


def everywhere(query: Query) -> Query:
    """Return the question about the whole table instead of parts."""
    return query.undivided


def meet(one: Reading, other: Reading) -> bool:
    """Tell whether both questions may read the same record: no if their parts or regions are disjoint."""
    mine, theirs = one.query, other.query
    divided_alike = mine.part_column is not None and mine.part_column == theirs.part_column
    if divided_alike and cells_of_parts(mine.parts).isdisjoint(cells_of_parts(theirs.parts)):
        return False
    return None in (one.region, other.region) or overlap(one.region, other.region)


@lru_cache(maxsize=4096)
def cells_of_parts(parts: tuple[str, ...]) -> Set[str]:
    """Return the names of parts as an account compares them: some databases treat "North" and "north" as equal.

    >>> list(cells_of_parts(("North", "north ", "south")))
    ['north', 'south']
    """
    return dict.fromkeys(map(folded, parts)).keys()


@dataclass(frozen=True)
class Exposure:
    """The releases that read some parts of the table, as if they had read the whole table.

    spent: the releases so far, a total for each key and region.
    added: the keys of new releases, with their regions; none if the new releases are about other parts.
    """

    spent: Spend
    added: tuple[Reading, ...] = ()

    def exceeded_by(self, other: Exposure) -> bool:
        """Tell whether another exposure contains at least as much of every release: it then leaks at least as much."""
        mine, theirs = _totals(self.spent), _totals(other.spent)
        others, new = Counter(_not_pure(self.spent)), Counter(self.added)
        more = others <= Counter(_not_pure(other.spent)) and new <= Counter(other.added)
        return more and all(theirs.get(reading, 0) >= total for reading, total in mine.items())


def exposures(spent: Spend, added: Sequence[Reading] = ()) -> tuple[Exposure, ...]:
    """Return the exposure of each part, without those that another one exceeds.

    A record is in at most one part of each column, whatever its values in the other columns.

    >>> from bayesdp import Count
    >>> count = Count("on", equals=1).ledger_key().query
    >>> parts = [Count("on", equals=1, by="district", by_cells=[cell]) for cell in ("N", "S")]
    >>> north, south = (part.ledger_key().query for part in parts)
    >>> (exposure,) = exposures((Release(count, 0.5), Release(north, 0.25), Release(south, 1.0)))
    >>> [release.tau for release in exposure.spent]
    [1.5]
    """
    queries = (*queries_of(spent), *(reading.query for reading in added))
    columns = dict.fromkeys(query.part_column for query in queries if query.part_column is not None)
    if not columns:
        return (Exposure(spent, tuple(added)),)
    whole = Exposure(
        tuple(release for release in spent if release.query.part_column is None),
        tuple(reading for reading in added if reading.query.part_column is None),
    )
    by_column = [_largest(_of_each_cell(spent, added, column)) for column in columns]
    return _largest(_joined((whole, *together)) for together in product(*by_column))


def merged(spend: Iterable[Release]) -> Spend:
    """Return one τ-DP release for each question and region, the τ's added exactly and rounded up once.

    Others stay as they are.
    """
    releases = tuple(spend)
    taus: dict[Reading, list[float]] = {}
    others = []
    for release in releases:
        if type(release.loss) is PureLoss:
            taus.setdefault(Reading(release.query, release.region), []).append(release.loss.tau)
        else:
            others.append(release)
    if all(len(same) == 1 for same in taus.values()):
        return releases
    added = (
        Release(query, float_above(sum(map(Fraction, same), Fraction(0))), at) for (query, at), same in taus.items()
    )
    return (*added, *others)


def _totals(spend: Iterable[Release]) -> Mapping[Reading, Fraction]:
    return {Reading(each.query, each.region): Fraction(each.tau) for each in merged(spend) if each.pure}


def _not_pure(spend: Iterable[Release]) -> Spend:
    return tuple(release for release in spend if not release.pure)


def _of_each_cell(spent: Spend, added: Sequence[Reading], column: str) -> Iterable[Exposure]:
    """Return what the releases by a column add to the exposure of each of its cells."""
    cells: dict[str, tuple[list[Release], list[Reading]]] = {}
    for release in spent:
        for cell in cells_of_parts(release.query.parts) if release.query.part_column == column else ():
            everything = Release(everywhere(release.query), release.loss, release.region)
            cells.setdefault(cell, ([], []))[0].append(everything)
    for query, region in added:
        for cell in cells_of_parts(query.parts) if query.part_column == column else ():
            cells.setdefault(cell, ([], []))[1].append(Reading(everywhere(query), region))
    return [Exposure(tuple(releases), tuple(readings)) for releases, readings in cells.values()]


def _joined(several: Sequence[Exposure]) -> Exposure:
    """Return the exposure of records that are in several parts, one of each column."""
    spent = merged(release for exposure in several for release in exposure.spent)
    return Exposure(spent, tuple(reading for exposure in several for reading in exposure.added))


def _largest(candidates: Iterable[Exposure]) -> tuple[Exposure, ...]:
    """Return the exposures that no other one exceeds, each once."""
    largest: list[Exposure] = []
    for exposure in dict.fromkeys(candidates):
        if not any(exposure.exceeded_by(other) for other in largest):
            largest = [other for other in largest if not other.exceeded_by(exposure)]
            largest.append(exposure)
    return tuple(largest)
