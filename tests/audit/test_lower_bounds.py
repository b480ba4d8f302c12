import json
import math
import tempfile
from typing import Any

import numpy as np
import polars
import pytest
from scipy.stats import norm

import bayesdp as bdp
from bayesdp.audit import lower_bound
from bayesdp.audit.testers import log_ratio_below
from bayesdp.calibration.prior_art import chakrabarti_flip
from bayesdp.errors import InvalidInputError, PromiseBrokenError
from bayesdp.losses import PrivacyProfile
from bayesdp.mechanisms import DiscreteGaussianMechanism, DiscreteLaplaceMechanism

ACTIVITY = bdp.MarkovChain.from_counts([[9713, 1295], [1295, 2955]], length=15264)
COUNT, SUM = bdp.Count(equals=1), bdp.Sum(bounds=(0, 10))
NOISE = np.random.default_rng(20)
BEGIN = NOISE.bit_generator.state

pytestmark = pytest.mark.usefixtures("seeded_noise")  # a bound with a confidence of 99.9 % is wrong once in a thousand


@pytest.fixture(autouse=True)
def noise_of_its_own() -> None:
    """Let each test draw the same noise, whichever ran before it in its process."""
    NOISE.bit_generator.state = BEGIN


def _released(tau: float) -> object:
    """Return our own release of the number of ones, of many data sets at once."""

    def release(data_sets: np.ndarray) -> tuple[int, ...]:
        mechanism = DiscreteLaplaceMechanism(sensitivity=1, tau=tau, dimension=len(data_sets))
        return mechanism.release((data_sets == 1).sum(axis=1).tolist())

    return release


def _noisy_count(tau: float) -> object:
    return lambda data_sets: (data_sets == 1).sum(axis=1) + NOISE.laplace(scale=1 / tau, size=len(data_sets))


def _noisy_sum(tau: float) -> object:
    return lambda data_sets: np.clip(data_sets, 0, 10).sum(axis=1) + NOISE.laplace(scale=10 / tau, size=len(data_sets))


def test_plain_dp_is_caught_on_the_activity_chain() -> None:
    with pytest.raises(PromiseBrokenError) as caught:
        lower_bound(_released(1.0), ACTIVITY, claimed=1.0, confidence=0.999, vectorised=True, seed=1)  # type: ignore[arg-type]
    assert caught.value.lower_bound > caught.value.claimed == 1.0
    evidence = caught.value.evidence
    assert isinstance(evidence, bdp.audit.LowerBound)
    assert evidence.contradicted
    assert evidence.epsilon <= bdp.leakage(ACTIVITY, COUNT, tau=1.0).epsilon


STRONG = bdp.MarkovChain([[0.9, 0.1], [0.1, 0.9]])
"""Odds of 81: with Gaussian noise of σ = 8, δ at ε = 1 is at least 0.07 instead of 1.6e-17."""


def _plain_gaussian(scale: float) -> tuple[object, float]:
    """Return discrete Gaussian noise on the number of ones, and the δ that OpenDP states for it at ε = 1."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    longest = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    measurement = dp.m.make_gaussian(*longest, scale=scale)
    converted: Any = dp.c.make_zCDP_to_approxDP(measurement)
    profile = converted.map(1.0)
    return lambda data_sets: measurement((data_sets == 1).sum(axis=1).tolist()), profile.delta(1.0)


def test_a_plain_delta_of_gaussian_noise_is_contradicted() -> None:
    """OpenDP's own measurement and its own δ, which is right for independent records."""
    release, delta = _plain_gaussian(8.0)
    assert delta < 1e-14
    with pytest.raises(PromiseBrokenError, match="at ε = 1 is claimed, but it is at least 0") as caught:
        lower_bound(
            release,  # type: ignore[arg-type]
            STRONG,
            COUNT,
            claimed=1.0,
            delta=delta,
            runs=30_000,
            confidence=0.999,
            vectorised=True,
            seed=1,
        )
    evidence = caught.value.evidence
    assert isinstance(evidence, bdp.audit.LowerBound)
    assert evidence.contradicted
    assert evidence.delta == caught.value.lower_delta > 0.01 > delta == evidence.claimed_delta
    proven = bdp.leakage(STRONG, COUNT, rho=1 / 128, delta=evidence.delta).epsilon
    assert proven > 1  # no theorem denies what the audit found


@pytest.mark.slow
def test_a_plain_delta_is_contradicted_at_odds_of_nine() -> None:
    """The true δ is below 3e-4: it takes tens of millions of runs."""
    chain = bdp.MarkovChain([[0.75, 0.25], [0.25, 0.75]])

    def release(data_sets: np.ndarray) -> np.ndarray:
        return np.asarray((data_sets == 1).sum(axis=1) + NOISE.normal(scale=8.0, size=len(data_sets)))

    claim = {"claimed": 1.0, "delta": _exact_profile(1.0), "confidence": 0.999, "runs": 40_000_000}
    with pytest.raises(PromiseBrokenError) as caught:
        lower_bound(release, chain, COUNT, vectorised=True, seed=1, **claim)  # type: ignore[arg-type]
    assert 1e-4 < caught.value.lower_delta < 3e-4


def test_a_plain_delta_of_independent_records_is_not() -> None:
    release, delta = _plain_gaussian(8.0)
    options = {"claimed": 1.0, "delta": delta, "runs": 30_000, "confidence": 0.999, "vectorised": True, "seed": 1}
    found = lower_bound(release, bdp.Independent(), COUNT, **options)  # type: ignore[arg-type]
    assert (found.contradicted, found.delta, found.claimed_delta) == (False, 0.0, delta)
    assert found.epsilon < 0.5  # 0.02 on average, with a standard deviation of 0.03


def test_our_own_gaussian_noise_is_not_accused() -> None:
    calibrated = bdp.calibrate(STRONG, COUNT, epsilon=1.0, delta=0.05, noise="gaussian")
    assert calibrated.rho is not None
    rho = calibrated.rho

    def release(data_sets: np.ndarray) -> tuple[int, ...]:
        mechanism = DiscreteGaussianMechanism(1, rho, dimension=len(data_sets))
        return mechanism.release((data_sets == 1).sum(axis=1).tolist())

    options = {"runs": 10_000, "confidence": 0.999, "vectorised": True, "seed": 2}
    assert lower_bound(release, STRONG, COUNT, claimed=1.0, delta=0.05, **options).delta <= 0.05  # type: ignore[arg-type]


def _exact_profile(tau: float) -> float:
    """Return δ(τ) of Gaussian noise of σ = 8 on a count (Balle and Wang 2018)."""
    return max(0.0, float(norm.sf(8 * tau - 1 / 16) - math.exp(tau) * norm.sf(8 * tau + 1 / 16)))


def _approximate_audits(number: int, runs: int) -> list[float]:
    """Return the least δ found, as a share of what the library proves from the noise's exact profile."""
    profile = PrivacyProfile(_exact_profile, neighbours="replace")
    leaked = bdp.leakage(STRONG, bdp.AnyMechanism(), profile=profile, delta=0.1)

    def release(data_sets: np.ndarray) -> np.ndarray:
        return np.asarray((data_sets == 1).sum(axis=1) + NOISE.normal(scale=8.0, size=len(data_sets)))

    claim: Any = {"claimed": leaked.epsilon, "delta": leaked.delta, "confidence": 0.999}
    return [
        lower_bound(release, STRONG, COUNT, runs=runs, vectorised=True, seed=audit, **claim).delta / leaked.delta
        for audit in range(number)
    ]


@pytest.mark.slow
def test_a_proven_delta_is_not_accused() -> None:
    assert max(_approximate_audits(2, 50_000)) <= 1


@pytest.mark.slow
def test_a_proven_delta_is_not_accused_in_two_hundred_audits() -> None:
    shares = _approximate_audits(200, 100_000)
    assert 0 < min(shares) <= max(shares) <= 1  # each audit found some of it


def test_what_the_lift_promises_of_a_published_record_is_kept() -> None:
    """An event that is (0.2, 0.02)-DP, and nothing better: it publishes a record with probability 0.02."""

    def release(data_sets: np.ndarray) -> np.ndarray:
        published = NOISE.random(len(data_sets)) < 0.02
        middle = data_sets[:, data_sets.shape[1] // 2]
        noisy = (data_sets == 1).sum(axis=1) + NOISE.laplace(scale=5.0, size=len(data_sets))
        return np.stack([published, np.where(published, middle, noisy)], axis=1)

    leaked = bdp.leakage(STRONG, bdp.AnyMechanism(), tau=0.2, delta=0.02, neighbours="replace")
    options = {"runs": 100_000, "confidence": 0.999, "vectorised": True, "seed": 4}
    found = lower_bound(release, STRONG, claimed=leaked.epsilon, delta=leaked.delta, **options)  # type: ignore[arg-type]
    assert not found.contradicted
    with pytest.raises(PromiseBrokenError):
        lower_bound(release, STRONG, claimed=0.2, delta=0.02, **options)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "kept"), [(bdp.ArbitraryGroups(3), True), (bdp.Independent(), False)])
def test_a_session_is_audited_like_any_function(model: bdp.Model, kept: bool) -> None:
    """One that assumes independent records does not keep its ε where three are equal."""

    def released(records: list[int]) -> float:
        table = polars.DataFrame({"ill": records})
        with (
            tempfile.TemporaryDirectory() as folder,
            bdp.Session(table, model, epsilon=1.0, ledger=f"{folder}/budget.db", dataset="audited") as session,
        ):
            value = session.release(bdp.Count("ill", equals=1), epsilon=1.0).value
            assert isinstance(value, int)
            return float(value)

    try:
        found = lower_bound(released, bdp.ArbitraryGroups(3), claimed=1.0, delta=1e-6, runs=200, seed=1)
    except PromiseBrokenError:
        assert not kept
    else:
        assert kept
        assert not found.contradicted


def test_a_function_of_one_data_set_is_a_mechanism() -> None:
    with pytest.raises(PromiseBrokenError):
        lower_bound(lambda records: sum(records) + NOISE.laplace(), ACTIVITY, claimed=1.0, runs=3000, seed=1)


def _audits(number: int, runs: int) -> list[float]:
    release = _released(bdp.calibrate(ACTIVITY, COUNT, epsilon=1.0).tau)
    options = {"claimed": 1.0, "confidence": 0.999, "runs": runs, "vectorised": True}
    return [lower_bound(release, ACTIVITY, COUNT, seed=audit, **options).epsilon for audit in range(number)]  # type: ignore[arg-type]


def test_our_own_release_is_not_accused() -> None:
    assert max(_audits(2, 4000)) <= 1


@pytest.mark.slow
def test_our_own_release_is_not_accused_in_two_hundred_audits() -> None:
    assert 0.2 < max(_audits(200, 20_000)) <= 1


@pytest.mark.slow
def test_the_published_randomized_response_is_caught() -> None:
    """Chakrabarti et al. at ε = 13: the third of five records, the first and the last known (the oracle says 14.06).

    The event occurs in one run of four, or in one of five million: it takes tens of millions of runs to be sure.
    """
    switch, noise = 0.2, np.random.default_rng(13)
    chain = bdp.MarkovChain([[1 - switch, switch], [switch, 1 - switch]], length=5)
    flip = chakrabarti_flip(switch, 13.0)

    def randomized_response(bits: np.ndarray) -> np.ndarray:
        return bits ^ (noise.random(bits.shape) < flip)

    with pytest.raises(PromiseBrokenError, match="ε = 13 is claimed") as caught:
        lower_bound(randomized_response, chain, claimed=13.0, vectorised=True, runs=60_000_000, seed=1)
    assert 13 < caught.value.lower_bound < 14.06


@pytest.mark.parametrize(
    ("model", "query", "release"),
    [
        (bdp.OddsChain(9.0), COUNT, _noisy_count),
        (bdp.HiddenMarkov(transition_odds=81.0, emission_odds=9.0), COUNT, _noisy_count),
        (bdp.Network(odds=1.5, degree=4), COUNT, _noisy_count),
        (bdp.Network(records=4, edges=[(0, 1, 9.0), (1, 2, 9.0)]), COUNT, _noisy_count),
        (bdp.ArbitraryGroups(3), COUNT, _noisy_count),
        (bdp.Independent(), COUNT, _noisy_count),
        (bdp.MarkovChain([[[0.9, 0.1], [0.6, 0.4]], [[0.7, 0.3], [0.2, 0.8]]], memory=2), COUNT, _noisy_count),
        (bdp.MarkovChain(np.full((3, 3), 0.2) + 0.4 * np.eye(3)), COUNT, _noisy_count),
        (bdp.GaussianGroups(correlation=0.275, size=3), SUM, _noisy_sum),
        (bdp.GaussianGroups(covariance=[[4, 2, 2], [2, 4, 0], [2, 0, 4]]), SUM, _noisy_sum),
        (bdp.GaussianSeries([0.5]), SUM, _noisy_sum),
        (bdp.AnyOf(bdp.Independent(), bdp.ArbitraryGroups(2)), COUNT, _noisy_count),
    ],
)
def test_the_bound_stays_below_what_is_proven(model: bdp.Model, query: bdp.Query, release: object) -> None:
    found = lower_bound(release(1.0), model, query, runs=20_000, confidence=0.9999, vectorised=True, seed=3)  # type: ignore[operator]
    assert 0.3 < found.epsilon <= bdp.leakage(model, query, tau=1.0).epsilon


def test_lists_and_texts_are_outputs_too() -> None:
    chain = bdp.MarkovChain([[0.9, 0.1], [0.1, 0.9]])

    def reports(records: list[int]) -> list[int]:
        return [record if NOISE.random() < 0.8 else 1 - record for record in records]

    def word(records: list[int]) -> str:
        return "many" if sum(reports(records)) > len(records) / 2 else "few"

    for mechanism in (reports, word):
        assert 0.2 < lower_bound(mechanism, chain, runs=3000, seed=2).epsilon <= 5.6


def test_long_lists_are_scored() -> None:
    chain = bdp.MarkovChain([[0.9, 0.1], [0.1, 0.9]], length=41)

    def noisy(data_sets: np.ndarray) -> np.ndarray:
        return data_sets + NOISE.laplace(scale=1.0, size=data_sets.shape)

    assert lower_bound(noisy, chain, runs=20_000, vectorised=True, seed=2).epsilon > 1


def test_it_is_a_document() -> None:
    found = lower_bound(sum, bdp.ArbitraryGroups(2), runs=200, claimed=90.0, seed=1)
    document = found.to_dict()
    assert (document["kind"], document["schema"], document["contradicted"]) == ("lower-bound", 1, False)
    json.dumps(document, allow_nan=False)
    assert "Claimed: ε = 90. Too few runs to contradict that: they can show at most ε = 3.2" in str(found)
    assert (document["claimed_delta"], document["delta"]) == (0.0, found.delta)
    assert document["reach"] == found.reach == pytest.approx(log_ratio_below(np.array([100]), np.array([0]), 100, 0.95))


def test_a_claim_with_a_delta_prints_both_bounds() -> None:
    found = lower_bound(sum, bdp.ArbitraryGroups(2), runs=2000, claimed=2.0, delta=0.999, seed=1)
    assert str(found).replace("\n", " ").startswith("At ε = 2, δ is at least 0.9")
    assert "and at δ = 0.999, ε is at least 0, with a confidence of 95 %" in str(found).replace("\n", " ")
    assert "Claimed: ε = 2 with δ = 0.999. Too few runs to contradict" in str(found).replace("\n", " ")
    document = found.to_dict()
    assert (document["claimed_delta"], document["delta"], document["contradicted"]) == (0.999, found.delta, False)


def test_refusals() -> None:
    with pytest.raises(InvalidInputError, match="delta= needs claimed=, the ε of the claim"):
        lower_bound(sum, ACTIVITY, delta=0.1)
    for delta in (0.0, 1.0, math.nan):
        with pytest.raises(InvalidInputError, match="delta must"):
            lower_bound(sum, ACTIVITY, claimed=1.0, delta=delta)
    with pytest.raises(InvalidInputError, match="cannot be called; wrap it"):
        lower_bound(object(), ACTIVITY)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="expected a model"):
        lower_bound(sum, "chain")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="need the bounds"):
        lower_bound(sum, bdp.GaussianGroups(correlation=0.2, size=2))
    with pytest.raises(InvalidInputError, match="finite number"):
        lower_bound(lambda records: None, ACTIVITY, runs=200)
    with pytest.raises(InvalidInputError, match="finite number"):
        lower_bound(lambda records: math.nan, ACTIVITY, runs=200)
    with pytest.raises(InvalidInputError, match="a row for each data set"):
        lower_bound(lambda data_sets: [1.0], ACTIVITY, runs=200, vectorised=True)
    with pytest.raises(InvalidInputError, match="runs must be"):
        lower_bound(sum, ACTIVITY, runs=10)
