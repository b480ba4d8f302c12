"""A record together with those around it, counted against plain Python, and the same in every engine."""

import datetime as dt
import random
from collections import Counter, defaultdict
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.errors import FrameError, RecordsError
from bayesdp.frames import patterns as module
from bayesdp.frames.patterns import Patterns, patterns
from bayesdp.models.layout import ChainLayout

ENGINES = ("pandas", "pandas-arrow", "polars", "lazy", "pyarrow", "duckdb", "ibis", "postgresql", "dask", "spark")
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


def found_in(seen: Patterns) -> dict[tuple[Any, ...], int]:
    """Return the counts by stratum and states."""
    size, length = len(seen.states), 2 * seen.reach + 1
    return {
        (*seen.strata[stratum], *(seen.states[code // size**place % size] for place in reversed(range(length)))): count
        for stratum, code, count in zip(seen.stratum.tolist(), seen.code.tolist(), seen.count.tolist(), strict=True)
    }


@given(st.integers(0, 10**6), st.integers(1, 2))
def test_neighbourhoods_without_a_gap_are_counted(seed: int, reach: int) -> None:
    frame = visits(seed)
    counts, chains = Counter[tuple[Any, ...]](), defaultdict(list)
    for who, time, state, stratum in frame.sort("t").rows():
        chains[who].append((time, state, stratum))
    for chain in chains.values():
        for end in range(2 * reach, len(chain)):
            around = chain[end - 2 * reach : end + 1]
            if around[-1][0] - around[0][0] == 4 * reach and all(state for _, state, _ in around):
                counts[(around[reach][2], *(state for _, state, _ in around))] += 1
    seen = patterns(frame, "s", LAYOUT, "drop", reach=reach, within=["w"])
    assert found_in(seen) == counts
    assert seen.records == frame["s"].count()
    assert seen.left_out == seen.records - sum(counts.values())


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_neighbourhoods_without_a_step_are_counted(seed: int, reach: int) -> None:
    frame, counts = visits(seed), Counter[tuple[Any, ...]]()
    for _, chain in frame.sort("t").group_by("who"):
        states, strata = chain["s"].to_list(), chain["w"].to_list()
        for end in range(2 * reach, len(chain)):
            if all(around := states[end - 2 * reach : end + 1]):
                counts[(strata[end - reach], *around)] += 1
    seen = patterns(frame, "s", ChainLayout("t", "who"), "drop", reach=reach, within=["w"])
    assert found_in(seen) == counts


@pytest.mark.parametrize(
    ("lost", "complaint"), [("order", "no value in the columns that order"), ("tie", "the same t")]
)
def test_a_record_without_a_place_is_refused(lost: str, complaint: str) -> None:
    last = ("c", None) if lost == "order" else ("b", 2)
    rows = [("a", 1, "x"), ("a", 2, "y"), ("b", 2, "x"), (*last, "y")]
    with pytest.raises(RecordsError, match=complaint):
        patterns(pl.DataFrame(rows, schema=["who", "t", "s"], orient="row"), "s", ChainLayout("t", "who"), reach=1)


def walk(records: int = 400) -> dict[str, tuple[str, list[Any]]]:
    draw = random.Random(5)
    begun = dt.datetime(2026, 1, 1)
    return {
        "at": ("timestamp[us]", [begun + dt.timedelta(minutes=10 * i + 10 * (i > 150)) for i in range(records)]),
        "s": ("string", [draw.choice(["on", "off", "off"]) if i % 37 else None for i in range(records)]),
        "n": ("int64", [draw.choice([0, 5]) for _ in range(records)]),
    }


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("state", "step"), [("s", "10m"), ("n > 0", None)])
def test_every_engine_counts_the_same(engine: str, frame_of: Any, state: str, step: str | None) -> None:
    layout = ChainLayout("at", step=step)
    expected = patterns(frame_of("polars", walk()), state, layout, "drop", reach=2, within=["hour"])
    seen = patterns(frame_of(engine, walk()), state, layout, "drop", reach=2, within=["hour"])
    assert found_in(seen) == found_in(expected)
    assert (seen.records, seen.longest, seen.gaps, seen.condition) == (
        expected.records,
        expected.longest,
        step is None or state == "s",
        state != "s",
    )
    assert len(seen.strata) == 24


@pytest.mark.parametrize(
    ("layout", "options", "message"),
    [
        (ChainLayout("t"), {}, "the same t as the previous record"),
        (ChainLayout("t", "who"), {"missing": "error"}, "1 record has no 's'"),
        (ChainLayout("t", "who", step=3), {}, r"by less than the step \(3"),
        (ChainLayout("t", "who"), {"within": ["w"]}, "1 record of the table has no value of 'w'"),
        (ChainLayout("t", "who"), {"within": ["s"]}, "'s'"),
        (ChainLayout("t", "who"), {"reach": 20}, "more than 131072 patterns"),
    ],
)
def test_what_is_no_series_is_refused(layout: ChainLayout, options: dict[str, Any], message: str) -> None:
    frame = pl.DataFrame(
        {"t": [0, 2, 4, 0, 2, 4], "who": list("aaabbb"), "s": [*"xyxyx", None], "w": [1, None, 1, 1, 1, 1]}
    )
    with pytest.raises(FrameError, match=message):
        patterns(frame, "s", layout, **{"missing": "drop", "reach": 1, **options})


def test_far_too_many_patterns_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_ROWS", 3)
    with pytest.raises(FrameError, match="far too many patterns"):
        patterns(visits(1), "s", LAYOUT, "drop", reach=1)
    monkeypatch.undo()
    monkeypatch.setattr(module, "MOST_STRATA", 1)
    with pytest.raises(RecordsError, match="more than 1 strata"):
        patterns(visits(1), "s", LAYOUT, "drop", reach=1, within=["w"])


def test_kinds_are_those_of_the_record_and_of_earlier_ones() -> None:
    """Each record of the middle of a pattern has the half of the day of itself, and of the two before it."""
    begun = dt.datetime(2026, 1, 1, 9)
    times = [begun + dt.timedelta(hours=place) for place in range(8)]
    frame = pl.DataFrame({"t": times, "s": [0, 1] * 4, "half": [time.hour // 12 for time in times]})
    for name, later in (("half", 1), ("hour", 12)):
        seen = patterns(frame, "s", ChainLayout(["t"]), reach=2, within=(name,), effects_within=(name,), earlier=2)
        kinds = {tuple(seen.kinds[place][0] for place in row) for row in seen.kind.tolist()}
        expected = [
            [time.hour // 12 if name == "half" else time.hour for time in times[m - 2 : m + 1]] for m in range(2, 6)
        ]
        assert kinds == {tuple(reversed(values)) for values in expected}
        assert (later,) in seen.kinds
        assert [seen.strata[place] for place in seen.stratum] == [seen.kinds[row[0]] for row in seen.kind]
    plain = patterns(frame, "s", ChainLayout(["t"]), reach=2)
    assert (plain.kinds, plain.kind.tolist()) == (((),), [[0]] * len(plain.count))
