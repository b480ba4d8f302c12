"""A released answer: the number, how far off it may be, what it cost, and what it rests on."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from math import ulp
from typing import TYPE_CHECKING, Any

from bayesdp import validation
from bayesdp.accuracy import DiscreteLaplace
from bayesdp.documents import Document
from bayesdp.errors import BayesDPError, InvalidInputError, LedgerError
from bayesdp.leakage.report import BETA
from bayesdp.queries import Query, query_from_dict
from bayesdp.rounding import float_above, float_below, shown_above, shown_below
from bayesdp.validation import brief

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Answer", "Value"]

Value = int | float | tuple[int, ...]
"""A count, a sum or mean, or the cells of a histogram."""

SCHEMA = 1

_TEXTS = (
    *("dataset", "theorem", "proof", "scope", "protects", "assumption", "timestamp"),
    *("query_fingerprint", "model_fingerprint", "head"),
)


@dataclass(frozen=True)
class Answer(Document):
    """What a session has released. Prints as sentences; JSON in and out; `statement()` is a page to file.

    value:           the answer with its noise, as it came out: never rounded, clamped or made consistent.
    tau, noise:      the ordinary privacy of this release, and the scale of its discrete Laplace noise, in `unit`s.
    unit:            what one unit of noise is worth: 1 for counts, the grid's step for a sum, step/records for a mean.
    rounding:        how far rounding onto the grid can have moved the answer, besides the noise.
    epsilon:         by how much this release raised the leakage.
    epsilon_total, epsilon_remaining: the account when the answer was given.
    records:         the public number of records.
    protects:        what the guarantee protects (the privacy unit); scope: which values it covers.
    entry, head:     the ledger's entry that charged it, and the hash of the ledger up to there.
    beta:            accuracies and intervals are stated for this probability of being wrong, unless another is asked.
    reused:          it was released before, and given again at no cost.

    Two answers are equal if they are the same release, whenever and for whatever β they were given.
    """

    value: Value
    query: Query
    dataset: str
    records: int
    tau: float
    noise: float
    unit: float
    rounding: float
    epsilon: float
    epsilon_total: float = field(compare=False)
    epsilon_remaining: float = field(compare=False)
    theorem: str
    proof: str
    scope: str
    protects: str
    assumption: str
    timestamp: str
    query_fingerprint: str
    model_fingerprint: str
    entry: int
    head: str
    notes: Sequence[str] = field(default=())
    worst_case: str | None = None
    beta: float = field(default=BETA, compare=False)
    reused: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("tau", "noise", "unit"):
            validation.positive(name, getattr(self, name))
        for name in ("rounding", "epsilon", "epsilon_total", "epsilon_remaining"):
            if validation.number(name, getattr(self, name)) < 0:
                raise InvalidInputError(f"{name} must be at least 0, not {getattr(self, name):g}")
        for name in ("records", "entry"):
            validation.natural(name, getattr(self, name))
        for name in _TEXTS:
            validation.text(name, getattr(self, name))
        if self.worst_case is not None:
            validation.text("worst_case", self.worst_case)
        if self.epsilon_total < self.epsilon:
            raise InvalidInputError(f"epsilon_total cannot be below epsilon, {self.epsilon:g}")
        validation.probability("beta", self.beta)
        if not isinstance(self.reused, bool):
            raise InvalidInputError(f"reused must be true or false, not {brief(self.reused)}")
        object.__setattr__(self, "notes", tuple(validation.items("notes", self.notes)))
        for note in self.notes:
            validation.text("notes", note)
        object.__setattr__(self, "value", _checked_value(self.value, self.query))

    @property
    def scale(self) -> float:
        """The scale of the noise in the units of the answer."""
        return float_above(Fraction(self.noise) * Fraction(self.unit))

    def accuracy(self, beta: float | None = None) -> float:
        """Return α: the answer (every cell of a histogram at once) is off by α or more with probability at most β."""
        return float_above(Fraction(self._units(beta)) * Fraction(self.unit) + self._slack)

    def interval(self, level: float | None = None) -> tuple[float, float] | tuple[tuple[float, float], ...]:
        """Return where the true answer lies with probability at least `level`; for a histogram, all cells at once.

        The rounding of the grid is included. The interval may reach below zero: nothing is clamped.
        """
        half = Fraction(self.reach(None if level is None else 1 - validation.probability("level", level)))
        cells = self.value if isinstance(self.value, tuple) else (self.value,)
        found = tuple((float_below(Fraction(cell) - half), float_above(Fraction(cell) + half)) for cell in cells)
        return found if isinstance(self.value, tuple) else found[0]

    def reach(self, beta: float | None = None) -> float:
        """Return how far the interval of level 1 − β reaches to either side."""
        return float_above(Fraction(self._units(beta) - 1) * Fraction(self.unit) + self._slack)

    def _units(self, beta: float | None) -> float:
        """Return the α of the noise, in units."""
        beta = self.beta if beta is None else validation.probability("beta", beta)
        return DiscreteLaplace(self.noise).alpha(beta, cells=self.query.dimension)

    @property
    def level(self) -> float:
        """The probability with which the interval holds, unless another is asked for."""
        return 1 - self.beta

    @property
    def _share(self) -> str:
        return f"{shown_below(100 * self.level)} %"

    @property
    def guarantee(self) -> str:
        """What an attacker can learn at most, in sentences."""
        raised, total = shown_above(self.epsilon), shown_above(self.epsilon_total)
        left = shown_below(self.epsilon_remaining)
        account = (
            f"This answer was released before and costs nothing again. It raised what {self.dataset} has leaked by "
            f"ε = {raised}; by now ε = {total} has leaked in all ({left} remain)"
            if self.reused
            else f"This answer raises what {self.dataset} has leaked by ε = {raised}, to ε = {total} in all "
            f"({left} remain)"
        )
        sentences = [
            account,
            f"What is protected is {self.protects}",
            f"This is proven (theorem {self.theorem}, {self.proof}) if {self.assumption}",
            f"It covers {self.scope}, and treats the number of records ({self.records}) as public",
            *([f"The worst case: {self.worst_case}"] if self.worst_case else []),
        ]
        return " ".join([f"{sentence}." for sentence in sentences] + list(self.notes))

    def __str__(self) -> str:
        return (
            f"{self.query.description} is {self.shown()}, off by less than {shown_above(self.accuracy())} "
            f"in {self._share} of cases. {self.guarantee}"
        )

    def statement(self) -> str:
        """Return one page, in Markdown, that a data-protection officer can file."""
        from bayesdp.statement import statement

        return statement(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp release --json` prints; `from_dict` reads it back."""
        entries = {item.name: getattr(self, item.name) for item in fields(self)}
        for name in ("value", "notes"):
            entries[name] = list(entries[name]) if isinstance(entries[name], tuple) else entries[name]
        interval = self.interval()
        return (
            {"schema": SCHEMA}
            | entries
            | {
                "query": self.query.to_dict(),
                "scale": self.scale,
                "alpha": self.accuracy(),
                "interval": [list(cell) if isinstance(cell, tuple) else cell for cell in interval],
                "interval_level": self.level,
            }
        )

    @classmethod
    def from_dict(cls, document: object) -> Answer:
        """Read an answer from its JSON object.

        Raises InvalidInputError for what is not one, and for one whose accuracy does not follow from its noise.
        """
        if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
            raise InvalidInputError(f"expected an answer's JSON object of schema {SCHEMA}, not {brief(document)}")
        known = {item.name for item in fields(cls)}
        entries = {name: value for name, value in document.items() if name in known}
        missing = sorted(known - set(entries) - {"notes", "worst_case", "beta", "reused"})
        if missing:
            raise InvalidInputError(f"the answer lacks {', '.join(missing)}")
        answer = cls(**{**entries, "query": query_from_dict(entries["query"])})
        derived = {name: value for name, value in answer.to_dict().items() if name not in known}
        wrong = sorted(name for name, value in derived.items() if document.get(name, value) != value)
        if wrong:
            raise InvalidInputError(f"the answer's {', '.join(wrong)} cannot be right: the rest of it says otherwise")
        return answer

    @classmethod
    def stored(cls, body: object) -> Answer:
        """Read an answer from what a ledger stored of it; LedgerError if that is damaged."""
        try:
            return cls.from_dict(body)
        except (BayesDPError, TypeError, KeyError) as error:
            raise LedgerError(f"the ledger is damaged: an answer cannot be read ({error}); verify it") from None

    def differences(self, stored: Answer) -> tuple[str, ...]:
        """Return the names of the entries in which this is not the answer that was stored when it was released.

        One that was given again may state the account of that later moment, and its accuracy for another β.
        """
        names = [item.name for item in fields(self) if item.compare or not self.reused]
        return tuple(name for name in names if getattr(self, name) != getattr(stored, name))

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>"
            for name, text in self._rows()
        )
        return f"<table>{rows}</table><p>{html.escape(self.guarantee)}</p>"

    def __rich__(self) -> Table:
        from rich.table import Table

        table = Table(title=self.query.description, show_header=False, caption=self.guarantee)
        for name, text in self._rows():
            table.add_row(name, text)
        return table

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("answer", self.shown()),
            ("off by less than", f"{shown_above(self.accuracy())} in {self._share} of cases"),
            ("ε of this release", shown_above(self.epsilon)),
            ("ε in all", shown_above(self.epsilon_total)),
            ("ε remaining", shown_below(self.epsilon_remaining)),
            ("τ", shown_below(self.tau)),
            ("theorem", self.theorem),
            ("data set", self.dataset),
            ("time", self.timestamp),
        ]

    @property
    def _slack(self) -> Fraction:
        """How far the number may be off besides its noise: the grid's rounding, and that of the float it is."""
        shown = max((ulp(cell) for cell in (self.value,) if isinstance(cell, float)), default=0.0)
        return Fraction(self.rounding) + Fraction(shown)

    def shown(self) -> str:
        """Return the value as text; the cells of a histogram with their names."""
        if not isinstance(self.value, tuple):
            return f"{self.value:.15g}" if isinstance(self.value, float) else str(self.value)
        return ", ".join(f"{cell}: {count}" for cell, count in zip(self.query.values, self.value, strict=True))


def _checked_value(value: object, query: Query) -> Value:
    """Return a value of the query's kind: a whole number, a number, or a whole number for every cell."""
    cells = tuple(validation.items("value", value)) if query.kind == "histogram" else (value,)
    if len(cells) != query.dimension:
        raise InvalidInputError(f"value must have {query.dimension} cells, not {len(cells)}")
    numbers = [validation.number("value", cell) for cell in cells]
    if query.kind in ("sum", "mean"):
        return numbers[0]
    if not all(isinstance(cell, int) for cell in cells):
        raise InvalidInputError(f"value must be whole, not {brief(value)}")
    counts = tuple(int(cell) for cell in cells if isinstance(cell, int))
    return counts if query.kind == "histogram" else counts[0]
