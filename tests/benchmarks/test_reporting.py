"""What a benchmark reports: a row, its verdict, and the file rows are collected in."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from shared import reporting
from shared.reporting import ROWS, Row, peak_megabytes, read, report, table


def test_the_examples_hold() -> None:
    examples = doctest.testmod(reporting)
    assert examples.attempted > 5
    assert not examples.failed


def test_verdicts() -> None:
    assert Row("", 95.0, "%", at_least=94).met
    assert not Row("", 1.0, at_most=2, ratio=1.2, ratio_at_most=1.1).met
    assert Row("", 1.0, ratio_at_most=1.1).met is False
    assert Row("", 1.0, ratio=3).met is None


def test_targets_are_met_at_their_limit() -> None:
    assert Row("", 2.0, at_most=2.0, at_least=2.0, ratio=1.1, ratio_at_most=1.1).met
    assert Row("", 2.0, at_most=2.0, at_least=2.1).met is False
    assert Row("", 1500.0, "MB", at_most=2000, ratio_at_most=1.1).target == "≤ 2,000 MB, ≤ 1.1×"


def test_rows_are_printed_and_collected_only_where_somebody_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.jsonl"
    monkeypatch.delenv(ROWS, raising=False)
    report("alone", 1.0)
    assert read(path) == []
    monkeypatch.setenv(ROWS, str(path))
    first = report("count", 1.0, baseline=0.8, beside="a plain query", ratio_at_most=1.15)
    second = report("memory", 90.0, "MB", at_most=100)
    assert read(path) == [first, second]
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines()] == ["alone", "count", "memory"]
    assert table([first, second]).splitlines()[1:] == printed.splitlines()[1:]
    assert "not met" in str(first)


def test_memory_is_counted_in_megabytes_and_never_falls() -> None:
    before = peak_megabytes()
    held = bytearray(64 * 2**20)
    held[::4096] = b"x" * len(held[::4096])
    assert peak_megabytes() >= before
    assert 10 < before < 100_000
