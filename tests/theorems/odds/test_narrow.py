"""Networks of many records whose effects add up: narrow fronts, enumeration and linear programs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bayesdp import Count, Network, calibrate
from bayesdp.models.network import Ties
from bayesdp.testing import SideInformationContract, additive_laws
from bayesdp.theorems.odds.eliminated import connected
from bayesdp.theorems.odds.elimination import OddsElimination
from bayesdp.theorems.odds.ising import OddsIsing
from bayesdp.theorems.odds.magnets import BEYOND_MAGNETS
from bayesdp.theorems.odds.narrow import Narrow, narrow
from bayesdp.theorems.odds.tree import OddsTree
from bayesdp.theorems.spend import as_spend

Floats = NDArray[np.float64]

COUNT = Count(equals=1)
ISING = OddsIsing()


def prepared(network: Network) -> Narrow:
    found = narrow(network.ties)
    assert found is not None
    return found


def enumerated(ties: Ties, tau: float) -> Floats:
    """Return what each record leaks, from the sum over all values."""
    spins = 2.0 * np.indices((2,) * ties.size).reshape(ties.size, -1) - 1
    heights = tau / 4 * spins[ties.visible].sum(axis=0)
    for first, second, log_odds in zip(ties.first, ties.second, ties.log_odds, strict=True):
        heights = heights + log_odds / 4 * spins[first] * spins[second]
    weights = np.exp(heights - heights.max())
    sums = [(math.fsum(weights[spin > 0]), math.fsum(weights[spin < 0])) for spin in spins[ties.visible]]
    return np.array([2 * math.log(up / down) for up, down in sums])


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Draw connected networks of two to ten positions, some of them hidden."""
    size, strength = draw(st.integers(2, 10)), draw(st.sampled_from([0.05, 1.0, 3.0]))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    among = generator.random((size, size)) < draw(st.floats(0.1, 1))
    pairs = [(a, b) for a, b in itertools.combinations(range(size), 2) if b == a + 1 or among[a, b]]
    hidden = generator.choice(size, size=draw(st.integers(0, size - 2)), replace=False).tolist()
    edges = [(a, b, math.exp(generator.uniform(0.01, strength))) for a, b in pairs]
    return Network(edges=edges, records=size, hidden=hidden, additive=True)


@given(networks(), st.floats(0.01, 30))
def test_tables_are_as_exact_as_enumeration(network: Network, tau: float) -> None:
    part, taus, exact = prepared(network), np.array([tau]), enumerated(network.ties, tau)
    assert part.unrounded(taus)[:, 0] == pytest.approx(exact, rel=1e-12)
    assert (part.of_records(taus)[:, 0] >= exact * (1 - 1e-15)).all()
    assert part.of_records(taus)[:, 0] == pytest.approx(exact, rel=1e-6)


class NarrowOnly(OddsIsing):
    """Every network along its fronts, and none by enumeration."""

    def _of_network(self, network: Network, taus: Floats) -> Floats:
        parts = [narrow(ties) for ties in connected(network.ties) if ties.visible.any()]
        return np.asarray(np.maximum.reduce([taus, *(part.largest(taus) for part in parts if part is not None)]))


def network_of(odds: Floats, hidden: tuple[int, ...]) -> Network:
    pairs = itertools.combinations(range(len(odds)), 2)
    edges = [(i, j, odds[i, j] * (1 + 1e-12)) for i, j in pairs if odds[i, j] > 1 + 1e-9]
    return Network(edges=edges, records=len(odds), hidden=hidden, additive=True)


class TestUnderSideInformation(SideInformationContract):
    theorem = NarrowOnly()
    laws = additive_laws(network_of, hidden=True)


def grid(rows: int, columns: int, odds: float) -> Network:
    across = [(r * columns + c, r * columns + c + 1, odds) for r in range(rows) for c in range(columns - 1)]
    down = [(r * columns + c, (r + 1) * columns + c, odds) for r in range(rows - 1) for c in range(columns)]
    return Network(edges=across + down, additive=True)


def any_law(network: Network) -> Network:
    assert network.edges is not None
    return Network(edges=network.edges, records=network.records, hidden=network.hidden)


def test_a_tree_of_a_thousand_records_is_a_tree() -> None:
    generator = np.random.default_rng(5)
    edges = [(int(generator.integers(0, i)), i, float(generator.uniform(1, 9))) for i in range(1, 1000)]
    tree = Network(edges=edges, hidden=list(range(0, 1000, 7)), additive=True)
    for tau in (0.01, 1.0, 20.0):
        expected = OddsTree().epsilon(any_law(tree), as_spend(COUNT, tau))
        assert ISING.epsilon(tree, as_spend(COUNT, tau)) == pytest.approx(expected, rel=1e-6 if tau < 0.1 else 1e-8)


def test_a_long_grid_costs_less_than_any_law_with_its_odds() -> None:
    lengths = [ISING.epsilon(grid(4, columns, 2.0), as_spend(COUNT, 1.0)) for columns in (4, 5, 7, 50)]
    assert 2.0 < lengths[0] < lengths[1] < lengths[2] < lengths[3]
    assert lengths[2] < OddsElimination().epsilon(any_law(grid(4, 7, 2.0)), as_spend(COUNT, 1.0)) * 0.99


@pytest.mark.slow
def test_calibration_takes_it_where_it_is_smaller() -> None:
    found = calibrate(grid(4, 50, 2.0), COUNT, epsilon=1.0)
    assert found.theorem == "odds-ising"
    assert ISING.epsilon(grid(4, 50, 2.0), as_spend(COUNT, found.tau)) == pytest.approx(1.0)


def test_several_values_of_tau_at_once_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    part, taus = prepared(grid(3, 8, 3.0)), np.array([1e-3, 0.1, 5.0, 2 * BEYOND_MAGNETS])
    together = part.largest(taus)
    monkeypatch.setattr("bayesdp.theorems.odds.narrow._AT_ONCE", 1)
    assert part.largest(taus).tolist() == together.tolist()
    assert (np.diff(together) > 0).all()
    assert together[-1] > taus[-1]


@pytest.mark.parametrize(
    "network",
    [
        grid(22, 22, 1.2),
        Network(edges=[(a, b, 1.1) for a, b in itertools.combinations(range(21), 2)], additive=True),
        Network(edges=[(i, i + 1, 2) for i in range(2000)], additive=True),
    ],
)
def test_what_is_too_wide_or_too_large_is_refused(network: Network) -> None:
    assert "too many of them depend on one another" in (ISING.refusal(network, (COUNT,)) or "")


def test_many_parts_that_differ_are_summed_out() -> None:
    """Five parts of twenty positions have too many values together to enumerate."""
    edges = [(20 * part + i, 20 * part + i + 1, 2 + part) for part in range(5) for i in range(19)]
    parts = Network(edges=edges, additive=True)
    strongest = Network(edges=[(i, i + 1, 6) for i in range(19)], additive=True)
    one, several = (ISING.epsilon(network, as_spend(COUNT, 1.0)) for network in (strongest, parts))
    assert several == pytest.approx(one, rel=1e-8)


@pytest.mark.parametrize("odds", [1e308, 1 + 1e-9])
def test_extreme_odds_and_tau_do_not_overflow(odds: float) -> None:
    network = grid(3, 9, odds)
    for tau in (1e-300, 1e-9, 1.0, 700.0, BEYOND_MAGNETS, 1e5, 1e300):
        assert tau <= ISING.epsilon(network, as_spend(COUNT, tau)) <= (27 * tau) * (1 + 1e-9)


def test_more_dependence_never_costs_less() -> None:
    weaker, stronger = (ISING.epsilon(grid(3, 9, odds), as_spend(COUNT, 0.5)) for odds in (1.5, 1.6))
    assert weaker < stronger
