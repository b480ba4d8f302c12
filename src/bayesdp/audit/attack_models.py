"""Attack models: a secret with a few values, and the law of the exact answer given each of them.

These laws already contain everything else the attacker knows. Laplace noise is added to the answer, continuous or
discrete. The likelihood of an output is then known up to a constant, and so are the attacker's best guess and what he
learns. With Gaussian noise, the event that exceeds e^ε by most is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesdp._support.validation import Scalar

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AttackModel", "Betrayal", "Excess", "copies"]

_TAIL = 12.0
"""Gaussian noise beyond so many standard deviations is counted in two outermost cells."""

_CELLS = 4000
"""The number of cells into which noisy answers are divided to find an event."""

_AT_ONCE = 2_000_000
"""The largest number of (answer, cell) pairs held in memory at once."""

_SAME = 1e-9
"""Outputs whose likelihood ratios differ by less than this share count as equally telling."""


@dataclass(frozen=True)
class Betrayal:
    """The output that best distinguishes two values of the secret.

    epsilon:   ln of how much likelier it is under the first value than under the second.
    values:    the positions of the two values.
    output:    the noisy answer, in the units of the attack model; all outputs beyond the largest or the smallest answer
               are equally telling.
    direction: 1 if all larger outputs tell as much, −1 if all smaller ones do, 0 if only this one does.
    """

    epsilon: float
    values: tuple[int, int]
    output: float
    direction: int


@dataclass(frozen=True)
class Excess:
    """How far the probability of an event under one value exceeds e^ε times that under another.

    delta:  Pr[event | first value] − e^ε·Pr[event | second value]; no smaller δ is true of the release.
    values: the positions of the two values.
    """

    delta: float
    values: tuple[int, int]


@dataclass(frozen=True, eq=False)
class AttackModel:
    """An attack model: a secret, the attacker's prior belief about it, and how the exact answer depends on it.

    secret:      the values of the secret.
    prior:       the probability of each value, given what the attacker knows.
    answers:     the possible exact answers, ascending, without the contribution of known records.
    laws:        the law of the answer given each value: a row for each value, a column for each answer.
    sensitivity: how far one record can move the answer; noise of scale sensitivity/τ makes it τ-DP.
    extremes:    whether only the smallest and the largest outputs are examined.

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

        Answers below an output have the weight e^(rate·answer), those above it e^(−rate·answer). Running sums over the
        sorted answers are therefore enough.
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
        """Return the attacker's belief after each output: (value, output)."""
        with np.errstate(divide="ignore"):
            logs = self.log_likelihood(outputs, tau) + np.log(self.prior)[:, None]
        weights = np.exp(logs - logs.max(axis=0))
        return np.asarray(weights / weights.sum(axis=0))

    def betrayal(self, tau: float, values: tuple[int, int] | None = None) -> Betrayal:
        """Return the output that best distinguishes two values; by default, over all pairs of possible values.

        The ratio of two mixtures of Laplace densities is monotone between two neighbouring answers and constant beyond
        all answers. It is therefore enough to examine the answers themselves.
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

    def excess(self, epsilon: float, scale: float, values: tuple[int, int] | None = None) -> Excess:
        """Return the event that exceeds e^ε by most under Gaussian noise; by default, over all pairs of values.

        scale: the standard deviation of the noise, in units of the answers.

        Events are unions of narrow cells of outputs, whose probabilities are computed exactly up to rounding. So the δ
        is attained, and finer cells raise it by little.

        >>> f"{copies(1).excess(1.0, 2.0).delta:.5f}, {copies(2).excess(1.0, 2.0).delta:.5f}"
        '0.00683, 0.12694'
        """
        low, high = self.answers[0] - _TAIL * scale, self.answers[-1] + _TAIL * scale
        edges = np.concatenate([[-np.inf], np.linspace(low, high, _CELLS + 1), [np.inf]])
        chances = self._cell_chances(edges, scale)
        possible = np.flatnonzero(self.prior > 0)
        every = [(int(x), int(y)) for x in possible[::-1] for y in possible[::-1] if x != y]
        with np.errstate(over="ignore", invalid="ignore"):
            found = [
                Excess(float(np.fmax(chances[more] - np.exp(epsilon) * chances[less], 0.0).sum()), (more, less))
                for more, less in (every if values is None else [values])
            ]
        return max(found, key=lambda one: one.delta, default=Excess(0.0, (0, 0)))

    def _cell_chances(self, edges: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
        """Return the probability of each cell between two edges, given each value of the secret: (value, cell)."""
        from scipy.special import ndtr

        chances = np.zeros((len(self.laws), len(edges) - 1))
        step = max(1, _AT_ONCE // len(edges))
        for start in range(0, len(self.answers), step):
            places = (edges[None, :] - self.answers[start : start + step, None]) / scale
            # Beyond the middle, differences of upper tails keep digits that those of lower tails lose.
            below, above = np.diff(ndtr(places), axis=1), -np.diff(ndtr(-places), axis=1)
            chances += self.laws[:, start : start + step] @ np.where(places[:, 1:] <= 0, below, above)
        return chances


def _first_extreme(ratios: NDArray[np.float64]) -> int:
    """Return where ratios are largest; prefer the end, then the beginning, if they are as large up to rounding."""
    place = int(np.argmax(ratios))
    ends = (len(ratios) - 1, 0)
    return next((end for end in ends if ratios[end] >= ratios[place] * (1 - _SAME)), place)


def copies(records: int) -> AttackModel:
    """Return the attack model of records that are all equal, 0 or 1 with probability ½: the worst case of a group.

    With one record, the attacker knows every other record, as in ordinary differential privacy.
    """
    return AttackModel((0, 1), np.full(2, 0.5), np.array([0.0, records]), np.eye(2), 1.0)
