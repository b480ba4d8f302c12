"""What a private fit would teach and cost, from public numbers alone, before anything is charged or drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from bayesdp._support.display import Displayed, Section, lines, warned
from bayesdp._support.documents import Document
from bayesdp._support.messages import Message, param
from bayesdp._support.words import counted, listed
from bayesdp.rounding import shown_above, shown_below, shown_odds, shown_remaining

__all__ = ["Bound", "Expected", "FitPreview", "shown_bound"]

Bound: TypeAlias = Any
"""An odds ratio or a correlation; of a series, an odds ratio for each distance."""


def shown_bound(bound: Bound, digits: int = 6) -> str:
    """Return a bound in words, rounded up.

    >>> shown_bound(2.5), shown_bound((5.84, 1.25))
    ('2.5', '5.84 and 1.25')
    """
    if isinstance(bound, tuple):
        return listed(shown_above(each, digits) for each in bound)
    return shown_above(bound, digits)


@dataclass(frozen=True)
class Expected:
    """What a private fit is expected to state, from public numbers alone.

    parameter: what is learnt: "odds ratio", "odds ratios" (of a series, by distance) or "correlation".
    records, tau, ceiling: the public numbers it depends on, beside those of the model.
    bounds:    what the fit would state in several cases, from nearly independent records to nearly the ceiling.
    """

    parameter: str
    records: int
    tau: float
    ceiling: Bound
    bounds: tuple[Bound, ...]

    @property
    def hidden(self) -> int:
        """In how many of the cases the noise hides what is to be learnt, so that the ceiling stands."""
        return sum(bound == self.ceiling for bound in self.bounds)

    @property
    def hopeless(self) -> bool:
        """Whether that is so in most cases."""
        return 2 * self.hidden > len(self.bounds)

    @property
    def words(self) -> str:
        """What is expected, in a sentence without its full stop."""
        public = f"with {counted(self.records, 'record')} and tau = {shown_below(self.tau)}"
        cases = f"in {self.hidden} of {len(self.bounds)} cases"
        return (
            f"{public} the noise would hide the {self.parameter} {cases}, and the ceiling of "
            f"{shown_bound(self.ceiling)} would stand"
        )

    @property
    def refusal(self) -> Message:
        """The message that refuses a fit from which hardly anything would be learnt."""
        return (
            f"{self.words}; nothing was charged. Take a larger tau, a smaller ceiling, fewer strata or states, or say "
            + param("anyway", value=True)
        )


@dataclass(frozen=True)
class FitPreview(Displayed, Document):
    """What a private fit would teach and cost; nothing has been charged, and no private value was read.

    expected: what it would state.
    epsilon:  by how much the fit would raise the leakage, under the ceiling.
    stored:   the fit was made before; repeating it costs nothing.
    """

    expected: Expected
    epsilon: float
    epsilon_total: float
    epsilon_remaining: float
    stored: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp fit --private-tau --dry-run --json` prints."""
        own = {name: value for name, value in vars(self).items() if name != "expected"}
        return {
            **vars(self.expected),
            "ceiling": _listed(self.expected.ceiling),
            "bounds": [_listed(bound) for bound in self.expected.bounds],
            "hidden": self.expected.hidden,
            **own,
        }

    def _printed(self) -> Sequence[Section]:
        expected = self.expected
        if self.stored:
            was = "were" if isinstance(expected.ceiling, tuple) else "was"
            return [lines(f"The {expected.parameter} {was} learnt before; repeating the fit costs nothing.")]
        ordered: list[Any] = sorted(expected.bounds, key=_size)
        left = shown_remaining(self.epsilon_remaining, self.epsilon_total + self.epsilon_remaining)
        sentences = [
            f"A preview of a private fit of the {expected.parameter}. Nothing was charged, and no private value was "
            "read.",
            f"It would cost ε = {shown_above(self.epsilon)} (tau = {shown_below(expected.tau)}) under the ceiling, "
            f"bringing the total to ε = {shown_above(self.epsilon_total)} ({shown_odds(self.epsilon_total)}), and "
            f"leave {left}.",
            f"{expected.words[0].upper()}{expected.words[1:]}.",
            f"If records hardly depended on one another, it would state {shown_bound(ordered[0], 3)}; in the "
            f"middle case {shown_bound(ordered[len(ordered) // 2], 3)}.",
        ]
        hopeless = ["the fit would hardly teach anything."] if expected.hopeless else []
        return [[*lines(*sentences), *warned(hopeless)]]


def _listed(bound: Bound) -> float | list[float]:
    return list(bound) if isinstance(bound, tuple) else bound


def _size(bound: Bound) -> float:
    """Return what bounds are sorted by: of a series, the product of its odds ratios."""
    return math.prod(bound) if isinstance(bound, tuple) else bound
