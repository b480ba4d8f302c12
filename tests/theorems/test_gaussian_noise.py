"""What Gaussian noise truly leaks, by enumerating adversaries and integrating over answers, beside what is proven."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import norm

from bayesdp import Count, GaussianGroups, MarkovChain, Sum, calibrate
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.losses import ConcentratedLoss
from bayesdp.theorems.gaussian.covariance import GaussianCovariance
from bayesdp.theorems.lift import lifted, lifted_delta
from bayesdp.theorems.markov.mixing import MarkovMixing
from bayesdp.theorems.odds.chain import OddsChainTheorem
from bayesdp.theorems.spend import Release

Floats = NDArray[np.float64]
COUNT = Count(equals=1)


def profile(shift: float, scale: float, tau: float) -> float:
    """δ(τ) of Gaussian noise whose centre moves by `shift` (Balle and Wang 2018)."""
    ratio = shift / scale
    first, second = norm.logsf(tau / ratio - ratio / 2), norm.logsf(tau / ratio + ratio / 2)
    return float(np.exp(first) - np.exp(tau + second))


def sides(rows: Floats, longest: int) -> list[list[Floats]]:
    """Return the laws of how many of the records beside a target are 1, given its value: a row for each value.

    They are listed by how many records there are in all, beside the target: some are unknown, and then either one is
    known or the chain ends. rows: the transitions away from the target.
    """
    known = [np.eye(2)[:, :, None] * 1.0]  # [value here][value of the known record][ones between]
    found: list[list[Floats]] = [[np.ones((2, 1))]]
    ends = np.ones((2, 1))
    for between in range(longest):
        arrived = np.einsum("xv,vkc->xkc", rows, known[-1])
        conditional = arrived / arrived.sum(axis=2, keepdims=True)
        ends = stepped(rows, ends)
        found.append([conditional[:, value] for value in range(2)] + [ends])
        padded = np.zeros((2, 2, between + 2))
        padded[0, :, :-1], padded[1, :, 1:] = arrived[0], arrived[1]
        known.append(padded)
    return found


def stepped(rows: Floats, law: Floats) -> Floats:
    """Return the law of the ones among one record more: the next, and those after it that `law` is about."""
    beyond = np.zeros((2, law.shape[1] + 1))
    beyond[0, :-1], beyond[1, 1:] = law[0], law[1]
    return np.asarray(rows @ beyond)


def adversaries(rows: Floats, length: int) -> Iterator[Floats]:
    """Yield the law of the count, up to a constant, given each value of the target, for every adversary."""
    start = np.linalg.matrix_power(rows, 4096)[0]
    before = (rows * start[:, None]).T / start[:, None]
    left, right = sides(before, length - 1), sides(rows, length - 1)
    for target in range(length):
        for a, b in itertools.product(range(target + 1), range(length - target)):
            lefts = left[a] if a == target else left[a][:-1]
            rights = right[b] if b == length - 1 - target else right[b][:-1]
            for first, second in itertools.product(lefts, rights):
                law = np.stack([np.convolve(first[value], second[value]) for value in range(2)])
                yield np.stack([np.append(law[0], 0.0), np.append(0.0, law[1])])


def true_delta(rows: Floats, length: int, scale: float, epsilon: float) -> float:
    """Return the smallest δ with which Gaussian noise on the count of a stationary chain is (ε, δ)-BDP."""
    answers, step = np.linspace(-12 * scale, length + 12 * scale, 6001, retstep=True)
    densities = norm.pdf(answers[None, :] - np.arange(length + 1)[:, None], scale=scale)
    worst = 0.0
    for law in adversaries(rows, length):
        more, less = law @ densities[: law.shape[1]]
        for p, q in ((more, less), (less, more)):
            worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * step))
    return worst


def lifted_profile(theorem: MarkovMixing | OddsChainTheorem, chain: MarkovChain, scale: float, epsilon: float) -> float:
    (tau,) = largest_taus(theorem, chain, COUNT, [epsilon])
    assert tau is not None
    return lifted_delta(profile(1, scale, tau), epsilon, tau)


def test_reference_seven_records_of_odds_nine() -> None:
    """THEORY §17: σ = 8, ε = 1: plain DP states 1.6e-17, the truth is 1.92e-4, the lift says 2.90e-4."""
    rows = np.array([[0.75, 0.25], [0.25, 0.75]])
    chain = MarkovChain(rows.tolist(), length=7)
    assert profile(1, 8, 1.0) == pytest.approx(1.6e-17, rel=0.05)
    assert true_delta(rows, 7, 8, 1.0) == pytest.approx(1.92e-4, rel=3e-3)
    assert lifted_profile(OddsChainTheorem(), chain, 8, 1.0) == pytest.approx(2.90e-4, rel=3e-3)


def judged(generator: np.random.Generator, chains: int) -> tuple[int, int, int]:
    """Return how many random chains were measured, how many have a δ that matters, and of these how many are close."""
    measured = counted = close = 0
    while measured < chains:
        stay = generator.uniform(0.6, 0.95, size=2) if generator.random() < 0.8 else generator.uniform(0.05, 0.95, 2)
        rows = np.array([[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]])
        length, epsilon = int(generator.integers(2, 8)), generator.uniform(0.1, 1.0)
        scale = math.exp(generator.uniform(0, 3))
        chain = MarkovChain(rows.tolist(), length=length)
        truth = true_delta(rows, length, scale, epsilon)
        bound = lifted_profile(MarkovMixing(), chain, scale, epsilon)
        assert truth <= bound * (1 + 1e-6) + 1e-15, (rows, length, scale, epsilon)
        measured += 1
        if truth > 1e-8 and min(stay) >= 0.6:
            counted += 1
            close += bound <= 2 * truth
    return measured, counted, close


def test_the_lift_is_above_the_truth() -> None:
    _, counted, close = judged(np.random.default_rng(1), 40)
    assert close >= counted / 2 > 0


@pytest.mark.slow
def test_the_lift_is_above_the_truth_and_close_on_most_chains() -> None:
    measured, counted, close = judged(np.random.default_rng(7), 600)
    assert measured == 600
    assert close >= counted / 2 > 50, (counted, close)


def sum_densities(
    covariance: Floats, known: int, distance: float, scale: float, grid: float, answers: Floats
) -> tuple[Floats, Floats]:
    """Return the densities of the noisy sum of clipped, rounded records in [0, 1], given two values of record 0.

    known: how many of the other records the adversary knows; all have the value 0.3. The last one is unknown.
    """
    size = len(covariance)
    given, unknown = [0, *range(1, 1 + known)], list(range(1 + known, size))
    solve = np.linalg.solve(covariance[np.ix_(given, given)], covariance[np.ix_(given, unknown)])
    spread = covariance[np.ix_(unknown, unknown)] - covariance[np.ix_(unknown, given)] @ solve
    low = 0.5 - distance / 2
    found = []
    for value in (low, low + distance):
        values = np.array([value, *([0.3] * known)])
        mean = solve.T @ (values - 0.5) + 0.5
        nodes, weights = np.polynomial.hermite_e.hermegauss(61)
        points = np.array(list(itertools.product(nodes, repeat=len(unknown))))
        mass = np.prod(np.array(list(itertools.product(weights, repeat=len(unknown)))), axis=1)
        records = mean + points @ np.linalg.cholesky(spread).T
        everyone = np.concatenate([np.broadcast_to(values, (len(points), len(values))), records], axis=1)
        sums = placed(everyone, grid).sum(axis=1)
        totals, where = np.unique(sums.round(12), return_inverse=True)
        share = np.bincount(where, weights=mass / mass.sum())
        kept = share > 1e-14
        found.append((share[kept][:, None] * norm.pdf(answers - totals[kept][:, None], scale=scale)).sum(axis=0))
    return found[0], found[1]


def placed(values: Floats, grid: float) -> Floats:
    clipped = np.clip(values, 0.0, 1.0)
    return np.asarray(np.floor(clipped / grid + 0.5) * grid if grid else clipped)


@st.composite
def covariances(draw: st.DrawFn) -> Floats:
    size = draw(st.sampled_from([2, 2, 3]))
    factors = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).normal(size=(size, size))
    covariance = factors @ factors.T + 0.1 * np.eye(size)
    return np.asarray(covariance * draw(st.floats(0.02, 2.0)))


@settings(max_examples=3 * settings().max_examples)
@given(
    covariance=covariances(),
    distance=st.floats(0.1, 3.0),
    scale=st.floats(0.5, 4.0),
    epsilon=st.floats(0.1, 2.0),
    grid=st.sampled_from([0.0, 0.25, 1.0]),
    knows=st.booleans(),
)
def test_normal_groups_leak_at_most_the_profile_at_the_shift(
    covariance: Floats, distance: float, scale: float, epsilon: float, grid: float, knows: bool
) -> None:
    answers, step = np.linspace(-9 * scale, 3 + 9 * scale, 6000, retstep=True)
    known = len(covariance) - 2 if knows else 0
    densities = sum_densities(covariance, known, distance, scale, grid, answers)
    truth = max(
        float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * step) for p, q in itertools.permutations(densities)
    )
    model = GaussianGroups(covariance=covariance.tolist(), distance=distance)
    query = Sum(bounds=(0.0, 1.0), step=grid or None)
    rho = 1 / (2 * scale**2)
    spend = (Release(query, ConcentratedLoss(rho)),)
    shift = math.sqrt((GaussianCovariance().concentrated(model, spend) or 0.0) / rho)
    assert truth <= profile(shift, scale, epsilon) * (1 + 1e-5) + 1e-9
    if 1e-12 < truth < 0.999:
        assert lifted(GaussianCovariance(), model, spend, truth).epsilon >= epsilon * (1 - 1e-4) - 1e-6


@settings(max_examples=2 * settings().max_examples)
@given(
    stay=st.tuples(st.floats(0.55, 0.95), st.floats(0.3, 0.95)),
    length=st.integers(1, 6),
    epsilon=st.floats(0.1, 2.0),
    delta=st.sampled_from([1e-9, 1e-6, 1e-3]),
    count=st.sampled_from([1, 10]),
)
def test_what_is_calibrated_keeps_its_promise(
    stay: tuple[float, float], length: int, epsilon: float, delta: float, count: int
) -> None:
    """The mean of k noisy counts is as good as all of them: its noise is √k times as narrow."""
    rows = np.array([[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]])
    chain = MarkovChain(rows.tolist(), length=length)
    chosen = calibrate(chain, COUNT, epsilon=epsilon, delta=delta, count=count, noise="gaussian")
    truth = true_delta(rows, length, chosen.scale / math.sqrt(count), epsilon)
    assert truth <= delta * (1 + 1e-5)
    if length == 1:  # only the account in ρ loses: records that anti-correlate leak far less in a count
        assert truth >= delta / 100
