"""Discrete Gaussian noise on 64-bit integers, drawn by OpenDP, for releases that cost a ρ."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self, final

from bayesdp._support import validation
from bayesdp._support.messages import name_of
from bayesdp._support.validation import brief
from bayesdp.accuracy import DiscreteGaussian, least_gaussian_scale
from bayesdp.errors import InvalidInputError
from bayesdp.losses import ConcentratedLoss, Loss
from bayesdp.mechanisms.base import IntegerNoise, Norm
from bayesdp.mechanisms.drawing import by_opendp
from bayesdp.mechanisms.integers import LARGEST_SCALE, checked_dimension, confirmed_scale, least_loss
from bayesdp.rounding import up

__all__ = ["DiscreteGaussianMechanism"]

_LARGEST_SQUARE = 2**124
"""The largest squared sensitivity: one record moves no number beyond 2^62."""


_TRIES = 16
"""The sensitivity is rounded up to a float, and OpenDP rounds its square and the quotient up."""


@final
@dataclass(frozen=True)
class DiscreteGaussianMechanism(IntegerNoise):
    """Discrete Gaussian noise that makes integers with a limited ℓ2 sensitivity ρ-zCDP.

    squared_sensitivity: the square of how far one replaced record can move the values in ℓ2: 1 for a count, 2 for a
                         histogram, the square of the number of steps for a sum on a grid.
    rho:                 the privacy of a release, above 0.
    dimension:           the number of values.
    scale:               the scale σ of the noise; σ² is at least squared_sensitivity/(2ρ).

    Raises InvalidInputError for other arguments, and for a ρ so small that the scale exceeds 2^56.

    >>> mechanism = DiscreteGaussianMechanism(squared_sensitivity=2, rho=0.25, dimension=3)
    >>> round(mechanism.scale, 12)
    2.0
    >>> len(mechanism.release([10, 0, 7]))
    3
    """

    squared_sensitivity: int
    rho: float
    dimension: int = 1
    scale: float = field(init=False)

    private: ClassVar[bool] = True
    norm: ClassVar[Norm] = "l2"

    def __post_init__(self) -> None:
        squared = self.squared_sensitivity  # beyond 10^18 for sums on a fine grid, which `natural` refuses
        if not (type(squared) is int and 1 <= squared <= _LARGEST_SQUARE):
            raise InvalidInputError(
                name_of("squared_sensitivity") + f" must be a whole number from 1 to 2^124, not {brief(squared)}"
            )
        object.__setattr__(self, "rho", validation.positive("rho", self.rho))
        object.__setattr__(self, "dimension", checked_dimension(self.dimension))
        object.__setattr__(self, "scale", self._confirmed_scale())

    @classmethod
    def for_loss(cls, loss: Loss, sensitivity: int, dimension: int) -> Self:
        return cls(sensitivity, _rho(loss), dimension)

    @classmethod
    def law_of(cls, scale: float) -> DiscreteGaussian:
        return DiscreteGaussian(scale)

    @classmethod
    def fits(cls, loss: Loss, sensitivity: int) -> bool:
        return sensitivity <= 2 * Fraction(_rho(loss)) * LARGEST_SCALE**2

    @classmethod
    def for_accuracy(cls, units: int, beta: float, sensitivity: int, dimension: int) -> ConcentratedLoss:
        """Return the smallest ρ at which all errors are below `units` at once, except with probability β.

        Raises InvalidInputError if no ρ is large enough.

        >>> DiscreteGaussianMechanism.for_accuracy(units=4, beta=0.05, sensitivity=1, dimension=1).description
        'rho = 0.15281'
        """

        def enough(rho: float) -> bool:
            return cls.law_of(least_gaussian_scale(Fraction(sensitivity), rho)).alpha(beta, cells=dimension) <= units

        return ConcentratedLoss(least_loss(enough, float(Fraction(sensitivity, units**2)), beta))

    def _opendp(self, scale: float) -> Any:
        return _measurement(scale, self.dimension)

    def _confirmed_scale(self) -> float:
        """Return a scale, hardly above the smallest, at which OpenDP's own map is at most ρ.

        In exact arithmetic the mechanism is squared_sensitivity/(2σ²)-zCDP (Canonne, Kamath and Steinke 2020).
        """
        scale = least_gaussian_scale(Fraction(self.squared_sensitivity), self.rho)
        if scale > LARGEST_SCALE:
            raise InvalidInputError(
                f"rho = {self.rho:g} needs noise of scale {scale:g}, beyond 2^56, which overflows 64-bit integers; "
                "choose a larger rho or a coarser grid"
            )
        return confirmed_scale(scale, self._confirmed, "rho", self.rho, tries=_TRIES)

    def _confirmed(self, scale: float) -> float:
        moved = math.sqrt(self.squared_sensitivity)
        if Fraction(moved) ** 2 < self.squared_sensitivity:
            moved = up(moved)
        return float(by_opendp(lambda: self._opendp(scale).map(moved)))


def _rho(loss: Loss) -> float:
    if type(loss) is not ConcentratedLoss or loss.delta:
        raise InvalidInputError(f"discrete Gaussian noise costs {ConcentratedLoss.kind}, not {loss.kind}")
    return loss.rho


@lru_cache(maxsize=16)
def _measurement(scale: float, dimension: int) -> Any:
    """Return OpenDP's mechanism on vectors of 64-bit integers, whose distance in ℓ2 need not be a whole number."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    return make_gaussian(vector_domain(atom_domain(T="i64"), size=dimension), l2_distance(T="f64"), scale=scale)
