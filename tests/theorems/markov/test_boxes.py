"""The step of the mixing bound for many states: boxes are never below the linear program."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markov_references import linear_program  # type: ignore[import-not-found]
from numpy.typing import NDArray

from bayesdp.theorems.markov.boxes import Boxes, largest_quotient


def relaxed(laws: NDArray[np.float64], gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """The relaxed step for one τ and ending, after comparing all boxes."""
    size = len(laws)
    batch = (laws[None], gains[None, None], np.ones((1, size), dtype=bool), np.ones((1, 1, size, size)))
    return np.asarray(Boxes(laws, 1).step(*batch, np.ones((1, 1), dtype=bool), 0)[0, 0])


@given(st.integers(2, 9), st.integers(0, 10**6), st.floats(0.01, 4))
def test_the_relaxation_is_never_below_the_linear_program(size: int, seed: int, spread: float) -> None:
    """Also where most transitions are impossible. Pairs that lead to few states are solved at least exactly on these.

    They are below that where a detour through another state, which a box uses, is shorter.
    """
    generator = np.random.default_rng(seed)
    laws = generator.dirichlet(np.ones(size), size) * (generator.random((size, size)) < generator.choice([0.4, 1.0]))
    laws[np.arange(size), generator.permutation(size)] += 0.1
    laws /= laws.sum(axis=1, keepdims=True)
    gains = np.exp(generator.uniform(0, spread, size=(size, size)))
    np.fill_diagonal(gains, 1.0)
    bounds = relaxed(laws, gains)
    u, w = generator.choice(size, 2, replace=False)
    program = linear_program(laws[u], laws[w], gains)
    assert bounds[u, w] >= program * (1 - 1e-7)
    if np.count_nonzero(laws[[u, w]].sum(axis=0)) <= 5:
        assert bounds[u, w] <= linear_program_on(laws[u], laws[w], gains) * (1 + 1e-6)


def linear_program_on(p: NDArray[np.float64], q: NDArray[np.float64], gains: NDArray[np.float64]) -> float:
    """The same on the states that p and q lead to, filled up to five, with the gains between these."""
    few = np.argsort(p + q == 0, kind="stable")[:5]
    return float(linear_program(p[few], q[few], gains[np.ix_(few, few)]))


def drawn_box(generator: np.random.Generator, size: int, spread: float) -> tuple[Any, Any, Any, Any, float]:
    """Return two laws, the ends of a box, and the largest quotient of their averages over it: at one of its corners."""
    p, q = generator.dirichlet(np.full(size, 0.5), 2)
    low = np.exp(generator.uniform(-spread, 0, size))
    high = low * np.exp(generator.uniform(0, spread, size))
    order = np.argsort(-p / q)
    corners = [np.where(np.isin(np.arange(size), order[:k]), high, low) for k in range(size + 1)]
    return p, q, low, high, max((p @ h) / (q @ h) for h in corners)


@given(st.integers(2, 12), st.integers(0, 10**6), st.floats(0.001, 40))
@example(2, 294, 24.0)
def test_a_quotient_over_a_box_is_the_best_threshold(size: int, seed: int, spread: float) -> None:
    p, q, low, high, largest = drawn_box(np.random.default_rng(seed), size, spread)
    for guess in (1e-3, 1.0, largest, 1e3):
        assert largest_quotient(p, q, low, high, np.array(guess)) == pytest.approx(largest, rel=1e-12)
        assert largest_quotient(p, q, low, high, np.array(guess), rounds=0) >= largest * (1 - 1e-12)


@pytest.mark.parametrize("seed", [6900, 14027, 16769, 17057, 27725, 31845, 43885, 53867])
def test_an_entry_at_the_quotient_hides_nothing(seed: int) -> None:
    """Rounding held an entry at its upper end, and the quotient up to 13 % too low."""
    generator = np.random.default_rng(seed)
    p, q, low, high, largest = drawn_box(generator, int(generator.integers(2, 9)), generator.uniform(0, 40))
    for guess in (1.0, 1e3):
        assert largest <= largest_quotient(p, q, low, high, np.array(guess)) <= largest * (1 + 1e-11)
