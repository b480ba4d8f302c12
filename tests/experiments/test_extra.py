from pathlib import Path

import pytest

from bayesdp.experiments import catalogue, reproduce
from bayesdp.experiments.curves import CURVES
from bayesdp.experiments.extra import EXTRA, guess_error
from bayesdp.experiments.studies import STUDIES


@pytest.mark.slow
def test_extra_figures_are_drawn_on_request_only(tmp_path: Path) -> None:
    chosen = reproduce(["impossibility"], out=tmp_path / "with", extra=True, progress=False)
    assert [chart.name for chart in chosen.charts] == ["impossibility", *EXTRA]
    assert list(catalogue()) == [*CURVES, *STUDIES, "errata", *EXTRA]
    alone = reproduce(["impossibility"], out=tmp_path / "without", progress=False)
    assert [chart.name for chart in alone.charts] == ["impossibility"]
    charts = {chart.name: chart for chart in chosen.charts}
    for panel in charts["markov-bounds"].panels:
        bounds = {line.name: dict(line.points) for line in panel.lines}
        for tau, epsilon in bounds["markov-mixing"].items():
            assert tau <= epsilon <= min(bounds["general"][tau], bounds["markov-paper"][tau])
    fast, slow = ({line.name for line in panel.lines} for panel in charts["response-theta"].panels)
    assert "chakrabarti-2022" in slow - fast


@pytest.mark.parametrize(("records", "truth", "beta"), [(10, 5, 0.05), (10, 0, 0.2), (99, 70, 0.5)])
def test_the_error_of_a_guess_is_a_quantile(records: int, truth: int, beta: float) -> None:
    alpha = guess_error(records, truth, beta)
    exceeds = [sum(abs(guess - truth) > error for guess in range(records + 1)) for error in (alpha, alpha - 1)]
    assert exceeds[0] <= beta * (records + 1) < exceeds[1]
