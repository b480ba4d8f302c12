from pathlib import Path

import pytest

from bayesdp.models.diagnosis import Diagnosis, Finding, Verdict
from bayesdp.plotting.drawing import _figure
from bayesdp.plotting.findings import diagnosis_chart


def finding(name: str, verdict: str, word: str = "", **values: float) -> Finding:
    return Finding(
        name,
        "Is it?",
        "",
        Verdict(verdict),
        "It is.",
        "",
        {key.replace("_at_", ": "): values[key] for key in values},
        word,
    )


SEEN = Diagnosis(
    "the records follow a chain",
    (
        finding("order", "violated", p_value=1e-30),
        finding("same over time", "doubtful", p_value=0.004, p1_at_p_value=0.004, p2_at_p_value=0.5),
        finding("independent entities", "not tested"),
        finding("probabilities", "fine", "by construction"),
    ),
    15264,
    "15,264 records",
    date="2026-11-16",
    table_name="activity.csv",
)


def test_every_finding_is_a_row_at_its_p_value_with_its_verdict() -> None:
    chart = diagnosis_chart(SEEN)
    assert chart.names == ("order", "same over time", "independent entities", "probabilities")
    rows = {line.name: line for line in chart.panels[0].lines if line.label}
    assert rows["order"].points == ((1e-8, 0.0),)  # the end of the axis
    assert rows["same over time"].points == ((0.004, 1.0),)
    assert [line.label for line in rows.values()] == ["violated", "doubtful", "not tested", "by construction"]
    assert [line.style for line in rows.values()] == ["o", "o", "ring", "ring"]
    assert len({line.colour for line in rows.values()}) == 4
    cases = [line for line in chart.panels[0].lines if line.name == "same over time" and not line.label]
    assert [line.points for line in cases] == [((0.004, 1.0), (0.5, 1.0))]


@pytest.mark.parametrize(
    ("findings", "says"),
    [
        (SEEN.findings, "violated: order"),
        (SEEN.findings[1:], "doubtful: same over time"),
        (SEEN.findings[2:], "nothing is violated, but not tested: independent entities"),
        (SEEN.findings[3:], "no evidence against the model"),
        ((), "nothing was tested"),
    ],
)
def test_the_title_names_the_table_its_size_and_the_verdict(findings: tuple[Finding, ...], says: str) -> None:
    seen = Diagnosis(SEEN.assumption, findings, 15264, SEEN.basis, table_name="activity.csv")
    chart = diagnosis_chart(seen)
    assert chart.says == f"activity.csv, n = 15,264: {says}"
    assert SEEN.assumption in chart.source


def test_names_of_findings_are_not_cut(tmp_path: Path) -> None:
    figure = _figure(diagnosis_chart(SEEN))
    figure.canvas.draw()
    for label in figure.axes[0].get_yticklabels():
        assert label.get_window_extent().x0 >= 0
    assert SEEN.plot(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
