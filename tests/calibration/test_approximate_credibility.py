"""Noise for (ε, δ) under an estimated model: the promise holds for the requested share of the posterior."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp import AnyOf, ArbitraryGroups, Count, GaussianGroups, Independent, MarkovChain, OddsChain, Sum, calibrate
from bayesdp.calibration.credibility import posterior
from bayesdp.errors import BayesDPError, InvalidInputError, ModelError
from bayesdp.theorems.leakage import leakage

CHAIN = MarkovChain.from_counts([[90, 10], [12, 28]], length=12)
COUNT = Count(equals=1)
PAIRS = GaussianGroups.from_moments([100.0, 100.0], [[225.0, 90.0], [90.0, 225.0]], groups=60)
SCORES = Sum(bounds=(0, 100))
DELTA = 1e-6
CREDIBLE: Any = {"credibility": 0.8, "draws": 21}


def kept(found: Any, model: bdp.Model, number: int) -> float:
    """Return the share of other models drawn under which the noise keeps (ε, δ), by what `leakage` proves."""
    releases = [(found.query, found.loss)] * found.count
    proven = [
        leakage(drawn, releases, delta=found.delta or None).epsilon for drawn in posterior(model, number, seed=77)
    ]
    return float(np.mean([epsilon <= found.epsilon * (1 + 1e-8) for epsilon in proven]))


@pytest.mark.parametrize(
    ("model", "query", "asked"),
    [
        (CHAIN, COUNT, {"delta": DELTA, "noise": "gaussian"}),
        (CHAIN, COUNT, {"delta": DELTA, "count": 40}),
        (PAIRS, SCORES, {"delta": DELTA, "noise": "gaussian", "spent": [(SCORES, 0.02)]}),
        (PAIRS, SCORES, {"delta": DELTA, "noise": "laplace"}),
        (CHAIN, COUNT, {"count": 3}),
        (CHAIN, bdp.AnyMechanism(), {"delta": DELTA, "neighbours": "add-remove"}),
    ],
)
def test_most_of_the_posterior_keeps_the_promise(model: bdp.Model, query: bdp.Query, asked: dict[str, Any]) -> None:
    plain = calibrate(model, query, epsilon=1.0, **asked)
    found = calibrate(model, query, epsilon=1.0, **asked, **CREDIBLE)
    assert (found.noise, found.epsilon, found.delta) == (plain.noise, 1.0, plain.delta)
    size, most = (one.rho if one.noise == "gaussian" else one.tau for one in (found, plain))
    assert 0 < size < most
    said = found.uncertainty
    assert 0.8 <= said.share <= 1
    assert list(said.spread) == sorted(said.spread)
    assert "At least 80 % of the posterior" in str(found)
    assert found.table().splitlines()[-1].startswith("credibility 80 %")
    document = json.loads(found.to_json())
    assert document["uncertainty"]["draws"] == 21
    assert (document["rho"], document["tau"]) == (found.rho, found.tau)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "query"), [(CHAIN, COUNT), (PAIRS, SCORES)])
def test_other_draws_agree_with_the_share(model: bdp.Model, query: bdp.Query) -> None:
    """The noise for the estimate would fail this test: it keeps the promise for about half of the posterior."""
    asked: Any = {"epsilon": 1.0, "delta": DELTA, "noise": "gaussian"}
    assert kept(calibrate(model, query, **asked, credibility=0.8), model, 60) >= 0.8
    assert kept(calibrate(model, query, **asked), model, 60) < 0.8


def test_an_accuracy_raises_epsilon_instead() -> None:
    plain: Any = calibrate(CHAIN, COUNT, alpha=100, delta=DELTA, noise="gaussian")
    found: Any = calibrate(CHAIN, COUNT, alpha=100, delta=DELTA, noise="gaussian", **CREDIBLE)
    assert found.loss == plain.loss
    assert found.epsilon > plain.epsilon
    assert found.uncertainty.share >= 0.8


def test_each_estimated_member_keeps_the_promise() -> None:
    both = AnyOf(ArbitraryGroups(2), CHAIN)
    asked: Any = {"epsilon": 1.0, "delta": DELTA, "noise": "gaussian"}
    alone, found = calibrate(CHAIN, COUNT, **asked, **CREDIBLE), calibrate(both, COUNT, **asked, **CREDIBLE)
    assert found.loss == alone.loss
    for part in found.leakage.parts:
        assert part.spend[-1].loss == found.loss


def test_several_promises_share_nothing() -> None:
    several = calibrate(CHAIN, COUNT, epsilon=[0.5, 1.0], delta=DELTA, **CREDIBLE)
    assert [one.epsilon for one in several] == [0.5, 1.0]
    assert several[0].accuracy() > several[1].accuracy()


@pytest.mark.parametrize(
    ("model", "asked", "error", "message"),
    [
        (Independent(), {"delta": DELTA}, ModelError, "estimated from data"),
        (OddsChain(9.0), {"delta": DELTA}, ModelError, "estimated from data"),
        (CHAIN, {"delta": DELTA, "theorem": "markov-mixing"}, InvalidInputError, "goes without theorem="),
        (CHAIN, {"delta": DELTA, "credibility": 1.5}, InvalidInputError, "credibility must"),
    ],
)
def test_a_credibility_that_cannot_be_kept_is_refused(
    model: bdp.Model, asked: dict[str, Any], error: type[BayesDPError], message: str
) -> None:
    with pytest.raises(error, match=message):
        calibrate(model, COUNT, **{"epsilon": 1.0, **CREDIBLE, **asked})
