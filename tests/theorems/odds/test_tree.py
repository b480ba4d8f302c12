import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bayesdp import Count, HiddenMarkov, Independent, Network, calibrate, leakage
from bayesdp.models.odds import log_odds_ratio, odds_above
from bayesdp.testing import (
    SideInformationContract,
    TheoremContract,
    hidden_chain_laws,
    release_cases,
    tree_laws,
)
from bayesdp.theorems.odds.sides import leakage_of_any_length
from bayesdp.theorems.odds.tree import OddsTree
from bayesdp.theorems.spend import as_spend

COUNT = Count(equals=1)
RING = Network(edges=[(0, 1, 1.1), (1, 2, 1.1), (0, 2, 1.1)], records=3)


def proven(model: Network | HiddenMarkov, tau: float) -> float:
    return OddsTree().epsilon(model, as_spend(COUNT, tau))


Floats = NDArray[np.float64]


def forest_of(odds: Floats, hidden: tuple[int, ...]) -> Network:
    """Return the forest that a law with these odds ratios is, up to what their computation was off."""
    pairs = itertools.combinations(range(len(odds)), 2)
    edges = [(i, j, odds[i, j] * (1 + 1e-12)) for i, j in pairs if odds[i, j] > 1 + 1e-9]
    return Network(edges=edges, records=len(odds), hidden=hidden)


def any_forest_of(odds: Floats, hidden: tuple[int, ...]) -> Network:
    """Return the same law described by its largest odds ratio and degree only."""
    degree = int((odds > 1 + 1e-9).sum(axis=1).max())
    return Network(odds=odds.max() * (1 + 1e-12), degree=degree, forest=True)


def chain_of(transition: Floats, emission: Floats, records: int) -> HiddenMarkov:
    return HiddenMarkov(transition, emission, length=records)


def bounded_chain_of(transition: Floats, emission: Floats, records: int) -> HiddenMarkov:
    odds = [odds_above([log_odds_ratio(table)]) for table in (transition, emission)]
    return HiddenMarkov(transition_odds=odds[0], emission_odds=odds[1])


FORESTS = tree_laws(forest_of, hidden=True) | tree_laws(any_forest_of, hidden=True)
HIDDEN = hidden_chain_laws(chain_of) | hidden_chain_laws(bounded_chain_of)


class TestForests(TheoremContract):
    theorem = OddsTree()
    cases = release_cases(FORESTS)
    refused = ((Independent(), COUNT), (RING, COUNT), (Network(odds=1.1, degree=2), COUNT))


class TestForestsUnderSideInformation(SideInformationContract):
    theorem = OddsTree()
    laws = FORESTS


class TestHiddenMarkovUnderSideInformation(SideInformationContract):
    theorem = OddsTree()
    laws = HIDDEN


class TestHiddenMarkov(TheoremContract):
    theorem = OddsTree()
    cases = release_cases(HIDDEN)
    refused = (
        (HiddenMarkov([[0.5, 0.5], [1, 0]], emission_odds=2), COUNT),
        (HiddenMarkov(transition_odds=2, emission=[[0.5, 0.5], [1, 0]]), COUNT),
    )


def test_reference_values() -> None:
    assert proven(HiddenMarkov(transition_odds=81, emission_odds=9), 1.0) == pytest.approx(2.422667, abs=1e-6)
    tree = Network(odds=2, degree=3, forest=True)
    assert calibrate(tree, COUNT, epsilon=1.0).tau == pytest.approx(0.5661, abs=5e-5)
    chain = Network(edges=[(i, i + 1, 9) for i in range(9)], records=10)
    assert proven(chain, 1.0) == pytest.approx(2.751341, abs=1e-6)


@given(st.integers(2, 6), st.floats(1, 100), st.floats(0.01, 5))
def test_no_forest_of_a_degree_leaks_more_than_the_regular_tree(degree: int, odds: float, tau: float) -> None:
    star = [(0, i, odds) for i in range(1, degree + 1)]
    comb = [(i, degree + i, odds) for i in range(1, degree + 1)]
    bounded = proven(Network(odds=odds, degree=degree, forest=True), tau)
    assert proven(Network(edges=star + comb, records=2 * degree + 1), tau) <= bounded * (1 + 1e-12)


@given(st.floats(1, 1e4), st.floats(0.01, 20))
def test_chains_are_trees_of_degree_two(odds: float, tau: float) -> None:
    (chain,) = leakage_of_any_length(np.array([tau]), math.log(odds))
    assert proven(Network(odds=odds, degree=2, forest=True), tau) == pytest.approx(chain, rel=1e-9)


@given(st.floats(1, 1e4), st.floats(1, 1e4), st.integers(1, 9), st.floats(0.001, 20))
def test_a_hidden_markov_chain_is_a_tree(transition: float, emission: float, length: int, tau: float) -> None:
    states = [(2 * i, 2 * i + 2, transition) for i in range(length - 1)]
    records = [(2 * i, 2 * i + 1, emission) for i in range(length)]
    tree = Network(edges=states + records, records=2 * length, hidden=range(0, 2 * length, 2))
    given = HiddenMarkov(transition_odds=transition, emission_odds=emission, length=length)
    assert proven(given, tau) == pytest.approx(proven(tree, tau), rel=1e-9)
    assert proven(given, tau) <= proven(HiddenMarkov(transition_odds=transition, emission_odds=emission), tau)


def test_what_is_hidden_limits_what_is_said() -> None:
    strong = HiddenMarkov(transition_odds=1e9, emission_odds=9)
    assert proven(strong, 50.0) <= 50 + math.log(9) + 1e-9
    assert proven(HiddenMarkov(transition_odds=1, emission_odds=9), 1.0) == pytest.approx(1.0, abs=1e-9)
    assert proven(HiddenMarkov(transition_odds=81, emission_odds=1), 1.0) == pytest.approx(1.0, abs=1e-9)


@given(st.floats(1, 1e3), st.floats(1, 1e3), st.integers(1, 12), st.floats(0.001, 5))
def test_a_unit_of_several_records(transition: float, emission: float, unit: int, tau: float) -> None:
    one = HiddenMarkov(transition_odds=transition, emission_odds=emission)
    several = proven(replace(one, unit=unit), tau)
    assert several <= unit * proven(one, tau) * (1 + 1e-12)
    assert several >= unit * tau
    assert several <= unit * tau + 2 * math.log(transition) + 1e-9
    assert proven(replace(one, unit=unit, length=unit), tau) == pytest.approx(unit * tau)
    assert proven(replace(one, unit=unit, length=unit + 3), tau) <= several


def test_a_unit_of_two_records_against_the_oracle() -> None:
    """Both records of a pair are the secret; a third one is unknown: no mechanism tells more than is proven."""
    stay, seen = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.8, 0.2], [0.3, 0.7]])
    joint = np.einsum("a,ai,ab,bj,bc,ck->ijk", [0.5, 0.5], seen, stay, seen, stay, seen)
    proves = proven(HiddenMarkov(stay, seen, length=3, unit=2), 1.0)
    pairs = joint.reshape(4, 2)
    worst = 0.0
    for first, second in itertools.permutations(range(4), 2):
        p, q = (pairs[each] / pairs[each].sum() for each in (first, second))
        changed = (first // 2 != second // 2) + (first % 2 != second % 2)
        grown = [p @ h / (q @ h) for h in ([math.e, 1.0], [1.0, math.e])]
        worst = max(worst, changed * 1.0 + math.log(max(grown)))
    assert 2 < worst <= proves


def test_odds_that_no_share_is_lost_of() -> None:
    """tanh(ln(odds)/4) is 1 to the last digit, and so is that of what arrives: every branch passes on ln(odds)."""
    model = Network(odds=1e300, degree=3, forest=True)
    assert leakage(model, COUNT, tau=2000.0).epsilon == pytest.approx(2000 + 3 * math.log(1e300), rel=1e-9)
