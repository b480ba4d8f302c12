"""Normal groups with a known covariance: every adversary enumerated. Proof: docs/theory/gaussian-covariance.md."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from bayesdp._support.arrays import Booleans, Floats
from bayesdp._support.validation import Matrix
from bayesdp.errors import DoesNotApplyError
from bayesdp.models import GaussianGroups, Model
from bayesdp.queries import Query
from bayesdp.rounding import float_above
from bayesdp.theorems.adversary import Adversary, WorstInGroup
from bayesdp.theorems.gaussian.metric import MetricTheorem, Normal, on_grid, reach_of, too_large
from bayesdp.theorems.gaussian.tight import refuse_all_jumps
from bayesdp.theorems.spend import Spend, queries_of

__all__ = [
    "ALIKE",
    "LARGEST_ENUMERATED",
    "GaussianCovariance",
    "WorstAdversary",
    "covariance_factor",
    "factor_for",
    "find_signs",
    "inverse_within",
    "undominated",
    "worst_adversaries",
]

LARGEST_ENUMERATED = 20
_ALWAYS_ENUMERATED = 10
_LARGEST_MARGIN = 1e-4
_RELIABLE = 1e-8
_UNIT = 2.0**-53
_BATCH = 11
ALIKE = 1e-12
"""Adversaries whose factors differ by less count as equal; the same amount is added to the factors in return."""


@dataclass(frozen=True)
class WorstAdversary:
    """An adversary of a group: the factors on the τ's of sums, its target, and its known records."""

    factors: tuple[float, ...]
    target: int
    known: tuple[int, ...]

    @property
    def factor(self) -> float:
        """The factor of the only sum."""
        (factor,) = self.factors
        return factor


class GaussianCovariance(MetricTheorem):
    """The Gaussian lemma's maximum over all adversaries of each group, for any variances and correlations."""

    name: ClassVar[str] = "gaussian-covariance"
    proof: ClassVar[str] = "docs/theory/gaussian-covariance.md"

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        return _refused(model, queries, _unreliable)

    def refusal_for(self, model: Model, queries: tuple[Query, ...], adversary: Adversary) -> str | None:
        """As for all adversaries, but for groups of any size, since nothing is enumerated."""
        if isinstance(model, GaussianGroups) and model.precision is not None:
            return "the records of an adversary are positions in a group; give its covariance instead of a precision"
        return _refused(model, queries, _ill_conditioned)

    def bound_for(self, model: Model, spend: Spend, adversary: Adversary) -> float:
        """Return what one adversary learns in the worst kind of group that contains all its records."""
        assert isinstance(model, GaussianGroups)
        queries, last = queries_of(spend), max(adversary.target, *adversary.known, 0)
        worst = Fraction(0)
        for kind in (kind for kind in model.kinds if last < len(kind)):
            unknown, leaks = len(kind) - len(adversary.known), Fraction(0)
            for release in spend:
                reach = reach_of(release.query, model, queries)
                moved = unknown if reach is None else factor_for(kind, float_above(reach), adversary)
                leaks += on_grid(Fraction(moved), unknown, release.query) * Fraction(release.tau)
            worst = max(worst, leaks)
        return float_above(worst)

    def factors(self, model: Normal, reaches: tuple[Fraction, ...]) -> Sequence[tuple[Fraction, ...]]:
        assert isinstance(model, GaussianGroups)
        learned = (worst.factors for kind in model.kinds for worst in worst_adversaries(kind, _floats(reaches)))
        return [tuple(map(Fraction, factors)) for factors in learned]

    def worst_case(self, model: Model, spend: Spend) -> str | None:
        worst = self.worst_adversary(model, spend)
        return None if worst is None else worst.described()

    def worst_adversary(self, model: Model, spend: Spend) -> WorstInGroup | None:
        assert isinstance(model, GaussianGroups)
        queries = queries_of(spend)
        taus: dict[Fraction, Fraction] = {}
        for release in spend:
            reach = reach_of(release.query, model, queries)
            if reach is not None:
                taus[reach] = taus.get(reach, Fraction(0)) + Fraction(release.tau)
        weights = list(map(float_above, taus.values()))
        kind, worst = max(
            (
                (place, worst)
                for place, kind in enumerate(model.kinds)
                for worst in worst_adversaries(kind, _floats(tuple(taus)))
            ),
            key=lambda one: math.fsum(weight * factor for weight, factor in zip(weights, one[1].factors, strict=True)),
        )
        return WorstInGroup(kind, worst.target, worst.known)


def _floats(reaches: tuple[Fraction, ...]) -> tuple[float, ...]:
    return tuple(map(float_above, reaches))


def _refused(model: Model, queries: tuple[Query, ...], objection: Callable[[Matrix], str | None]) -> str | None:
    """Return the reason why a covariance theorem does not apply, or None; `objection` checks one covariance."""
    if not isinstance(model, GaussianGroups):
        return "it is about normal groups"
    if model.precision is not None and not model.kinds:
        return too_large(model)
    if not model.kinds:
        return "it needs the covariance itself, and the model has only a bound on the correlations"
    for index, kind in enumerate(model.kinds):
        reason = objection(kind)
        if reason is not None:
            return reason if len(model.kinds) == 1 else f"kind {index} of group: {reason}"
    return refuse_all_jumps(queries)


def covariance_factor(covariance: Matrix, reach: float = 1.0) -> WorstAdversary:
    """Return the largest Σ_j min(|β_j|·reach, 1) over all adversaries of one group, rounded up, and the adversary.

    >>> covariance_factor(((1.0, 0.4), (0.4, 1.0))).known
    ()
    """
    (worst,) = worst_adversaries(covariance, (reach,))
    return worst


@lru_cache(maxsize=256)
def worst_adversaries(covariance: Matrix, reaches: tuple[float, ...]) -> tuple[WorstAdversary, ...]:
    """Return the adversaries of one group who may be the worst of several sums, with their factors rounded up.

    covariance: symmetric and positive definite, as tuples. reaches: D/M of each sum, the distance of target values in
    widths. The factors of every other adversary are at most those of one that is returned; for one sum that is the
    worst. Call it only where `GaussianCovariance.refusal` returns None.
    """
    group, size = _Group.of(covariance), len(covariance)
    signs = find_signs(covariance) if size > _ALWAYS_ENUMERATED else None
    if signs is None and size > LARGEST_ENUMERATED:
        raise DoesNotApplyError(GaussianCovariance.name, f"groups of {size} are too large to enumerate")
    worst = _enumerated(group, reaches) if signs is None else _nothing_known(group, reaches)
    margins = [
        (group.margin if signs is None else signs.margin) * max(reach, 1.0)
        + (0.0 if signs is None else group.summing)
        + (2 * ALIKE if len(reaches) > 1 else 0.0)  # left out for one who is left out for another in the end
        for reach in reaches
    ]
    return tuple(
        replace(one, factors=tuple(f + margin for f, margin in zip(one.factors, margins, strict=True))) for one in worst
    )


@lru_cache(maxsize=256)
def factor_for(covariance: Matrix, reach: float, adversary: Adversary) -> float:
    """Return Σ_j min(|β_j|·reach, 1) of one adversary of one group, rounded up; never above `covariance_factor`.

    Known records are eliminated in ascending order, with the same operations as for all adversaries.

    >>> pair = ((1.0, 0.4), (0.4, 1.0))
    >>> round(factor_for(pair, 1.0, Adversary(0)), 9), round(factor_for(pair, 1.0, Adversary(0, (1,))), 9)
    (1.4, 1.0)
    """
    group, size = _Group.of(covariance), len(covariance)
    others = [record for record in range(size) if record not in adversary.known]
    order = [*adversary.known, *others]
    left = group.correlations[np.ix_(order, order)]
    for _ in adversary.known:
        left = left[1:, 1:] - left[1:, :1] * (left[1:, 0] / left[0, 0])[None, :]
    row, place = np.zeros((1, size, size)), others.index(adversary.target)
    row[0, adversary.target, others] = left[place]
    ratios = np.divide.outer(1 / group.deviations, 1 / group.deviations) * reach
    factor = float(_factors(row, ratios)[0, adversary.target]) + group.margin * max(reach, 1.0)
    if size <= _ALWAYS_ENUMERATED or find_signs(covariance) is not None:
        return min(factor, covariance_factor(covariance, reach).factor)
    return factor


@dataclass(frozen=True)
class _Group:
    """A covariance scaled to correlations, its standard deviations, and how far rounding can move a factor."""

    correlations: Floats
    deviations: Floats
    smallest: float
    largest: float

    @staticmethod
    @lru_cache(maxsize=8)
    def of(covariance: Matrix) -> _Group:
        matrix = np.array(covariance)
        deviations = np.sqrt(np.diag(matrix))
        correlations = matrix / deviations[:, None] / deviations[None, :]
        correlations = (correlations + correlations.T) / 2
        np.fill_diagonal(correlations, 1.0)
        if len(matrix) > LARGEST_ENUMERATED:
            return _Group(correlations, deviations, _smallest_eigenvalue(correlations), _norm_above(correlations))
        eigenvalues = np.linalg.eigvalsh(correlations)
        slack = 16 * len(matrix) ** 2 * _UNIT
        return _Group(correlations, deviations, float(eigenvalues[0]) - slack, float(eigenvalues[-1]) + slack)

    def moved(self, perturbation: float) -> float:
        """Return how far a factor moves when the correlation matrix changes by at most this in the 2-norm."""
        size = len(self.deviations)
        spread = float(self.deviations.max() / self.deviations.min())
        if self.smallest <= 10 * perturbation:
            return math.inf
        return 2 * math.sqrt(size * self.largest / self.smallest) * perturbation / self.smallest * spread

    @property
    def margin(self) -> float:
        """A bound on the rounding errors of scaling, elimination (which is backward stable) and summation."""
        size = len(self.deviations)
        return self.moved(size * (size + 8) * _UNIT) + self.summing

    @property
    def summing(self) -> float:
        """A bound on the rounding error of a sum of moves, none above 1."""
        size = len(self.deviations)
        return (size + 8) * size * _UNIT


def _ill_conditioned(covariance: Matrix) -> str | None:
    """Return why no reliable factor can be computed of any adversary, or None."""
    group = _Group.of(covariance)
    if group.margin > _LARGEST_MARGIN:
        return (
            "the covariance is too ill-conditioned for a reliable factor (its smallest correlation eigenvalue is "
            f"{group.smallest:.3g}); arbitrary groups of size {len(covariance)} still apply"
        )
    return None


@lru_cache(maxsize=256)
def _unreliable(covariance: Matrix) -> str | None:
    """Return why no reliable factor can be computed of the worst adversary, or None."""
    size, reason = len(covariance), _ill_conditioned(covariance)
    if reason is not None:
        return reason
    if size > LARGEST_ENUMERATED and find_signs(covariance) is None:
        return (
            f"groups of {size} are too large to enumerate (at most {LARGEST_ENUMERATED}), and it is not certain that "
            "all partial correlations share a sign after flipping records; gaussian-tight and general may still apply"
        )
    return None


def _nothing_known(group: _Group, reaches: tuple[float, ...]) -> list[WorstAdversary]:
    """Return the worst adversaries among those that know no other record."""
    slopes = np.abs(group.correlations) * np.divide.outer(1 / group.deviations, 1 / group.deviations)
    learned = np.stack([np.minimum(slopes * reach, 1.0).sum(axis=1) for reach in reaches], axis=1)
    return [WorstAdversary(tuple(learned[target].tolist()), int(target), ()) for target in undominated(learned)]


def _enumerated(group: _Group, reaches: tuple[float, ...]) -> list[WorstAdversary]:
    """Return the worst of all adversaries, eliminating known records one by one.

    Eliminating record k from the conditional covariance S leaves S − s_k s_kᵀ/s_kk; β_j = S_ji/S_ii. The first records
    are chosen one at a time; all subsets of the last ones are processed in one batch.
    """
    size = len(group.deviations)
    tail = min(size, _BATCH)
    order = np.arange(size)
    ratios = np.divide.outer(1 / group.deviations, 1 / group.deviations)
    worst: list[WorstAdversary] = []
    stack: list[tuple[int, tuple[int, ...], Floats]] = [(0, (), group.correlations)]
    while stack:
        depth, known, matrix = stack.pop()
        if depth < size - tail:
            stack.append((depth + 1, known, matrix))
            if matrix[depth, depth] > 0:
                stack.append((depth + 1, (*known, depth), _eliminate(matrix[None], depth)[0]))
            continue
        batch = matrix[None]
        for record in range(size - tail, size):
            batch = np.concatenate([batch, _eliminate(batch, record)])
        learned = np.stack([_factors(batch, ratios * reach).ravel() for reach in reaches], axis=1)
        for place in undominated(learned, np.array([one.factors for one in worst])):
            subset, target = divmod(int(place), size)
            added = tuple(int(record) for record in order[size - tail :] if subset >> (record - size + tail) & 1)
            worst.append(WorstAdversary(tuple(learned[place].tolist()), target, (*known, *added)))
    kept = undominated(np.array([one.factors for one in worst]))
    return [worst[place] for place in kept]


def undominated(learned: Floats, others: Floats | None = None) -> list[int]:
    """Return the rows that no other row dominates, nor a row of `others`.

    With one column that is the largest entry. A row that exceeds another nowhere by more than 1e-12 is dominated by it.

    >>> undominated(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.5]]))
    [0, 1]
    """
    left = np.arange(len(learned))
    slack = 0.0 if learned.shape[1] == 1 else ALIKE
    for row in () if others is None or not others.size else others:
        left = left[(learned[left] > row + slack).any(axis=1)]
    kept = []
    while left.size:
        best = left[int(np.argmax(learned[left].sum(axis=1)))]
        kept.append(int(best))
        left = left[(learned[left] > learned[best] + slack).any(axis=1)]
    return kept


def _eliminate(batch: Floats, record: int) -> Floats:
    """Return the conditional covariances once `record` is known; its row and column become zero."""
    column = batch[:, :, record]
    reduced: Floats = batch - column[:, :, None] * (column / column[:, record, None])[:, None, :]
    reduced[:, record, :] = 0.0
    reduced[:, :, record] = 0.0
    return reduced


def _factors(batch: Floats, ratios: Floats) -> Floats:
    """Return for every conditional covariance and target the sum of capped moves; 0 for targets that are known."""
    variances = np.einsum("nii->ni", batch)
    with np.errstate(divide="ignore", invalid="ignore"):
        moves = np.abs(batch) * (1 / variances)[:, :, None]
    moves *= ratios
    np.minimum(moves, 1.0, out=moves)
    sums: Floats = moves.sum(axis=2)
    return np.where(variances > 0, sums, 0.0)


@dataclass(frozen=True)
class Signs:
    """Signs that make all partial correlations non-negative, and a bound on the effect of setting tiny ones to zero."""

    values: tuple[int, ...]
    margin: float


@lru_cache(maxsize=64)
def find_signs(covariance: Matrix) -> Signs | None:
    """Return signs after which no partial correlation is negative (sign-MTP2), or None if there are none.

    The error of the inverse is at most half of 1e-8 of its diagonal, so the sign of a larger entry is certain. Smaller
    entries are set to zero; the margin bounds the effect.
    """
    group = _Group.of(covariance)
    size = len(covariance)
    inverse = _inverse(group.correlations)
    scale = np.sqrt(np.outer(np.diag(inverse), np.diag(inverse)))
    linked = (np.abs(inverse) > _RELIABLE * scale) & ~np.eye(size, dtype=bool)
    signs = _two_coloured(linked, inverse)
    if signs is None:
        return None
    exact = np.where(linked, inverse, 0.0)
    np.fill_diagonal(exact, np.diag(inverse))
    norm = _residual_norm(exact, group.correlations)
    if norm > _RELIABLE * group.smallest / 2:
        return None
    nothing_zeroed = int(linked.sum()) == size * (size - 1)
    margin = 0.0 if nothing_zeroed else group.moved(1.02 * group.largest * norm)
    return Signs(tuple(signs), margin) if margin <= _LARGEST_MARGIN else None


def _inverse(matrix: Floats) -> Floats:
    """Return the computed inverse of a symmetric matrix, itself symmetric."""
    inverse = np.linalg.inv(matrix)
    return np.asarray((inverse + inverse.T) / 2)


def inverse_within(covariance: Matrix) -> tuple[Floats, float, Floats] | None:
    """Return the computed inverse of the correlations, by how much an entry may be off, and the standard deviations.

    None if rounding errors are too large. With X the computed inverse and R = X·(true correlations) − 1, the true
    inverse is (1 + R)⁻¹X; scaling a covariance to correlations errs by at most 5·2⁻⁵³ in each entry.
    """
    group = _Group.of(covariance)
    try:
        inverse = _inverse(group.correlations)
    except np.linalg.LinAlgError:
        return None
    norm = _norm_above(inverse)
    off = _residual_norm(inverse, group.correlations) + 5 * len(covariance) * _UNIT * norm
    return None if not off < 0.5 else (inverse, off / (1 - off) * norm * (1 + 8 * _UNIT), group.deviations)


def _smallest_eigenvalue(matrix: Floats) -> float:
    """Return a lower bound on the smallest eigenvalue of a correlation matrix, 0 if none can be certified.

    With X the computed inverse and R = X·matrix − 1, the true inverse is (1 + R)⁻¹X. An eigenvalue decomposition would
    be sharper, but is many times slower on a busy machine.
    """
    inverse = _inverse(matrix)
    off = _residual_norm(inverse, matrix)
    return max(0.0, (1 - off) / _norm_above(inverse)) * (1 - 4 * _UNIT) if off < 1 else 0.0


def _norm_above(matrix: Floats) -> float:
    """Return an upper bound on the 2-norm of a symmetric matrix: by row sums of its square, or its own if smaller."""
    size = len(matrix)
    rows = float(np.abs(matrix).sum(axis=1).max())
    square = float(np.abs(matrix @ matrix).sum(axis=1).max()) + (size + 8) * _UNIT * rows**2
    return min(rows, math.sqrt(square)) * (1 + 4 * (size + 8) * _UNIT)


def _residual_norm(inverse: Floats, matrix: Floats) -> float:
    """Return a bound on the 2-norm of inverse·matrix − 1, including the rounding error of that product.

    The 2-norm is at most the root of the largest column sum times the largest row sum. The rounding of the product is
    at most (m + 8)·2⁻⁵³·|inverse|·|matrix| entrywise, of which only row and column sums are needed.
    """
    size = len(matrix)
    residual = np.abs(inverse @ matrix - np.eye(size))
    left, right = np.abs(inverse), np.abs(matrix)
    hidden = (size + 8) * _UNIT
    columns = residual.sum(axis=0) + hidden * (left.sum(axis=0) @ right)
    rows = residual.sum(axis=1) + hidden * (left @ right.sum(axis=1))
    return math.sqrt(float(columns.max()) * float(rows.max()))


def _two_coloured(linked: Booleans, inverse: Floats) -> list[int] | None:
    """Return signs s with s_i·s_j·inverse_ij < 0 on every link, or None if that is impossible."""
    signs = np.zeros(len(linked), dtype=np.int64)
    for root in range(len(linked)):
        if signs[root]:
            continue
        signs[root] = 1
        waiting = deque([root])
        while waiting:
            here = waiting.popleft()
            there = np.flatnonzero(linked[here])
            needed = np.where(inverse[here, there] < 0, signs[here], -signs[here])
            if np.any((signs[there] != 0) & (signs[there] != needed)):
                return None
            waiting.extend(int(new) for new in there[signs[there] == 0])
            signs[there] = needed
    return [int(sign) for sign in signs]
