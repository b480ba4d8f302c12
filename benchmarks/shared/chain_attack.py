"""The attack that attains the bound of a chain with bounded odds, on chains of any length: no enumeration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesdp._support import validation
from bayesdp.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["ChainAttack", "chain_attack", "chain_leakage"]


@dataclass(frozen=True, eq=False)
class ChainAttack:
    """Side information about every record of a chain, the reports that give the target away, and what they leak.

    evidence: the likelihood of each value (columns) of each record (rows); the target's is all ones.
    reports:  what randomized response reports of each record.
    """

    epsilon: float
    target: int
    evidence: NDArray[np.float64]
    reports: NDArray[np.intp]


def chain_attack(matrix: ArrayLike, tau: float, records: int) -> ChainAttack:
    """Return the worst side information about a two-state chain whose records are randomized one by one at τ.

    matrix: positive transition probabilities, from the state before (rows) to the next (columns).

    What lies beyond a record, and its own report, multiply the odds of the output by some G between its two values. The
    side information makes the value that is reported have probability 1/(1 + √(θG)) given the neighbouring value that
    makes it less likely: there the contraction is an equality (docs/theory/contraction.md). So, for many records, the
    middle one leaks what `odds-chain` proves. Values that attract one another are reported alike, others in turn.

    >>> round(chain_attack([[0.75, 0.25], [0.25, 0.75]], tau=1.0, records=801).epsilon, 6)
    2.79762
    """
    law = _checked(matrix)
    tau = validation.positive("tau", tau)
    target = (validation.natural("records", records) - 1) // 2
    attracted = law[0, 0] * law[1, 1] >= law[0, 1] * law[1, 0]
    distance = np.abs(np.arange(records) - target)
    reports = np.ones(records, dtype=np.intp) if attracted else 1 - distance % 2
    left = _side(law.T, tau, reports[: target + 1][::-1])
    right = _side(law, tau, reports[target:])
    evidence = np.array([*left[::-1], np.ones(2), *right])
    return ChainAttack(chain_leakage(law, tau, evidence, reports, target), target, evidence, reports)


def chain_leakage(
    matrix: ArrayLike, tau: float, evidence: NDArray[np.float64], reports: NDArray[np.intp], target: int
) -> float:
    """Return what the reports of randomized response at τ leak about one record of a chain, given side information.

    That is ln Pr[reports | target is reported truly] / Pr[reports | it is not], by passing messages along the chain.
    """
    law = np.asarray(matrix, dtype=np.float64)
    likelihood = np.exp(tau * (np.arange(2) == np.asarray(reports)[:, None]))
    own = reports[target]
    leaked = tau
    for factor, outwards in ((law.T, range(target)), (law, range(len(evidence) - 1, target, -1))):
        message, mass = np.ones(2), np.ones(2)
        for record in outwards:
            message = factor @ (evidence[record] * likelihood[record] * message)
            mass = factor @ (evidence[record] * mass)
            message, mass = message / message.max(), mass / mass.max()
        given = message / mass
        leaked += math.log(given[own] / given[1 - own])
    return leaked


def _side(factor: NDArray[np.float64], tau: float, reports: NDArray[np.intp]) -> list[NDArray[np.float64]]:
    """Return the side information about the records of one side, from the target's neighbour outwards.

    factor:  the dependence of each record (columns) on the one nearer to the target (rows).
    reports: of the target and of the records of that side, outwards.
    """
    odds = factor[0, 0] * factor[1, 1] / (factor[0, 1] * factor[1, 0])
    root = math.sqrt(max(odds, 1 / odds))
    evidence: list[NDArray[np.float64]] = []
    message, mass = np.ones(2), np.ones(2)
    for nearer, report in zip(reports[-2::-1], reports[:0:-1], strict=True):
        gain = message / mass * np.exp(tau * (np.arange(2) == report))
        unlikely = factor[1 - nearer]
        wanted = np.ones(2)
        wanted[report] = unlikely[1 - report] / (unlikely[report] * root * math.sqrt(gain[report] / gain[1 - report]))
        evidence.append(wanted / mass / (wanted / mass).max())
        message, mass = factor @ (wanted * gain / gain.max()), factor @ wanted
    return evidence[::-1]


def _checked(matrix: ArrayLike) -> NDArray[np.float64]:
    law = np.asarray(matrix, dtype=np.float64)
    if law.shape != (2, 2) or not (np.isfinite(law).all() and (law > 0).all()):
        raise InvalidInputError("the transition matrix must be 2 × 2 and positive")
    return law
