"""A released answer: the number, how far off it may be, what it cost, and what it rests on."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from fractions import Fraction
from math import ulp
from typing import TYPE_CHECKING, Any

from bayesdp._support import validation
from bayesdp._support.documents import Document
from bayesdp._support.validation import brief
from bayesdp.accuracy import DiscreteLaplace
from bayesdp.errors import BayesDPError, InvalidInputError, LedgerError
from bayesdp.queries import Query, Value, query_from_dict
from bayesdp.rounding import float_above, float_below, nearest, shown_above, shown_below, shown_odds, shown_remaining
from bayesdp.session.publishing import last_place, shortened, shortened_accuracy, warnings_about
from bayesdp.theorems.leakage import BETA

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Answer", "Value"]

SCHEMA = 1

_TEXTS = (
    *("dataset", "theorem", "proof", "scope", "protects", "assumption", "timestamp"),
    *("query_fingerprint", "model_fingerprint", "head"),
)
_OPTIONAL_TEXTS = ("worst_case", "accepted", "by", "version", "ledger", "parameters")
_DIAGNOSIS = ("verdict", "date", "table")


@dataclass(frozen=True)
class Answer(Document):
    """What a session has released. Prints as five lines; JSON in and out; `statement()` is a page to file.

    value:           the answer with its noise, as it came out: never rounded, clamped or made consistent. `rounded` is
                     the number to publish.
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
    diagnosis:       what a table said about the model: "verdict", "date", "table", "rows" and "findings", each of them
                     with "name" and "verdict"; None if the model was never diagnosed.
    accepted:        why it was released although the diagnosis says that the model is violated.
    by, version, ledger: who is responsible, the version of this library, and where the ledger is, without a password.
    parameters:      the assumed probabilities or correlations, in readable lines.

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
    diagnosis: Mapping[str, Any] | None = field(default=None, compare=False, hash=False)
    accepted: str | None = field(default=None, compare=False)
    by: str | None = field(default=None, compare=False)
    version: str | None = None
    ledger: str | None = None
    parameters: str | None = None

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
        for name in _OPTIONAL_TEXTS:
            if getattr(self, name) is not None:
                validation.text(name, getattr(self, name))
        if self.epsilon_total < self.epsilon:
            raise InvalidInputError(f"epsilon_total cannot be below epsilon, {self.epsilon:g}")
        validation.probability("beta", self.beta)
        if not isinstance(self.reused, bool):
            raise InvalidInputError(f"reused must be true or false, not {brief(self.reused)}")
        object.__setattr__(self, "notes", tuple(validation.items("notes", self.notes)))
        for note in self.notes:
            validation.text("notes", note)
        object.__setattr__(self, "value", self.query.checked_value(self.value))
        if self.diagnosis is not None:
            object.__setattr__(self, "diagnosis", _checked_diagnosis(self.diagnosis))

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
        found = tuple((float_below(Fraction(cell) - half), float_above(Fraction(cell) + half)) for cell in self._cells)
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
    def rounded(self) -> Value:
        """The answer to publish: rounded to the digits that the noise leaves, and within the range of possible answers.

        The last digit kept is one place below the first digit of the interval's half-width: 4248 ± 374 becomes 4250,
        0.50347 ± 0.0051 becomes 0.5035. Counts stay whole. What then lies outside the range is moved to its end: a
        count lies between 0 and the public number of records, a sum between that number times each bound (or 0, if a
        filter may leave records out), a mean between its bounds. Only the released number is looked at: this costs no
        privacy.
        """
        low, high = self.query.possible(self.records)
        cells = [min(max(shortened(cell, self._last_place), low), high) for cell in self._cells]
        numbers = tuple(int(cell) if self.query.whole else nearest(cell) for cell in cells)
        return numbers if isinstance(self.value, tuple) else numbers[0]

    @property
    def _last_place(self) -> Fraction:
        return last_place(self.reach(), whole=self.query.whole)

    @property
    def _cells(self) -> Sequence[int | float]:
        return _cells(self.value)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must stand beside the number, in sentences: it is drowned by noise, hardly protected, or denied."""
        denied = ["The data contradict the assumption: nothing is proven for them."] if self.denied else []
        return (*warnings_about(self.query, self.records, self._printed_accuracy, self.epsilon_total), *denied)

    @property
    def _printed_accuracy(self) -> float:
        """The α of the rounded answer."""
        return shortened_accuracy(self.accuracy(), self._cells, self._last_place)

    @property
    def denied(self) -> bool:
        """Whether a table contradicts the assumption, so that nothing is proven about it."""
        return self.diagnosis is not None and self.diagnosis["verdict"] == "violated"

    @property
    def verdict(self) -> str:
        """What a table said about the model, in a few words; with the reason, if that had to be accepted."""
        said = "never diagnosed on a table" if self.diagnosis is None else str(self.diagnosis["verdict"])
        return said if self.accepted is None else f"{said} by the data; released anyway because: {self.accepted}"

    @property
    def tested(self) -> str:
        """What a table said about the model, and which table, as a sentence without its full stop."""
        if self.diagnosis is None:
            said = "This model was never diagnosed on a table"
        else:
            said = "The diagnosis of this model on {table} ({rows} rows, {date}) says: {verdict}".format(
                **self.diagnosis
            )
        return said if self.accepted is None else f"{said}; released anyway because: {self.accepted}"

    @property
    def left(self) -> str:
        """What remains of the budget, as text."""
        return shown_remaining(self.epsilon_remaining, self.epsilon_total + self.epsilon_remaining)

    @property
    def guarantee(self) -> str:
        """What an attacker can learn at most, in sentences."""
        raised, total = shown_above(self.epsilon), shown_above(self.epsilon_total)
        account = (
            f"This answer was released before and costs nothing again. It raised what {self.dataset} has leaked by "
            f"ε = {raised}; by now ε = {total} has leaked in all (remaining: {self.left})"
            if self.reused
            else f"This answer raises what {self.dataset} has leaked by ε = {raised}, to ε = {total} in all "
            f"(remaining: {self.left})"
        )
        sentences = [
            f"{account}: {shown_odds(self.epsilon_total)}",
            f"What is protected is {self.protects}",
            f"This {'would be' if self.denied else 'is'} proven (theorem {self.theorem}, {self.proof}) if "
            f"{self.assumption}",
            self.tested,
            f"It covers {self.scope}, and treats the number of records ({self.records}) as public",
            *([f"The worst case: {self.worst_case}"] if self.worst_case else []),
        ]
        return " ".join([f"{sentence}." for sentence in sentences] + list(self.notes) + list(self.warnings))

    def __str__(self) -> str:
        cost = (
            f"It cost ε = {shown_above(self.epsilon)}"
            if not self.reused
            else "Released before; repeating it costs nothing"
        )
        protected = "Were the model right, it would protect" if self.denied else "It protects"
        lines = [
            f"{_capitalised(self.query.description)}: {self.published}",
            f"Off by less than {self.off_by}.",
            f"{cost}; {self.dataset} has leaked ε = {shown_above(self.epsilon_total)} in all; remaining: {self.left}.",
            f"{protected} {self.protects}: {shown_odds(self.epsilon_total)}.",
            f"{'It would be proven' if self.denied else 'Proven'} ({self.theorem}) if {self.assumption}. "
            f"Model: {self.verdict}. The statement says more.",
        ]
        return "\n".join([*lines, *(f"Warning: {warning}" for warning in self.warnings)])

    @property
    def published(self) -> str:
        """The rounded answer as text, with the unrounded one in brackets if it is another."""
        return _both(self.shown(self.rounded), self.shown())

    @property
    def off_by(self) -> str:
        """By less than what the answer is off, rounded and as it came out, and how often, as text."""
        figures = _both(shown_above(self._printed_accuracy), shown_above(self.accuracy()))
        return f"{figures} in {shown_below(100 * self.level)} % of cases"

    def statement(self) -> str:
        """Return one page, in Markdown, that a data-protection officer can file; `statement.write` makes HTML."""
        from bayesdp.session.statement import statement

        return statement(self).markdown()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp release --json` prints; `from_dict` reads it back."""
        entries = {item.name: getattr(self, item.name) for item in fields(self)}
        rounded, interval = self.rounded, self.interval()
        return (
            {"schema": SCHEMA, "rounded": _listed(rounded)}
            | entries
            | {
                "value": _listed(self.value),
                "notes": list(self.notes),
                "query": self.query.to_dict(),
                "scale": self.scale,
                "alpha": self.accuracy(),
                "interval": [_listed(cell) for cell in interval],
                "interval_level": self.level,
                "warnings": list(self.warnings),
            }
        )

    @classmethod
    def from_dict(cls, document: object) -> Answer:
        """Read an answer from its JSON object.

        Raises InvalidInputError for what is not one, and for one whose accuracy does not follow from its noise.
        """
        if isinstance(document, Mapping) and "type" in document and "value" not in document:
            raise InvalidInputError("expected an answer, as bayesdp release --json prints it, but this is a model")
        if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
            raise InvalidInputError(f"expected an answer's JSON object of schema {SCHEMA}, not {brief(document)}")
        known = {item.name for item in fields(cls)}
        entries = {name: value for name, value in document.items() if name in known}
        missing = sorted({item.name for item in fields(cls) if item.default is MISSING} - set(entries))
        if missing:
            raise InvalidInputError(f"the answer lacks {', '.join(missing)}")
        answer = cls(**{**entries, "query": query_from_dict(entries["query"])})
        derived = {name: value for name, value in answer.to_dict().items() if name not in known | {"warnings"}}
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
        from rich.text import Text

        table = Table(title=Text(self.query.description), show_header=False, caption=Text(self.guarantee))
        for name, text in self._rows():
            table.add_row(name, Text(text))
        return table

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("answer", self.shown(self.rounded)),
            ("unrounded", self.shown()),
            ("off by less than", self.off_by),
            ("ε of this release", shown_above(self.epsilon)),
            ("ε in all", shown_above(self.epsilon_total)),
            ("ε remaining", self.left),
            ("in words", shown_odds(self.epsilon_total)),
            ("τ", shown_below(self.tau)),
            ("theorem", self.theorem),
            ("model", self.verdict),
            ("data set", self.dataset),
            ("time", self.timestamp),
        ]

    @property
    def _slack(self) -> Fraction:
        """How far the number may be off besides its noise: the grid's rounding, and that of the float it is."""
        shown = max((ulp(cell) for cell in self._cells if isinstance(cell, float)), default=0.0)
        return Fraction(self.rounding) + Fraction(shown)

    def shown(self, value: Value | None = None) -> str:
        """Return a value, by default that of the answer, as text; the cells of a histogram with their names."""
        value = self.value if value is None else value
        texts = [f"{cell:.15g}" if isinstance(cell, float) else str(cell) for cell in _cells(value)]
        if not isinstance(value, tuple):
            return texts[0]
        names = (" or ".join(map(str, cell)) for cell in self.query.cells_asked())
        return ", ".join(f"{name}: {text}" for name, text in zip(names, texts, strict=True))


def _cells(value: Value) -> Sequence[int | float]:
    return value if isinstance(value, tuple) else (value,)


def _capitalised(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _both(rounded: str, unrounded: str) -> str:
    return rounded if rounded == unrounded else f"{rounded} (unrounded {unrounded})"


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _checked_diagnosis(diagnosis: object) -> dict[str, Any]:
    """Return the short form of a diagnosis, without whatever else came with it."""
    if not isinstance(diagnosis, Mapping):
        raise InvalidInputError(f"diagnosis must be an object with a verdict, not {brief(diagnosis)}")
    findings = []
    for finding in validation.items("the findings of the diagnosis", diagnosis.get("findings")):
        if not isinstance(finding, Mapping):
            raise InvalidInputError(f"a finding of the diagnosis must be an object, not {brief(finding)}")
        findings.append(
            {name: validation.text(f"a finding's {name}", finding.get(name)) for name in ("name", "verdict")}
        )
    return (
        {name: validation.text(f"the diagnosis's {name}", diagnosis.get(name)) for name in _DIAGNOSIS}
        | {"rows": validation.natural("the diagnosis's rows", diagnosis.get("rows"), least=0)}
        | {"findings": findings}
    )
