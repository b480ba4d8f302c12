"""A released answer: the number, how far off it may be, what it cost, and what it rests on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from bayesdp._support import documents, validation
from bayesdp._support.display import Displayed, PrintedTable, Section, lines, warned
from bayesdp._support.documents import Document
from bayesdp._support.lazy import warn_renamed
from bayesdp._support.messages import name_of
from bayesdp._support.validation import brief
from bayesdp.errors import BayesDPError, InvalidInputError, LedgerError
from bayesdp.ledger.amounts import Amounts
from bayesdp.models.diagnosis import Verdict
from bayesdp.queries import Query, Value, query_from_dict
from bayesdp.rounding import shown_above, shown_below, shown_odds, shown_remaining
from bayesdp.session.delta_words import MEANING, factor_and_delta, guessed_right, large_delta, number_left
from bayesdp.session.measurement import Interval, Measurement
from bayesdp.theorems.leakage import ESTIMATED

if TYPE_CHECKING:
    from rich.table import Table as RichTable

__all__ = ["Answer", "Posting", "Promise", "Value"]

KIND, SCHEMA = "answer", 1

_DIAGNOSIS = ("verdict", "date", "table")
_FITTED = "The model was fitted to data: if those are the private data, this guarantee does not cover that fit."
_ASSUMED_THEN = ", by what was assumed before the model was learnt"


@dataclass(frozen=True)
class Promise:
    """What is proven about a release, and under which assumption; answers released together share it.

    `Answer` describes the fields. Equality ignores those that belong to the account at one moment: an answer that is
    given again states them anew.
    """

    theorem: str = field(compare=False)
    proof: str = field(compare=False)
    scope: str = field(compare=False)
    protects: str
    assumption: str = field(compare=False)
    model_fingerprint: str = field(compare=False)
    notes: Sequence[str] = field(default=(), compare=False)
    worst_case: str | None = field(default=None, compare=False)
    diagnosis: Mapping[str, Any] | None = field(default=None, compare=False, hash=False)
    accepted: str | None = field(default=None, compare=False)
    parameters: str | None = field(default=None, compare=False)
    consequences: Sequence[str] = field(default=(), compare=False)
    credibility: float | None = None
    unchecked: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name in ("notes", "consequences"):
            object.__setattr__(self, name, tuple(validation.items(name, getattr(self, name))))
        optional = {"worst_case": self.worst_case, "accepted": self.accepted, "parameters": self.parameters}
        optional["unchecked"] = self.unchecked
        texts = {
            "theorem": self.theorem,
            "proof": self.proof,
            "scope": self.scope,
            "protects": self.protects,
            "assumption": self.assumption,
            "model_fingerprint": self.model_fingerprint,
            **{f"notes[{number}]": note for number, note in enumerate(self.notes)},
            **{f"consequences[{number}]": line for number, line in enumerate(self.consequences)},
        }
        validation.every((validation.text, texts | _given(optional)))
        if self.diagnosis is not None:
            object.__setattr__(self, "diagnosis", _checked_diagnosis(self.diagnosis))
        if self.credibility is not None:
            validation.probability("credibility", self.credibility)

    @property
    def believed(self) -> str | None:
        """Which of the models that the data leave possible keep the promise, as a sentence without its full stop."""
        if self.credibility is None:
            return None
        return (
            f"Every ε here is one that at least {shown_below(100 * self.credibility)} % of the models keep that the "
            "data leave possible (the posterior of the parameters, docs/uncertainty.md); the others may leak more"
        )

    @property
    def proven(self) -> str:
        """What is proven, by which theorem and if what holds, as a sentence without its full stop."""
        proven = f"{'It would be proven' if self.denied else 'Proven'} ({self.theorem}) if {self.assumption}"
        return proven if self.unchecked is None else f"{proven}, and if what was not checked is so"

    @property
    def fitted(self) -> str | None:
        """The sentence that the guarantee does not cover a fit outside of releases; None if there was no such fit."""
        return _FITTED if ESTIMATED in self.notes else None

    @property
    def denied(self) -> bool:
        """Whether a table contradicts the assumption, so that nothing is proven about it."""
        return self.diagnosis is not None and self.diagnosis["verdict"] == Verdict.VIOLATED

    @property
    def verdict(self) -> str:
        """The verdict of a table on the model, in a few words; with the reason for accepting it, if one was needed."""
        verdict = "never diagnosed on a table" if self.diagnosis is None else str(self.diagnosis["verdict"])
        return verdict if self.accepted is None else f"{verdict} by the data; released anyway because: {self.accepted}"

    @property
    def tested(self) -> str:
        """The verdict on the model and the table it comes from, as a sentence without its full stop."""
        if self.diagnosis is None:
            tested = "This model was never diagnosed on a table"
        else:
            tested = "The diagnosis of this model on {table} ({rows} rows, {date}) says: {verdict}".format(
                **self.diagnosis
            )
        return tested if self.accepted is None else f"{tested}; released anyway because: {self.accepted}"


@dataclass(frozen=True)
class Posting:
    """What a release cost, and which entry of the ledger records it; `Answer` describes the fields.

    tau, loss: one of them is None: a pure release has a τ, any other a loss as the ledger keeps it.
    """

    dataset: str
    tau: float | None = field(default=None, kw_only=True)
    loss: Mapping[str, Any] | None = field(default=None, kw_only=True)
    epsilon: float
    epsilon_total: float = field(compare=False)
    epsilon_remaining: float = field(compare=False)
    timestamp: str
    query_fingerprint: str
    entry: int
    head: str
    reused: bool = field(default=False, compare=False)
    by: str | None = field(default=None, compare=False)
    version: str | None = None
    ledger: str | None = None
    delta: float | None = field(default=None, kw_only=True)
    rho: float | None = field(default=None, kw_only=True)
    epsilon_promised: float | None = field(default=None, kw_only=True, compare=False)
    further_answers: int | None = field(default=None, kw_only=True, compare=False)

    def __post_init__(self) -> None:
        totals = {"epsilon_total": self.epsilon_total, "epsilon_remaining": self.epsilon_remaining}
        texts = {
            "dataset": self.dataset,
            "timestamp": self.timestamp,
            "query_fingerprint": self.query_fingerprint,
            "head": self.head,
        }
        optional = {"by": self.by, "version": self.version, "ledger": self.ledger}
        validation.every(
            (validation.positive, {} if self.loss is not None else {"tau": self.tau}),
            (validation.not_negative, {"epsilon": self.epsilon, **totals}),
            (validation.natural, {"entry": self.entry}),
            (validation.text, texts | _given(optional)),
        )
        self._check_promise()
        if self.loss is not None:
            Amounts.of({"loss": self.loss} | _given({"tau": self.tau}))
        if self.epsilon_total < self.epsilon and not self.reused:  # a model learnt since may prove less of all of it
            raise InvalidInputError(f"epsilon_total cannot be below epsilon, {self.epsilon:g}")
        if not isinstance(self.reused, bool):
            raise InvalidInputError(name_of("reused") + f" must be true or false, not {brief(self.reused)}")

    def _check_promise(self) -> None:
        """Check that the fields of accounts that promise (ε, δ) are all given, or none of them."""
        promise = {"rho": self.rho, "epsilon_promised": self.epsilon_promised}
        if self.delta is None:
            if _given(promise) or self.further_answers is not None:
                raise InvalidInputError(f"an answer with {', '.join(_given(promise)) or 'further_answers'} has a delta")
            return
        validation.every((validation.probability, {"delta": self.delta}), (validation.positive, promise))
        if self.loss is not None and self.loss.get("rho") != self.rho:
            raise InvalidInputError(name_of("rho") + f" must be that of the loss, not {brief(self.rho)}")
        if self.further_answers is not None:
            validation.natural("further_answers", self.further_answers, least=0)

    @property
    def promised(self) -> float:
        """The ε that holds at the account's δ: that of the promise, or what has leaked if that is more."""
        return max(self.epsilon_total, self.epsilon_promised or 0.0)

    @property
    def spent(self) -> str:
        """What the release costs in ordinary differential privacy, as text."""
        if self.loss is None:
            return f"τ = {shown_below(self.tau or 0.0)}"
        amounts = [f"{name} = {shown_above(amount)}" for name, amount in self.loss.items() if name != "definition"]
        return f"{self.loss['definition']}, {', '.join(amounts)}"

    @property
    def left(self) -> str:
        """What remains of the budget, as text."""
        return shown_remaining(self.epsilon_remaining, self.epsilon_total + self.epsilon_remaining)


class _Entries:
    """The fields of the parts of an answer, read from the answer itself: `answer.tau` is `answer.posting.tau`."""

    value: Value
    query: Query
    records: int
    noise: float
    unit: float
    rounding: float
    beta: float
    ends: Sequence[Interval] | None
    ends_beta: float | None
    scale: float
    level: float
    published: str
    off_by: str
    spans: str | None

    theorem: str
    proof: str
    scope: str
    protects: str
    assumption: str
    model_fingerprint: str
    notes: Sequence[str]
    worst_case: str | None
    diagnosis: Mapping[str, Any] | None
    accepted: str | None
    parameters: str | None
    consequences: Sequence[str]
    credibility: float | None
    unchecked: str | None
    believed: str | None
    fitted: str | None
    proven: str
    denied: bool
    verdict: str
    tested: str

    dataset: str
    loss: Mapping[str, Any] | None
    spent: str
    epsilon: float
    epsilon_total: float
    epsilon_remaining: float
    timestamp: str
    query_fingerprint: str
    entry: int
    head: str
    reused: bool
    by: str | None
    version: str | None
    ledger: str | None
    left: str
    delta: float | None
    rho: float | None
    epsilon_promised: float | None
    further_answers: int | None
    promised: float
    noise_kind: str | None
    noises: Sequence[tuple[float, float, int]] | None


@dataclass(frozen=True)
class Answer(_Entries, Displayed, Document):
    """What a session has released. Prints as a few lines; JSON in and out; `statement()` is a page to file.

    It has three parts: `measurement`, the noisy number; `promise`, what is proven, and under which assumption;
    `posting`, what it cost and which entry of the ledger records it. Their fields can be read from the answer itself,
    and its JSON is flat.

    value:           the answer with its noise, as it came out: never rounded, clamped or made consistent. `rounded` is
                     the number to publish.
    tau, noise:      the ordinary privacy of this release, and the scale of its discrete Laplace noise, in `unit`s. A
                     release that is not pure has no τ, but a `loss`: its definition and amounts.
    unit:            what one unit of noise is worth: 1 for counts, the grid's step for a sum, step/records for a mean.
    rounding:        how far rounding onto the grid can have moved the answer, besides the noise.
    ends, ends_beta: of a quantile, the intervals that were selected with it, and how often one of them may miss; an
                     interval of a higher level is then the whole range.
    epsilon:         by how much this release raised the leakage.
    epsilon_total, epsilon_remaining: the account when the answer was given.
    records:         the public number of records.
    protects:        what the guarantee protects (the privacy unit); scope: which values it covers.
    entry, head:     the ledger's entry that charged it, and the hash of the ledger up to there.
    beta:            accuracies and intervals are stated for this probability of being wrong, unless another is asked.
    reused:          it was released before, and given again at no cost.
    diagnosis:       what a table shows about the model: "verdict", "date", "table", "rows" and "findings", each of them
                     with "name" and "verdict"; None if the model was never diagnosed.
    accepted:        why it was released although the diagnosis says that the model is violated.
    by, version, ledger: who is responsible, the version of this library, and where the ledger is, without a password.
    parameters:      the assumed probabilities or correlations, in readable lines.
    consequences:    what everything released would leak if the assumption were wrong, in sentences.
    credibility:     the share of the models that the data leave possible which keep the promise; None if the promise is
                     about the model as it stands.
    unchecked:       what could not be checked on the table because the model names no columns for it, in a sentence.
    delta:           the δ of an account that promises (ε, δ); None if it promises ε alone, and then so are these:
    epsilon_promised: its ε, which was fixed with δ. `epsilon_total` is the ε used so far at this δ.
    rho, noise_kind: what the release takes of the account's limit, and "laplace" or "gaussian".
    noises:          of a running total, the noises that it is a sum of: their scale, how much they count, and how many
                     there are; `noise` is then the standard deviation of the sum.
    further_answers: how many more answers of this size fitted into the account then, at least.

    Two answers are equal if they are the same release, whenever and for whatever β they were given.
    """

    measurement: Measurement
    promise: Promise
    posting: Posting

    @classmethod
    def of(cls, **entries: Any) -> Answer:
        """Return an answer from the entries of its parts."""
        return cls(**{part: _part(part, entries) for part in _PARTS})

    @property
    def tau(self) -> float:
        """The τ of a pure release; InvalidInputError for any other, which has a `loss` instead."""
        if self.posting.tau is None:
            raise InvalidInputError(f"this answer has no tau, but a loss: {self.spent}")
        return self.posting.tau

    def accuracy(self, beta: float | None = None) -> float:
        """Return α: the answer (every cell of a histogram at once) is off by α or more with probability at most β."""
        return self.measurement.accuracy(beta)

    def interval(self, level: float | None = None) -> Interval | tuple[Interval, ...]:
        """Return where the true answer lies with probability at least `level`; for a histogram, all cells at once.

        The rounding of the grid is included. The interval may reach below zero: nothing is clamped.
        """
        return self.measurement.interval(level)

    def reach(self, beta: float | None = None) -> float:
        """Return how far the interval of level 1 − β reaches to either side."""
        return self.measurement.reach(beta)

    @property
    def rounded(self) -> Value:
        """The answer to publish: rounded to the digits that the noise leaves, and within the range of possible answers.

        The last digit kept is one place below the first digit of the interval's half-width: 4248 ± 374 becomes 4250,
        0.50347 ± 0.0051 becomes 0.5035. Counts stay whole. What then lies outside the range is moved to its end: a
        count lies between 0 and the public number of records, a sum between that number times each bound (or 0, if a
        filter may leave records out), a mean between its bounds. Only the released number is looked at: this costs no
        privacy.
        """
        return self.measurement.rounded

    @property
    def about(self) -> str:
        """What the question was."""
        return self.query.description

    @property
    def outcome(self) -> str:
        """The answer as published."""
        return self.published

    def shown(self, value: Value | None = None) -> str:
        """Return a value, by default that of the answer, as text; the cells of a histogram with their names."""
        return self.measurement.shown(self.value if value is None else value)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings that stand beside the number.

        Something was not checked, the number is drowned by noise, hardly protected, or the model is denied.
        """
        return (*([] if self.unchecked is None else [self.unchecked]), *self.beside)

    @property
    def beside(self) -> tuple[str, ...]:
        """The warnings but the first one: what was not checked."""
        denied = ["The data contradict the assumption: nothing is proven for them."] if self.denied else []
        large = large_delta(self.delta, self.records)
        return (*self.measurement.warnings(self.epsilon_total), *([] if large is None else [large]), *denied)

    @property
    def guarantee(self) -> str:
        """What an attacker can learn at most, in sentences."""
        raised, total = shown_above(self.epsilon), shown_above(self.epsilon_total)
        assumed = _ASSUMED_THEN if self.epsilon_total < self.epsilon else ""
        account = (
            f"This answer was released before and costs nothing again. It raised what {self.dataset} has leaked by "
            f"ε = {raised}{assumed}; by now ε = {total} has leaked in all (remaining: {self.left})"
            if self.reused
            else f"This answer raises what {self.dataset} has leaked by ε = {raised}, to ε = {total} in all "
            f"(remaining: {self.left})"
        )
        sentences = [
            f"{account}: {shown_odds(self.epsilon_total)}"
            if self.delta is None
            else f"{account}, at δ = {self._delta}",
            *([] if self.delta is None else [self.kept]),
            f"What is protected is {self.protects}",
            f"This {'would be' if self.denied else 'is'} proven (theorem {self.theorem}, {self.proof}"
            f"{'' if self.delta is None else ', docs/theory/accounting.md'}) if {self.assumption}",
            *([self.believed] if self.believed else []),
            self.tested,
            f"It covers {self.scope}, and treats the number of records ({self.records}) as public",
            *([f"The worst case: {self.worst_case}"] if self.worst_case else []),
        ]
        stated = [f"{sentence}." for sentence in sentences]
        return " ".join(
            [*stated, *([self.sensitivity_to_assumption] if self.consequences else []), *self.notes, *self.warnings]
        )

    @property
    def _delta(self) -> str:
        return shown_above(self.delta or 0.0)

    @property
    def kept(self) -> str:
        """What an account that promises (ε, δ) promises of everything it ever releases, without the last full stop."""
        epsilon, delta = self.promised, self.delta or 0.0
        return (
            f"The account promises ε = {shown_above(epsilon)} with δ = {self._delta} about everything that it ever "
            f"releases: whichever answers are named beforehand, they are at most {factor_and_delta(epsilon, delta)}; "
            f"{guessed_right(epsilon, delta)}. {MEANING[:-1]}"
        )

    @property
    def what_if(self) -> str:
        """The former name of `sensitivity_to_assumption`."""
        warn_renamed("Answer.what_if", "Answer.sensitivity_to_assumption", stacklevel=3)
        return self.sensitivity_to_assumption

    @property
    def sensitivity_to_assumption(self) -> str:
        """What would leak if the assumption were wrong, in sentences; empty if that is not known."""
        return (
            " ".join(["If the assumption is wrong, ε may be larger.", *self.consequences]) if self.consequences else ""
        )

    def _printed(self) -> Sequence[Section]:
        cost = (
            f"It cost ε = {shown_above(self.epsilon)}"
            if not self.reused
            else "Released before; repeating it costs nothing"
        )
        protected = "Were the model right, it would protect" if self.denied else "It protects"
        sentences = [
            f"{_capitalised(self.query.description)}: {self.published}",
            *([] if self.unchecked is None else [self.unchecked]),
            f"Off by less than {self.off_by}.",
            *([] if self.spans is None else [f"The {shown_below(100 * self.level)} % {self.spans}."]),
            f"{cost}; {self.dataset} has leaked ε = {shown_above(self.epsilon_total)} in all; remaining: {self.left}."
            if self.delta is None
            else f"{cost}; {self.dataset} has used ε = {shown_above(self.epsilon_total)} so far, at δ = {self._delta}; "
            f"remaining: {self.left}. {number_left(self.further_answers)}".strip(),
            f"{protected} {self.protects}: {shown_odds(self.epsilon_total)}."
            if self.delta is None
            else f"{protected} {self.protects}. {self.kept}.",
            f"{self.proven}. Model: {self.verdict}. {self.believed + '. ' if self.believed else ''}"
            "The statement has the details.",
            *([] if self.fitted is None else [self.fitted]),
        ]
        sentences += [self.sensitivity_to_assumption] if self.consequences else []
        return [[*lines(*sentences), *warned(self.beside)]]

    def _shown(self) -> Sequence[Section]:
        return [[PrintedTable(["", ""], self._rows())], *self._printed()]

    def statement(self) -> str:
        """Return one page, in Markdown, that a data-protection officer can file; `statement.write` makes HTML."""
        from bayesdp.session.statement import statement

        return statement(self).markdown()

    def given_again(
        self,
        *,
        beta: float,
        promise: Promise,
        total: float,
        remaining: float,
        by: str | None,
        promised: float | None = None,
    ) -> Answer:
        """Return the answer as it is given again later, at no cost: with the account as it is then, and what proves it.

        total, remaining: what the data set has leaked by then, and what remains of its budget.
        promise, by:      what is proven of all that, and who is responsible for giving the answer again.
        promised:         the ε of an account that promises (ε, δ).
        """
        return Answer(
            replace(self.measurement, beta=beta),
            replace(promise, notes=tuple(dict.fromkeys((*promise.notes, *self.notes)))),
            replace(
                self.posting,
                epsilon_total=total,
                epsilon_remaining=remaining,
                epsilon_promised=promised,
                further_answers=None,
                by=by,
                reused=True,
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp release --json` prints; `from_dict` reads it back."""
        interval = self.interval()
        return (
            {"kind": KIND, "schema": SCHEMA, "rounded": _listed(self.rounded)}
            | {
                name: getattr(self, name)
                for name in _ENTRIES
                if name
                not in (
                    *(*_SELECTED, *_OPTIONAL, "consequences", "credibility", "unchecked"),
                    "tau" if self.loss else "loss",
                )
            }
            | ({"consequences": list(self.consequences)} if self.consequences else {})
            | ({} if self.credibility is None else {"credibility": self.credibility})
            | ({} if self.unchecked is None else {"unchecked": self.unchecked})
            | _given({name: getattr(self, name) for name in _OPTIONAL if name != "noises"})
            | ({} if self.noises is None else {"noises": [*map(list, self.noises)]})
            | ({} if self.ends is None else {"ends": [*map(list, self.ends)], "ends_beta": self.ends_beta})
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
        read = documents.checked(document, KIND, SCHEMA)
        missing = sorted(name for name, item in _ENTRIES.items() if item.default is MISSING and name not in read)
        if missing:
            raise InvalidInputError(f"the answer lacks {', '.join(missing)}")
        entries = {name: value for name, value in read.items() if name in _ENTRIES}
        answer = cls.of(**{**entries, "query": query_from_dict(entries["query"])})
        derived = {name: value for name, value in answer.to_dict().items() if name not in {*_ENTRIES, "warnings"}}
        wrong = sorted(name for name, value in derived.items() if not answer._agrees(read.get(name, value), value))
        if wrong:
            raise InvalidInputError(f"the answer contradicts itself in {', '.join(wrong)}")
        return answer

    def _agrees(self, stated: Any, derived: Any) -> bool:
        """Tell whether what a document states is what follows; the law of a sum of noises is computed to six digits."""
        if self.noises is None or isinstance(derived, str):
            return bool(stated == derived)
        if isinstance(derived, list):
            pairs = (
                zip(stated, derived, strict=True) if isinstance(stated, list) and len(stated) == len(derived) else ()
            )
            return stated == derived or (bool(pairs) and all(self._agrees(one, other) for one, other in pairs))
        numbers = isinstance(stated, int | float) and isinstance(derived, int | float)
        return bool(stated == derived or (numbers and math.isclose(stated, derived, rel_tol=1e-6)))

    @classmethod
    def stored(cls, body: object) -> Answer:
        """Read an answer from `body`, what a ledger stored of it; LedgerError if that is damaged."""
        try:
            return cls.from_dict(body)
        except (BayesDPError, TypeError, KeyError) as error:
            raise LedgerError(f"the ledger is damaged: an answer cannot be read ({error}); verify it") from None

    def differences(self, stored: Answer) -> tuple[str, ...]:
        """Return the names of the entries in which this is not the answer that was stored when it was released.

        One that was given again may state the account of that later moment and what proves it, and its accuracy for
        another β.
        """
        names = [
            name
            for name, item in _ENTRIES.items()
            if (item.compare or not self.reused) and (name != "tau" or self.loss is stored.loss is None)
        ]
        return tuple(name for name in names if getattr(self, name) != getattr(stored, name))

    def __rich__(self) -> RichTable:
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(title=Text(self.query.description), show_header=False, caption=Text(self.guarantee))
        for name, text in self._rows():
            table.add_row(name, Text(text))
        return table

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("answer", self.shown(self.rounded)),
            *([] if self.unchecked is None else [("not checked", self.unchecked)]),
            ("unrounded", self.shown()),
            ("off by less than", self.off_by),
            ("ε of this release", shown_above(self.epsilon)),
            ("ε in all", shown_above(self.epsilon_total)),
            ("ε remaining", self.left),
            *(
                [("in words", shown_odds(self.epsilon_total))]
                if self.delta is None
                else [("promised", f"ε = {shown_above(self.promised)}, δ = {self._delta}")]
            ),
            ("τ", shown_below(self.tau)) if self.loss is None else ("loss", self.spent),
            ("theorem", self.theorem),
            ("model", self.verdict),
            ("data set", self.dataset),
            ("time", self.timestamp),
        ]


_PARTS: dict[str, type[Any]] = {"measurement": Measurement, "promise": Promise, "posting": Posting}
_KNOWN = {item.name: item for part in _PARTS.values() for item in fields(part)}
_ENTRIES = {
    name: _KNOWN[name]
    for name in (
        *("value", "query", "dataset", "records", "tau", "loss", "noise", "unit", "rounding"),
        *("epsilon", "epsilon_total", "epsilon_remaining", "theorem", "proof", "scope", "protects", "assumption"),
        *("timestamp", "query_fingerprint", "model_fingerprint", "entry", "head", "notes", "worst_case", "beta"),
        *("reused", "diagnosis", "accepted", "by", "version", "ledger", "parameters", "consequences", "credibility"),
        *("unchecked", "ends", "ends_beta"),
        *("delta", "rho", "epsilon_promised", "further_answers", "noise_kind", "noises"),
    )
}
"""Every entry of the three parts, in the order of the JSON."""

_OPTIONAL = ("delta", "rho", "epsilon_promised", "further_answers", "noise_kind", "noises")
"""Entries that only answers of accounts have which promise (ε, δ), and only running totals."""

_SELECTED = ("ends", "ends_beta")
"""Entries that only selected answers have."""


def _entry(name: str) -> property:
    """Return the property of an answer that reads an entry of one of its parts."""
    part, own = next(
        (part, vars(kind).get(name)) for part, kind in _PARTS.items() if name in {*kind.__annotations__, *vars(kind)}
    )
    described = own.__doc__ if isinstance(own, property) else f"The `{name}` of `{part}`."
    return property(attrgetter(f"{part}.{name}"), doc=described)


for _name in _Entries.__annotations__:  # type checkers see the annotations, readers of the reference the properties
    setattr(Answer, _name, _entry(_name))


def _part(name: str, entries: Mapping[str, Any]) -> Any:
    kind = _PARTS[name]
    return kind(**{item.name: entries[item.name] for item in fields(kind) if item.name in entries})


def _given(entries: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in entries.items() if value is not None}


def _capitalised(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _checked_diagnosis(diagnosis: object) -> dict[str, Any]:
    """Return the short form of a diagnosis, without whatever else came with it."""
    if not isinstance(diagnosis, Mapping):
        raise InvalidInputError(name_of("diagnosis") + f" must be an object with a verdict, not {brief(diagnosis)}")
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
