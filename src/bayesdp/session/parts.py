"""Which releases the records of each part of a table have met. Rules and proof: docs/theory/composition.md.

Parts are told apart by public columns (`Query.by`), and are independent of one another. A release on one of them says
nothing about the records of another, so what a table leaks is the most that any of its parts leaks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product

from bayesdp._support.words import folded
from bayesdp.losses import PureLoss
from bayesdp.queries import Query
from bayesdp.rounding import float_above
from bayesdp.theorems.spend import Release, Spend, queries_of, spend_with

__all__ = ["Exposure", "everywhere", "exposures", "meet", "merged", "most_met", "part_by_part"]


def part_by_part(query: Query) -> tuple[Query, ...]:
    """Return the question about each of its parts, one after the other; only itself if it is about the whole table.

    >>> from bayesdp import Count
    >>> [each.description for each in part_by_part(Count("on", equals=1, by="district", by_cells=["A", "B"]))]
    ["the number of records with on = 1 for district = 'A'", "the number of records with on = 1 for district = 'B'"]
    """
    return (query,) if query.by is None else tuple(replace(query, by_cells=(cell,)) for cell in query.by_cells or ())


def everywhere(query: Query) -> Query:
    """Return the question about the whole table instead of parts: what the records of a part see of it."""
    return query if query.by is None else replace(query, by=None, by_cells=None)


def meet(one: Query, other: Query) -> bool:
    """Tell whether a record may be in the parts of both questions: not if they are other values of one column."""
    return one.by is None or one.by != other.by or not _cells(one.parts).isdisjoint(_cells(other.parts))


@lru_cache(maxsize=4096)
def _cells(parts: tuple[str, ...]) -> Set[str]:
    """Return parts as an account tells them apart: a database may hold "North" and "north" for one.

    >>> list(_cells(("North", "north ", "south")))
    ['north', 'south']
    """
    return dict.fromkeys(map(folded, parts)).keys()


@dataclass(frozen=True)
class Exposure:
    """What the records of some parts have met, as if it had been asked about the whole table.

    spent: the releases so far, a total for each key.
    added: the queries of the keys of new releases; none if the new releases are about other parts.

    >>> from bayesdp import Count
    >>> Exposure((), (Count(equals=1), Count(equals=1))).after(0.5)[0].tau
    1.0
    """

    spent: Spend
    added: tuple[Query, ...] = ()

    def after(self, tau: float) -> Spend:
        """Return the totals after the new releases, with this τ each."""
        return merged(spend_with(self.spent, self.added, tau))

    def exceeded_by(self, other: Exposure) -> bool:
        """Tell whether another exposure has met at least as much of everything: it then leaks at least as much."""
        mine, theirs = _totals(self.spent), _totals(other.spent)
        others, new = Counter(_not_pure(self.spent)), Counter(self.added)
        more = others <= Counter(_not_pure(other.spent)) and new <= Counter(other.added)
        return more and all(theirs.get(query, 0) >= total for query, total in mine.items())


def exposures(spent: Spend, added: Sequence[Query] = ()) -> tuple[Exposure, ...]:
    """Return what the records of each part have met, without what another exposure exceeds.

    A record is in one part of each column at most, whatever the other columns say of it.

    >>> from bayesdp import Count
    >>> count = Count("on", equals=1).ledger_key().query
    >>> parts = [Count("on", equals=1, by="district", by_cells=[cell]) for cell in ("N", "S")]
    >>> north, south = (part.ledger_key().query for part in parts)
    >>> (met,) = exposures((Release(count, 0.5), Release(north, 0.25), Release(south, 1.0)))
    >>> [release.tau for release in met.spent]
    [1.5]
    """
    columns = dict.fromkeys(query.by for query in (*queries_of(spent), *added) if query.by is not None)
    if not columns:
        return (Exposure(spent, tuple(added)),)
    whole = Exposure(
        tuple(release for release in spent if release.query.by is None),
        tuple(query for query in added if query.by is None),
    )
    by_column = [_largest(_of_each_cell(spent, added, column)) for column in columns]
    return _largest(_joined((whole, *met)) for met in product(*by_column))


def most_met(amounts: Iterable[tuple[Query, Fraction]], touching: Query | None = None) -> Fraction:
    """Return the largest sum of amounts that belong to releases which read one and the same record.

    touching: only of records that a release of this query reads.

    >>> from bayesdp import Count
    >>> north, south = (Count("on", equals=1, by="district", by_cells=[cell]) for cell in ("N", "S"))
    >>> spent = [(Count("on", equals=1), Fraction(1)), (north, Fraction(2)), (south, Fraction(5))]
    >>> int(most_met(spent)), int(most_met(spent, touching=north))
    (6, 3)
    """
    total = Fraction(0)
    by_column: dict[str, dict[str, Fraction]] = {}
    for query, amount in amounts:
        if query.by is None:
            total += amount
            continue
        met = by_column.setdefault(query.by, {})
        for cell in _cells(query.parts):
            met[cell] = met.get(cell, Fraction(0)) + amount
    for column, met in by_column.items():
        read = _cells(touching.parts) if touching is not None and touching.by == column else met
        total += max((met.get(cell, Fraction(0)) for cell in read), default=Fraction(0))
    return total


def merged(spend: Iterable[Release]) -> Spend:
    """Return one τ-DP release for each question, the τ's added exactly and rounded up once; others stay as they are."""
    releases = tuple(spend)
    taus: dict[Query, list[float]] = {}
    others = []
    for release in releases:
        if type(release.loss) is PureLoss:
            taus.setdefault(release.query, []).append(release.loss.tau)
        else:
            others.append(release)
    if all(len(same) == 1 for same in taus.values()):
        return releases
    added = (Release(query, float_above(sum(map(Fraction, same), Fraction(0)))) for query, same in taus.items())
    return (*added, *others)


def _totals(spend: Iterable[Release]) -> Mapping[Query, Fraction]:
    return {release.query: Fraction(release.tau) for release in merged(spend) if release.pure}


def _not_pure(spend: Iterable[Release]) -> Spend:
    return tuple(release for release in spend if not release.pure)


def _of_each_cell(spent: Spend, added: Sequence[Query], column: str) -> Iterable[Exposure]:
    """Return for each cell of a column what the releases by that column add for its records."""
    met: dict[str, tuple[list[Release], list[Query]]] = {}
    for release in spent:
        for cell in _cells(release.query.parts) if release.query.by == column else ():
            met.setdefault(cell, ([], []))[0].append(Release(everywhere(release.query), release.loss))
    for query in added:
        for cell in _cells(query.parts) if query.by == column else ():
            met.setdefault(cell, ([], []))[1].append(everywhere(query))
    return [Exposure(tuple(releases), tuple(queries)) for releases, queries in met.values()]


def _joined(met: Sequence[Exposure]) -> Exposure:
    """Return what records have met that are in several parts, one of each column."""
    spent = merged(release for exposure in met for release in exposure.spent)
    return Exposure(spent, tuple(query for exposure in met for query in exposure.added))


def _largest(met: Iterable[Exposure]) -> tuple[Exposure, ...]:
    """Return the exposures that no other one exceeds, each once."""
    kept: list[Exposure] = []
    for exposure in dict.fromkeys(met):
        if not any(exposure.exceeded_by(other) for other in kept):
            kept = [other for other in kept if not other.exceeded_by(exposure)]
            kept.append(exposure)
    return tuple(kept)
