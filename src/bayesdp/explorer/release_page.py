"""The last part of the page: the holder signs, the ledger is charged, and the answer can be filed and repeated."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from htmltools import HTML, Tag, TagChild, tags
from shiny import Inputs, reactive, render, ui

from bayesdp.errors import BayesDPError
from bayesdp.explorer import code, pictures
from bayesdp.explorer.choices import Choices
from bayesdp.explorer.explored_file import ExploredFile
from bayesdp.explorer.priced_assumptions import PricedAssumptions
from bayesdp.explorer.release import ReleaseOrder, Signed, order_of
from bayesdp.ledger import default_ledger
from bayesdp.rounding import shown_below
from bayesdp.session.answer import Answer
from bayesdp.session.answers import Answers
from bayesdp.session.statement import statement

__all__ = ["answers_picture", "release_form", "serve_release"]

Act = Literal["preview", "release"]

_FILES = {
    "statement_file": ("statement.html", "The statement (HTML)"),
    "answer_file": ("answer.json", "The answer (JSON)"),
    "script_file": ("release.py", "The script"),
    "notebook_file": ("release.ipynb", "The notebook"),
    "command_file": ("release.sh", "The command"),
}
"""What can be downloaded after a release: the file and its label by the name of its output."""


@dataclass(frozen=True)
class _Result:
    """What came of a click: an answer, or several, with the order, or a text, which is a preview or a refusal."""

    text: str = ""
    refused: bool = False
    answer: Answer | Answers | None = None
    order: ReleaseOrder | None = None
    priced_assumptions: PricedAssumptions | None = None


def release_form(explored: ExploredFile) -> Tag:
    """Return the fields that the holder of the data signs."""
    usual = explored.name.split(".")[0]
    fields = [
        _field("dataset", "Name of the data set in the ledger", usual, "The same data must always have the same name."),
        _field("ledger", "Ledger", str(default_ledger())),
        _field("budget", "Budget ε of a new account", "", "Empty: the promise. An account that exists keeps its own."),
        _field("name", "Your name, who is responsible", ""),
        _field(
            "reason", "Reason, if the table contradicts the assumption", "", "The ledger and the statement keep it."
        ),
    ]
    return tags.section(
        tags.h2("Release"),
        tags.p(
            "The noise is drawn and the ledger is charged when you press Release. The same question is charged once: "
            "pressing again returns the same answer.",
            class_="quiet",
        ),
        *fields,
        tags.div(
            ui.input_action_button("preview", "Preview"), ui.input_action_button("release", "Release"), class_="buttons"
        ),
        ui.output_ui("released"),
        class_="release",
    )


def _field(name: str, label: str, value: str, hint: str = "") -> Tag:
    below = tags.p(hint, class_="hint") if hint else None
    return tags.div(ui.input_text(name, label, value), below, class_="field")


def serve_release(
    explored: ExploredFile,
    choices: Callable[[], Choices],
    priced_assumptions: Callable[[], PricedAssumptions | None],
    inputs: Inputs,
) -> None:
    """Make previews and releases when the holder asks for them, one at a time, and show what comes of them."""
    task = reactive.extended_task(_carried_out)

    def start(act: Act) -> None:
        if task.status() == "running":
            return
        priced = priced_assumptions()
        signed = Signed(*(inputs[name]() for name in ("dataset", "ledger", "budget", "name", "reason")))
        task.invoke(act, explored, choices(), priced, signed)

    reactive.effect(reactive.event(inputs.preview)(lambda: start("preview")))
    reactive.effect(reactive.event(inputs.release)(lambda: start("release")))

    @reactive.calc
    def result() -> _Result | None:
        found: _Result | None = task.result() if task.status() == "success" else None
        return found

    @render.ui
    def released() -> TagChild:
        if task.status() == "running":
            return tags.p("Reading the table, charging the ledger …", class_="wait", role="status")
        return _shown(result())

    for name in _FILES:
        _offer(name, result)


async def _carried_out(
    act: Act, explored: ExploredFile, choices: Choices, priced: PricedAssumptions | None, signed: Signed
) -> _Result:
    try:
        order = order_of(explored, choices, priced, signed)
        if act == "preview":
            return _Result(str(await asyncio.to_thread(order.previewed)))
        return _Result(answer=await asyncio.to_thread(order.released), order=order, priced_assumptions=priced)
    except BayesDPError as error:
        return _Result(str(error), refused=True)


def _shown(result: _Result | None) -> TagChild:
    if result is None:
        return None
    if result.answer is None:
        return tags.p(
            result.text[:1].upper() + result.text[1:], class_="warning" if result.refused else "quiet", role="status"
        )
    answer = result.answer
    if isinstance(answer, Answers):
        return _shown_together(answer)
    return tags.div(
        tags.h3("Released before; it cost nothing again" if answer.reused else "Released"),
        tags.p(answer.published, class_="interval"),
        _interval(answer),
        *(tags.p(line) for line in str(answer).splitlines() if line),
        *_offered(),
        aria_live="polite",
    )


def _shown_together(answers: Answers) -> Tag:
    """Return the answers by windows: a picture, their list, and what all of them cost together."""
    before = all(answer.reused for answer in answers)
    return tags.div(
        tags.h3("Released before; it cost nothing again" if before else "Released"),
        tags.p(answers.title, class_="interval"),
        answers_picture(answers),
        tags.details(
            tags.summary(f"All {len(answers.listed)} answers in numbers"),
            tags.ul(*map(tags.li, answers.listed), class_="columns"),
        ),
        *(tags.p(text) for text in answers.terms),
        *(tags.p(text, class_="warning") for text in answers.warnings),
        *_offered(),
        aria_live="polite",
    )


def answers_picture(answers: Answers) -> TagChild:
    """Return a profile of numbers in their intervals, or a grid of numbers by two clocks."""
    names = [name if isinstance(name, tuple) else (name,) for name in answers.parts]
    values = [answer.rounded for answer in answers]
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    if len(numbers) < len(values) or len(answers.columns) > 2:
        return None
    if len(answers.columns) == 1:
        spans = [answer.interval() for answer in answers]
        ends = [  # a number that was moved to the end of the possible range may lie beyond its interval
            (min(float(low), value), value, max(float(high), value))  # type: ignore[arg-type]
            for (low, high), value in zip(spans, numbers, strict=True)
        ]
        return HTML(pictures.profile([str(name[0]) for name in names], ends, answers.columns[0], answers.title))
    first, second = (sorted({name[place] for name in names}) for place in range(2))
    rows, columns, order = (first, second, (0, 1)) if len(first) > len(second) else (second, first, (1, 0))
    places = [(rows.index(name[order[0]]), columns.index(name[order[1]])) for name in names]
    cells = dict(zip(places, numbers, strict=True))
    axes = (answers.columns[order[0]], answers.columns[order[1]])
    return HTML(pictures.grid([*map(str, rows)], [*map(str, columns)], cells, axes, answers.title))


def _offered() -> tuple[Tag, Tag]:
    return (
        tags.ul(*(tags.li(ui.download_link(name, label)) for name, (_, label) in _FILES.items()), class_="files"),
        tags.p("Open the statement in the browser to print it.", class_="hint"),
    )


def _interval(answer: Answer) -> TagChild:
    """Return the picture of an answer that is one number, in its interval."""
    interval = answer.interval()
    if not isinstance(answer.value, int | float) or isinstance(interval[0], tuple):
        return None
    low, high = interval
    title = f"The answer in its {shown_below(100 * (1 - answer.beta))} % interval"
    return HTML(pictures.interval(float(low), float(answer.value), float(high), title))


def _offer(name: str, result: Callable[[], _Result | None]) -> None:
    """Offer one file of the release that was made last."""

    def content() -> Iterator[str]:
        made = result()
        if made is not None and made.answer is not None and made.order is not None:
            yield _content(name, made.answer, made.order, made.priced_assumptions)

    content.__name__ = name
    filename, label = _FILES[name]
    render.download_link(filename=filename, label=label)(content)


def _content(name: str, answer: Answer | Answers, order: ReleaseOrder, priced: PricedAssumptions | None) -> str:
    """Return the content of a file about a release."""
    assert priced is not None
    if name == "statement_file":
        return statement(answer).html()
    if name == "answer_file":
        return json.dumps(answer.to_dict(), indent=1, ensure_ascii=False) + "\n"
    if name == "command_file":
        return code.release_command(order, priced.advice.next_steps)
    script = code.release_script(order, priced.advice.next_steps)
    return script if name == "script_file" else code.notebook(f"Release of {order.dataset}", script)
