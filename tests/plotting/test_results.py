from pathlib import Path

import pytest

import bayesdp as bdp
from bayesdp.errors import QueryError
from bayesdp.plotting.charts import Line
from bayesdp.plotting.palette import colour_of
from bayesdp.plotting.results import calibration_chart, comparison_chart, theorems_chart

LAZY = bdp.MarkovChain([[0.8, 0.2], [0.2, 0.8]], length=100)
COUNT = bdp.Count(equals=1)
FAMILY = bdp.GaussianGroups(correlation=0.3, size=3)
HEIGHT = bdp.Sum("height", bounds=(0, 100))


def named(chart_lines: tuple[Line, ...]) -> dict[str, Line]:
    return {line.label: line for line in chart_lines if line.label}


def test_a_comparison_is_drawn_as_it_is_printed() -> None:
    compared = bdp.compare(LAZY, COUNT, epsilons=[1.0, 10.0, 1.0])
    chart = comparison_chart(compared)
    lines = named(chart.panels[0].lines)
    assert chart.says == "Error of the number of records in state 1: model markov, up to n = 100 records together"
    assert LAZY.assumption in chart.source
    assert lines["plain DP,\nunprotected"].style == "--"
    assert lines["chakrabarti-2022,\nno guarantee"].style == ":"
    general = {(row.epsilon, row.alpha) for row in compared.rows if row.theorem == "general"}
    assert set(lines["general"].points) == general
    assert lines["general"].colour == colour_of("general")
    assert lines["general"].points == tuple(sorted(general))
    drawn = {label.partition("\n")[0].rstrip(",") for label in lines}
    assert {row.theorem for row in compared.rows if row.alpha is not None} <= drawn


def test_lines_that_coincide_are_drawn_in_turns_and_say_so() -> None:
    compared = bdp.compare(bdp.GaussianGroups(correlation=0.3, size=3), bdp.Sum(bounds=(0, 1)), epsilons=[1.0, 2.0])
    lines = named(comparison_chart(compared).panels[0].lines)
    general, yang = lines["general"], lines["yang-2015,\nproven\n(same as general)"]
    assert (general.turns, yang.turns) == ((0, 2), (1, 2))
    assert general.colour != yang.colour


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


def test_a_leakage_is_drawn_over_tau_for_applicable_theorems() -> None:
    leaked = bdp.leakage(FAMILY, HEIGHT, tau=0.5)
    chart = theorems_chart(leaked)
    assert chart.says.endswith(": model gaussian, up to n = 3 records together")
    assert f"({leaked.theorem})" in chart.source
    points: dict[str, set[tuple[float, float]]] = {}
    for line in chart.panels[0].lines:
        points.setdefault(line.name, set()).update(line.points)
    assert points["asked"] == {(0.5, leaked.epsilon)}
    applying = {row.theorem for row in leaked.assessments if row.applies}
    assert set(points) == {*applying, "asked", "plain-dp"}
    for row in leaked.assessments:
        if row.applies:
            assert (0.5, row.epsilon) in points[row.theorem]
            low, high = min(points[row.theorem]), max(points[row.theorem])
            assert (low[0], high[0]) == pytest.approx((0.05, 5.0))
            again = {each.theorem: each.epsilon for each in bdp.leakage(FAMILY, HEIGHT, tau=high[0]).assessments}
            assert high[1] == again[row.theorem]


def test_several_releases_and_one_adversary_are_drawn_too() -> None:
    pairs = bdp.ArbitraryGroups(2)
    several = bdp.leakage(pairs, [(COUNT, 0.5), (bdp.Count(equals=0), 0.25)])
    lines = theorems_chart(several).panels[0].lines
    assert {line.points for line in lines if line.name == "asked"} == {((0.75, several.epsilon),)}
    family = bdp.GaussianGroups(covariance=[[1, 0.5], [0.5, 1]])
    one = bdp.leakage(family, bdp.Sum("height", bounds=(0, 100)), tau=1.0, target=0, known=[1])
    drawn = [line for line in theorems_chart(one).panels[0].lines if line.name == one.theorem]
    assert any((1.0, one.epsilon) in line.points for line in drawn)


def test_a_calibration_is_a_ring_on_the_line_of_its_theorem() -> None:
    chosen = bdp.calibrate(FAMILY, HEIGHT, epsilon=1.0)
    chart = calibration_chart(chosen)
    lines = chart.panels[0].lines
    assert {line.points for line in lines if line.name == "chosen"} == {((1.0, chosen.accuracy()),)}
    on_line = [point for line in lines if line.name == chosen.theorem for point in line.points]
    assert any(point == pytest.approx((1.0, chosen.accuracy()), rel=1e-9) for point in on_line)
    general = [point for line in lines if line.name == "general" for point in line.points]
    assert any(point == pytest.approx((1.0, 3 * 100 * 2.9957), rel=1e-3) for point in general)


def test_after_other_releases_a_calibration_is_drawn_with_them() -> None:
    after = bdp.calibrate(bdp.ArbitraryGroups(2), COUNT, epsilon=2.0, spent=[(COUNT, 0.5)])
    (general,) = (line for line in calibration_chart(after).panels[0].lines if line.name == "general")
    assert any(point == pytest.approx((2.0, after.accuracy()), rel=1e-9) for point in general.points)


def test_results_not_known_beforehand_are_not_drawn() -> None:
    unknown = bdp.calibrate(LAZY, bdp.AnyMechanism(), epsilon=1.0)
    with pytest.raises(QueryError, match="cannot draw the error"):
        calibration_chart(unknown)


def test_results_write_themselves(tmp_path: Path) -> None:
    pairs = bdp.ArbitraryGroups(2)
    ill = bdp.Count("ill", equals=True)
    assert bdp.leakage(pairs, ill, tau=1.0).plot(tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    assert bdp.calibrate(pairs, ill, epsilon=1.0).plot(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
