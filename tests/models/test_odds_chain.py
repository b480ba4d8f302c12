"""The chain of which only one number is assumed."""

from __future__ import annotations

import math
from dataclasses import replace

import polars
import pytest

from bayesdp.errors import ModelError, RecordsError
from bayesdp.frames.source import scan
from bayesdp.frames.view import View
from bayesdp.models import ChainLayout, MarkovChain, Model, OddsChain


@pytest.mark.parametrize(
    ("odds", "message"),
    [
        (0.5, "at least 1"),
        (-3, "at least 1"),
        (math.nan, "finite"),
        (math.inf, "finite"),
        ("9", "number"),
        (True, "number"),
    ],
)
def test_odds_that_cannot_be_are_refused(odds: object, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        OddsChain(odds)  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["memory", "unit", "length"])
def test_whole_numbers_are_whole_numbers(field: str) -> None:
    for bad in (0, -1, 1.5, "2"):
        with pytest.raises(ModelError, match=field):
            OddsChain(9, **{field: bad})  # type: ignore[arg-type]


def test_json_goes_there_and_back() -> None:
    for model in (OddsChain(9), OddsChain(2.5, length=100, memory=2, unit=12, states=["a", "b"], column="s")):
        assert Model.from_json(model.to_json()) == model
    assert OddsChain(17.1).to_dict() == {
        "schema": 1,
        "type": "odds-chain",
        "odds": 17.1,
        "length": None,
        "memory": 1,
    }


def test_of_known_chains_takes_the_worst_step() -> None:
    steps = [[[0.9, 0.1], [0.4, 0.6]], [[0.5, 0.3, 0.2], [0.2, 0.4, 0.4]]]
    chain = OddsChain.of(steps, column="room")
    assert chain.odds == pytest.approx(13.5)
    assert (chain.length, chain.column) == (3, "room")
    assert OddsChain.of(steps, length=1000).length == 1000
    homogeneous = MarkovChain(steps[0])
    assert OddsChain.of([steps[0]]).log_odds == pytest.approx(homogeneous.log_odds)


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        ([], "at least one"),
        ([[[0.5, 0.5], [1, 0]]], "matrix 0 has odds without limit"),
        ([[[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.4], [0.5, 0.5]]], "matrix 1, row 0 must sum to 1"),
        ([[[0.5, 0.5], [1.0]]], "row 1 has 1 entries"),
    ],
)
def test_of_refuses_what_is_no_chain(matrices: object, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        OddsChain.of(matrices)  # type: ignore[arg-type]


def test_a_larger_unit_is_said_in_time() -> None:
    hour = OddsChain(9, unit=12, record="5-minute interval", layout=ChainLayout("time", step="5m"))
    assert hour.protects == "any 12 consecutive 5-minute intervals together (an hour), not the person behind more"
    assert OddsChain(9, unit=18, layout=ChainLayout("t", step="5m")).protects.count("(90 minutes)") == 1
    assert "(" not in OddsChain(9, unit=3, layout=ChainLayout("t", step=5)).protects
    assert not OddsChain(9).protects_several


def placed(chain: OddsChain, frame: polars.DataFrame) -> OddsChain:
    return chain.check_table(View(scan(frame), "error"))


def test_a_table_is_checked() -> None:
    frame = polars.DataFrame({"t": [1, 2, 3, 4], "s": ["a", "b", "a", "c"]})
    layout = ChainLayout("t", step=1)
    assert not placed(OddsChain(9, column="s", layout=layout), frame).gaps
    assert placed(OddsChain(9, column="s"), frame).gaps
    with pytest.raises(RecordsError, match="not a state"):
        placed(OddsChain(9, states=["a", "b"], column="s", layout=layout), frame)
    with pytest.raises(RecordsError, match="chain of 4 records"):
        placed(OddsChain(9, length=3, column="s", layout=layout), frame)
    with pytest.raises(RecordsError, match="same t"):
        placed(OddsChain(9, column="s", layout=ChainLayout("t")), frame.with_columns(t=polars.lit(1)))


def test_numbers_need_no_list_of_states() -> None:
    frame = polars.DataFrame({"t": range(50), "kwh": [i / 7 for i in range(50)]})
    chain = OddsChain(4, column="kwh", layout=ChainLayout("t", step=1))
    assert not placed(chain, frame).gaps


def test_what_is_assumed_is_one_number() -> None:
    chain = OddsChain(17.1148, memory=2, length=100)
    assert "odds ratio of neighbouring blocks of 2 records is at most 17.1148" in chain.assumption
    assert "8.28 times" in chain.parameters
    assert "times" not in replace(chain, unit=12).parameters, "that is the price of one record"
