"""Questions about columns: checked without reading the table, and answered by whole numbers."""

import datetime as dt
from typing import Any

import polars as pl
import pytest

from bayesdp import Count, Histogram, Mean, Sum
from bayesdp.errors import BayesDPError, FrameError, QueryError, RecordsError
from bayesdp.frames.aggregates import check_question, column_totals, present_records, row_count, subject_of, tally
from bayesdp.frames.source import scan
from bayesdp.frames.wide_format import VALUE, unpivoted


def test_questions_without_a_column() -> None:
    frame = pl.DataFrame({"a": [1, 2]})
    with pytest.raises(QueryError, match=r"the column of .* is missing; name it: Count\('column', \.\.\.\)"):
        tally(frame, [Count(equals=1)])
    assert tally(frame, [Count(equals=1)], subject="a > 1")[0].counts == (1,)
    assert tally(frame, [Count(equals=1)], subject="a")[0].counts == (1,)


def unread(*, fails: bool = True) -> pl.LazyFrame:
    """Return a table with columns whose values must not be read."""

    def refuse(frame: pl.DataFrame) -> pl.DataFrame:
        assert not fails, "the table was read"
        return frame

    frame = pl.LazyFrame({"k": [1], "x": [0.5], "t": ["a"], "b": [True], "d": [dt.date(2024, 1, 1)]})
    return frame.map_batches(refuse, schema=frame.collect_schema())


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (Sum("t", bounds=(0, 1)), "cannot sum 't': it is not numeric"),
        (Mean("k > 0", bounds=(0, 1)), "cannot sum 'k > 0': it is not numeric"),
        (Sum("z", bounds=(0, 1)), "has no column 'z'"),
        (Count("k", equals="a"), "column 'k' of the table holds whole numbers, which 'a' is not"),
        (Histogram("d", cells=["2024-01-01", "soon"]), "holds times; write them like 2012-10-01"),
        (Count("k", equals=1, where="z > 0"), "has no column 'z'"),
        (Count("k", equals=1, where="x >"), "expected a column or a value"),
        (Count("k", equals=1, where="t > 0"), "column 't' of the table holds texts, which 0 is not"),
        (Count("k", equals=1, where="x"), "it is not a condition by itself"),
        (Count("k", equals=1, where="t < k"), "they cannot be compared"),
        (Count("x > 1", equals=2), "are true and false, not 2"),
        (Count(equals=1), "name it"),
    ],
)
def test_a_question_is_checked_without_reading(query: Any, message: str) -> None:
    with pytest.raises(BayesDPError, match=message) as checked:
        check_question(unread(), query)
    with pytest.raises(type(checked.value), match=message):
        tally(unread(fails=False), [query])


def test_a_good_question_passes_without_reading() -> None:
    for query in (
        Sum("x", bounds=(0, 1), where="t == 'a' and d > '2023-01-01'"),
        Histogram("t", cells=["a", "b"]),
        Count("b", equals=True),
    ):
        check_question(unread(), query)
    check_question(unread(), Count(equals=1), subject="k")
    with pytest.raises(FrameError, match="too fine for that many records"):
        check_question(unread(), Sum("x", bounds=(0, 1), step=2**-40), rows=2**30)
    check_question(unread(), Sum("x", bounds=(0, 1), step=2**-40))


HOLES = pl.DataFrame({"a": [1, None, 3, 4], "b": [None, 0.5, float("nan"), 2.0], "t": list("xyxz")})


def test_a_record_counts_for_what_it_has() -> None:
    table = scan(HOLES)
    assert [present_records(table, columns) for columns in (["a"], ["b"], ["a", "b"], ["t"])] == [3, 2, 1, 4]
    found = tally(HOLES, [Sum("a", bounds=(0, 9)), Count("t", equals="x", where="a > 0")], missing="drop")
    assert [(each.counts, each.records, each.present, each.rows) for each in found] == [
        ((8,), 3, 3, 4),
        ((2,), 3, 3, 4),
    ]


def test_a_private_filter_has_the_public_number_of_all_records() -> None:
    kept, asserted = Count("t", equals="x", where="a > 1"), Sum("a", bounds=(0, 9), where="a > 1", public_filter=True)
    private, public = tally(HOLES, [kept, asserted], missing="drop")
    assert (private.records, private.public_records) == (2, 3)
    assert (public.records, public.public_records) == (2, 2)


def test_a_text_is_a_column_before_it_is_a_condition() -> None:
    table = scan(pl.DataFrame({"a": [1, 2], "a > 1": ["no", "yes"]}))
    assert subject_of(table, "a > 1").condition is None
    assert subject_of(table, "a > 0").columns == ("a",)
    assert subject_of(table, "a > 0").kind(table) == "truth"
    with pytest.raises(FrameError, match="has no column 'z'"):
        subject_of(table, "z > 0")


def test_what_is_missing_or_infinite_is_refused_with_its_number() -> None:
    with pytest.raises(RecordsError, match="1 in 'a', 2 in 'b'; fill them in"):
        column_totals(scan(HOLES), ["a", "b"], "error")
    column_totals(scan(HOLES), ["a", "b"], "drop")
    with pytest.raises(RecordsError, match="column 'b' of the table holds 1 infinite value; "):
        column_totals(scan(HOLES.with_columns(b=pl.Series([1.0, float("inf"), 2.0, 3.0]))), ["b"], "drop")
    with pytest.raises(FrameError, match="is empty: it has no rows"):
        row_count(scan(HOLES.clear()))


QUESTIONS = [
    Count("x > 1", equals=True),
    Count("x > y", equals=False),
    Count("x", equals=2.0),
    Sum("x", bounds=(0, 3)),
    Sum("x", bounds=(0, 3), where="not (y < 2)", public_filter=True),
    Histogram("x > 1", cells=[False, True]),
]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_complete_table_is_answered_alike_without_masks(engine: str) -> None:
    columns = {"x": [0.5, 2.0, 1e308, 9.0], "y": [1.0, 2.0, 3.0, -4.0]}
    frame: Any = pl.DataFrame(columns)
    if engine == "duckdb":
        frame = pytest.importorskip("duckdb").connect().from_arrow(frame.to_arrow())
    alike = [tally(frame, QUESTIONS, missing=missing) for missing in ("error", "drop")]
    assert alike[0] == alike[1]
    assert [answer.counts for answer in alike[0][:3]] == [(3,), (2,), (1,)]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("odd", [None, float("nan"), float("inf")])
def test_the_scan_of_a_complete_table_finds_one_odd_value(engine: str, odd: float | None) -> None:
    frame: Any = pl.DataFrame({"x": [0.5, 2.0, odd, 9.0], "y": [1.0, 2.0, 3.0, -4.0]})
    if engine == "duckdb":
        frame = pytest.importorskip("duckdb").connect().from_arrow(frame.to_arrow())
    infinite = odd == float("inf")
    for question in QUESTIONS:
        with pytest.raises(RecordsError, match="1 infinite value" if infinite else "values are missing .* 1 in 'x'"):
            tally(frame, [question])
    if not infinite:
        assert [answer.counts[0] for answer in tally(frame, QUESTIONS[:3], missing="drop")] == [2, 2, 1]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_finite_values_whose_sum_is_not_are_answered(engine: str) -> None:
    frame: Any = pl.DataFrame({"x": [1e308, 1e308, 0.5]})
    if engine == "duckdb":
        frame = pytest.importorskip("duckdb").connect().from_arrow(frame.to_arrow())
    assert tally(frame, [Count("x > 1", equals=True)])[0].counts == (2,)


@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("engine", ["pandas", "pandas-arrow", "polars", "pyarrow", "dask", "duckdb"])
def test_filtered_sums_are_exact_beyond_what_a_float_holds(engine: str, missing: Any) -> None:
    """What is left out adds nothing, and turns no whole number into a float."""
    values, kept = [2**39 + 2 * place + 1 for place in range(60_000)], [place % 3 > 0 for place in range(60_000)]
    frame: Any = pl.DataFrame({"v": values, "kept": kept})
    if engine.startswith("pandas"):
        frame = frame.to_pandas(use_pyarrow_extension_array=engine == "pandas-arrow")
    elif engine == "pyarrow":
        frame = frame.to_arrow()
    elif engine == "dask":
        frame = pytest.importorskip("dask.dataframe").from_pandas(frame.to_pandas(), npartitions=3)
    elif engine == "duckdb":
        frame = pytest.importorskip("duckdb").from_arrow(frame.to_arrow())
    (answer,) = tally(frame, [Sum("v", bounds=(0, 2**40), where="kept", public_filter=True)], missing=missing)
    exact = sum(value for value, asked in zip(values, kept, strict=True) if asked)
    assert answer.counts == (exact,)
    assert exact > 2**53


WIDE = pl.DataFrame({"child": [60, None, 80], "mother": [61.5, 70.0, float("nan")], "name": ["a", "b", "c"]})


def test_every_value_is_a_record() -> None:
    long = unpivoted(scan(WIDE), ["child", "mother"])
    assert list(long.schema) == [VALUE]
    (found,) = tally(long, [Sum(VALUE, bounds=(0, 100), step=0.5)], missing="drop")
    assert (found.counts, found.records, found.rows) == ((2 * 271 + 1,), 4, 6)
    assert long.name == scan(WIDE).name


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(FrameError, match="has no column 'father'"):
        unpivoted(scan(WIDE), ["child", "father"])


def test_a_connection_of_ones_own_is_read_in() -> None:
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.connect().sql("select 1 as a, 2.5::double as b")
    (found,) = tally(unpivoted(scan(relation), ["a", "b"]), [Sum(VALUE, bounds=(0, 9), step=0.5)])
    assert found.counts == (7,)
