"""Hypothesis draws the same examples on every run, whatever else was changed or loaded before."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def examples() -> list[float]:
    """Return what a property is tried with."""
    drawn: list[float] = []

    @settings(max_examples=300)
    @given(st.floats(-1e9, 1e9), st.integers(0, 10**9))
    def tried(one: float, other: int) -> None:
        drawn.extend((one, float(other)))

    tried()
    return drawn


@pytest.mark.skipif(not settings().derandomize, reason="this profile draws new examples")
def test_examples_do_not_depend_on_the_modules_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = examples()
    path = tmp_path / "constants.py"
    path.write_text("CONSTANTS = (123456.75, 987654321, 55555.5)\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("constants_to_draw", path)
    assert spec is not None
    monkeypatch.setitem(sys.modules, "constants_to_draw", importlib.util.module_from_spec(spec))
    assert examples() == before
