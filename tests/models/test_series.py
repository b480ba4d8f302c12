"""A normal autoregressive series: what is one, and which tables are within it."""

from typing import Any

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.errors import BayesDPError, ModelError, RecordsError
from bayesdp.models import ChainLayout
from bayesdp.session.prepare import Inquiry

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
    assert "one series for each home, and these are independent" in series.assumption
    assert "at most 288 records long" in series.assumption
    assert "φ1 = 0.5, φ2 = 0.25" in series.summary()
    with pytest.raises(ModelError, match="written by hand"):
        series.diagnose(polars.DataFrame({"x": [1.0]}))


def held(frame: polars.DataFrame, series: bdp.GaussianSeries, missing: Any = None) -> bdp.GaussianSeries:
    model = Inquiry.into(frame, series, missing).model
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
    with pytest.raises(RecordsError, match="a series of 5 records, but the model describes series of at most 4"):
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
