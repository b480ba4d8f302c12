"""The result of `advise`: priced assumptions, and the recommended one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayesdp._support import hooks
from bayesdp._support.display import Block, Code, Displayed, PrintedTable, Section, Words, lines
from bayesdp._support.documents import Document
from bayesdp._support.lazy import warn_renamed
from bayesdp.advice.next_steps import NextSteps
from bayesdp.advice.priced_assumption import HARMLESS, NEARLY_FREE, PricedAssumption, untested
from bayesdp.models.diagnosis import Verdict
from bayesdp.queries import Query
from bayesdp.rounding import shown_above

__all__ = ["Advice"]

NOTE = (
    "This advice was computed from the data without any noise. It is for people who may see the data: no guarantee "
    "covers it, nor the choice of a model by it."
)


@dataclass(frozen=True)
class Advice(Displayed, Document):
    """The models that a table does not contradict, the cost of each, and the leakage if one is wrong.

    Prints as a table, with the meaning of each assumption and the next steps; `plot(path)` draws it.

    query:       the question.
    epsilon:     the ε promised.
    beta:        the probability that the error reaches the α of an assumption.
    priced_assumptions: from the strongest to the weakest, each with its cost.
    recommended: the cheapest that the table does not contradict, or that it contradicts with a change of ε below 10 %,
                 but none that was not tested if one was tested and holds; if the table contradicts all, the weakest.
                 None if no noise is enough for any.
    shows:       the memory that the table shows, in sentences; empty for a column of numbers.
    table_name:  the name of the table.
    next_steps:  the arguments of `advise`, from which the next steps are written.
    outlook:     whether the recommended answer is useful and, if not, what would make it so, in sentences.
    compared_with: what relative errors are shares of, in words.
    delta:       the δ of the promise, if it has one.
    """

    query: Query
    epsilon: float
    beta: float
    priced_assumptions: tuple[PricedAssumption, ...]
    recommended: PricedAssumption | None
    shows: str
    table_name: str
    next_steps: NextSteps
    outlook: str = ""
    compared_with: str = "the answer"
    delta: float | None = None

    @property
    def ladder(self) -> tuple[PricedAssumption, ...]:
        """The former name of `priced_assumptions`; it goes with the next version."""
        warn_renamed("Advice.ladder", "Advice.priced_assumptions", stacklevel=3)
        return self.priced_assumptions

    @property
    def way_on(self) -> NextSteps:
        """The former name of `next_steps`; it goes with the next version."""
        warn_renamed("Advice.way_on", "Advice.next_steps", stacklevel=3)
        return self.next_steps

    @property
    def why(self) -> str:
        """The reason for the recommendation, as a sentence."""
        chosen = self.recommended
        if chosen is None:
            return "No noise is enough for any of these assumptions at this ε; use a larger ε, or name entities."
        if getattr(chosen.model, "protects_several", False):
            return (
                f"{_capital(chosen.name)}: for less than {NEARLY_FREE:g} times the error of what would be recommended "
                "otherwise, it needs no fit, assumes nothing about what happens inside, and protects the whole."
            )
        if chosen.suspect and chosen.harmless:
            found = "contradicts it" if chosen.denied else "leaves doubts"
            change = f"but the assumptions that fit the table change ε by less than {100 * HARMLESS:g} %"
            return f"{_capital(chosen.name)}: the table {found}, {change}."
        if chosen.kept:
            return f"{_capital(chosen.name)}: {self._kept(chosen)}"
        finds = "contradicts" if chosen.denied else "contradicts or doubts"
        return (
            f"{_capital(chosen.name)}: the table {finds} every assumption, and this is the weakest. "
            "Decide whether its leakage is acceptable if it is wrong."
        )

    def _kept(self, chosen: PricedAssumption) -> str:
        """Return why an assumption is recommended that the table does not contradict."""
        cheapest = "the cheapest that the table does not contradict."
        if chosen.verdict == Verdict.NOT_TESTED:
            return f"{cheapest} But the table cannot test it: you must know that it holds."
        cheaper = untested(chosen, self.priced_assumptions) if chosen.verdict == Verdict.FINE else None
        if cheaper is None:
            return cheapest
        errors = f"{shown_above(cheaper.alpha or 0.0, 3)} instead of {shown_above(chosen.alpha or 0.0, 3)}"
        return (
            f"the cheapest that was tested and holds. With {cheaper.name} the error would be {errors}, but the table "
            "cannot test that assumption: use it only if you know that it holds."
        )

    @property
    def python(self) -> str:
        """The next steps in Python; empty if nothing is recommended."""
        return self._next_steps(self.next_steps.python)

    @property
    def shell(self) -> str:
        """The next steps as commands; empty if nothing is recommended."""
        return self._next_steps(self.next_steps.shell)

    def _next_steps(self, written: Callable[..., str]) -> str:
        chosen = self.recommended
        if chosen is None or chosen.model is None:
            return ""
        return written(chosen.model, self.query, self.epsilon, credible=chosen.credible)

    @property
    def _promise(self) -> str:
        return f"ε = {self.epsilon:g}" + ("" if self.delta is None else f" and δ = {self.delta:g}")

    def _printed(self) -> Sequence[Section]:
        sections: list[Section] = [
            lines(f"{_capital(self.query.description)}, at {self._promise}, from {self.table_name}."),
            [self._table],
            *([[_filled(self.shows)]] if self.shows else []),
            *([*self._paragraph(assumption)] for assumption in self.priced_assumptions),
            [_filled(f"Recommended: {self.why} {self.outlook}".strip())],
        ]
        if self.recommended is not None:
            sections += [lines("Next steps in Python:"), [Code(self.python)]]
            sections += [lines("or on the command line:"), [Code(self.shell)]]
        return [*sections, [_filled(NOTE)]]

    def table(self) -> str:
        """Return a text table of the assumptions: verdict, error, and the leakage if a later one is true instead."""
        return self._table.text()

    @property
    def _table(self) -> PrintedTable:
        rows = [
            [
                ("→ " if assumption is self.recommended else "  ") + assumption.name,
                assumption.verdict,
                "–" if assumption.alpha is None else shown_above(assumption.alpha, 3),
                "" if assumption.relative_error is None else f"{shown_above(100 * assumption.relative_error, 2)} %",
                _if_wrong(assumption),
            ]
            for assumption in self.priced_assumptions
        ]
        headings = ["  assumption", "verdict", f"α (β = {self.beta:g})", f"of {self.compared_with}"]
        return PrintedTable([*headings, "ε you would really get"], rows)

    def _paragraph(self, assumption: PricedAssumption) -> Iterator[Block]:
        yield Words(_capital(assumption.name))
        yield _filled(f"Assumes: {assumption.assumes}", "  ")
        yield _filled(f"The table: {assumption.shown}", "  ")
        if assumption.reason and assumption.reason != assumption.shown:
            yield _filled(f"No price: {assumption.reason}", "  ")
        for line in assumption.shown_consequences:
            yield _filled(str(line), "  ")

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp advise --json` prints."""
        chosen = self.recommended
        return {
            "kind": "advice",
            "schema": 1,
            "query": self.query.to_dict(),
            "epsilon": self.epsilon,
            "beta": self.beta,
            **({} if self.delta is None else {"delta": self.delta}),
            "table": self.table_name,
            "recommended": None
            if chosen is None or chosen.model is None
            else {
                "name": chosen.name,
                "model": chosen.model.identity,
                "alpha": chosen.alpha,
                "relative_error": chosen.relative_error,
                "denied": chosen.denied,
                "why": self.why,
            },
            "ladder": [assumption.to_dict() for assumption in self.priced_assumptions],
            "shows": self.shows,
            "compared_with": self.compared_with,
            "outlook": self.outlook,
            "python": self.python,
            "shell": self.shell,
            "note": NOTE,
        }

    def plot(self, path: str | Path) -> Path:
        """Draw the error of every assumption and its leakage if a weaker one is true, and write the picture."""
        drawn: Path = hooks.call("plot.advice", self, path)
        return drawn


def _if_wrong(assumption: PricedAssumption) -> str:
    """Return the range of ε of an assumption's noise under the weaker ones that fit the table."""
    leaks = [line.epsilon for line in assumption.consequences if line.counts and line.epsilon is not None]
    if not leaks:
        return ""
    low, high = shown_above(min(leaks), 3), shown_above(max(leaks), 3)
    return low if low == high else f"{low} to {high}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _filled(text: str, indent: str = "") -> Words:
    return Words(text, indent, filled=True)
