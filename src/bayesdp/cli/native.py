"""Capture what native code writes to standard error, such as the report of a panic in Polars."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable

__all__ = ["without_reports"]


def without_reports(run: Callable[[], int], *, refusals: tuple[int, ...]) -> int:
    """Run a command and return its status; print the output of native code on standard error at the end.

    refusals: the statuses for which that output is dropped, because bayesdp has printed its own message.

    Use this in a process of its own only: it holds back what any thread writes to the file descriptor. If the process
    is killed, that output is lost.
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
