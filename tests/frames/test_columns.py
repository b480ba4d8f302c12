"""Columns with odd names and odd types, in every engine: the same answer as for ordinary ones, or a refusal."""

import datetime as dt
import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from bayesdp import Count, GaussianGroups, Histogram, MarkovChain, Sum
from bayesdp.errors import BayesDPError, FrameError, QueryError
from bayesdp.frames.aggregates import tally
from bayesdp.frames.grid import Grid
from bayesdp.frames.groups import group_moments
from bayesdp.frames.source import scan
from bayesdp.frames.transitions import transitions
from bayesdp.models.layout import ChainLayout, GroupLayout

ENGINES = ("pandas", "pandas-arrow", "polars", "lazy", "pyarrow", "duckdb", "ibis", "postgresql", "dask", "dask-arrow")
every_engine = pytest.mark.parametrize("engine", ENGINES)
of_arrow = pytest.mark.parametrize("engine", ["pandas-arrow", "polars", "pyarrow", "duckdb", "ibis", "dask-arrow"])

FrameOf = Callable[[str, dict[str, tuple[str, list[Any]]]], Any]

# --- names ------------------------------------------------------------------------------------------------------------

INTERNAL = [
    *("s", "o0", "o1", "e0", "e1", "r", "b0", "b1", "p", "n", "pp", "rp", "i", "m", "h", "k0", "k_e0", "n_s", "n_o0"),
    *(
        "chain",
        "lost",
        "longest",
        "occupied",
        "count",
        "rows",
        "c0",
        "c1",
        "q0_0",
        "q0_1",
        "sum_c0",
        "finite",
        "present",
    ),
    *("q0", "q1", "n0", "n1", "g0", "g1", "a", "b", "a0_0", "s0_0", "n0_0", "c0_0", "twice0", "several", "one", "q"),
    *("qq", "v", "size", "len", "literal", "index", "level_0", "role", "value", "truth"),
]
HARMFUL = [
    'a"; drop table x; --',
    "a'); drop table x; --",
    "select",
    "a\nb",
    "é 日本 😀",
    "%s{0}$x",
    "a:b/c\\d",
    "a,b",
    "$1",
    "A" * 200,
    "#!/bin/sh",
    "</script>",
]


def columns_named(state: str, order: str, who: str, other: str) -> dict[str, tuple[str, list[Any]]]:
    return {
        state: ("int64", [0, 1, 1, 2, 0, 1, 1, 2, 0, 0, 2, 1]),
        order: ("int64", [5, 3, 1, 2, 9, 8, 7, 0, 4, 6, 11, 10]),
        who: ("int64", [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]),
        other: ("int64", [0, 1, 2] * 4),
    }


def answers(frame: Any, state: str, order: str, who: str, other: str) -> list[Any]:
    """Return every statistic of four columns, in whatever way they are called."""
    asked = [
        Sum(order, bounds=(0, 1)),
        Count(f"`{state}` > 0", equals=True, where=f"`{order}` < 9 and not `{who}` in [2]"),
        Histogram(other, cells=[0, 1]),
    ]
    return [
        [(found.counts, found.records) for found in tally(frame, asked)],
        transitions(frame, f"`{state}` > 0", ChainLayout([order, other], entity=[who])),
        group_moments(frame, GroupLayout(order, who, other)),
        group_moments(frame, GroupLayout(order, [who])),
    ]


PLAIN = ("state", "order", "who", "other")
WANTED = answers(pl.DataFrame({name: values for name, (_, values) in columns_named(*PLAIN).items()}), *PLAIN)


def check_names(engine: str, frame_of: FrameOf, names: tuple[str, str, str, str]) -> Any:
    frame = frame_of(engine, columns_named(*names))
    assert answers(frame, *names) == WANTED, names
    return frame


@every_engine
def test_names_that_are_ours(engine: str, frame_of: FrameOf) -> None:
    every = 1 if engine == "polars" else 20 if engine.startswith("dask") else 8
    for first in range(0, len(INTERNAL) - 3, 4 * every):
        state, order, who, other = INTERNAL[first : first + 4]
        check_names(engine, frame_of, (state, order, who, other))
    frame = check_names(engine, frame_of, ("n", "o0", "k0", "count"))
    model = MarkovChain.fit(frame, state="n", order_by="o0", entity="k0", smoothing=1)
    assert model.diagnose(frame).records == 12
    assert GaussianGroups.fit(frame, value=["n", "o0"]).diagnose(frame).records == 24


@every_engine
def test_names_with_code_in_them(engine: str, frame_of: FrameOf) -> None:
    harmful = [name[:60] if engine == "postgresql" else name for name in HARMFUL]  # it cuts names off at 63 bytes
    for first in range(0, len(harmful), 4):
        state, order, who, other = harmful[first : first + 4]
        check_names(engine, frame_of, (state, order, who, other))
    check_names(engine, frame_of, (" ", "order", "who", "other"))


@pytest.mark.parametrize(
    ("engine", "name"),
    [("polars", "*"), ("lazy", "^x.*$"), ("pyarrow", "^x.*$"), ("polars", "^$"), ("duckdb", "*"), ("lazy", "*")],
)
def test_names_that_an_engine_takes_for_a_pattern(engine: str, name: str, frame_of: FrameOf) -> None:
    """They would mean other columns, whose values would be answered with."""
    frame = frame_of(engine, {name: ("int64", [1, 2, 3]), "x1": ("int64", [7, 8, 9]), "k": ("int64", [1, 2, 3])})
    for ask in (
        lambda: tally(frame, [Sum(name, bounds=(0, 10))]),
        lambda: tally(frame, [Count(f"`{name}` > 1", equals=True)]),
        lambda: transitions(frame, name, ChainLayout("k")),
        lambda: transitions(frame, "k", ChainLayout(name)),
        lambda: group_moments(frame, GroupLayout([name, "k"])),
    ):
        with pytest.raises(FrameError, match="as a pattern or a path; rename the column"):
            ask()
    assert tally(frame, [Sum("x1", bounds=(0, 10))])[0].counts == (24,)


@pytest.mark.parametrize("engine", ["pandas", "pandas-arrow", "duckdb", "ibis", "dask"])
def test_names_that_are_patterns_elsewhere(engine: str, frame_of: FrameOf) -> None:
    for name in ("^x.*$", "a.b", "a`b") if engine == "duckdb" else ("*", "^x.*$", "a.b", "a`b"):
        frame = frame_of(engine, {name: ("int64", [1, 2, 3]), "x1": ("int64", [7, 8, 9])})
        assert tally(frame, [Sum(name, bounds=(0, 10))])[0].counts == (6,)


@pytest.mark.parametrize("engine", ["pandas", "pandas-arrow", "polars", "lazy", "pyarrow", "dask"])
def test_upper_and_lower_case_are_different_names(engine: str, frame_of: FrameOf) -> None:
    frame = frame_of(engine, {"A": ("int64", [1, 2]), "a": ("int64", [7, 8])})
    assert [each.counts for each in tally(frame, [Sum("A", bounds=(0, 9)), Sum("a", bounds=(0, 9))])] == [(3,), (15,)]


def test_texts_that_a_database_holds_for_one_are_not_two_cells() -> None:
    """Where case is disregarded a record is in every spelling of its cell, and moves them all: not 2, but 5 counts."""
    connection = pytest.importorskip("duckdb").connect()
    connection.execute("CREATE TABLE rooms (room VARCHAR COLLATE NOCASE)")
    connection.execute("INSERT INTO rooms VALUES ('hall'), ('hall'), ('kitchen')")
    rooms, cells = connection.table("rooms"), ["hall", "Hall", "HALL", "kitchen", "Kitchen"]
    with pytest.raises(QueryError, match=r"duckdb may treat .* as equal to a value of 'room' in another cell"):
        tally(rooms, [Histogram("room", cells=cells)])
    (both,) = tally(rooms, [Count("room", isin=["hall", "Hall"])])
    assert both.counts == (2,)
    (apart,) = tally(pl.DataFrame({"room": ["hall", "hall", "Hall", "kitchen"]}), [Histogram("room", cells=cells)])
    assert apart.counts == (2, 1, 0, 1, 0)


def test_engines_that_do_not_tell_case_apart() -> None:
    duckdb, ibis, pa = map(pytest.importorskip, ("duckdb", "ibis", "pyarrow"))
    relation = duckdb.connect().sql('select 1 as "A", 2 as "a", 3 as z')
    twice = duckdb.connect().sql("select 1 as a, 2 as a, 3 as z")
    for frame in (relation, twice, ibis.memtable(pa.table({"A": [1], "a": [2], "z": [3]}))):
        with pytest.raises(FrameError, match="several columns called 'a' that differ only in case"):
            tally(frame, [Sum("a", bounds=(0, 9))])
        assert tally(frame, [Sum("z", bounds=(0, 9))])[0].counts == (3,)
    with pytest.raises(FrameError, match="has no column 'Z'"):
        tally(relation, [Sum("Z", bounds=(0, 9))])


# --- numbers ----------------------------------------------------------------------------------------------------------

SIGNS = {">": operator.gt, "<=": operator.le, "==": operator.eq, "!=": operator.ne}
WIDTHS = {
    "int8": (-128, 127),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint8": (0, 255),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}


@every_engine
@pytest.mark.parametrize("kind", WIDTHS)
def test_integers_of_every_width(engine: str, kind: str, frame_of: FrameOf) -> None:
    low, high = WIDTHS[kind]
    values = [low, high, 5, high // 2 + 1, 0, low // 2]
    frame = frame_of(engine, {"x": (kind, values), "k": ("int64", [3, 1, 2, 6, 5, 4])})
    bounds = [(-10, 10), (-300, -200), (3, 10), (10**5, 10**6), (-(2**48), 2**48), (0, 1)]
    for (a, b), found in zip(bounds, tally(frame, [Sum("x", bounds=each) for each in bounds]), strict=True):
        assert found.grid is not None
        assert found.grid.step == 1
        assert found.counts == (sum(min(max(value, a), b) - a for value in values),), (a, b)
    limits = [-1, 4.5, 5, 256, 2**53 + 1, 2**63 - 1]
    compared = [(sign, limit) for limit in limits for sign in SIGNS]
    answered = tally(frame, [Count(f"x {sign} {limit}", equals=True) for sign, limit in compared])
    for (sign, limit), each in zip(compared, answered, strict=True):
        assert each.counts == (sum(SIGNS[sign](value, limit) for value in values),), (sign, limit)
    cells: list[float] = [low, high, 5, -1, 300, 2**40, 2**70, -(2**70), 1e300, 0.5]
    if engine == "ibis" and kind == "uint64":
        cells.remove(high)  # Ibis has no literal for it
    assert tally(frame, [Histogram("x", cells=cells)])[0].counts == tuple(
        sum(value == cell for value in values) for cell in cells
    )
    chain = transitions(frame, "x", ChainLayout("k"))
    assert chain.states == tuple(sorted(set(values)))
    assert sum(map(sum, chain.counts)) == 5
    assert transitions(frame, "k", ChainLayout("k", entity="x")).entities == len(set(values))


@every_engine
def test_numbers_beyond_every_integer(engine: str, frame_of: FrameOf) -> None:
    texts = ["x < 1e300", "x < 18446744073709551616.0", "x > -1e19", "x != 1e40", "-1e25 <= x"]
    for kind in ("int8", "uint16", "int64"):
        frame = frame_of(engine, {"x": (kind, [0, 127, 5])})
        asked = [Count(each, equals=True) for text in texts for each in (text, f"not ({text})")]
        assert [each.counts for each in tally(frame, asked)] == [(3,), (0,)] * len(texts)


@of_arrow
def test_decimals(engine: str, frame_of: FrameOf, arrow_table: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    values = [Decimal("1.25"), None, Decimal("-3.10"), Decimal("0.10"), Decimal("1.25")]
    table = arrow_table({"k": ("int64", [1, 2, 3, 4, 5])}).append_column("x", pa.array(values, pa.decimal128(10, 2)))
    frame = _converted(engine, table)
    found = tally(
        frame,
        [
            Sum("x", bounds=(-1, 1)),
            Count("x > 0.1", equals=True),
            Count("x", equals=1.25),
            Count("x == 0.1", equals=True),
        ],
        missing="drop",
    )
    step = 2 / 2**40
    assert [each.counts for each in found] == [(2 * 2**40 + int(1.1 / step + 0.5),), (2,), (2,), (1,)]
    assert transitions(frame, "x", ChainLayout("k"), "drop").states == (-3.1, 0.1, 1.25)


def _converted(engine: str, table: Any) -> Any:
    if engine.startswith("p"):
        pandas = pytest.importorskip("pandas")
        return {"polars": pl.from_arrow, "pyarrow": lambda each: each}.get(
            engine, lambda each: each.to_pandas(types_mapper=pandas.ArrowDtype)
        )(table)
    if engine == "duckdb":
        return pytest.importorskip("duckdb").connect().from_arrow(table)
    if engine == "ibis":
        return pytest.importorskip("ibis").memtable(table)
    dask = pytest.importorskip("dask.dataframe")
    return dask.from_pandas(_converted("pandas-arrow", table), npartitions=2)


# --- texts, truths ----------------------------------------------------------------------------------------------------


def check_categories(frame: Any) -> None:
    asked = [Count("c", equals="b"), Count("c > 'a'", equals=True), Histogram("c", cells=["a", "b", "é", "unused"])]
    assert [each.counts for each in tally(frame, asked, missing="drop")] == [(2,), (3,), (1, 2, 1, 0)]
    found = transitions(frame, "c", ChainLayout("k"), "drop")
    assert (found.states, found.counts) == (("a", "b", "é"), ((0, 0, 0), (1, 0, 0), (0, 1, 0)))
    assert transitions(frame, "k", ChainLayout(["w", "k"], order_by_text=True)).longest == 5
    assert transitions(frame, "k > 2", ChainLayout("k", entity="w")).counts == ((1, 0), (0, 2))
    assert group_moments(frame, GroupLayout("k", "w")).groups == 2


CATEGORIES = {"c": ["b", "a", None, "é", "b"], "k": [1, 2, 3, 4, 5], "w": ["u", "u", "v", "v", "v"]}


@of_arrow
def test_dictionaries(engine: str, arrow_table: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    check_categories(
        _converted(
            engine,
            pa.table(
                {name: pa.array(each).dictionary_encode() if name != "k" else each for name, each in CATEGORIES.items()}
            ),
        )
    )


def test_categories_and_enumerations() -> None:
    pandas = pytest.importorskip("pandas")
    odd = ["é", "b", "unused", "a", "v", "u"]  # in an order of their own
    frame = pandas.DataFrame(CATEGORIES)
    for ordered in (True, False):
        kind = pandas.CategoricalDtype(odd, ordered=ordered)
        check_categories(frame.assign(c=frame["c"].astype(kind), w=frame["w"].astype(kind)))
    kinds: list[Any] = [pl.Enum(odd), pl.Categorical]
    for polars_kind in kinds:
        check_categories(pl.DataFrame(CATEGORIES).with_columns(pl.col("c", "w").cast(polars_kind)))
        check_categories(pl.LazyFrame(CATEGORIES).with_columns(pl.col("c", "w").cast(polars_kind)))


def objects(*values: Any) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"x": pandas.Series(values, dtype=object), "k": range(len(values))})


def test_objects_of_pandas() -> None:
    assert tally(objects(True, None, False), [Count("x", equals=True)], missing="drop")[0].counts == (1,)
    assert tally(objects("é", None), [Count("x", equals="é")], missing="drop")[0].counts == (1,)
    assert tally(objects(None, None), [Count("k", equals=1, where="x == 'é'")], missing="drop")[0].counts == (0,)
    for days in (
        objects(dt.date(2024, 2, 29), None, dt.date(2024, 3, 1)),
        objects(dt.datetime(2024, 2, 29), None, dt.datetime(2024, 2, 29, 0, 1)),
    ):
        assert tally(days, [Count("x > '2024-02-29'", equals=True)], missing="drop")[0].counts == (1,)


NUMBERS = [(1, 2), (1, None), (1.0, None), (1, 2.5), (2**63, None), (Decimal(1), None)]
NO_VALUES = [(1, "a"), (True, 1), ([1], [2]), ({"a": 1}, None), (b"a", b"b"), (True, "a")]


@pytest.mark.parametrize("values", [*NUMBERS, *NO_VALUES], ids=repr)
def test_objects_that_are_refused(values: tuple[Any, ...]) -> None:
    """Numbers too: the step of a sum must not depend on whether each of them happens to be whole."""
    odd = objects(*values)
    for ask in (
        lambda: tally(odd, [Count("x", equals=1)], missing="drop"),
        lambda: tally(odd, [Sum("x", bounds=(0, 3))], missing="drop"),
        lambda: transitions(odd, "x", ChainLayout("k"), "drop"),
        lambda: group_moments(odd, GroupLayout("k", "x"), "drop"),
    ):
        with pytest.raises(FrameError, match=r"^column 'x' of the table has pandas's type object, .*such as Int64"):
            ask()


@pytest.mark.parametrize("kind", ["dask", "dask of strings"])
def test_objects_of_dask(kind: str) -> None:
    """A partition is converted on its own, so its objects must not decide what the column holds."""
    dask = pytest.importorskip("dask")
    frames = pytest.importorskip("dask.dataframe")
    with dask.config.set({"dataframe.convert-string": kind == "dask of strings"}):
        texts = frames.from_pandas(objects("a", None, "b", "a"), npartitions=2)
        assert tally(texts, [Count("x", equals="a")], missing="drop")[0].counts == (2,)
        assert transitions(texts, "x", ChainLayout("k"), "drop").counts == ((0, 0), (1, 0))
        if kind == "dask of strings":
            return
        for values in ((True, False, None, True), (1, 2, 3, None), (dt.date(2024, 1, 1), None, None, None)):
            odd = frames.from_pandas(objects(*values), npartitions=2)
            with pytest.raises(FrameError, match="pandas's type object, which may hold only texts; convert"):
                tally(odd, [Count("x", equals="2024-01-01")], missing="drop")


@pytest.mark.parametrize("dtype", ["float64", "float32", "Float64", "double[pyarrow]"])
def test_a_column_of_floats_is_real_whatever_it_holds(dtype: str) -> None:
    """A step that changed with one value would tell that value."""
    pandas = pytest.importorskip("pandas")
    for values in ([1, 2, 3, 0], [1, 2, 3, 0.5], [1, None, 3, 0]):
        frame = pandas.DataFrame({"k": pandas.Series(values, dtype=dtype)})
        assert scan(frame).pick(["k"]).kind("k") == "number"
        assert tally(frame, [Sum("k", bounds=(0, 3))], missing="drop")[0].grid == Grid(0.0, 3.0, 0.0, 3 / 2**40)


@every_engine
def test_whole_numbers_with_gaps(engine: str, frame_of: FrameOf) -> None:
    """The same integers everywhere; plain pandas has made floats of them, and Int64 makes them whole again."""
    question = Sum("k", bounds=(0, 3))
    whole = frame_of(engine, {"k": ("int64", [1, None, 3, 0, 7])})
    assert tally(whole, [question], missing="drop")[0].counts == (7,)
    if engine == "pandas":
        pandas = pytest.importorskip("pandas")
        plain = pandas.DataFrame({"k": [1, None, 3, 0, 7]})
        (found,) = tally(plain, [question], missing="drop")
        assert found.grid is not None
        assert not found.grid.whole
        assert tally(plain.astype({"k": "Int64"}), [question], missing="drop")[0].counts == (7,)


def test_labels_of_pandas_mean_nothing() -> None:
    pandas = pytest.importorskip("pandas")
    for labels in (
        [7, 7, 7, 7],
        [3, 2, 1, 0],
        ["x", None, "x", "y"],
        pandas.MultiIndex.from_product([[1, 2], ["a", "b"]]),
    ):
        frame = pandas.DataFrame({"s": list("abba"), "k": [4, 3, 2, 1], "g": [1, 1, 2, 2]}, index=labels)
        assert transitions(frame, "s", ChainLayout("k", entity="g", step=1)).counts == ((0, 1), (1, 0))
        assert tally(frame, [Count("k > 2", equals=True, where="s == 'a'")])[0].counts == (1,)
        assert group_moments(frame, GroupLayout("k", "g")).groups == 2


# --- times ------------------------------------------------------------------------------------------------------------

START = dt.datetime(2024, 3, 31, 0, 0)  # summer time begins in Berlin
TIMES = [START + dt.timedelta(minutes=30 * i) for i in (3, 1, 5, 0, 4, 2, 7)]
STATES = list("babaaab")


@every_engine
@pytest.mark.parametrize(
    "kind",
    ["timestamp[s]", "timestamp[ms]", "timestamp[us]", "timestamp[ns]", "UTC", "Europe/Berlin", "America/New_York"],
)
def test_times_in_every_unit_and_zone(engine: str, kind: str, frame_of: FrameOf) -> None:
    if kind.startswith("timestamp"):
        frame = frame_of(engine, {"t": (kind, TIMES), "s": ("string", STATES)})
    else:
        frame = _in_zone(engine, kind)
    # in order: a a a b a b, an hour, b
    for step in ("30m", dt.timedelta(seconds=1800)):
        assert transitions(frame, "s", ChainLayout("t", step=step)).counts == ((2, 2), (1, 0))
    assert transitions(frame, "s", ChainLayout("t")).counts == ((2, 2), (1, 1))
    found = tally(frame, [Count("t < '2024-03-31T01:00'", equals=True), Count("t", isin=["2024-03-31T01:30"])])
    assert [each.counts for each in found] == [(2,), (1,)]
    with pytest.raises(FrameError, match=r"^6 records of the table follow .* less than the step .1d."):
        transitions(frame, "s", ChainLayout("t", step="1d"))
    with pytest.raises(FrameError, match="column 't' holds times; a chain's states are texts, numbers or true/false"):
        transitions(frame, "t", ChainLayout("s"))
    with pytest.raises(QueryError, match="it is not numeric"):
        tally(frame, [Sum("t", bounds=(0, 1))])
    with_zone = [Count("t < '2024-03-31T03:00+02:00'", equals=True)]
    if kind.startswith("timestamp"):
        with pytest.raises(QueryError, match=r"holds times without a time zone, but .* has one"):
            tally(frame, with_zone)
    else:
        assert tally(frame, with_zone)[0].counts == (2,)


def _in_zone(engine: str, zone: str) -> Any:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"t": pa.array(TIMES, pa.timestamp("us", zone)), "s": STATES})
    pandas = pytest.importorskip("pandas")
    dask = pytest.importorskip("dask.dataframe")
    if engine == "pandas":
        return table.to_pandas()
    if engine == "dask":
        return dask.from_pandas(table.to_pandas(), npartitions=2)
    if engine == "lazy":
        return pl.DataFrame(table).lazy()
    return _converted(engine, table) if pandas else None


@every_engine
def test_dates(engine: str, frame_of: FrameOf) -> None:
    step: Any
    days = [dt.date(2024, 2, 27) + dt.timedelta(days=day) for day in (3, 1, 5, 0, 4, 2, 7)]
    frame = frame_of(engine, {"d": ("date32", days), "t": ("timestamp[us]", TIMES), "s": ("string", STATES)})
    assert transitions(frame, "s", ChainLayout("d", step="1d")).counts == ((2, 2), (1, 0))
    assert transitions(frame, "s", ChainLayout("d", step="24h")).counts == ((2, 2), (1, 0))
    for step in ("2d", "48h"):
        with pytest.raises(FrameError, match=r"5 records .* less than the step"):
            transitions(frame, "s", ChainLayout("d", step=step))
    if engine not in ("pandas", "dask"):  # whose dates are times
        with pytest.raises(FrameError, match="holds dates, so step must be days such as 1d, not '36h'"):
            transitions(frame, "s", ChainLayout("d", step="36h"))
        with pytest.raises(FrameError, match="column 'd' holds dates and column 't' times; they cannot be compared"):
            tally(frame, [Count("d == t", equals=True)])
    for step in (1, "1", "1w", "-1d", "d", "1.5d", ""):
        with pytest.raises(BayesDPError, match="step must be a period such as 5m, 1h or 1d"):
            transitions(frame, "s", ChainLayout("d", step=step))
    for step in ("0d", dt.timedelta(0)):
        with pytest.raises(FrameError, match="step must be greater than zero"):
            transitions(frame, "s", ChainLayout("d", step=step))
    with pytest.raises(FrameError, match="too long"):
        transitions(frame, "s", ChainLayout("d", step="99999999999999999999d"))
    with pytest.raises(FrameError, match="holds times; a chain's states are"):
        transitions(frame, "d", ChainLayout("t"))


# --- what is no value -------------------------------------------------------------------------------------------------

ODD_VALUES = {
    "lists": ([[1], [2], None, [3]], "list_"),
    "bytes": ([b"a", b"b", None, b"c"], "binary"),
    "hours": ([dt.time(1), dt.time(2), None, dt.time(3)], "time64"),
    "durations": ([dt.timedelta(1), None, dt.timedelta(2), dt.timedelta(3)], "duration"),
    "nothing": ([None, None, None, None], "null"),
}


@of_arrow
@pytest.mark.parametrize("kind", ODD_VALUES)
def test_columns_of_things_that_are_no_values(engine: str, kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    values, name = ODD_VALUES[kind]
    made = {"list_": (pa.int64(),), "time64": ("us",), "duration": ("us",)}.get(name, ())
    array = pa.array(values, getattr(pa, name)(*made))
    frame = _converted(engine, pa.table({"x": array, "k": [1, 2, 3, 4], "g": [1, 1, 2, 2]}))
    for ask in (
        lambda: tally(frame, [Sum("x", bounds=(0, 1))], missing="drop"),
        lambda: tally(frame, [Count("x", equals="a")], missing="drop"),
        lambda: tally(frame, [Count("k", equals=1, where="x > 0")], missing="drop"),
        lambda: transitions(frame, "x", ChainLayout("k"), "drop"),
        lambda: transitions(frame, "k", ChainLayout("k", entity="x"), "drop"),
        lambda: transitions(frame, "k", ChainLayout(["x", "k"]), "drop"),
        lambda: group_moments(frame, GroupLayout("x", "g"), "drop"),
        lambda: GaussianGroups.fit(frame, value="k", group="x", missing="drop"),
    ):
        with pytest.raises(
            FrameError, match=r"column 'x' of the table holds values of type .*; expected numbers, texts"
        ):
            ask()
    assert tally(frame, [Sum("k", bounds=(0, 9))])[0].counts == (10,)
