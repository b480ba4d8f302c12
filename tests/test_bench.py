"""The runner of benchmarks: a table of all targets; only a program that fails is an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.bench import BEGIN, END, ROOT, SHORT, Row, last_run, main, programs, recorded, with_last_run

GOOD = f"""
import sys
sys.path.append({str(ROOT / "benchmarks")!r})
from shared.reporting import report
report("quick", 1.0, baseline=2.0, beside="plain", ratio_at_most=1.15)
report("slow", 3.0, at_most=2.0)
report("no target", 3.0, "MB")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "good.py").write_text(GOOD)
    return folder


def test_rows_are_kept_and_an_unmet_target_is_no_error(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    kept = folder.parent / "build" / "bench.json"
    assert main([], folder, kept) == 0
    assert "1 of 2 targets met" in capfd.readouterr().out
    document = json.loads(kept.read_text())
    assert [(row["benchmark"], row["name"], row["ratio"], row["met"]) for row in document["rows"]] == [
        ("good", "quick", 0.5, True),
        ("good", "slow", None, False),
        ("good", "no target", None, None),
    ]


def test_a_failing_program_is_an_error_and_the_others_still_run(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.py").write_text("raise SystemExit('the answers differ')")
    assert main([], folder, folder / "bench.json") == 1
    said = capfd.readouterr()
    assert "1 of 2 targets met" in said.out
    assert "failed: bad" in said.err


def test_the_short_form_leaves_out_what_it_does_not_list(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--short"], folder, folder / "bench.json") == 0
    assert "not in the short form: good" in capfd.readouterr().out
    assert SHORT.keys() <= programs().keys()


PAGE = f"# Performance\n\n{BEGIN}\n\nNo run yet.\n\n{END}\n\n## Next step\n"
MACHINE = {
    "date": "2026-11-19",
    "platform": "Linux",
    "processors": 2,
    "memory_gb": 8.0,
    "load": [0.1, 0.1, 0.1],
    "versions": {"bayesdp": "0.1.0"},
}


def run_of(sums: float, gain: float) -> dict[str, list[Row]]:
    slow = Row("sum", sums, "s", sums, "a plain query", ratio_at_most=1.5)
    return {"frames": [slow, Row("rows", 5.0, "MB")], "ledger": [Row("eight | one", gain, "×", at_least=1)]}


def test_the_page_marks_what_is_worse_by_more_than_a_fifth() -> None:
    assert recorded(PAGE) == {}
    first = with_last_run(PAGE, last_run(run_of(1.0, 2.0), MACHINE, recorded(PAGE)))
    assert recorded(first) == {("frames", "sum"): 1.0, ("ledger", "eight / one"): 2.0}
    assert "worse" not in first
    assert "No run yet" not in first
    same = last_run(run_of(1.19, 1.68), MACHINE, recorded(first))
    assert "worse" not in same, "a fifth is tolerated"
    later = with_last_run(first, last_run(run_of(1.3, 1.6), MACHINE, recorded(first)))
    assert [line.split(" | ")[1] for line in later.splitlines() if "**worse**" in line] == ["sum", "eight / one"]
    assert "**worse**, was 1×" in later
    assert recorded(later)["frames", "sum"] == 1.3, "the next run is compared with this one"
    assert later.startswith("# Performance")
    assert later.endswith("## Next step\n")
    better = last_run(run_of(0.5, 9.0), MACHINE, recorded(later))
    assert "worse" not in better


def test_a_page_without_the_place_is_refused() -> None:
    with pytest.raises(ValueError, match="the page has no"):
        with_last_run("# Performance\n", "a table")


def test_only_a_full_run_without_failures_is_written(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    page = folder / "page.md"
    page.write_text(PAGE)
    with pytest.raises(SystemExit):
        main(["--short", "--page"], folder, folder / "bench.json", page)
    assert main(["--page"], folder, folder / "bench.json", page) == 0
    assert recorded(page.read_text()) == {("good", "quick"): 0.5}
    (folder / "bad.py").write_text("raise SystemExit('the answers differ')")
    written = page.read_text()
    assert main(["--page"], folder, folder / "bench.json", page) == 1
    assert page.read_text() == written
    capfd.readouterr()
