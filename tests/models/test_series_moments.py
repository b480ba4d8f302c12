"""The moments of a series: what they are, and the coefficients and draws they give."""

from itertools import islice
from typing import Any

import numpy as np
import polars
import pytest
from fitting_tables import meters  # type: ignore[import-not-found]

import bayesdp as bdp
from bayesdp.errors import ModelError
from bayesdp.models.series_moments import SeriesMoments


def test_yule_and_walker_by_hand() -> None:
    frame = meters([0.4, 0.1, 0.2], records=600, homes=1)
    series = bdp.GaussianSeries.fit(frame, value="x", order_by="t", order=3, within="clock")
    around = frame.select(polars.col("x") - polars.col("x").mean().over("clock"))["x"].to_numpy()
    moments = [float(np.mean(around[lag:] * around[: len(around) - lag])) for lag in range(4)]
    toeplitz = np.array([[moments[abs(i - j)] for j in range(3)] for i in range(3)])
    assert series.moments is not None
    assert series.moments.autocovariances == pytest.approx(moments, rel=1e-5)
    assert series.coefficients == pytest.approx(np.linalg.solve(toeplitz, moments[1:]), abs=1e-4)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"coefficients": [0.6]}, "moments and coefficients disagree"),
        ({"coefficients": [0.5, 0.1]}, "disagree"),
        ({"moments": {"autocovariances": [1.0, 0.5]}}, '"autocovariances" and "pairs"'),
        ({"moments": {"autocovariances": [1.0, 0.5], "pairs": [9]}}, "each with its pairs"),
        ({"moments": {"autocovariances": [1.0, 0.5], "pairs": [9, 0]}}, "pairs"),
        ({"moments": {"autocovariances": [0.0, 0.5], "pairs": [9, 8]}}, "greater than 0"),
        ({"moments": {"autocovariances": [1.0, 1.5], "pairs": [9, 8]}}, "no stationary series"),
        ({"moments": 7}, "must be an object"),
    ],
)
def test_what_contradicts_its_moments_is_refused(change: dict[str, Any], said: str) -> None:
    document = {
        "type": "gaussian-series",
        "coefficients": [0.5],
        "moments": {"autocovariances": [2.0, 1.0], "pairs": [100, 99]},
    }
    assert bdp.Model.from_dict(document).estimated
    with pytest.raises(ModelError, match=said):
        bdp.Model.from_dict(document | change)


def test_credibility_covers_the_true_coefficient() -> None:
    """The 95 % point of the posterior lies above the truth in about 95 % of series."""
    generator, above = np.random.default_rng(2), 0
    for _ in range(400):
        noise = generator.normal(size=400)
        x = np.zeros(400)
        for t in range(1, 400):
            x[t] = 0.6 * x[t - 1] + noise[t]
        x = x[100:]
        moments = SeriesMoments([float(np.mean(x * x)), float(np.mean(x[1:] * x[:-1]))], [300, 299])
        drawn = [next(iter(each)) for each in islice(moments.draws(generator), 200)]
        above += float(np.quantile(drawn, 0.95)) >= 0.6
    assert above / 400 > 0.95 - 3 * 0.011 - 0.02, "a little less for so short a series: the estimate is biased down"
