"""Random small models: what each case measures is the leakage of a τ-DP release on a law that its model covers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bayesdp import ArbitraryGroups, GaussianGroups, Independent, MarkovChain
from bayesdp.testing.cases import (
    MECHANISMS,
    Case,
    _lipschitz,
    chain_cases,
    every_case,
    finite_case,
    gaussian_cases,
    group_cases,
    independent_cases,
    memory_cases,
    transition_matrices,
    walk_cases,
)

TAUS = st.floats(0.05, 2)


@given(every_case(), TAUS)
def test_more_releases_leak_no_less_and_group_privacy_holds(case: Case, tau: float) -> None:
    one, two = case.measure([tau]), case.measure([tau, tau])
    assert 0 <= one <= two * (1 + 1e-9)
    if case.model.group_size is not None and not isinstance(case.model, GaussianGroups):
        assert two <= 2 * tau * max(case.model.group_size, 1) * (1 + 1e-9)
    assert case.description


@given(independent_cases(), TAUS)
def test_independent_records_leak_no_more_than_tau(case: Case, tau: float) -> None:
    assert isinstance(case.model, Independent)
    assert case.measure([tau]) <= tau * (1 + 1e-9)


@given(group_cases())
def test_no_group_is_larger_than_its_model_says(case: Case) -> None:
    assert isinstance(case.model, ArbitraryGroups)
    assert 1 <= case.model.size <= 3


@given(chain_cases(positive=True, unlimited=False, mechanisms=("count",)))
def test_chains_have_what_was_asked_for(case: Case) -> None:
    assert isinstance(case.model, MarkovChain)
    assert case.model.length is not None
    assert case.model.matrix.min() > 0
    assert case.laplace
    assert case.description.startswith("mechanism count")


@given(memory_cases(unlimited=False))
def test_chains_that_remember_two_records_have_no_zeros(case: Case) -> None:
    assert isinstance(case.model, MarkovChain)
    assert case.model.memory == 2
    assert case.model.table.min() > 0


@given(gaussian_cases(equal_variances=True) | walk_cases())
def test_normal_cases_grow_with_tau_alone(case: Case) -> None:
    assert case.measure([0.5, 0.25]) == pytest.approx(case.measure([0.75])) == pytest.approx(0.75 * case.measure([1.0]))
    assert case.measure([1.0]) > 0


@given(transition_matrices(3, zeros=False))
def test_rows_are_probabilities_without_zeros(matrix: NDArray[np.float64]) -> None:
    assert matrix.sum(axis=1) == pytest.approx(np.ones(3))
    assert matrix.min() > 0


@given(st.data(), st.sampled_from(MECHANISMS), TAUS)
def test_every_mechanism_is_tau_dp(data: st.DataObject, mechanism: str, tau: float) -> None:
    """On independent fair records what is learnt of one is what two neighbouring tables tell: at most τ."""
    joint = np.full((2, 2, 2), 1 / 8)
    case = data.draw(st.composite(lambda draw: finite_case(draw, Independent(), joint, [0, 1], (mechanism,)))())
    assert case.measure([tau]) <= tau * (1 + 1e-9)
    assert case.laplace == (mechanism in ("count", "sum"))


@given(st.lists(st.floats(0, 8), min_size=8, max_size=8), TAUS)
def test_a_rare_output_changes_by_at_most_tau_with_one_record(heights: list[float], tau: float) -> None:
    likelihood = np.log(_lipschitz(np.array(heights).reshape(2, 2, 2), tau)[..., 0])
    assert likelihood.max() == 0
    for here in itertools.product(range(2), repeat=3):
        for axis in range(3):
            there = tuple(1 - bit if place == axis else bit for place, bit in enumerate(here))
            assert abs(likelihood[here] - likelihood[there]) <= tau * (1 + 1e-9)
