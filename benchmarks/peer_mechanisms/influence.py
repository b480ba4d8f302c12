"""The influence matrix (Ghosh and Kleinberg, ITCS 2017, "GK16"), restated for a chain.

Γ holds how much the value of one record can say about another's, all others being known. If its spectral norm is below
1, a τ-DP mechanism leaks at most 2τ·Σ_j Φ_ij about record i, Φ = (I − Γ)⁻¹. This covers adversaries who know records.

For comparison only: no session offers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesdp.errors import DoesNotApplyError
from bayesdp.models import MarkovChain

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["influence_scales", "influences", "spectral_norm"]

NAME = "gk16"


def influence_scales(chain: MarkovChain, epsilons: Sequence[float]) -> list[float]:
    """Return the Laplace scale of GK16 for a 1-Lipschitz query at each ε.

    Needs a length and a stationary start. DoesNotApplyError where the spectral norm of Γ reaches 1.

    >>> influence_scales(MarkovChain([[0.5, 0.5], [0.5, 0.5]], length=100), [1.0])
    [2.0]
    """
    from scipy.linalg import solve_banded

    norm = spectral_norm(chain)
    if not norm < 1:
        raise DoesNotApplyError(NAME, f"the spectral norm of the influence matrix is {norm:.3g}, and must be below 1")
    back, on = influences(chain)
    diagonals = np.ones((3, len(back) + 1))
    diagonals[0, 1:], diagonals[2, :-1] = -on, -back
    total = 2 * float(solve_banded((1, 1), diagonals, np.ones(len(back) + 1)).max())
    return [total / epsilon for epsilon in epsilons]


def influences(chain: MarkovChain) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the entries of Γ: of record i on record i + 1, and of record i + 1 on record i, for all i.

    An entry is half the largest change of ln Pr(value | all others) when one neighbour changes; all others are 0.
    """
    if chain.memory > 1 or chain.start != "stationary" or not chain.is_irreducible or chain.gaps:
        raise DoesNotApplyError(NAME, "it is restated for chains in their stationary law, without gaps")
    if chain.length is None:
        raise DoesNotApplyError(NAME, "its matrix has a row for each record: give the chain a length")
    law, matrix = chain.stationary, chain.matrix
    between = matrix[:, :, None] * matrix[None, :, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        between = between / between.sum(axis=1, keepdims=True)
    first, last = (law[:, None] * matrix / law).T[:, :, None], matrix[:, :, None]
    back = np.full(chain.length - 1, _half_log(between))
    on = np.full(chain.length - 1, _half_log(between.swapaxes(0, 2)))
    if chain.length > 1:
        back[-1], on[0] = _half_log(last), _half_log(first)
    return back, on


def _half_log(conditional: NDArray[np.float64]) -> float:
    """Return ½ max ln Pr(x | l, r)/Pr(x | l′, r) of a table (l, x, r); infinite where only one of them is possible."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(conditional)
        largest = np.fmax.reduce(logs, axis=0)
        return 0.5 * float(np.max(np.where(largest > -np.inf, largest - np.fmin.reduce(logs, axis=0), 0.0)))


def spectral_norm(chain: MarkovChain) -> float:
    """Return the spectral norm of Γ, the root of the largest eigenvalue of ΓᵀΓ.

    Γ has entries beside its diagonal only, so ΓᵀΓ falls into two tridiagonal matrices: every second record.
    """
    from scipy.linalg import eigh_tridiagonal

    back, on = influences(chain)
    if not (np.isfinite(back).all() and np.isfinite(on).all()):
        return np.inf
    diagonal = np.concatenate([back**2, [0.0]]) + np.concatenate([[0.0], on**2])
    beside = back[:-1] * on[1:]
    largest = 0.0
    for parity in (0, 1):
        own, next_own = diagonal[parity::2], beside[parity::2]
        if len(own):
            last = len(own) - 1
            top = eigh_tridiagonal(own, next_own[:last], eigvals_only=True, select="i", select_range=(last, last))
            largest = max(largest, float(top[0]))
    return float(np.sqrt(largest))
