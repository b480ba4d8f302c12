"""Writing files: complete or not at all, and never over what was read."""

import os
from pathlib import Path

import pytest

from bayesdp._support.files import refuse_overwriting, refuse_replacing, write_private
from bayesdp.errors import InvalidInputError, ModelError


def test_an_input_is_not_overwritten_under_any_name(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("a\n1\n")
    (tmp_path / "link.csv").symlink_to(data)
    os.link(data, tmp_path / "hard.csv")
    for name in ("data.csv", "link.csv", "hard.csv", "../" + tmp_path.name + "/data.csv"):
        with pytest.raises(InvalidInputError, match="would be overwritten"):
            refuse_overwriting(tmp_path / name, [data])
    refuse_overwriting(tmp_path / "other.csv", [data, tmp_path / "nowhere.csv"])


def test_what_is_of_another_kind_is_not_replaced(tmp_path: Path) -> None:
    def load(path: str | Path) -> object:
        if Path(path).read_text() != "model":
            raise ModelError("no model")
        return path

    (tmp_path / "thesis.json").write_text("years of work")
    (tmp_path / "model.json").write_text("model")
    with pytest.raises(InvalidInputError, match="is not a model"):
        refuse_replacing(tmp_path / "thesis.json", "a model", load)
    refuse_replacing(tmp_path / "model.json", "a model", load)
    refuse_replacing(tmp_path / "new.json", "a model", load)


def test_a_file_is_private_to_its_owner_and_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    write_private(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"
    assert (tmp_path / "real.txt").stat().st_mode & 0o777 == 0o600


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept.txt").write_text("old")

    def full(_: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        write_private(tmp_path / "kept.txt", "new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("kept.txt", "old")]
