"""The worst adversary of a theorem, as data: whom he asks about, and what he knows."""

from __future__ import annotations

from dataclasses import dataclass

from bayesdp.models import MarkovChain
from bayesdp.theorems.markov.sides import Ending

__all__ = ["WorstInChain", "WorstInGroup"]


@dataclass(frozen=True)
class WorstInChain:
    """He compares two states of a record, and knows everything but the records next to it, on both sides.

    values: the states, by their position in the chain's; the output is likelier under the first.
    before, after: how many records are unknown on either side, and what is known where they end.
    """

    values: tuple[int, int]
    before: Ending
    after: Ending

    def described(self, chain: MarkovChain) -> str:
        """Return the adversary in words."""
        first, second = (repr(chain.states[value]) for value in self.values)
        before, after = (ending.described(chain) for ending in (self.before, self.after))
        return f"a target that is {first} or {second}, with {before} before it and {after} after it"


@dataclass(frozen=True)
class WorstInGroup:
    """He compares two values of one record of a group, and knows some of its other records.

    kind: the position of the group's covariance in the model's `kinds`.
    """

    kind: int
    target: int
    known: tuple[int, ...]

    def described(self) -> str:
        """Return the adversary in words."""
        knows = f"records {', '.join(map(str, self.known))}" if self.known else "no other record"
        return f"an adversary who targets record {self.target} of a group and knows {knows} of it"
