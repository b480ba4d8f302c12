"""Sums over pairs inside groups: the same whole numbers in every engine. Moments are in test_engines.py."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from bayesdp.errors import FrameError, RecordsError
from bayesdp.frames.groups import pair_sums
from bayesdp.models.layout import GroupLayout
from bayesdp.models.learnt_correlation import STEPS

FrameOf = Callable[[str, Any], Any]


LAYOUT = GroupLayout("v", ["g", "h"])
BOUNDS = (-3.0, 17.0)
COLUMNS: dict[str, tuple[str, list[Any]]] = {
    "v": ("double", [1.0, 2.5, -1e300, 17.0, 40.0, 0.1, None, 7.0, -3.0, 3.3333, 6.25]),
    "w": ("int64", [1, 2, -100, 17, 40, 0, None, 7, -3, 3, 6]),
    "g": ("int64", [1, 1, 1, 2, 2, 3, 3, 3, 4, 5, 5]),
    "h": ("string", ["a", "a", "a", "a", "a", "b", "b", "b", "b", "b", "b"]),
}


def expected(name: str) -> tuple[list[tuple[int, int]], tuple[int, int, int]]:
    """Pair by pair, in Python's own numbers."""
    low, high = BOUNDS
    middle, step = low + (high - low) / 2, (high - low) / 2 / STEPS
    groups: dict[Any, list[int]] = {}
    for value, *key in zip(COLUMNS[name][1], COLUMNS["g"][1], COLUMNS["h"][1], strict=True):
        if value is not None:
            placed = int(((min(max(value, low), high) - middle) / step + 0.5) // 1)
            groups.setdefault(tuple(key), []).append(placed)
    pairs = [
        (one, other)
        for group in groups.values()
        for i, one in enumerate(group)
        for j, other in enumerate(group)
        if i != j
    ]
    sizes = [len(group) for group in groups.values()]
    products, squares = sum(one * other for one, other in pairs), sum(one * one for one, _ in pairs)
    return [(size, sizes.count(size)) for size in sorted(set(sizes))], (
        products,
        squares,
        STEPS * sum(one for one, _ in pairs),
    )


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")  # PySpark leaves them to Python
def test_sums_over_pairs(engine: str, frame_of: FrameOf) -> None:
    frame = frame_of(engine, COLUMNS)
    for name in ("v", "w"):
        sizes, sums = pair_sums(frame, GroupLayout(name, ["g", "h"]), BOUNDS, 3, "drop")
        assert (list(sizes), sums) == expected(name)


def test_values_stay_on_the_grid() -> None:
    """However bounds are rounded, no value is placed beyond them: the sensitivity rests on it."""
    for low, high in ((0.1, 0.3), (-1e-7, 3e-7), (1e15, 1e15 + 2**20), (-7.0, 1e12), (1 / 3, 2 / 3)):
        frame = pl.DataFrame({"v": [low, low, high, high, -1e308, 1e308], "g": [1, 1, 2, 2, 3, 3], "h": ["a"] * 6})
        _, (products, squares, firsts) = pair_sums(frame, LAYOUT, (low, high), 2)
        assert (products, squares, firsts) == (2 * STEPS**2, 6 * STEPS**2, 0)


def test_what_is_refused() -> None:
    frame = pl.DataFrame({name: values for name, (_, values) in COLUMNS.items()})
    with pytest.raises(RecordsError, match="missing"):
        pair_sums(frame, LAYOUT, BOUNDS, 3)
    with pytest.raises(RecordsError, match="no group of two, or one of more than 2"):
        pair_sums(frame, LAYOUT, BOUNDS, 2, "drop")
    with pytest.raises(RecordsError, match="no group of two"):
        pair_sums(frame.head(1), LAYOUT, BOUNDS, 2, "drop")
    with pytest.raises(FrameError, match="it is not numeric"):
        pair_sums(frame, GroupLayout("h", "g"), BOUNDS, 3)
    with pytest.raises(FrameError, match="would not be exact"):
        pair_sums(frame, LAYOUT, BOUNDS, 10**10, "drop")
