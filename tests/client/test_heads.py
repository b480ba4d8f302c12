"""What was seen of ledgers: the latest entry counts, also if another process saw it, and a damaged file is refused."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from bayesdp.client.heads import Head, Heads
from bayesdp.errors import InvalidInputError

URL = "https://data.example.org"


def test_the_latest_entry_is_kept(tmp_path: Path) -> None:
    heads = Heads(tmp_path / "heads.json")
    assert heads.last(URL, "steps") is None
    for entry in (3, 7, 5):
        heads.note(URL, "steps", Head(entry, f"h{entry}"))
    assert heads.last(URL, "steps") == Head(7, "h7")
    assert heads.last(URL, "other") is heads.last("https://elsewhere", "steps") is None
    assert Heads(tmp_path / "heads.json").last(URL, "steps") == Head(7, "h7")
    assert stat.S_IMODE((tmp_path / "heads.json").stat().st_mode) == 0o600


def test_another_process_is_not_overwritten(tmp_path: Path) -> None:
    first, second = Heads(tmp_path / "heads.json"), Heads(tmp_path / "heads.json")
    first.note(URL, "steps", Head(9, "h9"))
    second.note(URL, "steps", Head(5, "h5"))
    second.note(URL, "flats", Head(10, "h10"))
    found = Heads(tmp_path / "heads.json")
    assert (found.last(URL, "steps"), found.last(URL, "flats")) == (Head(9, "h9"), Head(10, "h10"))


@pytest.mark.parametrize("text", ["", "{}", '{"heads": 3}', '{"heads": {"u": {"d": {"entry": -1}}}}', '{"kind": "x"}'])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "heads.json").write_text(text)
    with pytest.raises(InvalidInputError):
        Heads(tmp_path / "heads.json")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"cannot write .*heads.json"):
        Heads(tmp_path / "none" / "heads.json").note(URL, "steps", Head(1, "h"))
