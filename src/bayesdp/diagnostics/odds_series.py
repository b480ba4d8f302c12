"""Diagnosis of series of bounded odds: richer models of the same counts, and what they would leak."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp._support.words import counted, listed
from bayesdp.diagnostics.entities import independent_entities
from bayesdp.diagnostics.power import ENOUGH_POWER, normal, scaled_chi_square
from bayesdp.diagnostics.report import (
    DOUBTFUL,
    Outcome,
    UntestableError,
    by_construction,
    check,
    judge,
    on_degrees,
    shown_p,
)
from bayesdp.diagnostics.samples import ChainStatistics
from bayesdp.errors import ModelError
from bayesdp.models import OddsSeries
from bayesdp.models.diagnosis import Diagnosis, Finding, Verdict
from bayesdp.models.pair_effects import (
    PairEffects,
    credible_odds,
    log_odds_of,
    price_gradient,
    reference_tau,
    small_price,
)
from bayesdp.models.pair_regression import SIMULATED, Counted, fitted_effects, merged_strata, regression, third_order
from bayesdp.rounding import shown_above

__all__ = ["FURTHER", "MOST_DIFFERING", "SeriesStatistics", "beyond", "diagnose_series"]

FURTHER = 2
"""How many distances beyond the reach of a model are tested."""

MOST_DIFFERING = 2
"""Up to which distance a clock's finding says whether effects beyond are equal."""

MATTERS = 1.25
"""A deviation matters if it raises the leakage by this factor."""

_WIDTH = 1.645
"""Standard errors to the one-sided limit of 95 %: as much as the data allow."""

_SEED = 23

_SIMULATED = 2**15
"""The records simulated for the error of one reading of a clock; an error of a few per cent does no harm there."""


@dataclass(frozen=True, eq=False)
class SeriesStatistics:
    """The counts that the tests of a series need.

    longer:    patterns of a longer reach than the model's, by its strata.
    clocks:    patterns of the model's reach by its strata and, last, one reading of a clock.
    clockless: the clocks that the order does not have.
    entities:  the transitions of several entities, and those at times they share; None with a single one.
    """

    longer: Counted
    clocks: Mapping[str, Counted]
    clockless: Sequence[str]
    entities: ChainStatistics | None
    records: int
    within: tuple[str, ...]

    @cached_property
    def _fits(self) -> dict[int, PairEffects]:
        """The fits to the longer patterns so far, by reach."""
        return {}

    def fitted(self, reach: int) -> PairEffects:
        """Return the effects of a reach, fitted to the longer patterns; UntestableError if they cannot be fitted."""
        if reach not in self._fits:
            self._fits[reach] = _fitted(self.longer, reach)
        return self._fits[reach]


@dataclass(frozen=True)
class _Prices:
    """What odds leak at the τ that costs ε = 1 under the model."""

    model: OddsSeries

    @cached_property
    def tau(self) -> float:
        """That τ."""
        return reference_tau(np.log(self.model.odds))

    def of(self, log_odds: Floats) -> float:
        """What a series with these odds would leak; 1 for those of the model."""
        return float(small_price(np.atleast_2d(log_odds), self.tau)[0])

    def least(self, log_odds: Floats, places: Sequence[int], times: Sequence[int]) -> float:
        """Return the effect that matters, if `times` of it is added at these distances."""
        wanted, low, high = MATTERS * self.of(log_odds), 0.0, 0.01
        padded = np.pad(log_odds, (0, max(max(places) + 1 - len(log_odds), 0)))
        added = np.zeros_like(padded)
        added[list(places)] = times
        while self.of(padded + high * added) < wanted:
            low, high = high, 2 * high
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (middle, high) if self.of(padded + middle * added) < wanted else (low, middle)
        return high


def diagnose_series(statistics: SeriesStatistics, model: OddsSeries) -> Diagnosis:
    """Test the odds, the reach, effects of three records, signs, clocks and entities, with what each would leak."""
    prices = _Prices(model)
    findings = tuple(_findings(statistics, model, prices))
    return Diagnosis(
        model.assumption,
        findings,
        statistics.records,
        counted(statistics.records, "record"),
        tuple(_trusted(statistics, model)),
    )


def _findings(statistics: SeriesStatistics, model: OddsSeries, prices: _Prices) -> Iterator[Finding]:
    yield _odds(statistics, model, prices)
    yield _reach(statistics, model, prices)
    yield _threes(statistics, model, prices)
    if model.additive:
        yield _signs(statistics, model)
    for clock, seen in statistics.clocks.items():
        yield _clock(clock, seen, model, prices)
    if statistics.entities is not None:
        yield _moving_together(statistics.entities)


def _trusted(statistics: SeriesStatistics, model: OddsSeries) -> Iterator[str]:
    further = len(model.odds) + FURTHER
    yield f"Records more than {further} apart depend on one another only through those between: that was not tested."
    yield "Effects of three records that are not in a row, and of four or more, were not tested."
    if statistics.clockless:
        yield f"The odds do not depend on the {listed(statistics.clockless, 'or')}, which the order does not show."


@check(
    "odds",
    "Are the odds ratios of the table no larger than those of the model? (The share of draws of the fitted effects "
    "that leak no more than the model's odds.)",
)
def _odds(statistics: SeriesStatistics, model: OddsSeries, prices: _Prices) -> Outcome:
    fitted = statistics.fitted(len(model.odds))
    estimate = prices.of(fitted.log_odds)
    own = model.fitted
    if own is not None and _alike(own, fitted):
        return by_construction("The odds were fitted to these records, so they agree.")
    draws = fitted.drawn(1000, np.random.default_rng(_SEED), additive=False)
    p_value = float((small_price(draws, prices.tau) <= 1).mean())
    allowed = prices.of(np.log(credible_odds(fitted, 0.95, additive=False)))
    shown = ", ".join(f"{odds:.3g}" for odds in np.exp(fitted.log_odds).tolist())
    return Outcome.of(
        judge(p_value, estimate > 1, allowed < 1.25 * estimate),
        f"fitted odds {shown}; {shown_p(p_value)}",
        {"p_value": p_value, "epsilon": estimate, "epsilon_allowed": allowed},
        fine="The table shows no larger odds.",
        flagged=f"The table shows larger odds; under its estimates ε = {_shown(estimate)} instead of 1.",
        advice="Fit the series to this table.",
        untested=f"There are too few records to tell: the data allow {_shown(allowed)} instead of 1.",
    )


@check(
    "reach",
    "Do records farther apart than the reach depend on one another, given all others? (Wald's test of the effects of "
    "the next distances, with the sandwich.)",
)
def _reach(statistics: SeriesStatistics, model: OddsSeries, prices: _Prices) -> Outcome:
    from scipy.special import chdtrc, chdtri, chndtr

    reach, seen = len(model.odds), statistics.longer
    if seen.reach <= reach:
        raise UntestableError("Longer patterns were not counted: there are too many.", "Take a shorter reach.")
    longer, base = statistics.fitted(seen.reach), statistics.fitted(reach)
    effects, width = np.array(longer.effects), len(longer.effects[0])
    last = slice(reach * width, None)
    precision = np.linalg.inv(np.array(longer.covariance)[last, last])
    freedom = precision.shape[0]
    beyond = np.ravel(effects)[last]
    statistic = float(beyond @ precision @ beyond)
    p_value = float(chdtrc(freedom, statistic))
    estimate = prices.of(longer.log_odds) / prices.of(base.log_odds)
    allowed = max(prices.of(np.log(credible_odds(longer, 0.95, additive=False))), 1.0)
    least = prices.least(base.log_odds, [reach], [1])
    power = float(1 - chndtr(chdtri(freedom, DOUBTFUL), freedom, min(least**2 * precision[0, 0], 1e6)))
    odds = ", ".join(f"{value:.3g}" for value in np.exp(longer.log_odds[reach:]).tolist())
    places = f"{reach + 1}" if seen.reach == reach + 1 else f"{reach + 1} to {seen.reach}"
    apart = f"If records {places} apart matter as much as the data allow, ε = {_shown(allowed)} instead of 1."
    return Outcome.of(
        judge(p_value, estimate > MATTERS, power >= ENOUGH_POWER),
        f"odds ratios {odds}; χ² = {statistic:.1f} {on_degrees(freedom)}, {shown_p(p_value)}; power {power:.2f}",
        {"p_value": p_value, "power": power, "epsilon_allowed": allowed},
        fine=f"No farther dependence was found. {apart}",
        flagged=f"Records farther apart depend on one another. {apart}",
        advice="Fit a longer reach.",
        untested=f"There are too few records to find one that raises ε by a quarter. {apart}",
    )


@check(
    "three together",
    "Do the effects of two neighbours add up? (The effect of three records in a row with the second value, beyond "
    "those of pairs, by its standard error.)",
)
def _threes(statistics: SeriesStatistics, model: OddsSeries, prices: _Prices) -> Outcome:
    from scipy.special import ndtr

    reach, seen = len(model.odds), statistics.longer
    if len(seen.states) != 2 or seen.reach < 2:
        raise UntestableError("Three records in a row are compared for two values only.")
    place, _ = merged_strata(seen)
    effects, error = third_order(seen, place, reach)
    three = float(effects[-1])
    p_value = float(2 * ndtr(-abs(three) / error))

    def with_three(effect: float) -> float:
        """The pairs' odds given all others range over what the third record may add."""
        pairs = np.pad(effects[:-1], (0, max(2 - reach, 0)))
        most = np.abs(pairs)
        most[0] = max(most[0], abs(pairs[0] + 2 * effect))
        most[1] = max(most[1], abs(pairs[1] + effect))
        return prices.of(most)

    base = prices.of(np.abs(effects[:-1]))
    allowed = max(with_three(three + _WIDTH * error), with_three(three - _WIDTH * error), 1.0)
    least = prices.least(np.abs(effects[:-1]), [0, 1], [2, 1])
    power = normal(least / error, DOUBTFUL / 2)
    matters = f"If three in a row matter as much as the data allow, ε = {_shown(allowed)} instead of 1" + (
        "; effects then do not add up, as this model assumes." if model.additive else "."
    )
    return Outcome.of(
        judge(p_value, with_three(three) > MATTERS * base, power >= ENOUGH_POWER),
        f"a factor of {math.exp(three):.3g}, {shown_p(p_value)}; power {power:.2f}",
        {"p_value": p_value, "power": power, "epsilon_allowed": allowed},
        fine=f"The effects of neighbours add up, as far as the test can tell. {matters}",
        flagged=f"The effect of one neighbour depends on another. {matters}",
        advice="Fit without additive, with odds that leave room for it." if model.additive else "Leave room for it.",
        untested=f"There are too few records to find an effect that raises ε by a quarter. {matters}",
    )


@check(
    "signs",
    "Do all records around one push the same way? (The effect with the clearest other sign, by its standard error; "
    "Bonferroni's correction.)",
)
def _signs(statistics: SeriesStatistics, model: OddsSeries) -> Outcome:
    from scipy.special import ndtr

    fitted = statistics.fitted(len(model.odds))
    if fitted.states != 2:
        raise UntestableError("Signs are compared for two values only.")
    errors = np.sqrt(np.diag(fitted.covariance))
    places = np.ravel(fitted.effects) * fitted.signs / errors
    p_value = min(1.0, len(places) * float(ndtr(places.min())))
    power = normal(math.log(MATTERS) / float(errors.max()), DOUBTFUL / len(places))
    against = int(np.argmin(places)) + 1
    return Outcome.of(
        judge(p_value, True, power >= ENOUGH_POWER),
        f"distance {against}: odds ratio {math.exp(float(np.ravel(fitted.effects)[against - 1])):.3g}, "
        f"{shown_p(p_value)}; power {power:.2f}",
        {"p_value": p_value, "power": power},
        fine="No effect of the other sign was found.",
        flagged="Some records push the other way, so the price of effects that add up is not proven.",
        advice="Fit without additive.",
        untested=f"There are too few records to find an odds ratio of 1/{MATTERS:g}.",
    )


def _clock(clock: str, seen: Counted, model: OddsSeries, prices: _Prices) -> Finding:
    """Test whether records depend on one another more strongly at some readings of a clock.

    Effects that the model lets differ by this clock are left out.
    """
    several = None if model.fitted is None else model.fitted.by_stratum
    apart = several.apart if several is not None and clock in several.within else 0
    what = f"Do records more than {apart} apart depend" if apart else "Do records depend"

    @check(
        clock,
        f"{what} on one another equally strongly whatever the {clock}? (The spread of the readings' own "
        "leakages beside their standard errors: χ² of Cochran.)",
    )
    def examined() -> Outcome:
        reach = len(model.odds)
        if apart >= reach:
            return by_construction(f"Effects at every distance were fitted by {clock}, and the largest ones count.")
        pooled = np.array(_fitted(seen, reach, simulated=_SIMULATED).effects)
        gradient = price_gradient(pooled, prices.tau)
        readings = list(_by_reading(seen, reach))
        if len(readings) < 2:
            raise UntestableError(f"Too few records at each {clock}.")
        spread = _Spread.of(readings, _beyond(gradient, apart, reach))
        base = float(_beyond(gradient, apart, reach) @ np.ravel(pooled))
        others = np.concatenate([np.log(model.odds)[:apart], log_odds_of(pooled)[apart:]])

        def scaled(strength: float) -> float:
            factors = np.where(np.arange(reach) < apart, 1.0, max(strength / base, 0.0))
            return prices.of(others * factors) / prices.of(others)

        most, allowed = scaled(float(spread.means.max())), max(scaled(float(spread.upper.max())), 1.0)
        power = scaled_chi_square(spread.freedom, 1 + (MATTERS - 1) ** 2 * spread.room / spread.freedom, DOUBTFUL)
        at = readings[int(spread.means.argmax())][0]
        matters = f"At the {clock} with the strongest dependence the data allow ε = {_shown(allowed)} instead of 1."
        farther = {
            beyond(nearest): _Spread.of(readings, _beyond(gradient, nearest, reach)).p_value
            for nearest in range(apart + 1, min(MOST_DIFFERING, reach - 1) + 1)
        }
        return Outcome.of(
            judge(spread.p_value, most > MATTERS, power >= ENOUGH_POWER),
            f"χ² = {spread.statistic:.1f} {on_degrees(spread.freedom)}, {shown_p(spread.p_value)}; strongest at {at}, "
            f"power {power:.2f}",
            {"p_value": spread.p_value, "power": power, "epsilon": most, "epsilon_allowed": allowed, **farther},
            fine=f"No {clock} was found to be different. {matters}",
            flagged=f"The dependence differs by {clock}. {matters}",
            advice=f"Let more effects differ: effects_within={clock}, effects_up_to={apart + 1}.",
            untested=f"There are too few records to find readings that differ by a quarter. {matters}",
        )

    return examined()


def beyond(nearest: int) -> str:
    """Return the name of the p-value of a clock's test of effects beyond the nearest distances only."""
    return f"p_value beyond {nearest}"


def _beyond(gradient: Floats, nearest: int, reach: int) -> Floats:
    """Return a gradient with 0 for the effects of the nearest distances."""
    return np.where(np.arange(len(gradient)) < nearest * len(gradient) // reach, 0.0, gradient)


@dataclass(frozen=True)
class _Spread:
    """How far the leakages of a clock's readings, linear in their effects, are apart beside their standard errors.

    means: shrunk towards the mean of all; upper: their one-sided limits of 95 %.
    room:  by how much the statistic grows with the variance between readings.
    """

    statistic: float
    freedom: int
    means: Floats
    upper: Floats
    room: float

    @classmethod
    def of(cls, readings: Sequence[tuple[Any, Floats, Floats]], gradient: Floats) -> _Spread:
        """Compare readings, each with its effects and their covariance, in the direction of a gradient."""
        strengths = np.array([gradient @ effects for _, effects, _ in readings])
        variances = np.array([gradient @ covariance @ gradient for _, _, covariance in readings])
        weights = 1 / variances
        mean, freedom = float(weights @ strengths / weights.sum()), len(readings) - 1
        statistic = float(weights @ (strengths - mean) ** 2)
        room = float(weights.sum() - (weights**2).sum() / weights.sum())
        between = max((statistic - freedom) / room, 0.0)
        kept = between / (between + variances)
        means = mean + kept * (strengths - mean)
        return cls(statistic, freedom, means, means + _WIDTH * np.sqrt(kept * variances), room)

    @property
    def p_value(self) -> float:
        from scipy.special import chdtrc

        return float(chdtrc(self.freedom, self.statistic))


def _by_reading(seen: Counted, reach: int) -> Iterator[tuple[Any, Floats, Floats]]:
    """Yield each reading of the last stratum column with its own effects and their covariance."""
    for reading in dict.fromkeys(values[-1] for values in seen.strata):
        chosen = [place for place, values in enumerate(seen.strata) if values[-1] == reading]
        kept = np.isin(seen.stratum, chosen)
        part: Any = replace(
            seen,
            strata=tuple(seen.strata[place] for place in chosen),
            stratum=np.searchsorted(chosen, seen.stratum[kept]),
            code=seen.code[kept],
            count=seen.count[kept],
        )
        try:
            place, _ = merged_strata(part)
            found = regression(part, place, reach, simulated=_SIMULATED)
        except ModelError:
            continue
        yield reading, found.effects.ravel(), found.covariance


def _moving_together(statistics: ChainStatistics) -> Finding:
    """Return the finding about entities, with what it would leak: Σ_j cov(s_i, s_j) / var(s_i), as τ → 0."""
    finding = independent_entities(statistics)
    ratios = [value for name, value in finding.values.items() if name.endswith("variance_ratio")]
    if not ratios or finding.verdict == Verdict.FINE:
        return finding
    allowed = max(*ratios, 1.0)
    meaning = f"{finding.meaning} Counted as one, they leak about ε = {_shown(allowed)} instead of 1."
    return replace(finding, meaning=meaning, values={**finding.values, "epsilon_allowed": allowed})


def _fitted(seen: Counted, reach: int, *, simulated: int = SIMULATED) -> PairEffects:
    """Return the effects of this reach, fitted to the inner records of patterns."""
    states = len(seen.states)
    apart = seen.reach - reach
    inner: Any = replace(seen, reach=reach, code=seen.code // states**apart % states ** (2 * reach + 1))
    try:
        return fitted_effects(inner, (), simulated=simulated)
    except ModelError as error:
        raise UntestableError(str(error)) from None


def _alike(one: PairEffects, other: PairEffects) -> bool:
    """Whether two fits differ by less than half a standard error, as those to nearly the same records do."""
    if np.shape(one.effects) != np.shape(other.effects):
        return False
    apart = np.abs(np.ravel(one.effects) - np.ravel(other.effects))
    return bool((apart < np.sqrt(np.diag(other.covariance)) / 2).all())


def _shown(epsilon: float) -> str:
    return shown_above(epsilon, 3)
