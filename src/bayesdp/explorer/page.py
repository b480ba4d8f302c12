"""The page in Shiny: it lays out `page_text`, starts the remaining computations, and makes the release."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from htmltools import HTML, Tag, TagChild, TagList, tags
from shiny import App, Inputs, Outputs, Session, reactive, render, ui
from shiny.types import SilentException
from starlette.requests import Request

from bayesdp._support.progress import listening_to_progress
from bayesdp._support.words import kept_together
from bayesdp.errors import BayesDPError
from bayesdp.explorer.assumed import ASSUMPTIONS
from bayesdp.explorer.choices import BETAS, DELTAS, EPSILONS, WINDOWS, Choices
from bayesdp.explorer.explored_file import ExploredFile
from bayesdp.explorer.page_text import Bar, PageText, page_text, wanted_of
from bayesdp.explorer.priced_assumptions import NOTE, PricedAssumptions, check_complete, priced_assumptions_of
from bayesdp.explorer.question import KINDS
from bayesdp.explorer.release_page import release_form, serve_release
from bayesdp.explorer.view import Findings, Job, Wanted, done, next_job, together
from bayesdp.frames.source import KINDS as TYPES
from bayesdp.queries import Query

__all__ = ["application", "assumption_list"]

_ASSETS = Path(__file__).parent / "www"

_PAUSE = 0.5
"""Seconds without a change before the slower theorems run."""

_SETTLED = 0.8
"""Seconds without a change before a small table is read."""

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

_DEFINITIONS = {"pure": "ε alone", "approximate": "ε and δ"}

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
        conversation = _Conversation(explored, seen, inputs)
        _serve(conversation, session)
        if explored.kind == "table":
            serve_release(explored, conversation.choices, conversation.priced_assumptions, inputs)

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
                "What may an attacker learn about one record if records are correlated? This page shows no value of a "
                "record, sends nothing to other machines, and releases ",
                "nothing before you sign." if explored.kind == "table" else "nothing.",
            ),
        ),
        tags.main(
            tags.form(
                _question(explored, choices),
                _target(choices),
                _assumption(explored, choices),
                onsubmit="return false",
                class_="long" if explored.kind == "table" else None,
                autocomplete="off",
                aria_label="Query and assumption",
            ),
            tags.div(
                ui.output_ui("answer"),
                release_form(explored) if explored.kind == "table" else None,
                ui.output_ui("chart"),
                ui.output_ui("picture"),
            ),
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
    columns = () if explored.model is None else explored.model.columns
    if explored.kind == "table":
        fields.append(_column("column", "Column", explored, choices))
        hint = "Leave it empty to count values of the column."
        condition = ui.input_text("condition", "Condition on the column", choices.condition, placeholder="such as > 0")
        fields.append(_field(condition, counting, hint))
    elif len(columns) > 1:
        fields.append(_field(ui.input_select("column", "Column", list(columns), selected=choices.column)))
    hint = "Comma-separated. They must be public; the page does not read them from the table."
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
    if explored.kind == "table":
        fields.append(_windows(choices))
        fields.append(_column("public", "One answer for each value of a public column", explored, choices))
        hint = "Comma-separated, from a public list. A value that is not listed is in no answer."
        fields.append(tags.div(_text("cells", "Its values", choices, hint=hint), data_after="public"))
    return tags.fieldset(tags.legend("The question"), *fields)


def _windows(choices: Choices) -> Tag:
    """Return the fields that divide a question by the clock or the calendar; these need an order."""
    by = ui.input_select("by", "One answer for", dict(WINDOWS), selected=choices.by)
    ends = "Such as 2012-10-01. Both may be empty, unless you ask by date, week or month."
    return tags.div(
        _field(by, hint="A record is in one window, so all answers together cost as much as one."),
        tags.div(_text("since", "Records from", choices), _text("until", "until before", choices), class_="pair"),
        tags.p(ends, class_="hint", style="margin:-.5rem 0 .8rem"),
        data_after="order_by",
    )


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
            _stops("epsilon", "Promise ε", EPSILONS, choices, "more private", "less private"),
            _field(ui.input_select("definition", "Definition", _DEFINITIONS, selected=choices.definition)),
            tags.div(
                _stops("delta", "δ", DELTAS, choices, "more private", "less private"), data_definition="approximate"
            ),
            data_start="epsilon",
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
    adding = [kind for kind in KINDS if not Query.kinds()[kind].counts_values]
    missing = {"error": "are an error", "drop": "are left out"}
    return tags.fieldset(
        tags.legend("What is assumed"),
        _column("order_by", "Records are ordered by", explored, choices),
        tags.div(_column("then_by", "then by", explored, choices), data_after="order_by"),
        tags.div(_column("last_by", "then by", explored, choices), data_after="order_by then_by"),
        _column("entity", "Chains are independent if they differ in", explored, choices),
        tags.div(_column("and_entity", "or in", explored, choices), data_after="entity"),
        _text("step", "Spacing of the order", choices, hint="Such as 5m or 1d. May be empty."),
        _column("group", "Records of a group share", explored, choices, adding),
        _column("role", "Column of roles in a group", explored, choices, adding),
        _field(ui.input_select("missing", "Missing values", missing, selected=choices.missing)),
        ui.input_action_button("look", "Look at the table"),
        tags.p(NOTE, class_="hint"),
        ui.output_ui("priced_assumptions"),
    )


def _column(name: str, label: str, explored: ExploredFile, choices: Choices, kinds: list[str] | None = None) -> Tag:
    """Return a list of the table's columns with their types."""
    listed = {"": "(none)"} | {
        column: f"{column} — {'not usable' if kind is None else TYPES[kind]}" for column, kind in explored.kinds.items()
    }
    return _field(ui.input_select(name, label, listed, selected=getattr(choices, name)), kinds)


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
) -> Tag:
    return _field(ui.input_text(name, label, getattr(choices, name)), kinds, hint)


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
        for chooser, name, values in (
            ("kind", "kinds", KINDS),
            ("assumed", "assumed", ASSUMPTIONS),
            ("definition", "definition", _DEFINITIONS),
        )
        for value in values
    ]
    rules += [
        f'body:has(#{chooser} option[value=""]:checked) [data-after~="{chooser}"]'
        for chooser in ("order_by", "then_by", "entity", "public")
    ]
    rules += [
        f'body:has(input[name="start"][value="{value}"]:checked) [data-start]:not([data-start~="{value}"])'
        for value in ("epsilon", "alpha")
    ]
    rules.append("body:has(#condition:not(:placeholder-shown)) .field:has(> * > #values)")
    return f"{','.join(rules)}{{display:none}}"


# What is shown


def _answer(shown: PageText, looking: str) -> TagChild:
    """Return the bars and the interval, or what is missing; looking: what is known of the reading of a table."""
    if shown.problem:
        return TagList(
            tags.section(
                tags.h2("What is still missing"), tags.p(looking or shown.problem), class_="problem", role="status"
            ),
            tags.section(tags.h2("What your choices mean"), *map(tags.p, shown.meaning), *map(_bar, shown.bars))
            if shown.meaning
            else None,
        )
    return tags.section(
        tags.h2("What may an attacker believe about one record?"),
        *(tags.p(text, class_="quiet") for text in shown.meaning),
        tags.p(shown.question + ". " + shown.assumption, class_="quiet"),
        *(tags.p(text, class_="warning") for text in shown.warnings),
        *map(_bar, shown.bars),
        tags.h2("How far off is the answer?", style="margin-top:1.2rem"),
        tags.p(_unbroken(shown.interval), class_="interval"),
        tags.p(shown.price),
        tags.p(shown.noise, class_="quiet"),
        tags.p(shown.approximate, class_="quiet") if shown.approximate else None,
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


def assumption_list(priced_assumptions: PricedAssumptions | None, choices: Choices) -> TagChild:
    """Return the priced assumptions of a table, with a radio button for each possible one."""
    if priced_assumptions is None or not priced_assumptions.fits(choices):
        return None
    assumption = priced_assumptions.chosen(choices)
    shown = priced_assumptions.shown
    options: dict[str, TagChild] = {
        each.name: tags.span(
            f"{each.name} — error {each.error}{f' ({each.share})' if each.share else ''}, ",
            tags.span(each.verdict, class_=f"verdict {each.verdict.replace(' ', '-')}"),
            tags.strong(" (recommended)") if each.recommended else None,
        )
        for each in shown
        if each.possible
    }
    lines = [
        tags.div(
            tags.strong(each.name),
            ": ",
            tags.span(each.verdict, class_=f"verdict {each.verdict.replace(' ', '-')}"),
            tags.p(f"Assumes: {each.assumes}", class_="hint"),
            tags.p(f"The table: {each.shown}", class_="hint"),
            class_="assumption",
        )
        for each in shown
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
        tags.p(f"{reported.why} {reported.outlook}".strip()),
        tags.details(tags.summary("Details of each assumption, and the verdict of the table"), *lines),
    )


# The server


class _Conversation:
    """One open page: its choices, the results computed for it, and the release it makes."""

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
        self._progress = _Progress()
        self._looked_at: set[tuple[str, ...]] = set()
        self._waiting_for: tuple[str, ...] = ()
        self._since = time.monotonic()
        reactive.effect(self._compute_what_is_left)
        reactive.effect(self._keep_priced_assumptions)
        reactive.effect(self._keep_pictures)
        reactive.effect(self._look_by_itself)
        reactive.effect(reactive.event(inputs.look)(self._start_looking))

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
        looked_at, seen = self._look.result()
        if isinstance(seen, PricedAssumptions):
            self._seen[looked_at] = seen
            self._newest.set(seen)

    def _start_looking(self) -> None:
        self._look.invoke(self.explored, self.choices(), self._progress)

    def _look_by_itself(self) -> None:
        """Look at a small table as soon as a question is complete and has not changed for a moment."""
        choices, status = self.choices(), self._look.status()
        if status == "running" or not self.explored.small:
            return
        if choices.looked_at != self._waiting_for:
            self._waiting_for, self._since = choices.looked_at, time.monotonic()
        if choices.looked_at in self._looked_at or choices.looked_at in self._seen:
            return
        try:
            check_complete(self.explored, choices)
        except BayesDPError:
            return
        if time.monotonic() - self._since < _SETTLED:
            reactive.invalidate_later(_SETTLED)
            return
        self._looked_at.add(choices.looked_at)
        self._start_looking()

    def status(self) -> str:
        """Return how far the reading of the table is, or why it cannot be read; empty otherwise."""
        if self._look.status() == "running":
            reactive.invalidate_later(_PAUSE)
            return str(self._progress)
        if self._look.status() != "success":
            return ""
        looked_at, result = self._look.result()
        return result if isinstance(result, str) and looked_at == self.choices().looked_at else ""


class _Progress:
    """How far a reading of the table is; one thread writes it, and the page reads it."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Begin anew."""
        self._label, self._share, self._begun = "reading the table", 0.0, time.monotonic()

    def report(self, label: str, share: float) -> None:
        """Note how far the work is."""
        self._label, self._share = label, share

    def __str__(self) -> str:
        done = f"{100 * self._share:.0f} %, " if self._share else ""
        return f"{self._label.capitalize()} … {done}{time.monotonic() - self._begun:.0f} s"


async def _worked(job: Job) -> tuple[Job, Findings | None]:
    """Run a job in a thread; slow ones only after the reader has paused."""
    if job.step != "quick":
        await asyncio.sleep(_PAUSE)
    try:
        return job, await asyncio.to_thread(done, job)
    except BayesDPError:
        return job, None


async def _looked(
    explored: ExploredFile, choices: Choices, progress: _Progress
) -> tuple[tuple[str, ...], PricedAssumptions | str]:
    progress.start()

    def looked() -> PricedAssumptions:
        with listening_to_progress(progress.report):
            return priced_assumptions_of(explored, choices)

    try:
        return choices.looked_at, await asyncio.to_thread(looked)
    except BayesDPError as error:
        return choices.looked_at, str(error)


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
        return _answer(shown(), conversation.status())

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
        return assumption_list(conversation.priced_assumptions(), conversation.choices())


def _typed(inputs: Inputs) -> dict[str, Any]:
    """Return the content of the fields of the page."""
    typed = {}
    for name in Choices.names():
        with suppress(SilentException):
            typed[name] = inputs[name]()
    return typed


def _about(known: tuple[Findings, ...], wanted: Wanted) -> Findings:
    return next((findings for findings in known if findings.concerns(wanted)), None) or Findings.about(wanted)
