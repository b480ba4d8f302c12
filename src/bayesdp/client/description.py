"""What a server says of a data set: nothing in it depends on a private value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bayesdp._support import documents, validation
from bayesdp._support.display import Displayed, PrintedTable, Section
from bayesdp._support.documents import Document
from bayesdp._support.validation import Scalar, brief
from bayesdp.rounding import shown_above, shown_remaining

__all__ = ["Description"]

KIND, SCHEMA = "dataset", 1

_SHOWN = 12
"""So many values of a public column are printed."""


@dataclass(frozen=True)
class Description(Displayed, Document):
    """What an analyst may know of a data set before he asks.

    columns:   the name and the declared type of each column.
    public:    the columns that anyone may know, each with its allowed values; None if every value is allowed.
    model:     what is assumed about how records are correlated: "type", "assumption" and "protects".
    queries:   the kinds of questions that may be asked.
    budget, delta, epsilon_total, epsilon_remaining: the account. `delta` is None if it promises ε alone.
    allowance: the analyst's own: ε a "day" and in "total", and what remains of both; None without limits.
    """

    dataset: str
    columns: Sequence[tuple[str, str]]
    public: Mapping[str, Sequence[Scalar] | None] = field(hash=False)
    model: Mapping[str, str] = field(hash=False)
    queries: Sequence[str]
    budget: float
    delta: float | None
    epsilon_total: float
    epsilon_remaining: float
    allowance: Mapping[str, float | None] | None = field(default=None, hash=False)

    @classmethod
    def from_dict(cls, document: object) -> Description:
        """Read a description from its JSON object; InvalidInputError for what is none."""
        read = documents.checked(document, KIND, SCHEMA)
        columns = [validation.mapping("a column", entry) for entry in validation.items("columns", read.get("columns"))]
        model = validation.mapping("model", read.get("model"))
        allowance, delta = read.get("allowance"), read.get("delta")
        return cls(
            dataset=validation.text("dataset", read.get("dataset")),
            columns=tuple((str(column.get("name")), str(column.get("type"))) for column in columns),
            public={name: _values(values) for name, values in validation.mapping("public", read.get("public")).items()},
            model={name: str(text) for name, text in model.items()},
            queries=tuple(map(str, validation.items("queries", read.get("queries")))),
            budget=validation.not_negative("budget", read.get("budget")),
            delta=None if delta is None else validation.probability("delta", delta),
            epsilon_total=validation.not_negative("epsilon_total", read.get("epsilon_total")),
            epsilon_remaining=validation.not_negative("epsilon_remaining", read.get("epsilon_remaining")),
            allowance=None if allowance is None else _limits(allowance),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object, as the server sent it."""
        columns = [{"name": name, "type": kind} for name, kind in self.columns]
        return {"kind": KIND, "schema": SCHEMA, **vars(self), "columns": columns}

    def _printed(self) -> Sequence[Section]:
        columns = [[name, kind, self._allowed(name)] for name, kind in self.columns]
        columns += [[name, "", self._allowed(name)] for name in self.public if name not in dict(self.columns)]
        at = "" if self.delta is None else f" at δ = {shown_above(self.delta)}"
        account = [
            ["model", f"{self.model.get('type', '')}: {self.model.get('assumption', '')}"],
            ["protected", self.model.get("protects", "")],
            ["questions", ", ".join(self.queries)],
            ["ε leaked", f"{shown_above(self.epsilon_total)}{at}"],
            ["ε remaining", shown_remaining(self.epsilon_remaining, self.budget)],
            ["budget", f"{self.budget:g}"],
            *self._own(),
        ]
        return [
            [PrintedTable(["data set", self.dataset], account)],
            [PrintedTable(["column", "type", "public values"], columns)],
        ]

    def _allowed(self, column: str) -> str:
        """Return the values of a public column in words; empty for a private one."""
        if column not in self.public:
            return ""
        values = self.public[column]
        if values is None:
            return "public"
        more = ["…"] if len(values) > _SHOWN else []
        return ", ".join([*map(brief, values[:_SHOWN]), *more])

    def _own(self) -> list[list[str]]:
        """Return what remains of the analyst's own allowance."""
        limits = self.allowance or {}
        rows = (("day", "today"), ("total", "in all"))
        known = ((f"your ε {words}", limits.get(f"{name}_remaining"), limits.get(name)) for name, words in rows)
        return [[name, shown_remaining(left, most)] for name, left, most in known if left is not None and most]


def _values(values: object) -> tuple[Scalar, ...] | None:
    if values is None:
        return None
    return tuple(validation.scalar("public", value) for value in validation.items("public", values))


def _limits(allowance: object) -> dict[str, float | None]:
    entries = validation.mapping("allowance", allowance)
    return {
        name: None if amount is None else validation.not_negative("allowance", amount)
        for name, amount in entries.items()
    }
