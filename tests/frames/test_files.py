"""Files as tables: read, or refused in words that name them and quote no record."""

import gzip
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import Count, Histogram, Sum
from bayesdp.errors import BayesDPError, FrameError, QueryError, RecordsError
from bayesdp.frames.aggregates import tally
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
    with pytest.raises(RecordsError, match="a column holds values of different kinds in its files"):
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
        (["t/k=1/1", "t/2"], r"t/k=1/1\.parquet and t/2\.parquet are in folders for different columns; use the same"),
        (["t/k=1/j=1/1", "t/j=1/k=1/1"], "are in folders for different columns"),
        (["t/a=1/1"], "'a' is in the names of its folders and also in its files or in a folder above"),
        (["a=1/t/k=1/1", "a=1/t/k=2/1"], "'a' is in the names of"),
        (["k=1/t/k=1/1"], "'k' is in the names of"),
    ],
)
def test_partitions_that_cannot_be_told(names: list[str], message: str) -> None:
    for name in names:
        parquet(f"{name}.parquet", a=[1])
    folder = names[0][: names[0].index("t/") + 1]
    with pytest.raises(FrameError, match=f"^cannot read {folder}: .*{message}"):
        total(folder)


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
        ("x.csv", b"a,b\nNA,1\n,2\nnan,3\n", r"column 'a' of x\.csv holds no values: all of them are missing"),
        ("x.csv", b"a\n" + b"1\n" * 20_000 + b"x\n", "cannot sum 'a': it is not numeric"),
        ("x.csv", b"\x00\x01\x02\x89PNG\r\n", r"x\.csv"),
        ("x.parquet", b"", r"cannot read x\.parquet: it is not a Parquet file, or is cut short"),
        ("x.parquet", b"PAR1 and no more", r"cannot read x\.parquet: it is not a Parquet file, or is cut short"),
        ("x.parquet", b"a,b\n1,2\n", r"cannot read x\.parquet: it is not a Parquet file, or is cut short"),
        ("x.json.zip", b"{}", "not a known kind of table; expected a .parquet, .csv, .tsv, "),
        ("x", b"a\n1\n", "not a known kind of table"),
        (".csv", b"a\n1\n", "not a known kind of table"),
        ("x.csv ", b"a\n1\n", "not a known kind of table"),
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
        f"cannot read {name!r}: not a known kind of table; read it with {reader} and pass the frame, or save it as "
        ".csv or .parquet"
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
        ("a,b\nx,3\n", "cannot sum 'a'"),
        ("", r"part/\*\.csv"),
        ("a,b\n", "cannot sum 'a'"),
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
        with pytest.raises(FrameError, match=r"column 'steps' of one\.csv holds no values: all of them are missing"):
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
        ("", "not a known kind of table"),
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


@pytest.mark.parametrize(
    ("written", "kind"),
    [("2012-01-02", "time"), ("2012-01-02T08:00:00", "time"), ("02/01/2012", "text"), ("02-01-2012", "text")],
)
def test_dates_whose_month_is_not_sure_are_texts(tmp_path: Path, written: str, kind: str) -> None:
    """An American file of first days of months was read as days of January, without a word."""
    path = tmp_path / "t.csv"
    path.write_text(f"day,x\n,0\n{written},1\n")
    assert scan(path).kind("day") == kind


def test_several_paths_are_one_table() -> None:
    for month, numbers in (("10", "1\n2\n"), ("11", "30\n"), ("12", "400\n")):
        written(f"2012-{month}.csv", f"a\n{numbers}")
    assert total(["2012-10.csv", "2012-1[12].csv"]) == 433 == total(("2012-10.csv", Path("2012-11.csv"), "2012-12.csv"))
    assert total(["2012-1*.csv"]) == 433
    pl.DataFrame({"a": [5]}).write_parquet(Path(written("parts/x.txt", "")).with_name("1.parquet"))
    pl.DataFrame({"a": [6]}).write_parquet("2.parquet")
    assert total(["2.parquet", "parts"]) == 11


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ([], "the list of paths is empty"),
        (["a.csv", "./a.csv"], "a.csv is named twice, so its records would count twice"),
        (["a.csv", "*.csv"], "a.csv is named twice"),
        (["a.csv", "b.parquet"], "files of different kinds"),
        (["a.csv", "absent.csv"], "absent.csv: there is no such file"),
        (["a.csv", "sqlite:///x.db#t"], "cannot be read with files"),
        (["b.parquet", "keyed"], "keyed has folders whose names are columns"),
        (["a.csv", 3], "expected a table"),
    ],
)
def test_paths_that_are_no_single_table_are_refused(paths: list[Any], message: str) -> None:
    written("a.csv", "a\n1\n")
    pl.DataFrame({"a": [1]}).write_parquet("b.parquet")
    Path("keyed/year=2012").mkdir(parents=True)
    pl.DataFrame({"a": [1]}).write_parquet("keyed/year=2012/1.parquet")
    with pytest.raises(FrameError, match=message.replace(".", r"\.")):
        scan(paths)


def test_a_new_file_of_a_listed_pattern_is_a_change() -> None:
    written("a.csv", "a\n1\n")
    written("b1.csv", "a\n1\n")
    table = scan(["a.csv", "b*.csv"])
    written("b2.csv", "a\n1\n")
    with pytest.raises(FrameError, match=r"a\.csv, b\*\.csv changed since it was opened"):
        total(table)
