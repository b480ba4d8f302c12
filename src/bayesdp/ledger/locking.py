"""A queue of writers to a SQLite ledger: first come, first served.

A process that finds a SQLite file locked sleeps and tries again, at growing intervals: many writers then leave the file
idle most of the time, and one of them may wait for all the others to finish. So writers queue for a lock on the
ledger's directory (flock), which the system hands on in order. The queue is only for speed: SQLite's own locks keep
writers apart, also where there is no such lock.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["write_turn"]

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def write_turn(directory: Path, patience: float) -> Iterator[float]:
    """Wait for a turn to write, at most `patience` seconds, and hold it; yields how many of these seconds are left."""
    begun = time.monotonic()
    handle = _opened(directory)
    place = None if handle is None else _Place(handle)
    try:
        if place is not None:
            place.reach(patience)
        yield max(0.0, patience - (time.monotonic() - begun))
    finally:
        if place is not None:
            place.leave()


class _Place:
    """A place in the queue."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._guard = threading.Lock()
        self._left = False
        self._waiting = False

    def reach(self, patience: float) -> None:
        """Wait for this place's turn, or until the time is up."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._waiting = True
            reached = threading.Event()
            threading.Thread(target=self._wait, args=(reached,), daemon=True).start()
            reached.wait(patience)
        except OSError:
            return  # a file system without such locks

    def leave(self) -> None:
        """Release the lock; a thread that still waits for it here releases it as soon as it gets it."""
        with self._guard:
            self._left = True
            if not self._waiting:
                self._close()

    def _wait(self, reached: threading.Event) -> None:
        with contextlib.suppress(OSError):
            fcntl.flock(self._handle, fcntl.LOCK_EX)
        with self._guard:
            self._waiting = False
            if self._left:
                self._close()
        reached.set()

    def _close(self) -> None:
        with contextlib.suppress(OSError):  # a process that was forked meanwhile holds the same lock: give it up first
            fcntl.flock(self._handle, fcntl.LOCK_UN)
        os.close(self._handle)


def _opened(directory: Path) -> int | None:
    """Return a handle of the directory, or None if it cannot be opened or locked."""
    if fcntl is None:
        return None
    try:
        return os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
