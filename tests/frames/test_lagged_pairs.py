"""Sums by stratum and products by distance, added up against plain Python, and the same in every engine."""

import datetime as dt
import random
from collections import Counter, defaultdict
from itertools import product
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.errors import FrameError, RecordsError
from bayesdp.frames.lagged_pairs import LaggedPairs, lagged_pairs
from bayesdp.models.layout import ChainLayout
from bayesdp.models.learnt_series import sums_sensitivity, weight_of_strata

LAYOUT = ChainLayout("t", "who", step=2)


def visits(seed: int, records: int = 60) -> pl.DataFrame:
    """Return records of two people, mostly two apart, shuffled; some lack their state."""
    draw, rows = random.Random(seed), []
    times = Counter[str]()
    for _ in range(records):
        who = draw.choice("ab")
        times[who] += draw.choice((2, 2, 2, 2, 5))
        rows.append((who, times[who], draw.choice(["x", "y", "x", "y", None]), draw.choice((3, 4))))
    draw.shuffle(rows)
    return pl.DataFrame(rows, schema=["who", "t", "s", "w"], orient="row")


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_sums_and_course_are_those_of_plain_python(seed: int, reach: int) -> None:
    frame, chains = visits(seed), defaultdict(list)
    for who, time, state, stratum in frame.sort("t").rows():
        chains[who].append((time, state, stratum))
    totals, products, runs = Counter[tuple[int, ...]](), [0] * reach, Counter[tuple[int, ...]]()
    for chain in chains.values():
        run: list[tuple[int, int]] = []
        for place, (time, state, stratum) in enumerate(chain):
            if state is None or (place and time != chain[place - 1][0] + 2):
                runs[tuple(w for _, w in run)] += 1
                run = []
            if state is not None:
                run.append((int(state == "y"), stratum))
                totals[(stratum,)] += run[-1][0]
                for back in range(1, min(reach, len(run) - 1) + 1):
                    products[back - 1] += run[-1][0] * run[-1 - back][0]
        runs[tuple(w for _, w in run)] += 1
    seen = lagged_pairs(frame, "s", LAYOUT, "drop", states=("x", "y"), reach=reach, within=["w"])
    assert dict(zip(seen.strata, seen.totals, strict=True)) == totals
    assert list(seen.products) == products
    text = " ".join(str(stratum) for stratum in seen.course.tolist())
    found = Counter(tuple(seen.strata[int(i)][0] for i in part.split()) for part in text.split("-1") if part.strip())
    assert found == Counter({run: times for run, times in runs.items() if run})
    assert sum(seen.records) == frame["s"].count()


def walk() -> dict[str, tuple[str, list[Any]]]:
    times = [dt.datetime(2024, 2, 28, 22) + dt.timedelta(minutes=30 * place) for place in range(14)]
    place = [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 13]
    values = [0, 1, 1, 1, 0, 1, 1, None, 1, 1, 0, 1]
    return {"at": ("timestamp[us]", [times[i] for i in place]), "s": ("int64", values)}


def summary(seen: LaggedPairs) -> tuple[Any, ...]:
    return seen.strata, seen.totals, seen.products, seen.course.tolist()


def test_every_engine_adds_up_the_same(engine: str, frame_of: Any) -> None:
    layout = ChainLayout("at", (), "30m")
    seen = lagged_pairs(frame_of(engine, walk()), "s", layout, "drop", states=(0, 1), reach=2, within=["hour"])
    assert summary(seen) == (
        ((0,), (1,), (2,), (3,), (4,), (22,), (23,)),
        (0, 2, 1, 1, 1, 1, 2),
        (4, 1),
        [5, 5, 6, 6, -1, -1, 0, 1, 1, -1, -1, 2, 3, 3, -1, -1, 4],
    )


@pytest.mark.slow
def test_a_replaced_record_moves_the_sums_by_the_sensitivity() -> None:
    for reach, records in ((1, 4), (3, 7)):
        layout, weight, moved, sums = ChainLayout("t"), weight_of_strata(reach), 0, {}
        for values in product((0, 1), repeat=records):
            frame = pl.DataFrame({"t": range(records), "s": values, "w": [0, 1, 0, 0, 1, 1, 0][:records]})
            seen = lagged_pairs(frame, "s", layout, states=(0, 1), reach=reach, within=["w"])
            sums[values] = [*(weight * total for total in seen.totals), *seen.products]
        for values, mine in sums.items():
            for place in range(records):
                other = sums[(*values[:place], 1 - values[place], *values[place + 1 :])]
                moved = max(moved, sum(abs(one - two) for one, two in zip(mine, other, strict=True)))
        assert moved == sums_sensitivity(reach) == 4 * reach


def test_other_states_and_missing_strata_are_refused() -> None:
    frame = pl.DataFrame({"t": range(6), "s": [0, 1, 2, 1, 0, 1], "w": [1, 1, None, 1, 1, 1]})
    with pytest.raises(RecordsError, match="not among those"):
        lagged_pairs(frame, "s", ChainLayout("t"), states=(0, 1), reach=1)
    with pytest.raises(RecordsError, match="no stratum"):
        lagged_pairs(frame.with_columns(s=frame["s"] % 2), "s", ChainLayout("t"), states=(0, 1), reach=1, within=["w"])
    with pytest.raises(FrameError, match="no column"):
        lagged_pairs(frame, "s", ChainLayout("t"), states=(0, 1), reach=1, within=["day"])
