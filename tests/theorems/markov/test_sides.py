"""The sides of a target: what they cost by distance, and a bound for every length."""

from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from bayesdp import MarkovChain
from bayesdp.theorems.markov.sides import (
    Ending,
    forgotten_after,
    reach_of,
    sides,
    sides_of_each,
    steps_to_forget,
    unreliable,
)
from bayesdp.theorems.odds.contraction import contraction
from bayesdp.theorems.odds.sides import contracted, contracted_forever


def test_rare_transitions_never_round_log_ratios_down() -> None:
    rows = [
        [0.41641994855534936, 0.5835800514446506, 1.681438452652673e-200],
        [0.5, 0.5, 1.4399364794360058e-200],
        [0.3, 0.3, 0.4],
    ]
    found = sides(MarkovChain(rows))[1].log_ratio(1)[0, 1]
    with localcontext(prec=60):
        exact = Fraction(rows[0][2]) / Fraction(rows[1][2])
        assert Decimal(float(found)) >= (Decimal(exact.numerator) / Decimal(exact.denominator)).ln()


CHAIN = MarkovChain([[0.9, 0.1, 0.0], [0.2, 0.5, 0.3], [0.1, 0.0, 0.9]], states=["a", "b", "c"], length=7)


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_boundary_columns_are_powers_scaled_to_one(steps: int) -> None:
    before, after = sides(CHAIN)
    for side, matrix, end in ((after, CHAIN.matrix, np.ones(3)), (before, CHAIN.matrix.T, CHAIN.stationary)):
        power = np.linalg.matrix_power(matrix, steps)
        columns = np.column_stack([power, power @ end])
        assert side.boundary(steps) == pytest.approx(columns / columns.max(axis=0), rel=1e-12)


def test_log_ratios_and_odds_are_as_defined() -> None:
    positive = np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.1, 0.1, 0.8]])
    side = sides(MarkovChain(positive))[1]
    squared = positive @ positive
    for x, y in product(range(3), repeat=2):
        assert side.log_ratio(2)[x, y] == pytest.approx(np.log(squared[x] / squared[y]).max(), abs=1e-12)
        ratio = np.log(positive[x] / positive[y])
        assert side.log_odds[0, x, y] == pytest.approx(ratio.max() - ratio.min(), abs=1e-12)
    assert np.isinf(sides(CHAIN)[1].log_odds[0, 0, 1]), "only b leads to c"


def test_an_unknown_start_has_no_column_for_nothing_known() -> None:
    before, after = sides(replace(CHAIN, start="any"))
    assert before.end is None
    assert before.boundary(1).shape == (3, 3)
    assert after.boundary(1).shape == (3, 4)


def test_chains_side_by_side_have_the_columns_of_each() -> None:
    others = [CHAIN, replace(CHAIN, transition=[[0.5, 0.5, 0.0], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]])]
    for number, together in enumerate(sides_of_each(others)):
        for index, chain in enumerate(others):
            assert together.boundary(3)[index] == pytest.approx(sides(chain)[number].boundary(3), rel=1e-12)


def test_endings_take_records_and_say_so() -> None:
    reported = {
        Ending(0, None): (0, "no record"),
        Ending(0, 1): (1, "a known 'b'"),
        Ending(1, None): (1, "1 unknown record and then nothing"),
        Ending(2, 0): (3, "2 unknown records and then a known 'a'"),
    }
    assert {ending: (ending.records, ending.described(CHAIN)) for ending in reported} == reported


def test_how_long_a_chain_remembers_its_zeros() -> None:
    assert steps_to_forget(CHAIN, 10) == 2
    assert steps_to_forget(CHAIN, 1) is None
    assert steps_to_forget(MarkovChain([[0, 1], [1, 0]], start="any"), 100) is None
    assert forgotten_after(CHAIN, 1e-3, 100) is not None
    assert forgotten_after(CHAIN, 1e-3, 3) is None
    assert reach_of(CHAIN) == 6
    assert reach_of(replace(CHAIN, gaps=True)) is None


def test_what_underflows_is_not_relied_on() -> None:
    assert unreliable(CHAIN) is None
    rare = MarkovChain([[1, 1e-160, 0], [0, 1, 1e-160], [1e-160, 0, 1]])
    assert "too improbable" in str(unreliable(rare))


def test_settled_columns_stay_the_same_farther_out() -> None:
    chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]], start="any")
    for side in sides(chain):
        expected = [side.boundary(0)]
        for _ in range(400):
            columns = side.matrix @ expected[-1]
            expected.append(columns / columns.max(axis=0))
        assert np.array_equal(side.boundaries(400)[:401], expected)
        assert np.array_equal(side.boundary(400), side.boundary(399))


TAUS = np.array([1e-9, 1e-3, 0.1, 1.0, 5.0, 50.0, 500.0])


@pytest.mark.parametrize("log_odds", [0.0, 1e-12, 1e-3, 0.5, 2.0, 9.0, 40.0, 700.0, np.inf])
def test_a_side_of_any_length_stays_below_the_bound_for_all(log_odds: float) -> None:
    odds = np.array([log_odds])
    forever = contracted_forever(TAUS, odds)
    longest = contracted(TAUS, odds, 3000)[-1]
    assert np.all(longest <= forever * (1 + 1e-9)), "what is rounded up 3000 times may be a little larger"
    assert np.all(forever <= np.where(np.isinf(log_odds), np.inf, log_odds))


@pytest.mark.parametrize("log_odds", [1e-3, 0.5, 2.0, 9.0])
def test_the_bound_for_all_is_where_the_steps_from_the_odds_lead(log_odds: float) -> None:
    oscillation = np.full_like(TAUS, log_odds)
    for _ in range(3000):
        oscillation = contraction(TAUS + oscillation, log_odds)
    assert contracted_forever(TAUS, np.full_like(TAUS, log_odds)) == pytest.approx(oscillation, rel=1e-9)
