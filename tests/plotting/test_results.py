from pathlib import Path

import pytest

import bayesdp as bdp
from bayesdp.errors import InvalidInputError
from bayesdp.plotting.charts import Line
from bayesdp.plotting.drawing import draw
from bayesdp.plotting.palette import colour_of
from bayesdp.plotting.results import comparison_chart, leakage_chart

LAZY = bdp.MarkovChain([[0.8, 0.2], [0.2, 0.8]], length=100)
COUNT = bdp.Count(equals=1)


def named(chart_lines: tuple[Line, ...]) -> dict[str, Line]:
    return {line.label: line for line in chart_lines if line.label}


def test_a_comparison_is_drawn_as_it_is_printed() -> None:
    compared = bdp.compare(LAZY, COUNT, epsilons=[1.0, 10.0, 1.0])
    chart = comparison_chart(compared)
    lines = named(chart.panels[0].lines)
    assert chart.says == "Error of the number of records in state 1"
    assert LAZY.assumption in chart.source
    assert lines["plain DP,\nunprotected"].style == "--"
    assert lines["chakrabarti-2022,\nno guarantee"].style == ":"
    general = {(row.epsilon, row.alpha) for row in compared.rows if row.theorem == "general"}
    assert set(lines["general"].points) == general
    assert lines["general"].colour == colour_of("general")
    assert lines["general"].points == tuple(sorted(general))
    drawn = {name for label in lines for name in label.replace(",", "\n").replace("= ", "").split("\n")}
    assert {row.theorem for row in compared.rows if row.alpha is not None} <= drawn


def test_lines_that_coincide_are_drawn_once_with_both_names() -> None:
    compared = bdp.compare(bdp.GaussianGroups(correlation=0.3, size=3), bdp.Sum(bounds=(0, 1)), epsilons=[1.0, 2.0])
    assert "general\n= yang-2015,\nproven" in named(comparison_chart(compared).panels[0].lines)


def test_no_two_lines_of_a_comparison_look_the_same() -> None:
    lines = comparison_chart(bdp.compare(LAZY, COUNT, epsilons=[1.0, 10.0, 20.0])).panels[0].lines
    looks = [(line.colour, line.style) for line in lines if line.label]
    assert len(looks) >= 6
    assert len(set(looks)) == len({colour for colour, _ in looks}) == len(looks)


def test_a_larger_unit_stands_under_the_title() -> None:
    question = bdp.Count(equals="on")
    hour = comparison_chart(bdp.compare(bdp.OddsChain(9, unit=12), question, epsilons=[1, 2]))
    assert hour.source.endswith("at most 9; protected: any 12 consecutive records together, not the person behind more")
    record = comparison_chart(bdp.compare(bdp.OddsChain(9), question, epsilons=[1, 2]))
    assert record.source.endswith("at most 9")


def test_the_title_can_be_given(tmp_path: Path) -> None:
    written = bdp.plot_tradeoff(LAZY, COUNT, tmp_path / "a.svg", epsilons=[1.0], title="How far off?")
    assert written.stat().st_size > 2000
    assert comparison_chart(bdp.compare(LAZY, COUNT, epsilons=[1.0]), "How far off?").says == "How far off?"


@pytest.mark.parametrize("log", ["", "xy"])
def test_leakage_over_tau_for_several_models_beside_plain_dp(log: str) -> None:
    models = {
        f"θ = {theta:g}": bdp.MarkovChain([[0.5 + gap, 0.5 - gap], [0.5 - gap, 0.5 + gap]])
        for theta, gap in ((2.25, 0.1), (16.0, 0.3))
    }
    taus = [0.1, 0.5, 2.0]
    chart = leakage_chart(models, COUNT, taus, says="Correlation costs.", log=log)
    lines = named(chart.panels[0].lines)
    assert lines["plain DP promises this,\nunprotected"].points == tuple((tau, tau) for tau in taus)
    for name, model in models.items():
        assert lines[name].points == tuple((tau, bdp.leakage(model, COUNT, tau=tau).epsilon) for tau in taus)
    assert len({line.colour for line in lines.values()}) == 3
    assert draw(chart, "svg")[0].startswith(b"<?xml")
    with pytest.raises(InvalidInputError):
        leakage_chart(models, COUNT, [-1.0], says="x")
