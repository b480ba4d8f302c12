"""The (α, β)-accuracy of noisy answers, Pr[|error| ≥ α] ≤ β, computed in both directions.

Each noise law converts β to the smallest α that it guarantees, and α to its β. With `cells`, the guarantee holds for
that many independent cells at once, as for a whole histogram. docs/theory/accuracy.md derives the formulas.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, ClassVar

from bayesdp._support import validation
from bayesdp._support.messages import name_of
from bayesdp.errors import InvalidInputError, TooLargeError
from bayesdp.queries import Query
from bayesdp.rounding import down, float_above, nearest, up

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "BETA",
    "NOISE_LAWS",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Gaussian",
    "Laplace",
    "NoiseLaw",
    "RandomizedResponse",
    "gaussian_scale",
    "impossible",
    "laplace_scale",
    "least_failure",
    "least_gaussian_scale",
    "rho_for_accuracy",
    "tau_for_accuracy",
]

BETA = 0.05
"""The probability of being wrong for which accuracies are stated, unless another is asked."""

_TRIM, _TRIMMED = 1e-40, 1e-30
"""Binomial terms below the first, relative to the mode, are left out; their sum is less than the second."""

_STEPS = 64
"""The most floats by which a τ is raised until its accuracy suffices; rounding needs a few."""

_SMALLEST, _SMALLEST_NORMAL = math.ulp(0.0), 2.0**-1022
"""The smallest float above 0, and the smallest with all its digits."""

_MOST_RECORDS = 10**6
"""The most records for which the law of all flips is computed and its rounding is bounded (`_ROUNDED`)."""

_ROUNDED = 1e-11
"""A bound on the relative rounding error of a convolved tail, for up to a million records."""

_SUMMED = 1024.0
_FARTHEST = 38.0
_TRIMMED_TAIL = 1e-300
"""Discrete Gaussian tails are added up at scales up to the first, as far as this many scales; the rest is less than the
third: e^(−38²/2) < 2e-314, and what follows falls faster than a geometric series of ratio e^(−38/1024)."""

_SUMS_ROUNDED = 1e-10
"""More than rounding can take from such a sum or from `math.erfc` (relative): 40,000 terms, exponents up to 745."""

_ULPS = 4
"""Products of at most four correctly rounded operations and a library logarithm; docs/numerics.md."""


class NoiseLaw(ABC):
    """The law of an error, and the accuracy it allows.

    step: the distance between possible errors, 0 for a continuous law. An interval reaches to α − step, the largest
          error below α.
    """

    step: ClassVar[int] = 0

    def alpha(self, beta: float, cells: int = 1) -> float:
        """Return α such that the error reaches α with probability at most β, in any of `cells` cells."""
        beta = validation.probability("beta", beta)
        return self._alpha(_per_cell(beta, validation.natural("cells", cells)))

    def beta(self, alpha: float, cells: int = 1) -> float:
        """Return the probability that the error reaches α in any of `cells` cells."""
        tail = self.tail(validation.positive("alpha", alpha))
        cells = validation.natural("cells", cells)
        if cells == 1 or tail >= 1:
            return tail
        return min(1.0, up(-math.expm1(cells * math.log1p(-tail)), _ULPS))

    @abstractmethod
    def tail(self, alpha: float) -> float:
        """Return Pr[|error| ≥ α] for one cell."""

    @abstractmethod
    def _alpha(self, beta: float) -> float:
        """Return the smallest α for one cell, rounded up."""


@dataclass(frozen=True)
class _ScaledNoise(NoiseLaw):
    """The law of noise of a given scale."""

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", validation.positive("scale", self.scale))


@dataclass(frozen=True)
class Laplace(_ScaledNoise):
    """Continuous Laplace noise of a given scale: α = scale·ln(1/β), which is tight.

    >>> round(Laplace(scale=1).alpha(0.05), 4)
    2.9957
    """

    def tail(self, alpha: float) -> float:
        return min(1.0, up(math.exp(-down(alpha / self.scale)), _ULPS))

    def _alpha(self, beta: float) -> float:
        return _finite("alpha", up(-math.log(beta) * self.scale, _ULPS))


@dataclass(frozen=True)
class Gaussian(_ScaledNoise):
    """Continuous Gaussian noise of a given scale, its standard deviation.

    >>> round(Gaussian(scale=1).alpha(0.05), 4)
    1.96
    """

    def tail(self, alpha: float) -> float:
        share = math.erfc(down(alpha / self.scale / math.sqrt(2), _ULPS))
        return min(1.0, up(share * (1 + _SUMS_ROUNDED), _ULPS))

    def _alpha(self, beta: float) -> float:
        low, high = 0.0, 1.0
        while self.tail(_finite("alpha", high * self.scale)) > beta:
            low, high = high, 2 * high
        while low < (middle := (low + high) / 2) < high:
            low, high = (low, middle) if self.tail(middle * self.scale) <= beta else (middle, high)
        return high * self.scale


@dataclass(frozen=True)
class DiscreteLaplace(_ScaledNoise):
    """Two-sided geometric noise on the integers: with p = e^(−1/scale), Pr[|Z| ≥ k] = 2p^k/(1 + p) for k ≥ 1.

    >>> round(DiscreteLaplace(scale=1).tail(3), 4)
    0.0728
    >>> DiscreteLaplace(scale=1).alpha(0.05)
    4.0
    """

    step: ClassVar[int] = 1

    def tail(self, alpha: float) -> float:
        steps = math.ceil(alpha)
        if steps < 1:
            return 1.0
        return min(1.0, up(2 * math.exp(-down(steps / self.scale)) / (1 + math.exp(-up(1 / self.scale))), 2 * _ULPS))

    def _alpha(self, beta: float) -> float:
        return _discrete_alpha(self, beta)


@lru_cache(maxsize=256)
def _discrete_alpha(law: DiscreteLaplace, beta: float) -> float:
    """Return the smallest whole number that the noise reaches with probability at most β; cached."""
    ratio = math.log(2 / (beta * (1 + math.exp(-1 / law.scale))))
    steps = max(1, math.ceil(_finite("alpha", law.scale * ratio)))
    while steps > 1 and law.tail(steps - 1) <= beta:
        steps -= 1
    while law.tail(steps) > beta:
        steps += max(1, int(steps * 2**-50))
    return float(steps)


@dataclass(frozen=True)
class DiscreteGaussian(_ScaledNoise):
    """Discrete Gaussian noise on the integers: the probability of k is proportional to e^(−k²/(2·scale²)).

    Up to a scale of 1024 its tail is added up term by term; beyond, it is bounded by that of a normal variable from
    k − 1/2 on, which is off by less than a hundred-thousandth within six scales.

    >>> round(DiscreteGaussian(scale=1).tail(2), 4)
    0.1171
    >>> DiscreteGaussian(scale=10).alpha(0.05)
    21.0
    """

    step: ClassVar[int] = 1

    def tail(self, alpha: float) -> float:
        steps = math.ceil(alpha)
        if steps < 1:
            return 1.0
        if self.scale <= _SUMMED:
            sums, total = _gaussian_sums(self.scale)
            if steps < len(sums):
                return min(1.0, up(2 * float(sums[steps]) / total * (1 + _SUMS_ROUNDED), _ULPS))
        # e^(−x²/(2·scale²)) is convex from x = scale on, so each term is at most the integral around it; before, it
        # falls. All terms together are at least scale·√(2π), by Poisson's formula.
        start = steps - 0.5 if steps - 0.5 >= self.scale else steps - 1.0
        share = math.erfc(down(start / self.scale / math.sqrt(2), _ULPS))
        return min(1.0, up(share * (1 + _SUMS_ROUNDED), _ULPS))

    def _alpha(self, beta: float) -> float:
        return _gaussian_alpha(self, beta)


NOISE_LAWS: dict[str, type[DiscreteLaplace | DiscreteGaussian]] = {
    "laplace": DiscreteLaplace,
    "gaussian": DiscreteGaussian,
}
"""The law of each kind of noise that answers may have."""


@lru_cache(maxsize=16)
def _gaussian_sums(scale: float) -> tuple[NDArray[np.float64], float]:
    """Return Σ_{j ≥ k} e^(−j²/(2·scale²)) for k from 0, and the sum over all integers."""
    import numpy as np

    with np.errstate(over="ignore", under="ignore"):
        terms = np.exp(-((np.arange(math.ceil(_FARTHEST * scale) + 2) / scale) ** 2) / 2)
    sums = np.cumsum(terms[::-1])[::-1] + _TRIMMED_TAIL
    return sums, float(2 * sums[0] - 1)


@lru_cache(maxsize=256)
def _gaussian_alpha(law: DiscreteGaussian, beta: float) -> float:
    """Return the smallest whole number that the noise reaches with probability at most β."""
    low, high = 0, 1
    while law.tail(high) > beta:
        low, high = high, 2 * high
    while high - low > max(1, int(high * 2.0**-52)):
        middle = (low + high) // 2
        low, high = (low, middle) if law.tail(middle) <= beta else (middle, high)
    return _finite("alpha", up(float(high)) if float(high) < high else float(high))


@dataclass(frozen=True)
class RandomizedResponse(NoiseLaw):
    """The error of the count estimated from `records` bits flipped with probability `flip`, `ones` of them 1.

    The number of ones reported is Bin(ones, 1 − flip) + Bin(records − ones, flip); its law is convolved exactly. The
    estimator is (reported − records·flip)/(1 − 2·flip).

    >>> round(RandomizedResponse(flip=0.25, records=500, ones=250).alpha(0.05), 1)
    38.0
    """

    flip: float
    records: int
    ones: int

    def __post_init__(self) -> None:
        flip = validation.number("flip", self.flip)
        if not 0 <= flip < 0.5:
            raise InvalidInputError(
                name_of("flip") + f" must lie in [0, 0.5), not {flip:g}; at 0.5 the answers carry no information"
            )
        object.__setattr__(self, "flip", flip)
        object.__setattr__(self, "records", validation.natural("records", self.records))
        object.__setattr__(self, "ones", validation.natural("ones", self.ones, least=0))
        if self.records > _MOST_RECORDS:
            raise InvalidInputError(name_of("records") + f" must be at most a million, not {self.records}")
        if self.ones > self.records:
            raise InvalidInputError(name_of("ones") + f" must be at most records, but {self.ones} > {self.records}")

    def tail(self, alpha: float) -> float:
        keep, middle = 1 - 2 * Fraction(self.flip), self._middle
        lower = math.floor(middle - Fraction(alpha) * keep)
        upper = math.ceil(middle + Fraction(alpha) * keep)
        first, up_to, from_on = self._law
        low = up_to[min(lower - first, len(up_to) - 1)] if lower >= first else 0.0
        high = from_on[max(upper - first, 0)] if upper - first < len(from_on) else 0.0
        return min(1.0, float(low + high) * (1 + _ROUNDED) + _TRIMMED)

    def _alpha(self, beta: float) -> float:
        """Bisect the possible errors for the first whose tail is at most β, and return an α just above it."""
        first, up_to, _ = self._law
        keep, middle = 1 - 2 * Fraction(self.flip), self._middle
        reports = sorted(range(first, first + len(up_to)), key=lambda report: abs(report - float(middle)))

        def beyond(index: int) -> float:
            return up(float_above(abs(reports[index] - middle) / keep))

        index = bisect_left(range(len(reports)), x=True, key=lambda index: self.tail(beyond(index)) <= beta)
        return beyond(min(index, len(reports) - 1))

    @property
    def _middle(self) -> Fraction:
        """The expected number of ones reported, exactly."""
        flip = Fraction(self.flip)
        return self.ones * (1 - flip) + (self.records - self.ones) * flip

    @cached_property
    def _law(self) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
        """The smallest number reported, then the probabilities of at most and of at least each number from there on."""
        import numpy as np

        true_ones, first = _binomial(self.ones, self.flip, flipped=False)
        false_ones, second = _binomial(self.records - self.ones, self.flip, flipped=True)
        mass = np.convolve(true_ones, false_ones)
        return first + second, np.cumsum(mass), np.cumsum(mass[::-1])[::-1]


def laplace_scale(query: Query, tau: float) -> float:
    """Return the Laplace scale that makes an answer to `query` τ-DP: sensitivity/τ, rounded up.

    >>> from bayesdp.queries import Sum
    >>> laplace_scale(Sum("height", bounds=(0, 100)), tau=0.5)
    200.0
    """
    return float_above(Fraction(query.sensitivity) / Fraction(validation.positive("tau", tau)))


def least_gaussian_scale(squared_sensitivity: Fraction, rho: float) -> float:
    """Return the smallest float σ with σ² ≥ squared_sensitivity/(2ρ): Gaussian noise of this scale is ρ-zCDP.

    >>> least_gaussian_scale(Fraction(1), 0.5), least_gaussian_scale(Fraction(1), 1 / 128)
    (1.0, 8.0)
    """
    square = squared_sensitivity / (2 * Fraction(rho))
    scale = math.sqrt(nearest(square))
    while Fraction(scale) ** 2 < square:
        scale = up(scale)
    while Fraction(down(scale)) ** 2 >= square:
        scale = down(scale)
    return scale


def gaussian_scale(query: Query, rho: float) -> float:
    """Return the scale of Gaussian noise that makes an answer to `query` ρ-zCDP, rounded up.

    >>> from bayesdp.queries import Histogram, Sum
    >>> gaussian_scale(Sum("height", bounds=(0, 100)), rho=0.5)
    100.0
    >>> gaussian_scale(Histogram("state", cells=["idle", "walk"]), rho=1.0)
    1.0
    """
    return least_gaussian_scale(query.in_l2(Fraction(query.sensitivity)), validation.positive("rho", rho))


def rho_for_accuracy(query: Query, alpha: float, beta: float) -> float:
    """Return the smallest ρ found whose Gaussian noise keeps the error below α except with probability β.

    For a histogram the promise is for all cells at once.
    """
    alpha = validation.positive("alpha", alpha)
    beta = _per_cell(validation.probability("beta", beta), query.dimension)
    scale = alpha / Gaussian(1.0).alpha(beta)
    rho = query.in_l2(Fraction(query.sensitivity)) / (2 * Fraction(scale) ** 2) if scale else Fraction(0)
    if not _SMALLEST_NORMAL < rho < Fraction(2) ** 1000:
        raise InvalidInputError(
            f"no rho that floating-point numbers can hold gives an error of {alpha:g} for a sensitivity of "
            f"{query.sensitivity:g}; choose another alpha"
        )
    found = float_above(rho)
    for _ in range(_STEPS):
        if Gaussian(gaussian_scale(query, found)).alpha(beta) <= alpha:
            return found
        found = up(found)
    raise InvalidInputError(f"an error of {alpha:g} is too small for floating-point arithmetic; choose a larger alpha")


def tau_for_accuracy(query: Query, alpha: float, beta: float) -> float:
    """Return the smallest τ at which Laplace noise stays below α except with probability β, in all cells at once."""
    alpha = validation.positive("alpha", alpha)
    beta = _per_cell(validation.probability("beta", beta), query.dimension)
    tau = -math.log(beta) * query.sensitivity / alpha
    if not _SMALLEST_NORMAL < tau < math.inf:
        raise InvalidInputError(
            f"an error of {alpha:g} at a sensitivity of {query.sensitivity:g} needs a tau beyond the range of "
            "floating-point numbers; choose another alpha"
        )
    for _ in range(_STEPS):
        if Laplace(laplace_scale(query, tau)).alpha(beta) <= alpha:
            return tau
        tau = up(tau)
    raise InvalidInputError(f"alpha = {alpha:g} is too small for floating-point arithmetic; choose a larger alpha")


def least_failure(epsilon: float) -> float:
    """Return 1/(e^ε + 1), the least β of any ε-BDP mechanism at a useful α when *all* records may be correlated.

    α is useful if it is at most half the range of the query (proof: docs/theory/impossibility.md).

    >>> round(least_failure(1.0), 4)
    0.2689
    """
    epsilon = validation.positive("epsilon", epsilon)
    return math.exp(-epsilon) / (1 + math.exp(-epsilon))


def impossible(epsilon: float, *, alpha: float, beta: float, spread: float) -> bool:
    """Return whether no ε-BDP mechanism can be (α, β)-accurate when all records may be correlated in any way.

    spread: the largest difference max |f(D) − f(D′)| between two answers of the query.

    >>> impossible(1.0, alpha=50, beta=0.05, spread=100)
    True
    """
    alpha, spread = validation.positive("alpha", alpha), validation.positive("spread", spread)
    beta = validation.number("beta", beta)
    if not 0 <= beta <= 1:
        raise InvalidInputError(name_of("beta") + f" must lie in [0, 1], not {beta:g}")
    return alpha <= spread / 2 and beta < down(least_failure(epsilon), _ULPS)


def _per_cell(beta: float, cells: int) -> float:
    """Return the β of each of `cells` independent cells at which all of them hold with probability 1 − β."""
    return beta if cells == 1 else max(_SMALLEST, down(-math.expm1(math.log1p(-beta) / cells), _ULPS))


def _binomial(trials: int, flip: float, flipped: bool) -> tuple[NDArray[np.float64], int]:
    """Return the law of the number of flipped (or unflipped) bits among `trials`, and where it begins.

    Ratios of neighbours are multiplied outward from the mode, which avoids overflow and differences; terms below 1e-40
    of the mode are trimmed.
    """
    import numpy as np

    if flip == 0:
        return np.ones(1), 0 if flipped else trials
    odds = flip / (1 - flip) if flipped else (1 - flip) / flip
    mode = min(trials, int((trials + 1) * (flip if flipped else 1 - flip)))
    above = np.arange(mode, trials)
    below = np.arange(mode, 0, -1)
    with np.errstate(under="ignore", over="ignore"):
        upward = np.cumprod((trials - above) / (above + 1) * odds)
        downward = np.cumprod(below / (trials - below + 1) / odds)
    upward, downward = upward[upward > _TRIM], downward[downward > _TRIM]
    mass = np.concatenate([downward[::-1], [1.0], upward])
    return mass / mass.sum(), mode - len(downward)


def _finite(name: str, value: float) -> float:
    if not math.isfinite(value):
        raise TooLargeError(f"{name} is too large for a floating-point number; choose a larger tau or epsilon")
    return value
