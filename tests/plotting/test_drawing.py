import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bayesdp.errors import InvalidInputError, MissingDependencyError
from bayesdp.plotting.charts import Chart, Line, Panel, Style
from bayesdp.plotting.drawing import _figure, _spread, draw, save


def chart(*lines: Line, **entries: Any) -> Chart:
    return Chart("x", "A sentence", "across", "up", (Panel(lines),), **entries)


def rising(top: float, label: str = "", style: Style = "-") -> Line:
    return Line("a", ((1, 1), (2, top)), "#000000", style, label)


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"bayesdp\[plot\]"):
        draw(chart(rising(2)), "png")


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_the_same_chart_is_the_same_picture(kind: str) -> None:
    drawn = chart(rising(2, "first"), rising(3, "second", "--"), log="xy")
    assert draw(drawn, kind) == draw(drawn, kind)


def test_the_users_own_style_does_not_change_a_picture() -> None:
    import matplotlib

    plain = draw(chart(rising(2, "name")), "png")
    with matplotlib.rc_context({"figure.facecolor": "black", "savefig.facecolor": "black", "font.size": 20}):
        assert draw(chart(rising(2, "name")), "png") == plain


def test_a_picture_is_written_in_the_format_of_its_name(tmp_path: Path) -> None:
    assert save(chart(rising(2)), tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG")
    assert save(chart(rising(2)), str(tmp_path / "a.svg")).read_bytes().startswith(b"<?xml")
    assert save(chart(rising(2)), tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(InvalidInputError, match="must end in"):
        save(chart(rising(2)), tmp_path / "a")


@pytest.mark.parametrize("axis", ["x", "y"])
def test_a_short_range_has_more_ticks_than_powers_of_ten(axis: str) -> None:
    def ticks(top: float) -> int:
        points = ((1.0, 1.0), (2.0, top)) if axis == "y" else ((1.0, 1.0), (top, 2.0))
        (picture,) = draw(chart(Line("a", points, "#000000"), log=axis), "svg")
        return picture.count(f'id="{axis}tick_'.encode())

    assert ticks(1.5) >= 3
    assert ticks(90) >= 5
    assert 4 <= ticks(9e5) <= 8


def test_a_single_point_can_be_seen() -> None:
    (drawn,) = _figure(chart(Line("a", ((1.0, 1.0),), "#000000"))).axes[0].lines
    assert drawn.get_marker() == "o"


def test_a_dollar_is_a_dollar() -> None:
    (picture,) = draw(chart(rising(2, r"$\frac$"), source=r"$\nonsense$"), "svg")
    assert picture.startswith(b"<?xml")


@pytest.mark.parametrize(
    "lines",
    [
        [rising(5, f"line {number}") for number in range(12)],
        [rising(1, f"line {number}") for number in range(12)],
        [rising(number, f"a line with a name that is rather long, {number}") for number in range(1, 6)],
    ],
)
def test_no_two_names_lie_on_one_another_or_outside(lines: list[Line]) -> None:
    from matplotlib.text import Text

    figure = _figure(chart(*lines))
    figure.canvas.draw()
    names = [Text.get_window_extent(text) for text in figure.axes[0].texts]
    assert len(names) == len(lines)
    for first, second in pairwise(sorted(names, key=lambda name: name.y0)):
        assert first.y1 <= second.y0 + 1
    above = figure.texts[1].get_window_extent()
    assert all(name.x1 <= figure.bbox.x1 and name.y0 >= 0 and name.y1 <= above.y0 for name in names)


def test_names_are_spread_within_the_height() -> None:
    sizes = [0.1, 0.2, 0.1, 0.1]
    places = _spread([0.0, 0.02, 0.5, 0.99], sizes)
    for (low, first), (high, second) in pairwise(zip(places, sizes, strict=True)):
        assert low + first / 2 <= high - second / 2 + 1e-9
    assert places[0] - sizes[0] / 2 >= -1e-9
    assert places[-1] + sizes[-1] / 2 <= 1 + 1e-9


def test_a_long_sentence_is_cut_not_drawn_over_the_picture() -> None:
    figure = _figure(Chart("x", "word " * 200, "x", "y", (Panel((rising(2),)),), source="word " * 200))
    sentence, source = figure.texts[:2]
    assert sentence.get_text().endswith("…")
    assert source.get_window_extent().y1 <= sentence.get_window_extent().y0 + 2
    assert figure.axes[0].get_window_extent().y1 <= source.get_window_extent().y0
