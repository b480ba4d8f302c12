"""The data behind the coefficients of a normal series: autocovariances, and their numbers of pairs of records."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesdp._support import validation
from bayesdp._support.validation import brief
from bayesdp.errors import ModelError

__all__ = ["CLEARLY", "SeriesMoments", "partial_autocorrelations"]

CLEARLY = 1 - 1e-12
"""Partial autocorrelations must be below this: beyond it, floats cannot tell a stationary series from a random walk."""

_TRIES = 1000
"""The most consecutive draws that are not stationary; beyond, the data carry too little information."""


@dataclass(frozen=True)
class SeriesMoments:
    """The moments of a series: its variance, then its autocovariances of lag 1, 2, …

    autocovariances: of records 0, 1, 2, … steps apart, around their means.
    pairs:           the number of pairs of records in each average.

    >>> [round(value, 6) for value in SeriesMoments([4.0, 2.0, 1.0], [100, 99, 98]).coefficients()]
    [0.5, 0.0]
    """

    autocovariances: Sequence[float]
    pairs: Sequence[int]

    def __post_init__(self) -> None:
        given = validation.items("autocovariances", self.autocovariances, ModelError)
        values = tuple(
            validation.number(f"autocovariances[{lag}]", value, ModelError) for lag, value in enumerate(given)
        )
        pairs = tuple(
            validation.natural(f"pairs[{lag}]", number, ModelError)
            for lag, number in enumerate(validation.items("pairs", self.pairs, ModelError))
        )
        if len(values) < 2 or len(pairs) != len(values):
            raise ModelError(
                "moments of a series are its variance and at least one autocovariance, each with its pairs"
            )
        if values[0] <= 0:
            raise ModelError(f"autocovariances[0], the variance, must be greater than 0, not {values[0]:g}")
        object.__setattr__(self, "autocovariances", values)
        object.__setattr__(self, "pairs", pairs)

    @classmethod
    def from_dict(cls, document: object) -> SeriesMoments:
        """Read moments from their JSON object."""
        if not isinstance(document, Mapping) or set(document) != {"autocovariances", "pairs"}:
            raise ModelError(
                f'"moments" of a series must be an object with "autocovariances" and "pairs", not {brief(document)}'
            )
        return cls(document["autocovariances"], document["pairs"])

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {"autocovariances": list(self.autocovariances), "pairs": list(self.pairs)}

    def coefficients(self, order: int | None = None) -> tuple[float, ...]:
        """Return φ₁, …, φ_p of the series that has these autocovariances (Yule and Walker; Durbin's recursion).

        order: p; by default all lags are used. Raises ModelError if no stationary series has them.
        """
        first, *others = self.autocovariances
        correlations = [value / first for value in others[: len(others) if order is None else order]]
        weights: list[float] = []
        left = 1.0
        for lag, correlation in enumerate(correlations):
            explained = math.fsum(
                weight * known for weight, known in zip(weights, reversed(correlations[:lag]), strict=True)
            )
            partial = (correlation - explained) / left
            if abs(partial) >= CLEARLY:
                raise ModelError(
                    f"no stationary series has these autocovariances: that of lag {lag + 1} makes the partial "
                    f"autocorrelation {partial:.6g}; the series drifts, or has too few records for this order"
                )
            weights = [a - partial * b for a, b in zip(weights, reversed(weights), strict=True)] + [partial]
            left *= 1 - partial**2
        return tuple(weights)

    def product_inflation(self) -> float:
        """Return how many times more uncertain the mean product of two independent such series is than without memory.

        That is 1 + 2·Σρ², over the autocorrelations that are known (Bartlett).
        """
        first, *others = self.autocovariances
        return 1 + 2 * math.fsum((value / first) ** 2 for value in others)

    def draws(self, generator: np.random.Generator) -> Iterator[tuple[float, ...]]:
        """Yield coefficients from the posterior of a regression on the last records, those that are stationary.

        With the prior 1/σ² and Γ the covariance of the last p records, ν·s²/σ² is χ² with ν = n − p degrees, and the
        coefficients are normal around the estimate with the covariance σ²Γ⁻¹/n. n is the fewest pairs of any lag.

        Raises ModelError if the records are too few.
        """
        estimate = np.array(self.coefficients())
        order, records = len(estimate), min(self.pairs)
        values = np.array(self.autocovariances)
        lags = np.abs(np.subtract.outer(np.arange(order), np.arange(order)))
        factor = np.linalg.cholesky(np.linalg.inv(values[lags]))
        variance = float(values[0] - estimate @ values[1 : order + 1])
        degrees, failed = records - order, 0
        while degrees > 0 and failed < _TRIES:
            drawn_variance = degrees * variance / generator.chisquare(degrees)
            drawn = estimate + math.sqrt(drawn_variance / records) * factor @ generator.standard_normal(order)
            coefficients = tuple(map(float, drawn))
            if max(map(abs, partial_autocorrelations(coefficients))) < CLEARLY:
                failed = 0
                yield coefficients
            else:
                failed += 1
        raise ModelError("the series has too few records for the uncertainty of its coefficients")


def partial_autocorrelations(coefficients: Sequence[float]) -> list[float]:
    """Return the partial autocorrelations of a series, that of the highest lag first, up to one outside (−1, 1).

    They are the last coefficients of the series of lower order that have the same autocovariances (Durbin and
    Levinson's recursion, read backwards). A series is stationary if all of them are inside (−1, 1).

    >>> [round(partial, 6) for partial in partial_autocorrelations([0.4, 0.2])]
    [0.2, 0.5]
    """
    left, partials = list(coefficients), []
    while left:
        partial = left.pop()
        partials.append(partial)
        if abs(partial) >= 1:
            return partials
        left = [(a + partial * b) / (1 - partial**2) for a, b in zip(left, reversed(left), strict=True)]
    return partials
