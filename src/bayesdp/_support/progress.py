"""Progress of work of more than two seconds: a bar where standard error is a terminal, or what a caller listens to."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from threading import Timer
from typing import TypeVar

__all__ = ["listening_to_progress", "progress_bar", "tracked"]

Listener = Callable[[str, float], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)

_PATIENCE = 2.0
"""Seconds after which a progress bar appears."""

Item = TypeVar("Item")


@contextmanager
def listening_to_progress(listener: Listener) -> Iterator[None]:
    """Call `listener` with the label and the share done of the work within, instead of showing a bar.

    >>> with listening_to_progress(lambda label, share: print(label, share)), progress_bar(2, "counting") as done:
    ...     done(1)
    counting 0.0
    counting 0.5
    """
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


@contextmanager
def progress_bar(total: int, label: str) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the number of steps just done; show a progress bar after two seconds.

    >>> with progress_bar(2, "counting") as done:
    ...     done(2)
    """
    listener = _LISTENER.get()
    if listener is not None:
        yield _reported_to(listener, total, label)
        return
    if not sys.stderr.isatty() or find_spec("rich") is None:  # bayesdp-client does without
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


def _reported_to(listener: Listener, total: int, label: str) -> Callable[[int], None]:
    steps_done = 0

    def done(steps: int) -> None:
        nonlocal steps_done
        steps_done += steps
        listener(label, min(1.0, steps_done / max(total, 1)))

    done(0)
    return done


def tracked(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Yield the items; show a progress bar after two seconds.

    >>> list(tracked([1, 2], 2, "counting"))
    [1, 2]
    """
    with progress_bar(total, label) as done:
        for item in items:
            yield item
            done(1)
