"""What the records of a table have met, where releases read windows of it. Proof: docs/theory/windows.md.

All releases together are τ-DP with τ the largest total over records, which is converted once. If some are clipped sums,
they are also converted by key: each key with the largest total over records that it has alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from bayesdp.queries import AnyMechanism, Query
from bayesdp.queries.region import Region
from bayesdp.queries.region_totals import Box, constraints, largest_totals
from bayesdp.rounding import float_above
from bayesdp.session.parts import Exposure, Reading, cells_of_parts, merged
from bayesdp.theorems.spend import Release, Spend, spend_with

__all__ = ["Conversion", "RecordSpend", "conversions", "largest_of_records"]

_PARTS = "parts"


@dataclass(frozen=True)
class RecordSpend:
    """What a record has spent at most, as releases about the whole table, which theorems convert.

    spent: the releases so far.      added: the queries of new releases that read these records.

    >>> from bayesdp import Count
    >>> RecordSpend((), (Count(equals=1), Count(equals=1))).after(0.5)[0].tau
    1.0
    """

    spent: Spend
    added: tuple[Query, ...] = ()

    def after(self, tau: float) -> Spend:
        """Return the totals after the new releases, with this τ each."""
        return merged(spend_with(self.spent, self.added, tau))


@dataclass(frozen=True)
class Conversion:
    """One way to convert what touches a part of the table: its leakage is at most that of any conversion.

    spent:   what any record has met at most.
    touched: what those have met that new releases read.
    joint:   one of these leaks most once the new releases are made; none if that is `spent` or one of `touched`.
    """

    spent: Spend
    touched: tuple[RecordSpend, ...]
    joint: tuple[RecordSpend, ...] = ()


def conversions(exposure: Exposure) -> tuple[Conversion, ...]:
    """Return the ways to convert an exposure. A release that is not pure counts as one about every record.

    >>> from bayesdp import Count
    >>> from bayesdp.queries.region import Region
    >>> week = [Region("day", first, first + 7) for first in (0, 7)]
    >>> spent = tuple(Release(Count("s", equals=1).ledger_key().query, tau, at) for tau, at in zip((1.0, 0.5), week))
    >>> [release.tau for way in conversions(Exposure(spent)) for release in way.spent]
    [1.0]
    """
    spent, added = exposure.spent, exposure.added
    queries = tuple(reading.query for reading in added)
    windowed = any(region is not None for region in (*(one.region for one in spent), *(one.region for one in added)))
    if not windowed or not all(release.pure for release in spent):
        plain = merged(Release(release.query, release.loss) for release in spent) if windowed else spent
        return (Conversion(plain, (RecordSpend(plain, queries),) if added else ()),)
    keys = tuple(dict.fromkeys((*(release.query for release in spent), *queries)))
    if len(keys) == 1:
        return (_together(exposure, keys[0]),)
    any_query = AnyMechanism(next((key.column for key in keys if key.column is not None), None))
    metric = any(key.not_metric is None for key in keys)
    return (_together(exposure, any_query), *([_by_key(exposure, keys)] if metric else []))


def _together(exposure: Exposure, query: Query) -> Conversion:
    """Return everything as one release of a query, with the largest total over records."""
    totals = largest_of_records(_pure(exposure.spent), exposure.added)
    touched = (RecordSpend(_release(query, tau), (query,) * int(number)) for tau, number in totals if number)
    return Conversion(_release(query, max((tau for tau, _ in totals), default=_ZERO)), tuple(touched))


def _by_key(exposure: Exposure, keys: Sequence[Query]) -> Conversion:
    """Return every key with its own largest total over records."""
    every: list[list[tuple[Fraction, ...]]] = []
    touched: list[RecordSpend] = []
    for key in keys:
        spent = tuple(release for release in exposure.spent if release.query == key)
        own = tuple(reading for reading in exposure.added if reading.query == key)
        met = [(tau, number) for tau, number, of_any in largest_of_records(_pure(spent), own, exposure.added) if of_any]
        touched.append(_of_key(key, tuple(max(amounts) for amounts in zip(*met, strict=True)) or (_ZERO, _ZERO)))
        every.append(largest_of_records(_pure(spent), own))
    largest = [max((tau for tau, _ in totals), default=_ZERO) for totals in every]
    spends = tuple(release for key, tau in zip(keys, largest, strict=True) for release in _release(key, tau))
    if not exposure.added:
        return Conversion(spends, ())
    joint = product(*([_of_key(key, total) for total in totals] for key, totals in zip(keys, every, strict=True)))
    return Conversion(spends, (_side_by_side(touched),), tuple(map(_side_by_side, joint)))


def _of_key(key: Query, total: tuple[Fraction, ...]) -> RecordSpend:
    tau, number = total
    return RecordSpend(_release(key, tau), (key,) * int(number))


def _side_by_side(several: Sequence[RecordSpend]) -> RecordSpend:
    spent = tuple(release for met in several for release in met.spent)
    return RecordSpend(spent, tuple(query for met in several for query in met.added))


def largest_of_records(
    spent: Iterable[tuple[Release, Sequence[Fraction]]], *counted: Sequence[Reading], kinds: int = 1
) -> list[tuple[Fraction, ...]]:
    """Return the largest amounts that a record has met, and with them how many of the counted queries read it.

    spent: releases, each with its amounts, of as many kinds.      counted: queries, for each sequence of which there
    is a number of its own.

    >>> from bayesdp import Count
    >>> count = Reading(Count("on", equals=1))
    >>> spent = [(Release(count.query, 2.0), [Fraction(2)])]
    >>> [tuple(map(int, amounts)) for amounts in largest_of_records(spent, [count, count])]
    [(2, 2)]
    """
    pieces = [(_box(each.query, each.region), (*amounts, *([_ZERO] * len(counted)))) for each, amounts in spent]
    for place, readings in enumerate(counted, start=kinds):
        amounts = tuple(Fraction(kind == place) for kind in range(kinds + len(counted)))
        pieces += [(_box(query, region), amounts) for query, region in readings]
    return largest_totals(pieces)


def _box(query: Query, region: Region | None) -> Box:
    box = constraints(region)
    by = query.part_column
    return box if by is None else {**box, (by, _PARTS): cells_of_parts(query.parts)}


def _pure(spent: Iterable[Release]) -> list[tuple[Release, tuple[Fraction]]]:
    return [(release, (Fraction(release.tau),)) for release in spent]


def _release(query: Query, tau: Fraction) -> Spend:
    return (Release(query, float_above(tau)),) if tau else ()


_ZERO = Fraction(0)
