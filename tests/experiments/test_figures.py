"""The figures of one data set: what is dashed, dotted and said, and sentences that hang on no seed."""

import re

import pytest

from bayesdp.experiments import Report, run
from bayesdp.experiments.figures import coinciding, error_chart, mape_chart
from bayesdp.experiments.simulate import Result
from bayesdp.experiments.studies import STUDIES, Study, study


def test_plain_dp_is_dashed_and_called_unprotected(full: Report) -> None:
    for chart in full.charts:
        dashed = [line for panel in chart.panels for line in panel.lines if line.style == "--"]
        assert all(line.name == "plain-dp" for line in dashed)
        assert bool(dashed) == (chart.name not in ("markov-region", "impossibility", "tightness"))
        if dashed:
            assert any("unprotected" in line.label for line in dashed)


@pytest.mark.parametrize("name", STUDIES)
def test_the_sentence_about_percentages_holds_for_any_seed(full: Report, name: str) -> None:
    (chart,) = [chart for chart in full.charts if chart.name == f"{name}-mape"]
    ours, general, plain = (float(text.replace(",", "")) for text in re.findall(r"([\d.,]+) %", chart.says))
    assert plain < ours < general
    for each in chart.panels[0].lines:
        if each.style != "o":
            falling = [y for _, y in each.points]
            assert falling == sorted(falling, reverse=True)
    markers = {line.name: line.points for line in chart.panels[0].lines if line.style == "o"}
    lines = {line.name: line.points for line in chart.panels[0].lines if line.style != "o"}
    for mechanism, points in markers.items():
        shares = [y / expected for (_, y), (_, expected) in zip(points, lines[mechanism], strict=True)]
        assert sum(shares) / len(shares) == pytest.approx(1, abs=0.15)


def test_assumptions_of_the_paper_are_not_called_published(full: Report) -> None:
    for name in ("galton", "familyiq"):
        (chart,) = [chart for chart in full.charts if chart.name == f"{name}-error"]
        dotted = [line for line in chart.panels[0].lines if line.style == ":"]
        assert dotted
        assert all("if variances were equal" in line.label for line in dotted)
        assert "gaussian-tight is ours" in chart.note
        assert not any("published" in line.label for line in chart.panels[0].lines)
    labels = [row[1] for row in full.table("multiples").rows]
    assert not any("published" in label for label in labels)
    assert labels.count("gaussian-tight, if variances were equal") == 2


def test_the_twin_of_family_iq_says_what_clipping_does(full: Report) -> None:
    (chart,) = [chart for chart in full.charts if chart.name == "familyiq-error"]
    assert re.search(
        r"Clipping to 40–160 moves the exact sum by \+[\d.]+ IQ points: \d values lie outside\.", chart.note
    )
    assert "clipping to 40–160" in " ".join(full.table("data-sets").notes)


def test_yang_is_in_the_figures_of_gaussian_data(full: Report) -> None:
    for chart in full.charts:
        name = chart.name.rpartition("-")[0]
        labels = [each.label for panel in chart.panels for each in panel.lines]
        gaussian = name in ("galton", "familyiq", "syntheticiq") or chart.name == "gaussian-bound"
        assert any("yang-2015" in label for label in labels) == gaussian
        assert not any("yang-2015 (ours)" in label for label in labels)
    for name in ("galton", "familyiq", "syntheticiq"):
        yang, general = full.results[name].at("yang-2015"), full.results[name].at("general")
        assert [row.factor for row in yang] == pytest.approx([row.factor for row in general])
        assert all(row.proven for row in yang)


@pytest.fixture(scope="module")
def days() -> tuple[Study, Result]:
    found = study("electricity-80", epsilons=[1.0, 10.0], runs=20)
    return found, run(found.experiment)


def test_lines_are_theory_and_markers_the_simulated_releases(days: tuple[Study, Result]) -> None:
    found, result = days
    (one, ten) = result.at("general")
    for chart, theory, simulated in (
        (error_chart(*days), [one.alpha, ten.alpha], [one.quantile, ten.quantile]),
        (mape_chart(*days), [result.expected(one), result.expected(ten)], [one.mape, ten.mape]),
    ):
        lines = chart.panels[0].lines
        drawn = {each.name: dict(each.points) for each in lines if each.style != "o"}
        marked = {each.name: dict(each.points) for each in lines if each.style == "o"}
        assert set(drawn) == set(marked) >= {"plain-dp", "general"}
        assert drawn["general"] == dict(zip((1.0, 10.0), theory, strict=True))
        assert marked["general"] == dict(zip((1.0, 10.0), simulated, strict=True))
        assert found.label in chart.source


def test_a_theorem_has_no_point_where_it_reaches_no_epsilon(days: tuple[Study, Result]) -> None:
    chart = error_chart(*days)
    (paper,) = [each for each in chart.panels[0].lines if each.name == "markov-paper" and each.style != "o"]
    assert [epsilon for epsilon, _ in paper.points] == [10.0]  # it begins at 6.02
    assert "markov-paper begins at ε = 6.02" in chart.says


def test_only_curves_that_cannot_be_told_apart_are_drawn_as_one() -> None:
    curves = {
        "a": ((1.0, 10.0), (2.0, 5.0)),
        "near": ((1.0, 10.005), (2.0, 5.0)),
        "apart": ((1.0, 10.02), (2.0, 5.0)),
        "shorter": ((1.0, 10.0),),
    }
    assert coinciding(curves) == [["a", "near"], ["apart"], ["shorter"]]
