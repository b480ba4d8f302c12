"""Pictures of answers by windows: points with intervals, heat maps, and what cannot be drawn."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from answers import answered  # type: ignore[import-not-found]

from bayesdp import Count, Histogram, Mean, Query
from bayesdp.errors import InvalidInputError
from bayesdp.plotting.answers import answers_chart, check_drawable
from bayesdp.plotting.drawing import _figure
from bayesdp.plotting.palette import SEQUENCE
from bayesdp.session.answer import Answer
from bayesdp.session.answers import Answers

HOURS, DAYS = range(24), range(1, 8)


def answer(value: Any, query: Query | None = None) -> Answer:
    made: Answer = answered(value, query, noise=10.0)
    return made


def by_hour() -> Answers:
    return Answers("hour", tuple(answer(100 + hour) for hour in HOURS), cells=[(hour,) for hour in HOURS])


def by_weekday_and_hour(empty: tuple[tuple[int, int], ...] = ()) -> Answers:
    cells = [(day, hour) for day in DAYS for hour in HOURS if (day, hour) not in empty]
    answers = tuple(answer(100 * day + hour) for day, hour in cells)
    return Answers(("weekday", "hour"), answers, cells=cells, empty=empty)


def test_answers_by_hour_are_points_with_their_intervals() -> None:
    answers = by_hour()
    chart = answers_chart(answers)
    (line,) = chart.panels[0].lines
    assert line.points == tuple((hour, 100.0 + hour) for hour in HOURS)
    assert line.intervals == tuple(one.interval() for one in answers)
    assert chart.across == tuple(map(str, HOURS))
    assert (chart.x, line.style) == ("hour", "o")
    assert "100 (hour 0) to 123 (hour 23)" in chart.says
    assert "95 %" in chart.source
    axes = _figure(chart).axes[0]
    (bars,) = axes.collections
    drawn = [tuple(bar.vertices[:, 1]) for bar in bars.get_paths()]
    assert drawn == [one.interval() for one in answers]
    assert [label.get_text() for label in axes.get_xticklabels()] == list(chart.across)


def test_a_window_without_a_record_keeps_its_place() -> None:
    mean = Mean("on", bounds=(0, 1))
    cells = [("2024-01",), ("2024-03",)]
    answers = Answers("month", (answer(0.5, mean), answer(0.25, mean)), cells=cells, empty=[("2024-02",)])
    chart = answers_chart(answers)
    assert chart.across == ("2024-01", "2024-02", "2024-03")
    assert [x for x, _ in chart.panels[0].lines[0].points] == [0, 2]
    assert chart.source.endswith("without a point: no record")


def test_two_columns_are_a_heat_map_with_the_longer_one_across() -> None:
    chart = answers_chart(by_weekday_and_hour(empty=((7, 23),)))
    heat = chart.panels[0].heat
    assert heat is not None
    assert (chart.x, chart.y) == ("hour", "weekday (1 is Monday)")
    assert (chart.names, chart.across) == (tuple(map(str, DAYS)), tuple(map(str, HOURS)))
    assert [heat.rows[day - 1][hour] for day, hour in ((1, 0), (3, 17), (7, 22))] == [100.0, 317.0, 722.0]
    assert heat.rows[6][23] is None
    assert chart.source.endswith("grey: no record")
    axes = _figure(chart).axes[0]
    (mesh,) = axes.collections
    assert mesh.get_cmap().name == SEQUENCE
    assert axes.get_ylim() == (6.5, -0.5)
    assert mesh.get_array().mask.sum() == 1


def test_columns_in_either_order_are_the_same_heat_map() -> None:
    there = by_weekday_and_hour()
    back = Answers(("hour", "weekday"), there.answers, cells=[(hour, day) for day, hour in there.cells])
    assert answers_chart(there).panels == answers_chart(back).panels


def test_the_numbers_of_both_pictures_are_in_the_csv() -> None:
    rows = list(csv.reader(answers_chart(by_weekday_and_hour()).csv().splitlines()))
    assert ["", "3", "cell", "17", "317.0"] in rows
    assert len(rows) == 1 + 168
    answers = by_hour()
    low, high = answers[5].interval()
    rows = list(csv.reader(answers_chart(answers).csv().splitlines()))
    assert [row for row in rows if row[3] == "5.0"] == [
        ["", "answer", "markers", "5.0", "105.0"],
        ["", "answer", "end", "5.0", str(low)],
        ["", "answer", "end", "5.0", str(high)],
    ]


@pytest.mark.parametrize(("count", "shown", "turned"), [(5, 5, 0), (30, 30, 90), (365, 7, 0)])
def test_names_below_the_axes_do_not_overlap(count: int, shown: int, turned: int) -> None:
    from matplotlib.text import Text

    cells = [(f"2024-{place:06}",) for place in range(count)]
    answers = Answers("date", tuple(answer(place) for place in range(count)), cells=cells)
    figure = _figure(answers_chart(answers))
    figure.canvas.draw()
    labels = [label for label in figure.axes[0].get_xticklabels() if label.get_text()]
    assert len(labels) == shown
    boxes = [Text.get_window_extent(label) for label in labels]
    assert {label.get_rotation() for label in labels} == {turned}
    assert all(one.x1 <= other.x0 for one, other in pairwise(boxes))
    assert min(box.y0 for box in boxes) >= figure._supxlabel.get_window_extent().y1 - 2


@pytest.mark.parametrize(
    ("query", "columns", "reason"),
    [
        (Count("on", equals=1), (), "no picture of a single answer"),
        (Count("on", equals=1), ("weekday", "hour", "district"), "by one or two columns, not by 3"),
        (Histogram("on", cells=[0, 1]), ("hour",), "one number of each window, not the 2"),
    ],
)
def test_what_has_no_picture_is_refused(query: Query, columns: tuple[str, ...], reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        check_drawable(query, columns)


def test_answers_write_their_picture(tmp_path: Path) -> None:
    assert by_hour().plot(tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    assert by_weekday_and_hour().plot(tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")
    histogram = answer((1, 2), Histogram("on", cells=[0, 1]))
    with pytest.raises(InvalidInputError, match="one number"):
        Answers("hour", (histogram,), cells=[(0,)]).plot(tmp_path / "c.png")
    assert not (tmp_path / "c.png").exists()
