import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.audit import worst_case
from bayesdp.audit.oracle import bdpl, chain_joint, gaussian_lemma, laplace_sum, worst_mechanism
from bayesdp.errors import InvalidInputError, TheoremError
from bayesdp.testing import transition_matrices
from bayesdp.theorems.theorem import Theorem

ACTIVITY = bdp.MarkovChain.from_counts([[9713, 1295], [1295, 2955]], length=15264)
COUNT, SUM = bdp.Count(equals=1), bdp.Sum(bounds=(0, 10))
NORMAL = [[1, 0.275, 0.202], [0.275, 1, 0.074], [0.202, 0.074, 1]]

ATTAINED = [
    (ACTIVITY, COUNT),
    (ACTIVITY, bdp.AnyMechanism()),
    (ACTIVITY, bdp.Histogram(cells=[0, 1])),
    (replace(ACTIVITY, unit=12), COUNT),
    (bdp.MarkovChain([[0.1, 0.9], [0.9, 0.1]], length=9), bdp.AnyMechanism()),
    (bdp.OddsChain(9.0), COUNT),
    (bdp.OddsChain(9.0, length=6), SUM),
    (bdp.OddsChain(9.0, memory=2), COUNT),
    (bdp.OddsChain(9.0, unit=3, length=40), COUNT),
    (bdp.HiddenMarkov(transition_odds=81.0, emission_odds=9.0), COUNT),
    (bdp.HiddenMarkov(transition_odds=81.0, emission_odds=9.0, length=5), COUNT),
    (bdp.Network(records=9, edges=[(0, 1, 1.5), (1, 2, 9), (2, 3, 4)]), COUNT),
    (bdp.Network(records=3, edges=[]), COUNT),
    (bdp.Independent(), COUNT),
    (bdp.ArbitraryGroups(4), SUM),
    (bdp.ArbitraryGroups(4, unit="group"), SUM),
    (bdp.GaussianGroups(correlation=0.275, size=3), SUM),
    (bdp.GaussianGroups(covariance=NORMAL, unit="group"), SUM),
    (bdp.GaussianSeries([0.5], length=12), SUM),
    (bdp.AnyOf(bdp.Independent(), bdp.ArbitraryGroups(3)), COUNT),
]
NOT_ATTAINED = [
    (replace(ACTIVITY, start="any"), COUNT),
    (bdp.MarkovChain([[[0.9, 0.1], [0.6, 0.4]], [[0.7, 0.3], [0.2, 0.8]]], memory=2), COUNT),
    (bdp.Network(odds=1.5, degree=4), COUNT),
    (bdp.GaussianGroups(correlation=0.275, size=3), COUNT),
    (bdp.GaussianGroups(covariance=[[4, 2, 2], [2, 4, 0], [2, 0, 4]]), SUM),
    (bdp.GaussianSeries([-0.5]), SUM),
]


@pytest.mark.parametrize("tau", [0.2, 1.0, 4.0])
@pytest.mark.parametrize(("model", "query"), ATTAINED + NOT_ATTAINED)
def test_no_attacker_learns_more_than_is_proven(model: bdp.Model, query: bdp.Query, tau: float) -> None:
    worst = worst_case(model, query, tau=tau)
    assert (
        tau * (1 - 1e-9)
        <= worst.realised
        <= bdp.leakage(model, query, tau=tau, neighbours="replace").epsilon * (1 + 1e-9)
    )
    assert worst.odds[1] / worst.odds[0] == pytest.approx(math.exp(worst.realised))
    assert worst.posterior == pytest.approx(worst.odds[1] / (1 + worst.odds[1]), rel=1e-12)


@pytest.mark.parametrize(("model", "query"), ATTAINED)
def test_where_the_bound_is_attained(model: bdp.Model, query: bdp.Query) -> None:
    worst = worst_case(model, query, tau=1.0)
    assert worst.attained
    assert "which is the proven bound" in str(worst)


@pytest.mark.parametrize(("model", "query"), NOT_ATTAINED)
def test_where_it_is_not_both_figures_are_said(model: bdp.Model, query: bdp.Query) -> None:
    worst = worst_case(model, query, tau=1.0)
    assert not worst.attained
    assert f"the proven bound is ε = {bdp.rounding.shown_above(worst.epsilon)} ({worst.theorem})" in str(worst)


@settings(max_examples=2 * settings().max_examples, deadline=None)
@given(st.data(), st.integers(2, 3), st.floats(0.05, 5), st.integers(1, 5))
def test_a_chain_realises_what_the_oracle_finds(data: st.DataObject, states: int, tau: float, length: int) -> None:
    chain = bdp.MarkovChain(data.draw(transition_matrices(states, zeros=False)), length=length)
    values = [0.0, 1.0, 0.0][:states]
    truth = max(bdpl(chain_joint(chain, n), laplace_sum(values, n, tau)).epsilon for n in range(1, length + 1))
    assert worst_case(chain, COUNT, tau=tau).realised == pytest.approx(truth, rel=1e-8, abs=1e-9)


@settings(deadline=None)
@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.floats(0.1, 3), st.integers(1, 3))
def test_two_states_realise_what_any_mechanism_can(first: float, second: float, tau: float, length: int) -> None:
    chain = bdp.MarkovChain([[first, 1 - first], [second, 1 - second]], length=length)
    truth = max(worst_mechanism(chain_joint(chain, n), tau) for n in range(1, length + 1))
    assert worst_case(chain, bdp.AnyMechanism(), tau=tau).realised == pytest.approx(truth, rel=1e-6)


def test_the_activity_chain_in_words() -> None:
    worst = worst_case(ACTIVITY, COUNT, tau=1.0)
    assert worst.values == (1, 0)
    assert worst.unknown == (7, 7)
    assert worst.known == ((-8, 0), (8, 0))
    assert (worst.output, worst.direction) == (15.0, 1)
    assert str(worst) == (
        "Released: the number of records in state 1, with tau = 1. An attacker asks whether a record is 1 or 0. "
        "He knows every record but this one, the 7 before it and the 7 after; the nearest records he knows are 0 "
        "before and 0 after. "
        "An answer of 15 or more for the records he does not know reveals 1: 27.2 : 72.8 for 1 becomes 92.4 : 7.6. "
        "He learns ε = 3.48122, which is the proven bound."
    )


def test_bounded_odds_name_the_side_information() -> None:
    worst = worst_case(bdp.OddsChain(9.0, length=5), COUNT, tau=1.0)
    assert len(worst.evidence) == 5
    assert all(0 < min(likelihood) < max(likelihood) == 1 for likelihood in worst.evidence[1:])
    assert "noisy observation" in str(worst)


def test_the_worst_case_of_a_group_names_the_known_records() -> None:
    covariance = [[1, 0.9, 0.8], [0.9, 1, 0.5], [0.8, 0.5, 1]]
    worst = worst_case(bdp.GaussianGroups(covariance=covariance), bdp.Sum(bounds=(-1, 1)), tau=1.0)
    lemma = gaussian_lemma(covariance)
    assert tuple(record for record, _ in worst.known) == lemma.known
    assert 1 + sum(min(abs(slope), 1) for _, slope in worst.moves) == pytest.approx(lemma.factor)


def test_it_is_a_document() -> None:
    document = worst_case(ACTIVITY, COUNT, tau=1.0).to_dict()
    assert (document["kind"], document["schema"], document["attained"]) == ("worst-case", 1, True)
    assert document["known"] == [{"record": -8, "value": 0}, {"record": 8, "value": 0}]
    json.dumps(document, allow_nan=False)


def test_a_wrong_proof_is_contradicted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Half(Theorem):
        name = "half"
        proof = "none"

        def refusal(self, model: bdp.Model, queries: tuple[bdp.Query, ...]) -> str | None:
            return None

        def bound(self, model: bdp.Model, spend: object) -> float:
            return 0.5

    bdp.register(Half())
    try:
        with pytest.raises(TheoremError, match=r"half proves ε = 0\.5, but an attacker learns 3"):
            worst_case(bdp.ArbitraryGroups(3), COUNT, tau=1.0)
    finally:
        bdp.unregister("half")


def test_refusals() -> None:
    with pytest.raises(InvalidInputError, match="tau must be"):
        worst_case(ACTIVITY, COUNT, tau=0)
    with pytest.raises(InvalidInputError, match="model"):
        worst_case("chain", COUNT, tau=1.0)  # type: ignore[arg-type]


def test_no_attacker_exceeds_what_the_states_allow() -> None:
    """A record of a chain of 0 and 1 is never 100, whatever a sum is clipped to; to count all states tells nothing."""
    chain = bdp.MarkovChain([[0.9, 0.1], [0.3, 0.7]], length=100)
    worst = worst_case(chain, bdp.Sum(bounds=(0, 100)), tau=1.0)
    assert worst.realised <= worst.epsilon < 0.05
    every = worst_case(chain, bdp.Count(isin=[0, 1]), tau=1.0)
    assert every.realised == 0
    words = bdp.MarkovChain([[0.9, 0.1], [0.3, 0.7]], states=["idle", "busy"], length=100)
    assert worst_case(words, bdp.Sum(bounds=(0, 100)), tau=1.0).realised > 1
