"""What an attacker faces: a secret with a few values, and the law of the exact answer given each of them.

Everything else he knows is in these laws already. Laplace noise is added to the answer, continuous or discrete: the
likelihood of an output is then known up to a constant, and with it the attacker's best guess and what he learns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesdp._support.validation import Scalar

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AttackModel", "Betrayal", "alone", "copies"]

_SAME = 1e-9
"""Outputs that betray a secret equally, but for this share, are one."""


@dataclass(frozen=True)
class Betrayal:
    """The output that tells two values of the secret apart best.

    epsilon:   ln of how much likelier it is under the first value than under the second.
    values:    the two, by their positions.
    output:    the noisy answer, in the units of the scene; beyond the largest or smallest answer all outputs are alike.
    direction: 1 if larger outputs betray as much, −1 if smaller ones do, 0 for this one alone.
    """

    epsilon: float
    values: tuple[int, int]
    output: float
    direction: int


@dataclass(frozen=True, eq=False)
class AttackModel:
    """A secret, what the attacker believes of it, and how the exact answer depends on it.

    secret:      the values of the secret.
    prior:       the probability of each to someone with the attacker's knowledge.
    answers:     the possible exact answers, ascending, less what the known records add for certain.
    laws:        the law of the answer given each value: a row for each, a column for each answer.
    sensitivity: how far one record can move the answer; noise of scale sensitivity/τ makes it τ-DP.
    extremes:    whether only the smallest and the largest outputs are looked at.

    >>> pair = copies(2)
    >>> round(pair.betrayal(1.0).epsilon, 9)
    2.0
    """

    secret: tuple[Scalar, ...]
    prior: NDArray[np.float64]
    answers: NDArray[np.float64]
    laws: NDArray[np.float64]
    sensitivity: float
    extremes: bool = False

    def log_likelihood(self, outputs: NDArray[np.float64], tau: float) -> NDArray[np.float64]:
        """Return ln of the density of each output given each value of the secret, up to a constant: (value, output).

        Sorted answers below an output weigh e^(rate·answer), those above it e^(−rate·answer), so that running sums do.
        """
        rate = tau / self.sensitivity
        with np.errstate(divide="ignore"):
            weights = np.log(self.laws)
        below = np.logaddexp.accumulate(weights + rate * self.answers, axis=1)
        above = np.logaddexp.accumulate((weights - rate * self.answers)[:, ::-1], axis=1)[:, ::-1]
        nothing = np.full((len(weights), 1), -np.inf)
        place = np.searchsorted(self.answers, outputs, side="right")
        return np.asarray(
            np.logaddexp(
                np.hstack([nothing, below])[:, place] - rate * outputs,
                np.hstack([above, nothing])[:, place] + rate * outputs,
            )
        )

    def posterior(self, outputs: NDArray[np.float64], tau: float) -> NDArray[np.float64]:
        """Return what the attacker believes after each output: (value, output)."""
        with np.errstate(divide="ignore"):
            logs = self.log_likelihood(outputs, tau) + np.log(self.prior)[:, None]
        weights = np.exp(logs - logs.max(axis=0))
        return np.asarray(weights / weights.sum(axis=0))

    def betrayal(self, tau: float, values: tuple[int, int] | None = None) -> Betrayal:
        """Return the output that tells two values apart best; of all pairs of possible values, unless they are given.

        Between two neighbouring answers the ratio of two mixtures of Laplace densities is monotone, and beyond all
        answers it is constant: the answers are all the outputs that need be looked at.
        """
        outputs = self.answers[[0, -1]] if self.extremes else self.answers
        logs = self.log_likelihood(outputs, tau)
        possible = np.flatnonzero(self.prior > 0)
        every = [(int(x), int(y)) for x in possible[::-1] for y in possible[::-1] if x != y]
        pairs = every if values is None else [values]
        worst = Betrayal(0.0, pairs[0] if pairs else (0, 0), float(outputs[-1]), 1)
        for more, less in pairs:
            ratios = logs[more] - logs[less]
            place = _first_extreme(ratios)
            if ratios[place] > worst.epsilon:
                direction = (place == len(outputs) - 1) - (place == 0)
                worst = Betrayal(float(ratios[place]), (more, less), float(outputs[place]), int(direction))
        return worst


def _first_extreme(ratios: NDArray[np.float64]) -> int:
    """Return where ratios are largest: at the end or the beginning, if that is as large but for rounding."""
    place = int(np.argmax(ratios))
    ends = (len(ratios) - 1, 0)
    return next((end for end in ends if ratios[end] >= ratios[place] * (1 - _SAME)), place)


def copies(records: int) -> AttackModel:
    """Return the scene of records that are all alike, 0 or 1 with equal probability: the worst that a group can be."""
    return AttackModel((0, 1), np.full(2, 0.5), np.array([0.0, records]), np.eye(2), 1.0)


def alone() -> AttackModel:
    """Return the scene of someone who knows every record but one: what ordinary differential privacy is about."""
    return copies(1)
