"""A progress bar for anything that may take more than two seconds: on a terminal's standard error, or nowhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

__all__ = ["tracked"]

_PATIENCE = 2.0

Item = TypeVar("Item")


def tracked(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Yield the items; once two seconds have passed, show how far along they are.

    >>> list(tracked([1, 2], 2, "counting"))
    [1, 2]
    """
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    begun = time.monotonic()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=total, visible=False)
        for item in items:
            yield item
            progress.update(task, advance=1, visible=time.monotonic() - begun > _PATIENCE)
