"""What code that is not Python's writes to standard error, such as the report of a panic in Polars."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable

__all__ = ["without_reports"]


def without_reports(run: Callable[[], int], *, refusals: tuple[int, ...]) -> int:
    """Run a command and return its status; what is not Python's is shown on standard error in the end.

    refusals: the statuses for which it is left out, because one line of ours has said what is wrong.

    Only a process of our own may do this: it holds back what every thread writes past Python to the same place. If
    the process is killed meanwhile, what was held back is lost.
    """
    stream = sys.stderr
    try:
        place = stream.fileno()
    except (AttributeError, OSError, ValueError):  # closed by the caller, or no file
        return run()
    stream.flush()
    with tempfile.TemporaryFile() as held, os.fdopen(os.dup(place), "wb", buffering=0) as shown:
        sys.stderr = open(  # noqa: SIM115 (a stream that is put in the place of another)
            shown.fileno(), "w", buffering=1, encoding=stream.encoding, errors=stream.errors, closefd=False
        )
        os.dup2(held.fileno(), place)
        try:
            status = run()
        finally:
            sys.stderr.flush()
            stream.flush()
            os.dup2(shown.fileno(), place)
            sys.stderr = stream
        if status not in refusals:
            held.seek(0)
            shutil.copyfileobj(held, shown)
    return status
