import math

import pytest

from bayesdp.experiments import Report
from bayesdp.experiments.curves import oracle_leak, tightness


@pytest.mark.parametrize(("r", "tau"), [(2, 1.0), (10, 0.5), (1000, 2.0)])
def test_the_tightness_example_is_the_papers(r: int, tau: float) -> None:
    grown = math.exp(tau)
    ratio = (grown**2 * r / (r + 1) + grown / (r + 1)) / (
        grown * (r * r - r) / (r**3 - r - 1) + (r**3 - r * r - 1) / (r**3 - r - 1)
    )
    leak, rho = tightness(r, tau)
    assert math.log(ratio) <= leak + 1e-12
    assert leak <= 2 * tau
    assert rho == pytest.approx((r * r - r - 1) / math.sqrt((r - 1) * (r**4 + r**3 - r * r - 2 * r - 1)))


def test_the_oracle_on_randomized_response() -> None:
    assert oracle_leak(0.2, 13, 5) == pytest.approx(14.06, abs=0.005)


def test_laplace_beats_randomized_response_at_whole_errors(full: Report) -> None:
    (chart,) = [chart for chart in full.charts if chart.name == "response-beta"]
    for panel in chart.panels:
        values = {line.name: dict(line.points) for line in panel.lines}
        for alpha in range(1, 8):
            at = {name: points[alpha] for name, points in values.items()}
            assert at["plain-dp"] < at["markov-mixing"] <= at["markov-paper"]
            assert at["markov-paper"] < min(at["chakrabarti-2022"], at["randomized-response"])
            assert math.log(at["markov-count"]) == pytest.approx(math.log(at["markov-mixing"]), rel=1e-5)


def test_randomized_response_has_a_proven_line_beside_each_other(full: Report) -> None:
    shown = [chart for chart in full.charts if any("chakrabarti" in each.name for each in chart.panels[0].lines)]
    assert [chart.name for chart in shown] == ["response-beta", "response-alpha"]
    for chart in shown:
        for panel in chart.panels:
            styles = {each.name: each.style for each in panel.lines}
            assert (styles["chakrabarti-2022"], styles["randomized-response"]) == (":", "-")
        assert "keeps the promise" in chart.note


def test_our_bounds_never_exceed_the_papers(full: Report) -> None:
    charts = {chart.name: chart for chart in full.charts}
    for panel in charts["gaussian-bound"].panels:
        lines = {line.name: dict(line.points) for line in panel.lines}
        shared = set(lines["gaussian-tight"]) & set(lines["gaussian-paper"])
        assert len(shared) > 100
        assert all(lines["gaussian-tight"][rho] <= lines["gaussian-paper"][rho] for rho in shared)
    for panel in charts["response-alpha"].panels:
        lines = {line.name: dict(line.points) for line in panel.lines}
        assert len(lines["markov-paper"]) > 1
        for epsilon, alpha in lines["markov-paper"].items():
            assert lines["markov-mixing"][epsilon] < alpha
