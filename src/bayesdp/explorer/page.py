"""The page in Shiny: it lays out `page_text` and starts the remaining computations."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

from htmltools import HTML, Tag, TagChild, TagList, tags
from shiny import App, Inputs, Outputs, Session, reactive, render, ui
from shiny.types import SilentException
from starlette.requests import Request

from bayesdp._support.words import kept_together
from bayesdp.errors import BayesDPError
from bayesdp.explorer.assumed import ASSUMPTIONS
from bayesdp.explorer.choices import BETAS, EPSILONS, Choices
from bayesdp.explorer.explored_file import ExploredFile
from bayesdp.explorer.page_text import Bar, PageText, page_text, wanted_of
from bayesdp.explorer.priced_assumptions import NOTE, PricedAssumptions, look
from bayesdp.explorer.question import KINDS
from bayesdp.explorer.view import Findings, Job, Wanted, done, next_job, together
from bayesdp.queries import Query

__all__ = ["application", "assumption_list"]

_ASSETS = Path(__file__).parent / "www"

_PAUSE = 0.5
"""Seconds without a change before the slower theorems run."""

_MOST_KEPT = 16
"""The number of models and queries whose findings are kept."""

_KIND_LABELS = {
    "count": "How many records have a value",
    "proportion": "Which share of the records has a value",
    "histogram": "How many records have each of several values",
    "sum": "The sum of a column",
    "mean": "The mean of a column",
    "variance": "The variance of a column",
}

_PERCENTS = tuple(f"{share / 100:g}" for share in (0, 5, *range(10, 96, 5), 98))
_STAYS = tuple(f"{share / 100:g}" for share in (*range(50, 96, 5), 97, 98, 99))
_ODDS = ("1", "1.2", "1.5", "2", "3", "5", "7", "10", "15", "20", "30", "50", "100")
_SIZES = tuple(str(size) for size in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 50))


def application(explored: ExploredFile) -> App:
    """Return the page about a model, a table, or nothing but assumptions."""
    seen: dict[tuple[str, ...], PricedAssumptions] = {}

    def page(request: Request) -> TagList:
        return _page(explored, Choices.from_query(request.url.query, explored.start))

    def server(inputs: Inputs, output: Outputs, session: Session) -> None:
        _serve(_Conversation(explored, seen, inputs), session)

    return App(page, server, static_assets=_ASSETS)


# The form


def _page(explored: ExploredFile, choices: Choices) -> TagList:
    head = ui.head_content(
        tags.title("bayesdp explorer"),
        tags.meta(name="viewport", content="width=device-width, initial-scale=1"),
        tags.link(rel="icon", href="data:,"),
        tags.link(rel="stylesheet", href="style.css"),
        tags.style(HTML(_visibility())),
        tags.script(src="page.js", defer=""),
    )
    body = tags.div(
        tags.header(
            tags.h1("bayesdp explorer", f": {explored.name}" if explored.name else ""),
            tags.p(
                "What may an attacker learn about one record if records are correlated? This page releases nothing, "
                "shows no value of a record, and sends nothing to other machines."
            ),
        ),
        tags.main(
            tags.form(
                _question(explored, choices),
                _target(choices),
                _assumption(explored, choices),
                onsubmit="return false",
                class_="long" if explored.kind == "table" else None,
                aria_label="Query and assumption",
            ),
            tags.div(ui.output_ui("answer"), ui.output_ui("chart"), ui.output_ui("picture")),
            tags.div(ui.output_ui("code"), class_="below"),
        ),
        lang="en",
    )
    return TagList(head, ui.busy_indicators.use(spinners=False, pulse=False), body)


def _question(explored: ExploredFile, choices: Choices) -> Tag:
    counting = [kind for kind in KINDS if Query.kinds()[kind].counts_values]
    adding = [kind for kind in KINDS if kind not in counting]
    averaging = [kind for kind in KINDS if Query.kinds()[kind].averaged]
    labels = {kind: _KIND_LABELS.get(kind, kind) for kind in KINDS}
    fields: list[TagChild] = [_field(ui.input_select("kind", "Question", labels, selected=choices.kind))]
    columns = explored.columns or (explored.model.columns if explored.model is not None else ())
    if explored.kind == "table":
        hint = "For counts, a condition such as steps > 0 is possible."
        fields.append(_text("column", "Column", choices, columns=explored.columns, hint=hint))
        listed = tags.details(
            tags.summary(f"The {len(columns)} columns"), tags.p(", ".join(columns), class_="hint columns")
        )
        fields.append(listed)
    elif len(columns) > 1:
        fields.append(_field(ui.input_select("column", "Column", list(columns), selected=choices.column)))
    hint = "Comma-separated. They must be public; the page does not read them from the table."
    if explored.kind == "table":
        hint += " Leave empty for a condition."
    fields += [
        _text("values", "Values to count", choices, hint=hint, kinds=counting),
        tags.div(
            _text("low", "Clip from", choices),
            _text("high", "to", choices),
            class_="pair",
            data_kinds=" ".join(adding),
        ),
        _text("size", "Number of records (public)", choices, kinds=averaging),
    ]
    return tags.fieldset(tags.legend("The question"), *fields)


def _target(choices: Choices) -> Tag:
    start = ui.input_radio_buttons(
        "start",
        "Start from",
        {"epsilon": "the promise ε", "alpha": "an acceptable error"},
        selected=choices.start,
    )
    betas = {beta: f"{cases} of cases" for beta, cases in BETAS.items()}
    return tags.fieldset(
        tags.legend("Promise and error"),
        _field(start),
        tags.div(
            _stops("epsilon", "Promise ε", EPSILONS, choices, "more private", "less private"), data_start="epsilon"
        ),
        tags.div(_text("alpha", "Largest error α", choices), data_start="alpha"),
        _field(ui.input_select("beta", "The error holds in", betas, selected=choices.beta)),
    )


def _assumption(explored: ExploredFile, choices: Choices) -> Tag:
    if explored.kind == "model":
        assert explored.model is not None
        assumption = tags.p(f"The model assumes that {explored.model.assumption}.")
        return tags.fieldset(tags.legend("What is assumed"), assumption)
    if explored.kind == "table":
        return _table(explored, choices)
    labels = {name: assumption.label for name, assumption in ASSUMPTIONS.items()}
    taken = {
        field: [name for name, assumption in ASSUMPTIONS.items() if field in assumption.fields]
        for assumption in ASSUMPTIONS.values()
        for field in assumption.fields
    }
    ends = {"left": "leaks less", "right": "leaks more"}
    controls = {
        "stay_first": _stops("stay_first", "Probability that false follows false", _STAYS, choices, **ends),
        "stay_second": _stops("stay_second", "Probability that true follows true", _STAYS, choices, **ends),
        "odds": _stops("odds", "Largest odds ratio of neighbours", _ODDS, choices, **ends),
        "correlation": _stops("correlation", "Largest correlation in a group", _PERCENTS, choices, **ends),
        "group_size": _stops("group_size", "Largest group", _SIZES, choices, **ends),
        "length": _text("length", "Longest chain, in records", choices),
    }
    return tags.fieldset(
        tags.legend("What is assumed"),
        _field(ui.input_select("assumed", "Correlations", labels, selected=choices.assumed)),
        *(tags.div(control, data_assumed=" ".join(taken[field])) for field, control in controls.items()),
        tags.p("More correlation leaks more, so the same ε needs more noise.", class_="hint"),
    )


def _table(explored: ExploredFile, choices: Choices) -> Tag:
    counting = [kind for kind in KINDS if Query.kinds()[kind].counts_values]
    adding = [kind for kind in KINDS if kind not in counting]
    missing = {"error": "are an error", "drop": "are left out"}
    return tags.fieldset(
        tags.legend("What is assumed"),
        _text("order_by", "Columns that order the records", choices, hint="Comma-separated, such as date,interval."),
        _text("entity", "Columns that identify independent chains", choices, hint="Such as person. May be empty."),
        _text("step", "Spacing of the order", choices, hint="Such as 5m or 1d. May be empty."),
        _text("group", "Columns that identify groups", choices, kinds=adding, hint="Such as family."),
        _text("role", "Column of roles in a group", choices, kinds=adding, hint="May be empty."),
        _field(ui.input_select("missing", "Missing values", missing, selected=choices.missing)),
        ui.input_action_button("look", "Look at the table"),
        tags.p(NOTE, class_="hint"),
        ui.output_ui("priced_assumptions"),
    )


def _field(control: Tag, kinds: list[str] | None = None, hint: str = "") -> Tag:
    below = tags.p(hint, class_="hint") if hint else None
    return tags.div(control, below, class_="field", **({} if kinds is None else {"data_kinds": " ".join(kinds)}))


def _text(
    name: str,
    label: str,
    choices: Choices,
    *,
    hint: str = "",
    kinds: list[str] | None = None,
    columns: tuple[str, ...] = (),
) -> Tag:
    """Return a text field that suggests the names of columns."""
    control = ui.input_text(name, label, getattr(choices, name))
    if columns:
        for part in control.children:
            if isinstance(part, Tag) and part.name == "input":
                part.attrs["list"] = f"{name}-list"
        control.append(tags.datalist(*(tags.option(value=column) for column in columns), id=f"{name}-list"))
    return _field(control, kinds, hint)


def _stops(name: str, label: str, stops: tuple[str, ...], choices: Choices, left: str, right: str) -> Tag:
    """Return a slider with named positions and a label at each end."""
    chosen = getattr(choices, name)
    known = stops if chosen in stops else tuple(sorted({*stops, chosen}, key=_sort))
    return tags.div(
        tags.label(f"{label}: ", tags.span(chosen, id=f"{name}-value", class_="value"), for_=name),
        tags.input(
            type="range", id=name, class_="stops", min="0", max=str(len(known) - 1), step="1",
            value=str(known.index(chosen)), data_stops=" ".join(known), aria_valuetext=chosen,
            aria_describedby=f"{name}-ends",
        ),
        tags.div(tags.span(f"← {left}"), tags.span(f"{right} →"), class_="ends", id=f"{name}-ends"),
        class_="field",
    )  # fmt: skip


def _sort(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _visibility() -> str:
    """Return the style that hides fields that do not apply; they keep their content."""
    rules = [
        f'body:has(#{chooser} option[value="{value}"]:checked) [data-{name}]:not([data-{name}~="{value}"])'
        for chooser, name, values in (("kind", "kinds", KINDS), ("assumed", "assumed", ASSUMPTIONS))
        for value in values
    ]
    rules += [
        f'body:has(input[name="start"][value="{value}"]:checked) [data-start]:not([data-start~="{value}"])'
        for value in ("epsilon", "alpha")
    ]
    return f"{','.join(rules)}{{display:none}}"


# What is shown


def _answer(shown: PageText) -> TagChild:
    if shown.problem:
        return tags.section(tags.h2("Nothing to show yet"), tags.p(shown.problem), class_="problem", role="status")
    return tags.section(
        tags.h2("What may an attacker believe about one record?"),
        tags.p(shown.question + ". " + shown.assumption, class_="quiet"),
        *(tags.p(text, class_="warning") for text in shown.warnings),
        *map(_bar, shown.bars),
        tags.h2("How far off is the answer?", style="margin-top:1.2rem"),
        tags.p(_unbroken(shown.interval), class_="interval"),
        tags.p(shown.price),
        tags.p(shown.noise, class_="quiet"),
        *(tags.p(text, class_="hint") for text in shown.notes),
        tags.div(_unbroken(f"{shown.bars[-1].words}, ± {shown.error}"), class_="summary", aria_hidden="true"),
        aria_live="polite",
    )


def _bar(bar: Bar) -> Tag:
    return tags.div(
        tags.h3(bar.title),
        tags.div(_unbroken(bar.words), class_="words"),
        tags.div(
            tags.span(style=f"width:{bar.after:.3f}%"),
            class_="track",
            role="img",
            aria_label=f"{bar.title}: {bar.words}",
        ),
        tags.div(tags.span("0 %"), tags.span("before: 50 %"), tags.span("certain"), class_="scale", aria_hidden="true"),
        tags.p(bar.says, class_="quiet"),
        class_=f"bar {bar.tone}",
    )


def _unbroken(words: str) -> str:
    """Return words with non-breaking spaces inside odds and after ±."""
    return kept_together(words, ":").replace("± ", "±\N{NO-BREAK SPACE}")


def _chart(shown: PageText) -> TagChild:
    if shown.problem:
        return None
    figure, noise = shown.heads
    heads = [tags.th("theorem"), tags.th(figure, class_="number"), tags.th(noise, class_="number"), tags.th("")]
    lines = [
        tags.tr(
            tags.th(row.theorem, scope="row"),
            tags.td(row.figure, class_="number"),
            tags.td(row.noise if noise else "", class_="number"),
            tags.td("best" if row.best else row.reason),
            class_="best" if row.best else None,
        )
        for row in shown.rows
    ]
    return tags.section(
        tags.h2("The error under every theorem"),
        HTML(shown.chart),
        tags.p("The slower theorems are still running …" if shown.waiting else "", class_="wait", id="waiting"),
        tags.div(tags.table(tags.thead(tags.tr(*heads)), tags.tbody(*lines)), class_="scroll") if lines else None,
    )


def _pictures(pictures: tuple[str, ...]) -> TagChild:
    return tags.section(tags.h2("What is assumed, as a picture"), *map(HTML, pictures)) if pictures else None


def _code(shown: PageText) -> TagChild:
    if shown.problem:
        return None
    return tags.section(
        tags.h2("The same, without this page"),
        *_listing("python", "Python", shown.python),
        *_listing("shell", "Command line", shown.shell),
    )


def _listing(name: str, label: str, text: str) -> TagList:
    copy = tags.button("Copy", type="button", data_copy=name, aria_label=f"Copy the {label}")
    return TagList(tags.div(tags.h3(label), copy, class_="head"), tags.pre(text, id=name, tabindex="0"))


def assumption_list(
    priced_assumptions: PricedAssumptions | None, choices: Choices, problem: str, *, busy: bool
) -> TagChild:
    """Return the priced assumptions of a table, with a radio button for each possible one, or a notice."""
    if busy:
        return tags.p("Looking at the table …", class_="wait", role="status")
    if problem:
        return tags.p(problem, class_="warning", role="alert")
    if priced_assumptions is None or not priced_assumptions.fits(choices):
        return None
    assumption = priced_assumptions.chosen(choices)
    steps = priced_assumptions.steps
    options: dict[str, TagChild] = {
        step.name: tags.span(
            f"{step.name} — error {step.error}", tags.strong(" (recommended)") if step.recommended else None
        )
        for step in steps
        if step.possible
    }
    lines = [
        tags.div(
            tags.strong(step.name),
            ": ",
            tags.span(step.verdict, class_=f"verdict {step.verdict.replace(' ', '-')}"),
            tags.p(f"Assumes: {step.assumes}", class_="hint"),
            tags.p(f"The table: {step.shown}", class_="hint"),
            class_="assumption",
        )
        for step in steps
    ]
    reported = priced_assumptions.advice
    share = f"{100 * (1 - reported.beta):g} %"
    head = f"Errors at ε = {reported.epsilon:g}, in {share} of cases; the strongest assumption first."
    return tags.div(
        tags.h3("Priced assumptions", style="margin-top:1rem"),
        tags.p(head, class_="hint"),
        ui.input_radio_buttons(
            "assumption", "Assume", options, selected=None if assumption is None else assumption.name
        )
        if options
        else None,
        tags.p(priced_assumptions.advice.why),
        tags.details(tags.summary("Details of each assumption, and the verdict of the table"), *lines),
    )


# The server


class _Conversation:
    """One open page: its choices and the results computed for it."""

    def __init__(self, explored: ExploredFile, seen: dict[tuple[str, ...], PricedAssumptions], inputs: Inputs) -> None:
        self.explored = explored
        self.choices = reactive.calc(lambda: Choices.read(_typed(inputs), explored.start))
        self._seen = seen
        self._newest: reactive.Value[PricedAssumptions | None] = reactive.Value(None)
        self._known: reactive.Value[tuple[Findings, ...]] = reactive.Value(())
        self._failed: set[Job] = set()
        self.pictures: reactive.Value[tuple[str, ...]] = reactive.Value(())
        self.priced_assumptions = reactive.calc(lambda: self._seen.get(self.choices().looked_at) or self._newest())
        self.wanted = reactive.calc(self._wanted)
        self.shown = reactive.calc(self._shown)
        self._work = reactive.extended_task(_worked)
        self._look = reactive.extended_task(_looked)
        reactive.effect(self._compute_what_is_left)
        reactive.effect(self._keep_priced_assumptions)
        reactive.effect(self._keep_pictures)
        reactive.effect(reactive.event(inputs.look)(lambda: self._look.invoke(explored, self.choices())))

    def _wanted(self) -> Wanted | None:
        try:
            return wanted_of(self.explored, self.choices(), self.priced_assumptions())
        except BayesDPError:
            return None

    def _shown(self) -> PageText:
        asking = self.wanted()
        findings = None if asking is None else _about(self._known(), asking)
        return page_text(self.explored, self.choices(), self.priced_assumptions(), findings)

    def _compute_what_is_left(self) -> None:
        status = self._work.status()
        if status == "running":
            return
        if status == "success":
            self._keep(*self._work.result())
        asking = self.wanted()
        if asking is None or self.shown().problem:
            return
        with reactive.isolate():
            job = next_job(_about(self._known(), asking), asking)
        if job is not None and job not in self._failed:
            self._work.invoke(job)

    def _keep(self, job: Job, fresh: Findings | None) -> None:
        """Keep findings, the newest first."""
        if fresh is None:
            self._failed.add(job)
            return
        with reactive.isolate():
            known = self._known()
        others = [findings for findings in known if not findings.concerns(job.wanted)]
        self._known.set((together(_about(known, job.wanted), fresh), *others)[:_MOST_KEPT])

    def _keep_pictures(self) -> None:
        self.pictures.set(self.shown().pictures)  # equal pictures are not sent again

    def _keep_priced_assumptions(self) -> None:
        if self._look.status() != "success":
            return
        seen = self._look.result()
        if isinstance(seen, PricedAssumptions):
            self._seen[seen.choices.looked_at] = seen
            self._newest.set(seen)

    def shown_priced_assumptions(self) -> TagChild:
        """Return the priced assumptions, a progress message, or the reason why there are none."""
        status = self._look.status()
        result = self._look.result() if status == "success" else None
        now = self.choices()
        return assumption_list(
            self.priced_assumptions(), now, result if isinstance(result, str) else "", busy=status == "running"
        )


async def _worked(job: Job) -> tuple[Job, Findings | None]:
    """Run a job in a thread; slow ones only after the reader has paused."""
    if job.step != "quick":
        await asyncio.sleep(_PAUSE)
    try:
        return job, await asyncio.to_thread(done, job)
    except BayesDPError:
        return job, None


async def _looked(explored: ExploredFile, choices: Choices) -> PricedAssumptions | str:
    try:
        return await asyncio.to_thread(look, explored, choices)
    except BayesDPError as error:
        return str(error)


def _serve(conversation: _Conversation, session: Session) -> None:
    shown = conversation.shown

    @reactive.effect
    async def write_address() -> None:
        now = conversation.choices()
        step = "|".join((now.kind, now.start, now.assumed, now.assumption))
        query = now.to_query(conversation.explored.start)
        await session.send_custom_message("choices", {"query": query, "step": step})

    @render.ui
    def answer() -> TagChild:
        return _answer(shown())

    @render.ui
    def chart() -> TagChild:
        return _chart(shown())

    @render.ui
    def picture() -> TagChild:
        return _pictures(conversation.pictures())

    @render.ui
    def code() -> TagChild:
        return _code(shown())

    @render.ui
    def priced_assumptions() -> TagChild:
        return conversation.shown_priced_assumptions()


def _typed(inputs: Inputs) -> dict[str, Any]:
    """Return the content of the fields of the page."""
    typed = {}
    for name in Choices.names():
        with suppress(SilentException):
            typed[name] = inputs[name]()
    return typed


def _about(known: tuple[Findings, ...], wanted: Wanted) -> Findings:
    return next((findings for findings in known if findings.concerns(wanted)), None) or Findings.about(wanted)
