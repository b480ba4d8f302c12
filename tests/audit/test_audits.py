"""The whole audit, for every kind of model and question: nothing realised is more than is proven."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.audit import audited
from bayesdp.audit.simulated_releases import simulated_release
from bayesdp.errors import InvalidInputError
from bayesdp.losses import ConcentratedLoss, PureLoss

CHAIN = bdp.MarkovChain([[0.9, 0.1], [0.3, 0.7]], length=60)
WORDS = bdp.MarkovChain([[0.9, 0.1], [0.3, 0.7]], states=["idle", "busy"], length=60)
NORMAL = bdp.GaussianGroups(correlation=0.275, size=3)
COUNT, SUM = bdp.Count(equals=1), bdp.Sum(bounds=(0, 10))


@pytest.mark.parametrize(
    ("model", "query", "attacked", "bounded"),
    [
        (CHAIN, COUNT, True, True),
        (CHAIN, SUM, True, True),
        (CHAIN, bdp.Mean(bounds=(0, 10), size=60), True, True),
        (CHAIN, bdp.Histogram(cells=[0, 1]), False, True),
        (CHAIN, bdp.AnyMechanism(), False, False),
        (CHAIN, bdp.Median(candidates=[0, 1]), False, False),
        (WORDS, bdp.Count(equals="busy"), True, True),
        (WORDS, SUM, True, False),
        (NORMAL, SUM, True, True),
        (NORMAL, COUNT, True, False),
        (bdp.OddsChain(9.0), COUNT, True, True),
        (bdp.Independent(), SUM, True, True),
        (bdp.AnyOf(bdp.Independent(), CHAIN), COUNT, True, True),
    ],
)
def test_nothing_realised_is_more_than_is_proven(
    model: bdp.Model, query: bdp.Query, attacked: bool, bounded: bool
) -> None:
    promises: list[Any] = [{"tau": 0.5, "neighbours": "replace"}, {"epsilon": 0.5}]
    for promise in promises:
        audit = audited(model, query, runs=300, confidence=0.9999, **promise)
        assert audit.worst_case.realised <= audit.epsilon
        assert (audit.attack is not None) == attacked
        assert (audit.lower_bound is not None) == bounded
        assert audit.lower_bound is None or audit.lower_bound.epsilon <= audit.epsilon
        reported = json.loads(audit.to_json())
        assert (reported["kind"], reported["schema"]) == ("audit", 1)
        said = str(audit)
        assert ("attacks are simulated for a single noisy number" in said) != attacked
        assert ("cannot be simulated" in said) != bounded


def test_a_simulated_release_has_the_noise_that_it_says() -> None:
    release = simulated_release(CHAIN, SUM, PureLoss(0.5), np.random.default_rng(1))
    assert release is not None
    answers = release(np.ones((20_000, 5)))
    assert answers.mean() == pytest.approx(5, abs=1)
    assert np.abs(answers - 5).mean() == pytest.approx(10 / 0.5, rel=0.05)


def test_a_bound_above_what_is_proven_is_said_to_be_chance() -> None:
    from dataclasses import replace

    audit = audited(CHAIN, COUNT, tau=0.5, runs=300)
    assert audit.lower_bound is not None
    accused = replace(audit, lower_bound=replace(audit.lower_bound, epsilon=9.0))
    assert "Warning: that exceeds the proven leakage" in str(accused)
    assert "Warning" not in str(audit)


def test_a_loss_made_elsewhere_needs_its_neighbours() -> None:
    anything: Any = bdp.AnyMechanism()
    with pytest.warns(DeprecationWarning, match="add-remove"):
        silent = audited(CHAIN, anything, tau=0.5, runs=500)
    doubled = audited(CHAIN, anything, tau=0.25, runs=500, neighbours="add-remove")
    assert (silent.tau, silent.epsilon) == (doubled.tau, doubled.epsilon) == (0.5, doubled.epsilon)
    with pytest.raises(InvalidInputError, match="needs neighbours="):
        audited(CHAIN, anything, rho=0.01, delta=1e-6)
    assert audited(CHAIN, anything, rho=0.01, delta=1e-6, neighbours="add-remove").loss == ConcentratedLoss(0.04)
    with pytest.raises(InvalidInputError, match="neighbours= goes with tau= or rho="):
        audited(CHAIN, anything, epsilon=1.0, neighbours="replace")
