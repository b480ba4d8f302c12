"""The paper's figures with (ε, δ), windows and odds by distance: the noise they draw keeps what they promise."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.accuracy import Gaussian, Laplace
from bayesdp.experiments.added import (
    DELTA,
    GAUSSIAN,
    ODDS,
    WINDOWS,
    added_charts,
    curves_of_each_window,
    curves_of_one_answer,
)
from bayesdp.experiments.simulate import Result, run
from bayesdp.experiments.studies import STUDIES, Study
from bayesdp.theorems.spend import as_spend


@pytest.fixture(scope="module")
def days(twin_of: Callable[[str], Study]) -> tuple[Study, Result]:
    found = twin_of("electricity-80")
    small = replace(
        found.experiment, runs=10, epsilons=(1.0, 5.0, 10.0), theorems=("general", "markov-paper", "markov-mixing")
    )
    known = replace(found, experiment=small, fit_series=lambda: bdp.OddsSeries([6.0, 1.5], length=731))
    return known, run(known.experiment)


@pytest.mark.parametrize("name", STUDIES)
def test_windows_divide_the_records(name: str, twin_of: Callable[[str], Study]) -> None:
    found = twin_of(name)
    (answer, *others) = found.experiment.answers
    assert sum(found.windows.answers) == pytest.approx(answer + sum(others))
    assert len(found.windows.answers) == found.windows.number * (1 + len(others))


def test_answers_for_windows_cost_what_one_answer_costs(days: tuple[Study, Result]) -> None:
    one, each = (
        {curve.name: curve.laws for curve in curves(*days)} for curves in (curves_of_one_answer, curves_of_each_window)
    )
    assert each[WINDOWS][5.0].scale == pytest.approx(one["markov-mixing"][5.0].scale)
    assert each[ODDS] == one[ODDS]
    study, result = days
    alone = bdp.calibrate(study.series[0], result.query, epsilon=5.0)
    assert one[ODDS][5.0].scale == pytest.approx(alone.scale)


def test_the_answers_without_windows_share_the_promise(days: tuple[Study, Result]) -> None:
    study, result = days
    curve = next(curve for curve in curves_of_each_window(study, result) if curve.name == "markov-mixing")
    spent = study.windows.number * as_spend(result.query, 1 / curve.laws[5.0].scale)
    together = bdp.leakage(study.experiment.model, spent)
    assert together.epsilon == pytest.approx(5.0, rel=1e-6)
    assert bdp.leakage(study.experiment.model, [*spent, *spent]).epsilon > 5.5


def test_gaussian_noise_keeps_epsilon_and_delta(days: tuple[Study, Result]) -> None:
    study, result = days
    for curves, number in ((curves_of_one_answer, 1), (curves_of_each_window, study.windows.number)):
        law = next(curve for curve in curves(study, result) if curve.name == GAUSSIAN).laws[5.0]
        rho = number / (2 * law.scale**2)
        assert bdp.leakage(study.experiment.model, result.query, rho=rho, delta=DELTA).epsilon == pytest.approx(
            5, rel=1e-4
        )


def test_figures_draw_the_errors_of_the_noise(days: tuple[Study, Result]) -> None:
    study, result = days
    generator = np.random.default_rng(0)
    error, mape = added_charts(study, result)
    for place, curves in enumerate((curves_of_one_answer(study, result), curves_of_each_window(study, result))):
        truth = np.array(result.answers if place == 0 else study.windows.answers)
        for curve in curves:
            law = curve.laws.get(10.0)
            assert law is not None
            draw = generator.normal if isinstance(law, Gaussian) else generator.laplace
            errors = np.abs(draw(scale=law.scale, size=40_000))
            drawn = [
                next(dict(each.points)[10.0] for each in chart.panels[place].lines if each.name == curve.name)
                for chart in (error, mape)
            ]
            assert drawn[0] == pytest.approx(np.quantile(errors, 0.95), rel=0.05)
            assert drawn[1] == pytest.approx(100 * errors.mean() * np.mean(1 / truth[truth != 0]), rel=0.05)


def test_the_sentence_states_what_windows_save(days: tuple[Study, Result]) -> None:
    study, result = days
    laws = {curve.name: curve.laws for curve in curves_of_each_window(study, result)}
    says = added_charts(study, result)[0].says
    with_windows, without = (law.alpha(0.05) for law in (laws[WINDOWS][5.0], laws["markov-mixing"][5.0]))
    assert f"each of 25 answers by month is off by {with_windows:.3g} days; without windows by {without:.3g}" in says
    assert isinstance(laws[WINDOWS][5.0], Laplace)
    assert without == pytest.approx(25 * with_windows)


@pytest.mark.slow
def test_odds_by_distance_are_fitted_to_every_series(twin_of: Callable[[str], Study]) -> None:
    for name in STUDIES:
        fitted = twin_of(name).series
        assert len(fitted) == (0 if twin_of(name).experiment.query.clipped else 1)
        assert all(series.estimated and series.length == twin_of(name).records for series in fitted)
