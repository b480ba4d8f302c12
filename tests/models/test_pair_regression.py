"""The pairwise series, fitted to counts of patterns."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest

from bayesdp.errors import ModelError
from bayesdp.models import pair_regression as module
from bayesdp.models.pair_regression import best_reach, fitted_effects, regression, third_order

PLACES = np.arange(2)


@dataclass
class Counted:
    states: tuple[int, ...]
    reach: int
    strata: tuple[tuple[int, ...], ...]
    stratum: np.ndarray
    code: np.ndarray
    count: np.ndarray
    left_out: int = 0


def counted(drawn: np.ndarray, reach: int, states: int = 2, hour: int = 0) -> Counted:
    """Count the patterns of several series, in one stratum."""
    windows = np.lib.stride_tricks.sliding_window_view(drawn, 2 * reach + 1, axis=-1).reshape(-1, 2 * reach + 1)
    codes, counts = np.unique(windows @ states ** np.arange(2 * reach, -1, -1), return_counts=True)
    return Counted(tuple(range(states)), reach, ((hour,),), np.zeros_like(codes), codes, counts)


def beside(first: Counted, second: Counted) -> Counted:
    """Put the strata of two tables beside one another."""
    return Counted(
        first.states,
        first.reach,
        (*first.strata, *second.strata),
        np.concatenate([first.stratum, second.stratum + len(first.strata)]),
        np.concatenate([first.code, second.code]),
        np.concatenate([first.count, second.count]),
    )


def series(field: float, effects: list[float], records: int, seed: int = 1) -> np.ndarray:
    tables = np.array(effects).reshape(-1, 1, 1)
    return np.asarray(module._simulated(np.array([[field]]), tables, records // 256, np.random.default_rng(seed))[0])


@pytest.mark.parametrize("states", [2, 3])
def test_derivatives_are_those_of_the_likelihood(states: int) -> None:
    generator = np.random.default_rng(3)
    tables = [counted(generator.integers(0, states, (1, 200)), 2, states, hour) for hour in (0, 1)]
    seen = beside(*tables)
    rows = module._rows(seen, PLACES, 2, fold=states == 2)
    point = generator.normal(size=2 * (states - 1) + 2 * (states - 1) ** 2) / 3
    _, gradient, information = module._likelihood(rows, 2, states - 1, point)
    for place, unit in enumerate(1e-5 * np.eye(len(point))):
        (above, rising, _), (below, falling, _) = (
            module._likelihood(rows, 2, states - 1, point + x) for x in (unit, -unit)
        )
        assert (above - below) / 2e-5 == pytest.approx(gradient[place], rel=1e-4, abs=1e-4)
        assert (falling - rising) / 2e-5 == pytest.approx(information[place], rel=1e-4, abs=1e-4)


def test_the_likelihood_is_of_records_given_their_neighbours() -> None:
    (drawn,) = series(-0.5, [1.0, 0.4], 256)
    seen = counted(drawn[None], 2)
    rows = module._rows(seen, PLACES, 2, fold=True)
    value, *_ = module._likelihood(rows, 1, 1, np.array([-0.5, 1.0, 0.4]))
    total = 0.0
    for t in range(2, len(drawn) - 2):
        logit = -0.5 + drawn[t - 1] + drawn[t + 1] + 0.4 * (drawn[t - 2] + drawn[t + 2])
        total += logit * drawn[t] - math.log1p(math.exp(logit))
    assert value == pytest.approx(total)


def test_known_effects_are_found_within_their_errors() -> None:
    night, day = series(-3.0, [1.8, 0.2, 0.4], 2**16), series(-1.0, [1.8, 0.2, 0.4], 2**16, 2)
    seen = beside(counted(night, 3), counted(day, 3, hour=1))
    found = regression(seen, PLACES[: len(seen.strata)], 3)
    errors = np.sqrt(np.diag(found.covariance))
    assert (np.abs(found.effects.ravel() - [1.8, 0.2, 0.4]) < 4 * errors).all()
    assert found.fields.ravel() == pytest.approx([-3, -1], abs=0.1)
    assert (errors < 0.05).all()


def test_three_values_have_tables_of_effects() -> None:
    table = np.array([[[1.2, -0.3], [0.1, 0.9]]])
    drawn = module._simulated(np.array([[-0.5, 0.2]]), table, 2**8, np.random.default_rng(1))[0]
    seen = counted(drawn, 1, 3)
    found = regression(seen, PLACES[: len(seen.strata)], 1)
    errors = np.sqrt(np.diag(found.covariance))
    assert (np.abs(found.effects.ravel() - table.ravel()) < 4 * errors).all()
    assert (errors < 0.06).all()


@pytest.mark.slow
def test_the_sandwich_is_the_spread_of_repeated_fits() -> None:
    effects, errors = [], []
    for seed in range(60):
        seen = counted(series(-1.5, [1.8, 0.3], 2**13, seed), 2)
        found = regression(seen, PLACES[: len(seen.strata)], 2)
        effects.append(found.effects.ravel())
        errors.append(np.sqrt(np.diag(found.covariance)))
    assert np.std(effects, axis=0) == pytest.approx(np.mean(errors, axis=0), rel=0.3)
    rows = module._rows(seen, PLACES, 2, fold=True)
    naive = np.linalg.inv(module._likelihood(rows, 1, 1, np.array([-1.5, 1.8, 0.3]))[2])
    assert np.mean(errors, axis=0)[0] > 1.15 * math.sqrt(naive[1, 1]), "every pair counts twice"


def test_the_reach_of_a_series_is_found() -> None:
    for effects in ([1.5], [1.0, 0.0, 0.6]):
        assert best_reach(counted(series(-1.0, effects, 2**14), 4)) == len(effects)


def test_sparse_strata_are_merged() -> None:
    plenty, few = counted(series(-1.0, [1.0], 2**12), 1), counted(series(-1.0, [1.0], 256)[:, :40], 1, hour=1)
    fewer = counted(series(-1.0, [1.0], 256, 3)[:, :30], 1, hour=2)
    found = fitted_effects(beside(beside(plenty, few), fewer), ["hour"])
    assert set(found.merged) >= {(1,), (2,)}
    assert found.records == sum(int(each.count.sum()) for each in (plenty, few, fewer))
    assert not fitted_effects(plenty, ["hour"]).merged


def test_effects_without_limit_are_refused() -> None:
    same = np.repeat(np.arange(400) % 2, 50)[None]  # a value differs from the one before it only if it stays so
    with pytest.raises(ModelError, match="without limit"):
        fitted_effects(counted(same, 1), [])
    with pytest.raises(ModelError, match="fewer than 20 times"):
        fitted_effects(counted(np.array([[0, 1] + [0] * 500]), 1), [])


def test_rows_keep_every_pattern() -> None:
    codes = np.array([int("".join(map(str, digits)), 2) for digits in itertools.product((0, 1), repeat=5)])
    every = Counted((0, 1), 2, ((),), np.zeros_like(codes), codes, np.ones_like(codes))
    rows = module._rows(every, PLACES, 2, fold=True)
    assert rows.count.sum() == 32
    assert len(rows.count) == 18, "of two records ℓ apart only the number with each value matters"
    assert module._rows(every, PLACES, 1, fold=True).count.tolist() == [4, 8, 4, 8, 4, 4]


def test_three_in_a_row_are_found_beyond_pairs() -> None:
    pairs = counted(series(-1.0, [0.8], 2**14), 2)
    (pair, three), error = third_order(pairs, PLACES[:1], 1)
    assert abs(three) < 4 * error
    assert pair == pytest.approx(0.8, abs=0.2)
    weights = np.exp([[[0.0, -1.0], [0.0, -0.2]], [[0.0, -1.0], [0.0, 0.8]]])  # [second last][last][next]
    generator, drawn = np.random.default_rng(5), np.zeros((64, 256), dtype=np.int64)
    for place in range(2, 256):
        chances = weights[drawn[:, place - 2], drawn[:, place - 1]]
        drawn[:, place] = generator.random(64) < chances[:, 1] / chances.sum(axis=1)
    effects, error = third_order(counted(drawn, 2), PLACES[:1], 2)
    assert effects[2] > 5 * error
