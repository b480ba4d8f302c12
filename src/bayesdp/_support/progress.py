"""A progress bar for work of more than two seconds; it is shown only if standard error is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TypeVar

__all__ = ["progress_bar", "tracked"]

_PATIENCE = 2.0
"""Seconds after which a progress bar appears."""

Item = TypeVar("Item")


@contextmanager
def progress_bar(total: int, label: str) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the number of steps just done; show a progress bar after two seconds.

    >>> with progress_bar(2, "counting") as done:
    ...     done(2)
    """
    if not sys.stderr.isatty():
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import Progress

    begun = time.monotonic()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=total, visible=False)
        appear = Timer(_PATIENCE, progress.update, [task], {"visible": True})  # also if the first step takes longer
        appear.daemon = True
        appear.start()
        try:
            yield lambda steps: progress.update(task, advance=steps, visible=time.monotonic() - begun > _PATIENCE)
        finally:
            appear.cancel()


def tracked(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Yield the items; show a progress bar after two seconds.

    >>> list(tracked([1, 2], 2, "counting"))
    [1, 2]
    """
    with progress_bar(total, label) as done:
        for item in items:
            yield item
            done(1)
