"""Noisy sums of squares and products, and the correlation they teach."""

import math
from dataclasses import replace
from itertools import product
from typing import Any, cast

import numpy as np
import polars
import pytest
from scipy.stats import norm

from bayesdp import GaussianGroups, Model
from bayesdp.errors import ModelError
from bayesdp.frames.groups import pair_sums
from bayesdp.models.layout import GroupLayout
from bayesdp.models.learnt_correlation import _CLEAR, _SHRUNK, STEPS, LearntCorrelation, _crossings, pairs_sensitivity

SQUARE = STEPS**2
LAYOUT = GroupLayout("v", "g")
GROUPS = GaussianGroups(correlation=0.9, size=2).located(value="v", group="g")


def learnt(tau: float = 1.0, credibility: float = 0.95, ceiling: float = 1.0, products: int = 400) -> LearntCorrelation:
    """Nine thousand pairs with a standard deviation of a fourth of the half-width."""
    sums = [products * SQUARE, 1125 * SQUARE, 0]
    return LearntCorrelation(ceiling, tau, credibility, (0, 10), 2, [(2, 9000)], sums)


def sums_of(values: tuple[float, ...], groups: tuple[int, ...]) -> tuple[int, ...]:
    frame = polars.DataFrame({"v": list(map(float, values)), "g": groups})
    return pair_sums(frame, LAYOUT, (-1.0, 1.0), 3)[1]


def test_a_replaced_record_moves_the_sums_by_the_sensitivity() -> None:
    """All values on a grid, in groups of three, two and one: attained in the largest."""
    groups, grid = (1, 1, 1, 2, 2, 3), (-5.0, -1.0, -0.4, 0.0, 1.0)
    largest = [0, 0, 0]
    for place, record in enumerate((0, 3, 5)):
        for others in product((-1.0, 0.3, 1.0), repeat=2):
            values = [0.5, -0.5, 0.2, 0.1, 0.9, -0.3]
            values[1 if record == 0 else 4], values[2 if record == 0 else 4] = others
            seen = [sums_of((*values[:record], value, *values[record + 1 :]), groups) for value in grid]
            moved = max(sum(abs(a - b) for a, b in zip(one, two, strict=True)) for one in seen for two in seen)
            largest[place] = max(largest[place], moved)
    assert largest == [pairs_sensitivity(3), pairs_sensitivity(2), 0]


def test_the_sums_are_those_over_all_pairs() -> None:
    generator = np.random.default_rng(0)
    values, groups = generator.uniform(-1.3, 1.3, 40), generator.integers(0, 15, 40)
    placed = np.floor(values.clip(-1, 1) * STEPS + 0.5).astype(int)
    pairs = [(i, j) for i in range(40) for j in range(40) if i != j and groups[i] == groups[j]]
    frame = polars.DataFrame({"v": values, "g": groups})
    sizes, sums = pair_sums(frame, LAYOUT, (-1.0, 1.0), 40)
    assert sums[0] == sum(int(placed[i]) * int(placed[j]) for i, j in pairs)
    assert sums[1] == sum(int(placed[i]) ** 2 for i, _ in pairs)
    assert sums[2] == STEPS * sum(int(placed[i]) for i, _ in pairs)
    assert sum(size * number for size, number in sizes) == 40
    assert sum(size * (size - 1) * number for size, number in sizes) == len(pairs)


def clipped_law(low: Any, high: Any) -> tuple[Any, Any, Any]:
    """Mean and deviation of a standard normal variable clipped to bounds, and the share of a small correlation left."""
    below, above, inside = norm.cdf(low), norm.sf(high), norm.cdf(high) - norm.cdf(low)
    mean = low * below + high * above + norm.pdf(low) - norm.pdf(high)
    square = low**2 * below + high**2 * above + inside + low * norm.pdf(low) - high * norm.pdf(high)
    variance = square - mean**2
    return mean, np.sqrt(variance), inside**2 / variance


def test_clear_bounds_are_two_deviations_away_and_clip_little() -> None:
    high, more = np.meshgrid(np.linspace(-2.0, 6.0, 161), np.linspace(0.05, 9.0, 120))
    low = -(np.abs(high) + more)
    mean, deviation, left = clipped_law(low, high)
    clear = np.minimum(high - mean, mean - low) >= _CLEAR * deviation
    assert clear.any()
    assert np.minimum(high, -low)[clear].min() >= 2
    assert left[clear].min() * (1 - 1 / 12 / 16**2) >= _SHRUNK


def test_clipping_shrinks_small_correlations_most() -> None:
    generator = np.random.default_rng(1)
    common, own = generator.standard_normal((2, 400_000)), generator.standard_normal((2, 400_000))
    for correlation in (0.2, 0.6, 0.9):
        values = np.sqrt(correlation) * common[0] + np.sqrt(1 - correlation) * own
        seen = np.corrcoef(values.clip(-2, 2.5))[0, 1] / np.corrcoef(values)[0, 1]
        assert seen >= _SHRUNK - 0.002


def test_without_noise_it_is_the_correlation_of_the_pairs() -> None:
    one, zero = np.ones(1), np.zeros(1)
    for groups in (((2, 10**9),), ((3, 10**9),), ((1, 5), (2, 10**9), (7, 10**8))):
        for correlation in (-0.1, 0.0, 0.37, 0.95):
            above, below = _crossings(groups, correlation * one, one, zero)
            assert below[0] - 1e-4 <= correlation <= above[0] + 1e-4
            assert above[0] - below[0] < 1e-3


def test_more_noise_or_credibility_raises_it_up_to_the_ceiling() -> None:
    by_tau = [learnt(tau=tau).correlation for tau in (1e4, 1.0, 0.2, 0.1)]
    by_share = [learnt(credibility=share).correlation for share in (0.5, 0.9, 0.99, 0.999)]
    assert by_tau == sorted(set(by_tau))
    assert by_share == sorted(set(by_share))
    assert by_tau[0] == pytest.approx(
        (400 / 1125 + 1.645 * (1 - (400 / 1125) ** 2) / math.sqrt(9000)) / _SHRUNK, abs=3e-3
    )
    assert learnt(tau=0.001).correlation == 1
    assert learnt(tau=0.001, ceiling=0.8).correlation == 0.8


def test_a_negative_correlation_counts_as_much_as_a_positive_one() -> None:
    assert learnt(products=-400).correlation == pytest.approx(learnt(products=400).correlation, abs=0.01)


@pytest.mark.parametrize(
    "sums",
    [
        [400, 1125, 5900],
        [2000, 5000, 0],
        [0, 0, 0],
        [-3, -5, 0],
    ],
    ids=["the mean at a bound", "bounds too narrow", "no variance", "negative squares"],
)
def test_sums_that_tell_nothing_leave_the_ceiling(sums: list[int]) -> None:
    reported = replace(learnt(tau=100.0), sums=[total * SQUARE for total in sums])
    assert reported.correlation == 1


@pytest.mark.slow
def test_coverage_with_noise() -> None:
    """A small simulation, the noise included; benchmarks/coverage.py has the large one."""
    generator, covered = np.random.default_rng(5), 0
    for _ in range(120):
        common, own = generator.standard_normal((2000, 1)), generator.standard_normal((2000, 2))
        values = 0.1 + 0.25 * (math.sqrt(0.5) * common + math.sqrt(0.5) * own)
        placed = np.floor(values.clip(-1, 1) * STEPS + 0.5).astype(np.int64)
        squares, totals = (placed**2).sum(), placed.sum(axis=1)
        exact = np.array([(totals**2).sum() - squares, squares, STEPS * totals.sum()])
        noisy = exact + np.rint(generator.laplace(scale=pairs_sensitivity(2) / 1.0, size=3)).astype(np.int64)
        reported = LearntCorrelation(1, 1.0, 0.9, (-1, 1), 2, [(2, 2000)], noisy.tolist())
        covered += reported.correlation >= 0.5
    assert covered >= 0.9 * 120 - 3 * math.sqrt(0.09 * 120)


def test_the_same_sums_teach_the_same_and_travel() -> None:
    model = GROUPS.with_learnt(learnt(ceiling=0.9))
    again = Model.from_json(model.to_json())
    assert again == model
    assert hash(again) == hash(model)
    assert isinstance(again, GaussianGroups)
    assert again.learnt is not None
    assert again.correlation == LearntCorrelation.from_dict(again.learnt.to_dict()).correlation
    assert model.opened_as == GROUPS
    assert model.located(value="v", group="g") == GROUPS
    assert not model.estimated
    assert "learnt by a private release" in model.summary()


@pytest.mark.parametrize(
    "change",
    [
        {"ceiling": 1.5},
        {"ceiling": -0.1},
        {"tau": 0},
        {"tau": 1e-7},
        {"tau": float("nan")},
        {"credibility": 1},
        {"credibility": 0},
        {"bounds": [10, 0]},
        {"bounds": [0, 0]},
        {"bounds": [0, float("inf")]},
        {"bounds": [1e18, 1e18 + 1000]},
        {"bounds": [-1e308, 1e308]},
        {"bounds": [0]},
        {"size": 1},
        {"size": 1.5},
        {"groups": []},
        {"groups": [[1, 50]]},
        {"groups": [[3, 50]]},
        {"groups": [[2, 50], [2, 40]]},
        {"groups": [[2, 2**40]]},
        {"groups": [[2]]},
        {"sums": [1, 2]},
        {"sums": [1, 2, 2.5]},
        {"sums": [1, 2, True]},
        {"sums": [1, 2, 2**70]},
        {"unknown": 1},
    ],
)
def test_documents_that_hold_no_private_fit_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ModelError):
        LearntCorrelation.from_dict({**learnt().to_dict(), **change})


def test_a_model_that_contradicts_its_private_fit_is_refused() -> None:
    reported = learnt(ceiling=0.9)
    for wrong in ({"correlation": 0.95}, {"size": 3}, {"learnt": "all"}):
        with pytest.raises(ModelError):
            replace(GROUPS, **cast("Any", {"learnt": reported, **wrong}))
    with pytest.raises(ModelError, match="groups of another size or kind"):
        GaussianGroups(covariance=[[1, 0.4], [0.4, 1]], learnt=reported)
    with pytest.raises(ModelError, match="must be an object"):
        LearntCorrelation.from_dict([1])
