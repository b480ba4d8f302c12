"""Odds ratios by distance from noisy sums: documents, the ceiling, and how often they cover the true ones."""

import math
from typing import Any

import numpy as np
import pytest

from bayesdp import Model, OddsSeries
from bayesdp.errors import ModelError
from bayesdp.models.learnt_series import CASES, LearntSeries, bounds_in_cases, credible_series, sums_sensitivity
from bayesdp.models.pair_effects import reference_tau, small_price
from bayesdp.models.series_sums import Course, expected_sums, stationary

LEARNT = LearntSeries([50, 4], 0.5, 0.95, [6.1, 1.8], [1210, 190, 160], [1000])
SERIES = OddsSeries([50, 4], states=["off", "on"], column="s")


def test_a_learnt_series_travels() -> None:
    model = SERIES.with_learnt(LEARNT)
    again = Model.from_json(model.to_json())
    assert again == model
    assert hash(again) == hash(model)
    assert model.odds == (6.1, 1.8)
    assert model.opened_as == SERIES
    assert not model.estimated
    assert "learnt by a private release" in model.summary()
    assert "learnt by a private release" in (model.origin or "")


@pytest.mark.parametrize(
    "change",
    [
        {"ceiling": [0.5, 4]},
        {"ceiling": [5, 4]},
        {"ceiling": [50]},
        {"odds": []},
        {"odds": [6.1, 4.5]},
        {"tau": 0},
        {"tau": 1e-6},
        {"credibility": 1},
        {"sums": [1210, 190]},
        {"sums": [1210, 190, 1.5]},
        {"sums": [1210, 190, 2**70]},
        {"records": [1000, 2]},
        {"records": [-1]},
        {"within": ["hour"]},
        {"strata": [[1]]},
        {"unknown": 1},
    ],
)
def test_documents_that_hold_no_private_fit_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ModelError):
        LearntSeries.from_dict({**LEARNT.to_dict(), **change})
    with pytest.raises(ModelError):
        LearntSeries.from_dict({"tau": 1})


def test_models_refuse_what_does_not_go_with_what_was_learnt() -> None:
    changes: list[dict[str, Any]] = [{"odds": [6.1, 1.7]}, {"odds": [6.1]}, {"learnt": "somehow"}]
    entries: dict[str, Any] = {"odds": [6.1, 1.8], "learnt": LEARNT}
    for change in changes:
        with pytest.raises(ModelError):
            OddsSeries(**{**entries, **change})


def learnt(sums: list[int], tau: float, additive: bool = False, ceiling: tuple[float, ...] = (50.0, 10.0)) -> Any:
    settings: Any = {"ceiling": ceiling, "tau": tau, "credibility": 0.95, "additive": additive}
    return credible_series(stationary([5000]), sums, **settings)


def sums_of(effects: list[float], field: float) -> list[int]:
    exact = expected_sums(stationary([5000]), np.array([[field]]), np.array([effects]))[0]
    return [int(entry) for entry in np.rint(exact * [4, 1, 1])]


def test_more_noise_raises_the_price_up_to_the_ceiling() -> None:
    sums, tau = sums_of([1.6, 0.5], -1.6), reference_tau(np.array([1.6, 0.5]))
    odds = [learnt(sums, each) for each in (10, 1, 0.5, 0.001)]
    prices = [float(small_price(np.log([each]), tau)[0]) for each in odds]
    assert prices == sorted(set(prices))
    assert 1 < prices[0] < 1.3
    assert odds[-1] == (50, 10)


def test_additive_effects_of_both_signs_leave_the_ceiling() -> None:
    sums = sums_of([1.6, -1.2], -0.5)
    assert learnt(sums, 20, additive=True) == (50, 10)
    assert learnt(sums, 20)[1] == pytest.approx(math.exp(1.2), rel=0.6)


def test_a_ceiling_of_one_has_nothing_to_learn() -> None:
    assert learnt(sums_of([0.0, 0.0], 0.0), 1.0, ceiling=(1.0, 1.0)) == (1.0, 1.0)


@pytest.mark.slow
def test_what_is_expected_depends_on_public_numbers() -> None:
    many = bounds_in_cases(1, 50_000, ceiling=(20.0, 2.0), tau=1.0, credibility=0.95, additive=True)
    few = bounds_in_cases(4, 200, ceiling=(20.0, 2.0), tau=0.05, credibility=0.95, additive=True)
    assert len(many) == len(few) == len(CASES)
    assert many[0] < (2.5, 2)
    assert few.count((20.0, 2.0)) > 5


@pytest.mark.parametrize("value", range(3))
def test_any_sums_make_odds_below_the_ceiling(value: int) -> None:
    """What is released is noisy: no noise may stop the fit once it is charged."""
    chance = np.random.default_rng(value)
    for _ in range(4):
        strata, reach = int(chance.integers(1, 4)), int(chance.integers(1, 4))
        course = Course.of(chance.integers(-1, strata, size=300).astype(np.int16), strata)
        sums = np.rint(chance.normal(size=strata + reach) * 10 ** chance.uniform(0, 6)).astype(int).tolist()
        ceiling = tuple(np.exp(chance.uniform(0, 5, size=reach)).tolist())
        tau = float(10 ** chance.uniform(-1.5, 1))
        odds = credible_series(
            course, sums, ceiling=ceiling, tau=tau, credibility=0.9, additive=bool(value % 2), usual=200
        )
        assert all(1 <= each <= most for each, most in zip(odds, ceiling, strict=True))


def series_of(course: list[int], fields: list[float], effects: list[float], sets: int, seed: int = 0) -> Any:
    """Draw series of two values, each record given those before, from messages of the records after it."""
    reach, generator = len(effects), np.random.default_rng(seed)
    blocks = np.arange(2**reach)
    pull = (blocks[:, None] >> np.arange(reach - 1, -1, -1) & 1) @ np.array(effects)
    zero, one = blocks >> 1, blocks >> 1 | 2 ** (reach - 1)
    after = np.ones((len(course) + 1, len(blocks)))
    for place in range(len(course) - 1, -1, -1):
        message = after[place + 1][zero] + np.exp(fields[course[place]] + pull) * after[place + 1][one]
        after[place] = message / message.max()
    values, last = np.zeros((sets, len(course)), dtype=np.int64), np.zeros(sets, dtype=np.int64)
    for place, stratum in enumerate(course):
        rise = np.exp(fields[stratum] + pull[last]) * after[place + 1][one[last]]
        values[:, place] = generator.random(sets) < rise / (rise + after[place + 1][zero[last]])
        last = np.where(values[:, place] == 1, one[last], zero[last])
    return values


@pytest.mark.slow
@pytest.mark.parametrize("tau", [0.3, 2.0])
def test_the_price_of_the_true_odds_is_covered(tau: float) -> None:
    """A small version of benchmarks/coverage.py: 40 series of 5,000 records, within three standard errors."""
    strata, effects, sets = (np.arange(5000) // 12 % 2).tolist(), [1.6, 0.5], 40
    values = series_of(strata, [-2.2, -1.3], effects, sets)
    course = Course.of(np.array(strata, dtype=np.int16), 2)
    reference = reference_tau(np.array(effects))
    true = float(small_price(np.array([effects]), reference)[0])
    kept, generator, covered = 1 - math.exp(-tau / sums_sensitivity(2)), np.random.default_rng(1), 0
    for row in values:
        totals = [4 * int(row[np.array(strata) == stratum].sum()) for stratum in (0, 1)]
        products = [int(row[back:] @ row[:-back]) for back in (1, 2)]
        noise = generator.geometric(kept, 4) - generator.geometric(kept, 4)
        noisy = (np.array([*totals, *products]) + noise).tolist()
        odds = credible_series(course, noisy, ceiling=(50, 10), tau=tau, credibility=0.9, additive=False, usual=500)
        covered += bool(small_price(np.log([odds]), reference)[0] >= true * (1 - 1e-9))
    assert covered / sets >= 0.9 - 3 * math.sqrt(0.9 * 0.1 / sets)
