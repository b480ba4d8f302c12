"""The chains in a table, counted against plain Python on small tables; test_engines.py does so in every engine."""

import random
from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

import narwhals as nw
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.errors import FrameError, RecordsError
from bayesdp.frames import transitions as module
from bayesdp.frames.transitions import CLOSE, FOLLOWS, GAP, TIED, Sequences, transitions
from bayesdp.models.layout import ChainLayout

LAYOUT = ChainLayout("t", "who", step=2)


def visits(seed: int, records: int = 40) -> pl.DataFrame:
    """Return records of three people, two apart or farther, shuffled; some lack their state."""
    draw, rows = random.Random(seed), []
    times = Counter[str]()
    for _ in range(records):
        who = draw.choice("abc")
        times[who] += draw.choice((2, 2, 2, 5))
        rows.append((who, times[who], draw.choice(["x", "y", None])))
    draw.shuffle(rows)
    return pl.DataFrame(rows, schema=["who", "t", "s"], orient="row")


@given(st.integers(0, 10**6))
def test_neighbours_are_two_apart_and_both_have_a_state(seed: int) -> None:
    frame = visits(seed)
    found = transitions(frame, "s", LAYOUT, "drop")
    pairs, chains = Counter[tuple[Any, Any]](), defaultdict(list)
    for who, time, state in frame.sort("t").rows():
        chains[who].append((time, state))
    for chain in chains.values():
        for (then, before), (now, state) in pairwise(chain):
            if now == then + 2 and before and state:
                pairs[before, state] += 1
    states = found.states
    assert states == tuple(sorted({s for s in frame["s"] if s}))
    assert found.counts == tuple(tuple(pairs[before, now] for now in states) for before in states)
    assert (found.records, found.missing) == (frame["s"].count(), frame["s"].null_count())
    assert found.longest == max(sum(state is not None for _, state in chain) for chain in chains.values())


def test_each_record_is_related_to_the_one_before() -> None:
    frame = pl.DataFrame({"t": [1, 3, 8, 8, 9], "s": list("abcab")})
    chains = Sequences.of(frame, "s", ChainLayout("t", step=2))
    counted = chains.count({"before": chains.before("s"), "place": chains.position()})
    assert {place: relation for (_, place, relation) in counted} | {1: GAP} == {
        1: GAP,
        2: FOLLOWS,
        3: GAP,
        4: CLOSE,
        5: CLOSE,
    }
    assert chains.sizes() == (1, 5, 0)
    assert chains.places(["b", "a"]) == {"b": 0, "a": 1}
    without = Sequences.of(frame, "s", ChainLayout("t"))
    assert without.relations()[TIED] == 1


@pytest.mark.parametrize(
    ("layout", "options", "message"),
    [
        (
            ChainLayout("t"),
            {"missing": "drop"},
            "the same t as the previous record, so their order is unknown",
        ),
        (ChainLayout("t", "who"), {}, "in the table: 2 records have no 's'; .*each is then a gap"),
        (ChainLayout("t", "who", step=3), {"missing": "drop"}, r"by less than the step \(3"),
        (ChainLayout("t", "who", step="1h"), {}, "step must be a number greater than 0"),
        (
            ChainLayout("t", "nobody"),
            {},
            "1 record of the table has no value in the columns that order records or identify entities",
        ),
        (ChainLayout("t", "who"), {"within": ["s"], "missing": "drop"}, "'s'"),
        (ChainLayout("t", "who"), {"within": ["hour"], "missing": "drop"}, "hour"),
    ],
)
def test_what_is_no_chain_is_refused(layout: ChainLayout, options: dict[str, Any], message: str) -> None:
    frame = pl.DataFrame(
        {
            "t": [0, 2, 4, 0, 2, 4],
            "who": list("aaabbb"),
            "s": ["x", None, "y", "y", "x", None],
            "nobody": ["a", None, "a", "b", "b", "b"],
        }
    )
    with pytest.raises(FrameError, match=message):
        transitions(frame, "s", layout, **options)


@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_one_window_suffices_or_says_so(seed: int, tied: bool, unplaced: bool) -> None:
    frame = visits(seed).with_columns(pl.col("s").fill_null("x"))
    odd = pl.DataFrame({"who": ["a", "d"], "t": [frame["t"].max(), None], "s": ["x", "x"]}, schema=frame.schema)
    frame = pl.concat([frame, odd[:1] if tied else odd[:0], odd[1:] if unplaced else odd[:0]])
    if tied:
        frame = frame.with_columns(t=pl.when(pl.col("who") == "a").then(1).otherwise("t"))
    chains = Sequences.of(frame, "s", ChainLayout("t", "who"))
    counted = module._pairs(chains, chains.sizes())
    if tied or unplaced:
        assert counted is None
    else:
        every = module._runs(chains, 1, (), ())
        assert counted is not None
        assert {key: n for key, n in counted.items() if key[0]} == {key: n for key, n in every.items() if key[0]}
        assert counted.total() == every.total() == len(frame)


@pytest.mark.parametrize(
    ("lost", "complaint"), [("order", "no value in the columns that order"), ("tie", "the same t")]
)
def test_a_chain_of_one_record_needs_a_place(lost: str, complaint: str) -> None:
    last = ("c", None) if lost == "order" else ("b", 2)
    rows = [("a", 1, "x"), ("a", 2, "y"), ("b", 2, "x"), (*last, "y")]
    with pytest.raises(RecordsError, match=complaint):
        transitions(pl.DataFrame(rows, schema=["who", "t", "s"], orient="row"), "s", ChainLayout("t", "who"))


def test_far_too_many_states_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_ROWS", 5)
    frame = pl.DataFrame({"t": range(9), "s": range(9)})
    chains = Sequences.of(frame, "s", ChainLayout("t"))
    with pytest.raises(RecordsError, match="far too many different values"):
        chains.count({"n": nw.col("s")})
