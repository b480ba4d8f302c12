"""The worst adversary as data: in words, and as bad as the bound says."""

import pytest

from bayesdp import GaussianGroups, MarkovChain, Sum
from bayesdp.theorems import theorem_named
from bayesdp.theorems.adversary import Adversary, WorstInChain, WorstInGroup
from bayesdp.theorems.markov.sides import Ending
from bayesdp.theorems.spend import as_spend


def test_he_is_described_by_the_states_of_his_chain() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["idle", "active"])
    worst = WorstInChain((1, 0), Ending(2, None), Ending(0, 1))
    assert worst.described(chain) == (
        "a target that is 'active' or 'idle', with 2 unknown records and then nothing before it and a known 'active' "
        "after it"
    )


@pytest.mark.parametrize(
    ("known", "words"), [((), "knows no other record of it"), ((0, 3), "knows records 0, 3 of it")]
)
def test_he_is_described_by_what_he_knows_of_his_group(known: tuple[int, ...], words: str) -> None:
    assert WorstInGroup(0, 1, known).described() == f"an adversary who targets record 1 of a group and {words}"


@pytest.mark.parametrize("sign", [1, -1])
def test_the_one_who_is_named_learns_all_that_is_bounded(sign: int) -> None:
    theorem, spend = theorem_named("gaussian-covariance"), as_spend(Sum(bounds=(0, 1)), 1.0)
    model = GaussianGroups(covariance=[[1, 0.5, 0.4 * sign], [0.5, 1, 0.45], [0.4 * sign, 0.45, 1]])
    worst = theorem.worst_adversary(model, spend)
    assert isinstance(worst, WorstInGroup)
    assert worst.described() == theorem.worst_case(model, spend)
    one = theorem.epsilon_for(model, spend, Adversary(worst.target, worst.known))
    assert one == pytest.approx(theorem.epsilon(model, spend), rel=1e-9)
