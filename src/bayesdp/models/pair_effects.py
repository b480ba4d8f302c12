"""What a series was fitted to: the effects of records on one another by their distance, and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from bayesdp._support import validation
from bayesdp._support.arrays import Floats
from bayesdp._support.messages import name_of
from bayesdp._support.validation import Scalar, brief
from bayesdp._support.words import counted, listed
from bayesdp.errors import ModelError
from bayesdp.models.effects_by_stratum import EffectsByStratum, table_of_numbers
from bayesdp.models.layout import column_names
from bayesdp.models.odds import odds_above
from bayesdp.models.posterior import chosen_rank, draws_needed
from bayesdp.models.strata import stratum_order

__all__ = ["PairEffects", "credible_odds", "log_odds_of", "price_gradient", "reference_tau", "small_price"]

DRAWS = 2000
"""The number of draws of the effects, unless the credibility needs more."""

_SIDE = 64
"""The records on either side of the one whose leakage is compared between draws."""

_EPSILON = 1.0
"""The leakage at which draws are compared."""

_TRIES = 2**9
_TRIES_BY_STRATUM = 2**5
"""Draws for each one wanted, before effects of one sign count as contradicted; of effects that differ by stratum."""

_FARTHEST = 1e12
"""How many standard errors from the estimate odds are looked for."""

_STEP = 1e-4
_DIGITS = 3
_SEED = 19

_NOT_ALIKE = (
    "the records around one do not push the same way: effects of the fitted signs are hardly possible; fit without the "
    "assumption that all do (additive)"
)

Values = tuple[Scalar, ...]


@dataclass(frozen=True)
class PairEffects:
    """The fitted effects of records on one another, and their covariance.

    effects:    for each distance 1, 2, …, the table J(a, b) of what values a and b of two records so far apart add to
                ln of the weight of both, for all values but the first, row by row.
    covariance: that of all effects.
    records:    the number of records that were used; left_out: of those without a complete neighbourhood.
    within:     the public columns of the strata.
    merged:     the values of those columns in the strata that were merged into one, because they are sparse.
    by_stratum: the effects that differ by stratum, if they were fitted; `effects` are those of all strata together.

    >>> PairEffects([[1.8], [0.2]], [[0.01, 0], [0, 0.01]], 900).reach
    2
    """

    effects: Sequence[Sequence[float]]
    covariance: Sequence[Sequence[float]]
    records: int
    left_out: int = 0
    within: Sequence[str] = field(default=())
    merged: Sequence[Values] = ()
    by_stratum: EffectsByStratum | None = None

    def __post_init__(self) -> None:
        effects = table_of_numbers("effects", self.effects)
        width = math.isqrt(len(effects[0]))
        if len({len(row) for row in effects}) > 1 or width**2 != len(effects[0]):
            raise ModelError(name_of("effects") + " must be square tables of one size, a row of numbers for each")
        covariance = table_of_numbers("covariance", self.covariance)
        size = len(effects) * width**2
        if len(covariance) != size or any(len(row) != size for row in covariance):
            raise ModelError(name_of("covariance") + f" must be a table of {size} rows and columns")
        array = np.array(covariance)
        if not np.allclose(array, array.T) or np.linalg.eigvalsh(array).min() < -1e-9 * np.abs(array).max():
            raise ModelError(name_of("covariance") + " must be symmetric, without negative eigenvalues")
        object.__setattr__(self, "effects", effects)
        object.__setattr__(self, "covariance", covariance)
        object.__setattr__(self, "records", validation.natural("records", self.records, ModelError))
        object.__setattr__(self, "left_out", validation.natural("left_out", self.left_out, ModelError, least=0))
        object.__setattr__(self, "within", column_names("within", self.within))
        rows = [
            validation.items("merged", row, ModelError) for row in validation.items("merged", self.merged, ModelError)
        ]
        merged = [tuple(validation.scalar("merged", entry, ModelError) for entry in row) for row in rows]
        object.__setattr__(self, "merged", tuple(sorted(merged, key=stratum_order)))
        several = self.by_stratum
        if several is not None:
            near, far = np.array(several.effects).shape[1], len(several.common)
            if near != several.apart * width**2 or far != len(effects) - several.apart:
                raise ModelError(name_of("by_stratum") + " must have the effects of the same distances and states")

    @property
    def reach(self) -> int:
        """How far apart records affect one another."""
        return len(self.effects)

    @property
    def states(self) -> int:
        """The number of values of a record."""
        return math.isqrt(len(self.effects[0])) + 1

    @property
    def log_odds(self) -> Floats:
        """ln of the fitted odds ratios by distance."""
        return log_odds_of(np.array(self.effects))

    def drawn(self, draws: int, generator: np.random.Generator, *, additive: bool) -> Floats:
        """Draw ln of the odds ratios: [draw][distance], the largest of all strata. Additive effects have one sign.

        Raises ModelError if hardly any draw has the assumed signs.
        """
        if self.by_stratum is not None:
            return self._drawn_by_stratum(self.by_stratum, draws, generator, additive=additive)
        centre, root = np.ravel(self.effects), _root(np.array(self.covariance))
        found: list[Floats] = []
        for _ in range(_TRIES):
            tables = centre + generator.standard_normal((draws, len(centre))) @ root
            if additive:
                tables = tables[(tables * self.signs >= 0).all(axis=1)]
            found.append(tables)
            if sum(map(len, found)) >= draws:
                chosen = np.concatenate(found)[:draws]
                return log_odds_of(chosen.reshape(draws, self.reach, -1))
        raise ModelError(_NOT_ALIKE)

    def _drawn_by_stratum(
        self, several: EffectsByStratum, draws: int, generator: np.random.Generator, *, additive: bool
    ) -> Floats:
        found: list[Floats] = []
        for _ in range(_TRIES_BY_STRATUM):
            near, far = several.drawn(draws, generator)
            if additive:
                signed = (near * self.signs[: several.apart] >= 0).all(axis=(1, 2))
                signed &= (far * self.signs[several.apart :] >= 0).all(axis=1)
                near, far = near[signed], far[signed]
            tables = near.reshape(*near.shape[:2], several.apart, (self.states - 1) ** 2)
            beyond = far.reshape(len(far), len(several.common), (self.states - 1) ** 2)
            found.append(np.concatenate([log_odds_of(tables).max(axis=1), log_odds_of(beyond)], axis=1))
            if sum(map(len, found)) >= draws:
                return np.concatenate(found)[:draws]
        raise ModelError(_NOT_ALIKE)

    @property
    def signs(self) -> Floats:
        """The signs that additive effects of two values have: all positive, or changing with the distance."""
        first = -1.0 if self.effects[0][0] < 0 else 1.0
        return np.asarray(first ** np.arange(1.0, self.reach + 1))

    def called(self) -> str:
        """What the effects were fitted to, in sentences."""
        strata = f", each {' and '.join(self.within)} with its own frequencies of values" if self.within else ""
        fitted = (
            f"Fitted to {counted(self.records, 'record')} with all neighbours up to {self.reach} places away{strata}"
        )
        left = f"; {counted(self.left_out, 'record')} without all of them left out" if self.left_out else ""
        names = ", ".join(" ".join(map(str, values)) for values in self.merged)
        merged = f" Sparse strata were merged into one: {listed(self.within)} {names}." if self.merged else ""
        several = "" if self.by_stratum is None else f" {self.by_stratum.called()}"
        return f"{fitted}{left}.{merged}{several}"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object under "fitted" of a model."""
        entries: dict[str, Any] = {
            "effects": [list(row) for row in self.effects],
            "covariance": [list(row) for row in self.covariance],
            "records": self.records,
            "left_out": self.left_out,
        }
        entries |= {"within": list(self.within)} if self.within else {}
        entries |= {"merged": [list(values) for values in self.merged]} if self.merged else {}
        return entries | ({} if self.by_stratum is None else {"by_stratum": self.by_stratum.to_dict()})

    @classmethod
    def from_dict(cls, document: object) -> PairEffects:
        """Read it from its JSON object; ModelError for an invalid one."""
        needed = {"effects", "covariance", "records", "left_out"}
        if not isinstance(document, Mapping) or not needed <= set(document) <= needed | {
            "within",
            "merged",
            "by_stratum",
        }:
            raise ModelError(f'"fitted" must be an object with {", ".join(sorted(needed))}, not {brief(document)}')
        several = document.get("by_stratum")
        return cls(**{**document, "by_stratum": None if several is None else EffectsByStratum.from_dict(several)})


def _root(covariance: Floats) -> Floats:
    """Return a matrix whose products with its own transpose are the covariance."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))).T)


def log_odds_of(effects: Floats) -> Floats:
    """Return ln of the largest odds ratio of each table of effects, whose entries are along the last axis."""
    width = math.isqrt(effects.shape[-1])
    padded = np.zeros((*effects.shape[:-1], width + 1, width + 1))
    padded[..., 1:, 1:] = effects.reshape(*effects.shape[:-1], width, width)
    largest = np.zeros(effects.shape[:-1])
    for row in range(1, width + 1):
        apart = padded[..., row:, :] - padded[..., row - 1 : row, :]
        np.maximum(largest, np.ptp(apart, axis=-1).max(axis=-1), out=largest)
    return largest


def small_price(log_odds: Floats, tau: float) -> Floats:
    """Return about what a series leaks whose effects add up (odds-ising), for each row of ln of odds ratios.

    It ranks draws; it is no bound.

    >>> round(float(small_price(np.log([[9.0]]), 1.0)[0]), 4)
    2.7976
    """
    draws, reach = log_odds.shape
    spins = 1 - 2 * (np.arange(2**reach)[:, None] // 2 ** np.arange(reach) % 2)
    pull = log_odds / 4 @ spins.T + tau / 4
    rise, fall = np.exp(pull - np.abs(pull)), np.exp(-pull - np.abs(pull))
    blocks = np.arange(2**reach)
    ups, downs = blocks * 2 % 2**reach, (blocks * 2 + 1) % 2**reach
    scale = np.abs(pull)
    shift = np.exp(scale - scale.max(axis=1, keepdims=True))
    ahead, behind = np.ones((draws, 2**reach)), np.ones((draws, 2**reach))
    half = 2**reach // 2
    for _ in range(_SIDE):
        ahead = shift * (rise * ahead[:, ups] + fall * ahead[:, downs])
        weighted = shift * behind
        moved = np.empty_like(behind)
        moved[:, 0::2] = (weighted * rise)[:, :half] + (weighted * rise)[:, half:]
        moved[:, 1::2] = (weighted * fall)[:, :half] + (weighted * fall)[:, half:]
        behind = moved / moved.max(axis=1, keepdims=True)
        ahead /= ahead.max(axis=1, keepdims=True)
    law = ahead * behind
    return np.asarray(2 * (np.log(law[:, 0::2].sum(axis=1)) - np.log(law[:, 1::2].sum(axis=1))))


@lru_cache(maxsize=64)
def credible_odds(fitted: PairEffects, credibility: float, additive: bool) -> tuple[float, ...]:
    """Return odds ratios whose leakage that of the true ones does not exceed, with this credibility.

    Draws of the effects are ranked by what a series with these odds leaks (`small_price`), at the τ that costs ε = 1
    under the estimate. The odds are those of the likeliest effects at the chosen rank: on the line from the estimate in
    the direction covariance × gradient; of effects that differ by stratum, from the mean of the draws in the direction
    in which they cost more. Draws have a fixed seed.
    """
    draws = draws_needed(credibility, None, DRAWS)
    generator = np.random.default_rng(_SEED)
    drawn = fitted.drawn(draws, generator, additive=additive)
    differing = fitted.by_stratum is not None
    tau = reference_tau(drawn.mean(axis=0) if differing else fitted.log_odds)
    prices = small_price(drawn, tau)
    place = draws - chosen_rank(credibility, draws)
    limit = float(np.partition(prices, place)[place])
    along = _along_draws(drawn, prices) if differing else _along_gradient(fitted, additive, tau)
    near, far = 0.0, 1.0
    while small_price(along(far)[None], tau)[0] < limit and far < _FARTHEST:
        near, far = far, 2 * far
    for _ in range(40):
        middle = (near + far) / 2
        near, far = (middle, far) if small_price(along(middle)[None], tau)[0] < limit else (near, middle)
    odds = tuple(_rounded_up(odds_above([value])) for value in along(far).tolist())
    if not all(map(math.isfinite, odds)):
        raise ModelError("the counts leave the odds ratios open without limit; take a shorter reach, or more data")
    return odds


def _along_gradient(fitted: PairEffects, additive: bool, tau: float) -> Callable[[float], Floats]:
    """Return ln of the odds ratios of the likeliest effects so many standard errors of the price above the estimate."""
    centre, covariance = np.ravel(fitted.effects), np.array(fitted.covariance)
    gradient = price_gradient(np.array(fitted.effects), tau)
    direction = covariance @ gradient / max(math.sqrt(gradient @ covariance @ gradient), 1e-12)

    def along(distance: float) -> Floats:
        effects = centre + distance * direction
        kept = np.maximum(effects * fitted.signs, 0) if additive else effects
        return log_odds_of(kept.reshape(fitted.reach, -1))

    return along


def _along_draws(drawn: Floats, prices: Floats) -> Callable[[float], Floats]:
    """Return the mean of draws, and so many standard deviations of the price farther where draws cost more."""
    centre, above = drawn.mean(axis=0), prices - prices.mean()
    direction = np.maximum((drawn - centre).T @ above / len(drawn) / max(float(above.std()), 1e-12), 0)

    def along(distance: float) -> Floats:
        return np.asarray(centre + distance * direction)

    return along


def price_gradient(effects: Floats, tau: float) -> Floats:
    """Return by how much the price grows with each effect, given a row of effects for each distance."""
    steps = np.where(np.ravel(effects) < 0, -_STEP, _STEP)
    moved = (np.ravel(effects) + np.diag(steps)).reshape(len(steps), *effects.shape)
    return np.asarray((small_price(log_odds_of(moved), tau) - small_price(log_odds_of(effects)[None], tau)) / steps)


def reference_tau(log_odds: Floats) -> float:
    """Return the τ that leaks about 1 under these odds.

    >>> round(reference_tau(np.log([9.0])), 3)
    0.336
    """
    low, high = 0.0, _EPSILON
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if small_price(log_odds[None], middle)[0] < _EPSILON else (low, middle)
    return high


def _rounded_up(odds: float) -> float:
    """Return an odds ratio rounded up to three decimals; finer than any estimate."""
    return math.ceil(odds * 10**_DIGITS) / 10**_DIGITS if math.isfinite(odds) else odds
