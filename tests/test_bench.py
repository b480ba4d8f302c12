"""The runner of benchmarks: a table of all targets; only a program that fails is an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.bench import ROOT, SHORT, main, programs

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
