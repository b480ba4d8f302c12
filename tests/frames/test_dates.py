"""Text that orders records: dates of ISO 8601 are read, in every engine; anything else is refused, never sorted."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
import pytest

import bayesdp as bdp
from bayesdp.errors import FrameError, ModelError, RecordsError, RefusedError
from bayesdp.frames.dates import dated, minutes_of, place_in_order
from bayesdp.frames.source import scan
from bayesdp.models import ChainLayout

ENGINES = ["pandas", "pandas-arrow", "polars", "lazy", "pyarrow", "duckdb", "ibis", "dask", "postgresql", "spark"]

WRITTEN: Mapping[str, tuple[list[str | None], list[dt.datetime | None]]] = {
    "dates": (["2012-10-02", None, "2012-09-30"], [dt.datetime(2012, 10, 2), None, dt.datetime(2012, 9, 30)]),
    "times": (
        ["2012-10-01T08:05:00", "2012-10-01 08:06:00.25", "2012-10-01 09:00", "2012-10-02"],
        [
            dt.datetime(2012, 10, 1, 8, 5),
            dt.datetime(2012, 10, 1, 8, 6, 0, 250_000),
            dt.datetime(2012, 10, 1, 9),
            dt.datetime(2012, 10, 2),
        ],
    ),
    "offsets": (
        ["2012-10-28T02:30:00+02:00", "2012-10-28T02:30:00+01:00", "2012-10-28T00:00:00Z", "2012-10-27 21:00-0330"],
        [
            dt.datetime(2012, 10, 28, 0, 30),
            dt.datetime(2012, 10, 28, 1, 30),
            dt.datetime(2012, 10, 28),
            dt.datetime(2012, 10, 28, 0, 30),
        ],
    ),
}

FrameOf = Callable[[str, Mapping[str, tuple[str, Sequence[Any]]]], Any]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("written", WRITTEN)
def test_iso_dates_are_read(engine: str, written: str, frame_of: FrameOf) -> None:
    texts, moments = WRITTEN[written]
    table = dated(scan(frame_of(engine, {"when": ("string", texts)})).pick(["when"]), "when")
    assert table.kind("when") == "time"
    read = [value for part in table.parts(lambda frame: frame) for (value,) in part]
    assert sorted(map(_moment, read), key=str) == sorted(moments, key=str)


def _moment(value: Any) -> dt.datetime | None:
    if value is None or str(value) in ("NaT", "<NA>"):
        return None
    return dt.datetime.fromisoformat(str(value))


ODD = [
    ["01.02.2012", "02.01.2012"],
    ["2012-10-01", "soon"],
    ["2012-10-01", ""],
    ["1", "2", "10"],
    ["2012-10-01T08:05:00Z", "2012-10-01T08:06:00"],
    ["2012-10-01T08:05:00.123456789"],
    ["20121001"],
    [None, None],
]


@pytest.mark.parametrize("engine", ["pandas", "polars", "duckdb"])
@pytest.mark.parametrize("texts", ODD, ids=str)
def test_other_text_is_refused_as_an_order(engine: str, texts: list[str | None], frame_of: FrameOf) -> None:
    table = scan(frame_of(engine, {"datum": ("string", texts)})).pick(["datum"])
    assert dated(table, "datum") is table
    with pytest.raises(RecordsError, match=r"^'datum' is text; convert it to dates, or say order_by_text=True"):
        place_in_order(table, "datum", as_text=False)
    assert not place_in_order(table, "datum", as_text=True).zoned


def test_a_day_that_no_calendar_has_is_refused() -> None:
    with pytest.raises(FrameError):
        bdp.MarkovChain.fit(_visits(["2012-02-29", "2012-02-30", "2012-03-01"]), state="s", order_by="day")


@pytest.mark.parametrize(("offset", "minutes"), [("Z", 0), ("+02:00", 120), ("-0330", -210), ("+14", 840)])
def test_offsets_in_minutes(offset: str, minutes: int) -> None:
    assert minutes_of(offset) == minutes


def _visits(days: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame({"day": days, "s": [place // 2 % 2 for place in range(len(days))]})


DAYS = [(dt.date(2012, 1, 20) + dt.timedelta(days=day)).isoformat() for day in range(60)]
GERMAN = [".".join(reversed(day.split("-"))) for day in DAYS]


@pytest.mark.parametrize("make", [lambda frame: frame, lambda frame: frame.to_pandas()], ids=["polars", "pandas"])
def test_a_fit_reads_iso_dates_and_refuses_others(make: Callable[[pl.DataFrame], Any]) -> None:
    truly = bdp.MarkovChain.fit(
        _visits(DAYS).with_columns(pl.col("day").str.to_date()), state="s", order_by="day", diagnose=False
    )
    read = bdp.MarkovChain.fit(make(_visits(DAYS)), state="s", order_by="day", diagnose=False)
    assert (read.counts, read.layout) == (truly.counts, truly.layout)
    german = make(_visits(GERMAN))
    for attempt in (
        lambda: bdp.MarkovChain.fit(german, state="s", order_by="day"),
        lambda: bdp.OddsChain.fit(german, state="s", order_by="day"),
        lambda: bdp.GaussianSeries.fit(german, value="s", order_by="day"),
        lambda: bdp.advise(german, state="s", order_by="day"),
        lambda: read.diagnose(german),
        lambda: bdp.check_table(german, read),
    ):
        with pytest.raises(RecordsError, match="'day' is text; convert it to dates"):
            attempt()
    sorted_as_text = bdp.MarkovChain.fit(german, state="s", order_by="day", order_by_text=True, diagnose=False)
    assert sorted_as_text.counts != truly.counts
    assert sorted_as_text.layout == ChainLayout("day", order_by_text=True)
    assert bdp.Model.from_json(sorted_as_text.to_json()) == sorted_as_text
    bdp.check_table(german, sorted_as_text)


def test_a_session_refuses_a_stored_model_of_text_in_fixed_words(tmp_path: Any) -> None:
    stored = bdp.OddsChain(9, column="s", layout=ChainLayout("day"))
    for days in (GERMAN, [*DAYS[:-1], "soon"]):
        with pytest.raises(RefusedError):
            bdp.Session(_visits(days), stored, epsilon=1.0, dataset="visits", ledger=tmp_path / "ledger.db")
    with bdp.Session(_visits(DAYS), stored, epsilon=1.0, dataset="visits", ledger=tmp_path / "ledger.db") as session:
        assert session.release(bdp.Count("s", equals=1), epsilon=0.5).records == 60


def test_a_table_that_grows_by_text_dates(tmp_path: Any) -> None:
    model, where = bdp.OddsChain(9, column="s", layout=ChainLayout("day")), tmp_path / "ledger.db"
    asked = bdp.Count("s", equals=1)
    place: dict[str, Any] = {"epsilon": 2.0, "dataset": "visits", "ledger": where, "growing": True}
    with bdp.Session(_visits(DAYS[:50]), model, **place) as session:
        session.release(asked, epsilon=0.5)
    with bdp.Session(_visits(DAYS), model, **place) as session:
        session.release(asked, epsilon=0.5)
    with pytest.raises(bdp.errors.LedgerError, match="does not continue"):
        bdp.Session(_visits([*DAYS, "2012-01-01"]), model, **place)


def test_what_hour_it_was_is_not_said_of_times_with_offsets() -> None:
    frame = pl.DataFrame(
        {
            "t": [f"2012-10-{1 + i // 24:02}T{i % 24:02}:00:00+02:00" for i in range(240)],
            "s": [i % 5 < 2 for i in range(240)],
        }
    )
    chain = bdp.OddsChain.fit(frame, state="s", order_by="t")
    assert chain.layout == ChainLayout("t", step="1h")
    with pytest.raises(FrameError, match="holds times in a time zone"):
        bdp.OddsChain.fit(frame, state="s", order_by="t", within="hour")


def test_the_layout_says_that_text_is_sorted_as_text() -> None:
    layout = ChainLayout("day", order_by_text=True)
    assert layout.to_dict() == {"order_by": ["day"], "order_by_text": True}
    assert ChainLayout.from_dict(layout.to_dict()) == layout
    assert layout.renamed("hour", None, None).order_by_text
    assert not layout.renamed(None, None, None, order_by_text=False).order_by_text
    with pytest.raises(ModelError, match="order_by_text must be true or false"):
        ChainLayout("day", order_by_text="yes")  # type: ignore[arg-type]


def test_a_session_does_not_reveal_how_text_was_read(tmp_path: Any) -> None:
    place: dict[str, Any] = {"epsilon": 9.0, "dataset": "visits", "ledger": tmp_path / "ledger.db"}
    numbered = bdp.OddsChain(9, column="s", layout=ChainLayout("day", step=1))
    with pytest.raises(RefusedError):
        bdp.Session(_visits(DAYS), numbered, **place)
    with pytest.raises(RecordsError, match="step must be a period"):
        bdp.check_table(_visits(DAYS), numbered)
    zoned = _visits([f"{day}T00:00:00Z" for day in DAYS[:8]])
    chain = bdp.OddsChain(9, column="s", states=(0, 1), layout=ChainLayout("day"))
    with bdp.Session(zoned, chain, **place) as session, pytest.raises(RefusedError):
        session.fit(tau=0.1, within={"weekday": range(1, 8)}, anyway=True)


def test_advice_on_times_with_offsets_does_without_clocks() -> None:
    zoned = _visits([f"{day}T00:00:00Z" for day in DAYS[:8]])
    assert bdp.advise(zoned, state="s", order_by="day").priced_assumptions
