"""`calibrate(credibility=)`: what share of the posterior keeps the promise (docs/uncertainty.md)."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from bayesdp import AnyOf, ArbitraryGroups, Count, GaussianGroups, MarkovChain, Sum, calibrate, leakage
from bayesdp.errors import InvalidInputError, ModelError
from bayesdp.uncertainty import MONTE_CARLO_RISK, chosen_rank, draws_needed, posterior

CHAIN = MarkovChain.from_counts([[90, 10], [12, 38]], length=100, gaps=True)
FAMILY = GaussianGroups.from_moments([100, 100], [[225, 100], [100, 225]], groups=60)
ONES = Count(equals=1)
TOTAL = Sum(bounds=(40, 160))


@pytest.mark.parametrize("credibility", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("draws", [500, 2000])
def test_the_rank_is_the_largest_that_the_binomial_law_allows(credibility: float, draws: int) -> None:
    rank = chosen_rank(credibility, draws)
    assert stats.binom.cdf(rank - 1, draws, 1 - credibility) <= MONTE_CARLO_RISK
    assert stats.binom.cdf(rank, draws, 1 - credibility) > MONTE_CARLO_RISK


def test_the_posterior_is_that_of_the_counts() -> None:
    rows = np.array(
        [np.array(model.transition)[0] for model in posterior(CHAIN, 4000) if isinstance(model, MarkovChain)]
    )
    assert rows.mean(axis=0) == pytest.approx([90.5 / 101, 10.5 / 101], abs=0.003)
    assert posterior(CHAIN, 3) == posterior(CHAIN, 3)


def test_the_inverse_wishart_has_its_mean() -> None:
    drawn = [model.matrices[0] for model in posterior(FAMILY, 6000) if isinstance(model, GaussianGroups)]
    expected = np.array(FAMILY.covariance) * 59 / (59 - 2 - 1)
    assert np.mean(drawn, axis=0) == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize(("model", "query"), [(CHAIN, ONES), (FAMILY, TOTAL)])
def test_the_promise_holds_for_the_share_asked_of_fresh_draws(
    model: MarkovChain | GaussianGroups, query: Count | Sum
) -> None:
    plain = calibrate(model, query, epsilon=1.0)
    found = calibrate(model, query, epsilon=1.0, credibility=0.9)
    assert found.tau < plain.tau
    assert found.uncertainty is not None
    assert found.uncertainty.share >= 0.9
    assert list(found.uncertainty.spread) == sorted(found.uncertainty.spread)
    fresh = [leakage(drawn, query, tau=found.tau).epsilon for drawn in posterior(model, 300, seed=99)]
    assert np.mean([epsilon <= 1.0 for epsilon in fresh]) >= 0.9 - 3 * math.sqrt(0.09 / 300)
    assert json.loads(found.to_json())["uncertainty"]["draws"] == 200
    assert "posterior" in str(found)


def test_more_data_cost_less() -> None:
    few = calibrate(CHAIN, ONES, epsilon=1.0, credibility=0.95).tau
    counts = [[9000, 1000], [1200, 3800]]
    many = calibrate(MarkovChain.from_counts(counts, length=100, gaps=True), ONES, epsilon=1.0, credibility=0.95).tau
    assert few < many < calibrate(CHAIN, ONES, epsilon=1.0).tau * 1.05


def test_from_the_accuracy_the_promise_gives_way() -> None:
    plain = calibrate(CHAIN, ONES, alpha=20)
    found = calibrate(CHAIN, ONES, alpha=20, credibility=0.95)
    assert found.tau == plain.tau
    assert found.epsilon > plain.epsilon


def test_drawn_variances_differ_and_are_covered_all_the_same() -> None:
    assert calibrate(FAMILY, TOTAL, epsilon=1.0, credibility=0.9).tau > 0


def test_any_of_covers_the_certain_ones_with_certainty() -> None:
    either = AnyOf(CHAIN, ArbitraryGroups(50))
    assert calibrate(either, ONES, epsilon=1.0, credibility=0.9).tau <= 0.02


def test_refusals() -> None:
    with pytest.raises(ModelError, match="estimated"):
        calibrate(MarkovChain([[0.9, 0.1], [0.5, 0.5]]), ONES, epsilon=1.0, credibility=0.9)
    for credibility in (0.0, 1.0, math.nan, -1.0):
        with pytest.raises(InvalidInputError):
            calibrate(CHAIN, ONES, epsilon=1.0, credibility=credibility)
    with pytest.raises(InvalidInputError, match="give 90"):
        calibrate(CHAIN, ONES, epsilon=1.0, credibility=0.95, draws=20)
    with pytest.raises(InvalidInputError, match="goes with credibility"):
        calibrate(CHAIN, ONES, epsilon=1.0, draws=20)
    with pytest.raises(ModelError, match="too few"):
        calibrate(
            GaussianGroups.from_moments([0, 0], [[1, 0.2], [0.2, 1]], groups=2), TOTAL, epsilon=1.0, credibility=0.9
        )
    assert draws_needed(0.95, None) == 200
