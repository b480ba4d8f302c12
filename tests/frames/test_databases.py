"""Tables of databases by URL: the same integers as elsewhere, and messages without passwords or private values."""

from __future__ import annotations

import datetime
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import polars
import psycopg
import pytest

import bayesdp as bdp
from bayesdp.cli import run
from bayesdp.errors import FrameError, MissingDependencyError, RecordsError, RefusedError
from bayesdp.frames.aggregates import tally
from bayesdp.frames.databases import DatabaseAddress, database_file
from bayesdp.frames.source import scan

ROWS = 3000
TABLE = polars.DataFrame(
    {
        "meter": [f"m{i // 1000}" for i in range(ROWS)],
        "t": [i % 1000 for i in range(ROWS)],
        "on": [(i * i) % 7 < 3 for i in range(ROWS)],
        "kwh": [None if i % 500 == 499 else (i % 97) / 7 for i in range(ROWS)],
        "day": [datetime.date(2026, 1, 1) + datetime.timedelta(i % 30) for i in range(ROWS)],
        "at": [datetime.datetime(2026, 1, 1) + datetime.timedelta(minutes=i) for i in range(ROWS)],
    }
)
TIMES = ("DATE", "TIMESTAMP")
QUERIES = [
    bdp.Count("on", equals=True),
    bdp.Count(where="on and t > 500"),
    bdp.Sum("kwh", bounds=(1, 9)),
    bdp.Sum("t", bounds=(0, 800)),
    bdp.Histogram("meter", cells=["m0", "m2"]),
    bdp.Count(where="day >= '2026-01-15'"),
    bdp.Count(where="at < '2026-01-02T03:00:00'"),
]


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    """A SQLite file; dates and times are texts there."""
    with closing(sqlite3.connect(tmp_path / "meters.db")) as connection, connection:
        connection.execute(
            'CREATE TABLE "all readings" '
            "(meter VARCHAR(8), t BIGINT, `on` BOOLEAN, kwh DOUBLE PRECISION, day DATE, at TIMESTAMP, odd)"
        )
        texts = polars.col("day").cast(polars.String), polars.col("at").dt.to_string("iso:strict")
        rows = TABLE.with_columns(*texts, odd=polars.lit("x")).rows()
        connection.executemany('INSERT INTO "all readings" VALUES (?, ?, ?, ?, ?, ?, ?)', rows)
        connection.execute("CREATE TABLE other (a INTEGER)")
        connection.execute('CREATE VIEW late AS SELECT meter, t, `on` FROM "all readings" WHERE t > 500')
    return f"sqlite:///{tmp_path / 'meters.db'}"


@pytest.fixture
def in_duckdb(tmp_path: Path) -> str:
    duckdb = pytest.importorskip("duckdb")
    table = TABLE.to_arrow()
    with duckdb.connect(str(tmp_path / "meters.duckdb")) as connection:
        connection.register("given", table)
        connection.execute('CREATE TABLE "all readings" AS SELECT * FROM given')
    return f"duckdb:///{tmp_path / 'meters.duckdb'}"


@pytest.fixture(params=["sqlite", "in_duckdb"])
def url(request: pytest.FixtureRequest) -> str:
    address: str = request.getfixturevalue(request.param)
    return address


def test_the_integers_are_those_of_every_engine(url: str) -> None:
    expected = tally(TABLE, QUERIES, missing="drop")
    found = tally(f"{url}#all readings", QUERIES, missing="drop")
    assert [(answer.counts, answer.records, answer.present) for answer in found] == [
        (answer.counts, answer.records, answer.present) for answer in expected
    ]


def test_models_are_fitted_and_answers_released(url: str, tmp_path: Path) -> None:
    columns: dict[str, Any] = {"state": "on", "order_by": "t", "entity": "meter", "step": 1, "diagnose": False}
    chain = bdp.MarkovChain.fit(f"{url}#all readings", **columns)
    assert chain == bdp.MarkovChain.fit(TABLE, **columns)
    with bdp.Session(
        f"{url}#all readings", chain, epsilon=1e6, dataset="meters", ledger=tmp_path / "ledger.db"
    ) as session:
        assert session.release(bdp.Count("on", equals=True), epsilon=1e5).value == TABLE["on"].sum()


def test_a_view_is_a_table(sqlite: str) -> None:
    (found,) = tally(f"{sqlite}#late", [bdp.Count("on", equals=True)])
    assert (found.counts[0], found.rows) == (TABLE.filter(polars.col("t") > 500)["on"].sum(), 1497)


def test_what_is_not_there_is_named(url: str, tmp_path: Path) -> None:
    with pytest.raises(FrameError, match=r"names no table; add one after a #, such as .*#.*; it has 'all readings'"):
        scan(url)
    with pytest.raises(FrameError, match="has no table 'walks'; it has 'all readings'"):
        scan(f"{url}#walks")
    kind = url.partition(":")[0]
    with pytest.raises(FrameError, match="there is no such file"):
        scan(f"{kind}:///{tmp_path / 'nothing.db'}#walks")
    assert not (tmp_path / "nothing.db").exists()
    (tmp_path / "text.db").write_text("this is no database\n" * 100)
    with pytest.raises(FrameError, match=r"cannot open .*: .*(Error|Exception); its message is withheld"):
        scan(f"{kind}:///{tmp_path / 'text.db'}#walks")


def test_a_path_to_a_database_says_how_to_name_a_table(tmp_path: Path) -> None:
    for name, expected in (("meters.db", "sqlite:///"), ("meters.duckdb", "duckdb:///")):
        with pytest.raises(FrameError, match=f"it is a database: name a table in it, {expected}"):
            scan(tmp_path / name)


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("INTEGER", "seven hundred"),
        ("INTEGER", 7.5),
        ("REAL", "zzz"),
        ("BOOLEAN", 2),
        ("DATE", "yesterday"),
        ("DATE", 20260101),
        ("TIMESTAMP", "2026-01-01T00:00:00+02:00"),
        ("TEXT", b"bytes"),
    ],
)
def test_a_value_that_is_not_of_its_declared_type_is_refused(declared: str, value: object, tmp_path: Path) -> None:
    """SQLite takes any value in any column; were such a one clipped or compared, no sensitivity would hold."""
    path = tmp_path / "odd.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE t (x {declared}, y INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(None, 1), (value, 2)])
    address, asked = f"sqlite:///{path}#t", bdp.Count("x", equals="2026-01-01" if declared in TIMES else 1)
    with pytest.raises(RecordsError, match=f"column 'x' .* is declared as {declared}") as caught:
        tally(address, [asked], missing="drop")
    assert "seven" not in str(caught.value)

    def released() -> None:
        with bdp.Session(address, bdp.ArbitraryGroups(2), epsilon=1.0, dataset="odd", missing="drop") as session:
            session.release(asked, epsilon=0.5)

    with pytest.raises(RefusedError):
        released()


def test_a_column_without_a_type_cannot_be_asked_about(sqlite: str) -> None:
    with pytest.raises(FrameError, match=r"column 'odd' .* holds values of type Binary"):
        tally(f"{sqlite}#all readings", [bdp.Count("odd", equals="x")])


def test_names_that_look_like_sql_are_names(tmp_path: Path) -> None:
    path, name = tmp_path / "names.db", 'a"; DROP TABLE `t`; --'
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
        doubled = name.replace("`", "``")
        connection.execute(f"CREATE TABLE `{doubled}` (`x``y` INTEGER)")
        connection.execute(f"INSERT INTO `{doubled}` VALUES (4)")
    assert tally(f"sqlite:///{path}#{name}", [bdp.Sum("x`y", bounds=(0, 9))])[0].counts == (4,)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_no_password_is_shown() -> None:
    address = "postgresql://ada:secret@nowhere.invalid:1/health#visits"
    assert "secret" not in str(DatabaseAddress.of(address))
    assert (
        str(DatabaseAddress.of("postgresql://ada@db/health?password=secret#visits"))
        == "postgresql://ada@db/health#visits"
    )
    with pytest.raises(FrameError, match=r"cannot open postgresql://ada:\*\*\*@nowhere") as caught:
        scan(address)
    assert "secret" not in str(caught.value)
    with pytest.raises(FrameError, match="cannot read the address of a database") as caught:
        scan("postgresql://ada:secret@host:port/health#visits")
    assert "secret" not in str(caught.value)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, in_duckdb: str) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'bayesdp\[duckdb\]'"):
        scan(f"{in_duckdb}#all readings")


def test_which_file_an_address_names(tmp_path: Path) -> None:
    assert database_file("sqlite:///steps.db#walks") == "steps.db"
    assert database_file("postgresql://db/health#visits") is None
    assert database_file("steps.csv") is None


def test_from_the_command_line(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address, model = f"{url}#all readings", tmp_path / "model.json"
    fit = ["fit", address, "--model", "markov", "--state", "on", "--order-by", "t", "--entity", "meter", "--step", "1"]
    assert run([*fit, "-o", str(model)]) == 0
    asked = ["--query", "count", "--epsilon", "1e5", "--budget", "1e6", "--dataset", "meters", "--json"]
    place = ["--model", str(model), "--ledger", str(tmp_path / "ledger.db"), "--accept-violated", "a test"]
    capsys.readouterr()
    assert run(["release", address, *asked, *place]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == TABLE["on"].sum()
    inside = database_file(address)
    assert inside is not None
    assert run([*fit, "-o", inside]) == 2


def test_a_table_of_postgresql(server: Path, tmp_path: Path) -> None:
    with psycopg.connect(host=str(server), user="postgres", dbname="postgres", autocommit=True) as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS energy")
        connection.execute("DROP TABLE IF EXISTS energy.readings")
        connection.execute(
            'CREATE TABLE energy.readings (meter text, t bigint, "on" boolean, kwh double precision, day date, '
            "at timestamp)"
        )
        with connection.cursor().copy("COPY energy.readings FROM STDIN") as copy:
            for row in TABLE.rows():
                copy.write_row(row)
    address = f"postgresql://postgres@/postgres?host={server}#energy.readings"
    expected = [answer.counts for answer in tally(TABLE, QUERIES, missing="drop")]
    assert [answer.counts for answer in tally(address, QUERIES, missing="drop")] == expected
    with pytest.raises(FrameError, match="has no table 'nothing'; it has 'readings'"):
        scan(address.replace("readings", "nothing"))
