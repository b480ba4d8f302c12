"""What a release costs; and no theorem, wherever it is asked, is asked about a loss it does not declare."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.advice.sensitivity_to_assumption import sensitivity_to_assumption, weaker_than
from bayesdp.calibration.calibrate import credible_epsilon, largest_tau, largest_taus, options
from bayesdp.concentrated import delta_of_rho
from bayesdp.errors import BayesDPError, DoesNotApplyError, InvalidInputError, NoTheoremAppliesError
from bayesdp.losses import (
    ApproximateLoss,
    ConcentratedLoss,
    Loss,
    PrivacyProfile,
    PureLoss,
    composed,
    concentrated,
    under_replacement,
)
from bayesdp.session.accounting import Accountant
from bayesdp.session.parts import Exposure, exposures, merged
from bayesdp.theorems.adversary import Adversary
from bayesdp.theorems.ask import ApplicableTheorems, ask
from bayesdp.theorems.leakage import Composition, report
from bayesdp.theorems.registry import theorems
from bayesdp.theorems.spend import Release, Spend, as_spend

COUNT = bdp.Count(equals=1)
CHAIN = bdp.MarkovChain([[0.9, 0.1], [0.4, 0.6]], length=10)
REASON = r"it covers pure differential privacy \(tau\) only, not made-up privacy \(tau, delta\)"


@dataclass(frozen=True)
class MadeUpLoss(Loss):
    """A τ that fails with probability δ."""

    tau: float
    delta: float

    kind: ClassVar[str] = "made-up privacy (tau, delta)"

    @property
    def description(self) -> str:
        return f"tau = {self.tau:g}, delta = {self.delta:g}"


@dataclass(frozen=True)
class DisguisedLoss(PureLoss):
    """The same, in the disguise of a pure loss."""

    delta: float = 0.5

    kind: ClassVar[str] = MadeUpLoss.kind


class AddedTheorem(bdp.Theorem):
    """A theorem that predates losses: it reads whatever it finds of a τ, and never refuses."""

    name: ClassVar[str] = "added"
    proof: ClassVar[str] = "nowhere"
    larger_units: ClassVar[bool] = True

    def refusal(self, model: bdp.Model, queries: tuple[bdp.Query, ...]) -> str | None:
        return None

    def refusal_for(self, model: bdp.Model, queries: tuple[bdp.Query, ...], adversary: Adversary) -> str | None:
        return None

    def bound(self, model: bdp.Model, spend: Spend) -> float:
        return float(sum(vars(release.loss)["tau"] for release in spend))

    def bound_for(self, model: bdp.Model, spend: Spend, adversary: Adversary) -> float:
        return self.bound(model, spend)

    def closed_form(self, model: bdp.Model, query: bdp.Query, epsilon: float, spent: Spend) -> float:
        return epsilon - self.bound(model, spent)


class Aware(AddedTheorem):
    """A theorem that declares the loss, but not beside others."""

    name: ClassVar[str] = "aware"
    losses: ClassVar[tuple[type[Loss], ...]] = (PureLoss, MadeUpLoss)

    def refusal_of(self, model: bdp.Model, spend: Spend) -> str | None:
        mixed = len({type(release.loss) for release in spend}) > 1
        return "it does not mix losses" if mixed else super().refusal_of(model, spend)


@pytest.fixture(autouse=True)
def added() -> Iterator[AddedTheorem]:
    theorem = AddedTheorem()
    bdp.register(theorem)
    yield theorem
    bdp.unregister("added")


@pytest.fixture(params=[MadeUpLoss(0.5, 0.01), DisguisedLoss(0.5)], ids=["made-up", "disguised"])
def spend(request: pytest.FixtureRequest) -> Spend:
    return as_spend([(COUNT, 0.25), (COUNT, request.param)])


def test_a_pure_loss_is_its_tau() -> None:
    assert PureLoss(1).tau == 1.0
    assert PureLoss(1.0) != DisguisedLoss(1.0)
    for bad in (-1.0, float("nan"), float("inf"), "1", True):
        with pytest.raises(InvalidInputError, match="tau must be"):
            PureLoss(bad)  # type: ignore[arg-type]


def test_an_added_theorem_is_asked_about_pure_losses(added: AddedTheorem) -> None:
    assert added.epsilon(CHAIN, as_spend(COUNT, 0.25)) == 0.25
    assert bdp.leakage(CHAIN, COUNT, tau=0.25).theorem in ("added", "independent")


@pytest.mark.parametrize("theorem", [AddedTheorem(), *theorems()], ids=lambda theorem: theorem.name)
def test_a_theorem_refuses_a_loss_it_does_not_declare(theorem: bdp.Theorem, spend: Spend) -> None:
    calls: list[Callable[[], object]] = [
        lambda: theorem.epsilon(CHAIN, spend),
        lambda: theorem.epsilons(CHAIN, [spend]),
        lambda: theorem.epsilons_under([CHAIN], spend),
        lambda: theorem.epsilon_for(CHAIN, spend, Adversary(0)),
        lambda: largest_taus(theorem, CHAIN, COUNT, [1.0], spend),
    ]
    for call in calls:
        with pytest.raises(DoesNotApplyError, match=REASON):
            call()
    with pytest.raises(DoesNotApplyError):
        theorem.epsilons(CHAIN, [spend[:1], spend[1:]])
    assert theorem.objection(CHAIN, spend) is not None


@pytest.mark.parametrize("model", [CHAIN, bdp.AnyOf(CHAIN, bdp.ArbitraryGroups(3))], ids=["one", "any-of"])
def test_nothing_is_proven_wherever_theorems_are_asked(model: bdp.Model, spend: Spend) -> None:
    panel, composition, accountant = ApplicableTheorems.about(model, spend), Composition(model), Accountant(model)
    stale = ApplicableTheorems.about(model, as_spend([(COUNT, 1.0)] * len(spend)))
    calls: list[Callable[[], object]] = [
        lambda: bdp.leakage(model, spend),
        lambda: report(model, spend, panel=panel),
        lambda: report(model, spend, panel=stale),
        lambda: composition.proven(spend),
        lambda: composition.report(spend),
        lambda: largest_tau(panel, (COUNT,), 1.0, spend),
        lambda: bdp.calibrate(model, COUNT, epsilon=1.0, spent=spend),
        lambda: bdp.calibrate(model, COUNT, alpha=10.0, spent=spend),
        lambda: accountant.leaked(spend),
        lambda: accountant.leakage_of(spend),
        lambda: accountant.affordable((COUNT,), epsilon=1.0, spent=spend, budget=9.0),
        lambda: accountant.cost_of((COUNT,), tau=0.1, spent=spend, budget=9.0),
    ]
    for call in calls:
        with pytest.raises(NoTheoremAppliesError, match=REASON) as refused:
            call()
        assert any(name.endswith("added") for name, _ in refused.value.reasons)


def test_one_adversary_learns_nothing_that_is_proven_either(spend: Spend) -> None:
    with pytest.raises(NoTheoremAppliesError, match=REASON):
        bdp.leakage(CHAIN, spend, target=0)


def test_rows_of_options_have_the_reason(spend: Spend) -> None:
    ((row,),) = options(CHAIN, COUNT, [1.0], spent=spend)
    assert row
    assert all(option.tau is None and not option.covered for option in row)
    assert next(option.reason for option in row if option.theorem == "added") == REASON.replace("\\", "")


def test_results_cached_for_pure_losses_are_not_used_for_others(spend: Spend) -> None:
    composition, pure = Composition(CHAIN), as_spend([(COUNT, 1.0)] * len(spend))
    assert composition.proven(pure) > 0
    with pytest.raises(NoTheoremAppliesError):
        composition.proven(spend)
    assert composition.panel(pure) is not composition.panel(spend)
    (replies,) = ApplicableTheorems.about(CHAIN, pure).ask(lambda theorem, member: theorem.epsilon(member, spend))
    assert all(reply.value is None for reply in replies)


def test_drawn_models_are_not_asked_either(spend: Spend) -> None:
    fitted = bdp.MarkovChain.from_counts([[90, 10], [10, 30]])
    proven = bdp.leakage(fitted, COUNT, tau=1.0)
    with pytest.raises(BayesDPError):
        credible_epsilon(replace(proven, spend=spend), 0.9)
    with pytest.raises(NoTheoremAppliesError, match=REASON):
        bdp.calibrate(fitted, COUNT, epsilon=1.0, spent=spend, credibility=0.9)


def test_what_might_hold_instead_says_nothing(spend: Spend) -> None:
    assert all(line.epsilon is None for line in sensitivity_to_assumption(spend, 1.0, weaker_than(bdp.OddsChain(17.2))))


def test_a_theorem_that_declares_a_loss_sees_the_whole_spend(spend: Spend) -> None:
    aware, made_up = Aware(), as_spend([(COUNT, MadeUpLoss(0.5, 0.01))])
    bdp.register(aware)
    try:
        leaked = bdp.leakage(CHAIN, made_up)
        assert (leaked.epsilon, leaked.theorem) == (0.5, "aware")
        assert "with tau = 0.5, delta = 0.01 leaks at most" in str(leaked)
        with pytest.raises(InvalidInputError, match="has no tau"):
            _ = leaked.tau
        with pytest.raises(NoTheoremAppliesError):
            bdp.leakage(CHAIN, spend)
        mixed = as_spend([(COUNT, 0.25), *made_up])
        (replies,) = ask(CHAIN, lambda theorem, member: theorem.epsilon(member, mixed), only=[aware])
        assert replies[0].reason == "it does not mix losses"
    finally:
        bdp.unregister("aware")


def test_totals_add_up_pure_losses_and_keep_the_others(spend: Spend) -> None:
    other = spend[1]
    assert merged([*spend, *spend]) == (Release(COUNT, 0.5), other, other)
    assert exposures(spend) == (Exposure(spend),)
    assert Exposure(spend[:1]).exceeded_by(Exposure(spend))
    assert not Exposure(spend).exceeded_by(Exposure(as_spend(COUNT, 9.0)))
    assert not Exposure((other, other)).exceeded_by(Exposure((other,)))
    north = [(replace(COUNT, by="district", by_cells=[cell]), other.loss) for cell in ("N", "S")]
    assert {release for part in exposures(as_spend(north)) for release in part.spent} == {other}


def test_every_theorem_of_ours_covers_pure_losses_only_so_far() -> None:
    assert all(theorem.losses == (PureLoss,) for theorem in theorems() if theorem.name != "added")


APPROXIMATE = ApproximateLoss(0.5, 1e-6)
PROFILE = PrivacyProfile(lambda tau: math.exp(-tau) / 100, neighbours="replace", name="an accountant")


def test_a_delta_is_one_where_nothing_is_proven() -> None:
    assert (PureLoss(0.5).delta_at(0.5), PureLoss(0.5).delta_at(0.4)) == (0.0, 1.0)
    assert (APPROXIMATE.delta_at(2.0), APPROXIMATE.delta_at(0.4)) == (1e-6, 1.0)
    assert ConcentratedLoss(0.01).delta_at(1.0) == delta_of_rho(0.01, 1.0)
    assert ConcentratedLoss(0.01, 1e-3).delta_at(1.0) >= delta_of_rho(0.01, 1.0) + 1e-3
    assert MadeUpLoss(0.5, 1e-6).delta_at(100.0) == 1.0


@pytest.mark.parametrize(
    ("loss", "costs"),
    [
        (PureLoss(0.5), PureLoss(1.0)),
        (ConcentratedLoss(0.01), ConcentratedLoss(0.04)),
        (ApproximateLoss(1.0, 0.1), ApproximateLoss(2.0, 0.37182818284590465)),
    ],
)
def test_replacing_a_record_is_removing_one_and_adding_one(loss: Loss, costs: Loss) -> None:
    assert under_replacement(loss, "replace") == loss
    converted = under_replacement(loss, "add-remove")
    assert type(converted) is type(costs)
    assert astuple(converted) == pytest.approx(astuple(costs), rel=1e-14)


def test_a_profile_for_adding_or_removing_is_converted() -> None:
    converted = PrivacyProfile(PROFILE.function, neighbours="add-remove")
    assert converted.delta_at(2.0) == pytest.approx((1 + math.e) * PROFILE.delta_at(1.0), rel=1e-12)
    assert converted.delta_at(2.0) >= (1 + math.e) * PROFILE.delta_at(1.0)


def test_composition_is_what_is_proven_and_nothing_else() -> None:
    pure, concentrated_one = PureLoss(0.5), ConcentratedLoss(0.125)
    assert composed([pure]) == pure
    assert composed([pure, pure]) == PureLoss(1.0)
    assert composed([pure, APPROXIMATE, APPROXIMATE]) == ApproximateLoss(1.5, 2e-6)
    assert composed([pure, concentrated_one]) == ConcentratedLoss(0.25)
    assert composed([APPROXIMATE, concentrated_one]) == ConcentratedLoss(0.25, 1e-6)
    shifted = composed([pure, PROFILE, APPROXIMATE])
    assert shifted.delta_at(3.0) == pytest.approx(PROFILE.delta_at(2.0) + 1e-6)
    assert shifted.delta_at(3.0) >= PROFILE.delta_at(2.0) + 1e-6
    assert shifted.delta_at(1.0) == 1.0
    assert "an accountant" in shifted.description
    for several in ([PROFILE, PROFILE], [PROFILE, concentrated_one], [PROFILE, pure, concentrated_one]):
        with pytest.raises(InvalidInputError, match="nothing is proven here about a privacy profile together"):
            composed(several)
    for unknown in (MadeUpLoss(0.5, 1e-6), DisguisedLoss(0.5)):
        with pytest.raises(InvalidInputError, match="nothing is proven here about a release that costs made-up"):
            composed([unknown])
    with pytest.raises(InvalidInputError, match="promise nothing"):
        composed([ApproximateLoss(0.1, 0.6)] * 2)


@given(st.lists(st.sampled_from([PureLoss(0.1), APPROXIMATE, ConcentratedLoss(0.01)]), min_size=1, max_size=5))
def test_sums_are_rounded_up(losses: list[Loss]) -> None:
    together = concentrated(losses)
    assert together is not None
    exact = sum(
        Fraction(loss.rho) if isinstance(loss, ConcentratedLoss) else Fraction(getattr(loss, "tau", 0.0)) ** 2 / 2
        for loss in losses
    )
    assert exact <= Fraction(together.rho) <= exact * (1 + Fraction(1, 2**50))
    assert concentrated([*losses, PROFILE]) is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ApproximateLoss(0.0, 1e-6), "tau must be greater than 0, not 0"),
        (lambda: ApproximateLoss(math.nan, 1e-6), "tau must be a finite number, not nan"),
        (lambda: ApproximateLoss(1.0, 0.0), "delta must lie strictly between 0 and 1, not 0"),
        (lambda: ApproximateLoss(1.0, 1.5), "delta must lie strictly between 0 and 1, not 1.5"),
        (lambda: ConcentratedLoss(-0.1), "rho must be at least 0, not -0.1"),
        (lambda: ConcentratedLoss(0.1, 1.0), "delta must be below 1, not 1"),
        (lambda: PrivacyProfile(0.5, neighbours="replace"), "a profile must be a function"),  # type: ignore[arg-type]
        (lambda: PrivacyProfile(lambda tau: tau / 1000, neighbours="replace"), "a profile must not rise with tau"),
        (lambda: PrivacyProfile(lambda tau: 2.0, neighbours="replace"), r"must lie in \[0, 1\], not 2"),
        (lambda: PrivacyProfile(lambda tau: math.nan, neighbours="replace"), "must be a finite number, not nan"),
        (lambda: PrivacyProfile(lambda tau: 1 / 0, neighbours="replace"), "it raised ZeroDivisionError"),
        (lambda: PrivacyProfile(lambda tau: 0.1, neighbours="both"), 'must be "replace" or "add-remove"'),  # type: ignore[arg-type]
        (lambda: PrivacyProfile.from_opendp(3, neighbours="replace"), "expected a profile of OpenDP"),  # type: ignore[arg-type]
        (lambda: under_replacement(ApproximateLoss(20.0, 1e-6), "add-remove"), "guarantees nothing for replacing one"),
        (lambda: under_replacement(ConcentratedLoss(0.1, 1e-6), "add-remove"), "no conversion from adding or removing"),
    ],
)
def test_bad_losses_are_refused_in_one_clear_line(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_a_profile_comes_from_a_measurement_of_opendp() -> None:
    from opendp.combinators import make_zCDP_to_approxDP
    from opendp.domains import atom_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import absolute_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    noise: Any = make_gaussian(atom_domain(T="i64"), absolute_distance(T="i64"), scale=8.0)
    converted: Any = make_zCDP_to_approxDP(noise)
    profile = PrivacyProfile.from_opendp(converted.map(1), neighbours="replace")
    assert profile.delta_at(0.5) == pytest.approx(ConcentratedLoss(1 / 128).delta_at(0.5), rel=1e-9)
