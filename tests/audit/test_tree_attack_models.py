"""Attack models of bounded odds: the side information attains what is proven."""

import math

import numpy as np
import pytest

from bayesdp import Count, HiddenMarkov, Network, OddsChain, leakage
from bayesdp.audit.side_information import worst_output
from bayesdp.audit.tree_attack_models import BoundedOdds, tree_attack_model, worst_tree


@pytest.mark.parametrize(
    "network",
    [
        Network(records=5, edges=[(0, 1, 4), (1, 2, 2), (1, 3, 9), (3, 4, 3)]),
        Network(records=5, edges=[(0, 1, 4), (1, 2, 2), (1, 3, 9), (3, 4, 3)], hidden=[1]),
        Network(records=4, edges=[(0, 1, 3), (1, 2, 3), (2, 3, 3), (3, 0, 3)]),
    ],
)
def test_side_information_on_a_tree_attains_the_worst_mechanism(network: Network) -> None:
    """The likelihoods that are named, put before the linear program over all mechanisms, leak as much."""
    tau = 1.3
    tree = worst_tree(network, tau)
    attack_model, evidence = tree_attack_model(tree, tau)
    joint = np.ones((2,) * len(tree.parents))
    for vertex, (parent, odds) in enumerate(zip(tree.parents, tree.log_odds, strict=True)):
        if parent >= 0:
            shape = [2 if axis in (parent, vertex) else 1 for axis in range(joint.ndim)]
            joint = joint * np.array([[math.exp(odds / 2), 1], [1, math.exp(odds / 2)]]).reshape(shape)
    hidden = [vertex for vertex, records in enumerate(tree.records) if not records]
    attack = worst_output(joint / joint.sum(), tau, target=0, evidence=list(evidence), hidden=hidden)
    realised = attack_model.betrayal(tau).epsilon
    assert attack.epsilon == pytest.approx(realised, rel=1e-9)
    proven = leakage(network, Count(equals=1), tau=tau).epsilon
    assert realised == pytest.approx(proven) if network.is_forest else realised < proven


def test_side_information_leaves_the_target_fifty_fifty() -> None:
    tree = worst_tree(OddsChain(9.0, length=4), 1.0)
    _, evidence = tree_attack_model(tree, 1.0)
    joint = np.ones((2,) * 4)
    for vertex, parent in enumerate(tree.parents):
        if parent >= 0:
            joint = joint * np.array([[3, 1], [1, 3]]).reshape([2 if a in (parent, vertex) else 1 for a in range(4)])
    for vertex, likelihood in enumerate(evidence):
        joint = joint * likelihood.reshape([2 if axis == vertex else 1 for axis in range(4)])
    marginal = joint.sum(axis=(1, 2, 3))
    assert marginal[0] == pytest.approx(marginal[1])


@pytest.mark.parametrize(
    ("model", "records", "root"),
    [
        (OddsChain(9.0, length=4), 4, 1),
        (OddsChain(9.0, length=100, unit=12), 100, 12),
        (OddsChain(9.0, length=8, memory=2), 8, 2),
        (HiddenMarkov(transition_odds=9, emission_odds=4, length=7), 7, 1),
        (Network(odds=2.0, degree=3, records=10), 10, 1),
        (Network(odds=1.0, degree=3, records=10), 1, 1),
        (Network(records=3, edges=[(0, 1, 4.0)]), 2, 1),
    ],
)
def test_the_worst_tree_has_the_records_that_reveal_the_target(model: BoundedOdds, records: int, root: int) -> None:
    tree = worst_tree(model, 1.0)
    assert (tree.total, tree.records[0], tree.parents[0]) == (records, root, -1)
    assert all(0 <= parent < vertex for vertex, parent in enumerate(tree.parents) if vertex)
    epsilon = tree_attack_model(tree, 1.0)[0].betrayal(1.0).epsilon
    assert root - 1e-9 <= epsilon <= leakage(model, Count(equals=1), tau=1.0).epsilon * (1 + 1e-9)


def test_an_endless_tree_is_cut_where_the_rest_hardly_matters() -> None:
    epsilon = tree_attack_model(worst_tree(OddsChain(9.0), 1.0), 1.0)[0].betrayal(1.0).epsilon
    assert epsilon == pytest.approx(leakage(OddsChain(9.0), Count(equals=1), tau=1.0).epsilon, rel=1e-9)


def test_a_network_is_attacked_at_its_most_revealing_record() -> None:
    star = Network(records=5, edges=[(2, other, 4.0) for other in (0, 1, 3, 4)])
    assert worst_tree(star, 1.0).parents == (-1, 0, 0, 0, 0)
    hidden = Network(records=5, edges=[(2, other, 4.0) for other in (0, 1, 3, 4)], hidden=[2])
    tree = worst_tree(hidden, 1.0)
    assert tree.records == (1, 0, 1, 1, 1)
    assert tree.parents == (-1, 0, 1, 1, 1)
