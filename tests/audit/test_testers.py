"""How evidence becomes a bound: intervals that are exact, events that are the best, cells that lose no output."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from bayesdp.audit.testers import (
    Bound,
    Cells,
    Event,
    as_rows,
    best_event,
    clopper_pearson,
    excess_below,
    log_ratio_below,
)
from bayesdp.errors import InvalidInputError


def _ratio_at_95(more: np.ndarray, less: np.ndarray, trials: int) -> np.ndarray:
    return log_ratio_below(more, less, trials, 0.95)


def _excess_at_95(more: np.ndarray, less: np.ndarray, trials: int) -> np.ndarray:
    return excess_below(more, less, trials, 0.95, 0.5)


@pytest.mark.parametrize(("trials", "successes"), [(10, 0), (10, 3), (50, 50), (200, 17)])
def test_clopper_pearson_is_exact(trials: int, successes: int) -> None:
    low, high = clopper_pearson(successes, trials, 0.9)
    if successes:
        assert binom.sf(successes - 1, trials, low) == pytest.approx(0.05)
    if successes < trials:
        assert binom.cdf(successes, trials, high) == pytest.approx(0.05)


def test_the_bound_errs_as_seldom_as_it_says() -> None:
    """Two laws with a known ratio, bounded a thousand times."""
    generator, truth = np.random.default_rng(6), math.log(0.3 / 0.1)
    more, less = generator.binomial(500, 0.3, 1000), generator.binomial(500, 0.1, 1000)
    wrong = (log_ratio_below(more, less, 500, 0.9) > truth).mean()
    assert wrong <= 0.1


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_the_bound_on_delta_errs_as_seldom_as_it_says(epsilon: float) -> None:
    generator, truth = np.random.default_rng(6), 0.5 - math.exp(epsilon) * 0.1
    more, less = generator.binomial(500, 0.5, 1000), generator.binomial(500, 0.1, 1000)
    found = excess_below(more, less, 500, 0.9, epsilon)
    assert (found > truth).mean() <= 0.1
    assert found.mean() > 0.7 * truth


@pytest.mark.parametrize(("more", "less", "delta"), [(90, 10, 0.2), (30, 2, 0.01), (12, 12, 0.001), (0, 0, 0.5)])
def test_delta_and_epsilon_are_bounded_by_the_same_intervals(more: int, less: int, delta: float) -> None:
    """δ is exceeded at ε exactly if ε is exceeded at δ."""
    counts = np.array([more]), np.array([less])
    epsilon = float(log_ratio_below(*counts, 100, 0.95, delta)[0])
    for factor in (0.9, 1.1):
        exceeded = bool(excess_below(*counts, 100, 0.95, epsilon * factor)[0] > delta)
        assert exceeded == (factor < 1 and epsilon > 0)


def test_no_count_bounds_delta_at_an_immense_epsilon() -> None:
    assert excess_below(np.array([100]), np.array([0]), 100, 0.95, 800.0).tolist() == [0.0]


@pytest.mark.parametrize("bound", [_ratio_at_95, _excess_at_95])
def test_the_best_event_is_that_of_exhaustive_search(bound: Bound) -> None:
    generator = np.random.default_rng(8)
    one, other = generator.multinomial(300, [0.2] * 5), generator.multinomial(300, [0.1, 0.1, 0.2, 0.3, 0.3])
    subsets = [list(chosen) for size in range(1, 6) for chosen in itertools.combinations(range(5), size)]
    best = max(
        float(bound(np.array([a[chosen].sum()]), np.array([b[chosen].sum()]), 300)[0])
        for chosen in subsets
        for a, b in ((one, other), (other, one))
    )
    assert best_event(one, other, bound).promise == pytest.approx(best)


def test_cells_put_every_output_somewhere() -> None:
    generator = np.random.default_rng(9)
    for seen, fresh in (
        (generator.normal(size=(4000, 1)), generator.normal(size=(50, 1)) * 9),
        (generator.integers(0, 2, (400, 4)).astype(float), np.full((5, 4), 7.0)),
    ):
        cells = Cells.between(seen[::2], seen[1::2])
        assert cells.count(seen).sum() == len(seen)
        assert cells.count(fresh).sum() == len(fresh)


def test_few_values_are_cells_and_frequent_events_count() -> None:
    one, other = np.array([[0.0], [0.0], [1.0]]), np.array([[1.0], [1.0], [5.0]])
    cells = Cells.between(one, other)
    assert cells.number == 3
    assert (cells.count(one).tolist(), cells.count(other).tolist()) == ([2, 1, 0], [0, 2, 1])
    event = Event(np.array([True, False, False]), first=True, promise=0.0)
    assert event.counts_of(cells.count(one), cells.count(other)) == (2, 0)
    assert Event(event.cells, first=False, promise=0.0).counts_of(cells.count(one), cells.count(other)) == (0, 2)


def test_many_lists_are_sorted_by_a_score_with_power() -> None:
    generator = np.random.default_rng(3)
    one, other = generator.normal(0, 1, (3000, 5)), generator.normal([0, 0, 1.5, 0, 0], 1, (3000, 5))
    cells = Cells.between(one[:1500], other[:1500])
    assert 100 < cells.number < 200
    event = best_event(cells.count(one[:1500]), cells.count(other[:1500]), _ratio_at_95)
    more, less = event.counts_of(cells.count(one[1500:]), cells.count(other[1500:]))
    assert more > 2 * less


def test_tables_that_are_alike_support_no_bound() -> None:
    counts = np.array([100, 200, 300])
    assert best_event(counts, counts, _ratio_at_95).promise == 0


@pytest.mark.parametrize("outputs", [[None, 1], [math.nan], [math.inf], [[1.0], [1.0, 2.0]], [object()]])
def test_outputs_that_are_no_rows_of_numbers_are_refused(outputs: list[object]) -> None:
    with pytest.raises(InvalidInputError, match="finite number"):
        as_rows(outputs)


def test_texts_are_categories() -> None:
    rows = as_rows(["few", "many", "few"])
    assert rows.shape == (3, 1)
    assert rows[0] == rows[2] != rows[1]
