"""The last head of each ledger that was seen, so that a later answer can be seen to continue it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from bayesdp._support import documents, validation
from bayesdp._support.files import write_private
from bayesdp.errors import InvalidInputError

__all__ = ["Head", "Heads"]

KIND, SCHEMA = "heads", 1


@dataclass(frozen=True)
class Head:
    """An entry of a ledger, and the hash of the ledger up to there."""

    entry: int
    hash: str

    @classmethod
    def from_dict(cls, document: object) -> Head:
        """Read a head from its JSON object; InvalidInputError for what is none."""
        read = validation.mapping("the head of a ledger", document)
        return cls(validation.natural("entry", read.get("entry"), least=0), validation.text("hash", read.get("hash")))


class Heads:
    """The last heads, by server and data set: in memory and, if a file is named, in that file for the next time.

    Raises InvalidInputError for a file that holds something else, or that cannot be written.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._lock = Lock()
        self._seen: dict[str, dict[str, Head]] = {}
        self._read()

    def last(self, server: str, dataset: str) -> Head | None:
        """Return the last head that was seen; None if there is none."""
        with self._lock:
            return self._seen.get(server, {}).get(dataset)

    def note(self, server: str, dataset: str, head: Head) -> None:
        """Keep a head, unless a later one is known."""
        with self._lock:
            self._read()
            known = self._seen.setdefault(server, {}).get(dataset)
            if known is None or known.entry < head.entry:
                self._seen[server][dataset] = head
                self._write()

    def _read(self) -> None:
        """Take over the later heads of the file: another process may have written to it."""
        if self.path is None or not self.path.exists():
            return
        written = documents.checked(documents.read(self.path), KIND, SCHEMA)
        for server, heads in _items(written.get("heads")):
            for dataset, entries in _items(heads):
                head, known = Head.from_dict(entries), self._seen.setdefault(server, {}).get(dataset)
                self._seen[server][dataset] = head if known is None or known.entry < head.entry else known

    def _write(self) -> None:
        if self.path is None:
            return
        heads = {server: {name: vars(head) for name, head in known.items()} for server, known in self._seen.items()}
        try:
            write_private(self.path, json.dumps({"kind": KIND, "schema": SCHEMA, "heads": heads}, indent=2) + "\n")
        except OSError as error:
            raise InvalidInputError(f"cannot write {self.path}: {error.strerror or error}") from None


def _items(entries: object) -> list[tuple[str, Any]]:
    read: Mapping[str, Any] = validation.mapping("the heads", entries)
    return list(read.items())
