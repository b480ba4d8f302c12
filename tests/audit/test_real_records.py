"""A real record among its neighbours: which one is meant, what is at the ends, and what is not a record."""

from __future__ import annotations

from typing import Any

import polars
import pytest

import bayesdp as bdp
from bayesdp.audit.chain_attack_models import UnknownStretch
from bayesdp.audit.real_records import real_record
from bayesdp.errors import FrameError, InvalidInputError, RecordsError
from bayesdp.models import ChainLayout
from bayesdp.theorems.markov.sides import Ending

STATES = ["on", "on", "off", "on", "off", "off"]
FRAME = polars.DataFrame({"t": [5, 0, 3, 1, 4, 2], "s": [STATES[t] for t in (5, 0, 3, 1, 4, 2)]})
ROWS = [[0.9, 0.1], [0.4, 0.6]]


def chain(entity: tuple[str, ...] = (), **described: Any) -> bdp.MarkovChain:
    return bdp.MarkovChain(ROWS, states=["off", "on"], column="s", layout=ChainLayout(("t",), entity), **described)


REMEMBERING = bdp.MarkovChain(
    [[[0.9, 0.1], [0.3, 0.7]], [[0.6, 0.4], [0.2, 0.8]]],
    memory=2,
    states=["off", "on"],
    column="s",
    layout=ChainLayout(("t",)),
)


def test_a_real_record_is_counted_in_the_order_of_the_chain() -> None:
    found = real_record(chain(), FRAME, 3, None)
    assert found.states == (1, 1, 0, 1, 0, 0)
    assert (found.place, found.state) == (3, 1)
    assert found.described == "The target is record 3 of a real chain of 6 records."


def test_records_without_a_state_are_not_counted() -> None:
    gaps = polars.concat([FRAME, polars.DataFrame({"t": [6, 7], "s": [None, "on"]})])
    assert real_record(chain(gaps=True), gaps, 6, None).states == (1, 1, 0, 1, 0, 0, 1)


def test_a_stretch_ends_at_known_states_or_where_the_chain_does() -> None:
    found = real_record(chain(), FRAME, 3, None)
    inside = found.within(1, 1)
    assert inside == UnknownStretch(Ending(1, 1), Ending(1, 0))
    assert found.answer(inside, (0, 1)) == 1
    whole = found.within(9, 9)
    assert whole == UnknownStretch(Ending(3, None), Ending(2, None))
    assert found.answer(whole, (0, 1)) == 3
    assert found.answer(found.within(0, 0), (0, 5)) == 5


def test_with_a_longer_memory_all_states_beside_a_stretch_are_known() -> None:
    found = real_record(REMEMBERING, FRAME, 3, None)
    assert found.within(0, 0) == UnknownStretch(Ending(0, 0), Ending(0, 0), left=(1, 0), right=(0, 0))
    assert found.within(9, 1) == UnknownStretch(Ending(1, 1), Ending(1, 0), left=(1, 1), right=(0,))
    assert found.within(1, 9) == UnknownStretch(Ending(1, 1), Ending(2, None), left=(1, 1), right=())


def test_bounded_odds_are_attacked_by_a_law_that_they_cover() -> None:
    for memory in (1, 2):
        model = bdp.OddsChain(16.0, memory=memory, states=["off", "on"]).located(state="s", order_by="t")
        found = real_record(model, FRAME, 0, None)
        rows = found.chain.table.ravel().tolist()
        assert rows == pytest.approx([0.8, 0.2, 0.2, 0.8]), "0.8 · 0.8 / (0.2 · 0.2) = 16"
        assert "repeats its last state with probability 0.8" in found.described
        assert found.states == (1, 1, 0, 1, 0, 0)
    three = bdp.OddsChain(4.0, states=["off", "on", "away"]).located(state="s", order_by="t")
    table = real_record(three, FRAME, 0, None).chain.table
    assert bdp.OddsChain.of([table.tolist()]).odds == pytest.approx(4.0)


def test_one_of_several_entities_is_named_by_all_its_columns() -> None:
    others = FRAME.with_columns(s=polars.lit("off"))
    both = polars.concat([FRAME.with_columns(who=polars.lit("me")), others.with_columns(who=polars.lit("you"))])
    model = chain(("who",))
    assert real_record(model, both, 0, "me").states == (1, 1, 0, 1, 0, 0)
    assert real_record(model, both, 0, ["you"]).states == (0,) * 6
    with pytest.raises(RecordsError, match="chain has 0 records"):
        real_record(model, both, 0, "nobody")
    for entity in (None, ["me", "you"]):
        with pytest.raises(InvalidInputError, match=r"entity= must give a value for each .* \(who\)"):
            real_record(model, both, 0, entity)


def test_it_shows_nothing_of_the_records_in_its_repr() -> None:
    assert "states" not in repr(real_record(chain(), FRAME, 3, None))


@pytest.mark.parametrize(
    ("model", "record", "error", "said"),
    [
        (bdp.Independent(), 0, InvalidInputError, "only under a MarkovChain or an OddsChain"),
        (chain(unit=2, length=6), 0, InvalidInputError, "only under a MarkovChain or an OddsChain"),
        (bdp.MarkovChain(ROWS), 0, InvalidInputError, "does not name the columns"),
        (chain(), None, InvalidInputError, "its position in the chain"),
        (chain(), -1, InvalidInputError, "record"),
        (REMEMBERING, 1, InvalidInputError, "at least 2 records must lie before it; name record 2 or a later one"),
        (bdp.OddsChain(9.0).located(state="s", order_by="t"), 0, InvalidInputError, "does not list the states"),
        (chain(), 5000, RecordsError, "record 5000 does not exist: the chain has 6"),
    ],
)
def test_what_is_no_record_of_a_chain_is_refused(
    model: bdp.Model, record: int | None, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        real_record(model, FRAME, record, None)


def test_a_table_of_another_kind_is_refused() -> None:
    with pytest.raises(FrameError):
        real_record(chain(), FRAME.drop("t"), 0, None)
    with pytest.raises(RecordsError, match="not in the model"):
        real_record(chain(), FRAME.with_columns(s=polars.lit("away")), 0, None)
