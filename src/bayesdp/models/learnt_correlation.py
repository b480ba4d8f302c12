"""A correlation within groups, estimated from noisy sums of products and squares. Proof: docs/theory/private-fit.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, ClassVar

import numpy as np

from bayesdp._support import validation
from bayesdp._support.arrays import Floats
from bayesdp._support.messages import name_of
from bayesdp._support.validation import brief
from bayesdp._support.words import counted
from bayesdp.errors import ModelError
from bayesdp.models.posterior import chosen_rank, draws_needed
from bayesdp.rounding import shown_above, shown_below

__all__ = ["CASES", "MOST_PAIRS", "STEPS", "LearntCorrelation", "bounds_in_cases", "pairs_sensitivity"]

CASES = tuple(product((0.1, 0.3, 0.5, 0.7, 0.9), (1 / 6, 1 / 3)))
"""The cases by which a fit is foreseen: the correlation as a share of the ceiling, and the standard deviation of values
as a share of the half-width of the bounds."""

_FORESEEN_DRAWS = 400
"""The most draws for each of these cases."""

STEPS = 2**14
"""The steps of the grid on either side of the middle of the bounds."""

MOST_PAIRS = 2**33
"""The most ordered pairs, whose sums of products stay below 2^62 steps."""

DRAWS = 4000
"""The number of draws of the noise and of the sample, unless the credibility needs more."""

NOISIEST = 2.0**20
"""The largest scale of noise, in squares of the half-width; beyond it, tables carry no information."""

_SHRUNK = 0.989
"""Clipping two standard deviations from the mean takes at most 1.03 % of a correlation, and a grid of sixteen steps in
a standard deviation 0.04 %: what is seen is at least this share of it."""

_CLEAR = 2.1
"""Bounds this many standard deviations *of the clipped values* from their mean are two from that of the law."""

_FEWEST_STEPS = 16
"""The fewest steps of the grid in a standard deviation."""

_CORRELATIONS = 100
_HALVINGS = 10
_PLACES = 4
"""The number of correlations tried first, of those tried between two of them, and the decimals after rounding up."""

_AT_ONCE = 1000
_SEED = 14
"""The fixed seed: the same sums give the same correlation."""


def pairs_sensitivity(size: int) -> int:
    """Return how far one replaced record of a group of `size` moves the three sums together, in ℓ1 and in steps.

    >>> pairs_sensitivity(2) == 6 * STEPS**2
    True
    """
    return 6 * (size - 1) * STEPS**2


@dataclass(frozen=True)
class LearntCorrelation:
    """A private fit of the correlation within groups: from three noisy sums, released and charged like any answer.

    ceiling:     the correlation assumed before the fit, which the estimate never exceeds.
    tau:         the privacy of the noisy sums.
    credibility: the probability that no correlation is larger.
    bounds:      the bounds to which values were clipped first.
    size:        the most records a group may have.
    groups:      the public number of groups of each size: (size, number) pairs.
    sums:        the noisy sums, over all pairs of different members of a group, in both orders: of the products, of
                 the squares of the first, and of the first times the half-width; in steps from the middle.

    >>> half = STEPS**2
    >>> one = LearntCorrelation(1, 1.0, 0.95, (0, 10), 2, [(2, 9000)], [400 * half, 1000 * half, 0])
    >>> 0.4 < one.correlation < 0.55
    True
    """

    ceiling: float
    tau: float
    credibility: float
    bounds: Sequence[float]
    size: int
    groups: Sequence[tuple[int, int]]
    sums: Sequence[int]

    parameter: ClassVar[str] = "correlation"
    noun: ClassVar[str] = "correlation of any two members of a group"
    parameter_in_words: ClassVar[str] = "correlation"
    plural: ClassVar[bool] = False

    def __post_init__(self) -> None:
        ceiling = validation.number("ceiling", self.ceiling, ModelError)
        if not 0 <= ceiling <= 1:
            raise ModelError(f"a ceiling for correlations must lie in [0, 1], not at {ceiling:g}")
        object.__setattr__(self, "ceiling", ceiling)
        object.__setattr__(self, "tau", validation.positive("tau", self.tau, ModelError))
        object.__setattr__(self, "credibility", validation.probability("credibility", self.credibility, ModelError))
        object.__setattr__(self, "bounds", checked_bounds(self.bounds))
        object.__setattr__(self, "size", validation.natural("size", self.size, ModelError, least=2))
        object.__setattr__(self, "groups", _checked_groups(self.groups, self.size))
        sums = tuple(validation.items("sums", self.sums, ModelError))
        whole = [entry for entry in sums if isinstance(entry, int) and not isinstance(entry, bool)]
        if len(sums) != 3 or len(whole) != 3 or any(abs(entry) >= 2**63 for entry in whole):
            raise ModelError(name_of("sums") + " must be three whole numbers of 64 bits")
        object.__setattr__(self, "sums", sums)
        draws_needed(self.credibility, None, DRAWS)
        _check_noise(self.tau, self.scale)

    @property
    def scale(self) -> float:
        """The scale of the noise on each sum, in squares of the half-width."""
        return 6 * (self.size - 1) / self.tau

    @staticmethod
    def about(subject: str) -> str:
        """Return a description of the release, and its purpose."""
        return f"sums of squares and products of {subject}, to learn its correlation inside groups"

    @property
    def spec(self) -> dict[str, Any]:
        """The settings of the private fit, without τ."""
        return {"credibility": self.credibility, "bounds": list(self.bounds)}

    @property
    def asked_for(self) -> str:
        """The settings of the private fit in words."""
        low, high = self.bounds
        return f"tau = {self.tau:g}, credibility {self.credibility:g}, values between {low:g} and {high:g}"

    @cached_property
    def correlation(self) -> float:
        """The estimated correlation, rounded up; at most the ceiling."""
        largest = credible_correlation(tuple(self.groups), tuple(self.sums), self.scale, self.credibility)
        return min(self.ceiling, float(math.ceil(largest * 10**_PLACES) / 10**_PLACES))

    @property
    def origin(self) -> str:
        """The private fit of the correlation, in sentences."""
        low, high = self.bounds
        records = sum(size * number for size, number in self.groups)
        return (
            f"The correlation was learnt by a private release of this account: from sums of squares and products of "
            f"{records} values between {low:g} and {high:g}, with noise of {shown_above(self.scale)} squares of half "
            f"that width (tau = {shown_below(self.tau)}), and nothing else of the data. With a credibility of "
            f"{shown_below(100 * self.credibility)} % it is no larger, if any two members of a group are correlated "
            f"alike and have one variance; that it is at most {shown_above(self.ceiling)} was assumed before, and who "
            "is in which group is treated as public. What that release tells is in the ε stated "
            "(docs/theory/private-fit.md)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object under "learnt" of a model."""
        return {
            "ceiling": self.ceiling,
            "tau": self.tau,
            "credibility": self.credibility,
            "bounds": list(self.bounds),
            "size": self.size,
            "groups": [list(pair) for pair in self.groups],
            "sums": list(self.sums),
        }

    @classmethod
    def from_dict(cls, document: object) -> LearntCorrelation:
        """Read it from its JSON object; ModelError for an invalid one."""
        known = {"ceiling", "tau", "credibility", "bounds", "size", "groups", "sums"}
        if not isinstance(document, Mapping) or set(document) != known:
            raise ModelError(f'"learnt" must be an object with {", ".join(sorted(known))}, not {brief(document)}')
        return cls(**document)


def _check_noise(tau: float, scale: float) -> None:
    if scale > NOISIEST:
        raise ModelError(
            f"tau = {tau:g} drowns the sums in noise of {shown_above(scale)} squares of the half-width; nothing can be "
            "learnt from them"
        )


def checked_bounds(value: object) -> tuple[float, float]:
    """Return two finite bounds, the lower one first, between which there is room for a grid."""
    bounds = tuple(validation.number("bounds", bound, ModelError) for bound in validation.items("bounds", value))
    if len(bounds) != 2 or not bounds[0] < bounds[1] or not math.isfinite(bounds[1] - bounds[0]):
        raise ModelError(name_of("bounds") + f" must be two numbers, the lower one first, not {brief(value)}")
    low, high = bounds
    middle = low + (high - low) / 2
    if not low < middle < high or (high - low) / 2 / STEPS < 4 * math.ulp(max(abs(low), abs(high))):
        raise ModelError(f"bounds {low:g} and {high:g} are too close to one another for their size")
    return low, high


def _checked_groups(value: object, most: int) -> tuple[tuple[int, int], ...]:
    rows = [validation.items("groups", row, ModelError) for row in validation.items("groups", value, ModelError)]
    if any(len(row) != 2 for row in rows):
        raise ModelError(name_of("groups") + " must be pairs of a size and a number")
    groups = tuple(
        sorted(
            (validation.natural("groups", a, ModelError), validation.natural("groups", b, ModelError)) for a, b in rows
        )
    )
    if len({size for size, _ in groups}) < len(groups) or any(size > most for size, _ in groups):
        raise ModelError(name_of("groups") + f" must name different sizes, none above {counted(most, 'record')}")
    if not 0 < ordered_pairs(groups) <= MOST_PAIRS:
        raise ModelError(name_of("there") + f" must be a group of two, and at most {MOST_PAIRS} pairs in all groups")
    return groups


def ordered_pairs(groups: Sequence[tuple[int, int]]) -> int:
    """Return the number of pairs of different members of a group, in both orders."""
    return sum(number * size * (size - 1) for size, number in groups)


@lru_cache(maxsize=64)
def bounds_in_cases(size: int, records: int, *, ceiling: float, tau: float, credibility: float) -> tuple[float, ...]:
    """Return the correlation that a private fit would state in each of the CASES, from public numbers alone.

    All groups have the largest size, and noise has a fixed seed.

    >>> bounds_in_cases(2, 20, ceiling=1, tau=0.5, credibility=0.95)[0]
    1.0
    """
    generator, bounds, scale = np.random.default_rng(_SEED), [], pairs_sensitivity(size) / STEPS**2 / tau
    _check_noise(tau, scale)
    groups = ((size, max(records // size, 1)),)
    for share, deviation in CASES:
        squares = ordered_pairs(groups) * deviation**2
        noisy = np.array([share * ceiling * squares, squares, 0.0]) + generator.laplace(scale=scale, size=3)
        sums = tuple(int(entry) for entry in np.rint(noisy * STEPS**2))
        bounds.append(min(float(ceiling), credible_correlation(groups, sums, scale, credibility, _FORESEEN_DRAWS)))
    return tuple(bounds)


@lru_cache(maxsize=64)
def credible_correlation(
    groups: tuple[tuple[int, int], ...], sums: tuple[int, ...], scale: float, credibility: float, usual: int = DRAWS
) -> float:
    """Return a bound on the absolute value of the correlation with this credibility, given noisy sums.

    It is a high order statistic of the correlations that draws of the noise and of the sample leave (docs/theory/
    private-fit.md); draws have a fixed seed. 1 stands for a draw that leaves no variance, or bounds too narrow.
    """
    draws = draws_needed(credibility, None, usual)
    generator = np.random.default_rng(_SEED)
    largest = np.concatenate(
        [
            _drawn(groups, np.array(sums) / STEPS**2, scale, min(_AT_ONCE, draws - begin), generator)
            for begin in range(0, draws, _AT_ONCE)
        ]
    )
    place = draws - chosen_rank(credibility, draws)
    return float(np.partition(largest, place)[place])


def _drawn(
    groups: tuple[tuple[int, int], ...], sums: Floats, scale: float, draws: int, generator: np.random.Generator
) -> Floats:
    """Return |correlation| for draws of the noise and of the sample; the half-width of the bounds is 1."""
    pairs = ordered_pairs(groups)
    products, squares, firsts = (sums - generator.laplace(scale=scale, size=(draws, 3))).T
    sample = generator.standard_normal(draws)
    mean = firsts / pairs
    products, squares = products - pairs * mean**2, squares - pairs * mean**2
    variance = squares / pairs
    deviation = np.sqrt(np.maximum(variance, 0))
    reported = (deviation >= _FEWEST_STEPS / STEPS) & (1 - np.abs(mean) >= _CLEAR * deviation)
    largest, smallest = _crossings(groups, products, squares, sample)
    ends = np.maximum(np.abs(largest), np.abs(smallest))
    return np.where(reported, np.minimum(ends / _SHRUNK, 1), 1.0)


def _crossings(
    groups: tuple[tuple[int, int], ...], products: Floats, squares: Floats, sample: Floats
) -> tuple[Floats, Floats]:
    """Return the largest and the smallest correlation that each draw leaves: where `_off` changes its sign."""
    lowest = -1 / (max(size for size, _ in groups) - 1)
    places = lowest + (1 - lowest) * np.arange(_CORRELATIONS + 1) / _CORRELATIONS
    off = _off(groups, places, products[:, None], squares[:, None], sample[:, None])
    some, none = (off > 0).any(axis=1), (off >= 0).all(axis=1)
    last = np.where(some, _CORRELATIONS - np.argmax((off > 0)[:, ::-1], axis=1), -1)
    first = np.where(none, _CORRELATIONS + 1, np.argmax(off < 0, axis=1))
    inside, above = places[np.maximum(last, 0)], places[np.clip(last + 1, 0, _CORRELATIONS)]
    below, beyond = places[np.clip(first - 1, 0, _CORRELATIONS)], places[np.minimum(first, _CORRELATIONS)]
    for _ in range(_HALVINGS):
        middle = (inside + above) / 2
        more = _off(groups, middle, products, squares, sample) > 0
        inside, above = np.where(more, middle, inside), np.where(more, above, middle)
        middle = (below + beyond) / 2
        less = _off(groups, middle, products, squares, sample) < 0
        below, beyond = np.where(less, below, middle), np.where(less, middle, beyond)
    return above, below


def _off(
    groups: tuple[tuple[int, int], ...], correlation: Floats, products: Floats, squares: Floats, sample: Floats
) -> Floats:
    """Return the products minus those that a correlation and a draw of the sample imply from the squares.

    products, squares: around the mean, whose own variance is made up for.      sample: in standard deviations.
    """
    pairs = ordered_pairs(groups)
    spread, centring = np.zeros_like(correlation), np.zeros_like(correlation)
    for size, number in groups:
        alike = 1 + (size - 1) * correlation
        spread += number * size * (size - 1) * alike**2
        centring += number * size * (size - 1) ** 2 * alike
    correction = (1 - correlation) * (centring / pairs - sample * np.sqrt(2 * spread))
    return np.asarray(products - correlation * squares + squares / pairs * correction)
