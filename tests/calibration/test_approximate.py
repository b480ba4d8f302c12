"""Noise for a promise of (ε, δ): it keeps the promise, wastes little, and has the smaller error."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.calibration.approximate import ApproximateCalibration, NoiseKind
from bayesdp.concentrated import delta_of_rho
from bayesdp.errors import BayesDPError, CalibrationError, InvalidInputError, NoTheoremAppliesError, QueryError
from bayesdp.losses import ApproximateLoss, ConcentratedLoss, PureLoss
from bayesdp.theorems.spend import Released

COUNT = bdp.Count("active", equals=True)
CHAIN = bdp.OddsChain(17.12)
HEIGHT = bdp.Sum("height", bounds=(0, 100))
FAMILY = bdp.GaussianGroups(correlation=0.275, size=3)
MODELS = [
    (CHAIN, COUNT),
    (bdp.MarkovChain([[0.8, 0.2], [0.3, 0.7]], length=30), bdp.Count(equals=1)),
    (bdp.Independent(), bdp.Histogram("state", cells=["a", "b", "c"])),
    (bdp.ArbitraryGroups(3), COUNT),
    (FAMILY, HEIGHT),
    (bdp.GaussianGroups(covariance=[[1.0, 0.5], [0.5, 2.0]]), HEIGHT),
    (bdp.AnyOf(CHAIN, bdp.ArbitraryGroups(4)), COUNT),
]


def proven(chosen: ApproximateCalibration, model: bdp.Model, spent: list[Released]) -> float:
    """Return what `leakage` says about the noise that was chosen."""
    releases = [*spent, *((chosen.query, chosen.loss) for _ in range(chosen.count))]
    return bdp.leakage(model, releases, delta=chosen.delta or None).epsilon


@given(
    which=st.sampled_from(MODELS),
    epsilon=st.sampled_from([0.1, 1.0, 3.0]),
    delta=st.sampled_from([None, 1e-9, 1e-6, 1e-3]),
    noise=st.sampled_from([None, "laplace", "gaussian"]),
    count=st.sampled_from([1, 2, 30]),
    before=st.booleans(),
)
def test_the_promise_is_kept_and_little_is_wasted(
    which: tuple[bdp.Model, bdp.Query],
    epsilon: float,
    delta: float | None,
    noise: NoiseKind | None,
    count: int,
    before: bool,
) -> None:
    model, query = which
    if delta is None and (noise == "gaussian" or (noise is None and count == 1)):
        return
    spent: list[Released] = [(query, epsilon / 50)] if before else []
    promise: Any = {"epsilon": epsilon, "delta": delta, "noise": noise, "count": count}
    chosen = bdp.calibrate(model, query, spent=spent, **promise)
    assert proven(chosen, model, spent) <= epsilon * (1 + 1e-8)
    more = PureLoss(chosen.tau * 1.001) if chosen.tau else ConcentratedLoss((chosen.rho or 0) * 1.002)
    releases = [*spent, *((query, more) for _ in range(count))]
    assert bdp.leakage(model, releases, delta=delta).epsilon > epsilon
    if noise is not None:
        assert chosen.noise == noise


@pytest.mark.parametrize(("count", "deviation"), [(1, 18.6), (10, 58.8), (100, 186.0), (1000, 588.0)])
def test_reference_deviations(count: int, deviation: float) -> None:
    gaussian = bdp.calibrate(CHAIN, COUNT, epsilon=1, delta=1e-6, count=count, noise="gaussian")
    assert gaussian.scale == pytest.approx(deviation, rel=1e-3)
    assert gaussian.rho is not None
    assert gaussian.tau is None


def test_the_largest_rho_keeps_the_promise_of_the_lift() -> None:
    """δ_zCDP(ρ, τ(ε))·(e^ε − 1)/(e^τ(ε) − 1) ≤ δ, and hardly less."""
    rho = bdp.calibrate(CHAIN, COUNT, epsilon=1, delta=1e-6, noise="gaussian").rho
    assert rho is not None
    tau = bdp.calibrate(CHAIN, bdp.AnyMechanism(), epsilon=1).tau
    factor = (math.e - 1) / math.expm1(tau)
    assert 0.9999e-6 < delta_of_rho(rho, tau) * factor <= 1e-6 * (1 + 1e-12)
    several = bdp.AnyOf(CHAIN, bdp.OddsChain(100.0))
    worst = bdp.calibrate(bdp.OddsChain(100.0), COUNT, epsilon=1, delta=1e-6, noise="gaussian")
    assert bdp.calibrate(several, COUNT, epsilon=1, delta=1e-6, noise="gaussian").rho == worst.rho


def test_gaussian_noise_wins_from_some_ten_counts_on() -> None:
    chosen = {count: bdp.calibrate(CHAIN, COUNT, epsilon=1, delta=1e-6, count=count) for count in (1, 8, 9, 100)}
    assert [chosen[count].noise for count in (1, 8, 9, 100)] == ["laplace", "laplace", "gaussian", "gaussian"]
    one, hundred = chosen[1], chosen[100]
    assert one.pure
    assert one.tau == bdp.calibrate(CHAIN, COUNT, epsilon=1).tau
    assert "Laplace noise was chosen because its error is smaller" in str(one)
    assert "holds even with δ = 0" in str(one)
    assert "Gaussian noise was chosen because its error is smaller" in str(hundred)
    assert "on each of 100 releases of" in str(hundred)


def test_the_noise_errs_less_at_the_beta_asked() -> None:
    """Gaussian tails are lighter: at a small β they win where Laplace noise wins at a large one."""
    often, rarely = (bdp.calibrate(CHAIN, COUNT, epsilon=1, delta=1e-6, count=8, beta=beta) for beta in (0.2, 1e-6))
    assert (often.noise, rarely.noise) == ("laplace", "gaussian")
    for chosen in (often, rarely):
        other: NoiseKind = "laplace" if chosen.noise == "gaussian" else "gaussian"
        rival = bdp.calibrate(CHAIN, COUNT, epsilon=1, delta=1e-6, count=8, noise=other, beta=chosen.beta)
        assert chosen.accuracy(chosen.beta) <= rival.accuracy(chosen.beta)


def test_laplace_noise_of_many_counts_is_cheaper_by_its_rho() -> None:
    many = bdp.calibrate(CHAIN, COUNT, epsilon=1, delta=1e-6, count=100, noise="laplace")
    assert many.scale * math.sqrt(2) == pytest.approx(263, rel=2e-3)
    assert not many.pure
    alone = bdp.calibrate(CHAIN, COUNT, epsilon=1, count=100)
    assert alone.scale * math.sqrt(2) == pytest.approx(579, rel=2e-3)
    assert (alone.delta, alone.noise) == (0.0, "laplace")
    assert "δ is not" not in str(alone)
    assert "Gaussian noise would need a δ" in str(alone)


def test_a_histogram_pays_for_its_move_in_l2() -> None:
    histogram = bdp.Histogram("active", cells=[True, False])
    gaussian = bdp.calibrate(CHAIN, histogram, epsilon=1, delta=1e-6, noise="gaussian")
    count = bdp.calibrate(CHAIN, COUNT, epsilon=1, delta=1e-6, noise="gaussian")
    assert gaussian.scale == pytest.approx(math.sqrt(2) * count.scale)
    assert gaussian.accuracy() > gaussian.accuracy(simultaneous=False)


def test_normal_groups_use_their_own_rho() -> None:
    chosen = bdp.calibrate(FAMILY, HEIGHT, epsilon=1, delta=1e-6, count=20)
    assert (chosen.noise, chosen.theorem) == ("gaussian", "gaussian-tight")
    assert "Gaussian or Laplace noise on clipped sums" in chosen.leakage.scope


def test_from_an_accuracy_the_noise_that_leaks_less_is_chosen() -> None:
    chosen = bdp.calibrate(CHAIN, COUNT, alpha=30, delta=1e-6, count=20)
    assert chosen.accuracy() <= 30
    for noise in ("laplace", "gaussian"):
        assert bdp.calibrate(CHAIN, COUNT, alpha=30, delta=1e-6, count=20, noise=noise).epsilon >= chosen.epsilon
    assert "because it leaks less" in str(chosen)
    laplace: Any = {"alpha": 30, "noise": "laplace"}
    assert bdp.calibrate(CHAIN, COUNT, **laplace).epsilon == bdp.calibrate(CHAIN, COUNT, alpha=30).epsilon


def test_several_promises_at_once() -> None:
    chosen = bdp.calibrate(CHAIN, COUNT, epsilon=[1.0, 2.0], delta=1e-6, noise="gaussian")
    assert [one.epsilon for one in chosen] == [1.0, 2.0]
    assert chosen[1].scale < chosen[0].scale


def test_any_mechanism_gets_a_rho_to_spend() -> None:
    chosen = bdp.calibrate(CHAIN, bdp.AnyMechanism(), epsilon=1, delta=1e-6)
    assert chosen.rho == bdp.calibrate(CHAIN, COUNT, epsilon=1, delta=1e-6, noise="gaussian").rho
    assert "Anything at all with rho" in str(chosen)
    assert chosen.to_dict()["alpha"] is None
    with pytest.raises(QueryError):
        _ = chosen.scale


def test_the_cost_of_any_mechanism_is_stated_for_add_remove() -> None:
    def chosen(**options: Any) -> ApproximateCalibration:
        return bdp.calibrate(CHAIN, bdp.AnyMechanism(), epsilon=1, **options)  # type: ignore[no-any-return]

    for options in ({"delta": 1e-6}, {"delta": 1e-6, "noise": "laplace"}, {"noise": "laplace"}):
        stated, replaced = chosen(neighbours="add-remove", **options), chosen(**options)
        assert stated.loss == replaced.loss
        cost: Any = {"rho": stated.rho, "delta": 1e-6} if stated.rho else {"tau": stated.tau}
        back = bdp.leakage(CHAIN, bdp.AnyMechanism(), neighbours="add-remove", **cost)
        assert back.epsilon == pytest.approx(1, rel=1e-8)
        assert "for adding or removing a record" in str(stated)
        assert stated.to_dict()["neighbours"] == "add-remove"
    with pytest.raises(InvalidInputError, match="neighbours= goes with AnyMechanism"):
        bdp.calibrate(CHAIN, COUNT, epsilon=1, delta=1e-6, neighbours="add-remove")
    with pytest.raises(InvalidInputError, match="neighbours= goes with epsilon="):
        bdp.calibrate(CHAIN, COUNT, alpha=30, delta=1e-6, neighbours="add-remove")


def test_one_theorem_can_be_asked_by_name() -> None:
    chain = bdp.MarkovChain([[0.8, 0.2], [0.3, 0.7]], length=30)
    query = bdp.Count(equals=1)
    plain = bdp.calibrate(chain, query, epsilon=1, theorem="markov-quilt")
    assert (plain.theorem, len(plain.options)) == ("markov-quilt", 1)
    assert plain.tau < bdp.calibrate(chain, query, epsilon=1).tau
    chosen = bdp.calibrate(chain, query, epsilon=1, delta=1e-6, count=50, theorem="markov-quilt")
    assert (chosen.theorem, len(chosen.options)) == ("markov-quilt", 1)
    with pytest.raises(NoTheoremAppliesError, match="markov-quilt"):
        bdp.calibrate(CHAIN, COUNT, epsilon=1, theorem="markov-quilt")
    with pytest.raises(NoTheoremAppliesError, match="markov-quilt"):
        bdp.calibrate(CHAIN, COUNT, epsilon=1, delta=1e-6, theorem="markov-quilt")


def test_the_json_has_noise_scale_and_what_each_question_costs() -> None:
    document = bdp.calibrate(CHAIN, COUNT, epsilon=1, delta=1e-6, count=100).to_dict()
    assert (document["epsilon"], document["delta"], document["noise"], document["count"]) == (
        1.0,
        1e-6,
        "gaussian",
        100,
    )
    assert document["scale"] == pytest.approx(1 / math.sqrt(2 * document["rho"]))
    assert document["tau"] is None
    best = next(one for one in document["theorems"] if one["theorem"] == "odds-chain")
    assert best["applies"]
    assert best["rho"] == document["rho"]
    assert best["alpha"] == document["alpha"]
    laplace = bdp.calibrate(CHAIN, COUNT, epsilon=1, delta=1e-6).to_dict()
    assert (laplace["noise"], laplace["rho"]) == ("laplace", None)
    assert laplace["tau"] == pytest.approx(0.2441, rel=1e-3)


def test_tables_have_every_theorem_and_the_best_of_each_model() -> None:
    text = bdp.calibrate(bdp.AnyOf(CHAIN, bdp.ArbitraryGroups(4)), COUNT, epsilon=1, delta=1e-6, count=100).table()
    assert "any-of" in text
    assert "best" in text
    assert "under model 2: it is about chains of bounded odds" in text


WRONG: list[tuple[dict[str, Any], type[BayesDPError], str]] = [
    ({"noise": "gaussian"}, InvalidInputError, "Gaussian noise keeps no promise without a delta"),
    ({"delta": 1e-6, "noise": "normal"}, InvalidInputError, 'noise must be "laplace" or "gaussian"'),
    ({"delta": 0.0}, InvalidInputError, "delta must lie strictly between 0 and 1, not 0"),
    ({"delta": math.nan}, InvalidInputError, "delta must be a finite number"),
    ({"delta": 1e-6, "count": 0}, InvalidInputError, "count must be at least 1, not 0"),
    ({"theorem": "odds-chain", "credibility": 0.9}, InvalidInputError, "credibility= goes without theorem="),
    ({"delta": 1e-6, "spent": [(COUNT, 5.0)]}, CalibrationError, "no theorem reaches ε = 1 with δ = 1e-06"),
    ({"delta": 1e-6, "spent": [(COUNT, ApproximateLoss(0.1, 1e-3))]}, CalibrationError, "no theorem reaches"),
]


@pytest.mark.parametrize(("options", "kind", "message"), WRONG)
def test_bad_input_is_one_clear_line(options: dict[str, Any], kind: type[BayesDPError], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        bdp.calibrate(CHAIN, COUNT, epsilon=1, **options)
    assert "\n" not in str(caught.value)


def test_questions_without_a_known_noise_are_refused() -> None:
    with pytest.raises(QueryError, match="answered by selections that cost a tau"):
        bdp.calibrate(CHAIN, bdp.Quantile("x", at=0.5, candidates=[0, 1, 2]), epsilon=1, delta=1e-6)
    with pytest.raises(NoTheoremAppliesError):
        bdp.calibrate(FAMILY, COUNT, epsilon=1, delta=1e-6, theorem="gaussian-tight")
