"""Models from the data sets of the paper: from the original files where they are, from the built-in twins elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars
import pytest

from bayesdp import GaussianGroups, MarkovChain, Model
from bayesdp.errors import FrameError, ModelError
from bayesdp.experiments.data import load

SHARED = Path(__file__).parents[3] / "shared" / "data"
FOLDERS = [None, pytest.param(SHARED, marks=pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared/data here"))]


def correlations(model: GaussianGroups) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.float64]], list[float]]:
    covariance = np.array(model.covariance)
    deviations = np.sqrt(np.diag(covariance))
    return covariance / np.outer(deviations, deviations), [float(deviation) for deviation in deviations]


@pytest.mark.parametrize("folder", FOLDERS)
def test_activity(folder: Path | None) -> None:
    frame = load("activity", folder).frame
    chain = MarkovChain.fit(frame, state="steps > 0", order_by=["date", "interval"], missing="drop")
    assert chain.counts == ((9713, 1295), (1295, 2955))
    assert (chain.length, chain.gaps, chain.states) == (15264, True, (False, True))
    assert round(chain.gamma, 3) == 7.5
    assert Model.from_json(chain.to_json()) == chain
    with pytest.raises(FrameError, match="2304 records have no 'steps > 0'"):
        MarkovChain.fit(frame, state="steps > 0", order_by=["date", "interval"])
    with pytest.raises(FrameError, match="breaks the ties"):
        MarkovChain.fit(frame, state="steps > 0", order_by="date", missing="drop")


@pytest.mark.parametrize("folder", FOLDERS)
def test_galton(folder: Path | None) -> None:
    model = GaussianGroups.fit(load("galton", folder).frame, value=["height", "father", "mother"])
    found, _ = correlations(model)
    assert [round(float(found[i, j]), 4) for i, j in ((0, 1), (0, 2), (1, 2))] == [0.2754, 0.2017, 0.0737]
    assert Model.from_json(model.to_json()) == model


@pytest.mark.parametrize("folder", FOLDERS)
def test_family_iq(folder: Path | None) -> None:
    frame = load("familyiq", folder).frame
    model = GaussianGroups.fit(frame, value=["kid_score", "mom_iq"])
    found, deviations = correlations(model)
    assert round(float(found[0, 1]), 4) == 0.4483
    assert [round(deviation, 2) for deviation in deviations] == [20.41, 15.0]
    finding = next(each for each in model.diagnose(frame).findings if each.name == "equal variances")
    assert "Equal variances are rejected" in finding.meaning


def test_a_covariance_is_that_of_numpy() -> None:
    frame = load("familyiq").frame
    exact = np.cov(frame["kid_score"].to_numpy(), frame["mom_iq"].to_numpy())
    model = GaussianGroups.fit(frame, value=["kid_score", "mom_iq"])
    assert np.array(model.covariance) == pytest.approx(exact, rel=1e-7)


def test_the_intraclass_correlation_is_that_of_the_analysis_of_variance() -> None:
    generator = np.random.default_rng(3)
    sizes = generator.integers(1, 6, 60)
    groups = np.repeat(np.arange(60), sizes)
    values = generator.normal(0, 2, 60)[groups] + generator.normal(0, 1, len(groups))
    model = GaussianGroups.fit(polars.DataFrame({"g": groups, "v": values}), value="v", group="g")
    means = np.array([values[groups == g].mean() for g in range(60)])
    between = (sizes * (means - values.mean()) ** 2).sum() / 59
    within = sum(((values[groups == g] - means[g]) ** 2).sum() for g in range(60)) / (len(values) - 60)
    typical = (len(values) - (sizes**2).sum() / len(values)) / 59
    common = (between - within) / typical
    assert np.array(model.covariance)[0, 1] == pytest.approx(common, rel=1e-6)
    assert model.group_size == sizes.max()


def test_what_cannot_be_fitted_is_refused_with_the_reason() -> None:
    frame = polars.DataFrame(
        {"g": [1, 2, 3], "r": ["a", "b", "a"], "v": [1.0, 2.0, 3.5], "t": [1, 2, 3], "s": [0, 1, 1]}
    )
    with pytest.raises(FrameError, match="one record only"):
        GaussianGroups.fit(frame, value="v", group="g")
    with pytest.raises(FrameError, match="more than one record in the role 'a'"):
        GaussianGroups.fit(frame.with_columns(g=polars.lit(1)), value="v", group="g", role="r")
    with pytest.raises(ModelError, match="smoothing"):
        MarkovChain.fit(frame.head(2), state="s", order_by="t")
    with pytest.raises(ModelError, match="no way from state"):
        MarkovChain.fit(frame, state="s", order_by="t")
    smoothed = MarkovChain.fit(frame, state="s", order_by="t", smoothing=0.5)
    assert smoothed.counts == ((0, 1), (0, 1))
    assert smoothed.transition[1] == (0.25, 0.75)


@pytest.mark.slow
def test_a_hundred_states_from_ten_million_rows() -> None:
    generator = np.random.default_rng(0)
    states = np.cumsum(generator.integers(0, 100, 10_000_000)) % 100
    frame = polars.DataFrame({"t": np.arange(len(states)), "s": states})
    chain = MarkovChain.fit(frame.sample(fraction=1.0, shuffle=True, seed=1), state="s", order_by="t")
    expected = np.bincount(states[:-1] * 100 + states[1:], minlength=10_000).reshape(100, 100)
    assert np.array_equal(np.array(chain.counts), expected)
