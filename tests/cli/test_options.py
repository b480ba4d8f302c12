"""From the texts of the command line to numbers, columns and files: what is read, and refusals that name the option."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bayesdp.cli import options
from bayesdp.errors import FrameError, InvalidInputError, ModelError
from bayesdp.models import Independent


@pytest.mark.parametrize(
    ("read", "text", "meant"),
    [
        (options.number, "-1e-3", -0.001),
        (options.positive, "0.5", 0.5),
        (options.whole, "-7", -7),
        (options.natural, "12", 12),
        (options.numbers, "1, 2.5,3", [1.0, 2.5, 3.0]),
        (options.split, 'a, "b, c",d ', ["a", "b, c", "d"]),
    ],
)
def test_a_text_is_read(read: Callable[[str, str], Any], text: str, meant: Any) -> None:
    assert read("--x", text) == meant


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (options.number, "one"),
        (options.number, ""),
        (options.number, "1,5"),
        (options.positive, "0"),
        (options.positive, "nan"),
        (options.positive, "inf"),
        (options.whole, "1.0"),
        (options.natural, "0"),
        (options.numbers, "1,,2"),
        (options.numbers, "1,b"),
        (options.split, ""),
        (options.split, "a,"),
        (options.split, '"a'),
    ],
)
def test_unreadable_values_are_refused_by_the_name_of_the_option(read: Callable[[str, str], Any], text: str) -> None:
    with pytest.raises(InvalidInputError, match="--x must be"):
        read("--x", text)


def test_columns_may_be_named_together_or_one_by_one() -> None:
    assert options.columns("--by", ["a,b", "c"]) == ["a", "b", "c"]
    assert options.columns("--by", None) == []


def test_bounds_are_two_numbers_and_never_another_option() -> None:
    assert options.bounds("--bounds", ("-5", "1e3")) == (-5.0, 1000.0)
    with pytest.raises(InvalidInputError, match="--bounds must be a finite number, not -inf"):
        options.bounds("--bounds", ("-inf", "0"))
    with pytest.raises(InvalidInputError, match=r"needs two numbers, LOW HIGH, .* but --epsilon came early"):
        options.bounds("--bounds", ("0", "--epsilon"))
    with pytest.raises(InvalidInputError, match="--bounds must be a number"):
        options.bounds("--bounds", ("0", "ten"))


def test_exactly_one_of_two_options_is_given() -> None:
    assert options.one_of("--tau", None, "--epsilon", "2") == {"epsilon": 2.0}
    for both in (None, "1"):
        with pytest.raises(InvalidInputError, match="give either --tau or --epsilon"):
            options.one_of("--tau", both, "--epsilon", both)


def test_an_adversary_has_a_target() -> None:
    assert options.adversary(None, None) == {}
    assert options.adversary("0", None) == {"target": 0, "known": []}
    assert options.adversary("3", "0,2") == {"target": 3, "known": [0, 2]}
    with pytest.raises(InvalidInputError, match="--known requires --target"):
        options.adversary(None, "1")
    with pytest.raises(InvalidInputError, match="--known"):
        options.adversary("3", "-1")


def test_engines_are_named_and_a_master_goes_with_spark_alone() -> None:
    with options.table(["data.csv"], "polars", None) as opened:
        assert opened == "data.csv"
    for engine, master, said in (("excel", None, "polars or spark"), ("polars", "local", "--master requires")):
        with pytest.raises(InvalidInputError, match=said), options.table(["data.csv"], engine, master):
            pass


def test_several_paths_are_one_table(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    for name in names:
        Path(name).write_text("s\n1\n")
    with options.table(names, "polars", None) as opened:
        assert opened == names
    for other, said in (("typo", "'typo': not a known kind"), (str(tmp_path / "no.csv"), "there is no such file")):
        with pytest.raises(FrameError, match=said), options.table([names[0], other], "polars", None):
            pass
    assert options.files(*names, "a\0b.csv") == names


def test_existing_files_count_and_a_database_is_its_file(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv", "c.txt"):
        (tmp_path / name).touch()
    assert [Path(name).name for name in options.files(f"{tmp_path}/*.csv")] == ["a.csv", "b.csv"]
    assert options.files(f"{tmp_path}/nothing-*.csv") == options.files("a\0b.csv") == []
    assert options.files(f"duckdb:///{tmp_path}/x.db#t") == [f"{tmp_path}/x.db"]


def test_a_picture_is_refused_before_anything_is_computed(tmp_path: Path) -> None:
    data = tmp_path / "data.svg"
    data.write_text("<svg/>")
    options.picture(None, [str(data)])
    options.picture(str(tmp_path / "new.svg"), [str(data)])
    with pytest.raises(InvalidInputError, match="would be overwritten"):
        options.picture(str(data), [str(data)])
    with pytest.raises(InvalidInputError, match="new"):
        options.picture(str(tmp_path / "new.txt"), [])
    assert data.read_text() == "<svg/>"


def test_a_folder_can_be_read(tmp_path: Path) -> None:
    assert options.folder("--out", str(tmp_path)) == str(tmp_path)
    (tmp_path / "file").touch()
    for path in ("file", "nowhere", "a\0b"):
        with pytest.raises(InvalidInputError, match="--out must be a folder"):
            options.folder("--out", str(tmp_path / path))


def test_a_model_is_read_and_errors_name_an_entry_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text('{"type": "independent"}')
    assert options.model(path) == Independent()
    path.write_text('{"type": "network", "odds": 2.0}')
    with pytest.raises(ModelError, match=r'give either "odds" and "degree" .* or "edges"'):
        options.model(path)


def test_without_a_name_the_ledger_is_the_default_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAYESDP_LEDGER", "sqlite:///own.db")
    assert options.ledger("other.db") == "other.db"
    assert "own.db" in str(options.ledger(None))


def test_only_what_is_given_is_passed_on() -> None:
    assert options.numbers_given({"--tau": "0.5", "--delta": None, "--rho": "1e-3"}) == {"tau": 0.5, "rho": 1e-3}
    assert options.given(noise="laplace", theorem=None) == {"noise": "laplace"}
    with pytest.raises(InvalidInputError, match="--rho must be a number"):
        options.numbers_given({"--rho": "little"})
