"""Dependent differential privacy (Liu, Chakraborty and Mittal, NDSS 2016; Zhao, Zhang and Poor 2017), for two records.

The sensitivity counts the other record by a coefficient ρ between 0 and 1: how much of what a release tells about it
carries over. Noise of scale 1/τ then leaks (1 + ρ)·τ about a record whose partner is not known.

For comparison only: no session offers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesdp._support import validation
from bayesdp.calibration.search import searched
from bayesdp.errors import DoesNotApplyError
from bayesdp.models import MarkovChain

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["dependence_coefficient", "dependent_scales"]

NAME = "dependent-dp"
_TOLERANCE = 1e-10


def dependent_scales(chain: MarkovChain, epsilons: Sequence[float]) -> list[float]:
    """Return the Laplace scale of a 1-Lipschitz query over two records at each ε, with the coefficient at that scale.

    Raises DoesNotApplyError unless the chain has two records.

    >>> dependent_scales(MarkovChain([[0.5, 0.5], [0.5, 0.5]], length=2), [1.0])
    [1.0]
    """
    if chain.length != 2:
        raise DoesNotApplyError(NAME, "its coefficient is restated for two records, not for a chain of more")
    ascending = sorted(set(epsilons))

    def leaked(taus: Sequence[float]) -> list[float]:
        return [tau * (1 + dependence_coefficient(chain, tau)) for tau in taus]

    tau_at = dict(zip(ascending, searched(leaked, ascending, (), _TOLERANCE, at_once=False), strict=True))
    return [1 / (tau_at[epsilon] or np.nan) for epsilon in epsilons]


def dependence_coefficient(chain: MarkovChain, tau: float) -> float:
    """Return ρ of two neighbouring records at noise of scale 1/τ, the larger of both directions.

    e^{ρτ} is the largest quotient of what a τ-DP answer's probability is on average over the other record, given two
    values of this one: (1 + (e^τ − 1)·p(A))/(1 + (e^τ − 1)·q(A)) for the best set A of its values.

    >>> round(dependence_coefficient(MarkovChain([[0.9, 0.1], [0.2, 0.8]]), 0.1), 4)
    0.7032
    """
    grown = np.expm1(validation.positive("tau", tau))
    if chain.memory > 1 or chain.start != "stationary" or not chain.is_irreducible:
        raise DoesNotApplyError(NAME, "it is restated for chains in their stationary law")
    law, matrix = chain.stationary, chain.matrix
    sides = (matrix, (law[:, None] * matrix).T / law[:, None])
    return float(max(_largest_quotient(laws, grown) for laws in sides)) / tau


def _largest_quotient(laws: NDArray[np.float64], grown: float) -> float:
    """Return the logarithm of the largest quotient over all pairs of rows: A holds the values with the largest p/q."""
    largest = 0.0
    for p in laws:
        for q in laws:
            with np.errstate(divide="ignore", invalid="ignore"):
                order = np.argsort(-np.nan_to_num(p / q, nan=0.0, posinf=np.inf))
            quotients = np.log1p(grown * np.cumsum(p[order])) - np.log1p(grown * np.cumsum(q[order]))
            largest = max(largest, float(quotients.max()))
    return largest
