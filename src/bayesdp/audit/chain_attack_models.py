"""Attack models of a Markov chain: a target between two known records, with unknown records around it.

The law of (last records, running answer) is computed record by record, once for each value of the target.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from bayesdp.audit.attack_models import AttackModel
from bayesdp.errors import InvalidInputError
from bayesdp.models import MarkovChain
from bayesdp.queries import Query
from bayesdp.theorems.markov.sides import Ending

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Adding", "UnknownStretch", "adding", "chain_attack_model"]

_MOST_ANSWERS = 200_000
"""The largest number of different answers that is computed; a sum on a fine grid can have more."""


@dataclass(frozen=True)
class Adding:
    """What each state adds to the answer, in whole units from 0, and how far one record can move it in these units.

    of_query: whether this describes the query itself; otherwise it stands for some mechanism with the same τ.
    extremes: whether it describes the query at extreme outputs only: each cell of a histogram has its own noise.
    in_turn:  whether the two states swap roles with every step from the target, as the reports of records do whose
              neighbours tend to differ.
    """

    values: tuple[int, ...]
    sensitivity: float
    of_query: bool = True
    extremes: bool = False
    in_turn: bool = False


@dataclass(frozen=True)
class UnknownStretch:
    """Unknown records around a target, and what is known at both ends: a state's position, or None where it ends.

    left, right: for chains with a longer memory, the positions of all states that are known next to the stretch, in
                 time; empty if they all are those of the endings.
    """

    before: Ending
    after: Ending
    left: tuple[int, ...] = field(default=(), kw_only=True)
    right: tuple[int, ...] = field(default=(), kw_only=True)

    @property
    def records(self) -> int:
        """How many records are unknown, the target not counted."""
        return self.before.unknown + self.after.unknown


def adding(query: Query, chain: MarkovChain, values: tuple[int, int] | None = None) -> Adding:
    """Return what each state of a chain adds to a query's answer.

    values: the two states that are compared, for a query that is not one number. In a histogram, their two cells
            distinguish them. If only the τ of a query is known, it is replaced by randomized response: the report that
            every record is in the first state is as likely as a noisy count of that state beyond all counts.
    """
    states = chain.states
    added = query.state_values(states)
    if not isinstance(added, str) and not query.by_cell and not query.thresholds:
        unit = math.gcd(*added) or 1
        return Adding(tuple(value // unit for value in added), float(query.parts_sensitivity) / unit)
    more, less = (0, 1) if values is None else values
    if query.by_cell:
        cells = query.cells_asked()
        homes = [next((place for place, cell in enumerate(cells) if state in cell), -1) for state in states]
        gained = [home == homes[more] >= 0 for home in homes]
        lost = [home == homes[less] >= 0 for home in homes]
        numbers = [1 + gain - loss for gain, loss in zip(gained, lost, strict=True)]
        return Adding(tuple(n - min(numbers) for n in numbers), float(query.parts_sensitivity), extremes=True)
    repelled = chain.table.shape == (2, 2) and float(np.linalg.det(chain.table)) < 0
    return Adding(tuple(int(place == more) for place in range(len(states))), 1.0, of_query=False, in_turn=repelled)


def chain_attack_model(chain: MarkovChain, added: Adding, stretch: UnknownStretch) -> tuple[AttackModel, float]:
    """Return the attack model of a target in a stretch, and how likely its right end is to follow its left one.

    The target is `unit` consecutive records, all in the same state. With memory k, the last k records before and the
    first k after the stretch are known, in the states that the stretch lists, or all in the state of its end.
    """
    laws, mass, likely = _laws(chain, added, stretch)
    attack_model = AttackModel(
        tuple(chain.states), mass, np.arange(laws.shape[1], dtype=np.float64), laws, added.sensitivity, added.extremes
    )
    return attack_model, likely


@lru_cache(maxsize=256)
def _laws(
    chain: MarkovChain, added: Adding, stretch: UnknownStretch
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the law of the answer given each value of the target, their probabilities, and that of what is known."""
    size = len(added.values)
    width = (stretch.records + chain.unit) * max(added.values) + 1
    if width > _MOST_ANSWERS:
        raise InvalidInputError(
            f"{stretch.records} unknown records have {width} possible answers; at most {_MOST_ANSWERS} are computed"
        )
    joint = np.array([_followed(chain, added, stretch, target, width) for target in range(size)])
    mass = joint.sum(axis=1)
    likely = float(mass.sum())
    laws = joint / np.where(mass > 0, mass, 1.0)[:, None]
    return laws, mass / likely, likely


def _followed(
    chain: MarkovChain, added: Adding, stretch: UnknownStretch, target: int, width: int
) -> NDArray[np.float64]:
    """Return the probability of each answer, of this target and of the known end after it, given the known start."""
    size, memory = len(added.values), chain.memory
    left, right = stretch.before.boundary, stretch.after.boundary
    current, first = np.zeros((*(size,) * memory, width)), left is None
    if left is not None:
        current[(*(stretch.left or (left,) * memory), 0)] = 1.0
    for place in range(stretch.records + chain.unit):
        if first:
            if memory > 1:
                raise InvalidInputError(
                    "a chain with a memory of several records is attacked between known records only; name both ends"
                )
            moved = chain.stationary[:, None] * (np.arange(width) == 0)
        else:
            moved = (current[..., None, :] * chain.table[..., None]).sum(axis=0)
        away = max(stretch.before.unknown - place, place - stretch.before.unknown - chain.unit + 1)
        values = added.values[::-1] if added.in_turn and away > 0 and away % 2 else added.values
        current, first = _counted(moved, values, None if away > 0 else target), False
    if right is not None:
        for state in stretch.right or (right,) * memory:
            moved = (current[..., None, :] * chain.table[..., None]).sum(axis=0)
            current = np.where((np.arange(size) == state)[:, None], moved, 0.0)
    return np.asarray(current.reshape(-1, width).sum(axis=0))


def _counted(moved: NDArray[np.float64], values: tuple[int, ...], only: int | None) -> NDArray[np.float64]:
    """Add the newest record's value to the answer; keep only one of its states, if `only` names it."""
    counted, width = np.zeros_like(moved), moved.shape[-1]
    for state, value in enumerate(values):
        if only in (None, state):
            counted[..., state, value:] = moved[..., state, : width - value]
    return counted
