"""Any number of normal records: dependences summed over walks. Proof: docs/theory/gaussian-walk.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp._support.arrays import Floats
from bayesdp._support.validation import Matrix
from bayesdp.models import GaussianGroups, GaussianSeries, Model
from bayesdp.models.precision import UNIT, Precision, dominance_of
from bayesdp.queries import Query
from bayesdp.rounding import float_above, float_below
from bayesdp.theorems.gaussian.band import inverse_diagonal
from bayesdp.theorems.gaussian.covariance import ALIKE, LARGEST_ENUMERATED, inverse_within, undominated
from bayesdp.theorems.gaussian.metric import MetricTheorem, Normal
from bayesdp.theorems.gaussian.tight import refuse_all_jumps

__all__ = ["GaussianWalk", "covariance_walks", "precision_walks", "series_refused", "series_walks"]

Factors = tuple[tuple[float, ...], ...]
"""For each target that may be the worst, the factors on the τ's of sums."""

LARGEST_DENSE = 1000
"""In groups of at most this many records, walks between every two records are summed; in larger ones, those that end
in each record."""

_BEHIND = 1 + 1e-11
"""Makes gaussian-covariance the better theorem where both prove the same up to rounding: it has the worst adversary."""

_WIDEST_BAND = 8
_MOST_ENTRIES = 20_000_000
_LONGEST_RETURN = 8
_COUNTED = 1e-11
"""A bound on the rounding error of the weight of walks of at most ten steps, which is below 1; for many records, 64
ulps of 1 for each record are used."""

_LONGEST_SIDE = 2**20
_LARGEST_SIDE = 2**22
_FASTEST = 0.01
_FORGOTTEN = 40.0
"""A side of a series is followed until its walks have shrunk by e⁻⁸⁰; the rest is bounded by a geometric series."""

_NOT_SUMMABLE = (
    "the records are not walk-summable: the sum over all walks of the absolute values of direct dependences is "
    "infinite, or floating-point arithmetic cannot show that it is finite"
)


class GaussianWalk(MetricTheorem):
    """Normal records for which the sum over all walks of the absolute values of direct dependences is finite."""

    name: ClassVar[str] = "gaussian-walk"
    proof: ClassVar[str] = "docs/theory/gaussian-walk.md"

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        if isinstance(model, GaussianSeries):
            reason = series_refused(tuple(model.coefficients))
            if reason is None and model.length is None and any(query.width is None for query in queries):
                reason = "a release other than a clipped sum costs tau for every record, and the length is unlimited"
            return reason or refuse_all_jumps(queries)
        if not isinstance(model, GaussianGroups):
            return "it is about normal groups and series"
        if model.correlation is not None:
            return "it needs the covariance or the precision, and the model has only a bound on the correlations"
        if model.precision is None and model.group_size > LARGEST_DENSE:
            return f"a covariance of {model.group_size} records is too large to invert; give the precision"
        return (_NOT_SUMMABLE if _group_walks(model, (1.0,)) is None else None) or refuse_all_jumps(queries)

    def factors(self, model: Normal, reaches: tuple[Fraction, ...]) -> Sequence[tuple[Fraction, ...]]:
        within = tuple(map(float_above, reaches))
        if isinstance(model, GaussianSeries):
            learned: Factors | None = series_walks(
                tuple(model.coefficients), None if model.gaps else model.length, within
            )
        else:
            learned = _group_walks(model, within)
        assert learned is not None, "refusal sees to that"
        return [tuple(map(Fraction, factors)) for factors in learned]


def _group_walks(model: GaussianGroups, reaches: tuple[float, ...]) -> Factors | None:
    if model.precision is not None:
        return precision_walks(model.precision, reaches)
    learned = [covariance_walks(kind, reaches) for kind in model.kinds]
    finite = [factors for factors in learned if factors is not None]
    return None if len(finite) < len(learned) else tuple(row for factors in finite for row in factors)


@lru_cache(maxsize=64)
def precision_walks(precision: Precision, reaches: tuple[float, ...]) -> Factors | None:
    """Return the factors of the targets that may be the worst, rounded up; None if it is not walk-summable.

    reaches: D/M of each sum, how far apart target values may be in widths.

    >>> pair = Precision.of([[1.0, -0.4], [-0.4, 1.0]])
    >>> [[round(factor, 9) for factor in factors] for factors in precision_walks(pair, (1.0,))]
    [[1.4]]
    """
    if precision.dominance is None:
        return None
    learned = []
    for blocks in precision.blocks(LARGEST_DENSE):
        scales = 1 / np.sqrt(np.einsum("nii->ni", blocks))
        strengths = np.abs(blocks) * scales[:, :, None] * scales[:, None, :] * (1 + 8 * UNIT)
        moves = _moves(np.ones_like(scales), _without_diagonal(strengths))
        if moves is None:
            return None
        behind = _BEHIND if blocks.shape[1] <= LARGEST_ENUMERATED else 1.0
        learned.append(_learned(moves * (scales[:, :, None] / scales[:, None, :]), reaches) * behind)
    if precision.group_size > LARGEST_DENSE:
        learned.append(_summed(precision, reaches))
    return _worst(np.concatenate(learned))


@lru_cache(maxsize=64)
def covariance_walks(covariance: Matrix, reaches: tuple[float, ...]) -> Factors | None:
    """Return the result of `precision_walks` for the inverse of a covariance, which has a bounded error."""
    within = inverse_within(covariance)
    if within is None:
        return None
    inverse, error, deviations = within
    moves = _moves((np.diag(inverse) - error)[None], _without_diagonal((np.abs(inverse) + error)[None]))
    if moves is None:
        return None
    return _worst(_learned(moves * (deviations[:, None] / deviations[None, :]), reaches) * _BEHIND)


def _without_diagonal(matrices: Floats) -> Floats:
    matrices[:, np.arange(matrices.shape[1]), np.arange(matrices.shape[1])] = 0.0
    return matrices


def _moves(diagonal: Floats, strengths: Floats) -> Floats | None:
    """Return upper bounds on R_ji/R_ii for each target i (a column), R = C⁻¹; None if C may not be an M-matrix.

    diagonal, strengths: the diagonal and the absolute values beside it of several comparison matrices C.

    A vector v with v_i ≥ 1 and (C·v)_k ≥ 0 for every k ≠ i is such a bound. The computed column of C⁻¹ becomes one when
    as much of the certificate's weights is added as its residual requires.
    """
    size = diagonal.shape[1]
    comparison = -strengths
    comparison[:, np.arange(size), np.arange(size)] = diagonal
    try:
        solution = np.linalg.inv(comparison)
    except np.linalg.LinAlgError:
        return None
    weights = solution.sum(axis=2)
    taken = (strengths @ weights[:, :, None])[:, :, 0]
    dominance = dominance_of(diagonal * weights, taken, weights, size)
    own = np.einsum("nii->ni", solution)
    if dominance is None or not (own > 0).all():
        return None
    hidden = 1.01 * (size + 3) * UNIT * (np.abs(comparison) @ np.abs(solution))
    short = _without_diagonal(np.maximum(hidden - comparison @ solution, 0.0))
    needed = (short / dominance.left[:, :, None]).max(axis=1) * (1 + 8 * UNIT)
    lifted = solution + weights[:, :, None] * needed[:, None, :]
    return _without_diagonal(np.maximum(lifted, 0.0) / own[:, None, :] * (1 + 16 * UNIT))


def _learned(moves: Floats, reaches: tuple[float, ...]) -> Floats:
    """Return for each target (a row) and each sum (a column) the sum of capped moves, rounded up."""
    sums = [min(reach, 1.0) + np.minimum(moves * reach, 1.0).sum(axis=1) for reach in reaches]
    learned = np.stack(sums, axis=-1).reshape(-1, len(reaches))
    return np.asarray(learned * (1 + (moves.shape[1] + 16) * UNIT))


def _worst(learned: Floats) -> Factors:
    slack = ALIKE if learned.shape[1] > 1 else 0.0
    return tuple(tuple((learned[row] + slack).tolist()) for row in undominated(learned))


@lru_cache(maxsize=64)
def _beside(precision: Precision) -> float:
    """Return an upper bound on Σ_{j≠i} R_ji/R_ii in groups that are too large for a bound on each pair.

    The sums Σ_j R_ji are one solution, R·1 ≤ weights/min(left); R_ii is at least what short walks make of it.
    """
    assert precision.dominance is not None
    large = (np.bincount(precision.components) > LARGEST_DENSE)[precision.components]
    totals = precision.dominance.weights / float(precision.dominance.left[large].min())
    return float((totals * precision.diagonal / _returns(precision))[large].max()) * (1 + 32 * UNIT) - 1


def _summed(precision: Precision, reaches: tuple[float, ...]) -> Floats:
    """Return the factors of the worst target in large groups, with a cap on all records together, not on each."""
    beside = _beside(precision)
    factors = [min(min(reach, 1.0) + reach * beside, float(precision.group_size)) for reach in reaches]
    return np.array([factors]) * (1 + 8 * UNIT)


def _returns(precision: Precision) -> Floats:
    """Return lower bounds on J_ii·R_ii: the weight of all walks from i to i."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    size, scale = precision.records, 1 / np.sqrt(precision.diagonal)
    rows, columns, values = precision.links
    scaled = values * scale[rows] * scale[columns] * (1 - 8 * UNIT)
    place = np.arange(size)
    if int((columns - rows).max()) > _WIDEST_BAND:
        above = csr_array((scaled, (rows, columns)), shape=(size, size))
        step = csr_array(above + above.T)
        place[reverse_cuthill_mckee(step, symmetric_mode=True)] = np.arange(size)
        rows, columns = place[rows], place[columns]
        if int(np.abs(columns - rows).max()) > _WIDEST_BAND:
            return _short_returns(step)
    apart = np.abs(columns - rows)
    band = np.zeros((int(apart.max()), size))
    band[apart - 1, np.minimum(rows, columns)] = scaled
    return inverse_diagonal(band)[place]


def _short_returns(step: Any) -> Floats:
    """Return lower bounds on the diagonal of (1 − step)⁻¹ = 1/(1 − F), F the weight of walks until the first return.

    Closed walks of length 2k to 2k + 2 are counted by two powers of the matrix; first returns follow from them.
    """
    from scipy.sparse import csr_array

    size = step.shape[0]
    closed = [np.ones(size), np.zeros(size), _row_products(step, step)]
    power, entries = step, np.diff(step.indptr)
    while len(closed) <= _LONGEST_RETURN and _entries_of_product(power, entries) <= _MOST_ENTRIES:
        longer = csr_array(power @ step)
        closed += [_row_products(power, longer), _row_products(longer, longer)]
        power = longer
    first = [np.zeros(size), np.zeros(size)]
    for length in range(2, len(closed)):
        again = sum((first[part] * closed[length - part] for part in range(2, length - 1)), np.zeros(size))
        first.append(closed[length] - again)
    rounding = max(_COUNTED, 64 * size * UNIT)
    returning = np.clip(np.sum(first, axis=0) - rounding, 0.0, 1 - rounding)
    return np.asarray((1 - 4 * UNIT) / (1 - returning))


def _row_products(left: Any, right: Any) -> Floats:
    """Return the diagonal of left·rightᵀ."""
    return np.asarray(left.multiply(right).sum(axis=1), dtype=np.float64).ravel()


def _entries_of_product(power: Any, entries: NDArray[np.int32]) -> int:
    """Return an upper bound on the number of entries of the next power."""
    return int(entries[power.indices].sum(dtype=np.int64))


def _lags(coefficients: tuple[float, ...]) -> tuple[Fraction, ...]:
    """Return the exact precision of a series between records 0, 1, 2, … steps apart, with noise of variance 1.

    >>> list(map(str, _lags((0.5,))))
    ['5/4', '-1/2']
    """
    exact = [Fraction(1), *(-Fraction(value) for value in coefficients)]
    scale = max(value.denominator for value in exact)  # a power of two, and so are all the others
    filtered = [int(value * scale) for value in exact]
    return tuple(
        Fraction(sum(a * b for a, b in zip(filtered, filtered[lag:], strict=False)), scale**2)
        for lag in range(len(filtered))
    )


def _left(lags: tuple[Fraction, ...], ratio: Fraction) -> Fraction:
    """Return c(q) = J_0 − Σ_l |J_l|·(q^l + q^−l) exactly: (C·w)_k ≥ c(q)·w_k for the weights w_k = q^|k|.

    It uses whole numbers: adding hundreds of fractions with different denominators would take minutes.

    >>> _left((Fraction(5, 4), Fraction(-1, 2)), Fraction(1))
    Fraction(1, 4)
    """
    scale = math.lcm(*(value.denominator for value in lags))
    inwards, outwards = (_polynomial([int(abs(value) * scale) for value in lags], base) for base in (ratio, 1 / ratio))
    return 3 * lags[0] - (inwards + outwards) / scale


def _polynomial(coefficients: Sequence[int], at: Fraction) -> Fraction:
    """Return Σ coefficients[l]·at^l exactly."""
    total, power = 0, 1
    for coefficient in reversed(coefficients):
        total = total * at.numerator + coefficient * power
        power *= at.denominator
    return Fraction(total * at.denominator, power)


@lru_cache(maxsize=256)
def series_refused(coefficients: tuple[float, ...]) -> str | None:
    """Return why no theorem covers a series with these coefficients, or None."""
    lags = _lags(coefficients)
    if _left(lags, Fraction(1)) <= 0:
        beside = float(2 * sum(map(abs, lags[1:])))
        return (
            "the series is not walk-summable: the direct dependences of a record on others add up to "
            f"{beside:.6g} in absolute value, not below the diagonal {float(lags[0]):.6g} of the precision; effects of "
            "different signs cancel in the series, but not in the bound"
        )
    if _side(coefficients) is None:
        return "dependence decays too slowly: the series is too close to a random walk to follow its sides to their end"
    return None


@lru_cache(maxsize=256)
def _side(coefficients: tuple[float, ...]) -> tuple[Fraction, Fraction, int] | None:
    """Return a ratio q, c(q) > 0 and the number of records of a side to follow; None if that is too large.

    Walks to distance k weigh about z^k, z the ratio with c(z) = 0; q is its square root.
    """
    lags = _rounded(_lags(coefficients))
    if _left(lags, Fraction(1)) <= 0:
        return None
    strengths = np.array([float(value) for value in lags[1:]])
    exponents = np.arange(1, len(lags))
    less, more = _FASTEST, 1.0
    for _ in range(60):  # in floats; the result is checked exactly below
        middle = (less + more) / 2
        with np.errstate(over="ignore", invalid="ignore"):
            beside = float(strengths @ (middle**exponents + middle ** -exponents.astype(np.float64)))
        less, more = (less, middle) if float(lags[0]) > beside else (middle, more)
    ratio = math.sqrt(more)
    depth = math.ceil(_FORGOTTEN / -math.log(ratio)) + len(coefficients) if ratio < 1 else _LONGEST_SIDE
    left = _left(lags, Fraction(ratio))
    too_long = depth >= _LONGEST_SIDE or depth * len(coefficients) >= _LARGEST_SIDE
    return None if left <= 0 or too_long else (Fraction(ratio), left, depth)


def _rounded(lags: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """Round the exact precision to floats, towards stronger dependences and a smaller diagonal."""
    return Fraction(float_below(lags[0])), *(Fraction(float_above(abs(value))) for value in lags[1:])


@lru_cache(maxsize=256)
def series_walks(coefficients: tuple[float, ...], length: int | None, reaches: tuple[float, ...]) -> Factors:
    """Return the factors of the targets of a series that may be the worst, rounded up.

    length: the largest number of records; None means any number. Call it only where `refusal` returns None.

    >>> [[round(factor, 9) for factor in factors] for factors in series_walks((0.5,), None, (1.0,))]
    [[3.0]]
    """
    side = _side(coefficients)
    assert side is not None
    ratio, left, depth = side
    walks = _one_side(coefficients, float(ratio), left, depth)
    beyond = float(ratio) ** depth * walks[0] / (1 - float(ratio)) * (1 + 1e-9)
    sums = []
    for reach in reaches:
        inside = np.concatenate([[0.0], np.cumsum(np.minimum(walks[1:] * reach, 1.0))])
        sums.append(np.append(inside, inside[-1] + beyond * reach) * (1 + (depth + 16) * UNIT))
    reached = np.stack(sums, axis=1)
    own = np.minimum(np.array(reaches), 1.0)
    others = 2 * depth + 2 if length is None else length - 1
    before = np.arange(min(others // 2, depth + 1) + 1)
    both = reached[before] + reached[np.minimum(others - before, depth + 1)]
    return _worst((own + both) * (1 + 8 * UNIT))


def _one_side(coefficients: tuple[float, ...], ratio: float, left: Fraction, depth: int) -> Floats:
    """Return upper bounds on R_k0/R_00 for k = 1, …, depth, after the multiple of q^k that was added for certainty.

    A bound is the computed solution plus that multiple of q^k, which alone is the bound beyond `depth`.
    """
    from scipy.linalg import solveh_banded

    lags = [float(value) for value in _rounded(_lags(coefficients))]
    order, size = len(coefficients), 2 * depth + 1
    band = np.zeros((order + 1, size))
    band[0] = lags[0]
    for lag in range(1, order + 1):
        band[lag, : size - lag] = -lags[lag]
    target = np.zeros(size)
    target[depth] = 1.0
    solution = np.maximum(solveh_banded(band, target, lower=True), 0.0)
    values = solution[depth:] / solution[depth]
    # around the target and two orders beyond the end, where the solution is taken as 0
    line = np.concatenate([values[order:0:-1], values, np.zeros(2 * order)])
    here = np.arange(order + 1, order + depth + order + 1)
    given = lags[0] * line[here]
    taken = sum((lags[lag] * (line[here - lag] + line[here + lag]) for lag in range(1, order + 1)), np.zeros(len(here)))
    short = np.maximum(taken - given + 1.01 * (2 * order + 4) * UNIT * (taken + given), 0.0)
    powers = np.exp(math.log(ratio) * np.arange(1, len(here) + 1)) * (1 - 1e-9)
    added = float((short / powers).max()) / float_below(left) * (1 + 1e-9)
    bounds = values[1:] + added * powers[:depth] * (1 + 4e-9)
    return np.concatenate([[added], bounds * (1 + 4 * UNIT)])
