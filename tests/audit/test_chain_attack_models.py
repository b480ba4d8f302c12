"""Scenes of a chain: the law of the answer, compared with enumeration of all records."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import (
    AnyMechanism,
    Count,
    Histogram,
    MarkovChain,
    Median,
    Sum,
)
from bayesdp.audit.chain_attack_models import UnknownStretch, adding, chain_attack_model
from bayesdp.errors import InvalidInputError
from bayesdp.testing import transition_matrices
from bayesdp.theorems.markov.sides import Ending

CHAIN = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
COUNT = Count(equals=1)


def _by_enumeration(chain: MarkovChain, values: tuple[int, ...], stretch: UnknownStretch) -> np.ndarray:
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
    stretch = UnknownStretch(*(Ending(data.draw(st.integers(0, 2)), data.draw(ends)) for _ in range(2)))
    query = data.draw(st.sampled_from([COUNT, Sum(bounds=(0, 2))]))
    attack_model, likely = chain_attack_model(chain, adding(query, chain), stretch)
    joint = _by_enumeration(chain, adding(query, chain).values, stretch)
    assert likely == pytest.approx(joint.sum(), rel=1e-12)
    assert attack_model.prior[:, None] * attack_model.laws == pytest.approx(joint / joint.sum(), abs=1e-14)


def test_laws_of_a_chain_with_memory_are_those_of_enumeration() -> None:
    chain = MarkovChain([[[0.9, 0.1], [0.6, 0.4]], [[0.7, 0.3], [0.2, 0.8]]], memory=2)
    stretch = UnknownStretch(Ending(2, 0), Ending(1, 1))
    attack_model, likely = chain_attack_model(chain, adding(COUNT, chain), stretch)
    joint = _by_enumeration(chain, (0, 1), stretch)
    assert likely == pytest.approx(joint.sum())
    assert attack_model.prior[:, None] * attack_model.laws == pytest.approx(joint / joint.sum())
    with pytest.raises(InvalidInputError, match="between known records only"):
        chain_attack_model(chain, adding(COUNT, chain), UnknownStretch(Ending(2, None), Ending(1, 1)))


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


def test_too_many_answers_to_follow_are_refused() -> None:
    fine = MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=[0, 1])
    with pytest.raises(InvalidInputError, match="at most 200000"):
        chain_attack_model(fine, adding(COUNT, fine), UnknownStretch(Ending(200_000, 0), Ending(0, 0)))


def test_a_target_of_several_records_is_in_one_state_throughout() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], unit=3, length=10)
    attack_model, likely = chain_attack_model(chain, adding(COUNT, chain), UnknownStretch(Ending(0, 0), Ending(0, 1)))
    assert attack_model.laws.tolist() == [[1, 0, 0, 0], [0, 0, 0, 1]]
    inside = np.array([0.9**3 * 0.1, 0.1 * 0.6**2 * 0.6])
    assert likely == pytest.approx(inside.sum())
    assert attack_model.prior == pytest.approx(inside / inside.sum())
