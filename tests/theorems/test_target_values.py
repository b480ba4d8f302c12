"""The leakage about two given values: below the whole leakage, above the exact one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.audit import oracle
from bayesdp.errors import InvalidInputError
from bayesdp.experiments.gaussian_pair import gaussian_pair
from bayesdp.theorems.markov.mixing import MarkovMixing
from bayesdp.theorems.spend import as_spend

TAUS = st.floats(0.1, 3)
ENTRIES = st.floats(0.05, 1)


def exact_between(joint: np.ndarray, kernel: np.ndarray, values: tuple[int, int]) -> float:
    """Return the leakage about two values: the oracle on the law given that each target in turn has one of them."""
    worst = 0.0
    for target in range(joint.ndim):
        allowed = np.zeros(joint.shape[target])
        allowed[list(values)] = 1
        shape = [1] * joint.ndim
        shape[target] = -1
        law = joint * allowed.reshape(shape)
        others = [record for record in range(joint.ndim) if record != target]
        for size in range(len(others) + 1):
            for known in itertools.combinations(others, size):
                worst = max(worst, oracle.bdpl(law / law.sum(), kernel, adversary=(target, known)).epsilon)
    return worst


@given(st.lists(ENTRIES, min_size=9, max_size=9), TAUS, st.integers(2, 4))
def test_pairs_of_states_leak_at_most_their_bound(entries: list[float], tau: float, length: int) -> None:
    rows = np.array(entries).reshape(3, 3)
    chain = bdp.MarkovChain((rows / rows.sum(axis=1, keepdims=True)).tolist(), states=["a", "b", "c"], length=length)
    joint = oracle.chain_joint(chain, length)
    by_record = oracle.generalized_randomized_response(tau, 3, length)
    laplace = oracle.laplace_sum([1, 0, 0], records=length, tau=tau)
    count, mixing = bdp.Count(equals="a"), MarkovMixing()
    spend = as_spend(count, tau)
    found = []
    for first, second in itertools.combinations(range(3), 2):
        result = bdp.target_leakage(chain, count, "abc"[first], "abc"[second], tau=tau)
        back = bdp.target_leakage(chain, count, "abc"[second], "abc"[first], tau=tau)
        assert result.epsilon == back.epsilon
        assert exact_between(joint, laplace, (first, second)) <= result.epsilon * (1 + 1e-9)
        found.append(mixing.bound_between(chain, spend, (first, second)))
        assert exact_between(joint, by_record, (first, second)) <= found[-1] * (1 + 1e-9)
        assert result.epsilon <= found[-1]
    assert max(found) == pytest.approx(mixing.epsilon(chain, spend), rel=1e-12)


def test_a_pair_of_similar_states_leaks_less() -> None:
    rows = [[0.8, 0.1, 0.1], [0.79, 0.11, 0.1], [0.1, 0.1, 0.8]]
    chain = bdp.MarkovChain(rows, states=["idle", "still", "walks"], length=100)
    count = bdp.Count(equals="walks")
    near, far = (bdp.target_leakage(chain, count, "idle", other, tau=1.0) for other in ("still", "walks"))
    assert near.epsilon < 0.7 * far.epsilon
    assert near.theorem == "markov-mixing"


@given(st.floats(0.05, 0.95), st.floats(-2, 2), st.floats(0.01, 3), TAUS)
def test_normal_pairs_leak_at_most_their_bound(rho: float, start: float, apart: float, tau: float) -> None:
    covariance = [[1.0, rho], [rho, 1.0]]
    query = bdp.Sum("height", bounds=(-1, 1), step=2**-40)
    result = bdp.target_leakage(bdp.GaussianGroups(covariance=covariance), query, start, start + apart, tau=tau)
    values = (start, start + apart)
    true = gaussian_pair(covariance, mean=(0, 0), bounds=(-1, 1), tau=tau, values=values)
    assert true <= result.epsilon * (1 + 1e-6)
    assert result.distance == pytest.approx(apart, abs=1e-12)


@given(st.lists(ENTRIES, min_size=9, max_size=9), TAUS)
def test_groups_leak_their_own_part_by_distance(entries: list[float], tau: float) -> None:
    joint = np.array(entries).reshape(3, 3)
    kernel = oracle.laplace_sum([0, 0.25, 1], records=2, tau=tau)
    query = bdp.Sum("x", bounds=(0, 1), step=0.25)
    for (first, low), (second, high) in itertools.combinations(enumerate([0, 0.25, 1]), 2):
        bound = bdp.target_leakage(bdp.ArbitraryGroups(2), query, low, high, tau=tau)
        assert exact_between(joint / joint.sum(), kernel, (first, second)) <= bound.epsilon * (1 + 1e-9)
        assert bound.epsilon <= 2 * tau
    alone = bdp.target_leakage(bdp.Independent(), query, 0, 0.25, tau=tau)
    assert alone.epsilon <= 0.75 * tau
    assert alone.scope == "Laplace noise on clipped sums"


def test_equal_values_leak_nothing_and_jumps_leak_all() -> None:
    groups = bdp.ArbitraryGroups(3)
    assert bdp.target_leakage(groups, bdp.Sum("x", bounds=(0, 1)), 0.5, 0.5, tau=1.0).epsilon == 0
    jump = bdp.target_leakage(groups, bdp.Count("x", equals=1), 0, 1, tau=1.0)
    assert (jump.epsilon, jump.theorem) == (3.0, "general")
    either = bdp.AnyOf(bdp.Independent(), groups)
    assert bdp.target_leakage(either, bdp.Count("x", equals=1), 0, 1, tau=1.0).epsilon == 3.0


def test_values_the_model_does_not_have_are_refused() -> None:
    chain = bdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], states=["off", "on"], length=5)
    with pytest.raises(InvalidInputError, match="'onn' is not a state of the model"):
        bdp.target_leakage(chain, bdp.Count(equals="on"), "off", "onn", tau=1.0)
    normal = bdp.GaussianGroups(covariance=[[1, 0.5], [0.5, 1]])
    with pytest.raises(InvalidInputError, match="values of normal records are numbers"):
        bdp.target_leakage(normal, bdp.Sum("x", bounds=(0, 1)), "small", "tall", tau=1.0)
    for value in (float("nan"), float("inf")):
        with pytest.raises(InvalidInputError):
            bdp.target_leakage(normal, bdp.Sum("x", bounds=(0, 1)), 0.0, value, tau=1.0)


def test_the_result_prints_what_it_covers() -> None:
    normal = bdp.GaussianGroups(covariance=[[1, 0.5], [0.5, 1]])
    result = bdp.target_leakage(normal, bdp.Sum("x", bounds=(0, 10)), 4, 5, tau=1.0)
    printed = " ".join(str(result).split())
    assert "about whether a record is 4 or 5" in printed
    assert "a guarantee covers all of them" in printed
    assert result.to_dict()["values"] == [4, 5]
