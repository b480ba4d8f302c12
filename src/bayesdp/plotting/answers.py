"""Pictures of answers by windows or parts: points with their intervals, or a heat map of two columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bayesdp._support.messages import in_python
from bayesdp._support.validation import escaped
from bayesdp.errors import InvalidInputError
from bayesdp.plotting.charts import Chart, HeatMap, Line, Panel, titled
from bayesdp.plotting.drawing import check_place, save
from bayesdp.plotting.palette import PALETTE
from bayesdp.rounding import shown_above, shown_below

if TYPE_CHECKING:
    from bayesdp._support.validation import Scalar
    from bayesdp.queries import Query
    from bayesdp.session.answer import Answer
    from bayesdp.session.answers import Answers

__all__ = ["answers_chart", "check_drawable", "plot_answers"]

_MOST_COLUMNS = 2

_EXPLAINED = {"weekday": "weekday (1 is Monday)"}


def plot_answers(answers: Answers, path: str | Path) -> Path:
    """Draw answers and return the path; raises as `answers_chart` and `plotting.drawing.save` do."""
    check_place(path)
    return save(answers_chart(answers), path)


def check_drawable(query: Query, columns: Sequence[str]) -> None:
    """Raise InvalidInputError if answers by these columns cannot be drawn; call it before a release is charged."""
    if not columns:
        raise InvalidInputError(
            "there is no picture of a single answer; ask by windows, such as "
            + in_python('by="hour"', elsewhere="--by-column hour")
        )
    if len(columns) > _MOST_COLUMNS:
        raise InvalidInputError(
            f"a picture shows answers by one or two columns, not by {len(columns)}: {', '.join(columns)}"
        )
    if query.by_cell:
        raise InvalidInputError(
            f"a picture shows one number of each window, not the {query.dimension} of a {query.kind}; ask for a count"
        )


def answers_chart(answers: Answers) -> Chart:
    """Return each answer with its interval, or a heat map of the numbers to publish if two columns tell them apart.

    Raises InvalidInputError as `check_drawable` does.
    """
    check_drawable(answers.latest.query, answers.columns)
    return _heat_map(answers) if len(answers.columns) > 1 else _profile(answers)


def _profile(answers: Answers) -> Chart:
    """Return the answers by one column as points with error bars, in the order of their windows."""
    found = {(name,): answer for name, answer in zip(answers.parts, answers, strict=True)}
    points, intervals = [], []
    for place, name in enumerate(answers.places):
        if name in found:
            points.append((float(place), _number(found[name])))
            intervals.append(_ends(found[name]))
    line = Line("answer", tuple(points), PALETTE[0], "o", intervals=tuple(intervals))
    (column,) = answers.columns
    return Chart(
        "answers",
        _finding(answers),
        _axis(column),
        "answer",
        (Panel((line,), labels=""),),
        source=f"Bars: the intervals, each of which holds in {shown_below(100 * answers.latest.level)} % of cases. "
        + _cost(answers)
        + ("; without a point: no record" if answers.empty else ""),
        across=tuple(_label(name) for (name,) in answers.places),
    )


def _heat_map(answers: Answers) -> Chart:
    """Return the answers by two columns as colours; the column with more values is across."""
    found = dict(zip(answers.parts, answers, strict=True))
    columns = [tuple(dict.fromkeys(name[place] for name in answers.places)) for place in range(_MOST_COLUMNS)]
    across = int(len(columns[1]) >= len(columns[0]))
    down = 1 - across

    def number_at(row: Scalar, column: Scalar) -> float | None:
        answer = found.get((row, column) if across else (column, row))
        return None if answer is None else _published(answer)

    rows = tuple(tuple(number_at(row, column) for column in columns[across]) for row in columns[down])
    return Chart(
        "answers",
        _finding(answers),
        _axis(answers.columns[across]),
        _axis(answers.columns[down]),
        (Panel((), labels="", heat=HeatMap(rows, "answer")),),
        source=_cost(answers) + ("; grey: no record" if answers.empty else ""),
        names=tuple(map(_label, columns[down])),
        across=tuple(map(_label, columns[across])),
    )


def _finding(answers: Answers) -> str:
    """Return what was asked, with the smallest and the largest answer, and how far off each may be."""
    named = list(zip(answers.parts, answers, strict=True))
    ends = [min(named, key=lambda pair: _number(pair[1])), max(named, key=lambda pair: _number(pair[1]))]
    low, high = (f"{answer.shown(answer.rounded)} ({_place(answers, name)})" for name, answer in ends)
    widest = max(answers, key=lambda answer: answer.accuracy())
    about = titled(answers.latest.dataset, None, answers.title)
    return f"{about}: {low} to {high}, each off by less than {widest.off_by}"


def _place(answers: Answers, name: Scalar | tuple[Scalar, ...]) -> str:
    values = name if isinstance(name, tuple) else (name,)
    return ", ".join(f"{column} {_label(value)}" for column, value in zip(answers.columns, values, strict=True))


def _cost(answers: Answers) -> str:
    return f"ε = {shown_above(answers.epsilon)} for all {len(answers)} answers: a record is in one of them"


def _label(value: Scalar) -> str:
    return escaped(str(value))


def _axis(column: str) -> str:
    return _EXPLAINED.get(column, column)


def _number(answer: Answer) -> float:
    assert not isinstance(answer.value, tuple)
    return float(answer.value)


def _published(answer: Answer) -> float:
    assert not isinstance(answer.rounded, tuple)
    return float(answer.rounded)


def _ends(answer: Answer) -> tuple[float, float]:
    low, high = answer.interval()
    assert isinstance(low, float)
    assert isinstance(high, float)
    return low, high
