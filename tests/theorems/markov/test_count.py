import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bayesdp import ArbitraryGroups, Count, Histogram, MarkovChain, Mean, Sum, leakage
from bayesdp.audit.oracle import bdpl, chain_joint, laplace_sum
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.errors import NoTheoremAppliesError
from bayesdp.frames.grid import grid_for
from bayesdp.testing import TheoremContract, chain_cases, transition_matrices
from bayesdp.theorems.markov.count import MarkovCount
from bayesdp.theorems.markov.mixing import MarkovMixing
from bayesdp.theorems.spend import as_spend

COUNT = Count(equals=1)
ACTIVITY = MarkovChain.from_counts([[9713, 1295], [1295, 2955]], length=15264)
CHAIN = MarkovChain([[0.9, 0.1], [0.4, 0.6]], length=50)


class TestMarkovCount(TheoremContract):
    theorem = MarkovCount()
    cases = chain_cases(unlimited=False, mechanisms=("count", "sum"))
    refused = (
        (ArbitraryGroups(2), COUNT),
        (CHAIN, Histogram(cells=[0, 1])),
        (CHAIN, Count(equals=1, where="weekday")),
        (CHAIN, Count(equals=1, where="weekday", public_filter=True)),
        (MarkovChain(CHAIN.transition, length=50, gaps=True), COUNT),
        (MarkovChain(CHAIN.transition, length=50, start="any"), COUNT),
        (MarkovChain(CHAIN.transition, states=["a", "b"]), Sum(bounds=(0, 1))),
        (MarkovChain(CHAIN.transition, states=[0, 0.5]), Sum(bounds=(0, 1))),
        (MarkovChain([[0.9999, 0.0001], [0.0001, 0.9999]]), COUNT),
        (MarkovChain(np.full((60, 60), 1 / 60) + 0.01 * np.eye(60) - 0.01 / 60), COUNT),
    )


@settings(max_examples=4 * settings().max_examples)
@given(st.data(), st.integers(2, 3), st.floats(0.05, 5))
def test_it_is_the_oracle(data: st.DataObject, states: int, tau: float) -> None:
    """Exact: over every length up to the given one, zeros included."""
    length = data.draw(st.integers(1, 5))
    matrix = data.draw(transition_matrices(states))
    chain = MarkovChain(matrix, length=length, start="any")
    if not chain.is_irreducible:
        return
    chain = MarkovChain(matrix, length=length)
    counted = data.draw(st.integers(0, states - 1))
    values = [float(state == counted) for state in range(states)]
    truth = max(bdpl(chain_joint(chain, n), laplace_sum(values, n, tau)).epsilon for n in range(1, length + 1))
    proven = MarkovCount().epsilon(chain, as_spend(Count(equals=counted), tau))
    assert proven == pytest.approx(truth, rel=1e-9, abs=1e-9)
    assert proven >= truth - 1e-13


@given(
    st.lists(st.integers(0, 4), min_size=3, max_size=3, unique=True),
    transition_matrices(3, zeros=False),
    st.floats(0.05, 4),
)
def test_sums_of_whole_numbers_are_the_oracle_too(values: list[int], matrix: object, tau: float) -> None:
    chain = MarkovChain(matrix, states=values, length=3)
    query = Sum(bounds=(min(values), max(values)))
    truth = max(bdpl(chain_joint(chain, n), laplace_sum(values, n, tau)).epsilon for n in (1, 2, 3))
    assert MarkovCount().epsilon(chain, as_spend(query, tau)) == pytest.approx(truth, rel=1e-9)
    mean = Mean(bounds=(min(values), max(values)), size=3)
    assert MarkovCount().epsilon(chain, as_spend(mean, tau)) == pytest.approx(truth, rel=1e-9)


@st.composite
def grids(draw: st.DrawFn) -> tuple[tuple[float, float], float]:
    """Bounds a whole number of steps apart; dyadic, so that the oracle's own rule rounds exactly as ours does."""
    step = draw(st.sampled_from([0.25, 0.5, 0.75, 1.0, 2.0, 3.5]))
    low = draw(st.integers(-12, 8)) / 4
    return (low, low + step * draw(st.integers(1, 6))), step


VALUES = st.lists(st.integers(-12, 12).map(lambda quarters: quarters / 4), min_size=3, max_size=3, unique=True)


@given(VALUES, transition_matrices(3), grids(), st.floats(0.05, 4), st.integers(1, 4))
def test_sums_on_a_grid_are_the_oracle(
    values: list[float], matrix: object, grid: tuple[tuple[float, float], float], tau: float, length: int
) -> None:
    """What is added is what the grid makes of the states, and the noise is scaled to the grid's own span."""
    bounds, step = grid
    assume(MarkovChain(matrix, start="any").is_irreducible)
    chain = MarkovChain(matrix, states=values, length=length)
    truth = max(
        bdpl(chain_joint(chain, n), laplace_sum(values, n, tau, bounds=bounds, step=step)).epsilon
        for n in range(1, length + 1)
    )
    for query in (Sum(bounds=bounds, step=step), Mean(bounds=bounds, step=step, size=7)):
        spend = as_spend(query, tau)
        assert MarkovCount().epsilon(chain, spend) == pytest.approx(truth, rel=1e-9, abs=1e-9)
        assert MarkovCount().epsilon(chain, spend) >= truth - 1e-13
        assert MarkovMixing().epsilon(chain, spend) >= truth - 1e-9


def test_a_coarse_grid_adds_other_numbers_than_the_states() -> None:
    """0, 1, 2 in steps of 2 are 0, 1 and 1, one step apart: records that look graded are distinguished in full."""
    chain = MarkovChain([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]], length=4)
    coarse = Sum(bounds=(0, 2), step=2.0)
    truth = bdpl(chain_joint(chain, 4), laplace_sum([0, 1, 1], 4, 3.0)).epsilon
    assert MarkovCount().epsilon(chain, as_spend(coarse, 3.0)) == pytest.approx(truth, rel=1e-12)
    assert truth > 1.05 * MarkovCount().epsilon(chain, as_spend(Sum(bounds=(0, 2)), 3.0))


def test_a_fine_grid_that_holds_the_states_changes_nothing() -> None:
    chain = MarkovChain([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]])
    plain, fine = (
        MarkovCount().epsilon(chain, as_spend(Sum(bounds=(0, 2), step=step), 1.0)) for step in (None, 2.0**-39)
    )
    assert fine == pytest.approx(plain, rel=1e-12)


def test_the_grid_of_a_release_adds_what_the_theorem_enumerates() -> None:
    """The session's own grid and the theorem place states by one rule."""
    chain = MarkovChain([[0.2, 0.3, 0.5]] * 3, states=[0.1, 0.35, 7.0])
    for step in (0.05, 0.125, 0.2, 1.0, 1.75):
        query = Sum("x", bounds=(0.0, 7 * step), step=step)
        placed = [grid_for(query, 100, whole=False).place(value) for value in (0.1, 0.35, 7.0)]
        assert query.state_values(chain.states) == tuple(place - min(placed) for place in placed)


def test_reference_values() -> None:
    taus = largest_taus(MarkovCount(), ACTIVITY, COUNT, [1.0, 5.0, 10.0, 20.0])
    assert taus == [pytest.approx(tau, abs=6e-7) for tau in (0.249773, 1.745328, 5.545246, 15.392287)]
    unlimited = MarkovChain([[0.882, 0.118], [0.305, 0.695]])
    assert MarkovCount().epsilon(unlimited, as_spend(COUNT, 1.0)) == pytest.approx(3.474873, abs=6e-7)


def test_alternating_records_leak_less_through_a_count() -> None:
    chain = MarkovChain([[0.1, 0.9], [0.9, 0.1]], length=30)
    spend = as_spend(COUNT, 0.2)
    assert MarkovCount().epsilon(chain, spend) < 0.5 * MarkovMixing().epsilon(chain, spend)


def test_a_count_over_every_second_record_is_not_covered() -> None:
    """Seen through every second record the alternating chain is lazy, and leaks far more than through all of them."""
    alternating = MarkovChain([[0.1, 0.9], [0.9, 0.1]], length=7)
    data_sets = itertools.product((0, 1), repeat=7)
    sums = np.array([sum(data_set[::2]) for data_set in data_sets]).reshape((2,) * 7)
    kernel = np.exp(-0.2 * np.abs(np.arange(5) - sums[..., None]))
    assert bdpl(chain_joint(alternating, 7), kernel).epsilon > 0.5
    assert MarkovCount().epsilon(alternating, as_spend(COUNT, 0.2)) == pytest.approx(0.2, abs=1e-9)
    assert MarkovCount().refusal(alternating, (Count(equals=1, where="even"),)) is not None


def test_several_releases_are_refused() -> None:
    assert MarkovCount().refusal(CHAIN, (COUNT, COUNT)) is not None
    spent = leakage(CHAIN, [(COUNT, 0.1), (COUNT, 0.1)])
    assert spent.theorem == "markov-mixing"


def test_values_of_states() -> None:
    chain = MarkovChain([[0.2, 0.3, 0.5]] * 3, states=[5, 7, 90])
    assert Count(isin=[5, 90]).state_values(chain.states) == (1, 0, 1)
    assert Sum(bounds=(0, 10)).state_values(chain.states) == (0, 2, 5)
    assert isinstance(Sum(bounds=(0, 6.5)).state_values(chain.states), str)
    assert Sum(bounds=(0, 6.5), step=0.5).state_values(chain.states) == (0, 3, 3)


def test_where_densities_underflow_the_mixing_bound_takes_over() -> None:
    spend = as_spend(COUNT, 900.0)
    assert MarkovCount().epsilon(CHAIN, spend) == MarkovMixing().epsilon(CHAIN, spend)


def test_nothing_counted_leaks_nothing() -> None:
    assert MarkovCount().epsilon(CHAIN, as_spend(Count(isin=[0, 1]), 3.0)) == 0
    assert MarkovCount().epsilon(MarkovChain([[1.0]], length=4), as_spend(Count(equals=0), 3.0)) == 0


def test_the_worst_adversary_is_named() -> None:
    text = MarkovCount().worst_case(MarkovChain(CHAIN.transition, length=2), as_spend(COUNT, 1.0))
    assert text is not None
    assert "unknown record" in text
    with pytest.raises(NoTheoremAppliesError, match="markov-count: it covers one answer"):
        leakage(MarkovChain([[0, 1], [1, 0]]), [(COUNT, 1.0), (COUNT, 1.0)])


def test_a_reason_does_not_promise_another_theorem_that_refuses() -> None:
    chain = MarkovChain([[0, 1], [1, 0]])
    reason = MarkovCount().refusal(chain, (Count(equals=1),))
    assert reason == "dependence never fades in this chain, and its length is unknown or too large to enumerate"
