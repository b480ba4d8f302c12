import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bayesdp import Count, Independent, Network
from bayesdp.audit.oracle import bdpl, laplace_sum, worst_mechanism
from bayesdp.testing import SideInformationContract, TheoremContract, network_laws, release_cases
from bayesdp.theorems.general import GeneralBound
from bayesdp.theorems.odds import walks as walk_sums
from bayesdp.theorems.odds.network import OddsNetwork
from bayesdp.theorems.odds.tree import OddsTree
from bayesdp.theorems.odds.walks import Walks, walks
from bayesdp.theorems.spend import as_spend

COUNT = Count(equals=1)
SMALL = 1e-6


def complete(size: int, odds: float) -> Network:
    return Network(edges=[(i, j, odds) for i, j in itertools.combinations(range(size), 2)], records=size)


def grid(side: int, odds: float) -> Network:
    along = [(i * side + j, i * side + j + 1, odds) for i in range(side) for j in range(side - 1)]
    across = [(i * side + j, (i + 1) * side + j, odds) for i in range(side - 1) for j in range(side)]
    return Network(edges=along + across, records=side * side)


def proven(model: Network, tau: float) -> float:
    return OddsNetwork().epsilon(model, as_spend(COUNT, tau))


Floats = NDArray[np.float64]


def network_of(odds: Floats, hidden: tuple[int, ...]) -> Network:
    """Return the network that a law with these odds ratios is, up to what their computation was off."""
    pairs = itertools.combinations(range(len(odds)), 2)
    edges = [(i, j, odds[i, j] * (1 + 1e-12)) for i, j in pairs if odds[i, j] > 1 + 1e-9]
    return Network(edges=edges, records=len(odds), hidden=hidden)


def any_network_of(odds: Floats, hidden: tuple[int, ...]) -> Network:
    """Return the same law described by its largest odds ratio and degree only."""
    return Network(odds=odds.max() * (1 + 1e-12), degree=int((odds > 1 + 1e-9).sum(axis=1).max()))


LAWS = network_laws(network_of, hidden=True) | network_laws(any_network_of, hidden=True)


class TestUnderSideInformation(SideInformationContract):
    theorem = OddsNetwork()
    laws = LAWS


class TestOddsNetwork(TheoremContract):
    theorem = OddsNetwork()
    cases = release_cases(LAWS)
    refused = (
        (Independent(), COUNT),
        (complete(6, 9), COUNT),
        (Network(odds=9, degree=2), COUNT),
        (Network(odds=1e300, degree=1), COUNT),
    )


@pytest.mark.parametrize(
    ("model", "per_tau"),
    [
        (complete(3, 1.5), 1.224745),
        (complete(5, 1.5), 1.579796),
        (complete(10, 1.2), 1.644955),
        (complete(4, 2), 1.783612),
        (grid(20, 1.5), 1.605735),
    ],
)
def test_reference_values(model: Network, per_tau: float) -> None:
    assert proven(model, SMALL) / SMALL == pytest.approx(per_tau, abs=1e-6)
    assert proven(model, 1.0) < per_tau
    sums = walks(model)
    assert isinstance(sums, Walks)
    assert proven(model, 20.0) <= (20 + sums.around) * (1 + 1e-12) < 20 * per_tau


def test_why_it_refuses() -> None:
    assert "spectral radius of tanh(ln(odds)/4) is below 1, and it is 2.5" in (
        OddsNetwork().refusal(complete(6, 9), (COUNT,)) or ""
    )
    assert "the degree times tanh(ln(odds)/4) must be below 1" in (
        OddsNetwork().refusal(Network(odds=9, degree=2), (COUNT,)) or ""
    )
    path = Network(edges=[(i, i + 1, 9.0) for i in range(20000)], records=20001)
    assert "so close to 1" in (OddsNetwork().refusal(path, (COUNT,)) or "")


def exact_sums(network: Network) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The walk sums as the statement has them, by a dense inverse."""
    ties = network.ties
    step = np.zeros((ties.size, ties.size))
    step[ties.first, ties.second] = step[ties.second, ties.first] = np.tanh(ties.log_odds / 4)
    inverse = np.linalg.inv(np.eye(ties.size) - step)
    return np.asarray((inverse @ ties.visible / np.diag(inverse))[ties.visible])


@st.composite
def sparse_networks(draw: st.DrawFn) -> Network:
    size = draw(st.integers(2, 30))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pairs = {tuple(sorted(random.choice(size, 2, replace=False).tolist())) for _ in range(draw(st.integers(1, 40)))}
    edges = [(i, j, float(1 + random.exponential(0.3))) for i, j in sorted(pairs)]
    hidden = random.choice(size, int(random.integers(0, size // 2)), replace=False).tolist()
    return Network(edges=edges, records=size, hidden=hidden)


@given(sparse_networks())
def test_walks_are_bounded_from_above_and_closely(network: Network) -> None:
    sums = walks(network)
    if isinstance(sums, str) or not network.ties.visible.any():
        return
    exact = exact_sums(network).max() - 1
    assert exact <= sums.beyond + 1e-15
    assert sums.beyond <= exact * (1 + 1e-9) + 1e-11


def test_large_networks_count_the_shortest_ways_back(monkeypatch: pytest.MonkeyPatch) -> None:
    network = grid(12, 1.5)
    exact = exact_sums(network).max() - 1
    monkeypatch.setattr(walk_sums, "_INVERTED", 0)
    near = walk_sums._of_edges(network.ties)
    monkeypatch.setattr(walk_sums, "_MOST_PRODUCTS", 0)
    far = walk_sums._of_edges(network.ties)
    assert isinstance(near, Walks)
    assert isinstance(far, Walks)
    assert exact <= near.beyond < 1.001 * exact
    assert near.beyond < far.beyond < 1.03 * exact


@pytest.mark.parametrize("degree", [1, 2, 3, 7])
def test_no_network_of_a_degree_has_more_walks_than_the_regular_tree(degree: int) -> None:
    odds = 1 + 0.8 / degree
    bounded = walks(Network(odds=odds, degree=degree))
    layers, edges, size = [[0]], [], 1
    for depth in range(8 if degree < 4 else 3):  # a regular tree, cut
        layers.append([])
        for vertex in layers[depth]:
            for _ in range(degree - (depth > 0)):
                edges.append((vertex, size, odds))
                layers[-1].append(size)
                size += 1
    assert isinstance(bounded, Walks)
    cut = exact_sums(Network(edges=edges, records=size)).max() - 1
    assert cut <= bounded.beyond < (1.0001 if degree < 4 else 1.1) * cut
    for network in (complete(degree + 1, odds), *([grid(9, odds)] if degree >= 4 else [])):
        assert exact_sums(network).max() - 1 <= bounded.beyond * (1 + 1e-12)


@given(st.floats(1.01, 20), st.floats(0.01, 20))
def test_a_forest_is_better_known_as_one(odds: float, tau: float) -> None:
    star = Network(edges=[(0, 1, odds), (0, 2, odds), (2, 3, odds)], records=4, hidden=[2])
    spend = as_spend(COUNT, tau)
    if OddsNetwork().refusal(star, (COUNT,)) is None:
        general = GeneralBound().epsilon(star, spend)
        assert OddsTree().epsilon(star, spend) <= proven(star, tau) * (1 + 1e-12) <= general * (1 + 2e-12)


@pytest.mark.parametrize("odds", [1.5, 4.0])
@pytest.mark.parametrize("size", [3, 4])
def test_positively_affiliated_bits_leak_most_through_a_count(size: int, odds: float) -> None:
    """Ghosh and Kleinberg: under such a law the noisy count attains the worst case of all mechanisms of that tau."""
    values = np.array(list(itertools.product((-1, 1), repeat=size)))
    weights = np.exp(np.log(odds) / 4 * (values.sum(axis=1) ** 2 - size) / 2)
    joint = (weights / weights.sum()).reshape((2,) * size)
    exact = bdpl(joint, laplace_sum([0, 1], size, 0.5)).epsilon
    assert worst_mechanism(joint, 0.5) == pytest.approx(exact, rel=1e-6)
    network = complete(size, odds * (1 + 1e-12))
    if OddsNetwork().refusal(network, (COUNT,)) is None:
        assert exact <= proven(network, 0.5)
    assert exact > 0.5 * (1 + 2 * np.tanh(np.log(odds) / 4))


def test_nothing_is_said_to_depend() -> None:
    for model in (Network(odds=1, degree=5), Network(odds=5, degree=0), Network(edges=[(0, 1, 1)], records=3)):
        assert proven(model, 0.1) == OddsTree().epsilon(model, as_spend(COUNT, 0.1)) == 0.1
