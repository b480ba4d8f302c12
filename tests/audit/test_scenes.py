import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import (
    AnyMechanism,
    Count,
    GaussianGroups,
    Histogram,
    MarkovChain,
    Median,
    Network,
    OddsChain,
    Sum,
    leakage,
)
from bayesdp.audit.chain_scenes import Stretch, adding, chain_scene, chain_scenes
from bayesdp.audit.group_scenes import group_scene
from bayesdp.audit.oracle import gaussian_pair
from bayesdp.audit.scenes import Scene, alone, copies
from bayesdp.audit.side_information import worst_output
from bayesdp.audit.tree_scenes import network_tree, odds_chain_tree, tree_scene
from bayesdp.errors import InvalidInputError
from bayesdp.testing import transition_matrices
from bayesdp.theorems.markov.sides import Ending

CHAIN = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
COUNT = Count(equals=1)


def _by_enumeration(chain: MarkovChain, values: tuple[int, ...], stretch: Stretch) -> np.ndarray:
    """Return the joint law of the target and the answer, given the left end and together with the right one."""
    size, memory = len(values), chain.memory
    before, after = stretch.before, stretch.after
    joint = np.zeros((size, (stretch.records + 1) * max(values) + 1))
    for records in itertools.product(range(size), repeat=stretch.records + 1):
        known_before = [] if before.boundary is None else [before.boundary] * memory
        known_after = [] if after.boundary is None else [after.boundary] * memory
        sequence = [*known_before, *records, *known_after]
        begin = memory if known_before else 1
        weight = 1.0 if known_before else chain.stationary[sequence[0]]
        for place in range(begin, len(sequence)):
            weight *= chain.table[tuple(sequence[place - memory : place + 1])]
        joint[records[before.unknown], sum(values[record] for record in records)] += weight
    return joint


@given(st.data(), st.integers(2, 3))
def test_laws_of_a_chain_are_those_of_enumeration(data: st.DataObject, states: int) -> None:
    chain = MarkovChain(data.draw(transition_matrices(states, zeros=False)))
    ends = st.none() | st.integers(0, states - 1)
    stretch = Stretch(*(Ending(data.draw(st.integers(0, 2)), data.draw(ends)) for _ in range(2)))
    query = data.draw(st.sampled_from([COUNT, Sum(bounds=(0, 2))]))
    scene, likely = chain_scene(chain, adding(query, chain), stretch)
    joint = _by_enumeration(chain, adding(query, chain).values, stretch)
    assert likely == pytest.approx(joint.sum(), rel=1e-12)
    assert scene.prior[:, None] * scene.laws == pytest.approx(joint / joint.sum(), abs=1e-14)


def test_laws_of_a_chain_with_memory_are_those_of_enumeration() -> None:
    chain = MarkovChain([[[0.9, 0.1], [0.6, 0.4]], [[0.7, 0.3], [0.2, 0.8]]], memory=2)
    stretch = Stretch(Ending(2, 0), Ending(1, 1))
    scene, likely = chain_scene(chain, adding(COUNT, chain), stretch)
    joint = _by_enumeration(chain, (0, 1), stretch)
    assert likely == pytest.approx(joint.sum())
    assert scene.prior[:, None] * scene.laws == pytest.approx(joint / joint.sum())
    with pytest.raises(InvalidInputError, match="between known ones only"):
        chain_scene(chain, adding(COUNT, chain), Stretch(Ending(2, None), Ending(1, 1)))


def test_the_scenes_of_a_chain_occur_as_often_as_their_ends() -> None:
    scenes, weights = chain_scenes(CHAIN, adding(COUNT, CHAIN), 2, 1)
    between = np.linalg.matrix_power(CHAIN.matrix, 5)
    assert weights == pytest.approx((CHAIN.stationary[:, None] * between).ravel())
    assert sum(weight * scene.prior for scene, weight in zip(scenes, weights, strict=True)) == pytest.approx([0.8, 0.2])


@given(st.floats(0.1, 5), st.integers(0, 2**32 - 1))
def test_likelihoods_are_mixtures_of_laplace_densities(tau: float, seed: int) -> None:
    generator = np.random.default_rng(seed)
    answers = np.sort(generator.uniform(-3, 3, 6))
    laws = generator.dirichlet(np.ones(6), size=2)
    scene = Scene((0, 1), np.array([0.3, 0.7]), answers, laws, 2.0)
    outputs = generator.uniform(-9, 9, 20)
    density = laws @ np.exp(-tau / 2 * np.abs(outputs - answers[:, None]))
    assert scene.log_likelihood(outputs, tau) == pytest.approx(np.log(density))
    weighted = np.array([0.3, 0.7])[:, None] * density
    assert scene.posterior(outputs, tau) == pytest.approx(weighted / weighted.sum(axis=0))
    best = scene.betrayal(tau)
    gaps = np.abs(np.log(density[0] / density[1]))
    assert best.epsilon >= gaps.max() - 1e-12
    assert not np.isnan(best.epsilon)


def test_large_exponents_neither_overflow_nor_vanish() -> None:
    scene = copies(300)
    assert scene.betrayal(50.0).epsilon == pytest.approx(15_000)


def test_who_knows_all_but_one_record_learns_tau() -> None:
    assert alone().betrayal(0.7).epsilon == pytest.approx(0.7)


@pytest.mark.parametrize(
    "network",
    [
        Network(records=5, edges=[(0, 1, 4), (1, 2, 2), (1, 3, 9), (3, 4, 3)]),
        Network(records=5, edges=[(0, 1, 4), (1, 2, 2), (1, 3, 9), (3, 4, 3)], hidden=[1]),
        Network(records=4, edges=[(0, 1, 3), (1, 2, 3), (2, 3, 3), (3, 0, 3)]),
    ],
)
def test_side_information_about_a_tree_attains_what_any_mechanism_can(network: Network) -> None:
    """The likelihoods that are named, put before the linear program over all mechanisms, leak as much."""
    tau = 1.3
    tree = network_tree(network, tau)
    scene, evidence = tree_scene(tree, tau)
    joint = np.ones((2,) * len(tree.parents))
    for vertex, (parent, odds) in enumerate(zip(tree.parents, tree.log_odds, strict=True)):
        if parent >= 0:
            shape = [2 if axis in (parent, vertex) else 1 for axis in range(joint.ndim)]
            joint = joint * np.array([[math.exp(odds / 2), 1], [1, math.exp(odds / 2)]]).reshape(shape)
    hidden = [vertex for vertex, records in enumerate(tree.records) if not records]
    attack = worst_output(joint / joint.sum(), tau, target=0, evidence=list(evidence), hidden=hidden)
    realised = scene.betrayal(tau).epsilon
    assert attack.epsilon == pytest.approx(realised, rel=1e-9)
    proven = leakage(network, COUNT, tau=tau).epsilon
    assert realised == pytest.approx(proven) if network.is_forest else realised < proven


def test_side_information_leaves_the_target_fifty_fifty() -> None:
    tree = odds_chain_tree(OddsChain(9.0, length=4))
    _, evidence = tree_scene(tree, 1.0)
    joint = np.ones((2,) * 4)
    for vertex, parent in enumerate(tree.parents):
        if parent >= 0:
            joint = joint * np.array([[3, 1], [1, 3]]).reshape([2 if a in (parent, vertex) else 1 for a in range(4)])
    for vertex, likelihood in enumerate(evidence):
        joint = joint * likelihood.reshape([2 if axis == vertex else 1 for axis in range(4)])
    marginal = joint.sum(axis=(1, 2, 3))
    assert marginal[0] == pytest.approx(marginal[1])


@given(st.floats(-0.9, 0.9), st.floats(0.5, 3), st.floats(0.2, 4))
def test_a_pair_of_normal_records_leaks_what_quadrature_says(correlation: float, deviation: float, tau: float) -> None:
    covariance = deviation**2 * np.array([[1, correlation], [correlation, 1]])
    group = group_scene(covariance, 0, (), (2.0, 8.0), (0.0, 10.0), mean=np.array([5.0, 5.0]))
    truth = gaussian_pair(covariance, mean=[5, 5], bounds=(0, 10), tau=tau, values=(2.0, 8.0))
    alone_leaks = 0.6 * tau
    assert max(group.scene.betrayal(tau).epsilon, alone_leaks) == pytest.approx(truth, rel=1e-4)
    assert group.direction == pytest.approx((correlation,))
    model = GaussianGroups(covariance=covariance.tolist(), distance=6.0)
    assert group.scene.betrayal(tau).epsilon <= leakage(model, Sum(bounds=(0, 10)), tau=tau).epsilon * (1 + 1e-9)


@pytest.mark.parametrize("size", [3, 4, 6])
def test_points_that_stand_for_unknown_records_have_their_moments(size: int) -> None:
    covariance = 0.6 * np.eye(size) + 0.4
    group = group_scene(covariance, 0, (), (-0.5, 0.5), (-50.0, 50.0), mean=np.zeros(size))
    for law, value in zip(group.scene.laws, (-0.5, 0.5), strict=True):
        answers = group.scene.answers - 50.0 * size
        mean = law @ answers
        spread = (
            np.ones(size - 1)
            @ (covariance[1:, 1:] - np.outer(covariance[1:, 0], covariance[0, 1:]))
            @ np.ones(size - 1)
        )
        assert mean == pytest.approx(value * (1 + 0.4 * (size - 1)), abs=2e-3)
        assert law @ (answers - mean) ** 2 == pytest.approx(spread, rel=2e-3)


def test_what_states_add() -> None:
    three = MarkovChain(np.full((3, 3), 1 / 3).tolist(), states=["a", "b", "c"])
    assert adding(Count(isin=["a", "c"]), three).values == (1, 0, 1)
    cells = adding(Histogram(cells=["a", "b"]), three, (0, 2))
    assert (cells.values, cells.sensitivity, cells.extremes) == ((1, 0, 0), 2.0, True)
    assert adding(Histogram(cells=["a", "b"]), three, (0, 1)).values == (2, 0, 1)
    stand_in = adding(AnyMechanism(), three, (2, 0))
    assert (stand_in.values, stand_in.of_query, stand_in.in_turn) == ((0, 0, 1), False, False)
    assert not adding(Median(candidates=[0, 0.5, 1]), MarkovChain([[0.9, 0.1], [0.4, 0.6]])).of_query
    assert adding(AnyMechanism(), MarkovChain([[0.1, 0.9], [0.9, 0.1]]), (1, 0)).in_turn
