"""Which files a path names: regular ones only, and one clear line for everything else."""

import os
import socket
from pathlib import Path

import pytest

from bayesdp.cli import run
from bayesdp.errors import FrameError, RecordsError
from bayesdp.frames.paths import files_of, is_text, matching, suffix
from bayesdp.frames.source import scan


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refused(path: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return why a path is refused, which the command line says in one line."""
    with pytest.raises(FrameError) as reported:
        scan(path)
    assert not isinstance(reported.value, RecordsError)
    assert run(["fit", path, "--model", "markov", "--state", "s", "--order-by", "t", "--output", "m.json"]) == 2
    assert capsys.readouterr().err == f"bayesdp: {reported.value}\n"
    return str(reported.value)


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.parquet", "x.xlsx"])
def test_no_pipe_is_waited_for(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(name)
    assert refused(name, capsys) == f"cannot read {name}: it is a pipe (FIFO); name a regular file"


@pytest.mark.parametrize("name", ["x.csv", "x.tsv.gz", "x.parquet", "x.xlsx"])
def test_no_device_is_read(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(name).symlink_to("/dev/zero")
    assert refused(name, capsys) == f"cannot read {name}: it is a device; name a regular file"
    assert refused("*" + suffix(name), capsys) == f"cannot read {name}: it is a device; name a regular file"


def test_sockets_links_and_folders(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s.csv")
        assert refused("s.csv", capsys) == "cannot read s.csv: it is a socket; name a regular file"
    Path("gone.csv").symlink_to("nowhere.csv")
    assert refused("gone.csv", capsys) == "cannot read gone.csv: it is a link to a file that does not exist"
    Path("round.csv").symlink_to("round.csv")
    assert refused("round.csv", capsys).startswith("cannot read round.csv: ")
    Path("folder.csv").mkdir()
    assert "folder.csv is a folder without .parquet files" in refused("folder.csv", capsys)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.csv").write_text("a\n1\n")
    Path("x.csv").chmod(0)
    assert refused("x.csv", capsys) == "cannot read x.csv: Permission denied"


def test_links_to_regular_files_are_followed() -> None:
    Path("x.csv").write_text("a\n1\n")
    Path("link.csv").symlink_to("x.csv")
    assert list(scan("link.csv").schema) == ["a"]
    assert files_of("*.csv") == matching("*.csv") == ["link.csv", "x.csv"]
    assert [is_text(name) for name in ("x.csv", "x.TSV.gz", "x.parquet")] == [True, True, False]
