"""The exact step of the mixing bound: a linear program, solved by listing what can be optimal."""

import math

import numpy as np
import pytest
from markov_references import linear_program  # type: ignore[import-not-found]

from bayesdp.theorems.markov.transport import close, exact_step


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7])
def test_the_exact_step_is_the_linear_program(size: int) -> None:
    generator = np.random.default_rng(size)
    for _ in range(25):
        laws = generator.dirichlet(np.full(size, generator.choice([0.2, 1.0])), size)
        gains = np.exp(generator.uniform(0, 3, size=(size, size)))
        np.fill_diagonal(gains, 1.0)
        u, w = generator.choice(size, 2, replace=False)
        assert exact_step(laws, gains)[u, w] == pytest.approx(linear_program(laws[u], laws[w], gains), rel=1e-7)


def test_the_solvers_trap_of_the_theory() -> None:
    """HiGHS says 1.0 here; the truth is 5.85."""
    laws = np.array([[1 - 1e-8, 1e-8], [1.0, 0.0]])
    gains = np.array([[1.0, math.exp(20)], [math.exp(20), 1.0]])
    assert exact_step(laws, gains)[0, 1] == pytest.approx(5.85, abs=5e-3)


def test_detours_that_are_cheaper_are_taken() -> None:
    gains = np.array([[1.0, 2.0, 9.0], [9.0, 1.0, 3.0], [9.0, 9.0, 1.0]])
    assert close(gains).tolist() == [[1, 2, 6], [9, 1, 3], [9, 9, 1]]
    assert gains[0, 2] == 9, "the gains that were given stay"
    assert close(close(gains)).tolist() == close(gains).tolist()


def test_equal_laws_cannot_be_told_apart() -> None:
    laws = np.array([[0.5, 0.3, 0.2]] * 3)
    gains = np.exp(np.random.default_rng(4).uniform(0, 3, (3, 3)))
    np.fill_diagonal(gains, 1.0)
    assert exact_step(laws, gains) == pytest.approx(np.ones((3, 3)), rel=1e-15)


def test_a_batch_is_its_programs_one_by_one() -> None:
    generator = np.random.default_rng(5)
    laws, gains = generator.dirichlet(np.ones(4), (3, 4)), np.exp(generator.uniform(0, 2, (3, 4, 4)))
    gains[:, range(4), range(4)] = 1.0
    for together, law, gain in zip(exact_step(laws, gains), laws, gains, strict=True):
        assert together == pytest.approx(exact_step(law, gain), rel=1e-14)
