"""Likelihood ratios of tables of counts: the statistics, what was seen of a table, and the verdict they come to."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bayesdp.diagnostics.ratio import LikelihoodRatio, homogeneity
from bayesdp.diagnostics.report import UntestableError


def test_figures_of_a_hand_example() -> None:
    found = homogeneity([np.array([[10, 20], [20, 10]])], 60)
    expected = 4 * (10 * math.log(10 / 15) + 20 * math.log(20 / 15))
    assert found.likelihood == pytest.approx(expected)
    assert found.pearson == pytest.approx(4 * 25 / 15)
    assert found.freedom == 1
    assert found.bic == pytest.approx(math.log(60) - expected)
    assert found.change == pytest.approx(1 / 6)
    assert found.factor == pytest.approx(15.5 / 10.5)


def test_tables_are_added_up_and_only_what_was_seen_counts() -> None:
    generator = np.random.default_rng(1)
    first, second = generator.integers(20, 30, (4, 3)), generator.integers(20, 30, (2, 3))
    found = homogeneity([first, second], int(first.sum() + second.sum()))
    alone = [stats.chi2_contingency(table, correction=False) for table in (first, second)]
    assert found.pearson == pytest.approx(sum(test.statistic for test in alone))
    assert found.freedom == 3 * 2 + 1 * 2
    first[2], first[:, 0] = 0, 0  # a row and a column that never occurred
    assert homogeneity([first], int(first.sum())).freedom == 2 * 1


def test_the_larger_of_the_two_p_values_is_believed() -> None:
    found = LikelihoodRatio(likelihood=30.0, pearson=9.0, freedom=2, size=5000, change=0.1, factor=1.5)
    assert found.p_value == pytest.approx(stats.chi2.sf(9.0, 2))
    swapped = LikelihoodRatio(likelihood=9.0, pearson=30.0, freedom=2, size=5000, change=0.1, factor=1.5)
    assert swapped.p_value == found.p_value


@pytest.mark.parametrize(
    ("likelihood", "size", "factor", "verdict"),
    [
        (60.0, 5000, 1.5, "violated"),
        (60.0, 5000, 1.01, "doubtful"),  # too small to matter
        (13.9, 10**9, 1.5, "doubtful"),  # the BIC prefers the simpler model
        (1.0, 5000, 1.5, "fine"),
        (1.0, 100, 1.5, "not tested"),  # nothing would have been seen
    ],
)
def test_a_violation_is_certain_and_matters(likelihood: float, size: int, factor: float, verdict: str) -> None:
    found = LikelihoodRatio(likelihood, likelihood, 2, size, 0.1, factor)
    reported = found.outcome("fine.", "flagged.", "advice.", "; more")
    assert reported.verdict == verdict
    assert "; more" in reported.figure
    assert (reported.advice == "advice.") == (verdict in ("violated", "doubtful"))
    assert reported.meaning.startswith(
        {"fine": "fine.", "not tested": "The test found nothing"}.get(verdict, "flagged.")
    )


def test_rare_cells_do_not_say_how_far_off_a_table_is() -> None:
    rare = np.array([[1000, 1], [1000, 4]])
    assert homogeneity([rare], 2005).factor < 1.01


@pytest.mark.parametrize("table", [np.zeros((2, 2)), [[5, 0], [7, 0]], [[5, 3], [0, 0]]])
def test_where_nothing_differs_there_is_nothing_to_compare(table: object) -> None:
    with pytest.raises(UntestableError, match="nothing to compare"):
        homogeneity([np.array(table, dtype=int)], 10)
