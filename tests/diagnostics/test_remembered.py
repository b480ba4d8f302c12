"""How far back a chain remembers: Cochran, Mantel and Haenszel's test for any number of states."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import StratifiedTable

from bayesdp.diagnostics.remembered import in_common, one_record_more
from bayesdp.diagnostics.report import UntestableError


def test_it_is_the_test_of_statsmodels_for_two_states() -> None:
    generator = np.random.default_rng(5)
    tables = [generator.integers(1, 80, (2, 2)) for _ in range(7)]
    theirs = StratifiedTable([table.T for table in tables]).test_null_odds()
    ours = in_common(tables)
    assert ours.freedom == 1
    assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-10)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-10)


def test_one_table_gives_pearsons_statistic_but_for_one_record() -> None:
    from scipy.stats import chi2_contingency

    table = np.random.default_rng(1).integers(5, 60, (3, 3))
    total, found = table.sum(), in_common([table])
    assert found.freedom == 4
    pearson = chi2_contingency(table, correction=False).statistic
    assert found.statistic == pytest.approx(pearson * (total - 1) / total, rel=1e-10)


def runs_of(order: int, strata: int, records: int, depth: int) -> list[np.ndarray]:
    """Simulate chains of two states, one a stratum, in which the next record equals the `order`-th last by 80 %.

    The strata differ in how often the state is 1, which must not pass for memory.
    """
    generator = np.random.default_rng(11)
    found = []
    for stratum in range(strata):
        share = (stratum + 1) / (strata + 1)
        states = list(generator.integers(0, 2, order))
        for _ in range(records):
            copied = generator.random() < 0.5
            states.append(states[-order] if copied else int(generator.random() < share))
        table = np.zeros((2,) * (depth + 1), dtype=np.int64)
        for end in range(depth, len(states)):
            table[tuple(states[end - depth : end + 1])] += 1
        found.append(table)
    return found


@pytest.mark.parametrize("order", [1, 2, 3])
def test_it_finds_the_memory_simulated_and_no_longer_one(order: int) -> None:
    runs = runs_of(order, strata=6, records=3000, depth=4)
    verdicts = [one_record_more(runs, memory).verdict for memory in (1, 2, 3)]
    assert verdicts[order - 1 :] == ["fine"] * (4 - order)
    if order > 1:
        assert verdicts[order - 2] == "violated"


def test_too_few_records_tell_nothing_and_short_runs_are_refused() -> None:
    few = one_record_more(runs_of(1, strata=2, records=20, depth=2), 1)
    assert few.verdict == "not tested"
    assert in_common([]).verdict == "not tested"
    assert in_common([]).p_value == 1.0
    assert "nothing to compare" in in_common([]).figure
    with pytest.raises(UntestableError, match="3 records"):
        one_record_more([np.ones((2, 2))], 1)
