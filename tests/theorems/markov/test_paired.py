"""Chains with a memory of two: what their sides can do, with certificates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesdp import MarkovChain
from bayesdp.testing import memory_cases
from bayesdp.testing.cases import Case
from bayesdp.theorems.markov.memory import paired_chain
from bayesdp.theorems.markov.paired import Level

STEPS = MarkovChain.from_counts([[[8828, 879], [491, 804]], [[879, 416], [804, 2151]]], memory=2)


def test_what_the_sides_of_the_step_counter_can_say() -> None:
    chain = paired_chain(STEPS)
    assert chain.start is not None
    assert chain.start[0, 1, 0, 1] == pytest.approx(2.839324535, abs=1e-9)
    right, left = chain.settled[0]
    assert [-right[0, 1, 1, 0], right[0, 1, 0, 1]] == pytest.approx([-1.107136038, 0.057189688], abs=1e-9)
    assert [-left[0, 1, 1, 0], left[0, 1, 0, 1]] == pytest.approx([1.732188498, 2.896514224], abs=1e-9)


def test_iterating_is_no_bound_for_longer_sides() -> None:
    """The iteration from 0 has come to less than half when it seems to stand still; the certificate has all of it."""
    chain = paired_chain(MarkovChain([[[0.999, 0.001], [0.001, 0.999]]] * 2, memory=2))
    values = chain.outermost().values
    for taken in range(300):
        values = chain.passed(Level(values, chain.reach_after(taken)), 0.001)
    settled = chain.settled_values(0.001)
    assert settled is not None
    assert values.max() == pytest.approx(0.2252, abs=1e-4)
    assert settled.max() == pytest.approx(0.4939, abs=1e-4)


@settings(max_examples=max(12, settings().max_examples // 3), deadline=None)
@given(memory_cases(), st.floats(1e-4, 30))
def test_the_certificate_holds(case: Case, tau: float) -> None:
    assert isinstance(case.model, MarkovChain)
    chain = paired_chain(case.model)
    reach, begins = chain.settled
    assert (chain.narrowed(reach) <= reach).all()
    assert (chain.reach_after(begins) <= reach).all()
    values = chain.settled_values(tau)
    assert values is not None
    assert (chain.passed(Level(values, reach), tau) <= values).all()


def test_more_symbols_and_a_larger_tau_never_say_less() -> None:
    chain = paired_chain(STEPS)
    settled, begins = chain.settled
    for symbols in range(begins, begins + 6):
        assert (chain.reach_after(symbols) <= settled).all()
    small, large = (chain.settled_values(tau) for tau in (0.1, 0.2))
    assert small is not None
    assert large is not None
    assert (small <= large).all()
    assert 2 * large.max() <= chain.most_from_sides, "the sides of every tau stay below one number"


def test_the_same_two_symbols_are_not_told_apart() -> None:
    values = paired_chain(STEPS).settled_values(1.0)
    assert values is not None
    symbols = np.arange(2)
    a, b = np.meshgrid(symbols, symbols)
    assert (values[:, a, b, a, b] == 0).all()
