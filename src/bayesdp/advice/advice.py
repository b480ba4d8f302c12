"""What `advise` returns: a ladder of assumptions, and which of them to take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayesdp._support import hooks
from bayesdp._support.display import Block, Code, Displayed, PrintedTable, Section, Words, lines
from bayesdp._support.documents import Document
from bayesdp._support.lazy import warn_renamed
from bayesdp.advice.next_steps import NextSteps
from bayesdp.advice.priced_assumption import HARMLESS, PricedAssumption
from bayesdp.models.diagnosis import Verdict
from bayesdp.queries import Query
from bayesdp.rounding import shown_above

__all__ = ["Advice"]

NOTE = (
    "This advice was computed from the data without any noise. It is for those who may see the data; no guarantee "
    "covers it, nor the choice of a model by it."
)


@dataclass(frozen=True)
class Advice(Displayed, Document):
    """Which models a table does not deny, what each costs, and what if one is wrong.

    Prints as a table, with what each rung assumes and the code to go on with; `plot(path)` draws it.

    query:       what would be asked.
    epsilon:     what would be promised.
    beta:        how often the error may reach the α of a rung.
    priced_assumptions: from the strongest assumption to the weakest, each with its price.
    recommended: the cheapest that is not denied, or whose denial changes ε by less than 10 %; if all are denied, the
                 one that assumes least. None if no noise is enough for any.
    shows:       what the table shows of memory, as sentences; empty for a column of numbers.
    table_name:  what the table is called.
    next_steps:  what `advise` was asked, from which the code to go on with is written.
    """

    query: Query
    epsilon: float
    beta: float
    priced_assumptions: tuple[PricedAssumption, ...]
    recommended: PricedAssumption | None
    shows: str
    table_name: str
    next_steps: NextSteps

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
        """Why the rung is recommended, as a sentence."""
        chosen = self.recommended
        if chosen is None:
            return "No noise is enough for any of these assumptions at this ε; ask for more, or name entities."
        if not chosen.denied:
            trusted = chosen.verdict == Verdict.NOT_TESTED
            untested = " But the table cannot test it: it rests on your word." if trusted else ""
            return f"{_capital(chosen.name)}: the cheapest that the table does not deny.{untested}"
        if chosen.harmless:
            return (
                f"{_capital(chosen.name)}: the table denies it, but what the table shows instead changes ε by less "
                f"than {100 * HARMLESS:g} %."
            )
        return (
            f"{_capital(chosen.name)}: the table denies every rung, and this is the one that assumes least. Whether "
            "what it leaks if it is wrong is acceptable is for you to decide."
        )

    @property
    def python(self) -> str:
        """The code to go on with, in Python; empty if nothing is recommended."""
        chosen = self.recommended
        if chosen is None:
            return ""
        return self.next_steps.python(chosen.model, self.query, self.epsilon, credible=chosen.credible)

    @property
    def shell(self) -> str:
        """The commands to go on with; empty if nothing is recommended."""
        chosen = self.recommended
        if chosen is None:
            return ""
        return self.next_steps.shell(chosen.model, self.query, self.epsilon, credible=chosen.credible)

    def _printed(self) -> Sequence[Section]:
        sections: list[Section] = [
            lines(f"{_capital(self.query.description)}, at ε = {self.epsilon:g}, from {self.table_name}."),
            [self._table],
            *([[_filled(self.shows)]] if self.shows else []),
            *([*self._paragraph(assumption)] for assumption in self.priced_assumptions),
            [_filled(f"Recommended: {self.why}")],
        ]
        if self.recommended is not None:
            sections += [lines("Go on in Python:"), [Code(self.python)]]
            sections += [lines("or on the command line:"), [Code(self.shell)]]
        return [*sections, [_filled(NOTE)]]

    def table(self) -> str:
        """Return the ladder as a text table: the verdict, the error, and what is leaked if the next rungs are true."""
        return self._table.text()

    @property
    def _table(self) -> PrintedTable:
        rows = [
            [
                ("→ " if assumption is self.recommended else "  ") + assumption.name,
                assumption.verdict,
                "–" if assumption.alpha is None else shown_above(assumption.alpha, 3),
                _if_wrong(assumption),
            ]
            for assumption in self.priced_assumptions
        ]
        return PrintedTable(
            ["  assumption", "verdict", f"α (β = {self.beta:g})", "ε if what the table shows is true"], rows
        )

    def _paragraph(self, assumption: PricedAssumption) -> Iterator[Block]:
        yield Words(_capital(assumption.name))
        yield _filled(f"Assumes: {assumption.assumes}", "  ")
        yield _filled(f"The table: {assumption.shown}", "  ")
        if assumption.reason and assumption.reason != assumption.shown:
            yield _filled(f"No price: {assumption.reason}", "  ")
        for line in assumption.consequences:
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
            "table": self.table_name,
            "recommended": None
            if chosen is None or chosen.model is None
            else {
                "name": chosen.name,
                "model": chosen.model.identity,
                "alpha": chosen.alpha,
                "denied": chosen.denied,
                "why": self.why,
            },
            "ladder": [assumption.to_dict() for assumption in self.priced_assumptions],
            "shows": self.shows,
            "python": self.python,
            "shell": self.shell,
            "note": NOTE,
        }

    def plot(self, path: str | Path) -> Path:
        """Draw for every rung its error and what it leaks if a weaker one is true, and write the picture."""
        drawn: Path = hooks.call("plot.advice", self, path)
        return drawn


def _if_wrong(assumption: PricedAssumption) -> str:
    """Return what the noise of a rung leaks if what the table shows is true, from the least to the most."""
    leaks = [line.epsilon for line in assumption.consequences if line.counts and line.epsilon is not None]
    if not leaks:
        return ""
    low, high = shown_above(min(leaks), 3), shown_above(max(leaks), 3)
    return low if low == high else f"{low} to {high}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _filled(text: str, indent: str = "") -> Words:
    return Words(text, indent, filled=True)
