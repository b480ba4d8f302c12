"""Any mechanism: what a τ-DP release of any kind leaks, by the theorems that hold for all of them."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp import AnyMechanism
from bayesdp.audit.any_mechanism import log_ratio, most_telling
from bayesdp.errors import QueryError
from bayesdp.queries import query_from_dict
from bayesdp.testing import transition_matrices

CHAIN = bdp.MarkovChain([[0.9, 0.1], [0.3, 0.7]], states=[False, True], length=200)
FAMILY = bdp.GaussianGroups(covariance=[[1.0, 0.3], [0.3, 1.0]])


@given(transition_matrices(2, zeros=False) | transition_matrices(3, zeros=False), st.floats(0.1, 2.0))
def test_no_mechanism_at_all_tells_more(matrix: list[list[float]], tau: float) -> None:
    """The most telling output of all τ-DP mechanisms on three records, nothing known, stays below what is said."""
    chain = bdp.MarkovChain(matrix, length=3)
    states = len(matrix)
    joint = np.zeros((states,) * 3)
    start = np.asarray(chain.stationary)
    for records in itertools.product(range(states), repeat=3):
        joint[records] = start[records[0]] * matrix[records[0]][records[1]] * matrix[records[1]][records[2]]
    said = bdp.leakage(chain, AnyMechanism(), tau=tau, neighbours="replace").epsilon
    for x, other in itertools.permutations(range(states), 2):
        more, less = np.zeros_like(joint), np.zeros_like(joint)
        more[:, x, :] = joint[:, x, :] / joint[:, x, :].sum()
        less[:, other, :] = joint[:, other, :] / joint[:, other, :].sum()
        assert log_ratio(more, less, most_telling(more, less, tau)) <= said + 1e-9


def test_a_tau_alone_is_for_replacing_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match="add-remove"):
        silent = bdp.leakage(CHAIN, AnyMechanism(), tau=0.5)
    assert silent == bdp.leakage(CHAIN, AnyMechanism(), tau=0.5, neighbours="replace")
    assert silent.epsilon < bdp.leakage(CHAIN, AnyMechanism(), tau=0.5, neighbours="add-remove").epsilon


def test_theorems_about_counts_and_sums_do_not_cover_it() -> None:
    by_name = {
        row.theorem: row for row in bdp.leakage(CHAIN, AnyMechanism(), tau=0.5, neighbours="replace").assessments
    }
    assert "any mechanism" in (by_name["markov-count"].reason or "")
    mixing = bdp.leakage(CHAIN, bdp.Histogram(cells=[False, True]), tau=0.5)
    assert by_name["markov-mixing"].epsilon == next(
        row.epsilon for row in mixing.assessments if row.theorem == "markov-mixing"
    )
    family = {
        row.theorem: row for row in bdp.leakage(FAMILY, AnyMechanism(), tau=0.5, neighbours="replace").assessments
    }
    assert family["general"].epsilon == 1.0
    for name in ("gaussian-tight", "gaussian-covariance", "gaussian-paper"):
        assert "private in the ℓ1 metric" in (family[name].reason or "")


def test_beside_sums_it_costs_tau_for_every_record_of_a_group() -> None:
    height = bdp.Sum("height", bounds=(0, 100))
    alone = bdp.leakage(FAMILY, height, tau=1.0)
    together = bdp.leakage(FAMILY, [(height, 1.0), (AnyMechanism(), 0.25)])
    assert together.theorem == alone.theorem
    assert together.epsilon == pytest.approx(alone.epsilon + 2 * 0.25)


def test_its_noise_and_accuracy_are_not_ours_to_say() -> None:
    promise = bdp.calibrate(CHAIN, AnyMechanism(), epsilon=1.0)
    assert promise.tau == bdp.calibrate(CHAIN, bdp.Histogram(cells=[False, True]), epsilon=1.0).tau
    document = json.loads(promise.to_json())
    assert (document["alpha"], document["scale"]) == (None, None)
    assert str(promise).startswith(f"Anything at all with tau = {promise.tau:.5f}"[:30])
    assert "α" in promise.table()
    leaked = json.loads(bdp.leakage(CHAIN, AnyMechanism(), tau=0.5, neighbours="replace").to_json())
    assert (leaked["alpha"], leaked["scale"]) == (None, None)
    comparison = bdp.compare(bdp.ArbitraryGroups(3), AnyMechanism(), epsilons=[1.0, 2.0])
    assert [row.tau for row in comparison.rows if row.theorem == "general"] == [1 / 3, 2 / 3]
    assert not comparison.published
    assert "general" in str(comparison)
    with pytest.raises(QueryError, match="its noise and accuracy are unknown"):
        bdp.calibrate(CHAIN, AnyMechanism(), alpha=3.0)
    with pytest.raises(QueryError, match="its noise and accuracy are unknown"):
        _ = promise.scale


def test_it_is_described_read_and_refused_like_any_question() -> None:
    query = AnyMechanism("steps", what="a decision tree")
    assert query.description == "a decision tree (steps)"
    assert query_from_dict(json.loads(query.to_json())) == query
    assert query.ledger_key() == bdp.Count("steps", equals=1).ledger_key()
    with pytest.raises(QueryError, match="takes no filter"):
        AnyMechanism(where="steps > 0")
    with pytest.raises(QueryError, match="line breaks"):
        AnyMechanism(what="two\nlines")
    with pytest.raises(QueryError, match="the model describes 'steps'"):
        bdp.leakage(bdp.ArbitraryGroups(2, column="steps"), AnyMechanism("height"), tau=1.0, neighbours="replace")
