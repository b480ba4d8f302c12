"""Former names of models' methods, which work for one more version."""

import pytest

import bayesdp as bdp
from bayesdp.models.learnt import Learnt
from bayesdp.models.learnt_correlation import LearntCorrelation

COUNTS = Learnt(1000.0, 0.5, 0.9, [[[5000, 500], [500, 5000]]])
SUMS = LearntCorrelation(0.99, 0.5, 0.95, (0.0, 200.0), 2, [(2, 3000)], (100_000, 400_000, 0))


def test_learning_is_with_learnt() -> None:
    chain, groups = bdp.OddsChain(1000.0), bdp.GaussianGroups(correlation=0.99, size=2)
    with pytest.warns(DeprecationWarning, match="OddsChain.learning is now OddsChain.with_learnt"):
        assert chain.learning(COUNTS) == chain.with_learnt(COUNTS)
    with pytest.warns(DeprecationWarning, match="GaussianGroups.learning is now GaussianGroups.with_learnt"):
        assert groups.learning(SUMS) == groups.with_learnt(SUMS)
