"""How often the 95 % point of a posterior lies above the truth: the tables of docs/uncertainty.md and of
docs/theory/private-fit.md, and the figures of docs/fitting.md about effects that differ by stratum.

python benchmarks/coverage.py [DATA SETS] [correlations | odds | series | groups | strata]

correlations: of groups, estimated from exact moments.
odds:         of chains, learnt from noisy transition counts (Session.fit), the noise included.
series:       of series by distance, learnt from noisy sums (Session.fit), the noise included.
groups:       of groups, learnt from noisy sums of squares and products (Session.fit), the noise included.
strata:       of series by distance whose effects differ by stratum, fitted to exact counts (OddsSeries.fit).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from bayesdp import GaussianGroups
from bayesdp.frames.groups import group_moments
from bayesdp.frames.patterns import Patterns
from bayesdp.models.layout import GroupLayout
from bayesdp.models.learnt import Learnt, sensitivity
from bayesdp.models.learnt_correlation import STEPS, LearntCorrelation, pairs_sensitivity
from bayesdp.models.learnt_series import credible_series, sums_sensitivity, weight_of_strata
from bayesdp.models.moments import AnovaMoments
from bayesdp.models.pair_effects import credible_odds, reference_tau, small_price
from bayesdp.models.pair_regression import effects_by_stratum, fitted_effects
from bayesdp.models.series_sums import Course
from bayesdp.models.strata import log_odds_of
from shared.reporting import report

LEVEL = 0.95
DRAWS = 400

MEMBERS: list[tuple[dict[int, int], float]] = [
    ({3: 50}, 0.0),
    ({3: 50}, 0.3),
    ({2: 20}, 0.9),
    ({1: 20, 2: 20, 5: 10}, 0.5),
    ({1: 40, 20: 5}, 0.3),
    ({1: 40, 20: 5}, 0.7),
    ({2: 50, 100: 2}, 0.5),
]
"""How many groups there are of each size, and the true correlation."""

PAIRS = [(40, 0, 0.6), (20, 600, 0.3), (20, 600, 0.6), (20, 600, 0.8)]
"""Complete pairs, halves of pairs, and the true correlation."""

RECORDS, TAUS = (500, 5_000, 50_000), (0.05, 0.2, 1.0)

CHAINS: list[tuple[str, list[object]]] = [
    ("two states", [[[0.9, 0.1], [0.35, 0.65]]]),
    ("two states, one rare", [[[0.98, 0.02], [0.3, 0.7]]]),
    ("three states", [[[0.8, 0.15, 0.05], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]]]),
    ("two states in four hours", [[[0.9, 0.1], [odds, 1 - odds]] for odds in (0.35, 0.4, 0.5, 0.35)]),
    ("a memory of two", [[[[0.91, 0.09], [0.38, 0.62]], [[0.68, 0.32], [0.27, 0.73]]]]),
]
"""Transition tables, one for each hour, which come in turn."""

SERIES: list[tuple[str, list[float], list[float]]] = [
    ("one stratum", [-1.6], [1.6, 0.5]),
    ("four hours, one of them quiet", [-3.0, -1.6, -1.0, -1.6], [1.6, 0.5]),
    ("a reach of three", [-1.6], [1.4, 0.25, 0.2]),
]
"""The fields of the hours, twelve records each, which come in turn, and ln of the odds ratios by distance."""

SERIES_RECORDS, SERIES_TAUS = (6_000, 24_000), (0.3, 1.0)

NO_CEILING = 1e300

STRATA: list[tuple[str, int, float, int]] = [
    ("twelve strata", 12, 0.3, 1500),
    ("twelve strata, all alike", 12, 0.0, 1500),
    ("four strata", 4, 0.5, 3000),
]
"""How many strata there are, the standard deviation of ln of the odds ratio of neighbours, and records in each."""

COMMON = [1.5, 0.4]
"""The mean of ln of the odds ratio of neighbours, and that two places apart."""

BLOCK = 50
"""How many records in a row belong to one stratum."""

LEARNT_GROUPS: list[tuple[str, dict[int, float], float, float]] = [
    ("pairs", {2: 1.0}, 0.6, 4.0),
    ("groups of three", {3: 1.0}, 0.3, 4.0),
    ("groups of three, close", {3: 1.0}, 0.95, 4.0),
    ("one to five, bounds close to the values", {1: 0.2, 2: 0.4, 5: 0.4}, 0.4, 2.4),
]
"""The share of records in groups of each size, the true correlation, and how many standard deviations from the mean the
closer bound is; the other one is half as far again."""


def groups(generator: np.random.Generator, sizes: Sequence[int], correlation: float) -> pl.DataFrame:
    """Draw groups of these sizes: a record a row, with its group and its role."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    common = generator.standard_normal(len(sizes))[group]
    value = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * generator.standard_normal(len(group))
    role = np.concatenate([np.arange(size) for size in sizes])
    return pl.DataFrame({"group": group, "role": role.astype(str), "value": value})


def members_below(generator: np.random.Generator, sizes: dict[int, int], truth: float) -> float:
    """Return the posterior share of correlations below the true one: exchangeable members.

    The moments are taken as they are: a fit refuses those whose correlation is too negative for the largest group.
    """
    members = [size for size, number in sizes.items() for _ in range(number)]
    moments = group_moments(groups(generator, members, truth), GroupLayout("value", "group"))
    assert isinstance(moments, AnovaMoments)
    points, shares = moments.posterior()
    return float(shares[points < truth].sum())


def pairs_below(generator: np.random.Generator, complete: int, halves: int, truth: float) -> float:
    """Return the same for two roles, of which many groups have one only; estimated by draws."""
    frame = groups(generator, [2] * (complete + halves), truth)
    lost = (pl.col("group") >= complete) & (pl.col("role") == (pl.col("group") % 2).cast(pl.String))
    model = GaussianGroups.fit(frame.filter(~lost), value="value", group="group", role="role")
    matrices = [drawn.matrices[0] for drawn in islice(model.draws(generator), DRAWS)]
    return float(np.mean([matrix[0, 1] / np.sqrt(matrix[0, 0] * matrix[1, 1]) < truth for matrix in matrices]))


def shown(name: str, truth: float, below: list[float]) -> tuple[float, float]:
    covered = np.mean(np.array(below) < LEVEL)
    error = np.sqrt(covered * (1 - covered) / len(below))
    print(f"{name:32} ρ = {truth:g}: {100 * covered:.1f} % (± {100 * error:.1f})", flush=True)
    return float(covered), float(error)


def worst(name: str, covered: list[tuple[float, float]]) -> None:
    """Report the lowest coverage of several, and that less three standard errors it is the nominal one."""
    share, error = min(covered, key=lambda pair: pair[0] + 3 * pair[1])
    report(f"{name}: lowest of {len(covered)}", 100 * share, "%", at_least=100 * LEVEL - 300 * error)


def transition_counts(generator: np.random.Generator, tables: np.ndarray, records: int, sets: int) -> np.ndarray:
    """Return transition counts [data set][hour][before]…[next] of chains whose hours come in turn."""
    memory, states = tables.ndim - 2, tables.shape[-1]
    limits, counts = tables.cumsum(axis=-1), np.zeros((sets, *tables.shape), dtype=np.int64)
    places, last = np.arange(sets), [generator.integers(states, size=sets) for _ in range(memory)]
    for step in range(records - memory):
        hour = step % len(tables)
        following = (generator.random(sets)[:, None] > limits[(hour, *last)]).sum(axis=-1).clip(max=states - 1)
        counts[(places, hour, *last, following)] += 1
        last = [*last[1:], following]
    return counts


def learnt_odds(generator: np.random.Generator, counts: np.ndarray, tau: float) -> float:
    """Return the odds ratio learnt from counts with the same noise as in a release."""
    kept = 1 - np.exp(-tau / sensitivity(counts.ndim - 2))
    noisy = counts + generator.geometric(kept, counts.shape) - generator.geometric(kept, counts.shape)
    hours = [(hour,) for hour in range(len(counts))] if len(counts) > 1 else [()]
    return Learnt(NO_CEILING, tau, LEVEL, noisy.tolist(), ("hour",) if len(counts) > 1 else (), hours).odds


def odds_coverage(sets: int) -> None:
    print(
        f"| chain | records | τ₀ | true odds ratio | learnt (median) | covered of {sets} |\n|---|---|---|---|---|---|"
    )
    all_covered = []
    for name, listed in CHAINS:
        tables, generator = np.array(listed), np.random.default_rng(0)
        truth = float(np.exp(log_odds_of(np.log(tables)[None])[0][0]))
        for records in RECORDS:
            counts = transition_counts(generator, tables, records, sets)
            for tau in TAUS:
                odds = [learnt_odds(generator, table, tau) for table in counts]
                covered = float(np.mean(np.array(odds) >= truth))
                all_covered.append(print_row(name, records, tau, truth, float(np.median(odds)), covered, sets))
    worst(f"coverage of learnt odds, {sets} data sets", all_covered)


def drawn_series(
    generator: np.random.Generator, course: np.ndarray, fields: Sequence[float], effects: np.ndarray, sets: int
) -> np.ndarray:
    """Return series [data set][record], each record drawn given those before and the chance of all after it.

    effects: by distance; or [stratum][distance], those of the earlier record of a pair.
    """
    reach = effects.shape[-1]
    every = np.broadcast_to(effects, (len(fields), reach))
    blocks = np.arange(2**reach)
    bits = blocks[:, None] >> np.arange(reach - 1, -1, -1) & 1
    earlier = [course[np.maximum(np.arange(len(course)) - back, 0)] for back in range(1, reach + 1)]
    pulls = np.stack([every[hours, back] for back, hours in enumerate(earlier)], axis=1) @ bits.T
    zero, one = blocks >> 1, blocks >> 1 | 2 ** (reach - 1)
    after = np.ones((len(course) + 1, len(blocks)))
    for place in range(len(course) - 1, -1, -1):
        message = after[place + 1][zero] + np.exp(fields[course[place]] + pulls[place]) * after[place + 1][one]
        after[place] = message / message.max()
    values, last = np.zeros((sets, len(course)), dtype=np.int8), np.zeros(sets, dtype=np.int64)
    for place, hour in enumerate(course.tolist()):
        rise = np.exp(fields[hour] + pulls[place][last]) * after[place + 1][one[last]]
        values[:, place] = generator.random(sets) < rise / (rise + after[place + 1][zero[last]])
        last = np.where(values[:, place] == 1, one[last], zero[last])
    return values


def series_coverage(sets: int) -> None:
    """Print how often the learnt odds leak no less than the true ones, at the τ that leaks 1 under the true ones."""
    print(f"| series | records | τ₀ | true leakage | learnt (median) | covered of {sets} |\n|---|---|---|---|---|---|")
    all_covered = []
    for name, fields, listed in SERIES:
        effects, reach, generator = np.array(listed), len(listed), np.random.default_rng(0)
        reference, ceiling = reference_tau(effects), tuple([50.0] + [10.0] * (reach - 1))
        truth = float(small_price(effects[None], reference)[0])
        for records in SERIES_RECORDS:
            hours = np.arange(records) // 12 % len(fields)
            values = drawn_series(generator, hours, fields, effects, sets)
            totals = [weight_of_strata(reach) * values[:, hours == hour].sum(axis=1) for hour in range(len(fields))]
            products = [(values[:, back:] & values[:, :-back]).sum(axis=1) for back in range(1, reach + 1)]
            sums, course = np.stack([*totals, *products], axis=1), Course.of(hours.astype(np.int16), len(fields))
            for tau in SERIES_TAUS:
                kept = 1 - np.exp(-tau / sums_sensitivity(reach))
                noisy = sums + generator.geometric(kept, sums.shape) - generator.geometric(kept, sums.shape)
                settings: dict[str, Any] = {"ceiling": ceiling, "tau": tau, "credibility": LEVEL, "additive": False}
                odds = [credible_series(course, row, **settings) for row in noisy.tolist()]
                leaked = small_price(np.log(odds), reference)
                covered = float(np.mean(leaked >= truth * (1 - 1e-9)))
                median = float(np.median(leaked))
                all_covered.append(print_row(name, records, tau, truth, median, covered, sets))
    worst(f"coverage of learnt series, {sets} data sets", all_covered)


def counted(values: np.ndarray, course: np.ndarray, strata: int, reach: int) -> Patterns:
    """Return the counts of patterns of a series of two values, as `frames.patterns` finds them."""
    middle = np.arange(reach, len(values) - reach)
    code = sum(values[middle + step].astype(np.int64) << (reach - step) for step in range(-reach, reach + 1))
    keys = np.column_stack([course[middle], code, course[middle], course[middle - 1]])
    rows, counts = np.unique(keys, axis=0, return_counts=True)
    names = tuple((number,) for number in range(strata))
    return Patterns(
        states=(0, 1),
        reach=reach,
        strata=names,
        stratum=rows[:, 0],
        code=rows[:, 1],
        count=counts,
        records=len(values),
        longest=len(values),
        gaps=False,
        kinds=names,
        kind=rows[:, 2:],
    )


def strata_coverage(sets: int) -> None:
    """Print how often credible odds leak no less than the largest true ones, at the τ that leaks 1 under those."""
    print(f"| series | records | leaked instead of 1 (median) | covered of {sets} |\n|---|---|---|---|")
    all_covered = []
    for name, strata, spread, each in STRATA:
        generator, leaked = np.random.default_rng(0), []
        course = np.arange(strata * each) // BLOCK % strata
        for _ in range(sets):
            effects = np.tile(COMMON, (strata, 1))
            effects[:, 0] += spread * generator.standard_normal(strata)
            fields = generator.normal(-1.6, 0.3, strata).tolist()
            (values,) = drawn_series(generator, course, fields, effects, 1)
            seen = counted(values, course, strata, len(COMMON))
            by_stratum = effects_by_stratum(seen, ("stratum",), 1, simulated=2**15)
            fitted = replace(fitted_effects(seen, ("stratum",), simulated=2**14), by_stratum=by_stratum)
            odds = np.array(credible_odds(fitted, LEVEL, additive=False))
            leaked.append(float(small_price(np.log(odds)[None], reference_tau(np.abs(effects).max(axis=0)))[0]))
        covered = float(np.mean(np.array(leaked) >= 1 - 1e-9))
        error = float(np.sqrt(max(covered * (1 - covered), 0.25 / sets) / sets))
        shown_share = f"{100 * covered:.0f} % (± {100 * error:.1f})"
        print(f"| {name} | {strata * each:,} | {np.median(leaked):.3g} | {shown_share} |", flush=True)
        all_covered.append((covered, error))
    worst(f"coverage by stratum, {sets} data sets", all_covered)


def sums_over_pairs(
    generator: np.random.Generator, numbers: dict[int, int], correlation: float, reach: float
) -> np.ndarray:
    """Return the three sums that a private fit releases, of groups whose bounds are −1 and 1."""
    deviation = 2 / (2.5 * reach)
    mean, sums = 1 - reach * deviation, np.zeros(3, dtype=np.int64)
    for size, number in numbers.items():
        common, own = generator.standard_normal((number, 1)), generator.standard_normal((number, size))
        values = mean + deviation * (np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own)
        placed = np.floor(values.clip(-1, 1) * STEPS + 0.5).astype(np.int64)
        squares, totals = (placed**2).sum(), placed.sum(axis=1)
        sums += ((totals**2).sum() - squares, (size - 1) * squares, STEPS * (size - 1) * totals.sum())
    return sums


def learnt_correlation(generator: np.random.Generator, sums: np.ndarray, numbers: dict[int, int], tau: float) -> float:
    """Return the correlation learnt from sums with the same noise as in a release."""
    size = max(numbers)
    noisy = sums + np.rint(generator.laplace(scale=pairs_sensitivity(size) / tau, size=3)).astype(np.int64)
    return LearntCorrelation(1, tau, LEVEL, (-1, 1), size, list(numbers.items()), noisy.tolist()).correlation


def group_coverage(sets: int) -> None:
    print(
        f"| groups | records | τ₀ | true correlation | learnt (median) | covered of {sets} |\n|---|---|---|---|---|---|"
    )
    all_covered = []
    for name, shares, truth, reach in LEARNT_GROUPS:
        generator = np.random.default_rng(0)
        for records in RECORDS:
            numbers = {size: round(records * share / size) for size, share in shares.items()}
            sums = [sums_over_pairs(generator, numbers, truth, reach) for _ in range(sets)]
            for tau in TAUS:
                learnt = np.array([learnt_correlation(generator, sums_of_set, numbers, tau) for sums_of_set in sums])
                covered, median = float(np.mean(learnt >= truth)), float(np.median(learnt))
                all_covered.append(print_row(name, records, tau, truth, median, covered, sets))
    worst(f"coverage of learnt correlations, {sets} data sets", all_covered)


def print_row(
    name: str, records: int, tau: float, truth: float, median: float, covered: float, sets: int
) -> tuple[float, float]:
    """Print a row of a table; return the share that is covered, and its standard error."""
    error = float(np.sqrt(np.maximum(covered * (1 - covered), 0.25 / sets) / sets))
    print(
        f"| {name} | {records:,} | {tau:g} | {truth:.4g} | {median:.4g} | {100 * covered:.1f} % "
        f"(± {100 * error:.1f}) |",
        flush=True,
    )
    return covered, error


def main() -> None:
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    coverages = {
        "odds": odds_coverage,
        "series": series_coverage,
        "groups": group_coverage,
        "strata": strata_coverage,
        "correlations": correlation_coverage,
    }
    for name in sys.argv[2:] or coverages:
        coverages[name](sets)


def correlation_coverage(sets: int) -> None:
    covered = []
    for sizes, truth in MEMBERS:
        generator = np.random.default_rng(0)
        below = [members_below(generator, sizes, truth) for _ in range(sets)]
        covered.append(shown(", ".join(f"{number} of {size}" for size, number in sizes.items()), truth, below))
    for complete, halves, truth in PAIRS:
        generator = np.random.default_rng(0)
        below = [pairs_below(generator, complete, halves, truth) for _ in range(sets)]
        covered.append(shown(f"{complete} pairs, {halves} halves", truth, below))
    worst(f"coverage of correlations, {sets} data sets", covered)


if __name__ == "__main__":
    main()
