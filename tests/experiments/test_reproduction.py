import csv
import hashlib
import math
from pathlib import Path

import pytest

from bayesdp.errors import InvalidInputError
from bayesdp.experiments import Report, catalogue, reproduce
from bayesdp.experiments.curves import CURVES
from bayesdp.experiments.extra import EXTRA
from bayesdp.experiments.studies import STUDIES
from bayesdp.plotting.drawing import draw

KINDS = ("error", "mape", "added-error", "added-mape")
FILES = Path(__file__).parents[3] / "shared/data"


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_a_full_run_writes_every_file(full: Report) -> None:
    expected = [*CURVES, *(f"{name}-{kind}" for name in STUDIES for kind in KINDS)]
    assert [chart.name for chart in full.charts] == expected
    for name in expected:
        assert (full.out / f"figures/{name}.svg").read_bytes().startswith(b"<?xml")
        assert (full.out / f"figures/{name}.png").read_bytes().startswith(b"\x89PNG")
        for row in rows(full.out / f"numbers/{name}.csv"):
            assert all(math.isfinite(float(value)) for value in list(row.values())[3:])
    for name in STUDIES:
        assert len({row["epsilon"] for row in rows(full.out / f"numbers/{name}.csv")}) == 23
    tables = {"paper-vs-ours", "data-sets", "diagnosis", "least-epsilon", "multiples", "errata"}
    assert {each.name for each in full.tables} == tables
    assert full.failures == {}
    for table in full.tables:
        assert len(rows(full.out / f"numbers/table-{table.name}.csv")) == len(table.rows)
        assert all(len(row) == len(table.header) for row in table.rows)
    assert set(full.files) == {path for path in full.out.rglob("*") if path.is_file()}
    assert "40 figures and 6 tables" in str(full)


@pytest.mark.slow
def test_every_figure_can_be_drawn(full: Report) -> None:
    pictures = {draw(chart, "svg")[0] for chart in full.charts}
    assert len(pictures) == 40
    assert all(picture.startswith(b"<?xml") for picture in pictures)


@pytest.mark.skipif(not FILES.is_dir(), reason=f"the original files are not in {FILES}")
@pytest.mark.usefixtures("one_picture", "invented_odds")
@pytest.mark.slow
def test_original_files_are_used_and_named(tmp_path: Path) -> None:
    found = reproduce(["galton", "activity-day", "electricity-70"], out=tmp_path, data=FILES, runs=20, progress=False)
    assert found.sources["galton"] == "original file galton.csv"
    assert found.sources["activity-day"] == "original file activity.csv"
    assert "twin" in found.sources["electricity-70"]
    text = found.html.read_text(encoding="utf-8")
    assert "original files galton.csv, activity.csv for galton, activity-day" in text
    assert found.verdicts["activity-day"] == "violated"
    violated = [name for name, said in found.verdicts.items() if said == "violated"]
    assert f"The diagnosis finds the model violated for {', '.join(violated)}: " in text
    assert found.results["galton"].at("gaussian-covariance", 1)[0].factor == pytest.approx(1.468, abs=5e-4)


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (folder / "numbers").iterdir()}


@pytest.mark.usefixtures("one_picture", "invented_odds")
@pytest.mark.slow
def test_names_select_and_the_seed_decides(full: Report, tmp_path: Path) -> None:
    names = ["electricity-80", "impossibility", "syntheticiq"]
    chosen = reproduce(names, out=tmp_path / "a", runs=50, progress=False)
    expected = [f"{name}-{kind}" for name in ("syntheticiq", "electricity-80") for kind in KINDS]
    assert [chart.name for chart in chosen.charts] == ["impossibility", *expected]
    everything, some = digests(full.out), digests(tmp_path / "a")
    kept = {name for name in some if not name.startswith("table-")}
    assert {name: some[name] for name in kept} == {name: everything[name] for name in kept}
    other = reproduce("electricity-80", out=tmp_path / "b", runs=50, seed=1, progress=False)
    assert list(other.results) == ["electricity-80"]
    assert digests(tmp_path / "b")["electricity-80.csv"] != everything["electricity-80.csv"]


def test_only_curves_need_no_data(tmp_path: Path) -> None:
    found = reproduce(["impossibility"], out=tmp_path, progress=True)
    assert [table.name for table in found.tables] == ["paper-vs-ours"]
    assert "theory only" in found.html.read_text(encoding="utf-8")


def test_what_cannot_be_done_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"galton.*errata"):
        reproduce(["nonsense"], out=tmp_path)
    with pytest.raises(InvalidInputError, match="runs"):
        reproduce(out=tmp_path, runs=0)
    with pytest.raises(InvalidInputError, match="out"):
        reproduce(out=7)  # type: ignore[arg-type]
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="cannot write"):
        reproduce(out=tmp_path / "file")
    with pytest.raises(InvalidInputError, match="folder"):
        reproduce(["galton"], out=tmp_path, data=tmp_path / "nowhere")


@pytest.mark.parametrize("link", ["folder", "symbolic", "hard"])
def test_original_files_are_never_overwritten(tmp_path: Path, link: str) -> None:
    originals = tmp_path / ("out/numbers" if link == "folder" else "data")
    originals.mkdir(parents=True)
    original = originals / "activity.csv"
    original.write_text("steps,date,interval\n")
    if link != "folder":
        (tmp_path / "out/numbers").mkdir(parents=True)
        written = tmp_path / "out/numbers/activity.csv"
        written.symlink_to(original) if link == "symbolic" else written.hardlink_to(original)
    with pytest.raises(InvalidInputError, match="is an input"):
        reproduce(["electricity-70"], out=tmp_path / "out", data=originals, runs=2, progress=False)
    assert original.read_text() == "steps,date,interval\n"
    assert not (tmp_path / "out/figures").exists()


def test_the_catalogue_has_a_line_for_everything() -> None:
    found = catalogue()
    assert list(found) == [*CURVES, *STUDIES, "errata", *EXTRA]
    assert all(text and "\n" not in text for text in found.values())


@pytest.mark.usefixtures("one_picture", "invented_odds")
def test_a_failing_data_set_does_not_abort_the_others(tmp_path: Path) -> None:
    (tmp_path / "galton.csv").write_text("nothing\n1\n")
    (tmp_path / "activity.csv").write_text("steps,date,interval\n0,2012-10-01,0\n0,2012-10-01,5\n")
    found = reproduce(
        ["galton", "activity", "electricity-80", "errata"], out=tmp_path / "out", data=tmp_path, runs=5, progress=False
    )
    assert set(found.failures) == {"galton", "activity", "activity-day"}
    assert list(found.results) == ["electricity-80"]
    assert "galton.csv has no column 'family'" in found.failures["galton"]
    text = found.html.read_text(encoding="utf-8")
    assert text.index("<h2>Failed</h2>") < text.index("<nav")
    assert "galton.csv has no column" in text
    assert "galton.csv has no column" in found.markdown.read_text(encoding="utf-8")
    assert "galton: failed: " in str(found)
    evidence = {row[0]: row[2] for row in found.table("errata").rows}
    assert evidence["2"] == "not computed: galton failed"
    assert evidence["3"].startswith("printed γ")


def test_what_goes_wrong_unforeseen_is_a_failure_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise ZeroDivisionError("no days")

    monkeypatch.setattr("bayesdp.experiments.reproduction.mape_chart", broken)
    found = reproduce(["electricity-80", "impossibility"], out=tmp_path, runs=5, progress=False)
    assert found.failures == {"electricity-80": "ZeroDivisionError: no days (unexpected; please report this)"}
    assert [chart.name for chart in found.charts] == ["impossibility"]
    assert not (tmp_path / "numbers/electricity-80.csv").exists()
