import math
from pathlib import Path

import pytest

from odds_price import ODDS, odds_picture, odds_price


def test_the_lines_are_the_formula() -> None:
    lines = odds_price().panels[0].lines
    assert [line.name for line in lines] == ["θ = 2", "θ = 9", "θ = 17", "θ = 100", "plain-dp"]
    for line, odds in zip(lines, (*ODDS, 1.0), strict=True):
        for tau, epsilon in line.points:
            assert epsilon == pytest.approx(4 * math.asinh(math.sqrt(odds) * math.sinh(tau / 4)), rel=1e-9)


def test_the_sentence_is_true() -> None:
    """For small ε the price of correlation is √θ."""
    for line, odds in zip(odds_price().panels[0].lines, ODDS, strict=False):
        tau, epsilon = line.points[0]
        assert epsilon / tau == pytest.approx(math.sqrt(odds), rel=1e-3)


def test_it_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = odds_picture(tmp_path / "odds.svg")
    assert "θ = 17" in path.read_text(encoding="utf-8")
    assert "plain DP promises this" in path.read_text(encoding="utf-8")
