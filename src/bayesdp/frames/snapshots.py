"""Files as they were when a table was opened: what was checked then must be what is read later."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bayesdp.errors import ChangedError
from bayesdp.frames.failures import PASSING
from bayesdp.frames.paths import matching

__all__ = ["Snapshot", "Stamp"]

_TICK = 0.01
"""Seconds. Two changes of a file that lie closer together may get the same time from the system."""


class Stamp(NamedTuple):
    """What a file system says about a file; every change of the file changes some of it."""

    size: int
    modified: int
    changed: int
    inode: int
    device: int

    @classmethod
    def of(cls, file: str) -> Stamp | None:
        """Return what is said about a file now; None if it is not there."""
        try:
            reported = Path(file).stat()
        except (OSError, ValueError):
            return None
        return cls(reported.st_size, reported.st_mtime_ns, reported.st_ctime_ns, reported.st_ino, reported.st_dev)


@dataclass(frozen=True)
class Snapshot:
    """The files of a table, as they were when it was opened.

    name:   what the table is called in messages.
    paths:  the paths and patterns that named the files; a file that they name later is a change, too.
    stamps: what the file system said about each file.
    """

    name: str
    paths: tuple[str, ...]
    stamps: tuple[tuple[str, Stamp | None], ...]

    @classmethod
    def of(cls, name: str, files: Sequence[str], paths: Sequence[str] | None = None) -> Snapshot:
        """Return a snapshot of files; nothing of them must have been read before.

        paths: what named them; by default the files themselves.

        A file that was changed just now could change once more without a trace in its times, so its next change is
        awaited for a hundredth of a second.
        """
        snapshot = cls(name, tuple(files if paths is None else paths), _stamps(files))
        latest = max((stamp.changed for _, stamp in snapshot.stamps if stamp is not None), default=0)
        if time.time_ns() - latest < _TICK * 1e9:
            time.sleep(_TICK)
        return snapshot

    def check(self) -> None:
        """Raise ChangedError if a file changed, is gone or has come."""
        try:
            files = [file for path in self.paths for file in matching(path)]
        except OSError:
            files = []
        if _stamps(files) != self.stamps or any(stamp is None for _, stamp in self.stamps):
            raise ChangedError(
                f"{self.name} changed since it was opened; open it again, so that what it holds now is checked"
            )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Check before and after what is done inside; also if it fails, for a change may be why."""
        self.check()
        try:
            yield
        except PASSING:
            raise
        except BaseException:
            self.check()
            raise
        self.check()


def _stamps(files: Sequence[str]) -> tuple[tuple[str, Stamp | None], ...]:
    return tuple((file, Stamp.of(file)) for file in files)
