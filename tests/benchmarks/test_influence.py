"""The influence matrix, against its definition."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bayesdp.audit.oracle import chain_joint
from bayesdp.errors import DoesNotApplyError
from bayesdp.models import MarkovChain
from peer_mechanisms.influence import influence_scales, influences, spectral_norm

THREE = MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.25, 0.25, 0.5]], length=5)


def test_the_influence_matrix_by_its_definition() -> None:
    law = chain_joint(replace(THREE, length=4), 4, None)
    wanted = np.zeros((4, 4))
    for own, other in itertools.permutations(range(4), 2):
        given = np.moveaxis(law, (own, other), (0, 1)).reshape(3, 3, -1)
        logs = np.log(given / given.sum(axis=0))
        wanted[own, other] = 0.5 * (logs.max(axis=1) - logs.min(axis=1)).max()
    back, on = influences(replace(THREE, length=4))
    found = np.diag(back, -1) + np.diag(on, 1)
    assert found == pytest.approx(wanted, abs=1e-12)
    assert spectral_norm(replace(THREE, length=4)) == pytest.approx(np.linalg.norm(wanted, 2))


def test_gk16_sums_the_inverse() -> None:
    weak = MarkovChain([[0.6, 0.4], [0.45, 0.55]], length=12)
    back, on = influences(weak)
    inverse = np.linalg.inv(np.eye(12) - np.diag(back, -1) - np.diag(on, 1))
    assert influence_scales(weak, [0.5]) == [pytest.approx(4 * inverse.sum(axis=1).max())]


def test_a_norm_of_one_is_refused_and_zeros_are_infinite() -> None:
    strong = MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=100)
    assert spectral_norm(strong) > 1
    with pytest.raises(DoesNotApplyError, match="spectral norm of the influence matrix is"):
        influence_scales(strong, [1.0])
    assert spectral_norm(MarkovChain([[0.5, 0.5], [1.0, 0.0]], length=5)) == np.inf


@pytest.mark.parametrize("change", [{"length": None}, {"start": "any"}, {"gaps": True}])
def test_chains_that_are_not_covered_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(DoesNotApplyError, match="gk16"):
        influences(replace(THREE, **change))


def test_one_record_alone_has_no_influence() -> None:
    assert influence_scales(replace(THREE, length=1), [0.5]) == [4.0]
