"""What a data set has spent: a tuple of releases, each a query answered with a τ-DP mechanism.

Theorems convert a whole spend into one ε. They never add the ε's of its parts, which would promise too little:
leakage is superadditive (docs/theory/composition.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from bayesdp._support import validation
from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError
from bayesdp.queries import Query
from bayesdp.rounding import exact_sum, float_above

__all__ = ["Release", "Spend", "as_spend", "exact_total", "queries_of", "total_tau"]


class Release(NamedTuple):
    """One query, answered with noise that makes the answer τ-DP."""

    query: Query
    tau: float


Spend = tuple[Release, ...]


def as_spend(
    releases: Query | Iterable[tuple[Query, float]], tau: float | None = None, *, allow_nothing: bool = False
) -> Spend:
    """Return a checked spend from one query and its τ, or from (query, τ) pairs.

    >>> from bayesdp.queries import Count
    >>> total_tau(as_spend([(Count(equals=1), 0.5), (Count(equals=2), 0.25)]))
    0.75
    """
    if isinstance(releases, Query):
        if tau is None:
            raise InvalidInputError("say how private the release is: tau=..., its ordinary differential privacy")
        releases = [(releases, tau)]
    elif tau is not None:
        raise InvalidInputError("several releases bring their own tau: give [(query, tau), ...] without tau=")
    elif isinstance(releases, str) or not isinstance(releases, Iterable):
        raise InvalidInputError(f"expected a query such as Count(...) or a list of (query, tau), not {brief(releases)}")
    spend = tuple(_as_release(index, release) for index, release in enumerate(releases))
    if not (spend or allow_nothing):
        raise InvalidInputError("nothing is released: give at least one (query, tau)")
    return spend


def queries_of(spend: Spend) -> tuple[Query, ...]:
    """Return the queries of a spend, in order."""
    return tuple([query for query, _ in spend])


def exact_total(spend: Spend) -> Fraction:
    """Return the exact sum of the τ's: the releases together are that much DP."""
    return _exact_sum(tuple([tau for _, tau in spend]))


def total_tau(spend: Spend) -> float:
    """Return the sum of the τ's, rounded up to a float."""
    return float_above(exact_total(spend))


@lru_cache(maxsize=64)
def _exact_sum(taus: tuple[float, ...]) -> Fraction:
    """Return the exact sum: every theorem asks for that of the same spend."""
    return exact_sum(taus)


def _as_release(index: int, release: object) -> Release:
    if not isinstance(release, tuple) or len(release) != 2:
        raise InvalidInputError(f"release {index} must be a pair (query, tau), not {brief(release)}")
    query, tau = release
    if not isinstance(query, Query):
        raise InvalidInputError(f"release {index} must begin with a query such as Count(...), not {brief(query)}")
    return Release(query, validation.positive("tau", tau))
