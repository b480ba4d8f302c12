"""The step that a table shows: the spacing of by far the most records, in every engine; none if there is none."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
import pytest

import bayesdp as bdp
from bayesdp.frames import spacing
from bayesdp.frames.spacing import spaced
from bayesdp.models import ChainLayout

ENGINES = ["pandas", "polars", "lazy", "pyarrow", "duckdb", "ibis", "dask", "postgresql", "spark"]

FrameOf = Callable[[str, Mapping[str, tuple[str, Sequence[Any]]]], Any]

START = dt.datetime(2012, 2, 28)

TIMES = [START + i * dt.timedelta(minutes=5) for i in range(600)]

ORDERS: Mapping[str, tuple[str, Sequence[Any], Any]] = {
    "years": ("int64", [*range(2015, 2023)] * 5, 1),
    "floats": ("double", [float(year) for year in range(2010, 2050, 2)], 2),
    "dates": ("date32", [START.date() + dt.timedelta(days=i) for i in range(40)], "1d"),
    "weeks": ("date32", [START.date() + dt.timedelta(days=7 * i) for i in range(40)], "7d"),
    "moments": ("timestamp[us]", TIMES[:40], "5m"),
    "texts": ("string", [moment.isoformat() for moment in TIMES[:40]], "5m"),
    "one gap": ("int64", [*range(30), *range(40, 50)], 1),
    "half of them": ("int64", [i + i // 2 for i in range(40)], None),
    "no multiple": ("int64", [*range(0, 120, 3), 121], None),
    "fractions": ("double", [i / 10 for i in range(40)], None),
    "ties": ("int64", [*range(40), 39], None),
    "one record": ("int64", [7], None),
    "truths": ("bool", [False, True], None),
}


def _columns(kind: str, values: Sequence[Any], entity: int) -> dict[str, tuple[str, Sequence[Any]]]:
    return {
        "t": (kind, values),
        "who": ("int64", [i // entity for i in range(len(values))]),
        "s": ("int64", [i // 2 % 2 for i in range(len(values))]),
    }


@pytest.mark.parametrize("engine", ["pandas", "polars", "duckdb"])
@pytest.mark.parametrize("order", ORDERS)
def test_the_step_that_a_table_shows(engine: str, order: str, frame_of: FrameOf) -> None:
    kind, values, step = ORDERS[order]
    frame = frame_of(engine, _columns(kind, values, 8 if order == "years" else 1000))
    assert spaced(frame, "s", ChainLayout("t", "who")) == ChainLayout("t", "who", step=step)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("order", ["years", "dates", "moments", "texts"])
def test_every_engine_shows_the_same_step(engine: str, order: str, frame_of: FrameOf) -> None:
    kind, values, step = ORDERS[order]
    frame = frame_of(engine, _columns(kind, values, 8 if order == "years" else 1000))
    assert spaced(frame, "s", ChainLayout("t", "who")).step == ChainLayout("t", step=step).step


CLOCKS: Mapping[str, Callable[[dt.datetime], int]] = {
    "hhmm": lambda moment: 100 * moment.hour + moment.minute,
    "minutes": lambda moment: 60 * moment.hour + moment.minute,
    "hours": lambda moment: moment.hour,
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("clock", CLOCKS)
def test_a_date_and_a_time_of_day(engine: str, clock: str, frame_of: FrameOf) -> None:
    moments = [moment for moment in TIMES if clock != "hours" or not moment.minute]
    frame = frame_of(
        engine,
        {
            "date": ("date32", [moment.date() for moment in moments]),
            "interval": ("int64", [CLOCKS[clock](moment) for moment in moments]),
            "s": ("int64", [i // 2 % 2 for i in range(len(moments))]),
        },
    )
    chain = bdp.OddsChain.fit(frame, state="s", order_by=["date", "interval"])
    assert chain.layout == ChainLayout(["date", "interval"], step="1h" if clock == "hours" else "5m")
    assert not chain.gaps


def _days(*left_out: int) -> pl.DataFrame:
    kept = [moment for i, moment in enumerate(TIMES) if i not in left_out]
    return pl.DataFrame({"date": [moment.date() for moment in kept]}).with_columns(
        interval=pl.Series([CLOCKS["hhmm"](moment) for moment in kept]),
        s=pl.Series([i // 2 % 2 for i in range(len(kept))]),
    )


@pytest.mark.parametrize("left_out", [(100,), (287, 288), (0,), tuple(range(288, 576))])
def test_an_absent_record_between_days_or_within_one_is_a_gap(left_out: tuple[int, ...]) -> None:
    chain = bdp.MarkovChain.fit(_days(*left_out), state="s", order_by=["date", "interval"], diagnose=False)
    assert chain.gaps == (left_out != (0,))
    between = 0 if left_out == (0,) else 1
    counts: Any = chain.counts
    assert sum(map(sum, counts)) == len(TIMES) - len(left_out) - 1 - between


def test_records_closer_than_a_step_of_date_and_time_are_refused() -> None:
    with pytest.raises(bdp.errors.RecordsError, match="by less than the step"):
        bdp.OddsChain.fit(_days(), state="s", order_by=["date", "interval"], step="10m")
    with pytest.raises(bdp.errors.FrameError, match="must be minutes, at most a day"):
        bdp.OddsChain.fit(_days(), state="s", order_by=["date", "interval"], step="2d")


def test_a_long_table_is_checked_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spacing, "MOST_LOOKED_AT", 20)
    frame = pl.DataFrame({"t": range(100), "s": [i % 3 for i in range(100)]})
    assert spaced(frame, "s", ChainLayout("t")).step == 1
    irregular = frame.with_columns(t=pl.col("t") + (pl.col("t") > 30) * pl.col("t") * pl.col("t"))
    assert spaced(irregular, "s", ChainLayout("t")).step is None
    closer = frame.with_columns(t=pl.when(pl.col("t") > 98).then(980.5).otherwise(10.0 * pl.col("t")))
    assert spaced(closer, "s", ChainLayout("t")).step is None


def test_what_a_fit_says_of_gaps_is_what_a_session_sees() -> None:
    years = pl.DataFrame({"who": [i // 8 for i in range(80)], "year": [2015 + i % 8 for i in range(80)]})
    years = years.with_columns(s=pl.Series([i // 3 % 2 for i in range(80)]), visit=pl.col("year") ** 2)
    for frame, order, step, gaps in (
        (years, "year", 1.0, False),
        (years.filter(pl.int_range(pl.len()) % 40 != 3), "year", 1.0, True),
        (years, "visit", None, True),
    ):
        chain = bdp.MarkovChain.fit(frame, state="s", order_by=order, entity="who", diagnose=False)
        assert (chain.layout and chain.layout.step, chain.gaps) == (step, gaps)
        series = bdp.GaussianSeries.fit(frame, value="s", order_by=order, entity="who")
        assert (series.layout, series.gaps) == (chain.layout, gaps)
        assert _on(frame, chain).gaps == gaps


def _on(frame: pl.DataFrame, chain: bdp.MarkovChain) -> bdp.MarkovChain:
    from bayesdp.frames.source import scan
    from bayesdp.frames.view import View

    return chain.check_table(View(scan(frame), "error"))


def test_a_stored_model_without_a_step_is_read_as_before() -> None:
    frame = pl.DataFrame({"t": range(40), "s": [i // 2 % 2 for i in range(40)]})
    stored = bdp.Model.from_dict(
        {"schema": 1, "type": "odds-chain", "odds": 9, "length": 40, "column": "s", "layout": {"order_by": ["t"]}}
    )
    assert isinstance(stored, bdp.OddsChain)
    assert stored.layout == ChainLayout("t")
    assert not stored.gaps
    assert spaced(frame, "s", ChainLayout("t")).step == 1
