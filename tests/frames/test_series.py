"""Autocovariances of series: exact sums over pairs of records without a gap between them."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesdp.errors import FrameError, RecordsError
from bayesdp.frames import series
from bayesdp.frames.series import series_moments
from bayesdp.models.layout import ChainLayout

T = ChainLayout("t", step=1)


def readings(records: int = 200) -> pl.DataFrame:
    """Return whole numbers around a mean that follows a public column, in no order."""
    draw = np.random.default_rng(6)
    frame = pl.DataFrame(
        {"t": range(records), "hour": [t % 4 for t in range(records)], "x": draw.integers(0, 50, records)}
    )
    return frame.with_columns(x=pl.col("x") + 100 * pl.col("hour")).sample(fraction=1, shuffle=True, seed=1)


def test_they_are_the_products_around_the_mean_of_each_stratum() -> None:
    frame = readings()
    found = series_moments(frame, "x", T, 3, within=["hour"])
    around = frame.sort("t").select(pl.col("x") - pl.col("x").mean().over("hour"))["x"].to_numpy()
    expected = [float(np.mean(around[lag:] * around[: len(around) - lag])) for lag in range(4)]
    assert found.moments.autocovariances == pytest.approx(expected, rel=1e-9)
    assert found.moments.pairs == (200, 199, 198, 197)
    assert (found.means, found.longest, found.gaps) == (4, 200, False)


def test_products_reach_over_no_gap_and_into_no_other_entity() -> None:
    frame = readings(30).with_columns(who=pl.col("t") // 10).filter(pl.col("t") != 14)
    found = series_moments(frame, "x", ChainLayout("t", "who", step=1), 2)
    assert found.moments.pairs == (29, 9 + 7 + 9, 8 + 5 + 8)
    assert (found.longest, found.gaps) == (10, True)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"x": pl.lit("a")}, {}, "cannot be a series: it is not numeric"),
        ({"x": pl.lit(3)}, {}, "do not vary"),
        ({"x": pl.lit(None, pl.Int64)}, {"missing": "drop"}, "no record of the table has a value of 'x'"),
        (
            {"hour": pl.when(pl.col("t") > 2).then(1)},
            {"within": ["hour"]},
            "3 records of the table have no value of 'hour'",
        ),
        ({"t": pl.col("t") // 2}, {}, "by less than the step"),
        ({"t": pl.col("t") * 2}, {}, "step"),
    ],
)
def test_what_is_no_series_is_refused(change: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(FrameError, match=message):
        series_moments(readings(20).with_columns(**change), "x", T, 1, **options)


def test_too_many_means_and_too_few_records_in_a_row_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = readings(20).with_columns(pair=pl.col("t") // 2)
    with pytest.raises(RecordsError, match="has no 3 records in a row"):
        series_moments(pairs, "x", ChainLayout("t", "pair"), 2)
    monkeypatch.setattr(series, "_MOST_MEANS", 9)
    with pytest.raises(RecordsError, match="'pair' make more than 9 strata; name fewer columns"):
        series_moments(pairs, "x", T, 1, within=["pair"])
