"""Every exception of an engine becomes a BayesDPError: damaged files are refused in one line and charge nothing."""

import gzip
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.exceptions import PanicException

import bayesdp as bdp
from bayesdp.cli import run
from bayesdp.errors import BayesDPError, FrameError, RecordsError
from bayesdp.frames.aggregates import row_count
from bayesdp.frames.failures import first_line, refusing
from bayesdp.frames.source import LazyTable, reading, scan
from bayesdp.ledger import Ledger

ROWS = 120
FRAME = pl.DataFrame(
    {
        "g": [i // 2 for i in range(ROWS)],
        "x": [i % 7 for i in range(ROWS)],
        "s": [f"secret {i % 5}" for i in range(ROWS)],
    }
)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def parquet() -> bytes:
    FRAME.write_parquet("whole.parquet")
    return Path("whole.parquet").read_bytes()


def csv() -> bytes:
    return FRAME.write_csv().encode()


def excel() -> bytes:
    pytest.importorskip("fastexcel")
    import zipfile

    def cell(place: str, value: object) -> str:
        if isinstance(value, str):
            return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
        return f'<c r="{place}"><v>{value}</v></c>'

    rows = [FRAME.columns, *FRAME.rows()]
    cells = "".join(
        f'<row r="{i}">' + "".join(cell(f"{'ABC'[j]}{i}", value) for j, value in enumerate(row)) + "</row>"
        for i, row in enumerate(rows, start=1)
    )
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    related = f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" Type="{relation}/'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
        "_rels/.rels": f'{related}officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/_rels/workbook.xml.rels": f'{related}worksheet" Target="worksheets/s.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{relation}"><sheets><sheet name="S" sheetId="1" '
        'r:id="rId1"/></sheets></workbook>',
        "xl/worksheets/s.xml": f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>',
    }
    with zipfile.ZipFile("whole.xlsx", "w") as archive:  # not packed, so that changes reach the cells
        for part, text in parts.items():
            archive.writestr(part, text)
    return Path("whole.xlsx").read_bytes()


CONTENTS: dict[str, Callable[[], bytes]] = {
    "x.parquet": parquet,
    "x.csv": csv,
    "x.csv.gz": lambda: gzip.compress(csv(), mtime=0),
    "x.xlsx": excel,
}


def mutated(content: bytes, seed: int) -> bytes:
    """Return a file with bits that are turned, an end that is missing, or two blocks that have changed places."""
    draw, changed = random.Random(seed), bytearray(content)
    if seed % 3 == 0:
        for _ in range(draw.randint(1, 8)):
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    elif seed % 3 == 1:
        del changed[draw.randrange(len(changed)) :]
    else:
        size = draw.randint(1, 64)
        one, other = (draw.randrange(len(changed) - size) for _ in range(2))
        block = changed[one : one + size]
        changed[one : one + size] = changed[other : other + size]
        changed[other : other + size] = block
    return bytes(changed)


def charges(ledger: str) -> int:
    """Return how many releases a ledger was charged for."""
    if not Path(ledger).exists():
        return 0
    with Ledger(ledger) as opened:
        return len(opened.entries(kind="charge"))


def fuzz(name: str, seeds: range, capsys: pytest.CaptureFixture[str]) -> int:
    """Release from mutated files, in Python and by the command line; return how many were refused."""
    groups, content, refused = bdp.ArbitraryGroups(2, group=["g"]), CONTENTS[name](), 0
    Path("model.json").write_text(json.dumps(groups.to_dict()))
    asked = ["release", name, "--model", "model.json", "--query", "count", "--column", "x", "--states", "3"]
    asked += ["--epsilon", "0.5", "--budget", "1", "--dataset", "d"]
    for seed in seeds:
        Path(name).write_bytes(mutated(content, seed))
        charged, said = False, ""
        try:
            with bdp.Session(name, groups, epsilon=1.0, ledger="python.db", dataset="d") as session:
                session.release(bdp.Count("x", equals=3), epsilon=0.5)
                charged = True
        except BayesDPError as error:
            said = str(error)
            refused += 1
        status = run([*asked, "--ledger", "line.db"])
        shown = capsys.readouterr().err
        assert "secret" not in said + shown
        assert status == (0 if charged else 2), (seed, shown)
        assert charged or (shown.startswith("bayesdp: ") and shown.count("\n") == 1)
        for ledger in ("python.db", "line.db"):
            assert charges(ledger) == charged, seed
            Path(ledger).unlink(missing_ok=True)
    return refused


@pytest.mark.parametrize("name", CONTENTS)
def test_damaged_files_are_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz(name, range(6), capsys)


@pytest.mark.slow
@pytest.mark.parametrize("name", CONTENTS)
def test_many_damaged_files_are_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz(name, range(600), capsys) > 100


def panicking(*_: object, **__: object) -> Any:
    raise PanicException("secret 3")


def test_a_panic_while_a_file_is_opened(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.parquet").write_bytes(parquet())
    monkeypatch.setattr(pl.LazyFrame, "collect_schema", panicking)
    with pytest.raises(RecordsError, match=r"^cannot read x\.parquet: it is damaged.*\(PanicException\)"):
        scan("x.parquet")
    assert run(["fit", "x.parquet", "--model", "markov", "--state", "x", "--order-by", "g", "--output", "m.json"]) == 2
    assert "secret" not in capsys.readouterr().err


def test_a_panic_of_a_frame_and_while_a_table_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("x.parquet").write_bytes(parquet())
    table = scan("x.parquet")
    with monkeypatch.context() as patch:
        patch.setattr(LazyTable, "_computed", panicking)
        with pytest.raises(
            RecordsError,
            match=r"^x\.parquet cannot be read: polars stopped with PanicException; its message is withheld",
        ):
            row_count(table)
    monkeypatch.setattr("narwhals.LazyFrame.collect_schema", panicking)
    with pytest.raises(RecordsError, match="the table cannot be opened: its engine stopped with PanicException"):
        scan(FRAME.lazy())
    with pytest.raises(
        RecordsError, match=r"^x\.parquet cannot be read: polars stopped with PanicException; its message is withheld"
    ):
        table.pick(["x"])


class Panic(BaseException):
    """What an engine may raise that is no Exception."""


@pytest.mark.parametrize("passing", [KeyboardInterrupt, SystemExit, GeneratorExit, FrameError])
def test_what_ends_a_program_passes(passing: type[BaseException]) -> None:
    with pytest.raises(passing), reading(scan(FRAME)):
        raise passing
    with pytest.raises(Panic), refusing(lambda _: FrameError("no"), Panic):
        raise Panic
    with pytest.raises(FrameError, match="no"), refusing(lambda _: FrameError("no")):
        raise Panic


PANICS = (117, 134, 581, 674)


def test_the_process_says_one_line_of_a_panic() -> None:
    """Rust reports a panic on standard error, past Python."""
    content, seed = parquet(), 0
    program = "import sys, polars; polars.scan_parquet(sys.argv[1]).select('g', 'x').collect(engine='streaming')"
    for seed in PANICS:
        Path("x.parquet").write_bytes(mutated(content, seed))
        done = subprocess.run([sys.executable, "-c", program, "x.parquet"], capture_output=True, text=True, check=False)
        if "panicked at" in done.stderr:
            break
    else:
        pytest.skip("this version of Polars does not panic")
    asked = ["fit", "x.parquet", "--model", "markov", "--state", "x", "--order-by", "g", "--output", "m.json"]
    line = [sys.executable, "-m", "bayesdp", *asked]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=os.environ)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), seed
    assert done.stderr.startswith("bayesdp: ")


def test_first_lines() -> None:
    assert first_line(ValueError("\n one \n two")) == "one"
    assert first_line(Panic()) == "Panic"
