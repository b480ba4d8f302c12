"""Files and things that are no tables: read, or refused in words that name them."""

import datetime as dt
import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import Count, GaussianGroups, Histogram, MarkovChain, Mean, Session, Sum
from bayesdp.errors import BayesDPError, FrameError, QueryError, RecordsError
from bayesdp.frames.aggregates import check_question, tally
from bayesdp.frames.groups import group_moments
from bayesdp.frames.source import scan
from bayesdp.frames.transitions import transitions
from bayesdp.models.layout import ChainLayout, GroupLayout


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(name: str, text: str | bytes) -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def total(source: Any, column: str = "a") -> int:
    return tally(source, [Sum(column, bounds=(0, 1000))], missing="drop")[0].counts[0]


# --- files that are read ----------------------------------------------------------------------------------------------


def test_files_by_name_and_by_path(tmp_path: Path) -> None:
    written("sub/ok.csv", "a,b\n1,x\n2,y\n")
    pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}).write_parquet("ok.parquet")
    for source in (
        "sub/ok.csv",
        "sub/../sub/ok.csv",
        "./sub//ok.csv",
        Path("sub/ok.csv"),
        tmp_path / "sub" / "ok.csv",
        str(tmp_path / "sub" / "ok.csv"),
        "ok.parquet",
        "*/ok.csv",
        "**/*.csv",
        "o?.parquet",
    ):
        assert total(source) == 3
        assert tally(source, [Count("b", equals="y")])[0].counts == (1,)


@pytest.mark.parametrize(
    "name",
    [
        "with spaces.csv",
        "été 日本.csv",
        "a[1].csv",
        "it's; drop table x.csv",
        "UPPER.CSV",
        "a*b.csv",
        "-x.csv",
        "a.b.csv",
    ],
)
def test_names_of_files(name: str) -> None:
    assert total(written(name, "a\n4\n3\n")) == 7


def test_several_files() -> None:
    for number in range(12):
        written(f"part/{number}.csv", f"a,b\n{number},x\n")
    assert total("part/*.csv") == 66
    assert total("part/1?.csv") == 21
    for number in range(3):
        pl.DataFrame({"a": [number]}).write_parquet(f"{number}.parquet")
    assert total("[01].parquet") == 1
    assert total("*.parquet") == 3


def test_missing_values_of_csv() -> None:
    name = written(
        "na.csv", "a,b,c\n1,NA,true\nNA,x,false\n,y,\nNaN,z,NA\nnull,N/A,true\nnan,,true\nNULL,NaN,true\n3.5,w,false\n"
    )
    asked = [Sum("a", bounds=(0, 8)), Histogram("b", cells=["x", "y", "z", "w", "NA", ""]), Count("c", equals=True)]
    found = tally(name, asked, missing="drop")
    assert [each.records for each in found] == [2, 4, 6]
    assert found[0].grid is not None
    assert found[0].grid.total(found[0].counts[0], 2) == 4.5
    assert [each.counts for each in found[1:]] == [(1, 1, 1, 1, 0, 0), (4,)]
    with pytest.raises(FrameError, match=r"values are missing in na\.csv: 6 in 'a', 4 in 'b', 2 in 'c'"):
        tally(name, asked)


def test_types_of_csv() -> None:
    name = written(
        "types.csv",
        "day,time,text,flag,late,big\n"
        + "2012-10-01,2012-10-01T08:05:00,1a,true,1,9223372036854775808\n" * 1
        + "2012-10-02,2012-10-01 08:10:00,7,false,2,1\n"
        + "".join(f"2012-11-{day:02},2012-10-01 09:{day:02}:00,7,false,{day},1\n" for day in range(1, 31))
        + "2012-12-01,2012-10-01 10:00:00,8,true,0.5,1\n",
    )
    kinds = {column: scan(name).kind(column) for column in scan(name).schema}
    assert kinds == {"day": "time", "time": "time", "text": "text", "flag": "truth", "late": "number", "big": "whole"}
    assert transitions(name, "flag", ChainLayout("day", step="1d")).counts == ((29, 1), (1, 0))
    assert tally(name, [Count("day > '2012-11-15'", equals=True), Sum("big", bounds=(0, 9))])[1].counts == (41,)


LATE = ["7", "2.5", "x", "true", "2012-10-02", "2012-10-01T08:05", "NA", "inf", "9223372036854775808"]


@pytest.mark.parametrize("early", ["1", "1.5", "false", "2012-10-01", "y", "NA", "1e5"])
def test_types_do_not_depend_on_where_a_value_stands(early: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Types are found in the first rows and tried on all; what does not fit there has them found in all rows."""

    def schema(late: str) -> Any:
        return scan(written("x.csv", "a\n" + f"{early}\n" * 9 + f"{late}\n")).schema

    expected = list(map(schema, LATE))
    monkeypatch.setattr("bayesdp.frames.files._FIRST_ROWS", (3,))
    assert list(map(schema, LATE)) == expected
    monkeypatch.setattr("bayesdp.frames.files._FIRST_ROWS", (2, 5))
    assert list(map(schema, LATE)) == expected


def test_types_that_differ_between_files() -> None:
    written("part/1.csv", "a\n1\n2\n")
    written("part/2.csv", "a\n0.5\n")
    assert scan("part/*.csv").kind("a") == "number"
    written("part/2.csv", "a\nx\n")
    assert scan("part/*.csv").kind("a") == "text"
    written("part/1.csv", "a\ntrue\n")
    written("part/2.csv", "a\n2012-10-01\n")
    with pytest.raises(RecordsError, match="a column holds values of another kind in one file than in another"):
        scan("part/*.csv")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"\xef\xbb\xbfa,b\n1,2\n", 1),
        (b"a,b\r\n1,2\r\n5,6\r\n", 6),
        (b'a,b\n1,"x,\ny"\n2,"""q"""\n', 3),
        (b"a\n5", 5),
        (b"a,b\n5,1\n", 5),
        (b"a,b\n1\n4,5\n", 5),
        (b"b,a\n" + b"x,1\n" * 50_000, 50_000),
    ],
    ids=["byte order mark", "CRLF", "quotes", "no last newline", "one row", "short row", "long"],
)
def test_csv_of_all_sorts(text: bytes, expected: int) -> None:
    assert total(written("x.csv", text)) == expected


def test_thousands_of_columns() -> None:
    names = [f"c{i}" for i in range(3000)]
    rows = [",".join(str(i + j) for i in range(3000)) for j in range(3)]
    wide = written("wide.csv", "\n".join([",".join(names), *rows]))
    assert total(wide, "c900") == 900 + 901 + 902
    found = tally(wide, [Sum(name, bounds=(0, 1000)) for name in names[:300]])
    assert [each.counts[0] for each in found] == [3 * i + 3 for i in range(300)]
    with pytest.raises(FrameError, match=r"has no column 'd'; it has 'c0', 'c1', .*'c11', …$"):
        total(wide, "d")


def test_duplicate_columns() -> None:
    pandas = pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    names = ["a", "b", "c", "b", "c"]
    for frame in (pandas.DataFrame([[1, 2, 3, 4, 5]], columns=names), pa.table([[1], [2], [3], [4], [5]], names=names)):
        for column in "ab":
            with pytest.raises(FrameError, match=r"^the table has several columns called 'b', 'c'; rename them"):
                total(frame, column)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (b"a,x,x\n1,0,1\n", "'x'"),
        (b"a,b,a,b\r\n1,2,3,4\r\n", "'a', 'b'"),
        (b"a,x,x_duplicated_0,x\n1,0,1,2\n", "'x'"),
        (b"\xef\xbb\xbfa,a\n1,2\n", "'a'"),
        (b'\xef\xbb\xbf"a",b,a\n1,2,3\n', "'a'"),
        (b'a,"x,y","x,y"\n1,2,3\n', "'x,y'"),
        (b"\n\na,a\n1,2\n", "'a'"),
        (b"a,,\n1,2,3\n", "''"),
        (b"a,a\n", "'a'"),
    ],
)
def test_duplicate_columns_of_csv(text: bytes, names: str) -> None:
    with pytest.raises(FrameError, match=rf"^cannot read x\.csv: it has several columns called {names}; rename them"):
        total(written("x.csv", text))


@pytest.mark.parametrize(
    "text", [b",a\n0,1\n", b"a,A, a\n1,2,3\n", b'a,"x,a","x\na"\n1,2,3\n', b"a,a_duplicated_0\n1,2\n", b"\na\n1\n"]
)
def test_names_that_are_alike_but_not_repeated(text: bytes) -> None:
    assert total(written("x.csv", text)) == 1


def test_names_that_are_no_texts() -> None:
    pandas = pytest.importorskip("pandas")
    pairs = pandas.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    odd = (
        (pandas.DataFrame({0: [1], "a": [2]}), "has 0;"),
        (pandas.DataFrame([[1, 2]], columns=pairs), r"has \('a', 'x'\), \('a', 'y'\);"),
        (pandas.DataFrame([range(20)]), "has 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …;"),
    )
    for frame, message in odd:
        for state in ("a", "0", "0 > 1"):
            with pytest.raises(
                FrameError, match=f"^the names of columns must be texts, but the table {message} rename"
            ):
                MarkovChain.fit(frame, state=state, order_by="a")
    frame = pandas.DataFrame([[1, 2], [2, 3]])
    frame.columns = frame.columns.map(str)
    assert total(frame, "0") == 3


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.csv", b"a;b\n1;x,y\n2;z\n"),
        ("x.csv", b'"a";"b,c"\n1;x\n2;y\n'),
        ("x.csv", b'\xef\xbb\xbf\n"a";"b\n,c"\n1;x\n2;y\n'),
        ("x.csv", b'"a","b;c"\n1,x\n2,y\n'),
        ("x.csv", b"a;b\n1;3.5\n2;4\n"),
        ("x.csv", b"a\tb\n1\tx,y;z\n2\t\n"),
        ("x.tsv", b"a\tb,c;d\n1\tx,y\n2\tz\n"),
        ("X.TSV", b"a\n1\n2\n"),
    ],
)
def test_separators_are_read_off_the_first_line(name: str, text: bytes) -> None:
    assert total(written(name, text)) == 3
    assert total(written(f"{name}.gz", gzip.compress(text, mtime=0))) == 3
    assert len(scan(name).schema) == (1 if name == "X.TSV" else 2)


def test_compressed_files() -> None:
    written("part/1.csv.gz", gzip.compress(b"a,b\n1,x\n", mtime=0))
    written("part/2.csv.gz", gzip.compress(b"a,b\n2,x\n", mtime=0) + gzip.compress(b"4,y\n", mtime=0))
    written("part/3.csv.gz", b"a,b\n8,x\n")
    assert total("part/*.csv.gz") == 15
    assert scan("part/*.csv.gz").guessed
    assert total(written("plain.csv", gzip.compress(b"a\n1\n", mtime=0))) == 1


def parquet(name: str, **columns: Any) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(columns).write_parquet(name)


def test_folders_of_parquet() -> None:
    parquet("plain/1.parquet", a=[1, 2])
    parquet("plain/below/2.PARQUET", a=[4])
    parquet("plain/_temporary/3.parquet", a=[8])
    parquet("plain/.hidden.parquet", a=[16])
    written("plain/_SUCCESS", "")
    written("plain/.1.parquet.crc", "x")
    for name in ("plain", "plain/", Path("plain")):
        assert total(name) == 7
    assert not scan("plain").guessed
    parquet("spark.csv/1.parquet", a=[1])
    assert total("spark.csv") == 1


def test_partitioned_folders() -> None:
    parquet("run=5/table/year=2012/room=a b/1.parquet", a=[1, 2])
    parquet("run=5/table/year=2013/room=c/1.parquet", a=[4])
    table = scan("run=5/table")
    assert {column: table.kind(column) for column in table.schema} == {"a": "whole", "year": "whole", "room": "text"}
    assert table.guessed
    assert total(table) == 7
    asked = [Sum("a", bounds=(0, 9), where="year == 2012"), Count("room", equals="a b"), Count("year > 2012", equals=1)]
    assert [each.counts for each in tally(table, asked)] == [(3,), (2,), (1,)]
    parquet("gap/k=__HIVE_DEFAULT_PARTITION__/1.parquet", a=[1])
    parquet("gap/k=3/1.parquet", a=[2])
    assert tally("gap", [Count("k", equals=3)], missing="drop")[0].records == 1


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["t/k=1/1", "t/2"], r"must lie in folders of the same names, such as .*, but t/k=1/1\.parquet and t/2"),
        (["t/k=1/j=1/1", "t/j=1/k=1/1"], "must lie in folders of the same names"),
        (["t/a=1/1"], "'a' is given by the names of its folders and once more, by its files or by a folder above"),
        (["a=1/t/k=1/1", "a=1/t/k=2/1"], "'a' is given by"),
        (["k=1/t/k=1/1"], "'k' is given by"),
    ],
)
def test_partitions_that_cannot_be_told(names: list[str], message: str) -> None:
    for name in names:
        parquet(f"{name}.parquet", a=[1])
    folder = names[0][: names[0].index("t/") + 1]
    with pytest.raises(FrameError, match=f"^cannot read {folder}: .*{message}"):
        total(folder)


# --- files that are not -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.csv", b"", r"cannot read x\.csv: it is empty; expected a first line with the names of the columns"),
        ("x.csv", b"a,b\n", r"x\.csv is empty: it has no rows"),
        ("x.csv", b"a,b\n1,\xff\xfe\n2,x\n", r"cannot read x\.csv: x\.csv is not UTF-8; save it"),
        ("x.csv", b"a,b\n" + b"1,x\n" * 300_000 + b"2,\xe9\n", r"cannot read x\.csv: x\.csv is not UTF-8"),
        ("x.csv", b"a,b\r1,2\r3,4\r", r"cannot read x\.csv: its lines end with a carriage return alone"),
        ("x.csv", b"a,b\r1,2\r3,4\n", r"cannot read x\.csv: its lines end with a carriage return alone"),
        ("x.csv", b'"a\rb",c\r\n', r"x\.csv has no column 'a'|x\.csv is empty: it has no rows"),
        ("x.csv", b"\x00" * 100, r"cannot read x\.csv: it holds NUL bytes"),
        ("x.csv", b"a\xff\n1\n", r"x\.csv has no column 'a'"),
        ("x.csv", b"a;b,c\n1;2\n", r"cannot read x\.csv: its first line holds commas and semicolons"),
        ("x.csv", b"a;b\n1;2\n3;4;5\n", r"put texts that contain semicolons in quotes"),
        ("x.csv", b"A\n1\n", r"x\.csv has no column 'a'; it has 'A'"),
        ("x.csv", b'a,b\n1,"x\n2,y\n', r"cannot read x\.csv: is there a quotation mark .* never closed"),
        ("x.csv", b'a,b\n1,x\n2,"y\n3,z\n', r"cannot read x\.csv: is there a quotation mark .* never closed"),
        ("x.csv", b'a,"b\n1,x\n2,y\n', r"cannot read x\.csv: it has lines after the first, but no row; .*never closed"),
        ("x.csv", b"a,b\n1,2\n3,4,5\n", r"cannot read x\.csv: some row has more fields than the first line has names"),
        ("x.csv", b"a,b\n" + b"1,2\n" * 50_000 + b"1,2,3\n" + b"1,2\n" * 50_000, "some row has more fields"),
        ("x.csv", b"a,b\nNA,1\n,2\nnan,3\n", r"column 'a' of x\.csv holds no values: every one of them is missing"),
        ("x.csv", b"a\n" + b"1\n" * 20_000 + b"x\n", "only a column of numbers can be added up, and 'a' is none"),
        ("x.csv", b"\x00\x01\x02\x89PNG\r\n", r"x\.csv"),
        ("x.parquet", b"", r"cannot read x\.parquet: parquet"),
        ("x.parquet", b"PAR1 and no more", r"cannot read x\.parquet: parquet"),
        ("x.parquet", b"a,b\n1,2\n", r"cannot read x\.parquet: parquet"),
        ("x.json.zip", b"{}", "is no kind of table we read; expected a .parquet, .csv, .tsv, "),
        ("x", b"a\n1\n", "is no kind of table we read"),
        (".csv", b"a\n1\n", "is no kind of table we read"),
        ("x.csv ", b"a\n1\n", "is no kind of table we read"),
    ],
)
def test_files_that_cannot_be_read(name: str, text: bytes, message: str) -> None:
    with pytest.raises((FrameError, QueryError), match=message):
        total(written(name, text))


@pytest.mark.parametrize(
    ("name", "reader"),
    [
        ("x.xls", "pandas.read_excel"),
        ("x.feather", "pandas.read_feather"),
        ("X.JSON", "pandas.read_json"),
        ("x.jsonl.gz", "pandas.read_json"),
        ("x.sas7bdat", "pandas.read_sas"),
        ("x.dta", "pandas.read_stata"),
        ("x.sav", "pandas.read_spss"),
        ("x.rds", "pyreadr.read_r"),
        ("x.txt", "pandas.read_csv"),
        ("x.csv.zst", "pandas.read_csv"),
    ],
)
def test_other_kinds_name_the_way_in(name: str, reader: str) -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(FrameError) as refused:
        total(written(name, "a\n1\n"))
    assert str(refused.value) == (
        f"{name!r} is no kind of table we read; read it with {reader} and pass the frame, or save it as .csv or "
        ".parquet"
    )
    assert not reader.startswith("pandas.") or hasattr(pandas, reader.removeprefix("pandas."))


PACKED = gzip.compress(b"a,b\n" + b"1,2\n" * 100_000, mtime=0)


@pytest.mark.parametrize(
    "packed",
    [PACKED[:15], PACKED[: len(PACKED) // 2], PACKED[:60] + b"\0" * 40 + PACKED[100:], PACKED[:-8] + b"\0" * 8],
    ids=["header only", "half", "overwritten", "checksum"],
)
def test_compressed_files_that_are_broken(packed: bytes) -> None:
    with pytest.raises(FrameError, match=r"^cannot read x\.csv\.gz: its compressed data is damaged or cut short"):
        total(written("x.csv.gz", packed))


RECORDS = {
    b"a,b\n1,2\n3,4,5\n": "more fields",
    b'a,b\n1,"x\n2,y\n': "never closed",
    b'a,"b\n1,x\n2,y\n': "never closed",
    b"a,b\n1,\xff\xfe\n2,x\n": "not UTF-8",
    b"\x00" * 100: "NUL bytes",
    b"a;b\n1;2,5\n2;3\n": "'b' holds numbers with a decimal comma; save the file with decimal points, or read it",
    b"a;b\n1.234,5;2\n": "'a' holds numbers with a decimal comma",
    b"a\tb\n1\t-0,5\n": "'b' holds numbers with a decimal comma",
}
FILES = {
    b"": "it is empty",
    b"a,a\n1,2\n": "several columns",
    b"a,b;c\n1,2\n": "commas and semicolons",
    b"a,b\r1,2\r": "carriage return",
    b"c\n1\n": "has no column 'a'",
}


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
@pytest.mark.parametrize(("text", "message"), (RECORDS | FILES).items())
def test_what_is_wrong_with_the_records_is_told_apart(name: str, text: bytes, message: str) -> None:
    """A session may say what is wrong with a file, but not what is wrong with its records."""
    with pytest.raises(FrameError, match=message) as refused:
        total(written(name, gzip.compress(text, mtime=0) if name.endswith(".gz") else text))
    assert isinstance(refused.value, RecordsError) == (text in RECORDS)


def test_commas_that_are_no_decimals() -> None:
    assert total(written("x.csv", "a;b;c;d\n1;1,5 m;12,;NA\n2;2,5;7,1,2;\n")) == 3
    assert total(written("y.csv", 'a,b\n1,"1,5"\n2,"2,5"\n')) == 3


def test_parquet_that_is_broken() -> None:
    pl.DataFrame({"a": range(1000)}).write_parquet("ok.parquet")
    content = Path("ok.parquet").read_bytes()
    for broken in (content[:-20], content[:50], content[:10] + b"\0" * 60 + content[70:], content[4:]):
        with pytest.raises(FrameError, match=r"x\.parquet"):
            total(written("x.parquet", broken))
    pl.DataFrame({"a": [1]}).clear().write_parquet("ok.parquet")
    with pytest.raises(FrameError, match=r"ok\.parquet is empty: it has no rows"):
        total("ok.parquet")


DIFFERENT = (
    r"cannot read part/\*\.csv: its files must have the same columns in the same order, but part/1\.csv has 'a', 'b' "
)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("b,a\n3,4\n", DIFFERENT + r"and part/2\.csv has 'b', 'a'$"),
        ("a\n3\n", DIFFERENT + r"and part/2\.csv has 'a'$"),
        ("a,c,b\n3,4,5\n", DIFFERENT + r"and part/2\.csv has 'a', 'c', 'b'$"),
        ("a,b\nx,3\n", "'a' is none"),
        ("", r"part/\*\.csv"),
        ("a,b\n", "'a' is none"),
    ],
)
def test_files_that_do_not_go_together(other: str, message: str) -> None:
    written("part/1.csv", "a,b\n1,2\n")
    written("part/2.csv", other)
    with pytest.raises((FrameError, QueryError), match=message):
        total("part/*.csv")


@pytest.mark.parametrize("state", ["steps", "steps > 0", "steps == 'x'", "steps < k"])
def test_a_csv_column_without_values(state: str) -> None:
    """No value says what such a column holds, so it is not called one of texts."""
    name = written("one.csv", "k,steps\n1,NA\n2,\n")
    ask: list[Any] = [
        lambda: tally(name, [Count(state, equals=True)], missing="drop"),
        lambda: tally(name, [Count("k", equals=1, where="steps > 0")], missing="drop"),
        lambda: transitions(name, state, ChainLayout("k"), "drop"),
        lambda: transitions(name, "k", ChainLayout("steps", step=1), "drop"),
        lambda: group_moments(name, GroupLayout("steps", "k"), "drop"),
    ]
    for each in ask:
        with pytest.raises(
            FrameError, match=r"column 'steps' of one\.csv holds no values: every one of them is missing"
        ):
            each()
    written("two.csv", "k,steps\n1,NA\n3,4\n")
    assert total("t*.csv", "steps") == 4
    written("more/1.csv", "k,steps\n1,NA\n")
    written("more/2.csv", "k,steps\n1,\n")
    with pytest.raises(FrameError, match=r"'steps' of more/\*\.csv holds no values"):
        total("more/*.csv", "steps")


def test_a_broken_csv_is_refused_whatever_is_asked() -> None:
    """Polars notices only when it reads every column; a comma too many may have shifted what it does read."""
    name = written("x.csv", "a,b,c\n1,2,3\n4,x,y,6\n")
    for column in "abc":
        with pytest.raises(FrameError, match="some row has more fields"):
            tally(name, [Count(column, equals=1)], missing="drop")
    with pytest.raises(FrameError, match="never closed") as refused:
        total(written("x.csv", 'a,b\n1,"secret-4711\n2,y\n'))
    assert "4711" not in str(refused.value)
    with pytest.raises(FrameError, match="never closed") as refused:
        total(written("x.csv", 'a,"b\n1,secret-4711\n2,y\n'))
    assert "4711" not in str(refused.value)


def test_refusals_do_not_quote_records() -> None:
    """What an engine says when it stops may hold values; they are private."""
    secret = pl.LazyFrame({"a": ["secret-4711"]}).select(pl.col("a").cast(pl.Int64))
    with pytest.raises(
        FrameError, match="cannot be read: polars stopped with InvalidOperationError; what it"
    ) as refused:
        total(secret)
    assert "4711" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_refusals_do_not_quote_values_given_in_place_of_names() -> None:
    pandas = pytest.importorskip("pandas")
    records = pandas.DataFrame({"a": ["secret-4711", "b", "b"], "k": [4711, 2, 3]})
    for frame in (records, pl.from_pandas(records)):
        for ask in (
            lambda f: MarkovChain.fit(f["a"], state="a", order_by="k"),
            lambda f: MarkovChain.fit(f["a"].to_numpy(), state="a", order_by="k"),
            lambda f: MarkovChain.fit(f["a"].to_list(), state="a", order_by="k"),
            lambda f: MarkovChain.fit({"a": f["a"].to_list()}, state="a", order_by="k"),
            lambda f: MarkovChain.fit(f, state=f["a"], order_by="k"),
            lambda f: MarkovChain.fit(f, state=f["k"], order_by="k"),
            lambda f: MarkovChain.fit(f, state="a", order_by=f["a"]),
            lambda f: MarkovChain.fit(f, state="a", order_by=f["k"]),
            lambda f: MarkovChain.fit(f, state="a", order_by=f["k"].to_list()),
            lambda f: MarkovChain.fit(f, state="a", order_by="k", entity=f["a"]),
            lambda f: GaussianGroups.fit(f, value=f["k"], group="a"),
            lambda f: GaussianGroups.fit(f, value="k", group=f["a"]),
            lambda f: GaussianGroups.fit(f, value="k", group="a", role=f["a"]),
        ):
            with pytest.raises(BayesDPError, match=r"something of type (Series|ndarray|list|dict|int)") as refused:
                ask(frame)
            assert "4711" not in str(refused.value)


def test_refusals_do_not_quote_what_a_model_does_not_know() -> None:
    chain = MarkovChain.fit(pl.DataFrame({"a": list("xyxxy"), "k": range(5)}), state="a", order_by="k")
    with pytest.raises(FrameError, match="the table holds a value of 'a' that is not a state of the model") as refused:
        chain.diagnose(pl.DataFrame({"a": ["x", "y", "secret-4711"], "k": [1, 2, 3]}))
    assert "4711" not in str(refused.value)
    far = pl.DataFrame({"v": [4.711e307, -1.7e308], "g": [1, 1]})
    with pytest.raises(FrameError, match="the values of column 'v' of the table are too far apart") as refused:
        group_moments(far, GroupLayout("v", "g"))
    assert "4.711" not in str(refused.value)


def test_parquet_files_that_do_not_go_together() -> None:
    pl.DataFrame({"a": [1]}).write_parquet("1.parquet")
    pl.DataFrame({"a": ["x"]}).write_parquet("2.parquet")
    with pytest.raises(FrameError, match=r"\*\.parquet"):
        total("*.parquet")


def test_paths_that_lead_nowhere() -> None:
    written("sub/x.csv", "a\n1\n")
    Path("dir.csv").mkdir()
    Path("loop.csv").symlink_to("loop.csv")
    for name, message in (
        ("nowhere.csv", r"cannot read nowhere\.csv: there is no such file"),
        ("../../../../nowhere/x.csv", "there is no such file"),
        ("~/nowhere.csv", "there is no such file"),
        ("*.parquet", "there is no such file"),
        ("[.csv", "there is no such file"),
        ("s3://bucket/x.csv", "there is no such file"),
        ("https://localhost:1/x.csv", "there is no such file"),
        ("loop.csv", "cannot read"),
        ("x" * 5000 + ".csv", "cannot read 'xxx"),
        ("a\0b.csv", "cannot read|no such file"),
        ("sub", r"sub is a folder without \.parquet files; name the files in it, for example sub/\*\.csv"),
        ("", "is no kind of table we read"),
        ("dir.csv", r"dir\.csv is a folder without \.parquet files; .* for example dir\.csv/\*\.csv"),
        ("d*.csv", r"d\*\.csv names a folder; name the files in it, for example dir\.csv/\*\.csv"),
    ):
        with pytest.raises(FrameError, match=message) as refused:
            total(name)
        assert len(str(refused.value)) < 1000


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_that_may_not_be_read() -> None:
    Path(written("x.csv", "a\n1\n")).chmod(0)
    with pytest.raises(FrameError, match=r"cannot read x\.csv"):
        total("x.csv")


@given(st.binary(max_size=200) | st.text("a,b\n\r\"'0123456789.-eNA;\t", max_size=200).map(str.encode))
def test_any_content_is_read_or_refused(content: bytes) -> None:
    name = written("any.csv", content)
    try:
        total(name)
    except BayesDPError:
        return


# --- things that are no tables ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        42,
        None,
        {"a": [1]},
        [1],
        b"x.csv",
        object(),
        dict,
        float("nan"),
        np.ones((2, 2)),
        pl.Series("a", [1]),
        open,
        "x",
    ],
    ids=lambda source: type(source).__name__,
)
def test_what_is_no_table(source: Any) -> None:
    for ask in (
        lambda: tally(source, [Sum("a", bounds=(0, 1))]),
        lambda: MarkovChain.fit(source, state="a", order_by="b"),
        lambda: scan(source),
    ):
        with pytest.raises(FrameError, match=r"expected a (table|\.parquet)"):
            ask()


def test_tables_that_fail_when_they_are_opened_or_read() -> None:
    class Unwilling:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("no")

    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    relation = connection.sql("select 1 as a")
    connection.close()
    broken = pl.LazyFrame({"a": ["x"]}).select(pl.col("a").cast(pl.Int64))
    nowhere = pl.LazyFrame({"a": [1]}).select(pl.col("zz"))
    gone = pl.scan_csv("gone.csv")
    for source in (Unwilling(), relation, broken, nowhere, gone):
        with pytest.raises(FrameError):
            total(source)


def test_tables_without_columns() -> None:
    pandas = pytest.importorskip("pandas")
    for source in (pl.DataFrame(), pandas.DataFrame(index=[1, 2])):
        with pytest.raises(FrameError, match=r"is empty|has no column 'a'"):
            total(source)


def test_a_table_that_changes_while_it_is_read() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2]})
    table = scan(frame)
    assert scan(table) is table
    growing = written("x.csv", "a\n1\n2\n")
    found = scan(growing)
    assert total(found) == 3


def test_questions_without_a_column() -> None:
    frame = pl.DataFrame({"a": [1, 2]})
    with pytest.raises(QueryError, match=r"which column is .* about\? Count\('column', \.\.\.\) says it"):
        tally(frame, [Count(equals=1)])
    assert tally(frame, [Count(equals=1)], subject="a > 1")[0].counts == (1,)
    assert tally(frame, [Count(equals=1)], subject="a")[0].counts == (1,)


# --- questions that no table of such columns can answer ---------------------------------------------------------------


def unread(*, fails: bool = True) -> pl.LazyFrame:
    """Return a table of known columns that nobody may read."""

    def refuse(frame: pl.DataFrame) -> pl.DataFrame:
        assert not fails, "the table was read"
        return frame

    frame = pl.LazyFrame({"k": [1], "x": [0.5], "t": ["a"], "b": [True], "d": [dt.date(2024, 1, 1)]})
    return frame.map_batches(refuse, schema=frame.collect_schema())


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (Sum("t", bounds=(0, 1)), "only a column of numbers can be added up, and 't' is none"),
        (Mean("k > 0", bounds=(0, 1)), "only a column of numbers can be added up, and 'k > 0' is none"),
        (Sum("z", bounds=(0, 1)), "has no column 'z'"),
        (Count("k", equals="a"), "column 'k' of the table holds whole numbers, which 'a' is not"),
        (Histogram("d", cells=["2024-01-01", "soon"]), "holds times; write them like 2012-10-01"),
        (Count("k", equals=1, where="z > 0"), "has no column 'z'"),
        (Count("k", equals=1, where="x >"), "expected a column or a value"),
        (Count("k", equals=1, where="t > 0"), "column 't' of the table holds texts, which 0 is not"),
        (Count("k", equals=1, where="x"), "by itself it is no condition"),
        (Count("k", equals=1, where="t < k"), "they cannot be compared"),
        (Count("x > 1", equals=2), "is true or false of a record; 2 is neither"),
        (Count(equals=1), "which column is"),
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


# --- states match by value, in whatever type they are written ---------------------------------------------------------

COLUMNS: dict[str, list[Any]] = {
    "whole": [0, 1, 1, 0, 1, 1, 1, 0],
    "number": [0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0],
    "text": list("01101110"),
    "truth": [False, True, True, False, True, True, True, False],
}
WRITTEN: list[list[Any]] = [[0, 1], ["0", "1"], [0.0, 1.0], ["0.0", "1e0"], [False, True], ["false", "True"]]


def matches(kind: str, states: list[Any]) -> bool:
    """Tell whether states written so are those of a column: nobody knows how a text would write a truth."""
    if kind == "text":
        return states in ([0, 1], ["0", "1"]) and not isinstance(states[0], bool)
    return kind == "truth" or states != ["false", "True"]


@pytest.mark.parametrize("engine", ["polars", "pandas", "duckdb"])
@pytest.mark.parametrize("states", WRITTEN, ids=str)
@pytest.mark.parametrize("kind", COLUMNS)
def test_states_match_by_value(kind: str, states: list[Any], engine: str, tmp_path: Path) -> None:
    records = pl.DataFrame({"s": COLUMNS[kind], "t": range(8)})
    frame: Any = records.to_pandas() if engine == "pandas" else records
    if engine == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        frame = duckdb.connect().from_arrow(records.to_arrow())
    chain = MarkovChain([[0.4, 0.6], [0.5, 0.5]], states=states, column="s", length=8, layout=ChainLayout("t"))
    question = Count("s", equals=states[1])

    def released() -> None:
        with Session(frame, chain, epsilon=9.0, ledger=tmp_path / "ledger.db", dataset="d") as session:
            assert session.release(question, epsilon=8.0).records == 8

    if matches(kind, states):
        found = tally(frame, [question, Histogram("s", cells=states)])
        assert [each.counts for each in found] == [(5,), (3, 5)]
        assert chain.diagnose(frame).records == 8
        released()
    else:
        with pytest.raises(FrameError, match="not a state of the model"):
            chain.diagnose(frame)
        with pytest.raises(BayesDPError):
            released()


@pytest.mark.parametrize("states", [[1, "1"], ["1", "1.0"], [True, "1"], ["true", "True"]], ids=str)
def test_states_that_are_the_same_value_are_refused(states: list[Any], tmp_path: Path) -> None:
    frame = pl.DataFrame({"s": [True, True, False], "t": [1, 2, 3]})
    for subject in ("s", "t > 1"):
        chain = MarkovChain([[0.4, 0.6], [0.5, 0.5]], states=states, column=subject, layout=ChainLayout("t"))
        for ask in (
            lambda subject=subject: tally(frame, [Histogram(subject, cells=states)]),
            lambda chain=chain: chain.diagnose(frame),
            lambda chain=chain: Session(frame, chain, epsilon=1.0, ledger=tmp_path / "ledger.db", dataset="d"),
        ):
            with pytest.raises(QueryError, match=r"are the same value of '.*'; name it once"):
                ask()


def test_conditions_mean_the_types_they_write() -> None:
    frame = pl.DataFrame({"t": ["1", "2"], "k": [1, 2]})
    for text in ("t > 1", "t == 1", "t in [1]", "k == '1'", "k in ['1']"):
        with pytest.raises(QueryError, match=r"holds .*, which .* is not"):
            tally(frame, [Count(text, equals=True)])
