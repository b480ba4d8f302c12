"""Quantiles that are selected: the candidate, and an interval that covers the quantile of the records."""

from __future__ import annotations

import math

import numpy as np
import polars
import pytest

from bayesdp import Median, Quantile
from bayesdp.frames.aggregates import tally
from bayesdp.mechanisms import NoisyMaxMechanism
from bayesdp.session.measurement import Measurement
from bayesdp.session.prepared_query import SELECTIONS, selected

AGES = range(121)


@pytest.mark.parametrize(("law", "n", "tau"), [("normal", 400, 1.0), ("atoms", 300, 2.0), ("few", 12, 3.0)])
def test_the_intervals_cover_the_quantiles_of_the_records(law: str, n: int, tau: float) -> None:
    """All three at once, nominally in 80 % of 150 releases at least; four standard errors below are allowed."""
    generator = np.random.default_rng(n)
    values = {
        "normal": generator.normal(50, 15, n),
        "atoms": generator.choice([10.0, 50.0, 50.5, 130.0], n),
        "few": generator.normal(50, 15, n),
    }[law]
    query = Quantile("x", at=[0.1, 0.5, 0.75], candidates=AGES)
    (exact,) = tally(polars.DataFrame({"x": values}), [query])
    mechanism = NoisyMaxMechanism(tau, len(AGES), 9)
    truths = [min(max(sorted(values)[rank - 1], 0.0), 120.0) for rank in query.ranks(n)]
    covered = 0
    for _ in range(150):
        found = selected(query, exact, mechanism, beta=0.2)
        assert found.ends is not None
        covered += all(low <= truth <= high for truth, (low, high) in zip(truths, found.ends, strict=True))
    assert covered / 150 >= 0.8 - 4 * math.sqrt(0.16 / 150)


def chosen(values: list[float], beta: float = 0.05, tau: float = 1e4) -> Measurement:
    query = Median("x", candidates=[0, 10, 20, 30])
    (exact,) = tally(polars.DataFrame({"x": values}), [query])
    return selected(query, exact, NoisyMaxMechanism(tau, 4, SELECTIONS), beta)


def test_with_little_noise_it_is_the_candidate_at_the_quantile() -> None:
    found = chosen([1.0, 11.0, 12.0, 13.0, 29.0])
    assert found.value == 20
    assert found.ends == ((10.0, 20.0),), "the quantile lies between the candidate before and its own"
    assert (found.records, found.ends_beta) == (5, 0.05)


def test_without_more_ranks_the_interval_ends_at_a_candidate() -> None:
    """Two records and much noise: no rank below or above can be aimed at."""
    assert chosen([11.0, 12.0], tau=0.01).ends == ((0.0, 30.0),)


def test_several_quantiles_come_with_an_interval_each() -> None:
    query = Quantile("x", at=[0.25, 0.75], candidates=[0, 10, 20, 30])
    (exact,) = tally(polars.DataFrame({"x": [1.0, 2.0, 3.0, 25.0, 26.0, 27.0]}), [query])
    found = selected(query, exact, NoisyMaxMechanism(1e4, 4, 2 * SELECTIONS), 0.05)
    assert found.value == (10, 30)
    assert found.ends == ((0.0, 10.0), (20.0, 30.0))


def test_intervals_and_an_exact_answer_are_printed_in_words() -> None:
    assert chosen([1.0, 11.0, 12.0, 13.0, 29.0]).spans == "interval: 10 to 20"
    exact = chosen([0.0] * 9)
    assert exact.ends == ((0.0, 0.0),)
    assert exact.off_by == "10 in 95 % of cases"
    query = Quantile("x", at=[0.25, 0.75], candidates=[0, 10, 20, 30])
    (tallied,) = tally(polars.DataFrame({"x": [5.0] * 20 + [25.0] * 20}), [query])
    several = selected(query, tallied, NoisyMaxMechanism(1e4, 4, 2 * SELECTIONS), 0.05)
    assert several.spans == "interval of each: 0.25: 0 to 10, 0.75: 20 to 30"
