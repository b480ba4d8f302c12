"""What is missing, infinite, tied or not there at all, in every engine: dropped or refused in words that help."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from bayesdp import Count, Histogram, MarkovChain, Sum
from bayesdp.errors import FrameError, ModelError, RecordsError
from bayesdp.frames.aggregates import tally
from bayesdp.frames.groups import group_moments
from bayesdp.frames.transitions import transitions
from bayesdp.models.layout import ChainLayout, GroupLayout

Columns = dict[str, tuple[str, list[Any]]]
FrameOf = Callable[[str, Columns], Any]

NAN, INF = float("nan"), float("inf")
GAPS: Columns = {
    "f": ("double", [1.5, None, NAN, -2.0, 0.25, None]),
    "i": ("int64", [3, None, 5, 7, 9, 11]),
    "b": ("bool", [True, False, None, None, True, None]),
    "t": ("string", ["x", "y", "x", None, "x", "y"]),
    "k": ("int64", [6, 5, 4, 3, 2, 1]),
}


def one_column(kind: str, values: list[Any]) -> Columns:
    return {"x": (kind, values), "k": ("int64", list(range(len(values)))), "g": ("int64", [0, 0, 1, 1, 2, 2])}


def test_missing_values_are_refused_with_their_number_and_place(engine: str, frame_of: FrameOf) -> None:
    frame = frame_of(engine, GAPS)
    for query, listed in (
        (Sum("f", bounds=(0, 1)), "3 in 'f';"),
        (Count("t", equals="x"), "1 in 't';"),
        (Count("f > 0 or i > 3", equals=True), "3 in 'f', 1 in 'i';"),
        (Histogram("t", cells=["x"], where="b"), "1 in 't', 3 in 'b';"),
    ):
        with pytest.raises(FrameError, match=f'^values are missing in the table: {listed} .*missing="drop"'):
            tally(frame, [query])
    assert [found.counts for found in tally(frame, [Count("k", equals=3), Sum("k", bounds=(0, 2))])] == [(1,), (11,)]


def test_missing_values_are_left_out_of_questions_about_them(engine: str, frame_of: FrameOf) -> None:
    asked = [
        Sum("i", bounds=(0, 8)),
        Count("f > 0", equals=True),
        Count("f > 0", equals=False),
        Count("t", equals="x", where="b"),
        Histogram("b", cells=[True, False]),
        Count("not b", equals=True),
        Sum("i", bounds=(0, 8), where="not (f > 0 or b)"),
    ]
    found = tally(frame_of(engine, GAPS), asked, missing="drop")
    assert [each.counts for each in found] == [(31,), (2,), (1,), (2,), (2, 1), (1,), (0,)]
    assert [(each.records, each.present) for each in found] == [(5, 5), (3, 3), (3, 3), (2, 3), (3, 3), (3, 3), (0, 2)]


@pytest.mark.parametrize(("kind", "nothing"), [("double", None), ("double", NAN), ("int64", None), ("string", None)])
def test_nothing_is_there(engine: str, kind: str, nothing: Any, frame_of: FrameOf) -> None:
    frame = frame_of(engine, one_column(kind, [nothing] * 6))
    value = "a" if kind == "string" else 1
    with pytest.raises(FrameError, match="values are missing in the table: 6 in 'x'"):
        tally(frame, [Count("x", equals=value)])
    assert [(each.counts, each.records) for each in tally(frame, [Count("x", equals=value)], missing="drop")] == [
        ((0,), 0)
    ]
    with pytest.raises(FrameError, match="no record of the table has a value of 'x'"):
        transitions(frame, "x", ChainLayout("k"), "drop")
    if kind != "string":
        assert [each.counts for each in tally(frame, [Sum("x", bounds=(0, 1))], missing="drop")] == [(0,)]
        for layout in (GroupLayout("x", "g"), GroupLayout(["x", "k"])):
            with pytest.raises(FrameError, match=r"has one record only|holds no values"):
                group_moments(frame, layout, "drop")


def test_no_rows_at_all(engine: str, frame_of: FrameOf) -> None:
    frame = frame_of(engine, {"x": ("double", []), "k": ("int64", []), "t": ("string", [])})
    for ask in (
        lambda: tally(frame, [Sum("x", bounds=(0, 1))], missing="drop"),
        lambda: transitions(frame, "t", ChainLayout("k"), "drop"),
        lambda: group_moments(frame, GroupLayout("x", "k"), "drop"),
        lambda: group_moments(frame, GroupLayout(["x", "k"]), "drop"),
    ):
        with pytest.raises(FrameError, match=r"^the table is empty: it has no rows$"):
            ask()


@pytest.mark.parametrize(
    ("values", "count"),
    [
        ([1.0, INF, 0.5, 2.0, 3.0, 1.0], "1 infinite value;"),
        ([-INF, 1.0, 0.5, 2.0, 3.0, 1.0], "1 infinite value;"),
        ([INF, -INF, None, NAN, 3.0, INF], "3 infinite values;"),
        ([INF] * 6, "6 infinite values;"),
    ],
)
@pytest.mark.parametrize("missing", ["error", "drop"])
def test_infinite_values_are_refused(
    engine: str, values: list[Any], count: str, missing: Any, frame_of: FrameOf
) -> None:
    frame = frame_of(engine, one_column("double", values))
    for ask in (
        lambda: tally(frame, [Sum("x", bounds=(0, 1))], missing=missing),
        lambda: tally(frame, [Count("x > 0", equals=True)], missing=missing),
        lambda: tally(frame, [Count("k", equals=1, where="x > 0")], missing=missing),
        lambda: group_moments(frame, GroupLayout("x", "g"), missing),
        lambda: group_moments(frame, GroupLayout(["k", "x"]), missing),
    ):
        with pytest.raises(FrameError, match=f"^column 'x' of the table holds {count} .*replace or remove them"):
            ask()


def test_large_values_are_not_infinite(engine: str, frame_of: FrameOf) -> None:
    """Their plain sum is beyond floats, or is nothing where it should be, but none of them is."""
    frame = frame_of(engine, one_column("double", [1.7e308, 1.7e308, -1.7e308, None, 1.0, 1.7e308]))
    if engine == "postgresql":
        with pytest.raises(RecordsError, match="ibis stopped with NumericValueOutOfRange"):
            tally(frame, [Sum("x", bounds=(0, 1024))], missing="drop")
        return
    assert tally(frame, [Sum("x", bounds=(0, 1024))], missing="drop")[0].counts == ((3 * 1024 + 1) << 30,)
    with pytest.raises(FrameError, match="values are missing in the table: 1 in 'x'"):
        tally(frame, [Sum("x", bounds=(0, 1))])
    with pytest.raises(FrameError, match="too far apart for exact moments"):
        group_moments(frame, GroupLayout("x", "g"), "drop")


# --- chains -----------------------------------------------------------------------------------------------------------


def test_missing_states(engine: str, frame_of: FrameOf) -> None:
    frame, having = frame_of(engine, GAPS), {1: "1 record has", 3: "3 records have"}
    for state, missing in (("f", 3), ("b", 3), ("t", 1), ("f > 0 and i > 4", 3), ("not b", 3)):
        with pytest.raises(FrameError, match=f"in the table: {having[missing]} no '{state}'; .*each is then a gap"):
            transitions(frame, state, ChainLayout("k"))
        found = transitions(frame, state, ChainLayout("k"), "drop")
        assert (found.missing, found.records, found.longest, found.entities) == (missing, 6 - missing, 6 - missing, 1)
    # in order of k: y x - x y x
    assert transitions(frame, "t", ChainLayout("k"), "drop").counts == ((0, 1), (2, 0))


@pytest.mark.parametrize("kind", ["order", "second order", "entity", "second entity", "order with a step", "both"])
def test_records_without_a_place(engine: str, kind: str, frame_of: FrameOf) -> None:
    who: list[Any] = ["u", "u", "u", "w", "w", "v"]
    time: list[Any] = [1.0, 2.0, 3.0, 1.0, 2.0, 1.0]
    layout: dict[str, Any] = {"order_by": "time", "entity": "who"}
    if kind in ("entity", "both"):
        who[1] = None
    if kind == "second entity":
        who[3] = who[5] = None
        layout["entity"] = ["k", "who"]
    if kind in ("order", "order with a step", "both", "second order"):
        time[5] = NAN  # the only record of its chain
        time[1] = None
    if kind == "second order":
        layout["order_by"] = ["k", "time"]
    if kind == "order with a step":
        layout["step"] = 1
    columns: Columns = {
        "who": ("string", who),
        "time": ("double", time),
        "k": ("int64", [1, 2, 3, 4, 5, 6]),
        "s": ("string", list("ababab")),
    }
    one, two = "1 record of the table has", "2 records of the table have"
    having = {"entity": one, "both": f"({one}|{two})"}.get(kind, two)
    with pytest.raises(FrameError, match=f"^{having} no value in the columns that order records"):
        transitions(frame_of(engine, columns), "s", ChainLayout(**layout))


@pytest.mark.parametrize("kind", ["int64", "double", "string", "date32", "timestamp[us]"])
def test_ties_are_refused_and_the_message_says_what_to_do(engine: str, kind: str, frame_of: FrameOf) -> None:
    time = ["a", "b", "b", "b", "c", "a"] if kind == "string" else [1, 2, 2, 2, 3, 1]
    columns: Columns = {
        "who": ("string", ["u", "u", "w", "w", "w", "w"]),
        "time": (kind, time),
        "k": ("int64", [1, 2, 3, 4, 5, 6]),
        "s": ("string", list("ababab")),
    }
    frame = frame_of(engine, columns)
    with pytest.raises(
        FrameError, match=r"^3 records of the table have the same time .* or name the entities with entity="
    ):
        transitions(frame, "s", ChainLayout("time", order_by_text=True))
    with pytest.raises(FrameError, match=r"^1 record of .* has .* of the same entity, .*breaks the ties to order_by$"):
        transitions(frame, "s", ChainLayout("time", entity="who", order_by_text=True))
    # u: a b; w: b (time 1), a b (time 2), a (time 3)
    found = transitions(frame, "s", ChainLayout(["time", "k"], entity="who", order_by_text=True))
    assert found.counts == ((0, 2), (2, 0))


def test_zeros_are_one_number(engine: str, frame_of: FrameOf) -> None:
    """−0.0 and 0.0 are the same state, the same entity, the same role and the same time."""
    columns: Columns = {
        "z": ("double", [-0.0, 0.0, -0.0, 0.0, 1.0, 1.0]),
        "k": ("int64", [1, 2, 3, 4, 1, 2]),
        "s": ("string", list("ababab")),
        "v": ("double", [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]),
        "g": ("int64", [0, 1, 2, 3, 0, 1]),
    }
    frame = frame_of(engine, columns)
    assert transitions(frame, "s", ChainLayout("k", entity="z")).counts == ((0, 3), (1, 0))
    assert transitions(frame, "z", ChainLayout(["k", "s", "v"], order_by_text=True)).states == (0, 1)
    assert tally(frame, [Histogram("z", cells=[0, 1]), Count("z == -0.0", equals=True)])[0].counts == (4, 2)
    with pytest.raises(FrameError, match="4 records of the table have the same z"):
        transitions(frame, "s", ChainLayout("z"))
    moments = group_moments(frame, GroupLayout("v", "z"))
    assert (moments.groups, getattr(moments, "largest", 0)) == (2, 4)
    with pytest.raises(ModelError, match=r"not positive definite|variance"):
        group_moments(frame, GroupLayout("v", "g", "z"))


@pytest.mark.parametrize("kind", ["int8", "uint8", "uint16", "uint32", "uint64", "int64", "double", "float"])
def test_records_closer_than_the_step(engine: str, kind: str, frame_of: FrameOf) -> None:
    def chain(times: list[int], step: float) -> Any:
        columns: Columns = {"o": (kind, times), "s": ("string", list("abbaba"))}
        return transitions(frame_of(engine, columns), "s", ChainLayout("o", step=step))

    for times, step, close in (
        ([0, 1, 1, 2, 3, 5], 1, "1 record of the table follows"),
        ([0, 1, 2, 3, 5, 6], 2, "4 records of the table follow"),
        ([9, 9, 9, 9, 9, 9], 1, "5 records of the table follow"),
    ):
        with pytest.raises(FrameError, match=f"^{close} the one before by less than"):
            chain(times, step)
    assert chain([7, 5, 3, 1, 9, 127], 2).counts == ((0, 2), (1, 1))  # in order: a b b a b, a gap, a
    with pytest.raises(FrameError, match=r"^1 record of .*less than the step"):
        chain([0, 2, 4, 6, 8, 9], 1.5)


def test_a_step_that_no_record_keeps(engine: str, frame_of: FrameOf) -> None:
    """Every record is then a gap, and the message says so: it is not the states that are at fault."""
    columns: Columns = {
        "k": ("int64", [1, 2, 3, 4]),
        "x": ("double", [1.0, 2.0, 3.0, 4.0]),
        "day": ("timestamp[us]", [dt.datetime(2024, 1, day) for day in (1, 2, 3, 4)]),
        "who": ("string", ["u", "u", "v", "v"]),
        "lone": ("int64", [1, 2, 3, 4]),
        "s": ("string", ["a", "b", "a", "a"]),
    }
    frame = frame_of(engine, columns)
    for order, step in (("k", 0.5), ("x", 0.5), ("day", "12h")):
        for layout in (ChainLayout(order, step=step), ChainLayout(order, entity="who", step=step)):
            message = rf"^not one record of the table follows .* the step \({step}\) in '{order}': .*; give the spacing"
            with pytest.raises(FrameError, match=message):
                transitions(frame, "s", layout)
            with pytest.raises(FrameError, match=message):
                transitions(frame, "k > 1", layout)
    assert transitions(frame, "s", ChainLayout("k", entity="lone", step=0.5)).counts == ((0, 0), (0, 0))
    assert transitions(frame, "s", ChainLayout("k", entity="who", step=1)).counts == ((1, 1), (0, 0))


def test_an_order_wider_than_integers(engine: str, frame_of: FrameOf) -> None:
    """The distance of the records is no 64-bit integer: refused by the first check that notices."""
    columns: Columns = {"o": ("int64", [-(2**63), 2**63 - 1]), "s": ("string", ["a", "b"])}
    with pytest.raises(FrameError, match=r"less than the step|cannot be read"):
        transitions(frame_of(engine, columns), "s", ChainLayout("o", step=1))
    assert transitions(frame_of(engine, columns), "s", ChainLayout("o")).counts == ((0, 1), (0, 0))


def test_a_step_beyond_reason(engine: str, frame_of: FrameOf) -> None:
    frame = frame_of(engine, GAPS)
    with pytest.raises(FrameError, match="less than the step"):
        transitions(frame, "i", ChainLayout("k", step=1e300), "drop")
    with pytest.raises(FrameError, match="only these have a spacing"):
        transitions(frame, "k", ChainLayout("t", step=1, order_by_text=True), "drop")
    for step in ("5m", "x", "-1", "inf", "nan"):
        with pytest.raises(FrameError, match="step must be a number greater than 0"):
            transitions(frame, "i", ChainLayout("k", step=step), "drop")


# --- groups -----------------------------------------------------------------------------------------------------------


def test_groups_without_values(engine: str, frame_of: FrameOf) -> None:
    columns: Columns = {
        "g": ("int64", [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]),
        "r": ("string", ["a", "b"] * 5),
        "v": ("double", [None, 1.0, NAN, 2.0, None, 5.0, 3.0, 4.5, 5.5, 6.0]),
        "one": ("int64", list(range(10))),
        "nobody": ("int64", [0, 0, 1, 1, 2, 2, 3, 3, None, 4]),
        "none": ("string", ["a", None] * 5),
    }
    frame = frame_of(engine, columns)
    with pytest.raises(FrameError, match="values are missing in the table: 3 in 'v'"):
        group_moments(frame, GroupLayout("v", "g"))
    for layout in (GroupLayout("one", "nobody"), GroupLayout("one", "nobody", "r"), GroupLayout("one", "g", "none")):
        with pytest.raises(FrameError, match=r"some records of the table have no usable value in .*belong to no group"):
            group_moments(frame, layout, "drop")
    with pytest.raises(FrameError, match="every group of the table has one record only"):
        group_moments(frame, GroupLayout("v", "one"), "drop")
    with pytest.raises(FrameError, match="every group of the table has one record only"):
        group_moments(frame, GroupLayout("v", "one", "r"), "drop")
    # role a has values in the last two groups only: nothing in the first partitions
    with pytest.raises(ModelError, match="not positive definite"):
        group_moments(frame, GroupLayout("v", "g", "r"), "drop")
    columns["v"] = ("double", [None, 1.0, NAN, 2.0, None, 5.0, None, 4.5, NAN, 6.0])
    with pytest.raises(FrameError, match="column 'r' of the table names 1 role; groups need at least two"):
        group_moments(frame_of(engine, columns), GroupLayout("v", "g", "r"), "drop")
    with pytest.raises(FrameError, match="every group of the table has one record only"):
        group_moments(frame_of(engine, columns), GroupLayout("v", "g"), "drop")


def test_two_records_in_one_role(engine: str, frame_of: FrameOf) -> None:
    """As many as to overflow what their sum would be multiplied with."""
    columns: Columns = {
        "g": ("int64", [0] * 2000 + [1, 1]),
        "r": ("string", ["a"] * 2000 + ["a", "b"]),
        "v": ("double", [float(i) for i in range(2002)]),
    }
    with pytest.raises(
        FrameError, match=r"^1 group of the table has more than one record in the role 'a'; .*leave role="
    ):
        group_moments(frame_of(engine, columns), GroupLayout("v", "g", "r"))


def test_one_group_only(engine: str, frame_of: FrameOf) -> None:
    columns: Columns = {"g": ("string", ["é"] * 4), "v": ("double", [1.0, 2.0, 3.0, 4.0])}
    with pytest.raises(FrameError, match="there is one group only"):
        group_moments(frame_of(engine, columns), GroupLayout("v", "g"))


def test_the_rule_for_missing_values_is_one_of_two() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1, 2], "k": [1, 2]})
    for rule in (None, "ignore", True, ["drop"]):
        with pytest.raises(FrameError, match='missing must be "error" or "drop"'):
            tally(frame, [Count("a", equals=1)], missing=rule)  # type: ignore[arg-type]
        with pytest.raises(FrameError, match='missing must be "error" or "drop"'):
            MarkovChain.fit(frame, state="a", order_by="k", missing=rule)  # type: ignore[arg-type]
