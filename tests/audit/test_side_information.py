import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesdp.audit.oracle import bdpl, worst_mechanism
from bayesdp.audit.side_information import Attack, climb, knowing, odds_ratios, worst_output
from bayesdp.errors import InvalidInputError
from bayesdp.models import Independent, MarkovChain
from bayesdp.queries import Count
from bayesdp.testing import Law, network_laws, side_information, tree_laws
from bayesdp.theorems.markov.mixing import MarkovMixing
from bayesdp.theorems.odds.chain import OddsChainTheorem
from bayesdp.theorems.odds.contraction import contraction
from bayesdp.theorems.spend import as_spend
from shared.chain_attack import chain_attack

LAWS = tree_laws(lambda odds, hidden: Independent()) | network_laws(lambda odds, hidden: Independent())
HIDDEN = tree_laws(lambda odds, hidden: Independent(), hidden=True)
LAZY = np.array([[0.75, 0.25], [0.25, 0.75]])


def weighted(joint: np.ndarray, evidence: tuple[np.ndarray, ...]) -> np.ndarray:
    for axis, likelihood in enumerate(evidence):
        joint = joint * likelihood.reshape([-1 if other == axis else 1 for other in range(joint.ndim)])
    return np.asarray(joint / joint.sum())


def by_the_definition(law: Law, attack: Attack) -> float:
    """The oracle's leakage of the attack's output to someone who knows no record, under the law given the evidence."""
    joint = weighted(law.joint, attack.evidence).sum(axis=law.hidden)
    kernel = np.exp(attack.log_likelihood - attack.log_likelihood.max())[..., None]
    return bdpl(joint, kernel, adversary=(law.records.index(*attack.target), ())).epsilon


def chain(transition: np.ndarray, records: int) -> np.ndarray:
    joint: np.ndarray = np.full(len(transition), 1 / len(transition))
    for _ in range(records - 1):
        joint = joint[..., None] * transition
    return joint


def is_private(log_likelihood: np.ndarray, tau: float) -> bool:
    return all(np.ptp(log_likelihood, axis=axis).max() <= tau * (1 + 1e-12) for axis in range(log_likelihood.ndim))


@given(st.data(), LAWS | HIDDEN, st.floats(0.01, 3))
def test_what_is_found_is_attained_by_a_private_output(data: st.DataObject, law: Law, tau: float) -> None:
    target = data.draw(st.sampled_from(law.records))
    evidence = data.draw(side_information(law.joint.shape))
    attack = worst_output(law.joint, tau, target=target, evidence=evidence, hidden=law.hidden)
    assert is_private(attack.log_likelihood, tau)
    if attack.epsilon > 0:
        assert by_the_definition(law, attack) == pytest.approx(attack.epsilon, rel=1e-10)


@settings(max_examples=settings().max_examples // 2)
@given(st.data(), LAWS.filter(lambda law: law.joint.size <= 27), st.floats(0.01, 3))
@pytest.mark.slow
def test_knowledge_is_the_oracles_adversary(data: st.DataObject, law: Law, tau: float) -> None:
    """The oracle's program runs over all records, ours over those that are not the target."""
    target = data.draw(st.sampled_from(law.records))
    known = tuple(record for record in law.records if record != target and data.draw(st.booleans()))
    truth = worst_mechanism(law.joint, tau, adversary=(target, known))
    found = max(
        worst_output(
            law.joint,
            tau,
            target=target,
            evidence=knowing(law.joint.shape, dict(zip(known, values, strict=True))),
        ).epsilon
        for values in np.ndindex(*(law.joint.shape[record] for record in known))
    )
    assert found == pytest.approx(truth, rel=1e-10)


@settings(max_examples=settings().max_examples // 4)
@given(st.data(), LAWS | HIDDEN, st.floats(0.01, 3), st.integers(0, 10**6))
def test_a_climb_never_ends_below_where_it_began(data: st.DataObject, law: Law, tau: float, seed: int) -> None:
    target = data.draw(st.sampled_from(law.records))
    attack = climb(law.joint, tau, target=target, hidden=law.hidden, restarts=1, seed=seed)
    assert attack.epsilon >= worst_output(law.joint, tau, target=target, hidden=law.hidden).epsilon
    if attack.epsilon > 0:
        assert by_the_definition(law, attack) == pytest.approx(attack.epsilon, rel=1e-10)


@pytest.mark.parametrize("records", [2, 3, 5])
def test_a_climb_finds_what_a_chain_can_leak(records: int) -> None:
    attack = climb(chain(LAZY, records), 1.0, target=(records - 1) // 2)
    assert attack.epsilon == pytest.approx(chain_attack(LAZY, 1.0, records).epsilon, rel=1e-9)


@settings(max_examples=settings().max_examples // 2)
@given(st.lists(st.floats(0.05, 1), min_size=6, max_size=6), st.floats(0.05, 3))
def test_two_records_leak_the_contraction(weights: list[float], tau: float) -> None:
    """With two records the bound is τ + f(τ, ln θ); the climb attains it for any table, of two or three values."""
    joint = np.array(weights).reshape(2, 3) / sum(weights)
    proven = tau + contraction(tau, math.log(odds_ratios(joint)[0, 1]))
    assert climb(joint, tau, target=0).epsilon == pytest.approx(proven, rel=1e-6)


def test_odds_ratios_are_those_of_the_factors() -> None:
    first, second = np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([[0.3, 0.7], [0.2, 0.8]])
    joint = np.array([0.2, 0.8])[:, None, None] * first[:, :, None] * second[None]
    expected = [0.9 * 0.6 / (0.1 * 0.4), 0.2 * 0.7 / (0.3 * 0.8)]
    found = odds_ratios(joint)
    assert found[0, 1] == pytest.approx(expected[0])
    assert found[1, 2] == pytest.approx(1 / expected[1])
    assert found[0, 2] == pytest.approx(1.0)
    assert (found == found.T).all()


def test_values_that_never_occur_do_not_count() -> None:
    joint = np.zeros((3, 2))
    joint[[0, 2]] = [[0.4, 0.1], [0.1, 0.4]]
    assert odds_ratios(joint)[0, 1] == pytest.approx(16)


def test_three_equal_bits_leak_three_times() -> None:
    """All ratios are 1 or 0/0; taken for 1, they would promise τ. The support must be a product."""
    joint = np.zeros((2, 2, 2))
    joint[0, 0, 0] = joint[1, 1, 1] = 0.5
    assert np.isinf(odds_ratios(joint)[~np.eye(3, dtype=bool)]).all()
    for tau in (0.1, 1.0, 3.0):
        assert worst_output(joint, tau, target=1).epsilon == pytest.approx(3 * tau, rel=1e-12)


def coins(records: int) -> np.ndarray:
    """One of two coins is thrown: which of them is the first vertex, hidden; the throws follow."""
    chances = np.array([[0.99, 0.01], [0.01, 0.99]])
    joint: np.ndarray = np.full(2, 0.5)
    for record in range(records):
        joint = joint[..., None] * chances.reshape([2] + [1] * record + [2])
    return joint


def coins_by_counting(records: int, tau: float) -> float:
    """What the number of ones, weighted e^τ each, tells about one throw: no enumeration."""

    def given(value: int) -> float:
        sure = {0.99: 0.99 if value else 0.01, 0.01: 0.01 if value else 0.99}
        return sum(share * (1 + chance * math.expm1(tau)) ** (records - 1) for chance, share in sure.items())

    return tau + math.log(given(1) / given(0))


def test_whoever_is_unsure_of_the_chain_is_not_covered() -> None:
    """Each coin is independent throws, θ = 1: ε = τ. Someone who does not know which of the two it is learns more."""
    tau = 0.1
    one_coin = coins(4)[0] / coins(4)[0].sum()
    assert odds_ratios(one_coin) == pytest.approx(np.ones((4, 4)))
    assert climb(one_coin, tau, target=0).epsilon == pytest.approx(tau, rel=1e-9)
    for records in (2, 4, 6):
        unsure = worst_output(coins(records), tau, target=1, hidden=[0])
        assert unsure.epsilon == pytest.approx(coins_by_counting(records, tau), rel=1e-9)
    assert coins_by_counting(20, tau) == pytest.approx(1.90, abs=5e-3)
    sure = worst_output(coins(6), tau, target=1, hidden=[0], evidence=knowing((2,) * 7, {0: 1}))
    assert sure.epsilon == pytest.approx(tau, rel=1e-9)


def merged(joint: np.ndarray, first: int, unit: int) -> np.ndarray:
    """The same law with several consecutive records made one."""
    shape = joint.shape
    return joint.reshape(*shape[:first], -1, *shape[first + unit :])


@settings(max_examples=settings().max_examples // 4)
@given(LAWS.filter(lambda law: law.joint.ndim > 2 and law.joint.size <= 16), st.floats(0.01, 2), st.data())
def test_a_secret_of_several_records(law: Law, tau: float, data: st.DataObject) -> None:
    """As one record of many values it leaks by the definition what is found; and more than any part of it."""
    first = data.draw(st.integers(0, law.joint.ndim - 2))
    attack = worst_output(law.joint, tau, target=(first, first + 1))
    assert is_private(attack.log_likelihood, tau)
    kernel = np.exp(attack.log_likelihood - attack.log_likelihood.max())
    truth = bdpl(merged(law.joint, first, 2), merged(kernel, first, 2)[..., None], adversary=(first, ())).epsilon
    assert truth == pytest.approx(attack.epsilon, rel=1e-10)
    assert attack.epsilon >= worst_output(law.joint, tau, target=first).epsilon * (1 - 1e-12)
    assert climb(law.joint, tau, target=(first, first + 1), restarts=0).epsilon >= attack.epsilon


def test_markov_theorems_are_about_exact_knowledge() -> None:
    """A chain that is rarely in one of its states: side information makes up for that, and passes the mixing bound."""
    rare = [[0.99, 0.01], [0.9, 0.1]]
    spend = as_spend(Count(equals=1), 1.0)
    attained = chain_attack(rare, 1.0, records=801).epsilon
    assert MarkovMixing().epsilon(MarkovChain(rare), spend) == pytest.approx(2.00, abs=5e-3)
    assert attained == pytest.approx(3.05, abs=5e-3)
    assert attained == pytest.approx(OddsChainTheorem().epsilon(MarkovChain(rare), spend), rel=1e-9)


def test_an_attack_says_who_it_is() -> None:
    text = str(climb(chain(LAZY, 2), 1.0, target=0))
    assert text.startswith("leaks 1.492308: an output is e^1.4923 times likelier if record 0 is")
    assert "for an attacker with the likelihoods 0: 1, 1; 1: " in text


def test_a_target_that_is_known_leaks_nothing() -> None:
    assert worst_output(chain(LAZY, 3), 1.0, target=1, evidence=knowing((2, 2, 2), {1: 0})).epsilon == 0.0


def test_wrong_input_is_refused() -> None:
    joint = chain(LAZY, 3)
    with pytest.raises(InvalidInputError, match="target must be a record"):
        worst_output(joint, 1.0, target=3)
    with pytest.raises(InvalidInputError, match="target must be a record"):
        climb(joint, 1.0, target=0, hidden=[0])
    with pytest.raises(InvalidInputError, match="target must be a record"):
        climb(joint, 1.0, target=[])
    with pytest.raises(InvalidInputError, match="vertex 7 does not exist"):
        worst_output(joint, 1.0, target=0, hidden=[7])
    with pytest.raises(InvalidInputError, match="one likelihood for each vertex"):
        worst_output(joint, 1.0, target=0, evidence=[[1, 1]])
    with pytest.raises(InvalidInputError, match="finite and at least 0"):
        worst_output(joint, 1.0, target=0, evidence=[[1, 1], [1, 1], [-1, 1]])
    with pytest.raises(InvalidInputError, match="sum to 1"):
        worst_output(joint * 2, 1.0, target=0)
    with pytest.raises(InvalidInputError, match="entries are enumerated"):
        worst_output(chain(LAZY, 13), 1.0, target=0)
    with pytest.raises(InvalidInputError, match="at most 243 data sets"):
        worst_output(chain(LAZY, 10), 1.0, target=0)
    with pytest.raises(InvalidInputError, match="tau times the number"):
        worst_output(joint, 300.0, target=0)
