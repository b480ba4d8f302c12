"""Every statistic in every engine, against plain Python: the same integers, whatever the engine and the partitions."""

import datetime as dt
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from bayesdp import Count, GaussianGroups, Histogram, MarkovChain, Mean, Quantile, Query, Sum, Variance
from bayesdp.errors import FrameError
from bayesdp.frames.aggregates import Tally, tally
from bayesdp.frames.groups import group_moments
from bayesdp.frames.series import series_moments
from bayesdp.frames.source import scan
from bayesdp.frames.transitions import Transitions, transitions
from bayesdp.frames.wide_format import VALUE, unpivoted
from bayesdp.models.layout import ChainLayout, GroupLayout
from bayesdp.models.moments import AnovaMoments, Moments
from bayesdp.models.series_moments import SeriesMoments
from bayesdp.models.strata import Stratum

ENGINES = ("pandas", "pandas-arrow", "polars", "lazy", "pyarrow", "duckdb", "ibis", "postgresql", "dask", "dask-arrow")

Row = dict[str, Any]
FrameOf = Callable[[str, dict[str, tuple[str, list[Any]]]], Any]

NAN = float("nan")
BIG = 2**63 - 1
STATES = ("été", "日本", "a'b\"c", "😀", "NaN", "")


# --- the records -----------------------------------------------------------------------------------------------------

KINDS = {
    "person": "string",
    "number": "int64",
    "k": "int64",
    "day": "date32",
    "when": "timestamp[us]",
    "tick": "double",
    "state": "string",
    "flag": "bool",
    "sure": "bool",
    "level": "double",
    "f": "double",
    "g": "float",
    "i": "int64",
    "n": "int64",
    "small": "int8",
}


def _records() -> list[Row]:
    """Return the records of three people, shuffled: nulls, NaN, negative zero, huge integers, unicode, gaps."""
    draw = random.Random(2)  # any seed will do
    floats = [None, NAN, -0.0, 0.0, 0.1, -2.25, 3.7, 1e300, -1e300, 5e-324, 1 / 3]
    integers = [None, 0, -5, 7, 2**53 + 1, 2**62, BIG, -BIG - 1]
    rows = []
    for person, records in (("zoë", 30), ("李", 17), ("B", 1)):
        for k in range(records):
            if k in (4, 11):  # absent: a gap for those who know the step
                continue
            rows.append(
                {
                    "person": person,
                    "number": {"zoë": 2**40, "李": -1, "B": 0}[person],
                    "k": 5 * k,
                    "day": dt.date(2024, 2, 20) + dt.timedelta(days=k),
                    "when": dt.datetime(2024, 3, 10, 1, 0) + dt.timedelta(minutes=5 * k),
                    "tick": k / 10,
                    "state": draw.choice([*STATES, None]),
                    "flag": draw.choice([True, False, None]),
                    "sure": draw.choice([True, False]),
                    "level": draw.choice([0.0, -0.0, 2.0, 2.5, NAN, None]),
                    "f": draw.choice(floats),
                    "g": draw.choice([None, 0.5, 0.1, NAN, -3.0]),
                    "i": draw.choice(integers),
                    "n": draw.choice([0, 3, 11, -4]),
                    "small": draw.choice([-128, 127, 5, None]),
                }
            )
    draw.shuffle(rows)
    return rows


ROWS = _records()
COLUMNS = {name: (kind, [row[name] for row in ROWS]) for name, kind in KINDS.items()}


def value(row: Row, column: str) -> Any:
    """Return what a record has in a column, None if it is missing; 32-bit floats are what they can hold."""
    found = row[column]
    if isinstance(found, float) and math.isnan(found):
        return None
    return _single(found) if column == "g" and found is not None else found


def _single(number: float) -> float:
    import struct

    return float(struct.unpack("f", struct.pack("f", number))[0])


# --- questions: plain Python on the left of what the engines are asked ------------------------------------------------

Answer = Callable[[Row], Sequence[int]]


def always(row: Row) -> bool:
    return True


def step_of(low: float, high: float, leaves: bool = False) -> tuple[float, float]:
    """Return where a grid begins and its step: 2^40 steps, fewer if the sum would not fit into 62 bits."""
    width = max(abs(low), abs(high), high - low) if leaves else high - low
    return (0.0 if leaves else low), width / 2.0 ** min(62 - len(ROWS).bit_length(), 40)


def placed(column: str, low: float, high: float, leaves: bool = False) -> Answer:
    origin, step = step_of(low, high, leaves)

    def place(row: Row) -> list[int]:
        clipped = min(max(float(value(row, column)), low), high)
        number = math.floor((clipped - origin) / step + 0.5)
        exact = (Fraction(clipped) - Fraction(origin)) / Fraction(step)
        assert abs(number - exact) <= Fraction(1, 2) + Fraction(1, 2**10)
        return [number]

    return place


def clipped(column: str, low: int, high: int, origin: int) -> Answer:
    return lambda row: [min(max(value(row, column), low), high) - origin]


def holds(condition: Callable[[Row], bool], wanted: bool = True) -> Answer:
    return lambda row: [int(condition(row) is wanted)]


def among(column: str, *cells: Any) -> Answer:
    return lambda row: [int(value(row, column) == cell) for cell in cells]


def total(answer: Answer) -> Answer:
    return lambda row: [sum(answer(row))]


Question = tuple[Query, str, Answer, Callable[[Row], bool]]
"""The query, the columns it needs, what a record adds to its answer, and whether the record passes its filter."""


def ask(query: Query, columns: str, answer: Answer, passes: Callable[[Row], bool] = always) -> Question:
    return query, columns, answer, passes


QUESTIONS: dict[str, list[Question]] = {
    "sums": [
        ask(Sum("f", bounds=(-3, 4)), "f", placed("f", -3.0, 4.0)),
        ask(Sum("f", bounds=(-1e300, 1e300)), "f", placed("f", -1e300, 1e300)),
        ask(Sum("f", bounds=(0.1, 0.3)), "f", placed("f", 0.1, 0.3)),
        ask(Sum("g", bounds=(-1, 1)), "g", placed("g", -1.0, 1.0)),
        ask(Mean("f", bounds=(0, 1), size=9), "f", placed("f", 0.0, 1.0)),
        ask(Sum("f", bounds=(-3, 4), step=0.25), "f", lambda r: [math.floor((min(max(r["f"], -3), 4) + 3) * 4 + 0.5)]),
        ask(Sum("n", bounds=(-2, 10), step=4), "n", lambda r: [math.floor((min(max(r["n"], -2), 10) + 2) / 4 + 0.5)]),
        ask(Sum("n", bounds=(-2, 10)), "n", clipped("n", -2, 10, -2)),
        ask(Sum("n", bounds=(0.5, 10)), "n", placed("n", 0.5, 10.0)),
        ask(Sum("i", bounds=(-10, 10)), "i", clipped("i", -10, 10, -10)),
        ask(Sum("i", bounds=(-(2.0**48), 2.0**48)), "i", clipped("i", -(2**48), 2**48, -(2**48))),
        ask(Sum("i", bounds=(-1e19, 1e19)), "i", placed("i", -1e19, 1e19)),
        ask(Sum("small", bounds=(-300, -100)), "small", clipped("small", -300, -100, -300)),
        ask(Sum("small", bounds=(1000, 2000)), "small", clipped("small", 1000, 2000, 1000)),
    ],
    "filtered sums": [
        ask(Sum("f", bounds=(1, 4), where="n > 0"), "f n", placed("f", 1.0, 4.0, True), lambda r: r["n"] > 0),
        ask(Sum("f", bounds=(-4, -1), where="sure"), "f sure", placed("f", -4.0, -1.0, True), lambda r: r["sure"]),
        ask(Sum("i", bounds=(-9, 10), where="flag"), "i flag", clipped("i", -9, 10, 0), lambda r: r["flag"]),
        ask(
            Sum("i", bounds=(-9, 10), where="not flag", public_filter=True),
            "i flag",
            clipped("i", -9, 10, -9),
            lambda r: not r["flag"],
        ),
        ask(
            Mean("n", bounds=(0, 9), size=9, where="state in ['😀', '']", public_filter=True),
            "n state",
            clipped("n", 0, 9, 0),
            lambda r: r["state"] in ("😀", ""),
        ),
    ],
    "counts of values": [
        ask(Count("flag", equals=True), "flag", among("flag", True)),
        ask(Count("flag", equals=False), "flag", among("flag", False)),
        ask(Count("flag", equals=0), "flag", among("flag", False)),
        ask(Count("flag", isin=[True, False]), "flag", total(among("flag", True, False))),
        ask(Count("state", equals="été"), "state", among("state", "été")),
        ask(Count("state", equals=""), "state", among("state", "")),
        ask(Count("state", equals="NaN"), "state", among("state", "NaN")),
        ask(Count("state", isin=["日本", "a'b\"c", "nobody"]), "state", total(among("state", "日本", "a'b\"c"))),
        ask(Count("f", equals=0), "f", among("f", 0.0)),
        ask(Count("f", equals=-0.0), "f", among("f", 0.0)),
        ask(Count("f", isin=[0.1, 5e-324, 1e300]), "f", total(among("f", 0.1, 5e-324, 1e300))),
        ask(Count("i", equals=BIG), "i", among("i", BIG)),
        ask(Count("i", equals=2**53), "i", among("i", 2**53)),
        ask(Count("i", equals=2**53 + 1), "i", among("i", 2**53 + 1)),
        ask(Count("i", isin=[7.0, 1.5, 2**63, -(2**70), 1e300]), "i", among("i", 7)),
        ask(Count("small", isin=[127, 300, -1]), "small", among("small", 127)),
        ask(Count("day", equals="2024-02-29"), "day", among("day", dt.date(2024, 2, 29))),
        ask(Count("when", isin=["2024-03-10T02:00", "2024-03-10T02:30"]), "when", lambda r: [int(_at(r, 120, 150))]),
    ],
    "counts of conditions": [
        ask(Count("f > 0", equals=True), "f", holds(lambda r: r["f"] > 0)),
        ask(Count("f > 0", equals=False), "f", holds(lambda r: r["f"] > 0, False)),
        ask(Count("f == 0", isin=[True, False]), "f", lambda r: [1]),
        ask(Count("f != 0", equals=1), "f", holds(lambda r: r["f"] != 0)),
        ask(Count("f != f", equals=True), "f", holds(lambda r: False)),
        ask(Count("not flag", equals=True), "flag", holds(lambda r: not r["flag"])),
        ask(Count("flag == false or sure", equals=True), "flag sure", holds(lambda r: not r["flag"] or r["sure"])),
        ask(Count("flag != sure", equals=True), "flag sure", holds(lambda r: r["flag"] != r["sure"])),
        ask(Count("not state in ['😀']", equals=True), "state", holds(lambda r: r["state"] != "😀")),
        ask(
            Count("state not in ['😀', \"a'b\\\"c\"]", equals=True),
            "state",
            holds(lambda r: r["state"] not in ("😀", "a'b\"c")),
        ),
        ask(Count("state > 'b'", equals=True), "state", holds(lambda r: r["state"] > "b")),
        ask(Count("1 < n <= 11", equals=True), "n", holds(lambda r: 1 < r["n"] <= 11)),
        ask(Count("i > 1.5", equals=True), "i", holds(lambda r: r["i"] > 1.5)),
        ask(Count("i > 9007199254740992", equals=True), "i", holds(lambda r: r["i"] > 2**53)),
        ask(Count("i == 9223372036854775807", equals=True), "i", holds(lambda r: r["i"] == BIG)),
        ask(Count("i > 9.3e18", equals=True), "i", holds(lambda r: False)),
        ask(Count("-1e300 < i < 1e300", equals=True), "i", lambda r: [1]),
        ask(Count("small > -300", equals=True), "small", lambda r: [1]),
        ask(Count("n < f", equals=True), "f n", holds(lambda r: r["n"] < r["f"])),
        ask(Count("n == k", equals=True), "n k", holds(lambda r: r["n"] == r["k"])),
        ask(Count("day >= '2024-02-29'", equals=True), "day", holds(lambda r: r["day"] >= dt.date(2024, 2, 29))),
        ask(Count("when < '2024-03-10T02:30:00'", equals=True), "when", holds(lambda r: r["k"] < 90)),
        ask(
            Count("f > 0 and not (flag or n < 3)", equals=True),
            "f flag n",
            holds(lambda r: r["f"] > 0 and not (r["flag"] or r["n"] < 3)),
        ),
        ask(
            Count("sure", equals=True, where="f > 0 or flag"),
            "sure f flag",
            among("sure", True),
            lambda r: r["f"] > 0 or r["flag"],
        ),
        ask(Count("f > 0", equals=True, where="f <= 0"), "f", lambda r: [0], lambda r: r["f"] <= 0),
    ],
    "histograms": [
        ask(Histogram("state", cells=[*STATES, "nobody"]), "state", among("state", *STATES, "nobody")),
        ask(Histogram("i", cells=[0, -5, BIG, -BIG - 1, 1]), "i", among("i", 0, -5, BIG, -BIG - 1, 1)),
        ask(Histogram("f", cells=[0, 0.1, -2.25]), "f", among("f", 0.0, 0.1, -2.25)),
        ask(Histogram("flag", cells=[True, False]), "flag", among("flag", True, False)),
        ask(Histogram("f > 0", cells=[False, True]), "f", lambda r: [int(r["f"] <= 0), int(r["f"] > 0)]),
        ask(
            Histogram("state", cells=["", "été"], where="sure"),
            "state sure",
            among("state", "", "été"),
            lambda r: r["sure"],
        ),
    ],
}


def _at(row: Row, *minutes: int) -> bool:
    return any(row["when"] == dt.datetime(2024, 3, 10) + dt.timedelta(minutes=minute) for minute in minutes)


def expected_tally(question: Question) -> tuple[tuple[int, ...], int, int]:
    _, columns, answer, passes = question
    present = [row for row in ROWS if all(value(row, column) is not None for column in columns.split())]
    asked = [row for row in present if passes(row)]
    cells = [answer(row) for row in asked]
    return tuple(map(sum, zip(*cells, strict=True))), len(asked), len(present)


def shown(found: Tally) -> tuple[tuple[int, ...], int, int]:
    return found.counts, found.records, found.present


@pytest.mark.parametrize("kind", QUESTIONS)
@pytest.mark.parametrize("engine", ENGINES)
def test_questions(engine: str, kind: str, frame_of: FrameOf) -> None:
    questions = QUESTIONS[kind]
    found = tally(frame_of(engine, COLUMNS), [question[0] for question in questions], missing="drop")
    for question, each in zip(questions, found, strict=True):
        assert shown(each) == expected_tally(question), question[0]
        assert all(type(number) is int for number in each.counts)


VARIANCES = [
    (Variance("f", bounds=(-3, 4)), always),
    (Variance("n", bounds=(-2, 10)), always),
    (Variance("small", bounds=(-300, 100), where="flag", public_filter=True), lambda row: row["flag"]),
    (Variance("i", bounds=(-1e19, 1e19)), always),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_variances(engine: str, frame_of: FrameOf) -> None:
    queries = [query for query, _ in VARIANCES]
    for found, (query, passes) in zip(
        tally(frame_of(engine, COLUMNS), queries, missing="drop"), VARIANCES, strict=True
    ):
        assert query.column is not None
        assert found.grid is not None
        needed = [query.column, *(["flag"] if query.where else [])]
        rows = [row for row in ROWS if all(value(row, name) is not None for name in needed) and passes(row)]
        places = [found.grid.place(value(row, query.column)) for row in rows]
        exact = (len(rows) * sum(place**2 for place in places) - sum(places) ** 2) // len(rows)
        assert (found.counts, found.records) == ((exact,), len(rows)), query


QUANTILES = [
    Quantile("f", at=0.5, candidates=[-2.5, 0, 0.1, 3]),
    Quantile("n", at=[0.1, 0.9], candidates=[-2, 0.5, 1, 2, 9]),
    Quantile("i", at=0.5, candidates=[-1e19, 0, 7, 1e19]),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_records_below_candidates(engine: str, frame_of: FrameOf) -> None:
    for found, query in zip(tally(frame_of(engine, COLUMNS), QUANTILES, missing="drop"), QUANTILES, strict=True):
        assert query.column is not None
        values = [value(row, query.column) for row in ROWS if value(row, query.column) is not None]
        below = tuple(sum(number <= threshold for number in values) for threshold in query.thresholds)
        assert (found.counts, found.records) == (below, len(values)), query


def test_there_is_something_to_count() -> None:
    for question in (question for questions in QUESTIONS.values() for question in questions):
        assert expected_tally(question)[2] > 15, question[0]
    assert {None, 2.0} < {value(row, "level") for row in ROWS}


# --- chains -----------------------------------------------------------------------------------------------------------

Chain = tuple[str, Callable[[Row], Any], dict[str, Any], Any]
"""The state, the same in Python, the layout, and the step as what Python adds to the order."""

CHAINS: dict[str, Chain] = {
    "texts": ("state", lambda r: r["state"], {"order_by": "k", "entity": "person"}, None),
    "step of integers": ("state", lambda r: r["state"], {"order_by": "k", "entity": "person", "step": 5}, 5),
    "step of floats": ("sure", lambda r: r["sure"], {"order_by": "tick", "entity": "person", "step": 0.1}, 0.1),
    "step of days": (
        "flag",
        lambda r: r["flag"],
        {"order_by": "day", "entity": ["person"], "step": "1d"},
        dt.timedelta(days=1),
    ),
    "step of minutes": (
        "n",
        lambda r: r["n"],
        {"order_by": "when", "entity": "number", "step": "5m"},
        dt.timedelta(minutes=5),
    ),
    "step as a timedelta": (
        "f > 0",
        lambda r: None if value(r, "f") is None else r["f"] > 0,
        {"order_by": "when", "entity": "person", "step": dt.timedelta(minutes=5)},
        dt.timedelta(minutes=5),
    ),
    "floats as states": ("level", lambda r: value(r, "level"), {"order_by": "day", "entity": "number"}, None),
    "huge integers as states": ("i", lambda r: r["i"], {"order_by": ["k"], "entity": ["person", "number"]}, None),
    "one chain, two orders": (
        "not flag",
        lambda r: _inverse(r["flag"]),
        {"order_by": ["person", "when"], "order_by_text": True},
        None,
    ),
    "one chain, order of texts": ("small > 0", lambda r: _positive(r["small"]), {"order_by": ["number", "tick"]}, None),
    "two columns": (
        "flag and f > 0",
        lambda r: None if r["flag"] is None or value(r, "f") is None else r["flag"] and r["f"] > 0,
        {"order_by": "k", "entity": ["number"]},
        None,
    ),
    "chains of one": ("sure", lambda r: r["sure"], {"order_by": "when", "entity": ["person", "k"]}, None),
}


def _inverse(flag: bool | None) -> bool | None:
    return None if flag is None else not flag


def _positive(number: int | None) -> bool | None:
    return None if number is None else number > 0


Within = Mapping[str, Callable[[Row], Any]]
"""What makes strata, and the same in Python."""

NONE: Within = {}


def expected_transitions(chain: Chain, memory: int = 1, within: Within = NONE) -> Transitions:
    name, state, layout, step = chain
    order = [layout["order_by"]] if isinstance(layout["order_by"], str) else layout["order_by"]
    entity = layout.get("entity", [])
    entity = [entity] if isinstance(entity, str) else entity
    chains = defaultdict(list)
    for row in ROWS:
        chains[tuple(row[column] for column in entity)].append(row)
    runs: dict[tuple[Any, ...], Counter[tuple[Any, ...]]] = defaultdict(Counter)
    pairs = 0
    for rows in chains.values():
        rows.sort(key=lambda row: [row[column] for column in order])
        follows = [
            (step is None or _follows(before[order[0]], now[order[0]], step))
            and None not in (state(before), state(now))
            for before, now in pairwise(rows)
        ]
        pairs += sum(follows)
        for i in range(memory, len(rows)):
            if all(follows[i - memory : i]):
                stratum = tuple(of(rows[i - 1]) for of in within.values())
                runs[stratum][tuple(state(row) for row in rows[i - memory : i + 1])] += 1
    sizes = [sum(state(row) is not None for row in rows) for rows in chains.values()]
    is_condition = name not in KINDS
    found = {state(row) for row in ROWS} - {None}
    states = (False, True) if is_condition else tuple(sorted(found))
    occupied = sum(size > 0 for size in sizes)
    return Transitions(
        states,
        _table(sum(runs.values(), start=Counter()), states, memory + 1),
        sum(sizes),
        len(ROWS) - sum(sizes),
        occupied,
        max(sizes),
        step is None or pairs < len(ROWS) - occupied,
        is_condition,
        tuple(Stratum((key,), _table(runs[key], states, memory + 1)) for key in sorted(runs)) if within else (),
    )


def _table(runs: Counter[tuple[Any, ...]], states: Sequence[Any], levels: int, run: tuple[Any, ...] = ()) -> Any:
    if levels == 0:
        return runs[run]
    return tuple(_table(runs, states, levels - 1, (*run, state)) for state in states)


def _follows(before: Any, now: Any, step: Any) -> bool:
    if isinstance(step, float):
        return abs(Fraction(now) - Fraction(before) - Fraction(step)) < Fraction(step) / 10**6
    return bool(before + step == now)


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("engine", ENGINES)
def test_chains(engine: str, chain: str, frame_of: FrameOf) -> None:
    state, _, layout, _ = CHAINS[chain]
    found = transitions(frame_of(engine, COLUMNS), state, ChainLayout(**layout), "drop")
    assert found == expected_transitions(CHAINS[chain])
    assert all(type(count) is int for row in found.counts for count in row)


STRATA: dict[str, tuple[str, int, Within]] = {
    "memory of two": ("step of minutes", 2, NONE),
    "memory of three, floats": ("step of floats", 3, NONE),
    "memory of two, two orders": ("one chain, two orders", 2, NONE),
    "a column of truths": ("texts", 1, {"sure": lambda r: r["sure"]}),
    "a column of numbers and one of texts": (
        "step of integers",
        1,
        {"n": lambda r: r["n"], "person": lambda r: r["person"]},
    ),
    "hour": ("step of minutes", 1, {"hour": lambda r: r["when"].hour}),
    "hour, with memory": ("step as a timedelta", 2, {"hour": lambda r: r["when"].hour}),
    "weekday and month": (
        "step of days",
        1,
        {"weekday": lambda r: r["day"].isoweekday(), "month": lambda r: r["day"].month},
    ),
    "hour of the second order": ("one chain, two orders", 1, {"hour": lambda r: r["when"].hour}),
}


def check_strata(frame: Any, name: str) -> Transitions:
    chain, memory, within = STRATA[name]
    state, _, layout, _ = CHAINS[chain]
    found = transitions(frame, state, ChainLayout(**layout), "drop", memory=memory, within=list(within))
    assert found == expected_transitions(CHAINS[chain], memory, within), name
    return found


@pytest.mark.parametrize("name", STRATA)
@pytest.mark.parametrize("engine", ENGINES)
def test_strata_and_memory(engine: str, name: str, frame_of: FrameOf) -> None:
    found = check_strata(frame_of(engine, COLUMNS), name)
    assert all(type(entry) is int for stratum in found.strata for values in stratum.values for entry in values) or (
        name.startswith("a column")
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_the_hour_beside_a_date(engine: str, frame_of: FrameOf) -> None:
    frame = frame_of(engine, by_clock())
    direct = transitions(frame, "s", ChainLayout("moment", "meter"), within=["hour"])
    beside = transitions(frame, "s", ChainLayout(["day", "slot"], "meter"), within=["hour"])
    assert direct == beside
    assert [stratum.values for stratum in direct.strata] == [((hour,),) for hour in (0, 6, 12, 18)]


def test_the_strata_are_several_and_have_transitions() -> None:
    for name, (chain, memory, within) in STRATA.items():
        found = expected_transitions(CHAINS[chain], memory, within)
        assert len(found.strata) > 1 or not within, name
        assert np.sum(found.counts) > 3, name


def test_the_chains_have_gaps_and_transitions() -> None:
    for name, chain in CHAINS.items():
        found = expected_transitions(chain)
        assert (sum(map(sum, found.counts)) == 0) == (name == "chains of one")
        assert name == "chains of one" or found.gaps


# --- groups -----------------------------------------------------------------------------------------------------------


def _families() -> list[Row]:
    """Return families of different size, some without a role or a value; sizes of whole numbers and of floats."""
    draw = random.Random(4)
    rows: list[Row] = []
    for family in range(23):
        common = draw.gauss(0, 3)
        for role in ("mother", "père", "子"):
            if family % 7 == 3 and role == "子":
                continue
            height = None if family % 9 == 4 and role == "mother" else 170 + common + draw.gauss(0, 4)
            if family % 9 == 5 and role == "père":
                height = NAN
            rows.append(
                {
                    "family": f"族{family}",
                    "house": family // 2 + 0.5,
                    "door": family % 2 == 0,
                    "role": role,
                    "height": height,
                    "weight": round(60 + common + draw.gauss(0, 9)),
                    "score": draw.gauss(0, 1e150),
                }
            )
    draw.shuffle(rows)
    return rows


FAMILIES = _families()
FAMILY_KINDS = {
    "family": "string",
    "house": "double",
    "door": "bool",
    "role": "string",
    "height": "double",
    "weight": "int64",
    "score": "double",
}
FAMILY_COLUMNS = {name: (kind, [row[name] for row in FAMILIES]) for name, kind in FAMILY_KINDS.items()}

Grid = tuple[Callable[[float], int], Fraction, Fraction]
"""How a value is placed, the step, and where the grid begins."""


def grid_between(values: Sequence[float], products: int) -> Grid:
    """Return the grid of moments: as fine as 62 bits allow for the squares of so many products, at most 2^26 steps."""
    low, high = float(min(values)), float(max(values))
    bits = min((62 - products.bit_length()) // 2, 26)
    if all(isinstance(each, int) for each in values) and high - low < 2**bits:
        return (lambda x: int(x) - int(low)), Fraction(1), Fraction(low)
    step = (high - low) / 2.0**bits
    return (lambda x: math.floor((x - low) / step + 0.5)), Fraction(step), Fraction(low)


def expected_roles(name: str, group: Sequence[str]) -> Moments:
    """Return the moments of the roles: exact on the grid, except for the square root where roles are incomplete."""
    groups: dict[tuple[Any, ...], dict[str, Any]] = defaultdict(dict)
    for row in FAMILIES:
        if value(row, name) is not None:
            groups[tuple(row[column] for column in group)][row["role"]] = row[name]
    roles = sorted({role for found in groups.values() for role in found})
    largest = max(sum(role in found for found in groups.values()) for role in roles)
    columns = {role: [found[role] for found in groups.values() if role in found] for role in roles}
    grids = {role: grid_between(columns[role], largest) for role in roles}
    fewest = min(sum(a in found and b in found for found in groups.values()) for a in roles for b in roles)

    def spread(of: str, a: str, b: str) -> tuple[int, Fraction]:
        """Return over how many groups, and Σ(x−x̄)(y−ȳ) of the roles a and b over the groups that have `of` too."""
        both = [(found[a], found[b]) for found in groups.values() if {a, b, of} <= set(found)]
        x, y = [grids[a][0](first) for first, _ in both], [grids[b][0](second) for _, second in both]
        summed = sum(p * q for p, q in zip(x, y, strict=True)) - Fraction(sum(x) * sum(y), len(both))
        return len(both), summed * grids[a][1] * grids[b][1]

    def covariance(a: str, b: str) -> float:
        common, together = spread(a, a, b)
        (n_a, alone_a), (n_b, alone_b) = spread(a, a, a), spread(b, b, b)
        if common == n_a == n_b:
            return float(together / (common - 1))
        squares = spread(b, a, a)[1] * spread(a, b, b)[1]
        return float(together) * math.sqrt(alone_a / (n_a - 1) * (alone_b / (n_b - 1)) / squares)

    means = [
        float(grids[role][2] + grids[role][1] * sum(map(grids[role][0], columns[role])) / len(columns[role]))
        for role in roles
    ]
    return Moments(fewest, means, [[covariance(a, b) for b in roles] for a in roles], roles=roles)


def expected_anova(name: str, group: Sequence[str]) -> AnovaMoments:
    """Return the one-way analysis of variance, exact on the grid."""
    groups: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for row in FAMILIES:
        if value(row, name) is not None:
            groups[tuple(row[column] for column in group)].append(row[name])
    values = [each for found in groups.values() for each in found]
    place, step, low = grid_between(values, len(FAMILIES) * max(map(len, groups.values())))
    numbers = [[low + step * place(each) for each in found] for found in groups.values()]
    means = [sum(found) / len(found) for found in numbers]
    mean = sum(map(sum, numbers)) / Fraction(len(values))
    between = sum(len(found) * (own - mean) ** 2 for found, own in zip(numbers, means, strict=True))
    within = sum((each - own) ** 2 for found, own in zip(numbers, means, strict=True) for each in found)
    sizes = []
    for size in sorted(set(map(len, numbers))):
        mine = [own for found, own in zip(numbers, means, strict=True) if len(found) == size]
        centre = sum(mine) / len(mine)
        sizes.append((size, len(mine), float(centre), float(sum((own - centre) ** 2 for own in mine))))
    squares = sum(len(found) ** 2 for found in numbers)
    return AnovaMoments(
        groups=len(groups),
        records=len(values),
        mean=float(mean),
        between=float(between / (len(groups) - 1)),
        within=float(within / (len(values) - len(groups))),
        size=float((len(values) - Fraction(squares, len(values))) / (len(groups) - 1)),
        largest=max(map(len, numbers)),
        sizes=sizes,
    )


def check_moments(frame: Any) -> None:
    for name, group in (("height", ["family"]), ("weight", ["house", "door"]), ("score", ["family"])):
        anova = group_moments(frame, GroupLayout(name, group), "drop")
        assert anova == expected_anova(name, group)
        moments, wanted = group_moments(frame, GroupLayout(name, group, "role"), "drop"), expected_roles(name, group)
        assert isinstance(moments, Moments)
        assert (moments.groups, moments.mean, moments.roles) == (wanted.groups, wanted.mean, wanted.roles)
        for row, wanted_row in zip(moments.covariance, wanted.covariance, strict=True):
            assert row == pytest.approx(wanted_row, rel=1e-13)


def wide_columns() -> dict[str, tuple[str, list[Any]]]:
    groups: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in FAMILIES:
        groups[row["family"]][row["role"]] = row["weight"]
    complete = [found for found in groups.values() if len(found) == 3]
    return {role: ("int64", [found[role] for found in complete]) for role in ("mother", "père", "子")}


def check_wide(frame: Any) -> None:
    """Whole numbers in complete groups: the sample covariance itself, as Fractions know it."""
    columns = {role: list(map(Fraction, values)) for role, (_, values) in wide_columns().items()}
    means = {role: sum(values) / len(values) for role, values in columns.items()}
    found = group_moments(frame, GroupLayout(list(columns)))
    assert isinstance(found, Moments)
    assert found.mean == tuple(map(float, means.values()))
    for (a, x), row in zip(columns.items(), found.covariance, strict=True):
        for (b, y), entry in zip(columns.items(), row, strict=True):
            summed = sum((p - means[a]) * (q - means[b]) for p, q in zip(x, y, strict=True))
            assert entry == float(summed / (len(x) - 1))


@pytest.mark.parametrize("engine", ENGINES)
def test_groups(engine: str, frame_of: FrameOf) -> None:
    check_moments(frame_of(engine, FAMILY_COLUMNS))
    check_wide(frame_of(engine, wide_columns()))


@pytest.mark.parametrize("engine", ENGINES)
def test_wide_tables_as_one_column(engine: str, frame_of: FrameOf) -> None:
    columns = {name: COLUMNS[name] for name in ("f", "n", "small")}
    table = unpivoted(scan(frame_of(engine, columns)), list(columns))
    found = tally(table, [Count(equals=0), Sum(bounds=(0, 8), step=0.5)], subject=VALUE, missing="drop")
    values = [value(row, name) for row in ROWS for name in columns if value(row, name) is not None]
    assert [each.records for each in found] == [len(values)] * 2
    assert found[0].counts == (values.count(0),)
    assert found[1].counts == (sum(math.floor(min(max(each, 0), 8) * 2 + 0.5) for each in values),)


# --- series -----------------------------------------------------------------------------------------------------------

Line = tuple[str, dict[str, Any], Any, int, Within]
"""The column, the layout, the step as what Python adds to the order, the order of the series, what makes strata."""

SERIES: dict[str, Line] = {
    "floats": ("g", {"order_by": "k", "entity": "person", "step": 5}, 5, 2, NONE),
    "whole numbers by hour": (
        "n",
        {"order_by": "when", "entity": "number", "step": "5m"},
        dt.timedelta(minutes=5),
        3,
        {"hour": lambda r: r["when"].hour},
    ),
    "whole numbers, no step": (
        "n",
        {"order_by": ["person", "when"], "order_by_text": True},
        None,
        2,
        {"sure": lambda r: r["sure"]},
    ),
    "small numbers by weekday and person": (
        "small",
        {"order_by": "day", "entity": "person", "step": "1d"},
        dt.timedelta(days=1),
        1,
        {"weekday": lambda r: r["day"].isoweekday(), "person": lambda r: r["person"]},
    ),
}


def expected_series(line: Line) -> SeriesMoments:
    name, layout, step, lags, within = line
    order = [layout["order_by"]] if isinstance(layout["order_by"], str) else layout["order_by"]
    values = [value(row, name) for row in ROWS if value(row, name) is not None]
    place, width, _ = grid_between(values, len(ROWS))
    strata: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    chains = defaultdict(list)
    for row in ROWS:
        chains[row[layout["entity"]] if "entity" in layout else None].append(row)
        if value(row, name) is not None:
            strata[tuple(of(row) for of in within.values())].append(place(value(row, name)))
    means = {key: Fraction(sum(found), len(found)) for key, found in strata.items()}

    def around(row: Row) -> Fraction:
        return place(value(row, name)) - means[tuple(of(row) for of in within.values())]

    products: list[list[Fraction]] = [[] for _ in range(lags + 1)]
    for rows in chains.values():
        rows.sort(key=lambda row: [row[column] for column in order])
        for i, row in enumerate(rows):
            for lag in range(min(i, lags) + 1):
                run = rows[i - lag : i + 1]
                whole = step is None or all(_follows(a[order[0]], b[order[0]], step) for a, b in pairwise(run))
                if whole and value(row, name) is not None and value(run[0], name) is not None:
                    products[lag].append(around(row) * around(run[0]))
    found = [sum(terms, start=Fraction(0)) / len(terms) * width**2 for terms in products]
    return SeriesMoments(list(map(float, found)), list(map(len, products)))


def check_series(frame: Any, name: str) -> None:
    column, layout, _, lags, within = SERIES[name]
    found = series_moments(frame, column, ChainLayout(**layout), lags, "drop", list(within))
    assert found.moments == expected_series(SERIES[name]), name


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("engine", ENGINES)
def test_series(engine: str, name: str, frame_of: FrameOf) -> None:
    check_series(frame_of(engine, COLUMNS), name)


# --- diagnoses --------------------------------------------------------------------------------------------------------


def walkers(people: int, seed: int) -> dict[str, tuple[str, list[Any]]]:
    """Return chains of equal length of many people, shuffled: more people than are compared with one another."""
    draw = random.Random(seed)
    rows = []
    for person in range(people):
        state = 0
        for time in range(9):
            state = draw.choices((0, 1, 2), ((5, 2, 1), (1, 6, 1), (2, 2, 3))[state])[0]
            rows.append((f"p{person:03d}", time, state if draw.random() > 0.03 else None))
    draw.shuffle(rows)
    names, times, states = map(list, zip(*rows, strict=True))
    return {"who": ("string", names), "t": ("int64", times), "s": ("int64", states)}


def by_clock() -> dict[str, tuple[str, list[Any]]]:
    """Return three meters read every six hours: the moment, the day and the time of the day, and a state."""
    draw = random.Random(5)
    moments = [dt.datetime(2024, 1, 30) + dt.timedelta(hours=6 * i) for i in range(160)]
    rows = [(meter, moment, int(draw.random() < 0.3)) for meter in "abc" for moment in moments]
    draw.shuffle(rows)
    return {
        "meter": ("string", [meter for meter, _, _ in rows]),
        "moment": ("timestamp[us]", [moment for _, moment, _ in rows]),
        "day": ("date32[day]", [moment.date() for _, moment, _ in rows]),
        "slot": ("int64", [100 * moment.hour for _, moment, _ in rows]),
        "s": ("int64", [state for _, _, state in rows]),
    }


IN_ORDER = ("pandas", "pandas-arrow", "polars", "lazy", "pyarrow")
"""The engines whose rows come in an order, so that a trend within groups can be seen."""

BY_POSITION = ("position", "equal variances")


def diagnoses(frame_of: FrameOf, engine: str, *, wide: bool = True) -> list[dict[str, Any]]:
    """Return what every kind of model has to say about its own table, but for what needs an order of rows."""
    walks, families = frame_of(engine, walkers(130, 3)), frame_of(engine, FAMILY_COLUMNS)
    meters = frame_of(engine, by_clock())
    chain = MarkovChain.fit(walks, state="s", order_by="t", entity="who", step=1, missing="drop")
    roles = GaussianGroups.fit(families, value="height", group="family", role="role", missing="drop")
    members = GaussianGroups.fit(families, value="weight", group=["house", "door"])
    found = [chain.diagnose(walks), roles.diagnose(families), members.diagnose(families)]
    for order in ("moment", ["day", "slot"]):
        found.append(MarkovChain.fit(meters, state="s", order_by=order, entity="meter").diagnose(meters))
        assert {"time of day", "weekday", "season", "independent entities"} <= {
            each.name for each in found[-1].findings
        }
    assert found[-1].findings == found[-2].findings
    by_position = [finding for finding in found[2].findings if finding.name in BY_POSITION]
    if engine in IN_ORDER:
        assert [finding.verdict for finding in by_position] == ["not tested", "not tested"]
        assert "intraclass correlation" in by_position[0].figure
    else:
        assert [finding.name for finding in by_position] == ["position"]
        assert "have no order" in by_position[0].meaning
    if wide:
        columns = wide_columns()
        groups = frame_of(engine, columns)
        found.append(GaussianGroups.fit(groups, value=list(columns)).diagnose(groups))
    documents = [diagnosis.to_dict() for diagnosis in found]
    documents[2]["findings"] = [each for each in documents[2]["findings"] if each["name"] not in BY_POSITION]
    del documents[2]["verdict"]
    return documents


@pytest.fixture(scope="module")
def wanted(frame_of: FrameOf) -> list[dict[str, Any]]:
    return diagnoses(frame_of, "polars")


@pytest.mark.slow
@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "polars"])
def test_diagnoses_are_the_same_everywhere(engine: str, frame_of: FrameOf, wanted: list[dict[str, Any]]) -> None:
    assert diagnoses(frame_of, engine) == wanted


# --- Spark ------------------------------------------------------------------------------------------------------------


def test_spark(frame_of: FrameOf, spark: Any, wanted: list[dict[str, Any]]) -> None:
    """Every statistic once; `test_spark_compiled` has them all."""
    frame = frame_of("spark", COLUMNS)
    questions = [question for kind in QUESTIONS.values() for question in kind]
    for question, found in zip(
        questions, tally(frame, [question[0] for question in questions], missing="drop"), strict=True
    ):
        assert shown(found) == expected_tally(question), question[0]
    for name in ("texts", "step of minutes", "step of days", "one chain, two orders"):
        state, _, layout, _ = CHAINS[name]
        assert transitions(frame, state, ChainLayout(**layout), "drop") == expected_transitions(CHAINS[name]), name
    for name in STRATA:
        check_strata(frame, name)
    for name in SERIES:
        check_series(frame, name)
    check_wide(frame_of("spark", wide_columns()))
    assert diagnoses(frame_of, "spark", wide=False) == wanted[:5]
    check_spark_names(frame_of, spark)


def check_spark_names(frame_of: FrameOf, spark: Any) -> None:
    for name in ("a.b", "a`b", "*"):
        frame = frame_of("spark", {name: ("int64", [1, 2, 3]), "x": ("int64", [7, 8, 9])})
        with pytest.raises(FrameError, match="as a pattern or a path; rename the column"):
            tally(frame, [Sum(name, bounds=(0, 10))])
        with pytest.raises(FrameError, match="as a pattern or a path; rename the column"):
            transitions(frame, name, ChainLayout("x"))
    harmful = 'x"; drop table x; --'
    frame = frame_of("spark", {harmful: ("int64", [1, 2, 3]), "S": ("int64", [7, 8, 9]), "O0": ("string", ["a"] * 3)})
    assert tally(frame, [Sum(harmful, bounds=(0, 9)), Sum("S", bounds=(0, 8))])[0].counts == (6,)
    clash = spark.createDataFrame([(1, 2, 3)], "A long, a long, z long")
    with pytest.raises(FrameError, match="cannot be read"):
        tally(clash, [Sum("a", bounds=(0, 9))])
    with pytest.raises(FrameError, match="has no column 'Z'"):
        tally(clash, [Sum("Z", bounds=(0, 9))])


@pytest.mark.slow
def test_spark_compiled(frame_of: FrameOf, spark: Any) -> None:
    spark.conf.unset("spark.sql.codegen.wholeStage")
    spark.conf.unset("spark.sql.codegen.factoryMode")
    frame = frame_of("spark", COLUMNS)
    for kind in QUESTIONS.values():
        found = tally(frame, [question[0] for question in kind], missing="drop")
        assert list(map(shown, found)) == list(map(expected_tally, kind))
    for name, chain in CHAINS.items():
        assert transitions(frame, chain[0], ChainLayout(**chain[2]), "drop") == expected_transitions(chain), name
    check_moments(frame_of("spark", FAMILY_COLUMNS))
