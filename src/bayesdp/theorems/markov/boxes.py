"""More than seven states: the step of the mixing bound, relaxed to boxes. Proof: docs/theory/markov-mixing.md.

All admissible h, scaled suitably, lie in a box low(v) ≤ h(v) ≤ high(v), in which the largest quotient E_u[h]/E_u′[h] is
attained at a corner. A few rounds of Dinkelbach's iteration find it. There is a box for the smallest value of h
("rows"), one for the largest ("columns") and one for the value at each state ("references"). Every box gives a bound,
and the best box hardly changes from record to record, so all of them are compared only at some distances. Pairs of
values that lead to few states are solved exactly.
"""

from __future__ import annotations

import numpy as np

from bayesdp._support.arrays import Booleans, Floats, Integers
from bayesdp.theorems.markov.sides import UNIT
from bayesdp.theorems.markov.transport import exact_step

__all__ = ["Boxes", "largest_quotient"]

_FEW = 5
"""Pairs that lead to at most this many states are solved exactly: single stars and pairs of them suffice."""

_MOST_REFERENCES = 64
"""In chains of more states, only the two values compared are references."""

_ROUNDS = 40
_RAISED, _RISEN = 1 + 2.0**-40, 1 + 2.0**-41
"""Their difference is many times the rounding error of sums over a thousand states."""

_NUMBERS_AT_ONCE = 2**17


def largest_quotient(p: Floats, q: Floats, low: Floats, high: Floats, guess: Floats, rounds: int = _ROUNDS) -> Floats:
    """Return max Σp·h/Σq·h over 0 < low ≤ h ≤ high, Σ over the last axis, rounded up; a bound if the rounds run out.

    h is `high` where p/q exceeds the maximum and `low` elsewhere. `guess` may be any positive numbers: it is replaced
    by the quotient at its own corner until that corner stays the same or the quotient no longer rises. Corners are
    taken at a slightly raised number, which is returned. Otherwise, where p/q of an entry is close to the quotient,
    rounding could keep it at `high`, mask the other entries, or make the iteration alternate without end.
    """
    limit = guess * _RAISED
    raised = p > limit[..., None] * q
    corner = raised * (high - low)  # np.where takes ten times as long
    corner += low
    above, below = np.vecdot(p, corner), np.vecdot(q, corner)
    if not rounds:
        excess = above - limit * below + (low.shape[-1] + 8) * UNIT * (above + limit * below)
        return np.asarray(limit + excess / np.where(excess > 0, np.vecdot(q, low), np.vecdot(q, high)))
    reached = np.asarray(above / below)
    moved = ((p > (reached * _RAISED)[..., None] * q) != raised).any(axis=-1)
    if rounds < _ROUNDS:  # the guess is a quotient that was reached
        moved &= reached > guess * _RISEN
        reached = np.maximum(reached, guess)
    bound = np.asarray(reached * _RAISED)
    if moved.any():
        p, q, low, high = (np.broadcast_to(array, raised.shape)[moved] for array in (p, q, low, high))
        bound[moved] = largest_quotient(p, q, low, high, reached[moved], rounds - 1)
    return bound


class Boxes:
    """The relaxed step of one side of a chain: which box serves which pair of values, at each τ."""

    def __init__(self, matrix: Floats, taus: int) -> None:
        size = len(matrix)
        self.size = size
        self.best = np.zeros((taus, size, size), dtype=np.int64)
        self.first, self.second, self.few = _leading_to_few(matrix)

    def step(
        self, laws: Floats, gains: Floats, possible: Booleans, guesses: Floats, usable: Booleans, compare: int | None
    ) -> Floats:
        """Return upper bounds on max_h E_u[h]/E_u′[h], as (τ, ending, u, u′).

        laws:     (ending, u, v), each a law, also for u that cannot occur.
        gains:    (τ, ending, v, v′), finite between values that can occur; 1 from those that cannot, infinite to them.
        possible: (ending, v): which v can occur.
        guesses:  (τ, ending, u, u′): approximate results.
        usable:   (τ, ending): what to compute; the rest is infinite.
        compare:  the boxes are compared by the last usable ending up to this one; None keeps the current ones.
        """
        bounds = np.full(gains.shape, np.inf)
        for index, endings in enumerate(usable):
            chosen = np.flatnonzero(endings)
            if compare is not None and len(chosen):
                one = int(chosen[max(int((chosen <= compare).sum()) - 1, 0)])
                boxes = _boxes(gains[index, one], possible[one])
                self.best[index] = self._compared(laws[one], *boxes, guesses[index, one])
            for ending in chosen:
                boxes = _boxes(gains[index, ending], possible[ending])
                bound = self._by_boxes(laws[ending], *boxes, self.best[index], guesses[index, ending])
                bounds[index, ending] = np.minimum(bound, self._exact(laws[ending], gains[index, ending]))
        return bounds

    def _exact(self, law: Floats, gains: Floats) -> Floats:
        """Return the exact bound of the pairs that lead to few states; infinite for the others."""
        bounds = np.full(gains.shape, np.inf)
        if len(self.first):
            both = np.stack([law[self.first[:, None], self.few], law[self.second[:, None], self.few]], axis=1)
            exact = exact_step(both, gains[self.few[:, :, None], self.few[:, None, :]])
            bounds[self.first, self.second], bounds[self.second, self.first] = exact[..., 0, 1], exact[..., 1, 0]
        return bounds

    def _compared(self, law: Floats, lows: Floats, highs: Floats, guess: Floats) -> Integers:
        """Return the number of the best box for each pair."""
        same = np.arange(self.size)
        choices: list[Integers] = [np.full((self.size, self.size), number) for number in (0, 1)]
        if self.size <= _MOST_REFERENCES:
            choices += [np.full((self.size, self.size), 2 + state) for state in same]
        else:
            choices += [np.broadcast_to(2 + same[:, None], guess.shape), np.broadcast_to(2 + same, guess.shape)]
        smallest, best = np.full(guess.shape, np.inf), choices[0]
        for choice in choices:
            value = self._by_boxes(law, lows, highs, choice, guess, rounds=0)
            best = np.where(value < smallest, choice, best)
            smallest = np.fmin(smallest, value)
        return best

    def _by_boxes(
        self, law: Floats, lows: Floats, highs: Floats, choice: Integers, guess: Floats, rounds: int = _ROUNDS
    ) -> Floats:
        """Return the bound of the box chosen for each pair."""
        rows = max(1, _NUMBERS_AT_ONCE // self.size**2)
        parts = [slice(begin, begin + rows) for begin in range(0, self.size, rows)]
        return np.concatenate(
            [
                largest_quotient(
                    law[part, None],
                    law[None],
                    lows[choice[part]],
                    highs[choice[part]],
                    guess[part],
                    rounds,
                )
                for part in parts
            ]
        )


def _boxes(gains: Floats, possible: Booleans) -> tuple[Floats, Floats]:
    """Return low and high of every box, as (box, v): rows, columns, then a reference for each state.

    Values that cannot occur carry no probability; as references they stand for the rows.
    """
    inside = np.where(possible[:, None] & possible[None, :], gains, 0.0)
    outgoing = np.where(possible, inside.max(axis=1), 1.0)
    incoming = np.where(possible, inside.max(axis=0), 1.0)
    ones = np.ones(len(gains))
    lows = np.where(possible[:, None], 1 / gains, ones)
    highs = np.where(possible[:, None], gains.T, outgoing)
    return np.concatenate([[ones, 1 / incoming], lows]), np.concatenate([[outgoing, ones], highs])


def _leading_to_few(matrix: Floats) -> tuple[Integers, Integers, Integers]:
    """Return the pairs of values that lead to at most five states, and those states, filled up with others."""
    first, second = np.triu_indices(len(matrix), 1)
    reached = (matrix[first] > 0) | (matrix[second] > 0)
    chosen = reached.sum(axis=1) <= _FEW
    few = np.argsort(~reached[chosen], axis=1, kind="stable")[:, :_FEW]
    return first[chosen], second[chosen], few
