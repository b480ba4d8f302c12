"""Several releases on one data set, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from bayesdp._support.display import Displayed, PrintedTable, Section, lines
from bayesdp.rounding import shown_above, shown_below
from bayesdp.session.answer import Answer
from bayesdp.session.private_fit import Fit
from bayesdp.session.randomize import Randomized
from bayesdp.session.record import Recorded

__all__ = ["Releases", "StoredRelease", "release_stored"]

StoredRelease = Answer | Fit | Randomized | Recorded

Kind = TypeVar("Kind", bound=StoredRelease, covariant=True)


class Releases(tuple[Kind, ...], Displayed):
    """A tuple of releases. Prints as a table: the question, the result, the cost."""

    def _printed(self) -> Sequence[Section]:
        if not self:
            return [lines("Nothing has been released.")]
        rows = [
            [str(release.entry), release.outcome, shown_above(release.epsilon), _spent(release), release.about]
            for release in self
        ]
        return [[PrintedTable(["entry", "answer", "ε", "τ", "question"], rows)]]


def _spent(release: StoredRelease) -> str:
    if isinstance(release, Answer):
        return shown_below(release.tau) if release.loss is None else release.spent
    return release.charged if isinstance(release, Recorded) else shown_below(release.tau)


def release_stored(body: object) -> StoredRelease:
    """Read what a ledger stored of a release, whatever its kind; LedgerError if it is damaged."""
    return Randomized.stored(body) or Recorded.stored(body) or Fit.stored(body) or Answer.stored(body)
