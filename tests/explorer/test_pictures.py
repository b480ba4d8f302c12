"""Pictures: well-formed, described in words, and without anything from elsewhere."""

from xml.etree import ElementTree

import pytest

from bayesdp import (
    AnyOf,
    ArbitraryGroups,
    GaussianGroups,
    GaussianSeries,
    HiddenMarkov,
    MarkovChain,
    Model,
    OddsChain,
    OddsSeries,
)
from bayesdp.explorer.pictures import chart, graph, heat_map, pictures
from bayesdp.plotting.charts import Chart, Panel, line

THREE = [[0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]
FOUR = [[0.4 if i == j else 0.2 for j in range(4)] for i in range(4)]


@pytest.mark.parametrize(
    ("model", "number"),
    [
        (MarkovChain([[0.9, 0.1], [0.2, 0.8]], states=["<a>", "b & c"]), 1),
        (MarkovChain(THREE), 1),
        (MarkovChain(FOUR), 1),
        (MarkovChain([[1.0]]), 1),
        (HiddenMarkov([[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]]), 1),
        (OddsChain(5), 1),
        (OddsChain(5, memory=2), 1),
        (OddsSeries([5.84, 1.25, 1.44]), 1),
        (OddsSeries([1.5] * 9), 1),
        (GaussianGroups(correlation=0.3, size=1000), 1),
        (GaussianGroups(covariance=[[1, -0.5], [-0.5, 1]]), 1),
        (GaussianSeries(coefficients=(0.5, 0.2)), 1),
        (ArbitraryGroups(3), 0),
        (AnyOf(OddsChain(5), OddsChain(7)), 2),
    ],
)
def test_every_model_has_its_pictures(model: Model, number: int) -> None:
    drawn = pictures(model)
    assert len(drawn) == number
    for picture in drawn:
        root = ElementTree.fromstring(picture)
        assert root.get("role") == "img"
        names = (root.get("aria-labelledby") or "").split()
        reported = {part.get("id"): part.text for part in root.iter() if part.get("id") in names}
        assert len(reported) == 2
        assert all(reported.values())


def test_the_words_say_what_is_largest() -> None:
    assert (
        "The most likely step: b stays, 0.8."
        in graph(["a", "b"], [[0.7, 0.3], [0.2, 0.8]], "t", "x")
        + pictures(MarkovChain([[0.7, 0.3], [0.2, 0.8]], states=["a", "b"]))[0]
    )
    assert "0.5, of records 1 and 2" in pictures(GaussianGroups(covariance=[[1, -0.5], [-0.5, 1]]))[0]


def test_correlations_of_a_series_fall_as_they_should() -> None:
    (drawn,) = pictures(GaussianSeries(coefficients=(0.5,)))
    root = ElementTree.fromstring(drawn)
    first_row = [part.get("fill-opacity") for part in root.iter("rect")][:4]
    assert first_row == ["1.000", "0.500", "0.250", "0.125"]


def test_negative_entries_have_another_colour() -> None:
    drawn = heat_map(["a", "b"], [[1, -0.5], [-0.5, 1]], "t", "says")
    assert drawn.count('class="cell negative"') == 2


def test_a_chart_has_every_line_a_mark_and_a_legend() -> None:
    lines = (
        line("plain-dp", ((0.1, 30.0), (1.0, 3.0)), "plain DP,\nunprotected"),
        line("general", ((0.1, 90.0), (1.0, 9.0)), "general"),
    )
    shown = Chart("c", "Error of <it>", "ε", "α", (Panel(lines),), log="xy")
    drawn = ElementTree.fromstring(f"<div>{chart(shown, (1.0, 9.0), 'here')}</div>")
    assert len(list(drawn.iter("polyline"))) == 2
    assert [part.get("class") for part in drawn.iter("circle")] == ["mark"]
    assert [item.find("span").text for item in drawn.iter("li")] == ["plain DP, unprotected", "general"]  # type: ignore[union-attr]
