"""Groups whose records are jointly normal: families, repeated measurements, households."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from bayesdp import validation
from bayesdp.errors import ModelError
from bayesdp.models.arrays import readonly
from bayesdp.models.base import Model
from bayesdp.rounding import shown_below
from bayesdp.validation import Matrix, brief

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GaussianGroups", "Moments"]

_SYMMETRY = 1e-12
_CONDITION = 1e-12


@dataclass(frozen=True)
class Moments:
    """The sample moments a covariance was estimated from: number of groups, means, covariance."""

    groups: int
    mean: Sequence[float]
    covariance: Matrix

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", validation.natural("groups", self.groups, ModelError, least=2))
        covariance = _covariance("the covariance of the moments", self.covariance)
        object.__setattr__(self, "covariance", covariance)
        mean = validation.items("mean", self.mean, ModelError)
        if len(mean) != len(covariance):
            raise ModelError(f"mean must hold {len(covariance)} numbers, one for each row of the covariance")
        checked = tuple(validation.number(f"mean[{index}]", value, ModelError) for index, value in enumerate(mean))
        object.__setattr__(self, "mean", checked)

    def to_dict(self) -> dict[str, Any]:
        """Return the moments as a JSON object."""
        return {"groups": self.groups, "mean": list(self.mean), "covariance": [list(row) for row in self.covariance]}


@dataclass(frozen=True, kw_only=True)
class GaussianGroups(Model):
    """Records come in independent groups, jointly normal inside a group.

    Either a bound — `correlation` on every pair's |correlation| and `size`, the largest group, all variances equal — or
    what is known exactly: `covariance`, one matrix or a list of matrices for several kinds of group.

    distance: target values up to this far apart are protected; None means the clipping width of the query. Values
              farther apart move their relatives farther too, and leak more (docs/errata.md, 1).
    moments:  the sample moments the covariance was estimated from, if it was.

    >>> GaussianGroups(correlation=0.275, size=3).group_size
    3
    >>> GaussianGroups(covariance=[[1, 0.4], [0.4, 2]]).largest_correlation
    0.282842712474619
    """

    correlation: float | None = None
    size: int | None = None
    covariance: Matrix | None = None
    distance: float | None = None
    moments: Moments | None = None

    kind: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.covariance is None) == (self.correlation is None):
            raise ModelError(
                "give either correlation= and size= (a bound on every pair) or covariance= (what is known exactly)"
            )
        if self.covariance is None:
            self._check_bound()
        else:
            if self.size is not None:
                raise ModelError("size= goes with correlation=; a covariance has its own size")
            object.__setattr__(self, "covariance", _kinds(self.covariance))
        if self.distance is not None:
            object.__setattr__(self, "distance", validation.positive("distance", self.distance, ModelError))
        if self.moments is not None:
            if not isinstance(self.moments, Moments):
                raise ModelError(f"moments must be Moments(groups, mean, covariance), not {brief(self.moments)}")
            if self.covariance is None:
                raise ModelError("moments describe what a covariance was estimated from; give covariance= too")

    def _check_bound(self) -> None:
        correlation = validation.number("correlation", self.correlation, ModelError)
        if not 0 <= correlation <= 1:
            raise ModelError(
                f"correlation must lie in [0, 1], not {correlation:g}; it bounds the absolute value of every pair's"
            )
        if self.size is None:
            raise ModelError("correlation= needs size=, the largest number of records in one group")
        object.__setattr__(self, "correlation", correlation)
        object.__setattr__(self, "size", validation.natural("size", self.size, ModelError))

    @classmethod
    def from_moments(
        cls,
        mean: Sequence[float],
        covariance: Matrix,
        *,
        groups: int,
        column: str | None = None,
        record: str = "record",
        distance: float | None = None,
    ) -> Self:
        """Build the model from sample moments of `groups` groups, which the model keeps.

        >>> GaussianGroups.from_moments([69, 64], [[6, 1], [1, 5]], groups=197).estimated
        True
        """
        moments = Moments(groups, mean, covariance)
        return cls(covariance=moments.covariance, moments=moments, column=column, record=record, distance=distance)

    @cached_property
    def matrices(self) -> tuple[NDArray[np.float64], ...]:
        """The covariance of each kind of group as a read-only array; empty when only a bound is known."""
        return tuple(readonly(np.array(kind)) for kind in self.kinds)

    @property
    def kinds(self) -> tuple[Matrix, ...]:
        """The covariance of each kind of group; empty when only a bound is known."""
        if self.covariance is None:
            return ()
        several = self.covariance if _depth(self.covariance) == 3 else (self.covariance,)
        return tuple(several)

    @property
    def group_size(self) -> int:
        return self.size if self.size is not None else max(len(kind) for kind in self.kinds)

    @property
    def largest_correlation(self) -> float:
        """The largest |correlation| between two records."""
        if self.correlation is not None:
            return self.correlation
        return max(_largest_correlation(matrix) for matrix in self.matrices)

    @property
    def assumption(self) -> str:
        if self.correlation is not None:
            return (
                f"records come in independent normal groups of at most {self.size}, with equal variances and every "
                f"correlation at most {shown_below(self.correlation)} in absolute value"
            )
        return f"records come in independent normal groups of at most {self.group_size} with the given covariance" + (
            "s" if len(self.kinds) > 1 else ""
        )

    @property
    def estimated(self) -> bool:
        return self.moments is not None

    def _content(self) -> dict[str, Any]:
        content: dict[str, Any] = (
            {"correlation": self.correlation, "size": self.size}
            if self.correlation is not None
            else {"covariance": _as_lists(self.covariance)}
        )
        if self.distance is not None:
            content["distance"] = self.distance
        if self.moments is not None:
            content["moments"] = self.moments.to_dict()
        return content

    @classmethod
    def _read(cls, entries: Mapping[str, Any]) -> Self:
        moments = entries.get("moments")
        if moments is None:
            return cls(**entries)
        if not isinstance(moments, Mapping) or set(moments) != {"groups", "mean", "covariance"}:
            raise ModelError('"moments" must be an object with "groups", "mean" and "covariance"')
        return cls(**{**entries, "moments": Moments(**moments)})


def _kinds(covariance: object) -> Any:
    """Return one checked covariance, or a tuple of them, as tuples."""
    if _depth(covariance) != 3:
        return _covariance("covariance", covariance)
    kinds = validation.items("covariance", covariance, ModelError)
    checked = tuple(_covariance(f"covariance of kind {index}", kind) for index, kind in enumerate(kinds))
    return checked[0] if len(checked) == 1 else checked


def _covariance(name: str, value: object) -> tuple[tuple[float, ...], ...]:
    table = validation.square(name, value, ModelError)
    array = np.array(table)
    for i, variance in enumerate(np.diag(array)):
        if variance <= 0:
            raise ModelError(f"{name}: the variance in row {i} must be greater than 0, not {variance:g}")
    deviations = np.sqrt(np.diag(array))
    correlations = array / deviations[:, None] / deviations[None, :]
    for i, j in np.argwhere(~(np.abs(correlations - correlations.T) <= _SYMMETRY)):
        raise ModelError(
            f"{name} must be symmetric: row {i}, column {j} is {array[i, j]:g}, "
            f"but row {j}, column {i} is {array[j, i]:g}"
        )
    for i, j in np.argwhere(np.abs(correlations) > 1 + _SYMMETRY):
        raise ModelError(
            f"{name}: row {i}, column {j} is {array[i, j]:g}, more than the two variances allow "
            f"({deviations[i] * deviations[j]:g})"
        )
    smallest = float(np.linalg.eigvalsh(correlations)[0])
    if smallest < _CONDITION * len(table):
        raise ModelError(
            f"{name} is not positive definite (its correlation matrix has the eigenvalue {smallest:.3g}); records that "
            f"determine one another exactly are covered by ArbitraryGroups(size={len(table)})"
        )
    return table


def _largest_correlation(matrix: NDArray[np.float64]) -> float:
    deviations = np.sqrt(np.diag(matrix))
    correlations = np.abs(matrix) / deviations[:, None] / deviations[None, :]
    np.fill_diagonal(correlations, 0.0)
    return float(correlations.max())


def _depth(value: object) -> int:
    """Return how deeply lists are nested in `value`, following first entries."""
    depth = np.ndim(value) if isinstance(value, np.ndarray) else 0
    while isinstance(value, Sequence) and not isinstance(value, str) and value and depth < 4:
        value, depth = value[0], depth + 1
    return depth


def _as_lists(value: Any) -> Any:
    return [_as_lists(item) for item in value] if isinstance(value, tuple) else value
