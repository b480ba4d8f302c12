"""The spend of a data set: a tuple of releases, each a query and the loss of the mechanism that answered it.

Theorems convert a whole spend into one ε. Adding up the ε's of its parts would be wrong: leakage is superadditive
(docs/theory/composition.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

from bayesdp._support import validation
from bayesdp._support.messages import param
from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError
from bayesdp.losses import Loss, PureLoss
from bayesdp.queries import Query
from bayesdp.queries.region import Region
from bayesdp.rounding import exact_sum, float_above

__all__ = [
    "Release",
    "Released",
    "Spend",
    "as_spend",
    "exact_total",
    "losses_of",
    "queries_of",
    "spend_with",
    "total_tau",
]


@dataclass(frozen=True, init=False)
class Release:
    """One query and the loss of its answer; a number stands for the τ of a pure loss.

    region: the records that it reads; None for all of them. Theorems take every release for one about all records; an
            account adds up by records before it asks them.

    A release with a pure loss can be unpacked as (query, τ).

    >>> from bayesdp.queries import Count
    >>> query, tau = Release(Count(equals=1), PureLoss(0.5))
    >>> tau
    0.5
    """

    query: Query
    loss: Loss
    region: Region | None = field(default=None, repr=False)

    def __init__(self, query: Query, loss: Loss | float, region: Region | None = None) -> None:
        object.__setattr__(self, "query", query)
        object.__setattr__(self, "loss", loss if isinstance(loss, Loss) else PureLoss(loss))
        object.__setattr__(self, "region", region)

    @property
    def pure(self) -> bool:
        """Whether the release is τ-DP. A subclass of PureLoss may have another meaning and does not count."""
        return type(self.loss) is PureLoss

    @property
    def tau(self) -> float:
        """The τ of a pure loss; InvalidInputError for any other loss, which no single τ describes."""
        if type(self.loss) is not PureLoss:
            raise InvalidInputError(
                f"a release with {self.loss.description} has no tau: only {PureLoss.kind} has, not {self.loss.kind}"
            )
        return self.loss.tau

    def __iter__(self) -> Iterator[Any]:
        return iter((self.query, self.tau))


Released = Release | tuple[Query, Loss | float]
"""One release as callers write it: a `Release`, or a query with its loss or τ."""

Spend = tuple[Release, ...]


def as_spend(releases: Query | Iterable[Released], tau: float | None = None, *, allow_nothing: bool = False) -> Spend:
    """Return a checked spend from one query and its τ, or from releases and (query, τ) pairs.

    >>> from bayesdp.queries import Count
    >>> total_tau(as_spend([(Count(equals=1), 0.5), (Count(equals=2), 0.25)]))
    0.75
    """
    if isinstance(releases, Query):
        if tau is None:
            raise InvalidInputError(
                "say how private the release is: " + param("tau", like="...") + ", its ordinary differential privacy"
            )
        releases = [(releases, tau)]
    elif tau is not None:
        raise InvalidInputError(
            "several releases bring their own tau: give [(query, tau), ...] without " + param("tau")
        )
    elif isinstance(releases, str) or not isinstance(releases, Iterable):
        raise InvalidInputError(f"expected a query such as Count(...) or a list of (query, tau), not {brief(releases)}")
    spend = tuple(_as_release(index, release) for index, release in enumerate(releases))
    if not (spend or allow_nothing):
        raise InvalidInputError("nothing is released: give at least one (query, tau)")
    return spend


def spend_with(spent: Spend, queries: Iterable[Query], loss: Loss | float) -> Spend:
    """Return a spend extended by queries that are released with the same loss or τ."""
    return (*spent, *(Release(query, loss) for query in queries))


def queries_of(spend: Spend) -> tuple[Query, ...]:
    """Return the queries of a spend, in order."""
    return tuple([release.query for release in spend])


def losses_of(spend: Spend) -> tuple[type[Loss], ...]:
    """Return the kinds of the losses of a spend, in order."""
    return tuple([type(release.loss) for release in spend])


def exact_total(spend: Spend) -> Fraction:
    """Return the exact sum of the τ's, the τ of all releases together; InvalidInputError if one has no τ."""
    return _exact_sum(tuple([release.tau for release in spend]))


def total_tau(spend: Spend) -> float:
    """Return the sum of the τ's, rounded up to a float; InvalidInputError if a release has no τ."""
    return float_above(exact_total(spend))


@lru_cache(maxsize=64)
def _exact_sum(taus: tuple[float, ...]) -> Fraction:
    """Return the exact sum; cached, because every theorem computes it for the same spend."""
    return exact_sum(taus)


def _as_release(index: int, release: object) -> Release:
    pair = (release.query, release.loss) if isinstance(release, Release) else release
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise InvalidInputError(f"release {index} must be a pair (query, tau), not {brief(release)}")
    query, loss = pair
    if not isinstance(query, Query):
        raise InvalidInputError(f"release {index} must begin with a query such as Count(...), not {brief(query)}")
    if isinstance(loss, PureLoss) or not isinstance(loss, Loss):
        validation.positive("tau", loss.tau if isinstance(loss, PureLoss) else loss)
    return Release(query, loss)
