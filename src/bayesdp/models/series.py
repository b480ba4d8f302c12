"""A series of numbers in time, normal, each a weighted sum of the last few and something new."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from bayesdp._support import validation
from bayesdp._support.validation import brief
from bayesdp.errors import ModelError
from bayesdp.models.alternative import HALF_AGAIN, Alternative
from bayesdp.models.arbitrary import ArbitraryGroups
from bayesdp.models.chain import Chain

__all__ = ["GaussianSeries"]

_CLEARLY = 1 - 1e-12
"""Partial autocorrelations must be below this: beyond it, floats cannot tell a stationary series from a random walk."""


@dataclass(frozen=True)
class GaussianSeries(Chain):
    """Records are a stationary normal autoregressive series (several entities: independent series of the same kind).

    X_t − μ_t = φ₁·(X_{t−1} − μ_{t−1}) + … + φ_p·(X_{t−p} − μ_{t−p}) + noise, the noise normal, independent and of one
    variance. The mean μ_t may change with time in any way; neither it nor the variance matters to what leaks.

    coefficients: φ₁, …, φ_p, of one step of the calendar.
    distance:     target values up to this far apart are protected; None means the clipping width of the query.

    >>> GaussianSeries([0.5]).assumption
    'the records are a stationary normal autoregressive series of order 1 with the given coefficients, of any length'
    """

    coefficients: Sequence[float]
    distance: float | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "gaussian-series"
    _instead_of_diagnosis: ClassVar[str] = "; it is written by hand"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "coefficients", _coefficients(self.coefficients))
        if self.distance is not None:
            object.__setattr__(self, "distance", validation.positive("distance", self.distance, ModelError))
        if self.states or self.state is not None:
            raise ModelError("a series is one of numbers, in a column; it has no states")

    @property
    def metric(self) -> bool:
        return True

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        records, stretch = self.window
        weaker = [Alternative(f"anything may happen within {stretch}, and no farther", ArbitraryGroups(records))]
        with suppress(ModelError):  # where that would be no stationary series
            stronger = replace(self, coefficients=[HALF_AGAIN * value for value in self.coefficients])
            weaker.insert(0, Alternative("every coefficient is half as large again", stronger))
        return tuple(weaker)

    @property
    def assumption(self) -> str:
        return (
            f"the records are a stationary normal autoregressive series of order {len(self.coefficients)} with the "
            f"given coefficients, {self.extent}{self.entities}"
        )

    @property
    def parameters(self) -> str:
        """The coefficients."""
        terms = ", ".join(f"φ{lag} = {value:.6g}" for lag, value in enumerate(self.coefficients, start=1))
        return f"Coefficients: {terms}. The mean may change with time."

    def summary(self) -> str:
        """Return what is assumed, with the coefficients."""
        return f"{super().summary()} {self.parameters}"

    def _content(self) -> dict[str, Any]:
        distance = {} if self.distance is None else {"distance": self.distance}
        return {"coefficients": list(self.coefficients), **super()._content(), **distance}

    @classmethod
    def _keys(cls) -> frozenset[str]:
        return super()._keys() - {"states", "state"}

    @classmethod
    def _required(cls) -> frozenset[str]:
        return frozenset({"coefficients"})


def _coefficients(value: object) -> tuple[float, ...]:
    """Return the coefficients of a stationary series, or refuse them.

    A series is stationary if all its partial autocorrelations are inside (−1, 1): they are the last coefficients of the
    series of lower order that have the same autocovariances (Durbin and Levinson's recursion, read backwards).
    """
    given = validation.items("coefficients", value, ModelError)
    numbers = tuple(
        validation.number(f"coefficients[{index}]", number, ModelError) for index, number in enumerate(given)
    )
    if not numbers:
        raise ModelError("coefficients is empty; records that do not depend on one another are Independent()")
    left = list(numbers)
    while left:
        partial = left.pop()
        if abs(partial) >= _CLEARLY:
            raise ModelError(
                f"a series with the coefficients {brief(list(numbers))} is not stationary (its partial autocorrelation "
                f"of lag {len(left) + 1} is {partial:.6g}): it drifts without limit, or nearly so"
            )
        left = [(a + partial * b) / (1 - partial**2) for a, b in zip(left, reversed(left), strict=True)]
    return numbers
