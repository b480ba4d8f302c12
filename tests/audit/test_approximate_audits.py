"""The audit of a promise with a δ: what a known attacker attains lies between what is stated and what is proven."""

from __future__ import annotations

import json

import pytest

import bayesdp as bdp
from bayesdp.audit import ApproximateAudit, audited
from bayesdp.errors import InvalidInputError

SEVEN = bdp.MarkovChain([[0.75, 0.25], [0.25, 0.75]], length=7)
COUNT, SUM = bdp.Count(equals=1), bdp.Sum(bounds=(0, 10))
STATES = bdp.OddsChain(9.0, states=["idle", "busy"])


@pytest.mark.parametrize(
    ("model", "query", "bounded"),
    [
        (SEVEN, COUNT, True),
        (SEVEN, SUM, True),
        (bdp.OddsChain(9.0), COUNT, True),
        (bdp.OddsChain(9.0), SUM, True),
        (bdp.OddsChain(9.0, length=20), bdp.Proportion(equals=1, size=20), True),
        (STATES, bdp.Count(equals="busy"), True),
        (bdp.OddsChain(1e40, length=5), COUNT, True),
        (bdp.OddsChain(9.0, memory=2), COUNT, True),
        (bdp.ArbitraryGroups(3), COUNT, True),
        (bdp.GaussianGroups(correlation=0.275, size=3), SUM, True),
        (bdp.AnyOf(bdp.Independent(), SEVEN), COUNT, True),
        (bdp.OddsChain(9.0), bdp.AnyMechanism(), False),
        (SEVEN, bdp.Histogram(cells=[0, 1]), True),
    ],
)
def test_what_is_attained_is_at_most_what_is_proven(model: bdp.Model, query: bdp.Query, bounded: bool) -> None:
    audit = audited(model, query, epsilon=1.0, delta=0.01, noise="gaussian", runs=2000, confidence=0.9999)
    assert (audit.epsilon, audit.delta, audit.noise, audit.plain) == (1.0, 0.01, "gaussian", False)
    one_number = not (query.by_cell or query.made_elsewhere)
    assert (audit.attained is not None) == one_number
    assert audit.attained is None or 0 <= audit.attained.delta <= 0.01
    assert (audit.lower_bound is not None) == bounded
    assert audit.lower_bound is None or not audit.lower_bound.contradicted
    reported = json.loads(audit.to_json())
    assert (reported["kind"], reported["schema"], reported["noise"]) == ("approximate-audit", 1, "gaussian")
    assert ("None: his δ is computed for" in str(audit)) != one_number
    assert ("cannot be simulated" in str(audit)) != bounded


@pytest.mark.parametrize("model", [SEVEN, bdp.OddsChain(9.0, length=7)])
def test_an_attacker_attains_the_true_delta_of_the_reference(model: bdp.Model) -> None:
    """σ = 8 on seven records of odds 9: at the ε that is proven, far more than plain DP states."""
    audit = audited(model, COUNT, rho=1 / 128, delta=0.01, runs=1000)
    assert audit.plain
    assert audit.attained is not None
    assert audit.stated < 1e-3 * audit.attained.delta < 1e-3 * audit.delta
    assert audit.attained.delta > 0.2 * audit.delta
    assert "A plain release, with Gaussian noise (rho = 0.0078125)" in str(audit)


def test_laplace_noise_can_keep_a_promise_with_a_delta() -> None:
    audit = audited(SEVEN, COUNT, epsilon=1.0, delta=1e-6, noise="laplace", runs=1000)
    assert isinstance(audit, ApproximateAudit)
    assert (audit.noise, audit.attained) == ("laplace", None)
    assert json.loads(audit.to_json())["rho"] is None
    assert "with Laplace noise (tau = " in str(audit)


def test_a_contradiction_is_printed_as_chance_or_error() -> None:
    audit = audited(SEVEN, COUNT, rho=1 / 128, delta=0.01, runs=1000)
    bound = bdp.audit.LowerBound(2.0, 0.95, 500, 400, 20, "two tables", claimed=audit.epsilon, claimed_delta=0.01)
    wrong = ApproximateAudit(audit.leakage, audit.loss, audit.plain, 0.95, audit.attained, bound)
    assert "that exceeds the proven leakage" in " ".join(str(wrong).split())
    assert "that exceeds the proven leakage" not in " ".join(str(audit).split())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tau": 1.0, "delta": 1e-6}, "none can be run; give rho="),
        ({"rho": 0.01}, "need delta="),
        ({"epsilon": 1.0, "noise": "gaussian"}, "need delta="),
        ({"delta": 1e-6}, "give either epsilon= or rho="),
        ({"epsilon": 1.0, "rho": 0.1, "delta": 1e-6}, "give either epsilon= or rho="),
        ({"rho": 0.1, "noise": "gaussian", "delta": 1e-6}, "leave noise= out"),
        ({"epsilon": 1.0, "delta": 1e-6, "confidence": 2.0}, "confidence"),
    ],
)
def test_what_cannot_be_audited_is_refused(given: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        audited(SEVEN, COUNT, **given)  # type: ignore[call-overload]
