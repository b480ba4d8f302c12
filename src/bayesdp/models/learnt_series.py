"""Odds ratios by distance, estimated from noisy sums of a series. Proof: docs/theory/private-fit.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, ClassVar

import numpy as np

from bayesdp._support import validation
from bayesdp._support.arrays import Floats
from bayesdp._support.messages import name_of
from bayesdp._support.validation import Scalar, brief
from bayesdp.errors import ModelError
from bayesdp.models.layout import column_names
from bayesdp.models.learnt import checked_strata
from bayesdp.models.odds import checked_odds, log_odds_above, odds_above
from bayesdp.models.pair_effects import reference_tau, small_price
from bayesdp.models.posterior import chosen_rank, draws_needed
from bayesdp.models.series_sums import Course, Estimate, estimated, expected_sums, stationary
from bayesdp.rounding import shown_above, shown_below

__all__ = ["CASES", "LearntSeries", "bounds_in_cases", "credible_series", "sums_sensitivity", "weight_of_strata"]

CASES = tuple(product((0.1, 0.25, 0.4, 0.55, 0.7), (0.5, 0.2)))
"""The cases by which a fit is foreseen: ln of the odds ratio of neighbours as a share of that of the ceiling, and the
share of records with the rarer value. At a larger distance, ln of the odds ratio is half that share of the ceiling."""

_FARTHER = 0.5

DRAWS = 2000
"""The number of draws of the effects, unless the credibility needs more."""

_FORESEEN_DRAWS = 400

NOISIEST = 2.0**14
"""The largest scale of noise: beyond it, tables of any practical size carry no information."""

_TRIES = 2**6
"""Draws for each one wanted, before the ceiling stands because effects of one sign are hardly possible."""

_HALVINGS = 40
_DIGITS = 3
_DIFFERENCE = 1e-4
_SEED = 14
"""The fixed seed: the same sums give the same odds ratios."""

Values = tuple[Scalar, ...]


def weight_of_strata(reach: int) -> int:
    """Return how many times the sum of each stratum is counted, so that strata and products take half of τ each."""
    return 2 * reach


def sums_sensitivity(reach: int) -> int:
    """Return how far one replaced record moves all sums together, in ℓ1: those of strata counted so many times.

    It is in one stratum, and in at most two products for each distance.

    >>> sums_sensitivity(1), sums_sensitivity(3)
    (4, 12)
    """
    return weight_of_strata(reach) + 2 * reach


@dataclass(frozen=True)
class LearntSeries:
    """A private fit of odds ratios by distance: from noisy sums, released and charged like any other answer.

    ceiling:     the odds ratios assumed before the fit, which the estimate never exceeds.
    tau:         the privacy of the noisy sums.
    credibility: the share of what the noisy sums leave possible in which the series leaks no more than with `odds`.
    odds:        the estimated odds ratios by distance.
    sums:        the noisy sums: 2k times the sum of the records of each stratum, then the sums of the products of
                 records 1, 2, …, k apart.
    records:     the public number of records of each stratum.
    within:      the public columns of the strata.         strata: their values in each; one empty tuple for none.

    >>> LearntSeries([50], 1.0, 0.95, [9.2], [610, 190], [1000]).reach
    1
    """

    ceiling: Sequence[float]
    tau: float
    credibility: float
    odds: Sequence[float]
    sums: Sequence[int]
    records: Sequence[int]
    within: Sequence[str] = ()
    strata: Sequence[Values] = ((),)

    parameter: ClassVar[str] = "odds"
    noun: ClassVar[str] = "odds ratios of records by their distance"
    parameter_in_words: ClassVar[str] = "odds ratios"
    plural: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("ceiling", "odds"):
            entries = validation.items(name, getattr(self, name), ModelError)
            odds = tuple(checked_odds(f"{name}[{index}]", value) for index, value in enumerate(entries))
            object.__setattr__(self, name, odds)
        if not self.ceiling or len(self.odds) != len(self.ceiling):
            raise ModelError("ceiling and odds must have as many entries, one for each distance")
        if any(odds > most for odds, most in zip(self.odds, self.ceiling, strict=True)):
            raise ModelError("the odds ratios are above the ceiling of the private fit")
        object.__setattr__(self, "tau", validation.positive("tau", self.tau, ModelError))
        object.__setattr__(self, "credibility", validation.probability("credibility", self.credibility, ModelError))
        object.__setattr__(self, "within", column_names("within", self.within))
        object.__setattr__(self, "strata", checked_strata(self.strata, len(self.within)))
        records = validation.items("records", self.records, ModelError)
        records = [validation.natural("records", entry, ModelError, least=0) for entry in records]
        object.__setattr__(self, "records", tuple(records))
        sums = tuple(validation.items("sums", self.sums, ModelError))
        whole = [entry for entry in sums if isinstance(entry, int) and not isinstance(entry, bool)]
        if len(whole) < len(sums) or any(abs(entry) >= 2**63 for entry in whole):
            raise ModelError(name_of("sums") + " must be whole numbers of 64 bits")
        if len(records) != len(self.strata) or len(sums) != len(records) + self.reach:
            raise ModelError("give a number of records and a sum for each stratum, and a sum for each distance")
        object.__setattr__(self, "sums", sums)
        draws_needed(self.credibility, None, DRAWS)
        _check_noise(self.tau, self.reach)

    @staticmethod
    def about(subject: str) -> str:
        """Return a description of the release, and its purpose."""
        return f"sums and products of {subject}, to learn its odds ratios by distance"

    @property
    def reach(self) -> int:
        """The largest distance of records that depend on one another given all others."""
        return len(self.ceiling)

    @property
    def scale(self) -> float:
        """The scale of the discrete Laplace noise on each sum."""
        return sums_sensitivity(self.reach) / self.tau

    @property
    def spec(self) -> dict[str, Any]:
        """The settings of the private fit, without τ."""
        return {"credibility": self.credibility, "within": list(self.within)}

    @property
    def asked_for(self) -> str:
        """The settings of the private fit in words."""
        within = ", ".join(self.within) or "nothing"
        return f"tau = {self.tau:g}, credibility {self.credibility:g}, within {within}"

    @property
    def origin(self) -> str:
        """The private fit of the odds ratios, in sentences."""
        strata = f" in {len(self.strata)} strata by {', '.join(self.within)}" if self.within else ""
        ceiling = ", ".join(shown_above(odds) for odds in self.ceiling)
        return (
            f"The odds ratios were learnt by a private release of this account: from sums of records{strata} and of "
            f"products of records up to {self.reach} apart, with noise of scale {shown_above(self.scale)} (tau = "
            f"{shown_below(self.tau)}), and nothing else of the data. With a credibility of "
            f"{shown_below(100 * self.credibility)} % the series leaks no more than one with these odds ratios, if the "
            "effects of records on one another add up and are the same everywhere; that they are at most "
            f"{ceiling} was assumed before. What that release tells is in the ε stated (docs/theory/private-fit.md)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object under "learnt" of a model."""
        entries = {"tau": self.tau, "credibility": self.credibility}
        lists = {name: list(getattr(self, name)) for name in ("ceiling", "odds", "sums", "records")}
        strata = {"within": list(self.within), "strata": [list(values) for values in self.strata]}
        return {**entries, **lists, **(strata if self.within else {})}

    @classmethod
    def from_dict(cls, document: object) -> LearntSeries:
        """Read it from its JSON object; ModelError for an invalid one."""
        needed = {"ceiling", "tau", "credibility", "odds", "sums", "records"}
        if not isinstance(document, Mapping) or not needed <= set(document) <= needed | {"within", "strata"}:
            raise ModelError(f'"learnt" must be an object with {", ".join(sorted(needed))}, not {brief(document)}')
        return cls(**document)


def _check_noise(tau: float, reach: int) -> None:
    scale = sums_sensitivity(reach) / tau
    if scale > NOISIEST:
        raise ModelError(
            f"tau = {tau:g} drowns the sums in noise of scale {shown_above(scale)}; nothing can be learnt from them"
        )


def credible_series(
    course: Course,
    sums: Sequence[int],
    *,
    ceiling: Sequence[float],
    tau: float,
    credibility: float,
    additive: bool,
    usual: int = DRAWS,
) -> tuple[float, ...]:
    """Return odds ratios, at most the ceiling, whose leakage the true ones do not exceed with this credibility.

    sums:     the noisy sums, as in `LearntSeries`.
    additive: whether effects all push the same way, once the values of some records are swapped.

    Draws of the effects are ranked by what a series with their odds leaks (`small_price`), at the τ that costs ε = 1
    under the estimate. The odds are those on the way from the estimate to the ceiling that leak as much as the draw at
    the chosen rank. The ceiling stands if that leaks no less, and if the sums leave the effects open.
    """
    reach, most = len(ceiling), np.array(log_odds_above(np.array(ceiling)))
    _check_noise(tau, reach)
    if not most.any():
        return tuple(ceiling)
    weights = np.concatenate([np.full(course.strata, float(weight_of_strata(reach))), np.ones(reach)])
    scales = sums_sensitivity(reach) / tau / weights
    found = estimated(course, (np.array(sums) / weights).tolist(), scales, np.maximum(most, 0.1).tolist())
    draws = draws_needed(credibility, None, usual)
    drawn = None if found is None else _of_one_sign(found, draws, scales, additive=additive)
    if found is None or drawn is None:
        return tuple(ceiling)
    signs = _signs(found.effects) if additive else np.sign(found.effects)
    centre = np.minimum(np.maximum(found.effects * signs, 0), most)
    reference = reference_tau(centre)
    prices = small_price(np.abs(drawn), reference)
    place = draws - chosen_rank(credibility, draws)
    limit = float(np.partition(prices, place)[place])
    direction = _uphill(centre, (np.cov((drawn * signs).T)).reshape(reach, reach), reference)

    def at(way: float) -> Floats:
        """Return ln of odds ratios on the way: first along the draws' likeliest rise, then straight to the ceiling."""
        risen = np.clip(centre + min(way, 1.0) * direction, 0, most)
        return np.asarray(risen + max(way - 1.0, 0.0) * (most - risen))

    chosen = most if small_price(most[None], reference)[0] <= limit else at(_crossing(at, limit, reference))
    rounded = [
        math.ceil(odds_above([value]) * 10**_DIGITS) / 10**_DIGITS for value in np.minimum(chosen, 700.0).tolist()
    ]
    return tuple(min(odds, upper) for odds, upper in zip(rounded, ceiling, strict=True))


def _signs(effects: Floats) -> Floats:
    """Return the signs of effects that push the same way: all positive, or changing with the distance."""
    return np.asarray((-1.0 if effects[0] < 0 else 1.0) ** np.arange(1.0, len(effects) + 1))


def _of_one_sign(found: Estimate, draws: int, scales: Floats, *, additive: bool) -> Floats | None:
    """Draw effects; of additive ones those that push the same way. None if they hardly ever do."""
    generator = np.random.default_rng(_SEED)
    if not additive:
        return found.drawn(draws, scales, generator)
    kept: list[Floats] = []
    for _ in range(_TRIES):
        drawn = found.drawn(draws, scales, generator)
        kept.append(drawn[(drawn * _signs(found.effects) >= 0).all(axis=1)])
        if sum(map(len, kept)) >= draws:
            return np.concatenate(kept)[:draws]
    return None


def _uphill(centre: Floats, covariance: Floats, reference: float) -> Floats:
    """Return a long step in the direction in which draws raise the price most likely."""
    moved = centre + _DIFFERENCE * np.eye(len(centre))
    gradient = (small_price(moved, reference) - small_price(centre[None], reference)) / _DIFFERENCE
    direction = covariance @ gradient
    deviation = math.sqrt(max(float(gradient @ direction), 1e-12))
    return np.asarray(20 * direction / deviation)


def _crossing(at: Callable[[float], Floats], limit: float, reference: float) -> float:
    """Return the first place found on the way at which the price is no less than a limit."""
    near, far = 0.0, 2.0
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        below = small_price(at(middle)[None], reference)[0] < limit
        near, far = (middle, far) if below else (near, middle)
    return far


@lru_cache(maxsize=64)
def bounds_in_cases(
    strata: int, records: int, *, ceiling: tuple[float, ...], tau: float, credibility: float, additive: bool
) -> tuple[tuple[float, ...], ...]:
    """Return the odds ratios that a private fit would state in each of the CASES, from public numbers alone.

    Records are spread evenly over the strata, which are long; noise has a fixed seed.

    >>> bounds_in_cases(1, 90, ceiling=(50.0,), tau=0.05, credibility=0.95, additive=True)[0]
    (50.0,)
    """
    reach, generator, bounds = len(ceiling), np.random.default_rng(_SEED), []
    _check_noise(tau, reach)
    course = stationary([max(records // strata, 1)] * strata)
    course.check(reach)
    weights = np.concatenate([np.full(strata, float(weight_of_strata(reach))), np.ones(reach)])
    for share, rarer in CASES:
        effects = share * np.array(log_odds_above(np.array(ceiling))) * np.array([1.0, *[_FARTHER] * (reach - 1)])
        exact = _sums_of_case(course, effects, rarer) * weights
        noisy = np.rint(exact + generator.laplace(scale=sums_sensitivity(reach) / tau, size=len(exact)))
        settings: dict[str, Any] = {"ceiling": ceiling, "tau": tau, "credibility": credibility, "additive": additive}
        bounds.append(credible_series(course, noisy.astype(int).tolist(), **settings, usual=_FORESEEN_DRAWS))
    return tuple(bounds)


def _sums_of_case(course: Course, effects: Floats, rarer: float) -> Floats:
    """Return the means of the sums if the rarer value has a share of the records."""
    one = stationary([1000])
    low, high = -effects.sum() - 20.0, -effects.sum()
    for _ in range(_HALVINGS // 2):
        middle = (low + high) / 2
        less = expected_sums(one, np.full((1, 1), middle), effects[None])[0, 0] < 1000 * rarer
        low, high = (middle, high) if less else (low, middle)
    return np.asarray(expected_sums(course, np.full((1, course.strata), high), effects[None])[0])
