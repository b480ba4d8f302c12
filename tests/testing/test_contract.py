"""The suite that judges theorems must itself be able to say no."""

import math
from collections.abc import Callable, Sequence
from typing import ClassVar

import pytest
from hypothesis.internal.conjecture import engine

from bayesdp import ArbitraryGroups, Count, Independent, MarkovChain, Model, Query, Theorem
from bayesdp.testing import ApproximateContract, TheoremContract, group_cases, group_laws, markov_laws
from bayesdp.theorems.general import GeneralBound
from bayesdp.theorems.markov.mixing import MarkovMixing
from bayesdp.theorems.spend import Spend, total_tau


class Half(Theorem):
    """False: groups leak no more than independent records (the example of docs/extending.md, for every size)."""

    name: ClassVar[str] = "half"
    proof: ClassVar[str] = "none"

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        return None if isinstance(model, ArbitraryGroups) else "it is about groups"

    def bound(self, model: Model, spend: Spend) -> float:
        return total_tau(spend)


class Falling(Half):
    """False: more τ leaks less."""

    def bound(self, model: Model, spend: Spend) -> float:
        return 100 / (1 + total_tau(spend))


class HalfContract(TheoremContract):
    theorem = Half()
    cases = group_cases()
    refused: ClassVar[Sequence[tuple[Model, Query]]] = ((Independent(), Count(equals=1)),)


class FallingContract(HalfContract):
    theorem = Falling()


class AcceptsTooMuch(HalfContract):
    refused = ((ArbitraryGroups(2), Count(equals=1)),)


class RefusesNothing(HalfContract):
    refused = ()


@pytest.mark.parametrize(
    "test",
    [
        HalfContract().test_never_below_the_oracle,
        HalfContract().test_covers_several_releases_together,
        HalfContract().test_what_is_calibrated_keeps_its_promise,
        FallingContract().test_more_tau_never_leaks_less,
        AcceptsTooMuch().test_refuses_what_its_hypotheses_exclude,
        RefusesNothing().test_refuses_what_its_hypotheses_exclude,
    ],
    ids=lambda test: f"{type(test.__self__).__name__}.{test.__name__}",
)
def test_a_false_theorem_fails(test: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MAX_SHRINKS", 0)  # any counterexample will do
    assert callable(test)
    with pytest.raises(AssertionError):
        test()


def test_what_holds_passes() -> None:
    HalfContract().test_refuses_what_its_hypotheses_exclude()
    HalfContract().test_has_a_name_and_a_proof()
    assert Half().refusal(MarkovChain([[1.0]]), ()) is not None


def the_same(delta: float, epsilon: float, tau: float) -> float:
    """False: the delta of a release is its promise's, too."""
    return delta


def times_e_to_epsilon(delta: float, epsilon: float, tau: float) -> float:
    """False: e^ε, which is too little where τ is small."""
    return delta * math.exp(epsilon)


def lifting(lift: Callable[[float, float, float], float], theorem: Theorem, of: object) -> ApproximateContract:
    contract: type[ApproximateContract] = type(
        "Contract", (ApproximateContract,), {"theorem": theorem, "laws": of, "lift": staticmethod(lift)}
    )
    return contract()


@pytest.mark.parametrize("lift", [the_same, times_e_to_epsilon])
@pytest.mark.parametrize(("theorem", "of"), [(GeneralBound(), group_laws()), (MarkovMixing(), markov_laws())])
def test_a_false_lift_fails(lift: Callable[[float, float, float], float], theorem: Theorem, of: object) -> None:
    with pytest.raises(AssertionError):
        lifting(lift, theorem, of).test_never_below_any_event_if_nothing_is_known()


def test_a_theorem_that_does_not_declare_it_fails() -> None:
    class Contract(ApproximateContract):
        theorem = Half()
        laws = group_laws()

    with pytest.raises(AssertionError):
        Contract().test_it_declares_that_it_covers_every_mechanism()


def test_a_false_theorem_fails_the_attack_in_epsilon_and_delta() -> None:
    class Contract(ApproximateContract):
        theorem = Half()
        laws = group_laws()

    with pytest.raises(AssertionError):
        Contract().test_never_below_any_event_if_nothing_is_known()
