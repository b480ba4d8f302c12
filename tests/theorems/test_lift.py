"""Every theorem about every mechanism lifts to (ε, δ): against linear programs over all events, and in numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import (
    ArbitraryGroups,
    Count,
    GaussianGroups,
    HiddenMarkov,
    Histogram,
    Independent,
    MarkovChain,
    Model,
    Network,
    OddsChain,
    OddsSeries,
    Sum,
    Theorem,
)
from bayesdp.concentrated import delta_of_rho
from bayesdp.errors import DoesNotApplyError, InvalidInputError
from bayesdp.losses import ApproximateLoss, ConcentratedLoss, Loss, PrivacyProfile, PureLoss
from bayesdp.testing import (
    ApproximateContract,
    additive_laws,
    chain_laws,
    group_laws,
    hidden_chain_laws,
    independent_laws,
    markov_laws,
    memory_chain_laws,
    network_laws,
    series_laws,
    tree_laws,
)
from bayesdp.theorems.gaussian.covariance import GaussianCovariance
from bayesdp.theorems.gaussian.tight import GaussianTight
from bayesdp.theorems.general import GeneralBound
from bayesdp.theorems.independent import IndependentRecords
from bayesdp.theorems.lift import DOES_NOT_LIFT, allowed_delta, lifted, lifted_delta
from bayesdp.theorems.markov.count import MarkovCount
from bayesdp.theorems.markov.memory import MarkovMemory
from bayesdp.theorems.markov.mixing import MarkovMixing
from bayesdp.theorems.markov.paper import MarkovPaper
from bayesdp.theorems.markov.quilt import MarkovQuilt
from bayesdp.theorems.odds.chain import OddsChainTheorem
from bayesdp.theorems.odds.elimination import OddsElimination
from bayesdp.theorems.odds.ising import OddsIsing
from bayesdp.theorems.odds.network import OddsNetwork
from bayesdp.theorems.odds.series import OddsSeriesTheorem
from bayesdp.theorems.odds.tree import OddsTree
from bayesdp.theorems.registry import theorems
from bayesdp.theorems.spend import Release, Spend

COUNT = Count("active", equals=True)


def odds_chain_of(odds: np.ndarray, hidden: tuple[int, ...]) -> OddsChain:
    return OddsChain(float(odds.max()), length=len(odds))


def series_of(odds: np.ndarray, hidden: tuple[int, ...]) -> OddsSeries:
    distances = [max(float(np.diagonal(odds, apart).max()) * (1 + 1e-12), 1.0) for apart in range(1, len(odds))]
    return OddsSeries(distances or [1.0], gaps=bool(hidden))


def network_of(odds: np.ndarray, hidden: tuple[int, ...]) -> Network:
    pairs = [(a, b, float(odds[a, b])) for b in range(len(odds)) for a in range(b) if odds[a, b] > 1 + 1e-9]
    return Network(edges=pairs, records=len(odds), hidden=hidden)


class TestIndependent(ApproximateContract):
    theorem = IndependentRecords()
    laws = independent_laws()


class TestGeneral(ApproximateContract):
    theorem = GeneralBound()
    laws = group_laws()


class TestMixing(ApproximateContract):
    theorem = MarkovMixing()
    laws = markov_laws()


class TestQuilt(ApproximateContract):
    theorem = MarkovQuilt()
    laws = markov_laws()


class TestPaper(ApproximateContract):
    theorem = MarkovPaper()
    laws = markov_laws(positive=True)


class TestMemory(ApproximateContract):
    theorem = MarkovMemory()
    laws = memory_chain_laws(
        lambda table, records, stationary: MarkovChain(
            table.tolist(), memory=2, length=records, start="stationary" if stationary else "any"
        )
    ).filter(lambda law: law.joint.size <= 81)


class TestOddsChain(ApproximateContract):
    theorem = OddsChainTheorem()
    laws = chain_laws(odds_chain_of)


class TestOddsTree(ApproximateContract):
    theorem = OddsTree()
    laws = tree_laws(network_of, hidden=True) | hidden_chain_laws(
        lambda transition, emission, records: HiddenMarkov(
            transition=transition.tolist(), emission=emission.tolist(), length=records
        )
    )


class TestOddsNetwork(ApproximateContract):
    theorem = OddsNetwork()
    laws = network_laws(network_of)


class TestOddsElimination(ApproximateContract):
    theorem = OddsElimination()
    laws = network_laws(network_of, hidden=True)


class TestOddsSeries(ApproximateContract):
    theorem = OddsSeriesTheorem()
    laws = series_laws(series_of, hidden=True)


class TestOddsIsing(ApproximateContract):
    theorem = OddsIsing()
    laws = additive_laws(lambda odds, hidden: replace(network_of(odds, hidden), additive=True), hidden=True) | (
        additive_laws(lambda odds, hidden: replace(series_of(odds, hidden), additive=True, states=(0, 1)), series=True)
    )


CONTRACTS: list[Any] = [
    contract for contract in list(globals().values()) if isinstance(contract, type) and hasattr(contract, "laws")
]


def test_every_theorem_that_lifts_is_attacked() -> None:
    assert {contract.theorem.name for contract in CONTRACTS} == {
        theorem.name for theorem in theorems() if theorem.covers_every_mechanism
    }


def test_theorems_about_a_certain_noise_do_not_lift() -> None:
    assert {theorem.name for theorem in theorems() if not theorem.covers_every_mechanism} == {
        "markov-count",
        "gaussian-covariance",
        "gaussian-tight",
        "gaussian-walk",
        "gaussian-paper",
    }
    assert Theorem.covers_every_mechanism is False


@given(st.floats(1e-300, 1), st.just(0.0) | st.floats(1e-12, 500), st.floats(1e-6, 500))
def test_the_factor_is_rounded_up_and_back_down(delta: float, epsilon: float, tau: float) -> None:
    from decimal import Decimal, getcontext

    getcontext().prec = 60
    exact = Decimal(delta) * (Decimal(epsilon).exp() - 1) / (Decimal(tau).exp() - 1)
    up = lifted_delta(delta, epsilon, tau)
    assert Decimal(up) >= exact
    if 1e-290 < up < math.inf:
        assert Decimal(up) <= exact * (1 + Decimal("1e-13"))
    allowed = allowed_delta(delta, epsilon, tau)
    assert 0 <= allowed <= 1
    assert lifted_delta(allowed, epsilon, tau) <= delta


def spend_of(loss: Loss, query: Count | Sum | Histogram = COUNT) -> Spend:
    return (Release(query, loss),)


def gaussian(shift: float, scale: float) -> Callable[[float], float]:
    """The exact profile of Gaussian noise (Balle and Wang 2018)."""

    def delta(tau: float) -> float:
        from scipy.stats import norm

        ratio = shift / scale
        first = norm.logsf(tau / ratio - ratio / 2)
        return float(np.exp(first) - np.exp(tau + norm.logsf(tau / ratio + ratio / 2)))

    return delta


SEVEN = MarkovChain([[0.75, 0.25], [0.25, 0.75]], length=7)


def test_reference_seven_records_of_odds_nine() -> None:
    """THEORY §17: Gaussian noise of σ = 8 on the count, at ε = 1: plain DP 1.6e-17, the lift 2.90e-4."""
    noise = PrivacyProfile(gaussian(1, 8), neighbours="replace")
    assert noise.delta_at(1.0) == pytest.approx(1.6e-17, rel=0.05)
    assert lifted(OddsChainTheorem(), SEVEN, spend_of(noise), 2.905e-4).epsilon < 1
    assert lifted(OddsChainTheorem(), SEVEN, spend_of(noise), 2.890e-4).epsilon > 1
    assert lifted(MarkovMixing(), SEVEN, spend_of(noise), 2.401e-4).epsilon < 1


def test_reference_factor_of_odds_17() -> None:
    chain = OddsChain(17.12)
    found = lifted(OddsChainTheorem(), chain, spend_of(ApproximateLoss(0.2441, 1e-7)), None)
    assert found.epsilon == pytest.approx(1.0, abs=2e-4)
    assert found.delta == pytest.approx(6.22e-7, rel=1e-3)


@pytest.mark.parametrize(("count", "deviation"), [(1, 18.6), (10, 58.8), (100, 186)])
def test_reference_deviations_of_gaussian_noise(count: int, deviation: float) -> None:
    spend = tuple(Release(COUNT, ConcentratedLoss(1 / (2 * deviation**2))) for _ in range(count))
    assert lifted(OddsChainTheorem(), OddsChain(17.12), spend, 1e-6).epsilon == pytest.approx(1.0, abs=0.003)


def test_group_privacy_is_a_special_case() -> None:
    found = lifted(GeneralBound(), ArbitraryGroups(4), spend_of(ApproximateLoss(0.5, 1e-5)), None)
    assert found.epsilon == 2.0
    assert found.delta == pytest.approx(1e-5 * sum(math.exp(0.5 * place) for place in range(4)))


def test_independent_records_leak_what_the_noise_does() -> None:
    assert lifted(IndependentRecords(), Independent(), spend_of(ApproximateLoss(1.0, 1e-6)), None).epsilon == 1.0
    found = lifted(IndependentRecords(), Independent(), spend_of(ConcentratedLoss(0.02)), 1e-6)
    assert delta_of_rho(0.02, found.epsilon) <= 1e-6 < delta_of_rho(0.02, found.epsilon * (1 - 1e-6))


def test_a_pure_release_needs_no_delta() -> None:
    assert lifted(MarkovCount(), SEVEN, spend_of(PureLoss(0.3)), None).pure
    assert lifted(OddsChainTheorem(), SEVEN, spend_of(PureLoss(0.3)), None).delta == 0


def test_many_pure_releases_cost_less_with_a_delta() -> None:
    chain, spend = OddsChain(9.0), spend_of(PureLoss(0.001)) * 2000
    alone = lifted(OddsChainTheorem(), chain, spend, None)
    together = lifted(OddsChainTheorem(), chain, spend, 1e-6)
    assert together.epsilon < alone.epsilon / 2
    assert together.delta == 1e-6


def test_groups_take_the_smaller_of_two_ways() -> None:
    """m²·ρ, or the lift: for a group of 2 the first is better at small δ."""
    loss, group = ConcentratedLoss(0.02), ArbitraryGroups(2)
    found = lifted(GeneralBound(), group, spend_of(loss), 1e-6).epsilon
    assert delta_of_rho(0.08, found) <= 1e-6
    for tau in np.linspace(0.3, 2.0, 50):
        if lifted_delta(loss.delta_at(float(tau)), 2 * float(tau), float(tau)) <= 1e-6:
            assert found <= 2 * tau


HEIGHT = Sum("height", bounds=(0, 100))


def test_normal_groups_pay_for_the_square_of_the_shift() -> None:
    group = GaussianGroups(correlation=0.275, size=3)
    found = lifted(GaussianTight(), group, spend_of(ConcentratedLoss(0.01), HEIGHT), 1e-6).epsilon
    shift = 1 + 2 * 0.275
    assert delta_of_rho(0.01 * shift**2 * (1 + 1e-9), found * (1 + 1e-6)) <= 1e-6
    assert delta_of_rho(0.01 * shift**2, found * (1 - 1e-6)) > 1e-6
    two = spend_of(ConcentratedLoss(0.01), HEIGHT) + spend_of(PureLoss(0.1), Sum("height", bounds=(0, 50)))
    assert lifted(GaussianTight(), group, two, 1e-6).epsilon > found


def test_normal_groups_with_other_releases_pay_for_every_record() -> None:
    group = GaussianGroups(covariance=[[1.0, 0.5], [0.5, 1.0]])
    sums = spend_of(ConcentratedLoss(0.01), HEIGHT)
    found = lifted(GaussianCovariance(), group, sums + spend_of(ConcentratedLoss(0.02)), 1e-6).epsilon
    assert found == pytest.approx(
        lifted(IndependentRecords(), Independent(), spend_of(ConcentratedLoss(0.01 * 1.5**2 + 0.02 * 4)), 1e-6).epsilon,
        rel=1e-6,
    )


REFUSED: list[tuple[Theorem, Model, Loss, Count | Sum, float | None, str]] = [
    (MarkovCount(), SEVEN, ConcentratedLoss(0.1), COUNT, 1e-6, "does not lift"),
    (MarkovCount(), SEVEN, ApproximateLoss(0.1, 1e-6), COUNT, None, DOES_NOT_LIFT[:30]),
    (
        GaussianTight(),
        GaussianGroups(correlation=0.2, size=2),
        ApproximateLoss(0.1, 1e-6),
        HEIGHT,
        None,
        "a smaller move",
    ),
    (GeneralBound(), ArbitraryGroups(9), ApproximateLoss(1.0, 0.1), COUNT, None, "1 or more promises nothing"),
    (OddsChainTheorem(), Independent(), ConcentratedLoss(0.1), COUNT, 1e-6, "it is about chains"),
    (OddsChainTheorem(), OddsChain(9.0), ConcentratedLoss(1e6), COUNT, 1e-6, "no epsilon makes its delta"),
]


@pytest.mark.parametrize(("theorem", "model", "loss", "query", "delta", "reason"), REFUSED)
def test_what_is_not_proven_is_refused(
    theorem: Theorem, model: Model, loss: Loss, query: Count | Sum, delta: float | None, reason: str
) -> None:
    with pytest.raises(DoesNotApplyError, match=reason):
        lifted(theorem, model, spend_of(loss, query), delta)


def test_losses_without_a_delta_need_the_delta_of_the_promise() -> None:
    with pytest.raises(InvalidInputError, match="give delta=, that of the promise"):
        lifted(OddsChainTheorem(), OddsChain(9.0), spend_of(ConcentratedLoss(0.1)), None)
