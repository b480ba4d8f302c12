"""Several releases on one data set, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from bayesdp._support.display import Displayed, PrintedTable, Section, lines
from bayesdp.rounding import shown_above, shown_below
from bayesdp.session.answer import Answer
from bayesdp.session.stored import Stored

__all__ = ["Releases"]

Kind = TypeVar("Kind", bound=Answer | Stored, covariant=True)


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


def _spent(release: Answer | Stored) -> str:
    if isinstance(release, Stored):
        return release.charged
    return shown_below(release.tau) if release.loss is None else release.spent
