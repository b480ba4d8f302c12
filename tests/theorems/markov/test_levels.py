"""What sides can do, level by level, and both of them together."""

import numpy as np
import pytest

from bayesdp import MarkovChain
from bayesdp.theorems.adversary import Stretch
from bayesdp.theorems.markov.levels import BothSides, Levels, LevelsBuilder
from bayesdp.theorems.markov.sides import Ending

CHAIN = MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["a", "b"])


def table(value: float) -> np.ndarray:
    """Return ln V of one τ: so much for the pair (0, 1), half of it for (1, 0)."""
    return np.array([[[0.0, value], [value / 2, 0.0]]])


def side(*best: float, beyond: float) -> Levels:
    """Return a side that gains so much with each record: known in state 1, or else with nothing known."""
    builder = LevelsBuilder(1, 2)
    for value in best:
        known = np.stack([table(value / 4), table(value)], axis=1)
        builder.add(np.exp(known), table(value / 3))
    return builder.levels(table(beyond))


def test_the_best_ending_so_far_is_kept_with_its_number() -> None:
    levels = side(0.4, 0.1, 0.9, beyond=0.2)
    assert levels.best[:, 0, 0, 1].tolist() == [0, 0.4, 0.4, 0.9]
    assert levels.ending[:, 0, 0, 1].tolist() == [2, 1 * 3 + 1, 1 * 3 + 1, 3 * 3 + 1]
    assert levels.forever[0, 0, 1] == 0.9
    assert side(0.4, beyond=np.nan).forever[0, 0, 1] == np.inf, "what is not known is not a bound"


def test_one_adversary_has_just_his_own_ending() -> None:
    levels = side(0.4, 0.1, beyond=0.2)
    assert levels.of(Stretch(1, known=True))[0, 0, 1] == pytest.approx(0.1)
    assert levels.of(Stretch(1, known=False))[0, 0, 1] == pytest.approx(0.4 / 3)
    assert levels.of(Stretch(9, known=True))[0, 0, 1] == 0.2


def test_a_number_that_is_none_counts_as_infinite() -> None:
    builder = LevelsBuilder(1, 2)
    builder.add(np.full((1, 2, 2, 2), np.nan), table(0.1))
    assert np.isinf(builder.levels(table(0.0)).best[1]).all()


def test_a_short_chain_is_divided_between_the_sides_at_its_worst() -> None:
    left, right = side(0.1, 0.6, beyond=9.0), side(0.5, 0.7, beyond=9.0)
    taus = np.array([1.0])
    for reach, most in ((0, 0.0), (1, 0.5), (2, 0.7), (3, 9.0), (None, 18.0)):
        both = BothSides(taus, left, right, reach, 0.0)
        assert both.totals()[0][0, 0, 1] == pytest.approx(most)
        assert both.epsilons() == [pytest.approx(1 + most)]
        assert both.epsilons()[0] >= 1 + most
    three = BothSides(taus, left, right, 3, 0.0)
    assert three.epsilons((Stretch(0, known=True), Stretch(0, known=True))) == [pytest.approx(1.6)]


def test_the_worst_adversary_attains_the_bound() -> None:
    both = BothSides(np.array([1.0]), side(0.1, 0.6, beyond=0.0), side(0.5, 0.5, beyond=0.0), 3, 0.0)
    worst = both.worst_adversary(CHAIN)
    assert (worst.values, worst.before, worst.after) == ((0, 1), Ending(1, 1), Ending(0, 1))


def test_a_window_costs_its_records_and_the_worst_of_each_side() -> None:
    both = BothSides(np.array([0.5]), side(0.3, beyond=0.2), side(0.7, beyond=0.2), None, 0.0)
    assert both.leakages(1) == both.epsilons()
    assert both.leakages(3) == [pytest.approx(3 * 0.5 + 0.3 + 0.7)]
