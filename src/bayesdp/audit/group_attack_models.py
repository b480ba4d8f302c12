"""Attack models of normal records: a target of two values, known records, and unknown ones that move with the target.

The law of the clipped sum is integrated over the unknown records: on a grid for up to two of them, on evenly spread
points for more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesdp.audit.attack_models import AttackModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GroupAttackModel", "conditional", "group_attack_model"]

_LARGEST_DEVIATION = 8.0
_GRID = {1: 4001, 2: 281}
"""Points along each of one or two unknown records."""

_POINTS = 2**16
"""Points over three or more unknown records."""


@dataclass(frozen=True, eq=False)
class GroupAttackModel:
    """The attack model of one record of a normal group, the unknown records, and how each moves with the target.

    direction: how far the mean of each unknown record moves when the target moves by 1.
    """

    attack_model: AttackModel
    unknown: tuple[int, ...]
    direction: tuple[float, ...]


def group_attack_model(
    covariance: NDArray[np.float64],
    target: int,
    known: Sequence[int],
    values: tuple[float, float],
    bounds: tuple[float, float],
    *,
    mean: NDArray[np.float64],
    spread: float = 1.0,
    known_values: NDArray[np.float64] | None = None,
) -> GroupAttackModel:
    """Return the attack model of a clipped sum over one group, with the target at either of two equally likely values.

    spread:       the standard deviations of the unknown records, as a share of those in the covariance: 0 for the limit
                  of small variances, under a model of correlations only.
    known_values: the values of the known records; by default their means. Their contribution is left out.
    """
    low, high = bounds
    unknown, slopes, left = conditional(covariance, target, known)
    beyond = np.zeros(len(known)) if known_values is None else np.asarray(known_values) - mean[list(known)]
    points, weights = _normal_points(spread**2 * left)
    rows, answers = [], []
    for value in values:
        centre = mean[unknown] + slopes @ np.append(beyond, value - mean[target])
        added = np.clip(points + centre, low, high) - low
        answers.append(added.sum(axis=1) + np.clip(value, low, high) - low)
        rows.append(weights)
    nothing = np.zeros(len(weights))
    laws = np.array([[*rows[0], *nothing], [*nothing, *rows[1]]])
    every = np.concatenate(answers)
    order = np.argsort(every, kind="stable")
    attack_model = AttackModel(
        (float(values[0]), float(values[1])), np.full(2, 0.5), every[order], laws[:, order], high - low
    )
    return GroupAttackModel(attack_model, tuple(unknown), tuple(float(slope) for slope in slopes[:, -1]))


def conditional(
    covariance: NDArray[np.float64], target: int, known: Sequence[int]
) -> tuple[list[int], NDArray[np.float64], NDArray[np.float64]]:
    """Return the unknown records, how their means depend on the known records and the target, and their covariance.

    The last column of the slopes is the target's.
    """
    given = [*known, target]
    unknown = [record for record in range(len(covariance)) if record not in given]
    slopes = covariance[np.ix_(unknown, given)] @ np.linalg.pinv(covariance[np.ix_(given, given)], hermitian=True)
    return unknown, slopes, covariance[np.ix_(unknown, unknown)] - slopes @ covariance[np.ix_(given, unknown)]


def _normal_points(covariance: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points and weights that approximate a centred normal law: a row for each point."""
    size = len(covariance)
    if size == 0 or not covariance.any():
        return np.zeros((1, size)), np.ones(1)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    if size in _GRID:
        line = np.linspace(-_LARGEST_DEVIATION, _LARGEST_DEVIATION, _GRID[size])
        density = np.exp(-(line**2) / 2)
        axes = np.meshgrid(*[line] * size, indexing="ij")
        weight = np.ones(())
        for _ in range(size):
            weight = np.multiply.outer(weight, density / density.sum())
        standard, weights = np.stack([axis.ravel() for axis in axes], axis=1), weight.ravel()
    else:
        standard, weights = _even_normal(size), np.full(_POINTS, 1 / _POINTS)
    return standard @ root.T, weights


def _even_normal(size: int) -> NDArray[np.float64]:
    """Return points with standard normal coordinates, from a Kronecker sequence, which fills the cube evenly."""
    from scipy.special import ndtri

    ratio = 2.0
    for _ in range(64):  # the root of x^(d+1) = x + 1
        ratio = (1 + ratio) ** (1 / (size + 1))
    steps = ratio ** -np.arange(1, size + 1)
    return np.asarray(ndtri((0.5 + np.outer(np.arange(1, _POINTS + 1), steps)) % 1.0))
