"""A file that changes while a table of it is open is refused: what was checked is no longer what is read."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bayesdp as bdp
from bayesdp.errors import ChangedError, FrameError
from bayesdp.frames import source
from bayesdp.frames.aggregates import row_count, tally
from bayesdp.frames.checks import diagnose_chain_of
from bayesdp.frames.snapshots import Snapshot, Stamp
from bayesdp.frames.source import LazyTable, scan
from bayesdp.frames.transitions import transitions
from bayesdp.frames.wide_format import VALUE, unpivoted
from bayesdp.models.layout import ChainLayout

ROWS = 1000
PAIRS = pl.DataFrame({"g": [i // 2 for i in range(ROWS)], "x": [i % 2 for i in range(ROWS)], "z": [0] * ROWS})
ONE_GROUP = PAIRS.with_columns(g=pl.lit(7))
CHANGED = r"changed since it was opened; open it again"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(frame: pl.DataFrame, path: str) -> None:
    Path(path).parent.mkdir(exist_ok=True)
    frame.write_csv(path) if path.endswith("csv") else frame.write_parquet(path)


@contextmanager
def session(path: str) -> Iterator[bdp.Session]:
    groups = bdp.ArbitraryGroups(2, group=["g"])
    with bdp.Session(path, groups, epsilon=2.0, ledger="budget.db", dataset="pairs") as opened:
        yield opened


def refuses(opened: bdp.Session, query: Any = None) -> None:
    """Check that a release is refused for the reason that the file changed, and charges nothing."""
    remaining = opened.remaining
    with pytest.raises(ChangedError, match=CHANGED):
        opened.release(query or bdp.Count("x", equals=1), epsilon=0.5)
    assert opened.remaining == remaining


@pytest.mark.parametrize("path", ["x.parquet", "x.csv"])
def test_groups_that_became_one_group_are_not_released(path: str) -> None:
    write(PAIRS, path)
    with session(path) as opened:
        opened.release(bdp.Count("x", equals=0), epsilon=0.5)
        write(ONE_GROUP, path)
        refuses(opened)
        write(PAIRS, path)  # as before, but that is not known
        refuses(opened)
    with pytest.raises(FrameError), session("y.csv"):
        pass


def test_a_column_is_not_released_as_another() -> None:
    """Polars would go on with the footer it has read, and find z where x was."""
    write(PAIRS.with_columns(x=pl.lit(1)), "x.parquet")
    with session("x.parquet") as opened:
        write(PAIRS.select("g", z="x", x="z"), "x.parquet")
        refuses(opened)


@pytest.mark.parametrize("path", ["x.parquet", "x.csv"])
def test_a_change_that_keeps_size_and_time_of_modification(path: str) -> None:
    write(PAIRS, path)
    before = Path(path).stat()
    with session(path) as opened:
        content = Path(path).read_bytes()
        Path(path).write_bytes(content)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        refuses(opened)


def test_a_file_that_is_replaced_removed_or_linked_elsewhere() -> None:
    write(PAIRS, "a.parquet")
    write(ONE_GROUP, "b.parquet")
    Path("x.parquet").symlink_to("a.parquet")
    with session("x.parquet") as opened:
        Path("x.parquet").unlink()
        refuses(opened)
        Path("x.parquet").symlink_to("b.parquet")
        refuses(opened)
        Path("x.parquet").unlink()
        Path("x.parquet").symlink_to("a.parquet")
        opened.release(bdp.Count("x", equals=1), epsilon=0.5)  # the same file as before


@pytest.mark.parametrize(
    ("path", "one", "another"), [("d/*.csv", "d/1.csv", "d/2.csv"), ("d", "d/1.parquet", "d/2.parquet")]
)
def test_a_file_that_is_added_or_taken_away(path: str, one: str, another: str) -> None:
    write(PAIRS, one)
    table = scan(path)
    assert row_count(table) == ROWS
    write(PAIRS, another)
    with pytest.raises(ChangedError, match=f"^{path} {CHANGED}".replace("*", r"\*")):
        row_count(table)
    table = scan(path)
    assert row_count(table) == 2 * ROWS
    Path(another).unlink()
    with pytest.raises(ChangedError, match=CHANGED):
        row_count(table)


def test_every_table_that_is_made_of_it_knows_its_files() -> None:
    write(PAIRS.with_row_index("t"), "x.parquet")
    table = scan("x.parquet")
    picked = table.pick(["g", "x", "t"])
    made: list[LazyTable] = [
        picked,
        picked.pick(["x"]),
        picked.together(["g"]),
        picked.mapped(lambda frame: frame.select("x")),
        unpivoted(table, ["x", "z"]),
    ]
    chain = bdp.MarkovChain.fit(table, state="x", order_by="t")
    write(PAIRS.with_row_index("t"), "x.parquet")
    for each in [table, *made]:
        with pytest.raises(ChangedError, match=CHANGED):
            row_count(each)
    asked: list[Callable[[], object]] = [
        lambda: tally(table, [bdp.Count("x", equals=1)]),
        lambda: tally(made[-1], [bdp.Sum(VALUE, bounds=(0, 1))]),
        lambda: transitions(table, "x", ChainLayout("t")),
        lambda: bdp.MarkovChain.fit(table, state="x", order_by="t"),
        lambda: diagnose_chain_of(chain, table),
        lambda: bdp.advise(table, bdp.Count("x", equals=1), epsilon=1.0, order_by="t"),
    ]
    for ask in asked:
        with pytest.raises(ChangedError, match=CHANGED):
            ask()


@pytest.mark.parametrize("path", ["x.parquet", "x.csv"])
def test_a_change_while_a_table_is_computed(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the check before and the check after, whether the engine notices or not."""
    write(PAIRS, path)
    for fails in (False, True):
        table, computed = scan(path), LazyTable._computed

        def changed(self: LazyTable, aggregate: Any, computed: Any = computed, fails: bool = fails) -> Any:
            write(ONE_GROUP, path)
            if fails:
                raise ZeroDivisionError
            return computed(self, aggregate)

        with monkeypatch.context() as patch:
            patch.setattr(LazyTable, "_computed", changed)
            with pytest.raises(ChangedError, match=CHANGED):
                row_count(table)


def test_a_change_while_a_file_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its types are those of what it held, not of what it holds."""
    write(PAIRS, "x.csv")
    opening = source._frame

    def changed(native: object) -> LazyTable:
        write(ONE_GROUP, "x.csv")
        return opening(native)

    monkeypatch.setattr(source, "_frame", changed)
    table = scan("x.csv")
    with pytest.raises(ChangedError, match=CHANGED):
        row_count(table)
    monkeypatch.setattr("bayesdp.frames.files._types", lambda *_: write(PAIRS, "x.csv"))
    with pytest.raises(ChangedError, match=CHANGED):
        scan("x.csv")


def test_two_changes_within_a_tick_are_told_apart() -> None:
    """The system's clock for files ticks slowly; a snapshot is only taken once it has gone on."""
    for i in range(10):
        Path("x.csv").write_text(f"a\n{i}\n")
        snapshot = Snapshot.of("x.csv", ["x.csv"])
        with Path("x.csv").open("r+") as file:
            file.write(f"a\n{9 - i}\n")
        with pytest.raises(ChangedError, match=CHANGED):
            snapshot.check()


def test_stamps() -> None:
    assert Stamp.of("nowhere") is None
    assert Stamp.of("x\0y") is None
    Path("x.csv").write_text("a\n1\n")
    stamp = Stamp.of("x.csv")
    assert stamp is not None
    assert stamp.size == 4
    snapshot = Snapshot.of("it", ["x.csv"])
    with snapshot.held():
        Path("x.csv").read_text()

    def interrupted() -> None:
        with snapshot.held():
            Path("x.csv").write_text("b\n1\n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()


def test_frames_in_memory_have_no_files() -> None:
    assert scan(PAIRS).snapshot is None
    assert scan(PAIRS.lazy()).pick(["x"]).snapshot is None


def sqlite_file(mode: str) -> None:
    with closing(sqlite3.connect("x.db")) as connection, connection:
        connection.execute(f"PRAGMA journal_mode={mode}")
        connection.execute("CREATE TABLE pairs (g INTEGER, x INTEGER)")
        connection.executemany("INSERT INTO pairs VALUES (?, ?)", PAIRS.select("g", "x").rows())


def test_a_sqlite_file() -> None:
    sqlite_file("DELETE")
    with session("sqlite:///x.db#pairs") as opened:
        opened.release(bdp.Count("x", equals=0), epsilon=0.5)
        with closing(sqlite3.connect("x.db")) as connection, connection:
            connection.execute("UPDATE pairs SET g = 7")
        refuses(opened)


def test_a_sqlite_file_that_writes_ahead_is_not_watched() -> None:
    """Others may write to it all the time, to other tables, too."""
    sqlite_file("WAL")
    table = scan("sqlite:///x.db#pairs")
    assert table.snapshot is None
    assert row_count(table) == ROWS


def test_a_duckdb_file() -> None:
    duckdb = pytest.importorskip("duckdb")
    for name, group in (("x.duckdb", "i // 2"), ("y.duckdb", "7")):
        with duckdb.connect(name) as connection:
            connection.execute(f"CREATE TABLE pairs AS SELECT {group} AS g, i % 2 AS x FROM range({ROWS}) t(i)")
    with session("duckdb:///x.duckdb#pairs") as opened:
        opened.release(bdp.Count("x", equals=0), epsilon=0.5)
        shutil.copyfile("y.duckdb", "x.duckdb")
        refuses(opened)
