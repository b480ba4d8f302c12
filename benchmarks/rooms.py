"""How often one warm release of a count passes from one module of bayesdp to another, and how many it visits.

python benchmarks/rooms.py

Control passes when a function of ours is called by a function of ours that is elsewhere, however many functions of
Polars or SQLAlchemy lie between the two; returning is not counted. The second line leaves out theorems and models, the
third also the ground floor (errors, rounding, validation), where everybody goes all the time. The last counts rooms
above the ground floor as docs/architecture.md draws them: a package, or a module at the root.
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
from shared.reporting import report

HOUSE = Path(bdp.__file__).parent
GROUND = {"errors", "rounding", "validation", "documents", "lazy", "files", "_support", "__init__"}
THEORY = {"theorems", "models", "leakage", "spending"}  # the last two: as the rooms were called before

Passages = Counter[tuple[str, str]]


def module_of(frame: FrameType) -> str | None:
    """Return the module of ours that a frame executes; None if it is none of ours."""
    path = Path(frame.f_code.co_filename)
    return str(path.relative_to(HOUSE).with_suffix("")) if path.is_relative_to(HOUSE) else None


def passages(action: Callable[[], Any]) -> Passages:
    """Return how often control passed from one module to another while something was done."""
    changes: Passages = Counter()

    def watch(frame: FrameType, event: str, _: object) -> None:
        here = module_of(frame)
        if event != "call" or here is None:
            return
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
    return changes


def room_of(module: str) -> str:
    """Return the room of a module: its package, or itself."""
    return module.split("/")[0]


def apart_from(rooms: set[str], changes: Passages) -> Passages:
    """Return the passages that neither leave nor enter these rooms."""
    return Counter({pair: times for pair, times in changes.items() if not {*map(room_of, pair)} & rooms})


def between_rooms(changes: Passages) -> Passages:
    """Return the passages from one room to another."""
    rooms: Passages = Counter()
    for (there, here), times in changes.items():
        if room_of(there) != room_of(here):
            rooms[room_of(there), room_of(here)] += times
    return rooms


def reported(kind: str, changes: Passages) -> None:
    """Report how often control passed, and between how many places."""
    places = {place for passage in changes for place in passage}
    report(f"{kind} ({len(places)} visited)", changes.total(), "changes")


def main() -> None:
    frame = polars.DataFrame({"on": [0, 0, 1, 1, 1] * 20})
    with (
        tempfile.TemporaryDirectory() as folder,
        bdp.Session(frame, bdp.Independent(), epsilon=5.0, ledger=Path(folder) / "budget.db", dataset="on") as session,
    ):
        session.release(bdp.Count("on", equals=0), epsilon=0.1)
        changes = passages(lambda: session.release(bdp.Count("on", equals=1), epsilon=0.1))
    reported("modules", changes)
    reported("modules, no theorems and models", apart_from(THEORY, changes))
    reported("the same above the ground floor", apart_from(THEORY | GROUND, changes))
    reported("rooms above the ground floor", between_rooms(apart_from(GROUND, changes)))


if __name__ == "__main__":
    main()
