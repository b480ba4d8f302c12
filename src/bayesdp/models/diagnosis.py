"""Diagnoses: a finding for each assumption tested, and their overall verdict. JSON in and out."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path, PurePath
from typing import Any, Self

from bayesdp._support import hooks, validation
from bayesdp._support.display import Displayed, PrintedTable, Section, lines
from bayesdp._support.documents import Document, checked
from bayesdp._support.validation import brief
from bayesdp.errors import ModelError

__all__ = ["Diagnosis", "Finding", "Verdict", "least_alarming", "today", "worst"]

KIND, SCHEMA = "diagnosis", 1

NOTES = (
    "A test can find a violation, but cannot prove an assumption: fine means that a test that would have found a "
    "deviation that matters found none.",
    "This report was computed from the data without any noise. It is for those who may see the data; no guarantee "
    "covers it.",
)

UNNAMED = "the table"
"""The name of a table without a name of its own."""


class Verdict(StrEnum):
    """The verdict of a table on an assumption, from the least to the most alarming; each is a text and prints as such.

    >>> Verdict.FINE == "fine", Verdict("not tested"), f"{Verdict.VIOLATED}"
    (True, 'not tested', 'violated')
    """

    FINE = "fine"
    NOT_TESTED = "not tested"
    DOUBTFUL = "doubtful"
    VIOLATED = "violated"

    def __repr__(self) -> str:
        return repr(self.value)


_now = partial(datetime.datetime.now, datetime.UTC)

_RANK = {verdict: rank for rank, verdict in enumerate(Verdict)}
_MARKS = {Verdict.FINE: "✓", Verdict.NOT_TESTED: "–", Verdict.DOUBTFUL: "?", Verdict.VIOLATED: "✗"}


def today() -> str:
    """Return the date of a diagnosis that is made now, in UTC.

    >>> len(today())
    10
    """
    return _now().date().isoformat()


def worst(*verdicts: Verdict) -> Verdict:
    """Return the verdict of several: violated if any is, else doubtful, else not tested; fine only if all are.

    >>> worst(Verdict.FINE, Verdict.DOUBTFUL, Verdict.NOT_TESTED), worst(Verdict.FINE, Verdict.FINE), worst()
    ('doubtful', 'fine', 'not tested')
    """
    return max(verdicts, key=_RANK.__getitem__, default=Verdict.NOT_TESTED)


@dataclass(frozen=True)
class Finding:
    """One assumption, tested.

    name:    the assumption in a word or two.
    tested:  the question and the test.
    figure:  the statistic, its degrees of freedom, the p-value and the size of the deviation; empty if there is none.
    verdict: a Verdict, or its text.
    meaning: the consequence for the guarantee, or the reason why nothing was tested.
    advice:  what to do; empty if nothing.
    values:  the figures as finite numbers.
    word:    the word to show instead of the verdict, such as "present".

    Raises ModelError for another verdict and for values that are not finite.

    >>> print(Finding("order", "Is one record enough?", "p = 0.7", "fine", "It is.", ""))
    ✓ order: fine. Is one record enough? p = 0.7. It is.
    """

    name: str
    tested: str
    figure: str
    verdict: Verdict
    meaning: str
    advice: str
    values: Mapping[str, float] = field(default_factory=dict, hash=False)
    word: str = ""

    def __post_init__(self) -> None:
        for name in ("tested", "figure", "meaning", "advice", "word"):
            _text(f"the {name} of a finding", getattr(self, name))
        validation.line("the name of a finding", self.name, ModelError)
        object.__setattr__(self, "verdict", _verdict(self.verdict))
        if not isinstance(self.values, Mapping) or not all(isinstance(key, str) for key in self.values):
            raise ModelError(f"the values of a finding must be numbers by name, not {brief(self.values)}")
        values = {
            key: validation.number(f"the value {key!r} of a finding", value, ModelError)
            for key, value in self.values.items()
        }
        object.__setattr__(self, "values", values)

    @property
    def shown(self) -> str:
        """The verdict as it is printed, or the word that replaces it."""
        return self.word or self.verdict

    def __str__(self) -> str:
        figure = f"{self.figure}." if self.figure else ""
        parts = [f"{_MARKS[self.verdict]} {self.name}: {self.shown}.", self.tested, figure, self.meaning, self.advice]
        return " ".join(part for part in parts if part)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as a JSON object."""
        return {
            "name": self.name,
            "verdict": self.verdict,
            "word": self.word,
            "tested": self.tested,
            "figure": self.figure,
            "values": dict(self.values),
            "meaning": self.meaning,
            "advice": self.advice,
        }

    @classmethod
    def from_dict(cls, document: object) -> Self:
        """Read a finding from its JSON object.

        Raises ModelError for entries that are missing, unknown or of another type.

        >>> order = Finding("order", "Is one record enough?", "p = 0.7", "fine", "It is.", "", {"p_value": 0.7})
        >>> Finding.from_dict(order.to_dict()) == order
        True
        """
        known = ("name", "verdict", "tested", "figure", "values", "meaning", "advice")
        return cls(**_entries("a finding", document, known, ("word",)))


@dataclass(frozen=True)
class Diagnosis(Displayed, Document):
    """The diagnosis of a model on a table: `table()` is the short form, `brief` the form that answers may include.

    assumption: the model's assumption, as the end of a sentence that begins with "if".
    records:    the number of records examined.
    basis:      the same in words, with the entities or groups.
    trusted:    sentences on what no test of this table can check.
    date:       the day of the diagnosis, in UTC, such as "2026-11-16"; empty if unknown.
    table_name: the name of the table, without its folders.
    rows:       the number of rows of the table, including those with missing values.

    >>> fine = Finding("order", "Is one record enough?", "p = 0.7", "fine", "It is.", "")
    >>> diagnosis = Diagnosis("the records follow a chain", (fine,), 100, "100 records of 1 entity")
    >>> diagnosis.verdict
    'fine'
    >>> print(diagnosis.table())
    assumption  verdict  figure
    ----------  -------  -------
    order          fine  p = 0.7
    """

    assumption: str
    findings: tuple[Finding, ...]
    records: int
    basis: str
    trusted: tuple[str, ...] = ()
    date: str = ""
    table_name: str = UNNAMED
    rows: int = 0

    def __post_init__(self) -> None:
        _text("the assumption of a diagnosis", self.assumption)
        _text("the basis of a diagnosis", self.basis)
        if not all(isinstance(finding, Finding) for finding in self.findings):
            raise ModelError("the findings of a diagnosis must be Finding(...)")
        for sentence in self.trusted:
            _text("what a diagnosis does not test", sentence)
        object.__setattr__(self, "findings", tuple(self.findings))
        object.__setattr__(self, "trusted", tuple(self.trusted))
        object.__setattr__(self, "date", _date(self.date))
        validation.line("the table of a diagnosis", self.table_name, ModelError)
        for name in ("records", "rows"):
            number = validation.natural(f"the {name} of a diagnosis", getattr(self, name), ModelError, least=0)
            object.__setattr__(self, name, number)

    @property
    def verdict(self) -> Verdict:
        """The most alarming verdict of the findings; "not tested" if there are none."""
        return worst(*(finding.verdict for finding in self.findings))

    @property
    def violated(self) -> tuple[str, ...]:
        """The names of the assumptions that the data contradict."""
        return tuple(finding.name for finding in self.findings if finding.verdict == Verdict.VIOLATED)

    def is_about(self, table_name: str, rows: int) -> bool:
        """Return whether this is a diagnosis of the table, judging by its name and number of rows.

        For frames in memory, which have no name, the number of rows decides.
        """
        names = {self.table_name, PurePath(table_name).name or table_name} - {UNNAMED}
        return self.rows == rows and len(names) < 2

    @property
    def brief(self) -> dict[str, Any]:
        """The verdicts as a short JSON object for answers and ledgers, without figures, which are exact statistics."""
        return {
            "verdict": self.verdict,
            "date": self.date or "unknown",
            "table": self.table_name,
            "rows": self.rows,
            "findings": [{"name": finding.name, "verdict": finding.shown} for finding in self.findings],
        }

    def _printed(self) -> Sequence[Section]:
        seen = f"{self.table_name}, {self.date}: {self.basis}" if self.date else self.basis
        head = f"Assumed: {self.assumption}. Looked at: {seen}. Verdict: {self.verdict}."
        trust = [" ".join(["Taken on trust:", *self.trusted])] if self.trusted else []
        return [lines(text) for text in (head, *map(str, self.findings), *trust, " ".join(NOTES))]

    def _shown(self) -> Sequence[Section]:
        head, *rest = self._printed()
        return [head, [self._table], *rest]

    def table(self) -> str:
        """Return the verdicts as a text table, each with its first figure or the reason why there is none."""
        return self._table.text()

    @property
    def _table(self) -> PrintedTable:
        rows = [
            [finding.name, finding.shown, finding.figure.partition(";")[0] or finding.meaning]
            for finding in self.findings
        ]
        return PrintedTable(["assumption", "verdict", "figure"], rows)

    def plot(self, path: str | Path) -> Path:
        """Plot the p-value of every finding, and write the picture (.png, .svg or .pdf)."""
        drawn: Path = hooks.call("plot.diagnosis", self, path)
        return drawn

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp diagnose --json` prints."""
        return {
            "kind": KIND,
            "schema": SCHEMA,
            "assumption": self.assumption,
            "date": self.date,
            "table": self.table_name,
            "rows": self.rows,
            "records": self.records,
            "basis": self.basis,
            "verdict": self.verdict,
            "findings": [finding.to_dict() for finding in self.findings],
            "trusted": list(self.trusted),
            "notes": list(NOTES),
        }

    @classmethod
    def from_dict(cls, document: object) -> Self:
        """Read a diagnosis from its JSON object.

        Raises ModelError for entries that are missing, unknown or of another type, and for a verdict that is not the
        one its findings come to.

        >>> order = Finding("order", "Is one record enough?", "p = 0.7", "fine", "It is.", "", {"p_value": 0.7})
        >>> diagnosis = Diagnosis("the records follow a chain", (order,), 100, "100 records", date="2026-11-16")
        >>> Diagnosis.from_dict(diagnosis.to_dict()) == diagnosis
        True
        """
        known = ("assumption", "date", "table", "rows", "records", "basis", "verdict", "findings", "trusted", "notes")
        entries = _entries("a diagnosis", checked(document, KIND, SCHEMA, ModelError), known, ("kind", "schema"))
        entries = {name: entries[name] for name in known}
        _texts("the notes of a diagnosis", entries.pop("notes"))
        verdict = _verdict(entries.pop("verdict"))
        findings = validation.items("the findings of a diagnosis", entries.pop("findings"), ModelError)
        trusted = _texts("what a diagnosis does not test", entries.pop("trusted"))
        table = entries.pop("table")
        read = cls(**entries, table_name=table, findings=tuple(map(Finding.from_dict, findings)), trusted=trusted)
        if verdict != read.verdict:
            raise ModelError(
                f'the verdict of the diagnosis is "{verdict}", but that of its findings is "{read.verdict}"'
            )
        return read


def least_alarming(diagnoses: Sequence[Diagnosis | None]) -> Diagnosis | None:
    """Return the diagnosis with the least alarming verdict; None if one is missing."""
    given = [diagnosis for diagnosis in diagnoses if diagnosis is not None]
    if not given or len(given) < len(diagnoses):
        return None
    return min(given, key=lambda diagnosis: _RANK[diagnosis.verdict])


def _entries(what: str, document: object, known: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the entries of a JSON object that has all of `known`, and otherwise only entries of `optional`."""
    if not isinstance(document, Mapping):
        raise ModelError(f"{what} must be a JSON object, not {brief(document)}")
    for key in document:
        if key not in (*known, *optional):
            raise ModelError(f"{what} has no {brief(key)}; it has {', '.join((*known, *optional))}")
    for key in known:
        if key not in document:
            raise ModelError(f'{what} needs "{key}"')
    return dict(document)


def _verdict(value: object) -> Verdict:
    if isinstance(value, str) and value in _RANK:
        return Verdict(value)
    raise ModelError(f"a verdict is one of {', '.join(Verdict)}, not {brief(value)}")


def _date(value: object) -> str:
    """Return an ISO date in its one form, or an empty text."""
    if value == "":
        return ""
    text = _text("the date of a diagnosis", value)
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise ModelError(f"the date of a diagnosis must be one such as 2026-11-16, not {brief(value)}") from None


def _texts(name: str, value: object) -> tuple[str, ...]:
    return tuple(_text(name, text) for text in validation.items(name, value, ModelError))


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ModelError(f"{name} must be a text, not {brief(value)}")
    return value
