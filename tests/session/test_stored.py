"""What a ledger keeps of a release: its fields but for those that pass, and nothing that cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from bayesdp._support.display import Section, lines
from bayesdp.errors import LedgerError
from bayesdp.session.stored import Stored


@dataclass(frozen=True)
class Note(Stored):
    """A release of words."""

    epsilon: float
    epsilon_total: float
    tau: float
    entry: int
    words: str
    seen: bool = False

    kind: ClassVar[str] = "note"
    schema: ClassVar[int] = 2
    passing: ClassVar[frozenset[str]] = frozenset({"seen"})

    @property
    def about(self) -> str:
        return "words"

    @property
    def outcome(self) -> str:
        return self.words

    def _printed(self) -> Sequence[Section]:
        return [lines(self.words)]


NOTE = Note(0.5, 1.0, 0.25, 3, "hello", seen=True)
KEPT: dict[str, Any] = NOTE.to_dict()


def test_it_is_kept_with_its_kind_and_without_what_passes() -> None:
    assert KEPT == {
        "kind": "note",
        "schema": 2,
        "epsilon": 0.5,
        "epsilon_total": 1.0,
        "tau": 0.25,
        "entry": 3,
        "words": "hello",
    }
    assert Note.stored(KEPT) == Note(0.5, 1.0, 0.25, 3, "hello")
    assert Note.stored({**KEPT, "later": "an entry that a later version added"}) is not None


@pytest.mark.parametrize("other", [None, 3, [KEPT], {}, {"kind": "answer"}, {"words": "hello"}])
def test_what_is_something_else_is_none(other: object) -> None:
    assert Note.stored(other) is None


@pytest.mark.parametrize("change", [{"schema": 3}, {"schema": None}, {"words": ...}], ids=str)
def test_what_is_damaged_or_newer_is_refused(change: dict[str, Any]) -> None:
    damaged = {name: value for name, value in {**KEPT, **change}.items() if value is not ...}
    with pytest.raises(LedgerError, match="damaged, or newer: what is note cannot be read"):
        Note.stored(damaged)
