"""Discrete Laplace noise on 64-bit integers, drawn by OpenDP: counts, sums on a grid, histograms."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self, final

from bayesdp._support import validation
from bayesdp.accuracy import DiscreteLaplace
from bayesdp.errors import InvalidInputError
from bayesdp.losses import Loss, PureLoss
from bayesdp.mechanisms.base import IntegerNoise, Norm
from bayesdp.mechanisms.drawing import by_opendp
from bayesdp.mechanisms.integers import LARGEST_SCALE, checked_dimension, confirmed_scale, least_loss
from bayesdp.rounding import float_above

__all__ = ["DiscreteLaplaceMechanism"]


@final
@dataclass(frozen=True)
class DiscreteLaplaceMechanism(IntegerNoise):
    """Two-sided geometric noise that makes integers with ℓ1 sensitivity `sensitivity` τ-DP.

    sensitivity: how far one replaced record can move the values, in ℓ1 and in their own units: 1 for a count, 2 for a
                 histogram, the number of steps between the bounds for a sum on a grid.
    tau:         the privacy of a release, above 0.
    dimension:   the number of values.
    scale:       the noise scale, the smallest float that is at least sensitivity/τ.

    Raises InvalidInputError for other arguments, and for a τ so small that the scale exceeds 2^56.

    >>> mechanism = DiscreteLaplaceMechanism(sensitivity=2, tau=0.5, dimension=3)
    >>> mechanism.scale
    4.0
    >>> len(mechanism.release([10, 0, 7]))
    3
    """

    sensitivity: int
    tau: float
    dimension: int = 1
    scale: float = field(init=False)

    private: ClassVar[bool] = True
    norm: ClassVar[Norm] = "l1"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", validation.natural("sensitivity", self.sensitivity))
        object.__setattr__(self, "tau", validation.positive("tau", self.tau))
        object.__setattr__(self, "dimension", checked_dimension(self.dimension))
        object.__setattr__(self, "scale", self._least_scale())

    @classmethod
    def for_loss(cls, loss: Loss, sensitivity: int, dimension: int) -> Self:
        return cls(sensitivity, _tau(loss), dimension)

    @classmethod
    def law_of(cls, scale: float) -> DiscreteLaplace:
        return DiscreteLaplace(scale)

    @classmethod
    def fits(cls, loss: Loss, sensitivity: int) -> bool:
        return sensitivity <= _tau(loss) * LARGEST_SCALE

    @classmethod
    def for_accuracy(cls, units: int, beta: float, sensitivity: int, dimension: int) -> PureLoss:
        """Return the smallest τ at which all errors are below `units` at once, except with probability β.

        Raises InvalidInputError if no τ is large enough.

        >>> DiscreteLaplaceMechanism.for_accuracy(units=4, beta=0.05, sensitivity=1, dimension=1).description
        'tau = 0.831889'
        """

        def enough(tau: float) -> bool:
            try:
                scale = float_above(Fraction(sensitivity) / Fraction(tau))
                return cls.law_of(scale).alpha(beta, cells=dimension) <= units
            except InvalidInputError:
                return False

        return PureLoss(least_loss(enough, float(Fraction(sensitivity, units)), beta))

    def _opendp(self, scale: float) -> Any:
        return _measurement(scale, self.dimension)

    def _least_scale(self) -> float:
        """Return the smallest scale at which OpenDP's own map is at most τ.

        In exact arithmetic the mechanism is (sensitivity/scale)-DP, and scale ≥ sensitivity/τ makes that at most τ. The
        map of OpenDP 0.16 is this quotient rounded up to a float; τ is a float, so the first scale suffices. If a map
        is one float too large, three steps suffice: each raises the scale by a relative 2^−53 at least, which takes
        sensitivity/scale below τ(1 − 2^−52), at most the float below τ.
        """
        exact = Fraction(self.sensitivity) / Fraction(self.tau)
        if exact > LARGEST_SCALE:
            raise InvalidInputError(
                f"tau = {self.tau:g} needs noise of scale {self.sensitivity}/tau, beyond 2^56, which overflows 64-bit "
                "integers; choose a larger tau or a coarser grid"
            )
        return confirmed_scale(float_above(exact), self._confirmed, "tau", self.tau)

    def _confirmed(self, scale: float) -> float:
        return float(by_opendp(lambda: self._opendp(scale).map(self.sensitivity)))


def _tau(loss: Loss) -> float:
    if type(loss) is not PureLoss:
        raise InvalidInputError(f"discrete Laplace noise costs {PureLoss.kind}, not {loss.kind}")
    return loss.tau


@lru_cache(maxsize=16)
def _measurement(scale: float, dimension: int) -> Any:
    """Return OpenDP's mechanism on vectors of 64-bit integers (its plain `int` is 32 bits)."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    return make_laplace(vector_domain(atom_domain(T="i64"), size=dimension), l1_distance(T="i64"), scale=scale)
