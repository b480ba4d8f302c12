"""Pairs of neighbouring tables: the other records are drawn from the model."""

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.audit.neighbouring_tables import NeighbouringTables, pairs_of_neighbouring_tables
from bayesdp.errors import InvalidInputError


def test_tables_of_a_chain_follow_the_chain() -> None:
    """Unknown records occur as often as the conditional law says."""
    chain = bdp.MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["idle", "busy"])
    tables = next(
        pair for pair in pairs_of_neighbouring_tables(chain, None, 1.0) if "1 unknown records before" in pair.who
    )
    drawn = tables.first(200_000, np.random.default_rng(5))
    assert drawn.shape == (200_000, 5)
    position = {"idle": 0, "busy": 1}
    states = np.vectorize(position.get)(drawn)
    assert all(len(np.unique(states[:, place])) == 1 for place in (0, 2, 4))
    left, target, right = states[0, [0, 2, 4]]
    for before, place, after in ((left, 1, target), (target, 3, right)):
        weights = chain.matrix[before] * chain.matrix[:, after]
        assert states[:, place].mean() == pytest.approx(weights[1] / weights.sum(), abs=0.005)


def drawn(tables: NeighbouringTables, runs: int = 40_000) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(7)
    return tables.first(runs, generator), tables.second(runs, generator)


def test_records_that_are_all_alike_are_one_value_or_the_other() -> None:
    (tables,) = pairs_of_neighbouring_tables(bdp.ArbitraryGroups(3), bdp.Count(equals="on"), 1.0)
    first, second = drawn(tables, 2)
    assert first.tolist() == [[0, 0, 0]] * 2
    assert second.tolist() == [["on"] * 3] * 2
    (truths,) = pairs_of_neighbouring_tables(bdp.Independent(), bdp.Count(equals=True), 1.0)
    assert [table.tolist() for table in drawn(truths, 1)] == [[[False]], [[True]]]


def test_neighbours_in_a_tree_have_the_odds_ratio_allowed() -> None:
    smallest = pairs_of_neighbouring_tables(bdp.OddsChain(9.0), None, 0.5)[0]
    first, second = drawn(smallest)
    assert first.shape[1] == 3
    assert not first[:, 0].any()
    assert second[:, 0].all()
    for neighbour in (1, 2):
        shares = first[:, neighbour].mean(), second[:, neighbour].mean()
        odds = (shares[1] / (1 - shares[1])) / (shares[0] / (1 - shares[0]))
        assert odds == pytest.approx(9.0, rel=0.1)


@pytest.mark.parametrize("additive", [False, True])
def test_records_of_a_series_have_the_odds_ratios_allowed(additive: bool) -> None:
    series = bdp.OddsSeries([9.0, 4.0], additive=additive, states=(0, 1), length=3)
    tables = pairs_of_neighbouring_tables(series, None, 0.5)[0]
    first, second = drawn(tables)
    assert first.shape[1] == 3
    assert not first[:, 1].any()
    assert second[:, 1].all()
    for rows in (first, second):
        both = [[((rows[:, 0] == a) & (rows[:, 2] == b)).sum() for b in (0, 1)] for a in (0, 1)]
        assert both[0][0] * both[1][1] / (both[0][1] * both[1][0]) == pytest.approx(4.0, rel=0.15)
    for neighbour in (0, 2):
        odds = [rows[:, neighbour].mean() / (1 - rows[:, neighbour].mean()) for rows in (first, second)]
        assert odds[1] / odds[0] > 9.0


@pytest.mark.parametrize("given", [{"unit": 12}, {"length": 1}, {"length": 8192}, {"unit": 3, "length": 2}])
def test_series_of_any_size_have_tables(given: dict[str, int]) -> None:
    series = bdp.OddsSeries([9.0, 4.0], states=("idle", "busy"), **given)  # type: ignore[arg-type]
    for tables in pairs_of_neighbouring_tables(series, bdp.Count(equals="busy"), 1.0):
        assert drawn(tables, 5)[0].shape[1] <= 12 + given.get("unit", 1)


def test_normal_records_move_with_the_target_by_correlation() -> None:
    model = bdp.GaussianGroups(covariance=[[4, 2], [2, 4]])
    every = pairs_of_neighbouring_tables(model, bdp.Sum(bounds=(0, 10)), 1.0)
    tables = next(pair for pair in every if "0 of the others known" in pair.who)
    first, second = drawn(tables)
    (target,) = (column for column in range(2) if first[:, column].std() == 0)
    moved = (second - first).mean(axis=0)
    assert moved[1 - target] == pytest.approx(moved[target] / 2, rel=0.05)
    assert first[:, 1 - target].var() == pytest.approx(4 - 1, rel=0.05)


def test_the_tables_of_several_models_are_those_of_each() -> None:
    both = pairs_of_neighbouring_tables(bdp.AnyOf(bdp.Independent(), bdp.ArbitraryGroups(2)), None, 1.0)
    assert [tables.who for tables in both] == ["a record that is 0 or 1", "2 records that are all 0 or 1"]


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="need the bounds"):
        pairs_of_neighbouring_tables(bdp.GaussianSeries([0.5]), None, 1.0)


def test_values_that_cannot_occur_together_make_no_table() -> None:
    """A chain that never stays: between two known states of one kind there is no room for one record of it."""
    flipping = bdp.MarkovChain([[0.0, 1.0], [1.0, 0.0]], length=9)
    for tables in pairs_of_neighbouring_tables(flipping, bdp.Count(equals=1), 1.0):
        for table in drawn(tables, 50):
            assert (table[:, 1:] != table[:, :-1]).all()
