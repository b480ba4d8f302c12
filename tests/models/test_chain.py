"""What every chain has: its place in a table, the unit it protects, the stretch in which anything might happen."""

from dataclasses import replace
from typing import Any

import pytest

from bayesdp import Count, MarkovChain, Model
from bayesdp.errors import ModelError, QueryError
from bayesdp.models.layout import ChainLayout

HALF = [[0.5, 0.5], [0.5, 0.5]]
PLACED = MarkovChain(HALF, states=["a", "b"], column="s", length=300, layout=ChainLayout("t", "who", step="5m"))
BARE = MarkovChain(HALF, length=300)
FORGED: Any = "forged"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gaps": 1}, "gaps must be true or false"),
        ({"unit": 0}, "unit must be at least 1"),
        ({"layout": FORGED}, "layout must be a ChainLayout"),
        ({"state": ""}, "state must be a non-empty text"),
        ({"column": "s", "state": "s > 0"}, "not both"),
        ({"states": ["a", "a"]}, "distinct"),
    ],
)
def test_what_is_no_chain_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        replace(BARE, **change)


def test_located_replaces_what_is_given_and_no_other() -> None:
    assert PLACED.located() == PLACED
    assert PLACED.located(order_by="u").layout == ChainLayout("u", "who")
    assert PLACED.located(missing="drop").dropped
    assert BARE.located(state="x > 0", order_by="t").subject == "x > 0"
    with pytest.raises(ModelError, match="describes 's', not 'x'"):
        PLACED.located(state="x")
    with pytest.raises(ModelError, match=r"does not name its columns; .* by state= and order_by="):
        BARE.located(state="x")


def test_only_a_chain_with_an_order_may_grow() -> None:
    grown = PLACED.at_any_length()
    assert (grown.length, grown.gaps, grown.layout) == (None, True, PLACED.layout)
    with pytest.raises(ModelError, match="columns of its order"):
        BARE.at_any_length()


def test_the_unit_is_said_in_records_and_in_time() -> None:
    assert not PLACED.protects_several
    hour = replace(PLACED, unit=12)
    assert hour.protects_several
    assert hour.protects.startswith("any 12 consecutive records together (")
    assert replace(BARE, unit=12).protects == "any 12 consecutive records together, not the person behind more"


def test_the_window_lies_between_the_unit_and_the_whole_chain() -> None:
    assert BARE.window == (12, "12 consecutive records")
    assert replace(BARE, unit=12).window == (24, "24 consecutive records")
    assert replace(BARE, length=12).window == (12, "the whole chain")
    assert replace(BARE, length=5, unit=7).window == (7, "the whole chain")


def test_of_many_states_a_message_names_the_first() -> None:
    even = [[0.1] * 10] * 10
    with pytest.raises(QueryError, match=r"its states are 0, 1, 2, 3, 4, 5, 6, 7, …$"):
        MarkovChain(even, states=range(10)).check_query(Count(equals=10))


def test_its_entries_go_to_json_and_back() -> None:
    for chain in (PLACED, BARE, replace(BARE, gaps=True, unit=3, state="x > 0")):
        assert Model.from_json(chain.to_json()) == chain
        assert ("layout" in chain.to_dict(), "gaps" in chain.to_dict()) == (chain.layout is not None, chain.gaps)
