"""Built-in twins: artificial data with exactly the statistics that the paper's results depend on.

A twin contains no record of the original data. It is generated from a fixed seed and matches the published statistics
exactly: the transition counts of a chain, or the means, variances and correlations of normal groups. It uses only
`random.Random.random`, whose stream Python keeps stable.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from datetime import date, timedelta
from itertools import cycle, islice, pairwise
from random import Random
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = [
    "ACTIVITY_COUNTS",
    "ACTIVITY_RECORDS",
    "ACTIVITY_TRIPLES",
    "ELECTRICITY_COUNTS",
    "activity",
    "electricity",
    "family_iq",
    "galton",
    "order_statistic",
    "synthetic_iq",
]

Counts = tuple[tuple[int, int], tuple[int, int]]
Triples = Sequence[Sequence[Sequence[int]]]

ACTIVITY_COUNTS: Counts = ((9713, 1295), (1295, 2955))
"""Transition counts from inactive or active intervals to inactive or active ones, without those across gaps."""

ACTIVITY_TRIPLES = (((8828, 879), (491, 804)), ((879, 416), (804, 2151)))
"""Counts of three consecutive intervals in the original file; the twin matches only the counts of two."""

ACTIVITY_RECORDS = 15264
"""The number of intervals of Activity without missing ones."""

ELECTRICITY_COUNTS: dict[int, Counts] = {
    70: ((69, 86), (86, 489)),
    80: ((401, 89), (89, 151)),
    90: ((533, 63), (64, 70)),
}
"""For each threshold in kWh, the transition counts from low or high days to low or high ones."""

_ACTIVITY_DAYS = tuple(date(2012, 10, 1) + timedelta(days) for days in range(61))
_ACTIVITY_MISSING = frozenset(
    date(2012, month, day) for month, day in ((10, 1), (10, 8), (11, 1), (11, 4), (11, 9), (11, 10), (11, 14), (11, 30))
)
_ACTIVITY_INTERVALS = tuple(100 * hour + minute for hour in range(24) for minute in range(0, 60, 5))
_MOST_STEPS = 806

# Galton's published summary (Hanley 2004), which is that of galton.csv: over its 898 rows, inches, denominator n - 1.
_GALTON_ROWS, _GALTON_FAMILIES, _GALTON_SONS = 898, 197, 465
_GALTON_MEANS = (69.23, 64.08, 66.76)  # father, mother, child
_GALTON_VARIANCES = (6.10, 5.32, 12.84)
_GALTON_CORRELATIONS = ((1, 0.0737, 0.2754), (0.0737, 1, 0.2017), (0.2754, 0.2017, 1))

# The summary of the child's score and the mother's IQ in kidiq.csv (Gelman and Hill 2007), denominator n - 1.
_FAMILY_IQ_ROWS = 434
_FAMILY_IQ_MEANS = (86.80, 100.00)
_FAMILY_IQ_DEVIATIONS = (20.41, 15.00)
_FAMILY_IQ_CORRELATIONS = ((1, 0.4483), (0.4483, 1))

_SYNTHETIC_IQ_ROWS = 10_000


def activity() -> pl.DataFrame:
    """Return 61 days of 288 intervals with Activity's transition counts and its eight missing days.

    The twin matches the counts only: its activity does not depend on the time of day.

    >>> activity()["steps"].null_count()
    2304
    """
    import polars as pl

    draw = _random(1)
    states = iter(_activity_states(draw))
    steps = [
        None if day in _ACTIVITY_MISSING else _steps(draw) if next(states) else 0
        for day in _ACTIVITY_DAYS
        for _ in _ACTIVITY_INTERVALS
    ]
    dates = [day for day in _ACTIVITY_DAYS for _ in _ACTIVITY_INTERVALS]
    intervals = _ACTIVITY_INTERVALS * len(_ACTIVITY_DAYS)
    schema = {"steps": pl.Int64, "date": pl.Date, "interval": pl.Int64}
    return pl.DataFrame({"steps": steps, "date": dates, "interval": intervals}, schema=schema)


def electricity(threshold: int) -> pl.DataFrame:
    """Return 731 days, high or low, with the transition counts of that threshold; the energies are artificial.

    >>> electricity(80)["high"].sum()
    241
    """
    import polars as pl

    if threshold not in ELECTRICITY_COUNTS:
        raise InvalidInputError(f"the threshold must be 70, 80 or 90 kWh, not {brief(threshold)}")
    draw = _random(threshold)
    high = _path(ELECTRICITY_COUNTS[threshold], first=True, draw=draw)
    kwh = [round(threshold + (1 if state else -1) * (0.1 + 25 * draw.random()), 3) for state in high]
    days = [date(2012, 4, 1) + timedelta(index) for index in range(len(high))]
    return pl.DataFrame({"day": days, "kwh": kwh, "high": high})


def galton() -> pl.DataFrame:
    """Return 898 children of 197 families, normal, with Galton's means, variances and correlations.

    Siblings share their parents' heights; sons are not taller than daughters here.

    >>> galton()["family"].n_unique()
    197
    """
    import polars as pl

    draw = _random(1886)
    more = [int(draw.random() * _GALTON_FAMILIES) for _ in range(_GALTON_ROWS - _GALTON_FAMILIES)]
    families = np.array(sorted([*range(_GALTON_FAMILIES), *more]))
    parents = _normal(draw, _GALTON_FAMILIES, 2)[families]
    children = _normal(draw, _GALTON_ROWS, 1)
    sons = set(_chosen(_GALTON_SONS, _GALTON_ROWS, draw))
    father, mother, height = _with_moments(
        np.hstack([parents, children]), _GALTON_MEANS, np.sqrt(_GALTON_VARIANCES), _GALTON_CORRELATIONS
    )
    return pl.DataFrame(
        {
            "family": [str(family + 1) for family in families],
            "father": father,
            "mother": mother,
            "sex": ["M" if row in sons else "F" for row in range(_GALTON_ROWS)],
            "height": height,
        }
    )


def family_iq() -> pl.DataFrame:
    """Return 434 normal pairs of a child's score and its mother's IQ with the published moments.

    >>> round(family_iq()["kid_score"].std(), 2)
    20.41
    """
    import polars as pl

    draws = _normal(_random(434), _FAMILY_IQ_ROWS, 2)
    kid, mother = _with_moments(draws, _FAMILY_IQ_MEANS, np.array(_FAMILY_IQ_DEVIATIONS), _FAMILY_IQ_CORRELATIONS)
    return pl.DataFrame({"kid_score": kid, "mom_iq": mother})


def synthetic_iq(mean: float = 100, deviation: float = 15, correlation: float = 0.45) -> pl.DataFrame:
    """Return 10,000 pairs drawn from the normal law of the paper's SyntheticIQ.

    >>> synthetic_iq().shape
    (10000, 2)
    """
    import polars as pl

    child, other = _normal(_random(45), _SYNTHETIC_IQ_ROWS, 2).T
    mother = correlation * child + math.sqrt(1 - correlation**2) * other
    return pl.DataFrame({"child": mean + deviation * child, "mother": mean + deviation * mother})


def order_statistic(triples: Triples) -> float:
    """Return G² of the hypothesis that the last of three records does not depend on the first, given the second.

    It has two degrees of freedom: for a first-order chain it exceeds 13.8 once in a thousand cases.

    >>> round(order_statistic(ACTIVITY_TRIPLES))
    496
    """
    table = np.array(triples, dtype=np.float64)
    expected = table.sum(axis=2, keepdims=True) * table.sum(axis=0) / table.sum(axis=(0, 2))[:, None]
    seen = table > 0
    return float(2 * (table[seen] * np.log(table[seen] / expected[seen])).sum())


def _random(seed: int) -> Random:
    return Random(seed)  # noqa: S311 (artificial data needs no cryptographic randomness)


def _chosen(count: int, among: int, draw: Random) -> list[int]:
    """Return `count` of the first `among` numbers, all choices equally likely."""
    return sorted(range(among), key=lambda _: draw.random())[:count]


def _composition(total: int, parts: int, draw: Random) -> list[int]:
    """Return `parts` positive numbers with the sum `total`, all such lists equally likely."""
    cuts = sorted(1 + cut for cut in _chosen(parts - 1, total - 1, draw))
    return [end - start for start, end in pairwise([0, *cuts, total])]


def _path(counts: Counts, first: bool, draw: Random) -> list[bool]:
    """Return a sequence that begins with `first` and has these transition counts, all such sequences equally likely.

    That is the law of a Markov chain given its transition counts: the lengths of its runs are uniform.
    """
    (stay_low, up), (down, stay_high) = counts
    runs = {False: down + (not first), True: up + first}
    stays = {False: stay_low, True: stay_high}
    lengths = {state: iter(_composition(stays[state] + runs[state], runs[state], draw)) for state in runs}
    alternating = islice(cycle((first, not first)), sum(runs.values()))
    return [state for state in alternating for _ in range(next(lengths[state]))]


def _activity_states(draw: Random) -> list[bool]:
    """Return the states of the observed intervals; every stretch between gaps begins and ends inactive."""
    cuts = _activity_cuts()
    (rest, up), busy = ACTIVITY_COUNTS
    while True:
        states = _path(((rest + len(cuts), up), busy), first=False, draw=draw)
        if not any(states[cut - 1] or states[cut] for cut in cuts):
            return states


def _activity_cuts() -> Collection[int]:
    """Return the numbers of observed intervals before each gap, without the gaps at both ends."""
    cuts, position = set(), 0
    for day in _ACTIVITY_DAYS:
        if day in _ACTIVITY_MISSING:
            cuts.add(position)
        else:
            position += len(_ACTIVITY_INTERVALS)
    return cuts - {0, position}


def _steps(draw: Random) -> int:
    """Return the steps of an active interval: at least one, a median of about 60, rarely hundreds."""
    return min(_MOST_STEPS, math.ceil(math.exp(NormalDist(4.1, 1.3).inv_cdf(draw.random()))))


def _normal(draw: Random, rows: int, columns: int) -> NDArray[np.float64]:
    law = NormalDist()
    return np.array([[law.inv_cdf(draw.random()) for _ in range(columns)] for _ in range(rows)])


def _with_moments(
    draws: NDArray[np.float64],
    means: Sequence[float],
    deviations: NDArray[np.float64],
    correlations: Sequence[Sequence[float]],
) -> list[NDArray[np.float64]]:
    """Return the columns, mapped linearly to the given sample means, deviations and correlations.

    The map is triangular: a column depends only on itself and those left of it, so equal rows there stay equal.
    """
    sample_factor = np.linalg.cholesky(np.cov(draws.T))
    wanted = np.linalg.cholesky(np.array(correlations) * np.outer(deviations, deviations))
    weights = np.tril(wanted @ np.linalg.inv(sample_factor))
    centred = (draws - draws.mean(axis=0)).T
    return [
        mean + sum((weight * column for weight, column in zip(row, centred, strict=True)), np.zeros(len(draws)))
        for mean, row in zip(means, weights, strict=True)
    ]
