"""The sums of a series of two values whose effects add up: their means by transfer matrix, and effects from noisy ones.

ln of the odds of a record, given all others, are a term for its stratum plus J_ℓ for each record of value 1 that is ℓ
places before or after it. Proof: docs/theory/private-fit.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesdp._support.arrays import Floats, Integers
from bayesdp.errors import ModelError

__all__ = ["Course", "Estimate", "estimated", "expected_sums", "stationary"]

_MARGIN = 64
"""The records on either side of a part of the series whose sums are computed without the rest."""

_PARTS = (192, 288, 336, 168, 240)
"""The lengths of parts that are tried: a course that repeats itself has few different ones."""

_MOST_WORK = 2.0**30
_AT_ONCE = 2**22

_STEPS = 40
"""The most steps to the estimate."""

_BEYOND = 3
"""Steps beyond the largest effects after which the noise counts as hiding them."""

_PRECISE = 1e-4
_LARGEST_STEP = 1.0
_WIDEST_FIELD = 30.0
_WIDE = 10.0
"""The standard deviation of the prior of the average field: hardly any information."""

_LEAST_SPREAD, _MOST_SPREAD = 1e-4, 25.0
"""The limits of the variance between the fields of strata."""

_DIFFERENCE = 1e-4


@dataclass(frozen=True)
class Course:
    """The public strata of a series, cut into parts with a margin on either side; equal parts occur once.

    parts:   for each different part, the stratum of each record, −1 where there is none.
    times:   how often each part occurs.
    margin:  the records on either side of a part that are not counted in it.
    strata:  the number of strata.
    """

    parts: NDArray[np.int16]
    times: Integers
    margin: int
    strata: int

    @classmethod
    def of(cls, strata_of_records: NDArray[np.int16], strata: int) -> Course:
        """Return the course with the strata of all records in their order; −1 marks a place without a record."""
        tried = [_cut(strata_of_records, length) for length in _PARTS]
        parts, times = min(tried, key=lambda found: found[0].size)
        return cls(parts, times, _MARGIN, strata)

    @property
    def stationary(self) -> bool:
        """Whether each stratum is a long series of its own, of which every record is alike."""
        return self.parts.shape[1] == 2 * self.margin + 1 and len(self.parts) == self.strata

    @property
    def records(self) -> Integers:
        """The number of records of each stratum."""
        inner = self.parts[:, self.margin : self.parts.shape[1] - self.margin]
        counts = np.zeros(self.strata, dtype=np.int64)
        for part, times in zip(inner, self.times, strict=True):
            counts += times * np.bincount(part[part >= 0], minlength=self.strata)
        return counts

    def check(self, reach: int) -> None:
        """Raise ModelError if its sums would take minutes to compute."""
        if self.parts.size * 2.0 ** (reach + 1) * (self.strata + reach + 1) > _MOST_WORK:
            raise ModelError(
                "the strata follow one another in too many different ways for a private fit; take fewer strata, a "
                "clock, or a shorter reach"
            )


def stationary(records: Sequence[int]) -> Course:
    """Return the course of long series, each in one stratum, with so many records.

    >>> stationary([700, 300]).records.tolist()
    [700, 300]
    """
    parts = np.repeat(np.arange(len(records), dtype=np.int16)[:, None], 2 * _MARGIN + 1, axis=1)
    return Course(parts, np.array(records, dtype=np.int64), _MARGIN, len(records))


def _cut(strata: NDArray[np.int16], length: int) -> tuple[NDArray[np.int16], Integers]:
    pieces = max(-(-len(strata) // length), 1)
    padded = np.full(pieces * length + 2 * _MARGIN, -1, dtype=np.int16)
    padded[_MARGIN : _MARGIN + len(strata)] = strata
    windows = np.lib.stride_tricks.sliding_window_view(padded, length + 2 * _MARGIN)[::length]
    parts, times = np.unique(windows, axis=0, return_counts=True)
    return parts, times.astype(np.int64)


def expected_sums(course: Course, fields: Floats, effects: Floats) -> Floats:
    """Return the means of all sums, [case][sum]: by stratum the sum of its records, by distance that of products.

    fields: [case][stratum]; effects: [case][distance].

    >>> fair = expected_sums(stationary([1000]), np.zeros((1, 1)), np.zeros((1, 2)))
    >>> fair.round(6).tolist()
    [[500.0, 250.0, 250.0]]
    """
    cases, reach = effects.shape
    means = np.zeros((cases, course.strata + reach))
    each = cases * course.parts.shape[1] * 2**reach
    step = max(_AT_ONCE // each, 1)
    for begin in range(0, len(course.parts), step):
        chosen = slice(begin, begin + step)
        means += _part_sums(course.parts[chosen], course.times[chosen], course, fields, effects)
    return means


def _part_sums(parts: NDArray[np.int16], times: Integers, course: Course, fields: Floats, effects: Floats) -> Floats:
    """Return the means of the sums over some of the parts, from messages along each part in both directions.

    A message has an entry for each value of the last `reach` records, the latest one first.
    """
    (cases, reach), (number, length) = effects.shape, parts.shape
    size, half = 2**reach, 2 ** (reach - 1)
    bits = np.arange(size)[:, None] >> np.arange(reach - 1, -1, -1) & 1
    pull = effects @ bits.T
    top = pull.max(axis=1, keepdims=True).clip(min=0)
    rising = np.exp(pull - top)[:, None, :]
    fields = np.concatenate([fields, np.full((cases, 1), -np.inf)], axis=1)
    lifted = np.exp(np.minimum(fields + top, 300.0))
    scale = np.maximum(lifted, 1.0)
    up, flat = lifted / scale, 1 / scale
    margin = course.margin
    inner = range(margin, length - margin)
    ahead = np.empty((len(inner), cases, number, size))
    message = np.full((cases, number, size), 1 / size)
    for place in range(length - margin):
        if place >= margin:
            ahead[place - margin] = message
        stratum = parts[:, place]
        ones = (message * rising).reshape(cases, number, half, 2).sum(axis=3) * up[:, stratum, None]
        zeros = message.reshape(cases, number, half, 2).sum(axis=3) * flat[:, stratum, None]
        message = np.concatenate([zeros, ones], axis=2)
        message /= message.sum(axis=2, keepdims=True)
    behind, sums = np.ones((cases, number, size)), np.zeros((cases, course.strata + reach))
    for place in range(length - 1, margin - 1, -1):
        stratum = parts[:, place]
        risen = rising * np.repeat(behind[:, :, half:], 2, axis=2) * up[:, stratum, None]
        stayed = np.repeat(behind[:, :, :half], 2, axis=2) * flat[:, stratum, None]
        behind = risen + stayed
        if place < length - margin:
            before = ahead[place - margin]
            ones = before * risen
            ones /= (before * behind).sum(axis=2, keepdims=True)
            weighted = ones.sum(axis=2) * times
            for index in np.unique(stratum[stratum >= 0]):
                sums[:, index] += weighted[:, stratum == index].sum(axis=1)
            sums[:, course.strata :] += np.einsum("cns,n,sl->cl", ones, times, bits)
        behind /= behind.max(axis=2, keepdims=True)
    return sums


@dataclass(frozen=True)
class Estimate:
    """The likeliest effects given noisy sums, and how a change of the sums would move them.

    effects:  for each distance, what a record of value 1 adds to ln of the odds of another.
    moved:    by how much each effect moves with each sum.
    spread:   the covariance of all sums, without the noise.
    prior:    the covariance of the effects that is due to the prior.
    """

    effects: Floats
    moved: Floats
    spread: Floats
    prior: Floats

    def drawn(self, draws: int, scales: Floats, generator: np.random.Generator) -> Floats:
        """Draw effects, [draw][distance]: those that the sums would have given with other noise, and another sample."""
        sums = generator.standard_normal((draws, len(self.spread))) @ _root(self.spread)
        sums += generator.laplace(scale=scales, size=sums.shape)
        wide = generator.standard_normal((draws, len(self.effects))) @ _root(self.prior)
        return np.asarray(self.effects + sums @ self.moved.T + wide)


def estimated(course: Course, sums: Sequence[float], scales: Floats, limits: Sequence[float]) -> Estimate | None:
    """Return the likeliest effects given sums with Laplace noise of these scales; None if the noise hides them.

    limits: the largest |effect| at each distance.

    They do at once if no record is left of one of the two values, or no product.

    Sums are about normal around their means, which the transfer matrix has. Fields of strata are normal around one
    another, with the variance that the sums show, and effects have a wide prior.
    """
    reach, strata, observed = len(limits), course.strata, np.array(sums, dtype=np.float64)
    bounds = np.concatenate([np.full(strata, _WIDEST_FIELD), np.array(limits) + 1.0])
    share = observed[:strata].sum() / course.records.sum()
    if not 0 < share < 1 or observed[strata:].min() <= 0:
        return None
    start = math.log(min(max(share, 0.01), 0.99) / (1 - min(max(share, 0.01), 0.99)))
    found, spread_of_fields = np.concatenate([np.full(strata, start), np.zeros(reach)]), 1.0
    prior_of_effects = np.diag(1 / (2 * np.array(limits)) ** 2)
    beyond = 0
    for step_number in range(_STEPS):
        means, slope = _means_and_slope(course, found, strata)
        variance = slope + np.diag(2 * scales**2)
        if step_number < _STEPS // 2:
            spread_of_fields = _spread_of_fields(found, observed - means, slope, variance, strata)
        precision = np.zeros_like(slope)
        precision[:strata, :strata] = (np.eye(strata) - 1 / strata) / spread_of_fields + 1 / strata / _WIDE**2
        precision[strata:, strata:] = prior_of_effects
        weighted = np.linalg.solve(variance, slope).T
        information = weighted @ slope + precision
        step = np.linalg.solve(information, weighted @ (observed - means) - precision @ found)
        step *= min(1.0, _LARGEST_STEP / np.abs(step).max())
        after = np.clip(found + step, -bounds, bounds)
        change, found = np.abs(after - found).max(), after
        beyond = beyond + 1 if (np.abs(found) >= bounds)[strata:].any() else 0
        if beyond == _BEYOND:
            return None
        if change < _PRECISE:
            break
    else:
        return None
    inverse = np.linalg.inv(information)
    prior = inverse @ precision @ inverse
    inner = slice(strata, None)
    return Estimate(found[inner], (inverse @ weighted)[inner], slope, prior[inner, inner])


def _means_and_slope(course: Course, parameters: Floats, strata: int) -> tuple[Floats, Floats]:
    """Return the means of the sums, and their derivatives: the covariance of the sums."""
    if course.stationary:
        return _means_and_slope_of_strata(course, parameters[:strata], parameters[strata:])
    moved = np.concatenate([parameters[None], parameters + _DIFFERENCE * np.eye(len(parameters))])
    means = expected_sums(course, moved[:, :strata], moved[:, strata:])
    return means[0], _positive((means[1:] - means[0]) / _DIFFERENCE)


def _means_and_slope_of_strata(course: Course, fields: Floats, effects: Floats) -> tuple[Floats, Floats]:
    """Do the same for strata that do not meet, in each of which only its own field matters."""
    strata, reach = len(fields), len(effects)
    moved = _DIFFERENCE * np.concatenate([np.zeros((1, 1 + reach)), np.eye(1 + reach)])
    own = (fields[:, None] + moved[:, 0]).reshape(-1, 1)
    sums = expected_sums(stationary([1]), own, np.tile(effects + moved[:, 1:], (strata, 1)))
    sums = sums.reshape(strata, 2 + reach, 1 + reach) * course.times[:, None, None]
    rises, slope = (sums[:, 1:] - sums[:, :1]) / _DIFFERENCE, np.zeros((strata + reach,) * 2)
    slope[:strata, :strata] = np.diag(rises[:, 0, 0])
    slope[:strata, strata:] = rises[:, 0, 1:]
    slope[strata:, :strata] = rises[:, 1:, 0].T
    slope[strata:, strata:] = rises[:, 1:, 1:].sum(axis=0)
    return np.concatenate([sums[:, 0, 0], sums[:, 0, 1:].sum(axis=0)]), _positive(slope)


def _positive(slope: Floats) -> Floats:
    """Return the covariance nearest to a table that is one but for rounding."""
    values, vectors = np.linalg.eigh((slope + slope.T) / 2)
    return np.asarray((vectors * np.maximum(values, 1e-9 * max(values.max(), 1.0))) @ vectors.T)


def _spread_of_fields(found: Floats, left: Floats, slope: Floats, variance: Floats, strata: int) -> float:
    """Return the variance of the fields between strata that the sums show beyond noise and chance."""
    own = np.diag(slope)[:strata]
    fields = found[:strata] + np.clip(left[:strata] / own, -3.0, 3.0)
    weights = own**2 / np.diag(variance)[:strata]
    total = weights.sum()
    if strata < 2:
        return _MOST_SPREAD
    apart = float(weights @ (fields - weights @ fields / total) ** 2) - (strata - 1)
    return float(np.clip(apart / max(total - weights @ weights / total, 1e-12), _LEAST_SPREAD, _MOST_SPREAD))


def _root(covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))).T)
