import builtins
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from bayesdp.errors import InvalidInputError, MissingDependencyError
from bayesdp.experiments.data import FOLDER_VARIABLE, NAMES, absent, load

FILES = Path(__file__).parents[3] / "shared/data"
with_files = pytest.mark.skipif(not FILES.is_dir(), reason=f"the original files are not in {FILES}")

GALTON = "family,father,mother,sex,height\n1,78.5,67.0,M,73.2\n136A,70,65,F,64.5\n"
ACTIVITY = "steps,date,interval\nNA,2012-10-01,0\n0,2012-10-01,5\n7,2012-10-01,10\n"


def transitions(frame: pl.DataFrame) -> list[list[int]]:
    counts = [[0, 0], [0, 0]]
    steps = frame["steps"].to_list()
    for i in range(1, len(steps)):
        if steps[i - 1] is not None and steps[i] is not None:
            counts[steps[i - 1] > 0][steps[i] > 0] += 1
    return counts


def test_the_names_of_the_data_sets() -> None:
    heads = ["galton", "familyiq", "syntheticiq", "activity"]
    assert list(NAMES) == [*heads, "electricity-70", "electricity-80", "electricity-90"]


@pytest.mark.parametrize("name", NAMES)
def test_without_files_there_are_twins(name: str, tmp_path: Path) -> None:
    found = load(name)
    assert (found.name, found.path) == (name, None)
    assert found.source == ("synthetic" if name == "syntheticiq" else "twin")
    assert ("built-in twin" in found.description) == (found.source == "twin")
    assert bool(found.original_is) == (name in ("galton", "familyiq", "activity"))
    assert found.frame.height > 400
    assert len(repr(found)) < 300
    again = load(name, tmp_path)
    assert again.source == found.source
    assert_frame_equal(again.frame, found.frame, check_exact=True)


@pytest.mark.parametrize(
    ("name", "file", "text"), [("galton", "galton.csv", GALTON), ("activity", "activity.csv", ACTIVITY)]
)
def test_a_file_is_read_as_the_twin_is_built(name: str, file: str, text: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(text)
    found = load(name, str(tmp_path))
    assert (found.source, found.path) == ("file", tmp_path / file)
    assert "the original data" in found.description
    assert file in found.description
    assert found.frame.schema == load(name).frame.schema
    assert found.frame.height == text.count("\n") - 1


def test_the_authors_names_of_files_are_read(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    galton = pl.read_csv(GALTON.encode(), schema_overrides={"family": pl.String})
    stata = pd.DataFrame(galton.rename({"sex": "gender"}).to_dict(as_series=False))
    stata.astype({"father": "float32", "height": "float32"}).to_stata(tmp_path / "galton.dta", write_index=False)
    (tmp_path / "kid_iq.csv").write_text("kid_score,mom_hs,mom_iq,mom_work,mom_age\n65,1,121.1175,4,27\n")
    found = load("galton", tmp_path)
    (tmp_path / "galton.csv").write_text(GALTON)
    preferred = load("galton", tmp_path)
    assert (found.path, preferred.path) == (tmp_path / "galton.dta", tmp_path / "galton.csv")
    assert_frame_equal(found.frame, preferred.frame, check_exact=True)
    assert load("familyiq", tmp_path).path == tmp_path / "kid_iq.csv"
    assert absent("galton", tmp_path) == absent("familyiq", tmp_path) == ()


def test_a_broken_stata_file_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    for content in (b"", b"no Stata", b"\x72\x02\x01\x00" + bytes(20)):
        (tmp_path / "galton.dta").write_bytes(content)
        with pytest.raises(InvalidInputError, match=r"galton\.dta cannot be read as a Stata file"):
            load("galton", tmp_path)


def test_absent_files_are_named_in_a_folder_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    assert absent("galton") == ()
    assert absent("galton", tmp_path) == ("galton.csv", "galton.dta")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert absent("electricity-80") == ("Electricity_P.csv",)


def test_missing_steps_are_null(tmp_path: Path) -> None:
    (tmp_path / "activity.csv").write_text(ACTIVITY)
    assert load("activity", tmp_path).frame["steps"].to_list() == [None, 0, 7]


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "galton.csv").write_text(GALTON)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert load("galton").source == "file"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert load("galton", empty).source == "twin"
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(InvalidInputError, match=r"BAYESDP_DATA must be a folder .*nowhere"):
        load("galton")
    assert load("galton", empty).source == "twin"
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    assert load("galton").source == "twin"


def test_folders_that_are_none(tmp_path: Path) -> None:
    file = tmp_path / "galton.csv"
    file.write_text(GALTON)
    for wrong in (file, tmp_path / "nowhere", "a\0b"):
        for name in ("galton", "syntheticiq"):
            with pytest.raises(InvalidInputError, match="folder must be a folder that can be read"):
                load(name, wrong)
    with pytest.raises(InvalidInputError, match="folder must be a path, not 3"):
        load("galton", 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["Galton", "", None, ["galton"]])
def test_an_unknown_name_is_answered_with_the_known_ones(name: Any) -> None:
    with pytest.raises(InvalidInputError, match="galton, familyiq, syntheticiq, activity, electricity-70"):
        load(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"galton\.csv cannot be read"),
        ("family,father,mother,sex\n1,2,3,M\n", r"galton\.csv has no column 'height'"),
        ("family,father,mother,sex,height\n", r"galton\.csv has no rows"),
        (GALTON.replace("67.0", "tall"), r"galton\.csv, column 'mother': 'tall' is not a number"),
        (GALTON.replace("67.0", "inf"), r"galton\.csv, column 'mother': 'inf' is not a number"),
        (GALTON.replace("67.0", "NaN"), r"galton\.csv, column 'mother': 'NaN' is not a number"),
        (GALTON.replace("67.0", "NA"), r"galton\.csv, column 'mother': 1 of 2 values are missing"),
        (GALTON.replace("67.0", ""), r"galton\.csv, column 'mother': 1 of 2 values are missing"),
        (GALTON + "1,2,3,M,4,5\n", r"galton\.csv cannot be read as comma-separated UTF-8 text: found more fields"),
        (GALTON.replace("136A", "é"), r"galton\.csv cannot be read.*utf-8"),
    ],
)
def test_a_file_that_is_not_galtons(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "galton.csv").write_text(text, encoding="latin-1")
    with pytest.raises(InvalidInputError, match=message):
        load("galton", tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("7,", "7.5,", r"column 'steps': '7\.5' is not a whole number"),
        ("2012-10-01,5", "1 October,5", r"column 'date': '1 October' is not a date"),
        ("2012-10-01,5", "2012-10-01,noon", r"column 'interval': 'noon' is not a whole number"),
        ("2012-10-01,5", "2012-10-01,NA", r"column 'interval': 1 of 3 values are missing"),
    ],
)
def test_a_file_that_is_not_activity(old: str, new: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "activity.csv").write_text(ACTIVITY.replace(old, new))
    with pytest.raises(InvalidInputError, match=rf"activity\.csv, {message}"):
        load("activity", tmp_path)


def test_what_is_there_but_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "galton.csv").mkdir()
    (tmp_path / "activity.csv").symlink_to(tmp_path / "nowhere")
    for name in ("galton", "activity"):
        with pytest.raises(InvalidInputError, match="is not a file"):
            load(name, tmp_path)


HOUR = 3600
SEVEN = 15_431 * 24 * HOUR + 7 * HOUR  # 2012-04-01, 07:00 UTC: where the original begins


def electricity(folder: Path, watts: Sequence[Sequence[int | None]], start: int = SEVEN, every: int = HOUR) -> None:
    """Write a file like AMPds2's with one row of meters every so many seconds."""
    names = [f"M{index}" for index in range(len(watts[0]))]
    lines = [
        ",".join([str(start + every * i), *("" if power is None else str(power) for power in row)])
        for i, row in enumerate(watts)
    ]
    (folder / "Electricity_P.csv").write_text("\n".join([",".join(["UNIX_TS", *names]), *lines, ""]))


def test_electricity_adds_up_all_meters_day_by_day(tmp_path: Path) -> None:
    electricity(tmp_path, [*[(2000, 1000)] * 17, *[(3000, 500)] * 24, *[(2000, 916)] * 24, (1, 0)])
    for threshold, high in ((70, [True, True, False, False]), (80, [False, True, False, False]), (90, [False] * 4)):
        found = load(f"electricity-{threshold}", tmp_path)
        assert found.source == "file"
        assert found.frame.schema == load(f"electricity-{threshold}").frame.schema
        assert found.frame["day"].cast(pl.String).to_list() == ["2012-04-01", "2012-04-02", "2012-04-03", "2012-04-04"]
        assert found.frame["kwh"].to_list() == pytest.approx([72, 84, 69.984, 0.024])
        assert found.frame["high"].to_list() == high


def test_electricity_is_what_the_authors_script_makes_of_it(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    draw = np.random.default_rng(1)
    watts = [[None if cell < 50 else cell for cell in row] for row in draw.integers(0, 4000, (700, 3)).tolist()]
    electricity(tmp_path, watts, every=2 * HOUR)
    theirs = pandas.read_csv(tmp_path / "Electricity_P.csv")
    theirs = theirs.set_index(pandas.to_datetime(theirs.pop("UNIX_TS"), unit="s")).sum(axis=1)
    daily = theirs.resample("24h").mean().dropna() * 24 / 1000
    ours = load("electricity-80", tmp_path).frame
    assert ours["kwh"].to_list() == pytest.approx(daily.to_list())
    assert [str(day) for day in ours["day"]] == [str(day.date()) for day in daily.index]


def test_a_file_of_the_original_length_has_the_papers_days(tmp_path: Path) -> None:
    electricity(tmp_path, [(1,)] * (730 * 24))
    assert load("electricity-80", tmp_path).frame.height == 731


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    electricity(tmp_path, [(1,)] * 24)
    assert load("electricity-80", tmp_path).frame.height == 2
    electricity(tmp_path, [(1,)] * 72)
    assert load("electricity-80", tmp_path).frame.height == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("UNIX_TS\n0\n", "has no column besides 'UNIX_TS'"),
        ("time,WHE\n0,1\n", "has no column 'UNIX_TS'"),
        ("UNIX_TS,WHE\n9223372036854775807,1\n", "column 'UNIX_TS': no reading has a valid date"),
        ("UNIX_TS,WHE\n2012-04-01,1\n", "column 'UNIX_TS': '2012-04-01' is not a whole number"),
        ("UNIX_TS,WHE\n0,much\n", "column 'WHE': 'much' is not a number"),
        ("UNIX_TS,WHE\n,1\n", "column 'UNIX_TS': 1 of 1 values are missing"),
        ("UNIX_TS,WHE\n", "has no rows"),
    ],
)
def test_a_file_that_is_not_electricity(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "Electricity_P.csv").write_text(text)
    with pytest.raises(InvalidInputError, match=rf"Electricity_P\.csv.*{message}"):
        load("electricity-70", tmp_path)


@with_files
def test_the_activity_file_has_the_counts_of_the_twin() -> None:
    found, twin = load("activity", FILES), load("activity")
    assert (found.source, twin.source) == ("file", "twin")
    assert transitions(found.frame) == transitions(twin.frame) == [[9713, 1295], [1295, 2955]]
    assert (found.frame["steps"].count(), found.frame.filter(pl.col("steps") > 0).height) == (15264, 4250)
    assert_frame_equal(found.frame.select("date", "interval"), twin.frame.select("date", "interval"))
    assert found.frame["steps"].is_null().equals(twin.frame["steps"].is_null())


@with_files
def test_the_galton_file_has_the_moments_of_the_twin() -> None:
    found, twin = load("galton", FILES).frame, load("galton").frame
    assert found.schema == twin.schema
    assert found.height == twin.height == 898
    assert found["family"].n_unique() == twin["family"].n_unique() == 197
    assert found["sex"].value_counts(sort=True).equals(twin["sex"].value_counts(sort=True))
    columns = ["height", "father", "mother"]
    ours, theirs = twin.select(columns).to_numpy(), found.select(columns).to_numpy()
    correlations = np.corrcoef(theirs.T)
    assert [correlations[0, 1], correlations[0, 2], correlations[1, 2]] == pytest.approx(
        [0.2754, 0.2017, 0.0737], abs=5.1e-5
    )
    assert theirs.mean(axis=0) == pytest.approx(ours.mean(axis=0), abs=5.1e-3)
    assert theirs.var(axis=0, ddof=1) == pytest.approx(ours.var(axis=0, ddof=1), abs=5.1e-3)


@with_files
def test_the_family_iq_file_has_the_moments_of_the_twin() -> None:
    found, twin = load("familyiq", FILES).frame, load("familyiq").frame
    assert found.columns == ["kid_score", "mom_hs", "mom_iq", "mom_work", "mom_age"]
    assert found.select(twin.columns).schema == twin.schema
    theirs = found.select(twin.columns).to_numpy()
    assert len(theirs) == twin.height == 434
    assert theirs.mean(axis=0) == pytest.approx(twin.to_numpy().mean(axis=0), abs=5.1e-3)
    assert theirs.std(axis=0, ddof=1) == pytest.approx([20.41, 15.00], abs=5.1e-3)
    assert np.corrcoef(theirs.T)[0, 1] == pytest.approx(0.4483, abs=5.1e-5)


def test_polars_is_loaded_only_when_needed() -> None:
    code = "import sys, bayesdp.experiments.data; sys.exit('polars' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_polars_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without_polars(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("polars"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_polars)
    with pytest.raises(MissingDependencyError, match="pip install polars"):
        load("galton")
