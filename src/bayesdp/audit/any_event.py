"""The most telling event of *any* (τ, δ)-DP mechanism, by linear programming.

Let g be the probability of an event as a function of the data set. A (τ, δ)-DP mechanism with this event exists if
0 ≤ g ≤ 1 and both g and 1 − g change by at most g ↦ e^τ·g + δ when one record does: it releases whether the event
occurred. The worst event for two values of a target maximises E[g | one] − e^ε·E[g | other], which δ′ must bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp._support import validation
from bayesdp.audit.any_mechanism import joint_table, neighbours
from bayesdp.errors import BayesDPError, InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["worst_event"]

_LARGEST_TABLE = 2**12
_LARGEST_PROGRAM = 3**5

_FEASIBLE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def worst_event(
    joint: ArrayLike,
    tau: float,
    delta: float,
    epsilon: float,
    *,
    target: Sequence[int],
    evidence: Sequence[ArrayLike] | None = None,
    hidden: Iterable[int] = (),
) -> float:
    """Return the least δ′ for which all (τ, δ)-DP mechanisms are (ε, δ′)-BDP against one adversary.

    joint:    probabilities, one axis for each vertex.
    target:   the record that is attacked, or several that are one secret together.
    evidence: one likelihood for each vertex, which the adversary knows; none by default.
    hidden:   the vertices without a record.

    The solver computes it to about 1e-9. Raises BayesDPError if the solver fails.

    >>> round(worst_event([[0.4, 0.1], [0.1, 0.4]], tau=1.0, delta=0.01, epsilon=1.0, target=[0]), 6) > 0.01
    True
    """
    law = joint_table(joint, _LARGEST_TABLE)
    if evidence is not None:
        for axis, likelihood in enumerate(evidence):
            if axis not in target:
                law = law * np.asarray(likelihood).reshape([-1 if place == axis else 1 for place in range(law.ndim)])
    unrecorded = tuple(hidden)
    recorded = law.sum(axis=unrecorded)
    axes = [sum(vertex not in unrecorded for vertex in range(record)) for record in target]
    if recorded.size > _LARGEST_PROGRAM:
        raise InvalidInputError(f"linear programs are solved for at most {_LARGEST_PROGRAM} data sets")
    tau, delta = validation.positive("tau", tau), validation.probability("delta", delta)
    given = []
    for values in itertools.product(*(range(recorded.shape[axis]) for axis in axes)):
        place: list[Any] = [slice(None)] * recorded.ndim
        for axis, value in zip(axes, values, strict=True):
            place[axis] = value
        total = float(recorded[tuple(place)].sum())
        if total > 0:
            conditional = np.zeros(recorded.shape)
            conditional[tuple(place)] = recorded[tuple(place)] / total
            given.append(conditional)
    pairs = itertools.permutations(given, 2)
    return max((_worst(more - math.exp(epsilon) * less, tau, delta) for more, less in pairs), default=0.0)


def _worst(gain: NDArray[np.float64], tau: float, delta: float) -> float:
    """Return the largest Σ gain·g over the events g of all (τ, δ)-DP mechanisms."""
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    (upper, lower), factor = neighbours(gain.shape), math.exp(tau)
    rows = vstack([upper - factor * lower, factor * upper - lower])
    # 1 − g ≤ e^τ(1 − g′) + δ is e^τ·g′ − g ≤ e^τ − 1 + δ, for every ordered pair.
    bounds = np.concatenate([np.full(upper.shape[0], delta), np.full(upper.shape[0], factor - 1 + delta)])
    solved: Any = linprog(-gain.ravel(), A_ub=rows, b_ub=bounds, bounds=(0, 1), method="highs", options=_FEASIBLE)
    if not solved.success:
        raise BayesDPError(f"the linear program over all events was not solved: {solved.message}")
    return max(0.0, float(-solved.fun))
