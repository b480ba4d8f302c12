"""What a release would cost and how accurate it would be, before anything is charged or drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from bayesdp._support import documents, validation
from bayesdp._support.display import Displayed, Section, lines, warned
from bayesdp._support.documents import Document
from bayesdp.errors import InvalidInputError
from bayesdp.losses import PureLoss
from bayesdp.queries import Query, query_from_dict
from bayesdp.rounding import shown_above, shown_below, shown_odds, shown_remaining
from bayesdp.session.delta_words import large_delta, large_share, number_left
from bayesdp.session.measurement import warnings_about

__all__ = ["KIND", "Preview"]

KIND, SCHEMA = "preview", 1


@dataclass(frozen=True)
class Preview(Displayed, Document):
    """What a release would cost and how accurate it would be; nothing has been charged or drawn.

    alpha:    the answer would be off by α or more with probability at most β; for a quantile, whose accuracy depends on
              the records, the range of its candidates.
    interval: how far the interval of level 1 − β would reach below and above the answer.
    records:  the public number of records.
              All of these, and the scale, are None if they depend on how many records have a value: a preview reads no
              private column.
    stored:   an answer that is as good is stored already, and would be returned at no cost.
    denied:   the model's diagnosis says "violated": a release would need a reason, and would prove nothing.
    delta, rho, noise_kind, further_answers: as in an `Answer`, in an account that promises (ε, δ); tau is None with
              Gaussian noise.
    limit_share: how much of such an account's limit it would take.
    """

    query: Query
    tau: float | None
    scale: float | None
    alpha: float | None
    beta: float
    interval: tuple[float, float] | None
    epsilon: float
    epsilon_total: float
    epsilon_remaining: float
    theorem: str
    records: int | None
    stored: bool = False
    denied: bool = False
    delta: float | None = None
    rho: float | None = None
    noise_kind: str | None = None
    further_answers: int | None = None
    limit_share: float | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings that would stand beside the number."""
        denied = ["The data contradict the model; a release needs a reason, and proves nothing."] if self.denied else []
        if self.tau is not None and (taken := large_share(self.limit_share, PureLoss(self.tau))) is not None:
            denied = [taken, *denied]
        if self.alpha is None or self.records is None:
            return tuple(denied)
        large = large_delta(self.delta, self.records)
        beside = warnings_about(self.query.possible(self.records), self.alpha, self.epsilon_total)
        return (*beside, *([] if large is None else [large]), *denied)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp release --dry-run --json` prints."""
        interval = None if self.interval is None else list(self.interval)
        shown = {name: value for name, value in vars(self).items() if value is not None or name not in _OF_PROMISES}
        return {**shown, "query": self.query.to_dict(), "interval": interval, "warnings": list(self.warnings)}

    @classmethod
    def from_dict(cls, document: object) -> Preview:
        """Read a preview from its JSON object; InvalidInputError for what is none."""
        read = documents.checked(document, KIND, SCHEMA)
        lacking = [item.name for item in fields(cls) if item.default is MISSING and item.name not in read]
        if lacking:
            raise InvalidInputError(f"the preview lacks {', '.join(lacking)}")
        entries = {item.name: read[item.name] for item in fields(cls) if item.name in read}
        for name in _NUMBERS:
            if entries.get(name) is not None:
                validation.number(name, entries[name])
        interval = entries["interval"]
        if interval is not None:
            low, high = (validation.number("interval", end) for end in validation.items("interval", interval))
            interval = (low, high)
        return cls(**{**entries, "query": query_from_dict(entries["query"]), "interval": interval})

    def _printed(self) -> Sequence[Section]:
        if self.stored:
            kept = f"{self.query.description}: an answer as good as that is stored; asking for it costs nothing."
            return [lines(kept)]
        left = shown_remaining(self.epsilon_remaining, self.epsilon_total + self.epsilon_remaining)
        sentences = [
            f"A preview of {self.query.description}. Nothing was charged.",
            self._accuracy,
            f"It would cost ε = {shown_above(self.epsilon)} (theorem {self.theorem}), bringing the total to ε = "
            f"{shown_above(self.epsilon_total)}, and leave {left}.",
            f"With that, {shown_odds(self.epsilon_total)}."
            if self.delta is None
            else f"That is the ε used at δ = {shown_above(self.delta)}. {number_left(self.further_answers)}".strip(),
        ]
        return [[*lines(*sentences), *warned(self.warnings)]]

    @property
    def _accuracy(self) -> str:
        tau = f"rho = {shown_above(self.rho or 0.0)}" if self.tau is None else f"tau = {shown_below(self.tau)}"
        kind = "noise" if self.noise_kind is None else f"{self.noise_kind.capitalize()} noise"
        if self.alpha is None or self.scale is None:
            return (
                f"How far it would be off is not known before it is released: that depends on how many records have a "
                f"value, which a preview does not read ({tau})."
            )
        return (
            f"It would be off by less than {shown_above(self.alpha)} in {shown_below(100 * (1 - self.beta))} % of "
            f"cases ({kind} of scale {shown_above(self.scale)}, {tau})."
        )


_NUMBERS = (
    *("tau", "scale", "alpha", "beta", "epsilon", "epsilon_total", "epsilon_remaining", "records", "delta", "rho"),
    *("further_answers", "limit_share"),
)

_OF_PROMISES = ("delta", "rho", "noise_kind", "further_answers", "limit_share")
