"""The data behind an estimated covariance: sample moments of roles, or an analysis of variance."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np

from bayesdp._support import validation
from bayesdp._support.arrays import Floats
from bayesdp._support.messages import in_python, name_of, param
from bayesdp._support.validation import Matrix, brief
from bayesdp.errors import ModelError

__all__ = ["AnovaMoments", "Moments", "checked_covariance", "read_moments"]

_SYMMETRY = 1e-12
"""Correlations of (i, j) and (j, i) that are closer than this differ by rounding only."""

_CONDITION = 1e-12
"""The smallest eigenvalue of a correlation matrix, for each of its rows: below it rounding decides the sign."""

_LARGEST_GROUP = 2000
"""The most records of a group; a covariance of 2000 rows takes 32 MB."""

_CORRELATIONS = 20_000
"""The number of correlations at which the posterior is evaluated, at most 1/10,000 apart."""

_INSIDE = 0.999
"""The share of its cell in which a draw lies, so that no draw is at an end of the grid, which has no covariance."""

_ROUNDING = 1e-9
"""Numbers rounded to ten digits agree with computed ones."""

_ULP = 2.0**-48
"""A bound on the rounding error of a difference of means: 16 units in the last place of the largest."""

_SMALLEST = 1e-300
"""Near the smallest normal float: below it, relative errors mean nothing."""


@dataclass(frozen=True)
class Moments:
    """The sample moments a covariance was estimated from: number of groups, means, covariance, names of the roles."""

    groups: int
    mean: Sequence[float]
    covariance: Matrix
    roles: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", validation.natural("groups", self.groups, ModelError, least=2))
        covariance = checked_covariance("the covariance of the moments", self.covariance)
        object.__setattr__(self, "covariance", covariance)
        mean = validation.items("mean", self.mean, ModelError)
        if len(mean) != len(covariance):
            raise ModelError(
                name_of("mean") + f" must hold {len(covariance)} numbers, one for each row of the covariance"
            )
        checked = tuple(validation.number(f"mean[{index}]", value, ModelError) for index, value in enumerate(mean))
        object.__setattr__(self, "mean", checked)
        roles = tuple(validation.items("roles", self.roles, ModelError))
        for role in roles:
            validation.text("roles", role, ModelError)
        if roles and len(roles) != len(covariance):
            raise ModelError(
                name_of("roles") + f" must name the {len(covariance)} rows of the covariance, but names {len(roles)}"
            )
        object.__setattr__(self, "roles", roles)

    @property
    def members(self) -> int:
        """The size of the covariance."""
        return len(self.covariance)

    def to_dict(self) -> dict[str, Any]:
        """Return the moments as a JSON object."""
        entries = {"groups": self.groups, "mean": list(self.mean), "covariance": [list(row) for row in self.covariance]}
        return entries | ({"roles": list(self.roles)} if self.roles else {})

    def draws(self, generator: np.random.Generator) -> Iterator[Floats]:
        """Yield covariances from their posterior: inverse Wishart, groups − 1 degrees (independence Jeffreys prior).

        Raises ModelError if there are too few groups for a posterior.
        """
        size, degrees = len(self.covariance), self.groups - 1
        if degrees < size:
            raise ModelError(
                f"{self.groups} groups are too few for the uncertainty of a covariance of {size} roles; it takes "
                f"at least {size + 1}"
            )
        factor = np.linalg.cholesky(np.array(self.covariance) * degrees)
        rows, columns = np.tril_indices(size, -1)
        while True:
            # Bartlett: A Aᵀ is standard Wishart, so L A⁻ᵀ A⁻¹ Lᵀ is inverse Wishart with scale L Lᵀ.
            bartlett = np.diag(np.sqrt(generator.chisquare(degrees - np.arange(size))))
            bartlett[rows, columns] = generator.standard_normal(len(rows))
            half = np.linalg.solve(bartlett, factor.T)
            drawn = half.T @ half
            yield (drawn + drawn.T) / 2


@dataclass(frozen=True)
class AnovaMoments:
    """A one-way analysis of variance: exchangeable members of groups of different sizes.

    between, within: the mean squares; size: the typical group size n₀ that links them; largest: the largest group.
    sizes:           for each group size: the size, how many groups have it, the mean of the groups' means, and the sum
                     of squares of these means around it. The posterior needs them.

    mean, between and size follow from sizes; ModelError if they differ.

    >>> sizes = [(3, 50, 170.0, 1470.0)]
    >>> AnovaMoments(50, 150, 170.0, between=90.0, within=22.5, size=3.0, largest=3, sizes=sizes).correlation
    0.5
    """

    groups: int
    records: int
    mean: float
    between: float
    within: float
    size: float
    largest: int
    sizes: Sequence[tuple[int, int, float, float]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", validation.natural("groups", self.groups, ModelError, least=2))
        object.__setattr__(self, "records", validation.natural("records", self.records, ModelError, least=3))
        object.__setattr__(self, "mean", validation.number("mean", self.mean, ModelError))
        for name in ("between", "within"):
            value = validation.number(name, getattr(self, name), ModelError)
            if value < 0:
                raise ModelError(f"{name} is a mean square, at least 0, not {value:g}")
            object.__setattr__(self, name, value)
        object.__setattr__(self, "size", validation.positive("size", self.size, ModelError))
        object.__setattr__(self, "largest", validation.natural("largest", self.largest, ModelError, least=2))
        object.__setattr__(self, "sizes", _checked_sizes(self.sizes, self.groups, self.records, self.largest))
        if self.records <= self.groups:
            raise ModelError(f"{self.records} records in {self.groups} groups: some group must have at least two")
        if self.largest > _LARGEST_GROUP:
            raise ModelError(
                f"the largest group has {self.largest} records; normal groups of more than {_LARGEST_GROUP} are not "
                "supported: use " + param("role") + ", or " + in_python("ArbitraryGroups", elsewhere='"arbitrary"')
            )
        self._check_sums()

    def _check_sums(self) -> None:
        """Raise ModelError for a mean, a mean square or a typical size that does not follow from the sizes.

        The means of the sizes are rounded; the tolerance allows for the error of their differences.
        """
        rows = [(size, groups, Fraction(mean), Fraction(squares)) for size, groups, mean, squares in self.sizes]
        centre = sum(size * groups * mean for size, groups, mean, _ in rows) / Fraction(self.records)
        between, slack = Fraction(0), Fraction(_SMALLEST)
        largest = max(abs(mean) for _, _, mean, _ in rows)
        ulp = Fraction(_ULP) * largest
        for size, groups, mean, squares in rows:
            between += size * (squares + groups * (mean - centre) ** 2) / (self.groups - 1)
            slack += size * groups * (2 * abs(mean - centre) + ulp) * ulp / (self.groups - 1)
        typical = (self.records - Fraction(sum(m * m * g for m, g, _, _ in rows), self.records)) / (self.groups - 1)
        for name, expected, off in (
            ("mean", centre, Fraction(_ROUNDING) * largest + Fraction(_SMALLEST)),
            ("between", between, slack + Fraction(_ROUNDING) * between),
            ("size", typical, Fraction(_ROUNDING) * typical),
        ):
            if abs(Fraction(getattr(self, name)) - expected) > off:
                by_sizes = float(min(expected, Fraction(sys.float_info.max)))
                raise ModelError(f"the moments disagree: {name} is {getattr(self, name):g}, but {by_sizes:g} by sizes")

    @property
    def correlation(self) -> float:
        """The intraclass correlation; may be negative."""
        common, own = _components(self.between, self.within, self.size)
        return common / (common + own) if common + own > 0 else 0.0

    @property
    def covariance(self) -> Matrix:
        """The equicorrelated covariance of the largest group."""
        return _equicorrelated(*_components(self.between, self.within, self.size), self.largest)

    def to_dict(self) -> dict[str, Any]:
        """Return the moments as a JSON object."""
        return {**vars(self), "sizes": [list(row) for row in self.sizes]}

    @property
    def members(self) -> int:
        """The size of the covariance."""
        return self.largest

    def posterior(self) -> tuple[Floats, Floats]:
        """Return correlations, evenly spaced between the lowest that the largest group allows and 1, and their shares.

        The prior is 1/(1−ρ). Given θ = ρ/(1−ρ), a group of m has a mean of variance σ²(θ + 1/m) around μ. With μ flat
        and σ² ∝ 1/σ² integrated out, the likelihood of θ is Π(θ+1/m)^(−1/2) · (Σw)^(−1/2) · (W + Q(θ))^(−(N−1)/2), with
        w = 1/(θ+1/m), W the squares within groups and Q those of the groups' means around their weighted mean
        (docs/uncertainty.md).
        """
        lowest = -1 / (self.largest - 1)
        points = lowest + (1 - lowest) * (np.arange(_CORRELATIONS) + 0.5) / _CORRELATIONS
        size, groups, mean, spread = (
            np.array(column, dtype=np.float64)[:, None] for column in zip(*self.sizes, strict=True)
        )
        theta = points / (1 - points)
        weight = 1 / (theta + 1 / size)
        total = (groups * weight).sum(axis=0)
        centre = (groups * weight * mean).sum(axis=0) / total
        around = (weight * (spread + groups * (mean - centre) ** 2)).sum(axis=0)
        squares = self.within * (self.records - self.groups) + around
        logs = ((groups * np.log(weight)).sum(axis=0) - np.log(total) - (self.records - 1) * np.log(squares)) / 2
        logs -= np.log1p(-points)
        shares = np.exp(logs - logs.max())
        return points, shares / shares.sum()

    def draws(self, generator: np.random.Generator) -> Iterator[Floats]:
        """Yield covariances from the posterior of the correlation. The variance is the estimate: no ε depends on it."""
        points, shares = self.posterior()
        cumulative = np.cumsum(shares)
        variance = sum(_components(self.between, self.within, self.size))
        width = points[1] - points[0]
        while True:
            place = min(int(np.searchsorted(cumulative, generator.random())), _CORRELATIONS - 1)
            correlation = points[place] + width * (generator.random() - 0.5) * _INSIDE
            yield np.array(_equicorrelated(variance * correlation, variance * (1 - correlation), self.largest))


def read_moments(document: object) -> Moments | AnovaMoments:
    """Read moments of either kind from their JSON object."""
    anova = [item.name for item in fields(AnovaMoments)]
    for kind, required, optional in (
        (Moments, {"groups", "mean", "covariance"}, {"roles"}),
        (AnovaMoments, set(anova), set()),
    ):
        if isinstance(document, Mapping) and required <= set(document) <= required | optional:
            return kind(**document)
    raise ModelError(
        '"moments" must be an object with "groups", "mean" and "covariance" (and perhaps "roles"), or with '
        + ", ".join(f'"{name}"' for name in anova)
        + f", not {brief(document)}"
    )


def checked_covariance(name: str, value: object) -> tuple[tuple[float, ...], ...]:
    """Return a covariance as tuples, or refuse what is not square, symmetric and positive definite."""
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
    least = _CONDITION * len(table)
    if _well_within(correlations, least):
        return table
    smallest = float(np.linalg.eigvalsh(correlations)[0])
    if smallest < least:
        raise ModelError(
            f"{name} is not positive definite (its correlation matrix has the eigenvalue {smallest:.3g}); records that "
            "determine one another exactly are covered by "
            + in_python(
                f"ArbitraryGroups(size={len(table)})", elsewhere=f'{{"type": "arbitrary", "size": {len(table)}}}'
            )
        )
    return table


def _well_within(correlations: Floats, least: float) -> bool:
    """Whether every eigenvalue is clearly above `least`; Cholesky's decomposition is faster than computing them."""
    try:
        np.linalg.cholesky(correlations - 2 * least * np.eye(len(correlations)))
    except np.linalg.LinAlgError:
        return False
    return True


def _checked_sizes(value: object, groups: int, records: int, largest: int) -> tuple[tuple[int, int, float, float], ...]:
    rows = []
    for index, row in enumerate(validation.items("sizes", value, ModelError)):
        entries = validation.items(f"sizes[{index}]", row, ModelError)
        if len(entries) != 4:
            raise ModelError(f"sizes[{index}] must be [size, groups, mean, squares], not {brief(row)}")
        size, number = (validation.natural(f"sizes[{index}]", entry, ModelError) for entry in entries[:2])
        mean, squares = (validation.number(f"sizes[{index}]", entry, ModelError) for entry in entries[2:])
        if squares < 0:
            raise ModelError(f"sizes[{index}] ends with a sum of squares, at least 0, not {squares:g}")
        rows.append((size, number, mean, squares))
    if (
        sum(number for _, number, _, _ in rows) != groups
        or sum(size * number for size, number, _, _ in rows) != records
        or max((size for size, _, _, _ in rows), default=0) != largest
    ):
        raise ModelError(
            name_of("sizes")
            + f" must add up to {groups} groups and {records} records, the largest group having {largest}"
        )
    return tuple(rows)


def _components(between: float, within: float, size: float) -> tuple[float, float]:
    """Return the variance the members of a group share, and the variance of their own."""
    return (between - within) / size, within


def _equicorrelated(common: float, own: float, size: int) -> Matrix:
    return tuple(tuple(common + own if i == j else common for j in range(size)) for i in range(size))
