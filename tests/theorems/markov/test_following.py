"""One side of a target, followed outwards: against every mechanism, with every shortcut."""

from typing import Literal

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from markov_references import sparse_matrix  # type: ignore[import-not-found]
from numpy.typing import NDArray

from bayesdp import MarkovChain
from bayesdp.audit.any_mechanism import log_ratio, most_telling
from bayesdp.theorems.adversary import Stretch
from bayesdp.theorems.markov.following import followed
from bayesdp.theorems.markov.gathering import Gathering
from bayesdp.theorems.markov.sides import Side, sides, unreliable


@given(st.integers(0, 10**6), st.floats(0.01, 2), st.integers(1, 3))
def test_endings_followed_together_are_bounded_together(seed: int, tau: float, most: int) -> None:
    """However few tables are kept, no ending's bound falls below what following it by itself gives."""
    generator = np.random.default_rng(seed)
    matrix = sparse_matrix(generator, 4)
    if not MarkovChain(matrix, start="any").is_primitive:
        return
    for side in sides(MarkovChain(matrix)):
        apart = followed(side, np.array([tau]), 12, 0.0, 0.0, relaxed=False)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("bayesdp.theorems.markov.following._most_tables", lambda *_: most)
            together = followed(side, np.array([tau]), 12, 0.0, 0.0, relaxed=False)
        reached = min(len(apart.best), len(together.best)) - 1
        assert (together.best[reached] >= apart.best[reached] - 1e-9).all()
        assert (together.forever >= apart.best[-1] - 1e-9).all()


def hard_matrix(generator: np.random.Generator, states: int) -> NDArray[np.float64]:
    """A random transition matrix: any, sparse, nearly periodic, nearly reducible, or with very unequal entries."""
    matrix = generator.dirichlet(np.full(states, generator.choice([0.3, 1.0])), states)
    small, half = 10.0 ** -generator.integers(1, 8), states // 2
    kind = generator.integers(5)
    if kind == 1:
        matrix = sparse_matrix(generator, states)
    elif kind == 2:
        matrix = small * matrix + np.roll(np.eye(states), 1, axis=1)
    elif kind == 3:
        matrix[:half, half:] *= small
        matrix[half:, :half] *= generator.choice([0.0, 1.0, small])
    elif kind == 4:
        matrix = matrix ** generator.integers(2, 9)
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def every_mechanism(
    side: Side, end: NDArray[np.float64], unknown: int, values: tuple[int, int], tau: float
) -> float | None:
    """The largest ln E[g | u]/E[g | u′] of any τ-bounded g of a side's unknown records; None if one cannot occur.

    end: how likely each value of the last unknown record makes what lies beyond it.
    """
    laws = []
    for value in values:
        path = side.matrix[value]
        for _ in range(unknown - 1):
            path = path[..., None] * side.matrix
        laws.append(path * end)
    if min(law.sum() for law in laws) <= 0:
        return None
    more, less = (law / law.sum() for law in laws)
    return log_ratio(more, less, most_telling(more, less, tau))


@given(st.sampled_from([(2, 4), (3, 3), (4, 2), (4, 3), (9, 2)]), st.integers(0, 10**9), st.floats(0.02, 4))
def test_relaxed_sides_against_all_mechanisms(sizes: tuple[int, int], seed: int, tau: float) -> None:
    """Every shortcut for many states, forced on few: boxes, few tables, joined early, given up, remainders, starts."""
    states, deepest = sizes
    generator = np.random.default_rng(seed)
    matrix = hard_matrix(generator, states)
    start: Literal["stationary", "any"] = "any"
    if generator.random() < 0.5 and MarkovChain(matrix, start="any").is_irreducible:
        start = "stationary"
    chain = MarkovChain(matrix, start=start, length=9)
    assume(unreliable(chain) is None)
    depth = int(generator.integers(1, 7)) if chain.is_primitive else 8
    tolerance = float(generator.choice([0.0, 1e-3, 0.3, 30.0]))
    with pytest.MonkeyPatch.context() as patch:
        most, few = int(generator.integers(1, states + 2)), int(generator.choice([0, 2, 5]))
        patch.setattr("bayesdp.theorems.markov.following._most_tables", lambda *_: most)
        patch.setattr("bayesdp.theorems.markov.following._PAUSE", 1)
        patch.setattr("bayesdp.theorems.markov.gathering._GIVEN_UP", int(generator.choice([1, 4])))
        patch.setattr("bayesdp.theorems.markov.boxes._FEW", few)
        patch.setattr("bayesdp.theorems.markov.boxes._MOST_REFERENCES", int(generator.choice([0, 64])))
        both = [followed(side, np.array([tau]), depth, tolerance, 0.0, relaxed=True) for side in sides(chain)]
    for _ in range(8):
        index, unknown = int(generator.integers(2)), int(generator.integers(1, deepest + 1))
        side, levels = sides(chain)[index], both[index]
        known = bool(generator.random() < 0.7)
        if known:
            end = side.matrix[:, generator.integers(states)]
        else:
            end = generator.dirichlet(np.full(states, 0.3)) if side.end is None else side.end
        u, other = map(int, generator.choice(states, 2, replace=False))
        attained = every_mechanism(side, end, unknown, (u, other), tau)
        if attained is not None:
            assert levels.of(Stretch(unknown, known))[0, u, other] >= attained - 1e-9
            assert levels.forever[0, u, other] >= attained - 1e-9


def test_one_table_for_all_endings_is_read_as_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = MarkovChain(np.random.default_rng(3).dirichlet(np.ones(9), 9) * 0.4 + 0.6 * np.eye(9))
    for side in sides(chain):
        together = followed(side, np.array([0.05, 0.2]), 14, 1.0, 1e-9, True)
        with monkeypatch.context() as patched:
            patched.setattr(Gathering, "alike", lambda *_: False)
            each = followed(side, np.array([0.05, 0.2]), 14, 1.0, 1e-9, True)
        assert len(together.best) == len(each.best)
        np.testing.assert_allclose(together.best, each.best, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(together.beyond, each.beyond, rtol=1e-9, atol=1e-9)
