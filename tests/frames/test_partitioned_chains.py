"""One long chain in segments: the same integers as everywhere, wherever it is cut."""

import datetime as dt
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from bayesdp import MarkovChain
from bayesdp.errors import RecordsError
from bayesdp.frames import partitioned_chains
from bayesdp.frames.series import series_moments
from bayesdp.frames.source import scan
from bayesdp.frames.transitions import Sequences, transitions
from bayesdp.models.layout import ChainLayout

FrameOf = Callable[[str, dict[str, tuple[str, list[Any]]]], Any]

ENGINES = ("dask", "dask-arrow", "spark")
every_engine = pytest.mark.parametrize("engine", ENGINES)

MOMENT = dt.datetime(2024, 2, 28, 21, 0)


def _columns(length: int = 150) -> dict[str, tuple[str, list[Any]]]:
    """Return one chain, shuffled, with absent records, states that are missing, and one very busy first order."""
    draw = random.Random(5)  # any seed will do
    places = sorted(draw.sample(range(2 * length), length - 30) + list(range(2 * length, 2 * length + 30)))
    draw.shuffle(places)
    return {
        "k": ("int64", places),
        "when": ("timestamp[us]", [MOMENT + dt.timedelta(minutes=20 * place) for place in places]),
        "day": ("date32[day]", [(MOMENT + dt.timedelta(minutes=20 * place)).date() for place in places]),
        "minute": ("int64", [60 * (21 + place // 3) % 1440 + 20 * (place % 3) for place in places]),
        "tick": ("double", [place / 10 for place in places]),
        "name": ("string", [f"é{place:05d}" for place in places]),
        "written": ("string", [(MOMENT + dt.timedelta(minutes=20 * place)).isoformat() for place in places]),
        "year": ("int64", [2024 + (place > 2 * length + 28) for place in places]),
        "s": ("int64", [draw.choice([0, 0, 1, 2, None]) for _ in places]),
        "w": ("string", [draw.choice("ab") for _ in places]),
        "x": ("double", [draw.choice([0.5, 1.25, 3.0, None]) for _ in places]),
    }


COLUMNS = _columns()
LAYOUTS: dict[str, dict[str, Any]] = {
    "whole numbers": {"order_by": "k"},
    "step": {"order_by": "k", "step": 1},
    "times": {"order_by": "when", "step": "20m"},
    "floats": {"order_by": "tick", "step": 0.1},
    "texts": {"order_by": "name", "order_by_text": True},
    "dates in texts": {"order_by": "written"},
    "dates in texts and a step": {"order_by": "written", "step": "20m"},
    "date, minute and a step": {"order_by": ["day", "minute"], "step": "20m"},
    "date and minute": {"order_by": ["day", "minute"]},
    "one busy year": {"order_by": ["year", "k"]},
}
ASKED: list[dict[str, Any]] = [{}, {"memory": 2}, {"memory": 3}, {"within": ["w"]}, {"memory": 2, "within": ["w"]}]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut chains of any length."""
    monkeypatch.setattr(partitioned_chains, "FEWEST", 1)


def _along(frame: Any, layout: dict[str, Any], back: int = 1) -> Sequences:
    chains = Sequences.of(frame, "s", ChainLayout(**layout), back=back)
    assert chains.segments is not None
    assert len(chains.segments.cuts) >= 2
    return chains


@pytest.mark.parametrize("name", LAYOUTS)
@every_engine
@pytest.mark.usefixtures("short")
def test_transitions(engine: str, name: str, frame_of: FrameOf) -> None:
    frame, known = frame_of(engine, COLUMNS), frame_of("polars", COLUMNS)
    layout = ChainLayout(**LAYOUTS[name])
    for asked in ASKED if name in ("step", "one busy year") else ASKED[:2]:
        _along(frame, LAYOUTS[name], asked.get("memory", 1))
        assert transitions(frame, "s", layout, "drop", **asked) == transitions(known, "s", layout, "drop", **asked)


@every_engine
@pytest.mark.usefixtures("short")
def test_strata_of_the_clock(engine: str, frame_of: FrameOf) -> None:
    frame, known = frame_of(engine, COLUMNS), frame_of("polars", COLUMNS)
    for order in ("when", ["day", "minute"]):
        layout = ChainLayout(order)
        found = transitions(frame, "s", layout, "drop", within=["hour", "weekday"])
        assert found == transitions(known, "s", layout, "drop", within=["hour", "weekday"])
        assert len(found.strata) > 24


@every_engine
@pytest.mark.usefixtures("short")
def test_series(engine: str, frame_of: FrameOf) -> None:
    frame, known = frame_of(engine, COLUMNS), frame_of("polars", COLUMNS)
    for layout, order, within in ((ChainLayout("k", step=1), 3, ["w"]), (ChainLayout("when"), 4, [])):
        wanted = series_moments(known, "x", layout, order, "drop", within)
        assert series_moments(frame, "x", layout, order, "drop", within) == wanted


@every_engine
@pytest.mark.usefixtures("short")
def test_diagnoses(engine: str, frame_of: FrameOf) -> None:
    frame, known = frame_of(engine, COLUMNS), frame_of("polars", COLUMNS)
    for given in ({"order_by": "when", "step": "20m"}, {"order_by": ["day", "minute"]}):
        chain = MarkovChain.fit(known, state="s", missing="drop", **given)
        assert chain.diagnosis is not None
        assert chain.diagnose(frame).findings == chain.diagnosis.findings


@every_engine
@pytest.mark.usefixtures("short")
def test_ties_and_records_without_a_place_are_found(engine: str, frame_of: FrameOf) -> None:
    numbers = list(range(60))
    states = [number % 2 for number in numbers]

    def reported(ks: Sequence[int | None], **layout: Any) -> str:
        columns: dict[str, list[Any]] = {"k": list(ks), "j": [7] * 60, "s": states}
        typed = {name: ("int64", values) for name, values in columns.items()}
        frames = (frame_of(each, typed) for each in (engine, "polars"))
        messages = []
        for frame in frames:
            with pytest.raises(RecordsError) as refused:
                transitions(frame, "s", ChainLayout(**layout))
            messages.append(str(refused.value))
        assert messages[0] == messages[1]
        return messages[0]

    for place in (17, 40):
        tied = [*numbers[:place], place + 1, *numbers[place + 1 :]]
        assert "1 record of the table has the same k" in reported(tied, order_by="k")
        assert "1 record of the table has the same j, k" in reported(tied, order_by=["j", "k"])
    assert "1 record of the table follows" in reported([*numbers[:30], 31, *numbers[31:]], order_by="k", step=1)
    lost = [*numbers[:30], None, *numbers[31:]]
    for order in ("k", ["j", "k"]):
        assert "1 record of the table has no value in the columns" in reported(lost, order_by=order)


@every_engine
@pytest.mark.usefixtures("short")
def test_every_record_is_counted_once_and_sees_those_before_it(engine: str, frame_of: FrameOf) -> None:
    frame = frame_of(engine, COLUMNS)
    for back in (1, 2, 5):
        chains = _along(frame, {"order_by": "k"}, back)
        assert sum(chains.relations().values()) == len(COLUMNS["k"][1])
        unseen = chains.count({f"b{i}": chains.before("o0", i) for i in range(1, back + 1)})
        assert sum(count for (*before, _), count in unseen.items() if None in before) == back


def test_what_is_short_or_on_one_machine_stays_whole(frame_of: FrameOf) -> None:
    for engine in ("pandas", "polars", "lazy", "pyarrow", "duckdb"):
        assert Sequences.of(frame_of(engine, COLUMNS), "s", ChainLayout("k")).segments is None
        assert scan(frame_of(engine, COLUMNS)).partitions == 1


def test_dask_keeps_a_short_chain_in_one_partition(frame_of: FrameOf) -> None:
    chains = Sequences.of(frame_of("dask", COLUMNS), "s", ChainLayout("k"))
    assert chains.segments is None
    assert (chains.table.partitions, chains.along.partitions) == (4, 1)
