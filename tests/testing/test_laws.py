"""Random laws of a few records: they depend as they say, and what is hidden has no record."""

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from bayesdp import Independent, Model, OddsChain
from bayesdp.audit.side_information import odds_ratios
from bayesdp.testing import Law, hidden_chain_laws, memory_chain_laws
from bayesdp.testing.cases import Case
from bayesdp.testing.laws import chain_laws, network_laws, release_cases, side_information, tree_laws


def nothing(odds: NDArray[np.float64], hidden: tuple[int, ...]) -> Model:
    """Say nothing of a law: only the law itself is looked at."""
    return Independent()


@given(tree_laws(nothing) | chain_laws(nothing))
def test_only_neighbours_depend_on_one_another(law: Law) -> None:
    dependent = np.triu(odds_ratios(law.joint) > 1 + 1e-9, 1).sum()
    assert dependent <= law.joint.ndim - 1
    assert law.joint.sum() == pytest.approx(1)


@given(hidden_chain_laws(lambda transition, emission, records: Independent()))
def test_records_of_a_hidden_chain_depend_through_states_only(law: Law) -> None:
    moments = len(law.hidden)
    odds = odds_ratios(law.joint)
    for first in range(2 * moments):
        for second in range(first):
            neighbours = (second == first - 1 and first < moments) or first == second + moments
            assert neighbours or odds[first, second] == pytest.approx(1, rel=1e-9)
    assert law.records == tuple(range(moments, 2 * moments))
    assert law.joint.sum() == pytest.approx(1)


@given(memory_chain_laws(lambda table, records, stationary: Independent(), stationary=True))
def test_stationary_chains_with_memory_look_alike_everywhere(law: Law) -> None:
    """Every pair of consecutive records has the same law."""
    records = law.joint.ndim
    pairs = [
        law.joint.sum(axis=tuple(axis for axis in range(records) if axis not in (first, first + 1)))
        for first in range(records - 1)
    ]
    for pair in pairs[1:]:
        assert pair == pytest.approx(pairs[0], rel=1e-9)
    if records > 3:
        assert odds_ratios(law.joint)[0, 3] == pytest.approx(1, rel=1e-9)


@given(chain_laws(lambda odds, hidden: OddsChain(max(1.0, float(odds.max())), gaps=bool(hidden)), hidden=True))
def test_a_model_is_told_the_odds_of_its_law_and_what_is_hidden(law: Law) -> None:
    assert isinstance(law.model, OddsChain)
    assert law.model.odds == pytest.approx(max(1.0, odds_ratios(law.joint).max()))
    assert law.model.gaps == bool(law.hidden)
    assert set(law.records) | set(law.hidden) == set(range(law.joint.ndim))
    assert law.records


def test_the_secret_is_as_many_consecutive_records_as_a_unit_is() -> None:
    joint = np.full((2,) * 4, 1 / 16)
    assert Law(OddsChain(1.0), joint).targets == [(0,), (1,), (2,), (3,)]
    assert Law(OddsChain(1.0, unit=2), joint, hidden=(1,)).targets == [(0, 2), (2, 3)]
    assert Law(OddsChain(1.0, unit=9), joint).targets == [(0, 1, 2, 3)]


@given(network_laws(nothing))
def test_a_network_is_a_law_of_every_record(law: Law) -> None:
    assert law.joint.sum() == pytest.approx(1)
    assert (law.joint >= 0).all()
    assert 3 <= law.joint.ndim <= 6


@given(side_information((2, 3, 2)))
def test_side_information_leaves_something_possible(evidence: list[NDArray[np.float64]]) -> None:
    assert [len(likelihood) for likelihood in evidence] == [2, 3, 2]
    for likelihood in evidence:
        assert ((likelihood >= 0) & (likelihood <= 1)).all()
        assert likelihood.any()


@given(release_cases(tree_laws(nothing, hidden=True)))
def test_releases_of_a_law_leak_at_most_group_privacy(case: Case) -> None:
    assert 0 <= case.measure([0.3]) <= 6 * 0.3 + 1e-9
