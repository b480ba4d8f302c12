"""Leakage in (ε, δ): what callers give, what they get, and what it says."""

from __future__ import annotations

import math
from typing import Any

import pytest

import bayesdp as bdp
from bayesdp.concentrated import delta_of_rho
from bayesdp.errors import BayesDPError, InvalidInputError, NoTheoremAppliesError
from bayesdp.losses import ApproximateLoss, ConcentratedLoss, Neighbours, PrivacyProfile
from bayesdp.theorems.approximate import ApproximateLeakage, as_losses
from bayesdp.theorems.lift import lifted_delta

COUNT = bdp.Count("active", equals=True)
CHAIN = bdp.OddsChain(17.12)
PROFILE = PrivacyProfile(lambda tau: delta_of_rho(0.00144, tau), neighbours="replace", name="Opacus")


def test_a_mechanisms_delta_becomes_that_of_the_promise() -> None:
    leaked = bdp.leakage(CHAIN, COUNT, tau=0.2441, delta=1e-7)
    assert isinstance(leaked, ApproximateLeakage)
    assert leaked.epsilon == bdp.leakage(CHAIN, COUNT, tau=0.2441).epsilon
    assert leaked.delta == lifted_delta(1e-7, leaked.epsilon, 0.2441)
    assert (leaked.theorem, leaked.loss) == ("odds-chain", ApproximateLoss(0.2441, 1e-7))


def test_a_rho_and_a_profile_take_the_delta_of_the_promise() -> None:
    by_rho, by_profile = (
        bdp.leakage(CHAIN, COUNT, delta=1e-6, **loss) for loss in ({"rho": 0.00144}, {"profile": PROFILE})
    )
    assert by_rho.epsilon == pytest.approx(0.9982, abs=1e-3)
    assert by_profile.epsilon == pytest.approx(by_rho.epsilon, rel=1e-6)
    assert by_rho.delta == by_profile.delta == 1e-6


def test_plain_privacy_states_far_less_than_the_truth() -> None:
    """The figure of the README: σ = 8 on a count of seven records of odds 9."""
    chain = bdp.OddsChain(9.0, length=7)
    assert delta_of_rho(1 / 128, 1.0) < 1e-15
    assert bdp.leakage(chain, COUNT, rho=1 / 128, delta=1.5e-3).epsilon < 1
    assert bdp.leakage(chain, COUNT, rho=1 / 128, delta=1.92e-4).epsilon > 1


@pytest.mark.parametrize(
    ("loss", "as_if"),
    [
        ({"tau": 0.1, "delta": 1e-6}, {"tau": 0.2, "delta": (1 + math.exp(0.1)) * 1e-6}),
        ({"rho": 0.001, "delta": 1e-6}, {"rho": 0.004, "delta": 1e-6}),
        ({"tau": 0.1}, {"tau": 0.2}),
    ],
)
def test_losses_for_adding_or_removing_a_record_cost_more(loss: dict[str, Any], as_if: dict[str, Any]) -> None:
    converted = bdp.leakage(CHAIN, bdp.AnyMechanism(), neighbours="add-remove", **loss)
    direct = bdp.leakage(CHAIN, bdp.AnyMechanism(), neighbours="replace", **as_if)
    assert converted.epsilon == pytest.approx(direct.epsilon, rel=1e-9)
    assert converted.delta == pytest.approx(direct.delta, rel=1e-9)


def test_releases_of_several_kinds_are_converted_together() -> None:
    releases: list[Any] = [(COUNT, ConcentratedLoss(0.001)), (COUNT, 0.01), (COUNT, ApproximateLoss(0.01, 1e-9))]
    leaked = bdp.leakage(CHAIN, releases, delta=1e-6)
    assert leaked.epsilon > bdp.leakage(CHAIN, releases[:1], delta=1e-6).epsilon
    assert bdp.leakage(CHAIN, releases[1:]).delta == pytest.approx(lifted_delta(1e-9, 0.0827, 0.02), rel=1e-2)
    pure = [(COUNT, 0.0005)] * 1000
    assert bdp.leakage(CHAIN, pure, delta=1e-6).epsilon < bdp.leakage(CHAIN, pure).epsilon


def test_models_that_may_hold_all_count() -> None:
    both = bdp.leakage(bdp.AnyOf(CHAIN, bdp.ArbitraryGroups(2)), COUNT, tau=0.1, delta=1e-6)
    parts = [bdp.leakage(model, COUNT, tau=0.1, delta=1e-6) for model in (CHAIN, bdp.ArbitraryGroups(2))]
    assert both.epsilon == max(part.epsilon for part in parts)
    assert both.delta == max(part.delta for part in parts)
    assert both.headline == "any-of"
    assert "under model 2: theorem general" in str(both)


def test_one_theorem_can_be_asked_by_name() -> None:
    chain = bdp.MarkovChain([[0.8, 0.2], [0.2, 0.8]], length=20)
    losses: list[Any] = [{"tau": 0.1}, {"tau": 0.1, "delta": 1e-9}, {"rho": 0.001, "delta": 1e-6}]
    for loss in losses:
        asked = bdp.leakage(chain, bdp.Count(equals=1), theorem="markov-quilt", **loss)
        assert asked.theorem == "markov-quilt"
        assert len(asked.assessments) == 1
    with pytest.raises(NoTheoremAppliesError, match="markov-quilt: it is about Markov chains"):
        bdp.leakage(CHAIN, COUNT, tau=0.1, theorem="markov-quilt")
    with pytest.raises(InvalidInputError, match="there is no theorem 'quilt'"):
        bdp.leakage(CHAIN, COUNT, tau=0.1, theorem="quilt")


def test_it_prints_what_delta_means_and_what_it_does_not() -> None:
    said = str(bdp.leakage(bdp.OddsChain(17.12, length=500), COUNT, tau=0.2, delta=1e-3))
    assert "δ is not the probability that the bound fails" in said
    assert "docs/theory/approximate.md" in said
    assert "is right in at most" in said
    assert "is more than one in the 500 records" in said
    assert "is more than one" not in str(bdp.leakage(CHAIN, COUNT, tau=0.2, delta=1e-3))
    assert "e^ε = 2.7" in str(bdp.leakage(CHAIN, COUNT, rho=0.00144, delta=1e-6))
    assert "odds-chain" in bdp.leakage(CHAIN, COUNT, rho=0.00144, delta=1e-6).table()
    assert "hardly a promise" in str(bdp.leakage(CHAIN, COUNT, rho=5.0, delta=1e-6))


def test_the_attackers_share_is_what_is_proven() -> None:
    said = str(bdp.leakage(bdp.Independent(), COUNT, tau=1.0, delta=0.1))
    exact = 100 * (math.e + 0.1) / (1 + math.e)
    assert f"right in at most {math.ceil(exact * 100) / 100:g} % of cases" in said


def test_the_json_has_delta_rho_and_noise() -> None:
    by_rho = bdp.leakage(CHAIN, COUNT, rho=0.00144, delta=1e-6).to_dict()
    assert (by_rho["delta"], by_rho["rho"], by_rho["noise"], by_rho["tau"]) == (1e-6, 0.00144, "gaussian", None)
    assert by_rho["alpha"] == pytest.approx(1.96 * by_rho["scale"], rel=1e-3)
    by_tau = bdp.leakage(CHAIN, COUNT, tau=0.2441, delta=1e-7).to_dict()
    assert (by_tau["tau"], by_tau["mechanism_delta"], by_tau["rho"], by_tau["scale"]) == (0.2441, 1e-7, None, None)
    best = next(one for one in by_tau["theorems"] if one["theorem"] == "odds-chain")
    assert (best["applies"], best["delta"]) == (True, by_tau["delta"])
    assert (
        bdp.leakage(CHAIN, bdp.AnyMechanism(), rho=0.00144, delta=1e-6, neighbours="replace").to_dict()["scale"] is None
    )


@pytest.mark.parametrize("loss", [{"tau": 0.1, "delta": 1e-6}, {"rho": 0.001, "delta": 1e-6}])
def test_a_loss_from_elsewhere_needs_its_neighbours(loss: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match='needs neighbours="replace" or neighbours="add-remove"'):
        bdp.leakage(CHAIN, bdp.AnyMechanism(), **loss)
    replaced, added = (bdp.leakage(CHAIN, bdp.AnyMechanism(), neighbours=kind, **loss) for kind in KINDS)
    assert added.epsilon > replaced.epsilon


KINDS: tuple[Neighbours, ...] = ("replace", "add-remove")

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"tau": 1.0, "rho": 1.0}, "tau= and rho= are each the whole loss of the release: give one of them"),
    ({"rho": 0.1}, "rho= needs delta=, that of the promise"),
    ({"profile": PROFILE}, "profile= needs delta="),
    ({"rho": -1.0, "delta": 1e-6}, "rho must be greater than 0, not -1"),
    ({"rho": math.nan, "delta": 1e-6}, "rho must be a finite number"),
    ({"tau": 0.0, "delta": 1e-6}, "tau must be greater than 0, not 0"),
    ({"tau": 1.0, "delta": 0.0}, "delta must lie strictly between 0 and 1, not 0"),
    ({"tau": 1.0, "delta": 1.0}, "delta must lie strictly between 0 and 1, not 1"),
    ({"tau": 1.0, "delta": math.nan}, "delta must be a finite number, not nan"),
    ({"profile": lambda tau: 0.1, "delta": 1e-6}, "profile must be a PrivacyProfile"),
    ({"profile": PROFILE, "delta": 1e-6, "neighbours": "replace"}, "a profile is for the neighbours"),
    ({"tau": 1.0, "neighbours": "unbounded"}, 'neighbours must be "replace" or "add-remove"'),
    ({"rho": 0.1, "delta": 1e-6, "target": 3}, "target= and known= require tau= alone"),
    ({"delta": 1e-6}, "say how private the release is"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_bad_input_is_one_clear_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BayesDPError, match=message) as caught:
        bdp.leakage(CHAIN, COUNT, **options)
    assert "\n" not in str(caught.value)


def test_several_releases_bring_their_own_losses() -> None:
    with pytest.raises(InvalidInputError, match="several releases bring their own losses"):
        bdp.leakage(CHAIN, [(COUNT, 0.1)], rho=0.1, delta=1e-6)
    with pytest.raises(InvalidInputError, match="convert the losses of several"):
        bdp.leakage(CHAIN, [(COUNT, 0.1)], neighbours="add-remove")
    with pytest.raises(InvalidInputError, match="nothing is proven here about a privacy profile together"):
        bdp.leakage(CHAIN, [(COUNT, PROFILE), (COUNT, ConcentratedLoss(0.1))], delta=1e-6)
    assert as_losses([(COUNT, 0.1)], delta=1e-6)[1] == 1e-6


def test_a_delta_of_one_or_more_is_refused_as_no_promise() -> None:
    with pytest.raises(NoTheoremAppliesError, match="1 or more promises nothing"):
        bdp.leakage(CHAIN, COUNT, tau=2.0, delta=0.5)
