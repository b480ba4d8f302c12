"""References that tests of several steps of the mixing bound are compared with."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog


def linear_program(p: NDArray[np.float64], q: NDArray[np.float64], gains: NDArray[np.float64]) -> float:
    """The largest E_p[h]/E_q[h] by a solver."""
    size = len(p)
    rows = [np.eye(size)[v] - gains[v, w] * np.eye(size)[w] for v in range(size) for w in range(size) if v != w]
    return float(-linprog(-p, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=[q], b_eq=[1.0]).fun)


def sparse_matrix(generator: np.random.Generator, states: int) -> NDArray[np.float64]:
    """A random transition matrix, often with zeros."""
    kept = generator.random((states, states)) < generator.choice([0.5, 1.0])
    matrix = generator.dirichlet(np.ones(states), states) * kept
    matrix[np.arange(states), generator.permutation(states)] += 0.2
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))
