"""A normal autoregressive series: what is one, and which tables are within it."""

from itertools import islice
from typing import Any

import numpy as np
import polars
import pytest
from fitting_tables import meters  # type: ignore[import-not-found]
from hypothesis import given
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.errors import BayesDPError, ModelError, RecordsError
from bayesdp.models import ChainLayout
from bayesdp.models.series_moments import SeriesMoments
from bayesdp.session.prepare import CheckedTable

SUM = bdp.Sum("x", bounds=(0, 10))


@given(st.lists(st.floats(-2.5, 2.5), min_size=1, max_size=4))
def test_just_the_stationary_ones_are_taken(coefficients: list[float]) -> None:
    roots = np.roots([1.0, *(-value for value in coefficients)])
    largest = float(np.abs(roots).max(initial=0.0))
    if largest > 1 + 1e-4:
        with pytest.raises(ModelError, match="not stationary"):
            bdp.GaussianSeries(coefficients)
    elif largest < 1 - 1e-4:
        assert bdp.GaussianSeries(coefficients).coefficients == tuple(coefficients)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"coefficients": [1.0]}, "not stationary"),
        ({"coefficients": [0.5, 0.5]}, "not stationary"),
        ({"coefficients": [0.3, 0.7]}, "not stationary"),
        ({"coefficients": []}, "Independent"),
        ({"coefficients": 0.5}, "must be a list"),
        ({"coefficients": ["0.5"]}, r"coefficients\[0\] must be a number"),
        ({"length": 0}, "length"),
        ({"distance": -1}, "distance"),
        ({"gaps": 1}, "gaps"),
        ({"states": [0, 1]}, "no states"),
        ({"state": "x > 0"}, "no states"),
        ({"layout": "t"}, "layout"),
    ],
)
def test_what_is_no_series_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        bdp.GaussianSeries(**({"coefficients": [0.5]} | changed))


def test_json_there_and_back() -> None:
    series = bdp.GaussianSeries(
        [0.5, 0.25], length=288, distance=4, gaps=True, column="x", layout=ChainLayout("t", entity="home", step="5m")
    )
    assert bdp.Model.from_json(series.to_json()) == series
    assert bdp.Model.from_dict({"type": "gaussian-series", "coefficients": [0.5], "length": None}).group_size is None
    with pytest.raises(ModelError, match='needs "coefficients"'):
        bdp.Model.from_dict({"type": "gaussian-series"})
    assert "one chain for each home, and these chains are independent" in series.assumption
    assert "at most 288 records long" in series.assumption
    assert "φ1 = 0.5, φ2 = 0.25" in series.summary()
    with pytest.raises(ModelError, match='has no "states"'):
        bdp.Model.from_dict({"type": "gaussian-series", "coefficients": [0.5], "states": [0, 1]})
    hour = bdp.GaussianSeries([0.5], length=5, unit=2)
    assert bdp.leakage(hour, SUM, tau=0.1).theorem == "general"
    with pytest.raises(ModelError, match="is not tested"):
        series.diagnose(polars.DataFrame({"x": [1.0]}))


def held(frame: polars.DataFrame, series: bdp.GaussianSeries, missing: Any = None) -> bdp.GaussianSeries:
    model = CheckedTable.of(frame, series, missing).checked().model
    assert isinstance(model, bdp.GaussianSeries)
    return model


TABLE = polars.DataFrame({"t": [4, 1, 3, 0, 2], "x": [1.5, 0.0, 2.0, 7.0, 3.25]})


def test_gaps_are_seen_or_assumed() -> None:
    series = bdp.GaussianSeries([0.5], column="x", length=5, layout=ChainLayout("t", step=1))
    assert not held(TABLE, series).gaps
    assert held(TABLE.filter(polars.col("t") != 2), series).gaps
    unstepped = bdp.GaussianSeries([0.5], column="x", length=5, layout=ChainLayout("t"))
    assert held(TABLE, unstepped).gaps
    assert held(TABLE, bdp.GaussianSeries([0.5], length=5)).gaps
    some = TABLE.with_columns(x=polars.when(polars.col("t") == 2).then(None).otherwise("x"))
    assert held(some, series, "drop").gaps
    with pytest.raises(BayesDPError, match="missing"):
        held(some, series)


def test_tables_outside_of_the_model_are_refused() -> None:
    short = bdp.GaussianSeries([0.5], column="x", length=4, layout=ChainLayout("t", step=1))
    with pytest.raises(RecordsError, match="a chain of 5 records, but the model describes chains of at most 4"):
        held(TABLE, short)
    tied = TABLE.with_columns(t=polars.lit(1))
    with pytest.raises(BayesDPError):
        held(tied, bdp.GaussianSeries([0.5], column="x", layout=ChainLayout("t", step=1)))
    close = TABLE.with_columns(t=polars.col("t") * 0.5)
    with pytest.raises(BayesDPError):
        held(close, bdp.GaussianSeries([0.5], column="x", layout=ChainLayout("t", step=1)))


def test_a_session_releases_a_sum_of_a_series() -> None:
    series = bdp.GaussianSeries([0.5], column="x", layout=ChainLayout("t", step=1))
    with bdp.Session(TABLE, series, epsilon=3.0, dataset="d") as session:
        answer = session.release(SUM, epsilon=1.5)
        with pytest.raises(BayesDPError):
            session.release(bdp.Count("x", equals=2), epsilon=0.5)
    assert answer.theorem == "gaussian-walk"
    assert answer.tau == pytest.approx(0.5, rel=1e-5)
    assert answer.unit < 1e-9
    assert "exactly or not at all" in answer.guarantee
    several = TABLE.with_columns(home=polars.col("t") // 3)
    apart = bdp.GaussianSeries([0.9], length=3, column="x", layout=ChainLayout("t", entity="home", step=1))
    with bdp.Session(several, apart, epsilon=3.0, dataset="homes") as session:
        assert session.release(SUM, epsilon=1.0).tau == pytest.approx(1 / 2.8, rel=1e-6)


# --- fitted -----------------------------------------------------------------------------------------------------------


def test_fit_finds_the_coefficients_around_any_mean() -> None:
    frame = meters([0.5, 0.2])
    series = bdp.GaussianSeries.fit(frame, value="x", order_by="t", entity="home", order=2, within="clock", distance=4)
    assert series.coefficients == pytest.approx((0.5, 0.2), abs=0.03)
    assert (series.length, series.gaps, series.column, series.distance) == (3000, False, "x", 4)
    assert series.layout == ChainLayout("t", "home", step=1)
    assert series.estimated
    assert series.moments is not None
    assert series.moments.pairs == (9000, 8997, 8994)
    assert bdp.Model.from_json(series.to_json()) == series
    ignored = bdp.GaussianSeries.fit(frame, value="x", order_by="t", entity="home", step=1)
    assert ignored.coefficients[0] > 0.9, "means that are not taken away look like dependence"
    assert "estimated" in str(bdp.leakage(series, SUM, tau=0.1))


def test_gaps_and_missing_values_break_runs() -> None:
    frame = meters([0.5], records=600, homes=1).with_columns(
        x=polars.when(polars.col("t") % 10 != 3).then(polars.col("x"))
    )
    with pytest.raises(RecordsError, match="missing"):
        bdp.GaussianSeries.fit(frame, value="x", order_by="t")
    dropped = bdp.GaussianSeries.fit(frame, value="x", order_by="t", order=2, missing="drop", within="clock")
    absent = bdp.GaussianSeries.fit(
        frame.drop_nulls(), value="x", order_by="t", order=2, missing="drop", within="clock", step=1
    )
    assert dropped.gaps
    assert absent.gaps
    assert dropped.dropped
    assert dropped.moments is not None
    assert absent.moments is not None
    assert dropped.moments.pairs == (540, 479, 478), "a value two steps away is known, whatever lies between"
    assert absent.moments.pairs == (540, 479, 418), "what is not in the table was not counted through"
    assert dropped.moments.autocovariances[:2] == absent.moments.autocovariances[:2]


def test_an_order_not_covered_is_refused_and_a_lower_one_offered() -> None:
    frame = meters([0.5, -0.3])
    options: dict[str, Any] = {"value": "x", "order_by": "t", "entity": "home", "within": "clock"}
    with pytest.raises(ModelError, match=r"fitted series of order 2.*walk-summable.*; order 1, with"):
        bdp.GaussianSeries.fit(frame, order=2, **options)
    assert len(bdp.GaussianSeries.fit(frame, order=1, **options).coefficients) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"value": "word"}, "it is not numeric"),
        ({"value": "flat"}, "do not vary"),
        ({"value": ["x", "t"]}, "names 2"),
        ({"value": "y"}, "no column 'y'"),
        ({"value": "endless"}, "infinite|finite"),
        ({"order": 0}, "order"),
        ({"order": 65}, "at most 64"),
        ({"order": 3, "entity": "pair"}, "no 3 records in a row"),
        ({"within": "nothing"}, "no column 'nothing'"),
        ({"within": "hour"}, "do not contain the hour"),
        ({"within": "x"}, "is protected"),
        ({"within": "holes"}, "no value of 'holes'"),
        ({"within": "pair"}, "100 records are too few to subtract 50 means"),
        ({"order_by": "pair"}, "ties"),
        ({"step": 5}, "less than the step"),
    ],
)
def test_what_cannot_be_fitted_is_refused(options: dict[str, Any], said: str) -> None:
    t = polars.col("t")
    frame = meters([0.5], records=100, homes=1).with_columns(
        word=polars.lit("a"),
        flat=polars.lit(2.0),
        endless=polars.when(t == 5).then(float("inf")).otherwise(t),
        pair=t // 2,
        holes=polars.when(t > 3).then(1),
    )
    with pytest.raises(BayesDPError, match=said):
        bdp.GaussianSeries.fit(frame, **{"value": "x", "order_by": "t", **options})


def test_credibility_of_a_release() -> None:
    series = bdp.GaussianSeries.fit(meters([0.5], records=500), value="x", order_by="t", entity="home", within="clock")
    plain, sure = (bdp.calibrate(series, SUM, epsilon=1.0, credibility=share) for share in (None, 0.95))
    assert 0.7 * plain.tau < sure.tau < plain.tau
    with pytest.raises(ModelError, match="too few records"):
        list(islice(SeriesMoments([1.0, 0.5], [2, 1]).draws(np.random.default_rng(1)), 2))
    with pytest.raises(ModelError, match="estimated from data"):
        bdp.calibrate(bdp.GaussianSeries([0.5]), SUM, epsilon=1.0, credibility=0.9)
