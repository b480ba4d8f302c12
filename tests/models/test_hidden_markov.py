import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import Count, HiddenMarkov
from bayesdp.errors import ModelError, QueryError, RecordsError
from bayesdp.frames.source import scan
from bayesdp.frames.view import View
from bayesdp.models.layout import ChainLayout
from bayesdp.testing import transition_matrices

STAY, SEEN = [[0.9, 0.1], [0.1, 0.9]], [[0.75, 0.25], [0.25, 0.75]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give either transition="),
        ({"transition": STAY}, "give either emission="),
        ({"transition": STAY, "emission": SEEN, "emission_odds": 2}, "give either emission="),
        ({"transition": STAY, "emission_odds": 0.5}, "emission_odds must be at least 1"),
        ({"transition": [[0.9, 0.1]], "emission_odds": 2}, "must be square: it has 1 row of 2 entries"),
        ({"transition": [[0.9, 0.2], [0.5, 0.5]], "emission_odds": 2}, "transition, row 0"),
        ({"transition": STAY, "emission": [[1.0]]}, "a row for each hidden state, but have 2 and 1"),
        ({"transition": STAY, "emission": SEEN, "states": ["a"]}, "must name the 2 columns of emission"),
        ({"transition": STAY, "emission": SEEN, "length": 0}, "length must be at least 1"),
    ],
)
def test_what_is_no_hidden_chain_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        HiddenMarkov(**arguments)


@given(st.integers(2, 4).flatmap(lambda size: transition_matrices(size, zeros=False)))
def test_odds_are_the_largest_over_all_pairs_and_rounded_up(matrix: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    ratios = matrix[:, None, :, None] * matrix[None, :, None, :] / (matrix[:, None, None, :] * matrix[None, :, :, None])
    model = HiddenMarkov(matrix, matrix)
    assert math.log(ratios.max()) * (1 - 1e-14) <= model.transition_log_odds <= math.log(ratios.max()) + 1e-12
    assert model.transition_log_odds == model.emission_log_odds


def test_odds_without_limit() -> None:
    model = HiddenMarkov([[0.5, 0.5], [1, 0]], [[1, 0], [0, 1]])
    assert model.transition_log_odds == model.emission_log_odds == math.inf
    assert "without limit" in model.parameters
    never = HiddenMarkov([[0.5, 0.5, 0], [0.25, 0.75, 0], [0.5, 0.5, 0]], emission_odds=2)
    assert never.transition_log_odds == pytest.approx(math.log(3))


def test_states_are_what_is_emitted() -> None:
    model = HiddenMarkov(STAY, [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]], states=["a", "b", "c"], column="x")
    model.check_query(Count("x", equals="c"))
    with pytest.raises(QueryError, match="not a state"):
        model.check_query(Count("x", equals="d"))
    assert HiddenMarkov(STAY, SEEN).states == (0, 1)
    HiddenMarkov(transition_odds=2, emission_odds=2).check_query(Count("x", equals="anything"))


def test_its_table_is_that_of_a_chain() -> None:
    table = View(scan(pl.DataFrame({"t": [1, 2, 4, 1], "who": [1, 1, 1, 2], "x": [0, 1, 1, 0]})), "error")
    layout = ChainLayout("t", "who", 1)
    by_odds = HiddenMarkov(transition_odds=2, emission_odds=2, length=3, layout=layout, column="x")
    for model in (by_odds, HiddenMarkov(STAY, SEEN, length=3, layout=layout, column="x")):
        assert model.check_table(table) == replace(model, gaps=True)
    with pytest.raises(RecordsError, match="a chain of 3 records"):
        HiddenMarkov(STAY, SEEN, length=2, layout=layout, column="x").check_table(table)
    with pytest.raises(RecordsError, match="not a state"):
        HiddenMarkov(STAY, SEEN, states=[0, 2], layout=layout, column="x").check_table(table)


def test_it_says_what_is_assumed() -> None:
    assert HiddenMarkov(transition_odds=81, emission=SEEN, length=9).assumption == (
        "the hidden states of a chain at most 9 records long emit the records independently; the "
        "odds ratio of neighbouring hidden states is at most 81 and the emission probabilities are given"
    )
    with pytest.raises(ModelError, match="hidden states are not in the table"):
        HiddenMarkov(STAY, SEEN).diagnose(None)
