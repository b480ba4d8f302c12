import numpy as np
import pytest

from bayesdp.audit.oracle import gaussian_lemma
from bayesdp.experiments.gaussian_pair import gaussian_pair


def test_a_known_relative_leaks_only_the_target_itself() -> None:
    """Uncorrelated pair: the true leakage is the clipped distance, whatever is known."""
    leak = gaussian_pair(np.eye(2), mean=(0, 0), bounds=(-1, 1), tau=2.0, values=(0.25, -0.25))
    assert leak == pytest.approx(0.5, abs=1e-9)


def test_a_pair_of_unequal_variances_moves_the_relative_farther() -> None:
    covariance = [[1.0, 1.5], [1.5, 4.0]]
    leak = gaussian_pair(covariance, mean=(0, 0), bounds=(-3, 3), tau=1.0, values=(1.0, -1.0))
    assert leak <= gaussian_lemma(covariance, reach=2 / 6).factor
    assert leak > gaussian_lemma([[1.0, 0.3], [0.3, 1.0]], reach=2 / 6).factor
