"""The pairwise series fitted to counts of patterns, by pseudo-likelihood, with the sandwich of its scores.

ln of the odds of a record's values, given all others, are a term for its stratum and a term for each record up to
`reach` places before and after it: Σ_ℓ J_ℓ(x_{t−ℓ}, x_t) + J_ℓ(x_t, x_{t+ℓ}). See docs/fitting.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np

from bayesdp._support.arrays import Floats, Integers
from bayesdp._support.validation import Scalar
from bayesdp.errors import ModelError
from bayesdp.models.effects_by_stratum import EffectsByStratum
from bayesdp.models.pair_effects import PairEffects
from bayesdp.models.strata import SPARSE, Stratum, merged

__all__ = [
    "MOST_REACH",
    "SIMULATED",
    "Counted",
    "CountedByKind",
    "Regression",
    "best_reach",
    "effects_by_stratum",
    "fitted_effects",
    "merged_strata",
    "regression",
    "third_order",
]

MOST_REACH = 8
"""The longest reach that is tried."""

_SEED = 19
SIMULATED = 2**18
"""The number of records simulated for the variance of scores."""

_LENGTH = 256
"""The number of records of each series simulated."""

_PRECISE = 1e-8

_CONVERGED = 1e-12
"""The transfer matrix is applied until its vectors change by less than this."""

_STEPS = 60
"""The most steps of Newton's method."""

_UNBOUNDED = 15.0
"""An effect as large as this means that the counts leave it without limit."""

_AT_ONCE = 2**15


@dataclass(frozen=True)
class Regression:
    """The fitted series.

    effects:    J_ℓ(a, b) for ℓ = 1, 2, … and a, b = 1, 2, …: zero where a or b is the first value.
    covariance: that of the effects, by the sandwich.
    fields:     the term of each stratum and value but the first.
    likelihood: ln of the pseudo-likelihood; parameters: how many parameters that is worth, tr(H⁻¹J).
    """

    effects: Floats
    covariance: Floats
    fields: Floats
    likelihood: float
    parameters: float
    records: int

    @property
    def criterion(self) -> float:
        """The Bayesian information criterion of a composite likelihood; the smaller, the better."""
        return self.parameters * math.log(self.records) - 2 * self.likelihood


class Counted(Protocol):
    """Counts of patterns, as `frames.patterns.Patterns`; a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def states(self) -> Sequence[Scalar]:
        """The values of a record."""

    @property
    def reach(self) -> int:
        """How many records there are on either side."""

    @property
    def strata(self) -> Sequence[tuple[Scalar, ...]]:
        """The values of the strata."""

    @property
    def stratum(self) -> Integers:
        """The stratum of each pattern."""

    @property
    def code(self) -> Integers:
        """The records of each pattern, as digits of a number."""

    @property
    def count(self) -> Integers:
        """How often each pattern occurred."""

    @property
    def left_out(self) -> int:
        """How many records are in no pattern."""


class CountedByKind(Counted, Protocol):
    """The same, with the strata by which effects differ."""

    @property
    def kinds(self) -> Sequence[tuple[Scalar, ...]]:
        """The values of the columns by which effects differ."""

    @property
    def kind(self) -> Integers:
        """The kind of the middle record of each pattern, and of those before it."""


def best_reach(seen: Counted) -> int:
    """Return the reach with the best criterion, all of them on the same records."""
    place, _ = merged_strata(seen)
    criteria: list[float] = []
    for used in range(1, seen.reach + 1):
        try:
            criteria.append(regression(seen, place, used).criterion)
        except ModelError:
            break
    return int(np.argmin(criteria)) + 1 if criteria else 1


def fitted_effects(seen: Counted, within: Sequence[str], *, simulated: int = SIMULATED) -> PairEffects:
    """Fit the series of the reach that was counted; sparse strata are merged.

    simulated: the number of records simulated for the variance of scores.

    Raises ModelError for too few records, and if the counts leave an effect without limit.
    """
    place, together = merged_strata(seen)
    found = regression(seen, place, seen.reach, simulated=simulated)
    return PairEffects(
        found.effects.reshape(seen.reach, -1).tolist(),
        found.covariance.tolist(),
        found.records,
        seen.left_out,
        tuple(within),
        together,
    )


def effects_by_stratum(
    seen: CountedByKind, within: Sequence[str], apart: int, *, simulated: int = SIMULATED
) -> EffectsByStratum:
    """Fit the series whose effects of records up to `apart` places away differ by kind, the others being the same.

    A pair of records is of the kind of the earlier one. Kinds in which some pair of values is rare are merged.

    Raises ModelError for too few records, if no two kinds remain, and if the counts leave an effect without limit.
    """
    place, _ = merged_strata(seen)
    kinds = _merged_kinds(seen, apart)
    if len(kinds) < 2:
        raise ModelError(
            f"records of some two values up to {apart} apart occur fewer than {SPARSE} times by "
            f"{' and '.join(within)}, too rarely to fit effects that differ"
        )
    of_kind = {values: index for index, stratum in enumerate(kinds) for values in stratum.values}
    kind = np.array([of_kind[values] for values in seen.kinds])[seen.kind]
    states, reach, strata = len(seen.states), seen.reach, int(place.max()) + 1
    width, near = states - 1, apart * (states - 1) ** 2
    features = partial(_by_kind, states=states, used=reach, apart=apart, kinds=len(kinds))
    plain = replace(_rows(seen, place, reach, fold=False, kind=kind), features=features)
    size = len(kinds) * near + (reach - apart) * width**2
    parameters, _, information = _maximum(plain, strata, width, size)
    fields, effects = parameters[: strata * width].reshape(strata, width), parameters[strata * width :]
    if np.abs(effects).max() > _UNBOUNDED:
        raise ModelError(
            f"the counts leave the odds ratio by {' and '.join(within)} without limit; take a shorter reach, or strata "
            "with more records"
        )
    situations, records = np.unique(
        np.stack([plain.stratum, plain.kind[:, 0]], axis=1).repeat(plain.count.astype(np.int64), axis=0),
        axis=0,
        return_counts=True,
    )
    by_kind, common = effects[: len(kinds) * near].reshape(len(kinds), near), effects[len(kinds) * near :]
    every = np.concatenate([by_kind, np.tile(common, (len(kinds), 1))], axis=1)
    shape = (reach, width, width)
    variances = _variances_of_scores(
        fields[situations[:, 0]],
        every[situations[:, 1]].reshape(-1, *shape),
        reach,
        partial(_features, states=states, used=reach),
        simulated,
    )
    total = np.zeros_like(information)
    begin = strata * width
    for (stratum, number), count, variance in zip(situations.tolist(), records.tolist(), variances, strict=True):
        index = np.r_[
            stratum * width : (stratum + 1) * width,
            begin + number * near : begin + (number + 1) * near,
            begin + len(kinds) * near : len(total),
        ]
        total[np.ix_(index, index)] += count * variance
    inverse = np.linalg.inv(information)
    covariance = (inverse @ total @ inverse)[begin:, begin:]
    return EffectsByStratum(
        tuple(within),
        apart,
        [stratum.values for stratum in kinds],
        by_kind.tolist(),
        common.reshape(-1, width**2).tolist(),
        covariance.tolist(),
    )


def _merged_kinds(seen: CountedByKind, apart: int) -> tuple[Stratum, ...]:
    """Return the kinds with the number of pairs of each two values, at every distance; rare ones are merged."""
    states, reach = len(seen.states), seen.reach
    own = seen.code // states**reach % states
    counts = np.zeros((len(seen.kinds), apart, states, states), dtype=np.int64)
    for back in range(1, apart + 1):
        before = seen.code // states ** (reach + back) % states
        np.add.at(counts[:, back - 1], (seen.kind[:, back], before, own), seen.count)
    kept = [Stratum((values,), tuple(table.ravel().tolist())) for values, table in zip(seen.kinds, counts, strict=True)]
    return merged(kept)


def merged_strata(seen: Counted) -> tuple[Integers, tuple[tuple[Scalar, ...], ...]]:
    """Return the place of each stratum once sparse ones are merged, and the values of those that were.

    Raises ModelError if some value is rare in all strata together.
    """
    states = len(seen.states)
    own = seen.code // states**seen.reach % states
    totals = np.zeros((len(seen.strata), states), dtype=np.int64)
    np.add.at(totals, (seen.stratum, own), seen.count)
    if states < 2 or totals.sum(axis=0).min() < SPARSE:
        raise ModelError(
            f"some value occurs fewer than {SPARSE} times with all neighbours, too rarely to fit how records depend on "
            "one another; join states, or take a shorter reach"
        )
    kept = [Stratum((values,), tuple(counts)) for values, counts in zip(seen.strata, totals.tolist(), strict=True)]
    joined = merged(kept)
    place = {values: index for index, stratum in enumerate(joined) for values in stratum.values}
    together = joined[-1].values if len(joined) < len(kept) else ()
    return np.array([place[values] for values in seen.strata]), together


@dataclass(frozen=True)
class _Rows:
    """Patterns: for each the place of its stratum, its records' values and how often it occurred, strata in order.

    features: what each effect adds to ln of the weight of each value but the first, from the values and `kind`, the
              places of the kinds of the record and of those before it, if effects differ.
    """

    stratum: Integers
    values: Integers
    count: Floats
    features: Callable[[Integers, Integers], Floats]
    kind: Integers

    def plain(self, values: Integers) -> Floats:
        """Return the features of values of one kind."""
        return self.features(values, np.zeros((len(values), 0), dtype=np.int64))

    @property
    def centre(self) -> Integers:
        return self.values[:, self.values.shape[1] // 2]


def regression(seen: Counted, place: Integers, used: int, *, simulated: int = SIMULATED) -> Regression:
    """Fit the series of reach `used` to patterns of at least that reach, of which the inner records are used.

    place:     the place of each stratum, from 0; none is empty.
    simulated: the number of records simulated for the variance of scores.

    Raises ModelError if the counts leave an effect without limit.
    """
    states = len(seen.states)
    rows = _rows(seen, place, used, fold=states == 2)
    strata, width = int(place.max()) + 1, states - 1
    parameters, value, information = _maximum(rows, strata, width, used * width**2)
    if np.abs(parameters[strata * width :]).max() > _UNBOUNDED:
        raise ModelError(
            f"the counts leave the odds ratio of records up to {used} apart without limit; take a shorter reach, fewer "
            "strata, or more data"
        )
    fields = parameters[: strata * width].reshape(strata, width)
    effects = parameters[strata * width :].reshape(used, width, width)
    shares: Floats = np.bincount(rows.stratum, weights=rows.count, minlength=strata).astype(np.float64)
    sandwich = _variance_of_scores(fields, effects, shares, used, rows.plain, simulated)
    inverse = np.linalg.inv(information)
    covariance = inverse @ sandwich @ inverse
    inner = slice(strata * width, None)
    return Regression(
        effects, covariance[inner, inner], fields, value, float(np.trace(inverse @ sandwich)), int(shares.sum())
    )


def third_order(seen: Counted, place: Integers, used: int) -> tuple[Floats, float]:
    """Return the effects of pairs up to `used` apart and, last, of three records in a row, with the last one's error.

    The third effect is that of three that all have the second of two values. The patterns must have a reach of at least
    two.
    """
    reach = max(used, 2)
    pairs = regression(seen, place, used)
    rows = replace(_rows(seen, place, reach, fold=False), features=partial(_with_third, used=used))
    strata = int(place.max()) + 1
    parameters, _, information = _maximum(rows, strata, 1, used + 1)
    shares: Floats = np.bincount(rows.stratum, weights=rows.count, minlength=strata).astype(np.float64)
    sandwich = _variance_of_scores(pairs.fields, pairs.effects, shares, reach, rows.plain, SIMULATED)
    inverse = np.linalg.inv(information)
    return parameters[strata:], math.sqrt(float((inverse @ sandwich @ inverse)[-1, -1]))


def _maximum(rows: _Rows, strata: int, width: int, effects: int) -> tuple[Floats, float, Floats]:
    """Return the parameters of the largest pseudo-likelihood, its logarithm and minus its second derivatives there."""
    parameters = np.zeros(strata * width + effects)
    value, gradient, information = _likelihood(rows, strata, width, parameters)
    for _ in range(_STEPS):
        step = np.linalg.solve(information, gradient)
        while True:
            found, gradient_there, information_there = _likelihood(rows, strata, width, parameters + step)
            if found >= value - 1e-9 * abs(value) or np.abs(step).max() < _PRECISE:
                break
            step = step / 2
        parameters, value, gradient, information = parameters + step, found, gradient_there, information_there
        if np.abs(step).max() < _PRECISE or np.abs(parameters[strata * width :]).max() > _UNBOUNDED:
            break
    return parameters, value, information


def _rows(seen: Counted, place: Integers, used: int, *, fold: bool, kind: Integers | None = None) -> _Rows:
    """Return the different inner patterns; with kinds, those that were counted.

    fold: put the values of records ℓ apart in order; for the effects of two values only their number matters.
    """
    states, length = len(seen.states), 2 * used + 1
    powers = states ** np.arange(2 * used, -1, -1)
    inner = seen.code // states ** (seen.reach - used) % states**length
    if fold:
        digits = inner[:, None] // powers % states
        before, after = digits[:, :used], digits[:, :used:-1]
        ends = np.minimum(before, after), digits[:, [used]], np.maximum(before, after)[:, ::-1]
        inner = np.concatenate(ends, axis=1) @ powers
    plain = partial(_features, states=states, used=used)
    if kind is not None:
        order = np.argsort(place[seen.stratum], kind="stable")
        digits = inner[order, None] // powers % states
        return _Rows(place[seen.stratum][order], digits, seen.count[order].astype(np.float64), plain, kind[order])
    keys, which = np.unique(place[seen.stratum] * states**length + inner, return_inverse=True)
    totals: Floats = np.bincount(which, weights=seen.count).astype(np.float64)
    stratum, inner = np.divmod(keys, states**length)
    digits, nothing = inner[:, None] // powers % states, np.zeros((len(inner), 0), dtype=np.int64)
    return _Rows(stratum, digits, totals, plain, nothing)


def _features(values: Integers, _: Integers | None = None, *, states: int, used: int) -> Floats:
    """Return what each effect adds to ln of the weight of each value but the first: [pattern][value][effect]."""
    before, after = _sides(values, states, used)
    return np.asarray((before + after).reshape(len(values), states - 1, -1))


def _sides(values: Integers, states: int, used: int) -> tuple[Floats, Floats]:
    """Return what the effects of records before, and of those after, add: [pattern][value][distance][first][second]."""
    centre, width = values.shape[1] // 2, states - 1
    before, after = np.zeros((2, len(values), width, used, width, width))
    for apart in range(1, used + 1):
        for own in range(1, states):
            for other in range(1, states):
                before[:, own - 1, apart - 1, other - 1, own - 1] = values[:, centre - apart] == other
                after[:, own - 1, apart - 1, own - 1, other - 1] = values[:, centre + apart] == other
    return before, after


def _by_kind(values: Integers, kind: Integers, *, states: int, used: int, apart: int, kinds: int) -> Floats:
    """Return the same for effects up to `apart` that differ by the kind of the earlier record, kind by kind."""
    before, after = _sides(values, states, used)
    width, every = states - 1, np.arange(len(values))
    near = np.zeros((len(values), kinds, width, apart, width, width))
    for back in range(apart):
        near[every, kind[:, 0], :, back] += after[:, :, back]
        near[every, kind[:, back + 1], :, back] += before[:, :, back]
    own = near.swapaxes(1, 2).reshape(len(values), width, -1)
    common = (before + after)[:, :, apart:].reshape(len(values), width, -1)
    return np.concatenate([own, common], axis=2)


def _with_third(values: Integers, _: Integers | None = None, *, used: int) -> Floats:
    """Return the same for two values, with the number of threes in a row that the record would complete."""
    centre = values.shape[1] // 2
    two, one, next_one, next_two = (values[:, centre + apart] for apart in (-2, -1, 1, 2))
    threes = two * one + one * next_one + next_one * next_two
    return np.concatenate([_features(values, states=2, used=used), threes[:, None, None].astype(np.float64)], axis=2)


def _probabilities(logits: Floats) -> tuple[Floats, Floats]:
    """Return the probabilities of all values but the first, and ln of that of the first."""
    largest = np.maximum(logits.max(axis=-1, keepdims=True), 0)
    total = np.exp(-largest) + np.exp(logits - largest).sum(axis=-1, keepdims=True)
    first = -largest - np.log(total)
    return np.exp(logits + first), first[..., 0]


def _likelihood(rows: _Rows, strata: int, width: int, parameters: Floats) -> tuple[float, Floats, Floats]:
    """Return ln of the pseudo-likelihood, its gradient, and minus its second derivatives."""
    fields, effects = parameters[: strata * width].reshape(strata, width), parameters[strata * width :]
    value, gradient = 0.0, np.zeros_like(parameters)
    information = np.zeros((len(parameters),) * 2)
    outer = np.arange(strata * width).reshape(strata, width)
    for begin in range(0, len(rows.count), _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        stratum, count, own = rows.stratum[part], rows.count[part], rows.centre[part]
        features = rows.features(rows.values[part], rows.kind[part])
        logits = fields[stratum] + features @ effects
        chances, first = _probabilities(logits)
        chosen = own[:, None] == np.arange(1, width + 1)
        value += float(count @ (first + (logits * chosen).sum(axis=1)))
        left = count[:, None] * (chosen - chances)
        weights = count[:, None, None] * (
            chances[:, :, None] * np.eye(width) - chances[:, :, None] * chances[:, None, :]
        )
        moved = np.einsum("mab,mbq->maq", weights, features)
        here, starts = np.unique(stratum, return_index=True)
        gradient[outer[here]] += np.add.reduceat(left, starts, axis=0)
        gradient[strata * width :] += np.einsum("ma,maq->q", left, features)
        mixed = np.add.reduceat(moved, starts, axis=0)
        squares = np.add.reduceat(weights, starts, axis=0)
        for place, index in enumerate(outer[here]):
            information[np.ix_(index, index)] += squares[place]
            information[index, strata * width :] += mixed[place]
            information[strata * width :, index] += mixed[place].T
        information[strata * width :, strata * width :] += np.einsum("maq,mar->qr", features, moved)
    return value, gradient, information + 1e-9 * np.eye(len(parameters))


def _variance_of_scores(
    fields: Floats,
    effects: Floats,
    records: Floats,
    reach: int,
    features_of: Callable[[Integers], Floats],
    simulated: int,
) -> Floats:
    """Return the variance of the sum of all scores, for effects that all strata have in common."""
    strata, width = fields.shape
    variances = _variances_of_scores(
        fields, np.broadcast_to(effects, (strata, *effects.shape)), reach, features_of, simulated
    )
    total = np.zeros((strata * width + len(variances[0]) - width,) * 2)
    for stratum, variance in enumerate(variances):
        index = np.r_[stratum * width : (stratum + 1) * width, strata * width : len(total)]
        total[np.ix_(index, index)] += records[stratum] * variance
    return total


def _variances_of_scores(
    fields: Floats, effects: Floats, reach: int, features_of: Callable[[Integers], Floats], simulated: int
) -> list[Floats]:
    """Return for each stratum the variance that one record adds to the sum of scores, by simulating series.

    Scores of records more than the reach apart are uncorrelated, since the mean of each given all other records is 0.
    Features beyond those of the effects have none.
    """
    generator, (strata, width) = np.random.default_rng(_SEED), fields.shape
    series, variances = max(simulated // _LENGTH // strata, 1), []
    every = zip(fields, effects, _simulated(fields, effects, series, generator), strict=True)
    for field, own, drawn in every:
        windows = np.lib.stride_tricks.sliding_window_view(drawn, 2 * reach + 1, axis=1)
        values = windows.reshape(-1, 2 * reach + 1)
        features = features_of(values)
        chances, _ = _probabilities(field + features[..., : own.size] @ own.ravel())
        left = (values[:, [reach]] == np.arange(1, width + 1)) - chances
        scores = np.concatenate([left, np.einsum("ma,maq->mq", left, features)], axis=1)
        scores = scores.reshape(*windows.shape[:2], -1)
        variance = np.zeros((scores.shape[-1],) * 2)
        for apart in range(reach + 1):
            pairs = scores.shape[1] - apart
            product = np.tensordot(scores[:, :pairs], scores[:, apart:], 2 * ([0, 1],)) / (series * pairs)
            variance += product if apart == 0 else product + product.T
        variances.append(variance)
    return variances


def _simulated(fields: Floats, effects: Floats, series: int, generator: np.random.Generator) -> Integers:
    """Draw stationary series of each stratum, from the transfer matrix of the last records: [stratum][series][time].

    effects: for each stratum those of each distance; or those that all strata have in common.
    """
    effects = np.broadcast_to(effects, (len(fields), *effects.shape[-3:]))
    strata, states, reach = len(fields), fields.shape[1] + 1, effects.shape[1]
    blocks = np.arange(states**reach)
    logs = np.zeros((strata, len(blocks), states))
    logs[:, :, 1:] += fields[:, None]
    for apart in range(1, reach + 1):
        padded = np.zeros((strata, states, states))
        padded[:, 1:, 1:] = effects[:, apart - 1]
        logs += padded[:, blocks // states ** (apart - 1) % states]
    weights = np.exp(logs - logs.max(axis=(1, 2), keepdims=True))
    following = (blocks[:, None] * states + np.arange(states)) % len(blocks)
    offsets = np.arange(strata)[:, None]
    into = (following.ravel() + len(blocks) * offsets).ravel()
    ahead: Floats = np.ones((strata, len(blocks)))
    behind: Floats = np.ones((strata, len(blocks)))
    for _ in range(_LENGTH):
        before = np.concatenate([ahead, behind])
        ahead = (weights * ahead[:, following]).sum(axis=2)
        moved = np.bincount(into, weights=(weights * behind[:, :, None]).ravel(), minlength=ahead.size)
        behind = np.asarray(moved, dtype=np.float64).reshape(ahead.shape)
        ahead, behind = (each / each.max(axis=1, keepdims=True) for each in (ahead, behind))
        if np.abs(np.concatenate([ahead, behind]) - before).max() < _CONVERGED:
            break
    limits = (weights * ahead[:, following]).cumsum(axis=2)
    limits /= limits[:, :, -1:]
    law = (ahead * behind).cumsum(axis=1)
    uniform = generator.random((strata, _LENGTH + 1, series))
    starts = [np.searchsorted(own, first * own[-1]) for own, first in zip(law, uniform[:, 0], strict=True)]
    last = np.stack(starts).clip(max=len(blocks) - 1)
    drawn = np.empty((strata, series, _LENGTH), dtype=np.int64)
    for place in range(_LENGTH):
        above = uniform[:, place + 1, :, None] > limits[offsets, last]
        drawn[:, :, place] = above.sum(axis=2).clip(max=states - 1)
        last = following[last, drawn[:, :, place]]
    return drawn
