"""Snapshots of files: the data that were checked when a table was opened must be those read later."""

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
"""Seconds within which two changes of a file may get the same time from the system."""


class Stamp(NamedTuple):
    """The metadata of a file; every change of the file changes some of it."""

    size: int
    modified: int
    changed: int
    inode: int
    device: int

    @classmethod
    def of(cls, file: str) -> Stamp | None:
        """Return the metadata of a file now; None if the file does not exist."""
        try:
            stat = Path(file).stat()
        except (OSError, ValueError):
            return None
        return cls(stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_dev)


@dataclass(frozen=True)
class Snapshot:
    """The files of a table, as they were when it was opened.

    name:   the name of the table in messages.
    paths:  the paths and patterns that matched the files; a new match is a change, too.
    stamps: the metadata of each file.
    """

    name: str
    paths: tuple[str, ...]
    stamps: tuple[tuple[str, Stamp | None], ...]

    @classmethod
    def of(cls, name: str, files: Sequence[str], paths: Sequence[str] | None = None) -> Snapshot:
        """Return a snapshot of files, which must be taken before anything of them is read.

        paths: the paths and patterns that matched them; by default the files themselves.

        A file that changed just now could change again without a new time, so the snapshot then waits for a hundredth
        of a second.
        """
        snapshot = cls(name, tuple(files if paths is None else paths), _stamps(files))
        latest = max((stamp.changed for _, stamp in snapshot.stamps if stamp is not None), default=0)
        if time.time_ns() - latest < _TICK * 1e9:
            time.sleep(_TICK)
        return snapshot

    def check(self) -> None:
        """Raise ChangedError if a file changed, is gone or is new."""
        try:
            files = [file for path in self.paths for file in matching(path)]
        except OSError:
            files = []
        if _stamps(files) != self.stamps or any(stamp is None for _, stamp in self.stamps):
            raise ChangedError(
                f"{self.name} changed since it was opened; open it again, so that its present data are checked"
            )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Check before and after the block, also if it fails, because a change may be the cause."""
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
