"""Who asked for what was charged: the ε posted in each name, day by day, and the requests that were charged.

All of it stands in the charges, so nothing else is stored: a session reads the charges that are new to it, in the
transaction that makes its own. `budget verify` recomputes the same sums.

A charge says in its details who asked (`by`), and what it posts in that name (`posted`): the ε of its release in the
first charge of a release, 0 in the others. A charge that does not say so, from the command line or from an earlier
version, posts its whole ε.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from bayesdp._support import validation
from bayesdp.errors import AllowanceError, InvalidInputError, LedgerError, TimeLimitError
from bayesdp.ledger.records import Charge, Entry
from bayesdp.rounding import float_below

__all__ = ["Postings", "Requester", "RequestsCharged"]

NOTHING = Fraction(0)


@dataclass(frozen=True)
class Requester:
    """In whose name a release is charged, and how much may be.

    by:           the name that the ledger keeps.
    day, total:   the largest sum of the ε posted in this name on one data set, on one day (UTC) and in all; None
                  without a limit.
    request, body: the fingerprint of the request, by which it is known when it is repeated, and that of its content.
    deadline:     the time of `time.monotonic` after which nothing is charged any more.

    >>> Requester("ada", day=0.5).stated
    {'day': 0.5}
    """

    by: str
    day: float | None = None
    total: float | None = None
    request: str | None = None
    body: str | None = None
    deadline: float | None = None

    def __post_init__(self) -> None:
        validation.line("by", self.by)
        for name, limit in self.stated.items():
            validation.not_negative(name, limit)

    @property
    def stated(self) -> dict[str, float]:
        """The limits, as charges state them."""
        limits = {"day": self.day, "total": self.total}
        return {name: limit for name, limit in limits.items() if limit is not None}

    def check_time(self) -> None:
        """Raise TimeLimitError after the deadline."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise TimeLimitError


@dataclass(frozen=True)
class RequestsCharged:
    """A request that was charged: the fingerprint of its content, and the entries of its charges."""

    body: object
    entries: tuple[int, ...]


@dataclass
class Postings:
    """The sums over the charges of one data set that were read so far.

    last: the number and the hash of the last of these charges.

    >>> Postings().spent("ada", "2026-01-31")
    (Fraction(0, 1), Fraction(0, 1))
    """

    last: tuple[int, str] = (0, "")
    charges: int = 0
    _days: dict[tuple[str, str], Fraction] = field(default_factory=dict)
    _totals: dict[str, Fraction] = field(default_factory=dict)
    _requests: dict[str, RequestsCharged] = field(default_factory=dict)
    _release: tuple[str, str, object] | None = None

    def add(self, entry: Entry, body: Mapping[str, Any]) -> str | None:
        """Add a charge, the next one of the data set; return how it contradicts the charges before it, if it does."""
        details = body.get("details", {})
        by, day, epsilon = details.get("by"), entry.timestamp[:10], details.get("epsilon")
        self.last, self.charges = (entry.number, entry.hash), self.charges + 1
        if not isinstance(by, str):
            self._release = None
            return None if "posted" not in details else "it posts something, but in no name"
        posted = details.get("posted", epsilon)
        wrong = None
        if posted is not None:
            amount = exact(posted)
            self._days[by, day] = self._days.get((by, day), NOTHING) + amount
            self._totals[by] = self._totals.get(by, NOTHING) + amount
            wrong = self._wrong(entry, details, amount)
        self._release = (entry.timestamp, by, epsilon)
        return self._requested(entry, details) or wrong

    def _wrong(self, entry: Entry, details: Mapping[str, Any], amount: Fraction) -> str | None:
        """Return how a charge posts less than its ε, or more than the allowance that it states."""
        if "posted" not in details:
            return None
        first = amount == exact(details.get("epsilon", 0.0))
        if not first and (amount or self._release != (entry.timestamp, details["by"], details.get("epsilon"))):
            return "it posts another ε than that of its release"
        for name, spent in zip(("day", "total"), self.spent(details["by"], entry.timestamp[:10]), strict=True):
            limit = details.get("allowance", {}).get(name)
            if limit is not None and spent > exact(limit):
                return f"it exceeds the allowance of {details['by']!r} that it states"
        return None

    def _requested(self, entry: Entry, details: Mapping[str, Any]) -> str | None:
        request = details.get("request")
        if request is None:
            return None
        known = self._requests.get(request["key"])
        entries = (entry.number,) if known is None else (*known.entries, entry.number)
        self._requests[request["key"]] = RequestsCharged(request["body"], entries)
        same = known is None or (details.get("posted") == 0.0 and known.body == request["body"])
        return None if same else "its request was charged before"

    def spent(self, by: str, day: str) -> tuple[Fraction, Fraction]:
        """Return the ε posted in a name on a day, and in all."""
        return self._days.get((by, day), NOTHING), self._totals.get(by, NOTHING)

    def request(self, requester: Requester) -> RequestsCharged | None:
        """Return the request if it was charged before; InvalidInputError if that had another content."""
        known = None if requester.request is None else self._requests.get(requester.request)
        if known is not None and known.body != requester.body:
            raise InvalidInputError(OTHER_REQUEST)
        return known

    def posted(self, charges: Sequence[Charge], requester: Requester, day: str) -> tuple[Charge, ...]:
        """Return charges that are about to be made together, with what they post.

        Raises AllowanceError if that is more than what the requester may spend, LedgerError for a request that was
        charged before, TimeLimitError after its deadline.
        """
        requester.check_time()
        if self.request(requester) is not None:
            raise LedgerError(
                "this request was charged before, and its answer is no longer that of the same question: the table or "
                "its account has changed since. Nothing was charged; send a new request"
            )
        epsilon = charges[0].details.get("epsilon")
        if not all(c.details.get("by") == requester.by and c.details.get("epsilon") == epsilon for c in charges):
            raise LedgerError(f"these charges are not one release in the name of {requester.by!r}; nothing was charged")
        amount = exact(epsilon)
        for when, limit, spent in zip(
            ("today", "in all"), (requester.day, requester.total), self.spent(requester.by, day), strict=True
        ):
            left = None if limit is None else max(NOTHING, exact(limit) - spent)
            if left is not None and amount > left:
                raise AllowanceError(float(amount), float_below(left), requester.by, when)
        said: dict[str, Any] = {"allowance": requester.stated} if requester.stated else {}
        if requester.request is not None:
            said["request"] = {"key": requester.request, "body": requester.body}
        return tuple(
            replace(charge, details={**charge.details, "posted": 0.0 if place else epsilon, **said})
            for place, charge in enumerate(charges)
        )


def exact(value: object) -> Fraction:
    """Return a number as the decimal that it is written as, so that ten times 0.1 is 1; LedgerError for others.

    >>> 10 * exact(0.1)
    Fraction(1, 1)
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise LedgerError("the ledger is damaged: a charge does not say what it posts; verify it")
    return Fraction(Decimal(repr(value)))


OTHER_REQUEST = "this idempotency key was used for another request; send a new request with a key of its own"
