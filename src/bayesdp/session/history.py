"""What a ledger stored of a release, read again whatever its kind."""

from __future__ import annotations

from bayesdp.session.answer import Answer
from bayesdp.session.private_fit import Fit
from bayesdp.session.randomize import Randomized
from bayesdp.session.record import Recorded

__all__ = ["StoredRelease", "release_stored"]

StoredRelease = Answer | Fit | Randomized | Recorded


def release_stored(body: object) -> StoredRelease:
    """Read what a ledger stored of a release, whatever its kind; LedgerError if it is damaged."""
    return Randomized.stored(body) or Recorded.stored(body) or Fit.stored(body) or Answer.stored(body)
