"""Of several models one holds: AnyOf is flat, as large as its largest member, and refuses what does not go together."""

from typing import Any

import polars
import pytest

from bayesdp import AnyOf, ArbitraryGroups, Independent, MarkovChain
from bayesdp.errors import ModelError, RecordsError
from bayesdp.frames.source import scan
from bayesdp.frames.view import View

NOTHING: Any = "now"


def test_any_of_is_flat_and_as_large_as_its_largest() -> None:
    assert AnyOf(AnyOf(Independent()), ArbitraryGroups(4)).models == (Independent(), ArbitraryGroups(4))
    assert AnyOf(Independent(), ArbitraryGroups(4)).group_size == 4
    assert AnyOf(Independent(), MarkovChain([[1.0]])).group_size is None


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: AnyOf(Independent(record="a"), Independent(record="b")), "different records: a, b"),
        (lambda: AnyOf(), "at least one"),
        (lambda: AnyOf(Independent(column="a"), Independent(column="b")), "different columns: a, b"),
        (lambda: AnyOf(NOTHING), "not a model"),
    ],
)
def test_models_that_do_not_go_together_are_refused(build: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        build()


def test_parameters_are_those_of_the_models_that_have_some() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], column="s")
    assert AnyOf(Independent(column="s"), chain).parameters == f"Model 2:\n{chain.parameters}"
    assert AnyOf(Independent(), ArbitraryGroups(3)).parameters is None


def test_states_of_different_types_stay_apart() -> None:
    half = [[0.5, 0.5], [0.5, 0.5]]
    either = AnyOf(MarkovChain(half, states=[0, 1]), MarkovChain(half, states=[True, False]))
    assert [(type(state), state) for state in either.states] == [(int, 0), (int, 1), (bool, True), (bool, False)]


def test_a_table_must_be_within_every_model() -> None:
    table = View(scan(polars.DataFrame({"g": [1, 1, 1, 2]})), "error")
    wide, narrow = ArbitraryGroups(3, group="g"), ArbitraryGroups(2, group="g")
    assert AnyOf(wide, Independent()).check_table(table) == AnyOf(wide, Independent())
    with pytest.raises(RecordsError, match="a group of 3 records, but the model describes at most 2"):
        AnyOf(wide, narrow).check_table(table)


def test_models_that_protect_different_things_are_refused() -> None:
    with pytest.raises(ModelError, match=r"protect different things: one record.*; a whole group of at most 4"):
        AnyOf(Independent(), ArbitraryGroups(4, unit="group"))
