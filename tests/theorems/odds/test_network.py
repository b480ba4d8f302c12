import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from shaped_networks import complete, grid  # type: ignore[import-not-found]

from bayesdp import Count, Independent, Network
from bayesdp.audit.oracle import bdpl, laplace_sum, worst_mechanism
from bayesdp.testing import SideInformationContract, TheoremContract, network_laws, release_cases
from bayesdp.theorems.general import GeneralBound
from bayesdp.theorems.odds.network import OddsNetwork
from bayesdp.theorems.odds.tree import OddsTree
from bayesdp.theorems.odds.walks import Walks, walks
from bayesdp.theorems.spend import as_spend

COUNT = Count(equals=1)
SMALL = 1e-6


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
    assert "too close to 1" in (OddsNetwork().refusal(path, (COUNT,)) or "")


@given(st.floats(1.01, 20), st.floats(0.01, 20))
def test_a_forest_is_better_known_as_one(odds: float, tau: float) -> None:
    star = Network(edges=[(0, 1, odds), (0, 2, odds), (2, 3, odds)], records=4, hidden=[2])
    spend = as_spend(COUNT, tau)
    if OddsNetwork().refusal(star, (COUNT,)) is None:
        general = GeneralBound().epsilon(star, spend)
        assert OddsTree().epsilon(star, spend) <= proven(star, tau) * (1 + 1e-12) <= general * (1 + 2e-12)


@pytest.mark.parametrize(("size", "odds"), [(3, 1.5), (3, 4.0), (4, 4.0), pytest.param(4, 1.5, marks=pytest.mark.slow)])
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
