"""A hidden Markov chain: records that depend on one another only through hidden states."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayesdp._support import validation
from bayesdp._support.display import table as text_table
from bayesdp._support.messages import name_of
from bayesdp._support.validation import Matrix
from bayesdp._support.words import counted
from bayesdp.errors import ModelError
from bayesdp.models.chain import Chain
from bayesdp.models.odds import checked_odds, log_odds_above, log_odds_ratio, odds_above
from bayesdp.rounding import shown_above

__all__ = ["HiddenMarkov"]

_MOST_SHOWN = 12


@dataclass(frozen=True)
class HiddenMarkov(Chain):
    """The hidden states of a chain emit records independently: a sensor's readings, a patient's symptoms.

    Give either the probabilities:

    transition:      row z holds the probabilities of the next hidden state after z,
    emission:        row z holds the probabilities of the values that are recorded while the hidden state is z.

    Or give a bound, for all times, on their odds ratios, the largest P(x,y)·P(x′,y′) / (P(x,y′)·P(x′,y)):

    transition_odds: that of neighbouring hidden states,
    emission_odds:   that of a hidden state and its record.

    states are the recorded values, in the order of the columns of `emission`; by default 0, 1, 2, …

    >>> walker = HiddenMarkov([[0.9, 0.1], [0.1, 0.9]], [[0.75, 0.25], [0.25, 0.75]])
    >>> round(walker.transition_log_odds, 6), round(walker.emission_log_odds, 6)
    (4.394449, 2.197225)
    """

    transition: Matrix | None = None
    emission: Matrix | None = None
    transition_odds: float | None = field(default=None, kw_only=True)
    emission_odds: float | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "hidden-markov"
    _by_state: ClassVar[tuple[str, ...]] = ("states", "transition", "emission")
    _instead_of_diagnosis: ClassVar[str] = ": hidden states are not in the table"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("transition", "emission"):
            self._check_one(name)
        if self.transition is not None and len(self.transition) != len(self.transition[0]):
            raise ModelError(
                name_of("transition") + f" must be square: it has {counted(len(self.transition), 'row')} of "
                f"{counted(len(self.transition[0]), 'entry', 'entries')}"
            )
        if self.transition is not None and self.emission is not None and len(self.transition) != len(self.emission):
            raise ModelError(
                f"transition and emission must have a row for each hidden state, but have {len(self.transition)} and "
                f"{len(self.emission)}"
            )
        if self.emission is not None:
            size = len(self.emission[0])
            if self.states and len(self.states) != size:
                raise ModelError(
                    name_of("states") + f" must name the {size} columns of emission, but names {len(self.states)}"
                )
            object.__setattr__(self, "states", self.states or tuple(range(size)))

    def _check_one(self, name: str) -> None:
        """Check the probabilities or their odds ratio, whichever is given."""
        table, odds = getattr(self, name), getattr(self, f"{name}_odds")
        if (table is None) == (odds is None):
            raise ModelError(f"give either {name}= (the probabilities) or {name}_odds= (a bound on their odds ratio)")
        if odds is None:
            object.__setattr__(self, name, validation.rows_of_probabilities(name, table, ModelError))
        else:
            object.__setattr__(self, f"{name}_odds", checked_odds(f"{name}_odds", odds))

    @cached_property
    def transition_log_odds(self) -> float:
        """ln of the odds ratio of neighbouring hidden states, rounded up; infinite without a limit."""
        return _log_odds(self.transition, self.transition_odds)

    @cached_property
    def emission_log_odds(self) -> float:
        """ln of the odds ratio of a hidden state and its record, rounded up; infinite without a limit."""
        return _log_odds(self.emission, self.emission_odds)

    @property
    def assumption(self) -> str:
        return (
            f"the hidden states of a chain {self.extent} emit the records independently; "
            + _assumed_of("the transition probabilities", "neighbouring hidden states", self.transition_odds)
            + " and "
            + _assumed_of("the emission probabilities", "a hidden state and its record", self.emission_odds)
            + self.entities
        )

    @property
    def parameters(self) -> str:
        """The odds ratios, and the probabilities of up to a dozen hidden states and values."""
        parts = [_probabilities(name, getattr(self, name), columns) for name, columns in self._tables()]
        ratios = [
            f"Odds ratio of {what}: " + (f"at most {shown_above(odds)}." if np.isfinite(odds) else "without limit.")
            for what, odds in (
                ("neighbouring hidden states", odds_above([self.transition_log_odds])),
                ("a hidden state and its record", odds_above([self.emission_log_odds])),
            )
        ]
        return "\n".join([*parts, *ratios])

    def _tables(self) -> list[tuple[str, list[str]]]:
        hidden = len(self.transition or self.emission or ())
        tables = [("transition", [str(i) for i in range(hidden)]), ("emission", [str(state) for state in self.states])]
        return [
            (name, columns)
            for name, columns in tables
            if getattr(self, name) is not None and max(hidden, len(columns)) <= _MOST_SHOWN
        ]

    def _content(self) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for name in ("transition", "emission"):
            table = getattr(self, name)
            if table is not None:
                content[name] = [list(row) for row in table]
            else:
                content[f"{name}_odds"] = getattr(self, f"{name}_odds")
        return content | super()._content()


def _log_odds(table: Matrix | None, odds: float | None) -> float:
    return log_odds_ratio(np.array(table)) if odds is None else float(log_odds_above(np.array(odds)))


def _assumed_of(probabilities: str, tied: str, odds: float | None) -> str:
    """Return what is assumed of one kind of probabilities."""
    return f"{probabilities} are given" if odds is None else f"the odds ratio of {tied} is at most {shown_above(odds)}"


def _probabilities(name: str, table: Matrix, columns: list[str]) -> str:
    """Return the probabilities of hidden states as a table."""
    rows = [[str(i), *(f"{entry:.4g}" for entry in row), ""] for i, row in enumerate(table)]
    return text_table([f"hidden state, {'then' if name == 'transition' else 'record'}:", *columns, ""], rows)
