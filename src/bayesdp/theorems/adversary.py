"""Adversaries: a single one, whose own leakage can be computed, and the worst one of a theorem."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

from bayesdp._support import validation
from bayesdp._support.messages import name_of, params
from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError
from bayesdp.models import Chain, GaussianGroups, MarkovChain, Model
from bayesdp.theorems.markov.sides import Ending

__all__ = ["Adversary", "Stretch", "WorstInChain", "WorstInGroup"]


class Stretch(NamedTuple):
    """The unknown records on one side of the target, up to the nearest known record or the end of the chain."""

    unknown: int
    known: bool

    @property
    def records(self) -> int:
        """The number of records, including the known one."""
        return self.unknown + self.known


@dataclass(frozen=True)
class Adversary:
    """An adversary who knows the records `known` exactly and tries to distinguish two values of the record `target`.

    Records are positions from 0, in a chain of exactly `length` records or in a group (the rows of the covariance).

    >>> str(Adversary(5, (9, 3)))
    'one who knows records 3 and 9 exactly and asks about record 5'
    """

    target: int
    known: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", validation.natural("target", self.target, least=0))
        if isinstance(self.known, str) or not isinstance(self.known, Iterable):
            raise InvalidInputError(
                name_of("known") + f" must be positions of records, such as [3, 9], not {brief(self.known)}"
            )
        known = sorted(validation.natural("known", record, least=0) for record in self.known)
        if len(set(known)) < len(known):
            raise InvalidInputError(f"known names a record twice: {', '.join(map(str, known))}")
        if self.target in known:
            raise InvalidInputError(f"record {self.target} is both the target and known; leave it out of known")
        object.__setattr__(self, "known", tuple(known))

    @classmethod
    def of(cls, target: int | None, known: Iterable[int] | None) -> Adversary | None:
        """Return the adversary of `leakage(..., target=, known=)`; None stands for all adversaries."""
        if target is None and known is not None:
            raise InvalidInputError(params("{known} requires {target}, the record that the adversary asks about"))
        return None if target is None else cls(target, () if known is None else known)  # type: ignore[arg-type]

    def __str__(self) -> str:
        *others, last = [str(record) for record in self.known] or [""]
        listed = f"records {', '.join(others)} and {last}" if others else f"record {last}"
        knows = f"{listed} exactly" if self.known else "no other record"
        return f"one who knows {knows} and asks about record {self.target}"

    def within(self, model: Model) -> str:
        """Return the adversary in words, with the chain or group of its records."""
        return f"{self}, {f'in a chain of exactly {model.length}' if isinstance(model, Chain) else 'in one group'}"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object under "adversary" of `bayesdp leakage --target`."""
        return {"target": self.target, "known": list(self.known)}

    def check(self, model: Model) -> None:
        """Raise InvalidInputError for positions that the model's chains or groups do not have.

        Also for a chain whose number of records, or of steps between them, is unknown.
        """
        _check_position(model, max(self.target, *self.known, 0))

    def stretches(self, length: int) -> tuple[Stretch, Stretch]:
        """Return the stretches before and after the target in a chain of `length` records.

        >>> Adversary(5, (0, 3, 9)).stretches(8 + 4)
        (Stretch(unknown=1, known=True), Stretch(unknown=3, known=True))
        """
        before = [record for record in self.known if record < self.target]
        after = [record for record in self.known if record > self.target]
        left = Stretch(self.target - before[-1] - 1, True) if before else Stretch(self.target, False)
        right = Stretch(after[0] - self.target - 1, True) if after else Stretch(length - 1 - self.target, False)
        return left, right


@dataclass(frozen=True)
class WorstInChain:
    """The worst adversary in a chain: it compares two states of a record and knows all but the records next to it.

    values:        the states, by their positions in the chain's states; the output is likelier under the first.
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
    """The worst adversary in a group: it compares two values of one record and knows some of the others.

    kind: the position of the group's covariance in the model's `kinds`.
    """

    kind: int
    target: int
    known: tuple[int, ...]

    def described(self) -> str:
        """Return the adversary in words."""
        knows = f"records {', '.join(map(str, self.known))}" if self.known else "no other record"
        return f"an adversary who targets record {self.target} of a group and knows {knows} of it"


@singledispatch
def _check_position(model: Model, position: int) -> None:
    """Refuse a position that the model does not have; a model without positions accepts any."""


@_check_position.register
def _check_position_in_chain(model: Chain, position: int) -> None:
    if model.length is None:
        raise InvalidInputError(
            "the records of an adversary are positions in a chain of known length; give the model a length"
        )
    if model.gaps:
        raise InvalidInputError(
            "records are missing inside the chain (gaps), so positions do not determine the steps between records"
        )
    if position >= model.length:
        raise InvalidInputError(f"there is no record {position} in a chain of {model.length}; they are numbered from 0")


@_check_position.register
def _check_position_in_group(model: GaussianGroups, position: int) -> None:
    if position >= model.group_size:
        raise InvalidInputError(
            f"there is no record {position} in a group of {model.group_size}; they are numbered from 0"
        )
