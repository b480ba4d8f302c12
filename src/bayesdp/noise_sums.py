"""The law of a weighted sum of independent discrete noises, and the accuracy that it allows.

The tail is bounded twice: by Chernoff's bound, and by the Fourier series of the sum after a little independent noise
was added, which is much tighter. docs/theory/running-totals.md has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from bayesdp._support.messages import name_of
from bayesdp.accuracy import DiscreteGaussian, DiscreteLaplace, NoiseLaw
from bayesdp.errors import InvalidInputError
from bayesdp.rounding import up

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["NoiseSum"]

_SMOOTHING, _UNIFORMS, _HALF_PERIOD = 0.04, 8, 16.0
"""The added noise is the sum of so many uniform variables, together at most the first number of standard deviations;
the series has a period of twice the last number of standard deviations."""

_TERMS = 20_000
"""So many terms of the series are added up."""

_SLACK = 1e-9
"""More than the terms that are left out (4e-12, since the uniforms alone make them small) and what rounding changes."""

_STEPS = 400
"""At how many places Chernoff's bound is evaluated; each of them gives a valid bound."""


@dataclass(frozen=True)
class NoiseSum(NoiseLaw):
    """The sum of independent discrete noises, each times a factor.

    terms: the law of some noises, their factor, and how many of them there are.

    >>> law = NoiseSum(((DiscreteLaplace(10.0), 1.0, 30),))
    >>> round(law.deviation, 2), round(law.alpha(0.05), 1)
    (77.43, 155.4)
    """

    terms: tuple[tuple[DiscreteLaplace | DiscreteGaussian, float, int], ...]

    step: ClassVar[int] = 0

    def __post_init__(self) -> None:
        terms = [(law, abs(factor), number) for law, factor, number in self.terms if factor]
        known = all(isinstance(law, DiscreteLaplace | DiscreteGaussian) and number > 0 for law, _, number in terms)
        if not (terms and known and all(math.isfinite(factor) for _, factor, _ in terms)):
            raise InvalidInputError(name_of("terms") + " must have discrete noises, each with a factor and a number")
        object.__setattr__(self, "terms", tuple(terms))

    @cached_property
    def variance(self) -> float:
        """The variance of the sum, rounded up; of discrete Gaussian noise the square of the scale, a bound."""
        return up(math.fsum(number * factor * factor * _variance(law) for law, factor, number in self.terms), 8)

    @property
    def deviation(self) -> float:
        """The standard deviation of the sum, rounded up."""
        return up(math.sqrt(self.variance))

    def tail(self, alpha: float) -> float:
        if alpha <= 0:
            return 1.0
        return min(self._chernoff(alpha), self._by_series(alpha))

    def _alpha(self, beta: float) -> float:
        low, high = 0.0, self.deviation
        while self.tail(high) > beta:
            low, high = high, 2 * high
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if self.tail(middle) <= beta else (middle, high)
        return high

    def _chernoff(self, alpha: float) -> float:
        """Return a bound on the tail: 2·E[e^(tX)]·e^(−tα) for any t, the smallest of several."""
        places, logarithms = self._moments
        exponent = float((logarithms - places * alpha).min())
        return min(1.0, 2 * math.exp(min(exponent, 0.0)) * (1 + _SLACK))

    def _by_series(self, alpha: float) -> float:
        """Return a bound on the tail: of the smoothed sum, which differs by less than `shift`."""
        import numpy as np

        half, shift = _HALF_PERIOD * self.deviation, _SMOOTHING * self.deviation
        within = alpha - shift
        if not 0 < within < half:
            return 1.0
        frequencies, coefficients = self._series
        inside = within / half + float(np.sum(coefficients * np.sin(frequencies * within)))
        return min(1.0, max(0.0, 1 - inside) + self._chernoff(2 * half - within - shift) + _SLACK)

    @cached_property
    def _series(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The frequencies of the series and its coefficients, those left out that cannot matter."""
        import numpy as np

        numbers: NDArray[Any] = np.arange(1, _TERMS + 1)
        frequencies = math.pi / (_HALF_PERIOD * self.deviation) * numbers
        uniforms = np.sinc(frequencies * _SMOOTHING * self.deviation / _UNIFORMS / math.pi) ** _UNIFORMS
        coefficients = 2 / (math.pi * numbers) * uniforms
        for law, factor, number in sorted(self.terms, key=lambda term: -term[0].scale * term[1]):
            coefficients = coefficients * _transform(law, factor * frequencies) ** number
            matters = np.abs(coefficients) > _SLACK / (100 * _TERMS)
            frequencies, coefficients = frequencies[matters], coefficients[matters]
        return frequencies, coefficients

    @cached_property
    def _moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Places t > 0, and a bound on ln E[e^(tX)] at each."""
        import numpy as np

        farthest = min(_farthest(law, factor) for law, factor, _ in self.terms)
        places = min(farthest, 50 / self.deviation) * np.arange(1, _STEPS) / _STEPS
        total = np.zeros_like(places)
        for law, factor, number in self.terms:
            total += number * _log_moment(law, factor * places)
        return places, total * (1 + _SLACK)


def _variance(law: DiscreteLaplace | DiscreteGaussian) -> float:
    if isinstance(law, DiscreteGaussian):
        return law.scale**2
    return 1 / (2 * _half_sinh(law.scale) ** 2)


def _farthest(law: DiscreteLaplace | DiscreteGaussian, factor: float) -> float:
    """Return up to where E[e^(t·factor·Z)] is finite, and a float."""
    return math.inf if isinstance(law, DiscreteGaussian) else min(1 / law.scale, 600.0) / factor


def _log_moment(law: DiscreteLaplace | DiscreteGaussian, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ln E[e^(t·Z)], for discrete Gaussian noise the bound σ²t²/2."""
    import numpy as np

    if isinstance(law, DiscreteGaussian):
        bound: NDArray[np.float64] = (law.scale * at) ** 2 / 2
        return bound
    exact: NDArray[np.float64] = -np.log1p(-((np.sinh(at / 2) / _half_sinh(law.scale)) ** 2))
    return exact


def _transform(law: DiscreteLaplace | DiscreteGaussian, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return E[cos(u·Z)], the characteristic function."""
    import numpy as np

    transform: NDArray[np.float64]
    if isinstance(law, DiscreteLaplace):
        transform = 1 / (1 + (np.sin(at / 2) / _half_sinh(law.scale)) ** 2)
    elif law.scale < 1:
        weights = [(k, math.exp(-((k / law.scale) ** 2) / 2)) for k in range(40)]
        waves = [(1 + (k > 0)) * weight * np.cos(k * at) for k, weight in weights]
        transform = sum(waves, np.zeros_like(at)) / sum((1 + (k > 0)) * weight for k, weight in weights)
    else:  # Poisson's formula, whose other terms are below 1e-50
        turns = [2 * math.pi * m for m in range(-2, 3)]
        place = np.remainder(at + math.pi, 2 * math.pi) - math.pi
        waves = [np.exp(-((law.scale * (place - turn)) ** 2) / 2) for turn in turns]
        transform = sum(waves, np.zeros_like(at)) / sum(math.exp(-((law.scale * turn) ** 2) / 2) for turn in turns)
    return transform


def _half_sinh(scale: float) -> float:
    """Return sinh(1/(2·scale)), which is not too large for a float."""
    return math.sinh(min(1 / (2 * scale), 350.0))
