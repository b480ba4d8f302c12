"""What a series was fitted to: the effects of records on one another by their distance, and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
"""Draws for each one wanted, before effects of one sign count as contradicted."""

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

    >>> PairEffects([[1.8], [0.2]], [[0.01, 0], [0, 0.01]], 900).reach
    2
    """

    effects: Sequence[Sequence[float]]
    covariance: Sequence[Sequence[float]]
    records: int
    left_out: int = 0
    within: Sequence[str] = field(default=())
    merged: Sequence[Values] = ()

    def __post_init__(self) -> None:
        effects = _table("effects", self.effects)
        width = math.isqrt(len(effects[0]))
        if len({len(row) for row in effects}) > 1 or width**2 != len(effects[0]):
            raise ModelError(name_of("effects") + " must be square tables of one size, a row of numbers for each")
        covariance = _table("covariance", self.covariance)
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
        """Draw ln of the odds ratios: [draw][distance]. Of additive effects, all have the assumed signs.

        Raises ModelError if hardly any draw has them.
        """
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
        return f"{fitted}{left}.{merged}"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object under "fitted" of a model."""
        entries: dict[str, Any] = {
            "effects": [list(row) for row in self.effects],
            "covariance": [list(row) for row in self.covariance],
            "records": self.records,
            "left_out": self.left_out,
        }
        entries |= {"within": list(self.within)} if self.within else {}
        return entries | ({"merged": [list(values) for values in self.merged]} if self.merged else {})

    @classmethod
    def from_dict(cls, document: object) -> PairEffects:
        """Read it from its JSON object; ModelError for an invalid one."""
        needed = {"effects", "covariance", "records", "left_out"}
        if not isinstance(document, Mapping) or not needed <= set(document) <= needed | {"within", "merged"}:
            raise ModelError(f'"fitted" must be an object with {", ".join(sorted(needed))}, not {brief(document)}')
        return cls(**document)


def _table(name: str, value: object) -> tuple[tuple[float, ...], ...]:
    rows = [validation.items(name, row, ModelError) for row in validation.items(name, value, ModelError)]
    if not rows or not rows[0]:
        raise ModelError(name_of(name) + " must be rows of numbers")
    return tuple(tuple(validation.number(name, entry, ModelError) for entry in row) for row in rows)


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
    the direction covariance × gradient. Draws have a fixed seed.
    """
    draws = draws_needed(credibility, None, DRAWS)
    generator = np.random.default_rng(_SEED)
    drawn = fitted.drawn(draws, generator, additive=additive)
    tau = reference_tau(fitted.log_odds)
    prices = small_price(drawn, tau)
    place = draws - chosen_rank(credibility, draws)
    limit = float(np.partition(prices, place)[place])
    centre, covariance = np.ravel(fitted.effects), np.array(fitted.covariance)

    def log_odds_at(effects: Floats) -> Floats:
        kept = np.maximum(effects * fitted.signs, 0) if additive else effects
        return log_odds_of(kept.reshape(*effects.shape[:-1], fitted.reach, -1))

    gradient = price_gradient(np.array(fitted.effects), tau)
    direction = covariance @ gradient
    near, far = 0.0, 1.0 / max(math.sqrt(gradient @ direction), 1e-12)
    while small_price(log_odds_at((centre + far * direction)[None]), tau)[0] < limit and far < 1e12:
        near, far = far, 2 * far
    for _ in range(40):
        middle = (near + far) / 2
        below = small_price(log_odds_at((centre + middle * direction)[None]), tau)[0] < limit
        near, far = (middle, far) if below else (near, middle)
    odds = tuple(_rounded_up(odds_above([value])) for value in log_odds_at(centre + far * direction).tolist())
    if not all(map(math.isfinite, odds)):
        raise ModelError("the counts leave the odds ratios open without limit; take a shorter reach, or more data")
    return odds


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
