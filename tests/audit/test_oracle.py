import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import MarkovChain
from bayesdp.audit.oracle import (
    bdpl,
    chain_joint,
    gaussian_lemma,
    generalized_randomized_response,
    joint_release,
    laplace_sum,
    randomized_response,
)
from bayesdp.calibration.prior_art import chakrabarti_flip
from bayesdp.errors import InvalidInputError
from bayesdp.testing import transition_matrices

ACTIVITY = MarkovChain([[0.882, 0.118], [0.305, 0.695]])
LAZY = MarkovChain([[0.8, 0.2], [0.2, 0.8]])


@pytest.mark.parametrize(("records", "tau", "leak"), [(5, 1.0, 2.877654), (4, 3.0, 6.175233)])
def test_reference_values(records: int, tau: float, leak: float) -> None:
    found = bdpl(chain_joint(ACTIVITY, records), laplace_sum([0, 1], records, tau))
    assert found.epsilon == pytest.approx(leak, abs=5e-7)


def test_the_worst_adversary_is_named() -> None:
    found = bdpl(chain_joint(ACTIVITY, 5), laplace_sum([0, 1], 5, 1.0))
    assert (found.target, found.known, found.values) == (2, (), (1, 0))
    assert "record 2 is 1 than if it is 0, for an adversary who knows nothing" in str(found)


@pytest.mark.parametrize(("records", "epsilon", "leak"), [(5, 13.0, 14.06), (7, 5.0, 5.07)])
def test_chakrabarti_as_printed_leaks_more_than_it_promises(records: int, epsilon: float, leak: float) -> None:
    kernel = randomized_response(chakrabarti_flip(0.2, epsilon), records)
    found = bdpl(chain_joint(LAZY, records), kernel)
    assert found.epsilon > epsilon
    assert found.epsilon == pytest.approx(leak, abs=5e-3)
    assert found.target == records // 2
    assert {record for record, _ in found.known} == {0, records - 1}


@given(st.integers(0, 2**32 - 1))
def test_post_processing_adds_no_leakage(seed: int) -> None:
    """Proven in docs/theory/metric-privacy.md. What also reads a record is no post-processing, and leaks more."""
    draw = np.random.default_rng(seed)
    joint = draw.dirichlet(np.ones(8)).reshape(2, 2, 2)
    kernel = draw.dirichlet(np.ones(4), size=(2, 2, 2))
    coarser = kernel @ draw.dirichlet(np.full(3, 0.3), size=4)
    assert bdpl(joint, coarser).epsilon <= bdpl(joint, kernel).epsilon + 1e-9
    seen = np.zeros((2, 2, 2, 4, 2))
    seen[0, ..., 0], seen[1, ..., 1] = kernel[0], kernel[1]
    assert bdpl(joint, seen.reshape(2, 2, 2, 8)).epsilon > bdpl(joint, kernel).epsilon


def test_leakage_is_superadditive() -> None:
    chain = MarkovChain([[0.5, 0.5], [0.001, 0.999]])

    def leak(tau: float) -> float:
        return bdpl(chain_joint(chain, 2), laplace_sum([0, 1], 2, tau)).epsilon

    assert leak(0.5) == pytest.approx(0.780, abs=5e-4)
    assert leak(1.0) == pytest.approx(1.618, abs=5e-4)
    assert leak(1.0) > 2 * leak(0.5)


def brute_force(joint: np.ndarray, kernel: np.ndarray) -> float:
    """The definition once more, in plain loops over single data sets."""
    worst = 0.0
    records = joint.ndim
    points = list(itertools.product(*map(range, joint.shape)))
    for target in range(records):
        others = [r for r in range(records) if r != target]
        for size in range(records):
            for known in itertools.combinations(others, size):
                laws: dict[tuple[int, ...], dict[int, np.ndarray]] = {}
                for key in {tuple(p[k] for k in known) for p in points}:
                    for value in range(joint.shape[target]):
                        here = [p for p in points if tuple(p[k] for k in known) == key and p[target] == value]
                        mass = sum(joint[p] for p in here)
                        if mass > 0:
                            law = sum(joint[p] * kernel[p] for p in here) / mass
                            laws.setdefault(key, {})[value] = law
                for by_value in laws.values():
                    for first, second in itertools.permutations(by_value.values(), 2):
                        for a, b in zip(first, second, strict=True):
                            if a > 0:
                                worst = max(worst, math.log(a / b) if b > 0 else math.inf)
    return worst


@given(st.integers(2, 3), st.integers(1, 3), st.integers(0, 10**6))
def test_the_oracle_is_the_definition(states: int, records: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    joint = generator.random((states,) * records) * (generator.random((states,) * records) < 0.8)
    joint = joint / joint.sum() if joint.sum() > 0 else np.full_like(joint, 1 / joint.size)
    kernel = generator.random((*joint.shape, 3)) * (generator.random((*joint.shape, 3)) < 0.95)
    assert bdpl(joint, kernel).epsilon == pytest.approx(brute_force(joint, kernel), rel=1e-9, abs=1e-12)


@given(transition_matrices(3), st.integers(0, 10**6), st.floats(0.1, 5))
def test_no_output_beats_the_possible_sums(matrix: np.ndarray, seed: int, tau: float) -> None:
    """The supremum over outputs is taken exactly: a dense grid of outputs never finds more."""
    chain = MarkovChain(matrix, start="any")
    generator = np.random.default_rng(seed)
    joint = chain_joint(chain, 3, start=generator.dirichlet(np.ones(3)))
    values = np.array([-1.0, 0.5, 2.0])
    sums = values[:, None, None] + values[None, :, None] + values[None, None, :]
    outputs = generator.uniform(-6, 9, size=60)
    dense = np.exp(-tau / 3 * np.abs(outputs - sums[..., None]))
    assert bdpl(joint, dense).epsilon <= bdpl(joint, laplace_sum(values.tolist(), 3, tau)).epsilon + 1e-9


@given(st.floats(0.05, 5), st.integers(2, 3), st.integers(1, 3))
def test_mechanisms_are_exactly_as_private_as_they_say(tau: float, states: int, records: int) -> None:
    """Under independent uniform records the leakage is the mechanism's own τ."""
    joint = np.full((states,) * records, states**-records)
    makers: list[Callable[[], np.ndarray]] = [
        lambda: laplace_sum(list(range(states)), records, tau),
        lambda: generalized_randomized_response(tau, states, records),
    ]
    for make in makers:
        assert bdpl(joint, make()).epsilon == pytest.approx(tau)


def test_two_releases_together_are_one_release_of_the_total() -> None:
    joint = chain_joint(ACTIVITY, 3)
    twice = joint_release(laplace_sum([0, 1], 3, 0.4), laplace_sum([0, 1], 3, 0.6))
    assert bdpl(joint, twice).epsilon <= bdpl(joint, laplace_sum([0, 1], 3, 1.0)).epsilon + 1e-9
    assert bdpl(joint, twice).epsilon > bdpl(joint, laplace_sum([0, 1], 3, 0.6)).epsilon


def test_a_sum_on_a_grid_has_noise_for_the_span_of_the_grid() -> None:
    joint = chain_joint(ACTIVITY, 3)
    assert (laplace_sum([0.0, 0.4], 3, 1.0, bounds=(0, 1), step=1.0) == 1).all()
    rounded = laplace_sum([-5.0, 0.5], 3, 1.0, bounds=(0, 2), step=1.0)
    assert bdpl(joint, rounded).epsilon == pytest.approx(bdpl(joint, laplace_sum([0, 1], 3, 0.5)).epsilon, rel=1e-12)


def test_degenerate_models() -> None:
    assert bdpl([1.0], np.ones((1, 1))).epsilon == 0
    assert bdpl([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]]).epsilon == math.inf
    assert bdpl([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]).epsilon == 0
    assert laplace_sum([2.0, 2.0], 3, 1.0).shape == (2, 2, 2, 1)


def test_what_cannot_be_enumerated_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="too many to enumerate"):
        chain_joint(MarkovChain([[1 / 3] * 3] * 3), 6)
    with pytest.raises(InvalidInputError, match="sum to 1"):
        bdpl([0.5, 0.6], np.ones((2, 1)))
    with pytest.raises(InvalidInputError, match="shape"):
        bdpl([0.5, 0.5], np.ones((3, 1)))
    with pytest.raises(InvalidInputError, match="finite likelihoods"):
        bdpl([0.5, 0.5], [[1.0], [float("nan")]])
    for bad in (np.eye(7), 1.0, [[1.0, float("nan")], [float("nan"), 1.0]], [[1.0], [1.0, 2.0]]):
        with pytest.raises(InvalidInputError):
            gaussian_lemma(bad)
    with pytest.raises(InvalidInputError, match="tau times the number of records"):
        laplace_sum([0, 1], 3, 800)
    with pytest.raises(InvalidInputError, match="tau times the number of records"):
        generalized_randomized_response(800, 2, 2)
    with pytest.raises(InvalidInputError, match="rectangular"):
        bdpl([[1], [1, 2]], [1])


def test_the_lemma_skips_targets_that_are_already_known() -> None:
    assert gaussian_lemma([[1.0, 1.0], [1.0, 1.0]]).factor == pytest.approx(2)
