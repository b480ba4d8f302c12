"""How often one warm release passes from one module of bayesdp to another, and how many modules it visits.

python benchmarks/rooms.py

Control passes to another module when a function of it is called by one of ours elsewhere, however many functions of
Polars or SQLAlchemy lie between the two. The way back is not counted.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import polars

import bayesdp as bdp

HOUSE = Path(bdp.__file__).parent
LOUDEST = 12


def module_of(frame: FrameType) -> str | None:
    """Return the module of ours that a frame executes; None if it is none of ours."""
    path = Path(frame.f_code.co_filename)
    return str(path.relative_to(HOUSE)) if path.is_relative_to(HOUSE) else None


def passages(action: Callable[[], Any]) -> tuple[Counter[tuple[str, str]], set[str]]:
    """Return how often control passed from one module to another during `action`, and which modules were visited."""
    changes: Counter[tuple[str, str]] = Counter()
    visited: set[str] = set()

    def watch(frame: FrameType, event: str, _: object) -> None:
        here = module_of(frame)
        if event != "call" or here is None:
            return
        visited.add(here)
        caller = frame.f_back
        while caller is not None and module_of(caller) is None:
            caller = caller.f_back
        there = None if caller is None else module_of(caller)
        if there is not None and there != here:
            changes[there, here] += 1

    sys.setprofile(watch)
    try:
        action()
    finally:
        sys.setprofile(None)
    return changes, visited


def main() -> None:
    frame = polars.DataFrame({"on": [0, 0, 1, 1, 1] * 20})
    chain = bdp.MarkovChain([[0.9, 0.1], [0.4, 0.6]], column="on", length=100)
    with (
        tempfile.TemporaryDirectory() as folder,
        bdp.Session(frame, chain, epsilon=5.0, ledger=Path(folder) / "budget.db", dataset="on") as session,
    ):
        session.release(bdp.Count("on", equals=0), epsilon=0.1)
        changes, visited = passages(lambda: session.release(bdp.Count("on", equals=1), epsilon=0.1))
    print(f"changes of room: {changes.total()}    rooms: {len(visited)}")
    for (there, here), times in changes.most_common(LOUDEST):
        print(f"{times:6d}  {there} → {here}")


if __name__ == "__main__":
    main()
