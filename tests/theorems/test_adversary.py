"""One adversary: never below the oracle, never above the worst one, who is described."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bayesdp import (
    AnyOf,
    ArbitraryGroups,
    Count,
    GaussianGroups,
    Independent,
    MarkovChain,
    Model,
    Sum,
    calibrate,
    leakage,
)
from bayesdp.audit.oracle import bdpl, chain_joint, gaussian_lemma, laplace_sum, worst_mechanism
from bayesdp.errors import DoesNotApplyError, InvalidInputError, NoTheoremAppliesError
from bayesdp.testing import transition_matrices
from bayesdp.testing.cases import Case, gaussian_cases
from bayesdp.theorems import theorem_named
from bayesdp.theorems.adversary import Adversary, WorstInChain, WorstInGroup
from bayesdp.theorems.ask import ApplicableTheorems
from bayesdp.theorems.gaussian.covariance import GaussianCovariance, covariance_factor, factor_for
from bayesdp.theorems.leakage import report
from bayesdp.theorems.markov.count import MarkovCount
from bayesdp.theorems.markov.mixing import MarkovMixing
from bayesdp.theorems.markov.sides import Ending
from bayesdp.theorems.spend import as_spend

COUNT, SUM = Count(equals=1), Sum(bounds=(0, 1))
ROWS = [[0.9, 0.1], [0.4, 0.6]]
CHAIN = MarkovChain(ROWS, length=12)


@st.composite
def adversaries(draw: st.DrawFn, records: int) -> Adversary:
    """Any record, and any of the others known."""
    target = draw(st.integers(0, records - 1))
    known = draw(st.sets(st.integers(0, records - 1)))
    return Adversary(target, tuple(known - {target}))


@settings(max_examples=3 * settings().max_examples)
@given(st.data(), st.integers(2, 3), st.floats(0.05, 5))
def test_no_adversary_of_a_chain_learns_more(data: st.DataObject, states: int, tau: float) -> None:
    """Chains from their stationary law or from anywhere, zeros included."""
    length = data.draw(st.integers(1, 5 if states == 2 else 4))
    matrix = data.draw(transition_matrices(states))
    stationary = data.draw(st.booleans())
    assume(not stationary or MarkovChain(matrix, start="any").is_irreducible)
    chain = MarkovChain(matrix, length=length, start="stationary" if stationary else "any")
    start = None if stationary else data.draw(transition_matrices(states))[0]
    adversary, counted = data.draw(adversaries(length)), data.draw(st.integers(0, states - 1))
    kernel = laplace_sum([float(state == counted) for state in range(states)], length, tau)
    truth = bdpl(chain_joint(chain, length, start), kernel, adversary=(adversary.target, adversary.known)).epsilon
    spend = as_spend(Count(equals=counted), tau)
    for theorem in (MarkovMixing(), MarkovCount()):
        if theorem.refusal(chain, (spend[0].query,)) is None:
            proven = theorem.epsilon_for(chain, spend, adversary)
            assert truth <= proven + 1e-9, theorem.name
            assert proven <= theorem.epsilon(chain, spend), theorem.name


@given(st.data(), st.floats(0.05, 4))
def test_knowing_all_but_the_nearest_leaves_what_the_count_leaks(data: st.DataObject, tau: float) -> None:
    """Exact: what is summed beyond a known record would only blur the answer."""
    length = data.draw(st.integers(1, 5))
    matrix = data.draw(transition_matrices(2))
    assume(MarkovChain(matrix, start="any").is_irreducible)
    chain = MarkovChain(matrix, length=length)
    first, last = sorted((data.draw(st.integers(0, length)), data.draw(st.integers(0, length))))
    assume(first < last)
    target = data.draw(st.integers(first, last - 1))
    known = (*range(first), *range(last, length))
    truth = bdpl(chain_joint(chain, length), laplace_sum([0, 1], length, tau), adversary=(target, known)).epsilon
    proven = MarkovCount().epsilon_for(chain, as_spend(COUNT, tau), Adversary(target, known))
    assert proven == pytest.approx(truth, rel=1e-9, abs=1e-9)


@settings(max_examples=settings().max_examples // 4)
@given(st.data(), transition_matrices(2), st.floats(0.05, 3))
def test_no_mechanism_tells_one_adversary_more(data: st.DataObject, matrix: object, tau: float) -> None:
    chain = MarkovChain(matrix, length=4, start="any")
    assume(chain.is_irreducible)
    adversary = data.draw(adversaries(4))
    joint = chain_joint(chain, 4)
    truth = worst_mechanism(joint, tau, adversary=(adversary.target, adversary.known))
    stationary = MarkovChain(matrix, length=4)
    for model in (chain, stationary):
        assert truth <= MarkovMixing().epsilon_for(model, as_spend(COUNT, tau), adversary) + 1e-7


@pytest.mark.parametrize("rows", [ROWS, [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]], ids=["two", "three"])
@pytest.mark.parametrize("target", [0, 3, 100, 2500, 4999])
def test_distant_knowledge_is_as_good_as_none(rows: list[list[float]], target: int) -> None:
    """Long chains: sides longer than those followed are bounded by what lies nearer, and stay below the worst."""
    chain = MarkovChain(rows, length=5000)
    for theorem in (MarkovMixing(), MarkovCount()):
        worst = theorem.epsilon(chain, as_spend(COUNT, 0.5))
        alone = theorem.epsilon_for(chain, as_spend(COUNT, 0.5), Adversary(target))
        near = theorem.epsilon_for(chain, as_spend(COUNT, 0.5), Adversary(target, tuple({0, 4, 2499, 4998} - {target})))
        assert 0.5 <= alone <= worst
        assert 0.5 <= near <= worst
    assert theorem.epsilon_for(chain, as_spend(COUNT, 0.5), Adversary(2, (1, 3))) == pytest.approx(0.5, abs=1e-9)


@settings(max_examples=3 * settings().max_examples)
@given(st.data(), gaussian_cases(), st.floats(0.05, 4))
def test_no_adversary_of_a_group_learns_more(data: st.DataObject, case: Case, tau: float) -> None:
    assert isinstance(case.model, GaussianGroups)
    assume(case.model.kinds and GaussianCovariance().refusal(case.model, (case.query,)) is None)
    adversary = data.draw(adversaries(case.model.group_size))
    width = float(case.query.width or 1)
    reach = 1.0 if case.model.distance is None else case.model.distance / width
    who = (adversary.target, adversary.known)
    truth = gaussian_lemma(case.model.kinds[0], reach=reach, adversary=who).factor * tau
    proven = GaussianCovariance().epsilon_for(case.model, as_spend(case.query, tau), adversary)
    assert proven == pytest.approx(truth, rel=1e-4)
    assert proven >= truth * (1 - 1e-12)
    assert proven <= GaussianCovariance().epsilon(case.model, as_spend(case.query, tau))


@given(st.data(), st.integers(11, 13), st.integers(0, 2**32 - 1))
def test_one_adversary_of_a_large_group_is_among_all_of_them(data: st.DataObject, size: int, seed: int) -> None:
    factors = np.random.default_rng(seed).normal(size=(size, 2 * size))
    matrix = factors @ factors.T / size
    rows = tuple(map(tuple, ((matrix + matrix.T) / 2).tolist()))
    adversary = data.draw(adversaries(size))
    one, worst = factor_for(rows, 1.0, adversary), covariance_factor(rows)
    assert one <= worst.factor
    assert factor_for(rows, 1.0, Adversary(worst.target, worst.known)) == pytest.approx(worst.factor, rel=1e-14)


def test_a_group_too_large_to_enumerate_has_one_adversary() -> None:
    size = 40
    factors = np.random.default_rng(0).normal(size=(size, 2 * size))
    model = GaussianGroups(covariance=(factors @ factors.T / size).tolist())
    with pytest.raises(NoTheoremAppliesError):
        report(GaussianGroups(correlation=1.0, size=size), as_spend(SUM, 1.0), adversary=Adversary(0))
    assert GaussianCovariance().refusal(model, (SUM,)) is not None
    found = leakage(model, SUM, tau=1.0, target=3, known=range(4, size))
    matrix = np.array(model.kinds[0])
    given_ = [*range(4, size), 3]
    slopes = matrix[np.ix_([0, 1, 2], given_)] @ np.linalg.inv(matrix[np.ix_(given_, given_)])[:, -1]
    assert found.epsilon == pytest.approx(1 + np.minimum(np.abs(slopes), 1).sum(), rel=1e-9)
    assert found.theorem == "gaussian-covariance"


def test_several_releases_and_kinds_of_groups_add_up() -> None:
    kinds = GaussianGroups(covariance=[[[1, 0.5], [0.5, 1]], [[1, 0.1, 0.1], [0.1, 1, 0.1], [0.1, 0.1, 1]]])
    assert leakage(kinds, SUM, tau=1.0, target=0).epsilon == pytest.approx(1.5)
    assert leakage(kinds, SUM, tau=1.0, target=0, known=[2]).epsilon == pytest.approx(1 + 0.1 * 0.9 / 0.99, rel=1e-9)
    both = [(SUM, 1.0), (Count(equals=3), 0.5)]
    assert leakage(kinds, both, target=1).epsilon == pytest.approx(max(1.5 + 2 * 0.5, 1.2 + 3 * 0.5))
    assert leakage(kinds, both, target=0, known=[1]).epsilon == pytest.approx(max(1 + 0.5, 1 + 0.1 / 1.1 + 2 * 0.5))
    stepped = leakage(kinds, Sum(bounds=(0, 1), step=0.125), tau=1.0, target=0, known=[1]).epsilon
    assert 1 + 0.1 / 1.1 + 0.25 <= stepped <= 1 + 0.1 / 1.1 + 0.26


def test_it_says_whom_it_is_about_and_that_it_is_no_guarantee() -> None:
    found = leakage(CHAIN, COUNT, tau=1.0, target=5, known=[9, 3])
    assert found.adversary == Adversary(5, (3, 9))
    assert "It is about no adversary but one who knows records 3 and 9 exactly and asks about record 5" in str(found)
    assert "not a guarantee" in str(found)
    document = json.loads(found.to_json())
    assert document["adversary"] == {"target": 5, "known": [3, 9]}
    assert document["scope"].startswith("no adversary but one who knows records 3 and 9 exactly")
    assert found.epsilon < leakage(CHAIN, COUNT, tau=1.0).epsilon
    assert "adversary" not in leakage(CHAIN, COUNT, tau=1.0).to_dict()
    assert str(Adversary(2)) == "one who knows no other record and asks about record 2"
    assert str(Adversary(2, (1,))) == "one who knows record 1 exactly and asks about record 2"
    assert str(Adversary(2, (1, 5, 3))) == "one who knows records 1, 3 and 5 exactly and asks about record 2"


def test_theorems_about_all_adversaries_at_once_say_so() -> None:
    reasons = {each.theorem: each.reason for each in leakage(CHAIN, COUNT, tau=1.0, target=5).assessments}
    assert (
        reasons["markov-quilt"] == reasons["markov-paper"] == reasons["general"] == "it bounds all adversaries at once"
    )
    assert reasons["gaussian-tight"] == "it is about normal groups"
    with pytest.raises(NoTheoremAppliesError, match="general: it bounds all adversaries at once"):
        leakage(ArbitraryGroups(3), COUNT, tau=1.0, target=0)
    with pytest.raises(DoesNotApplyError, match="at once"):
        theorem_named("general").epsilon_for(ArbitraryGroups(3), as_spend(COUNT, 1.0), Adversary(0))
    with pytest.raises(DoesNotApplyError, match="at once"):
        theorem_named("general").bound_for(ArbitraryGroups(3), as_spend(COUNT, 1.0), Adversary(0))


def test_under_any_of_one_adversary_faces_the_worst_model() -> None:
    lazy, quick = MarkovChain(ROWS, length=12), MarkovChain([[0.6, 0.4], [0.4, 0.6]], length=12)
    both = leakage(AnyOf(quick, lazy), COUNT, tau=1.0, target=5, known=[2])
    assert both.epsilon == leakage(lazy, COUNT, tau=1.0, target=5, known=[2]).epsilon
    assert both.adversary == Adversary(5, (2,))
    with pytest.raises(InvalidInputError, match="there is no record 5 in a chain of 3"):
        leakage(AnyOf(lazy, MarkovChain(ROWS, length=3)), COUNT, tau=1.0, target=5)
    with pytest.raises(NoTheoremAppliesError):
        leakage(AnyOf(lazy, Independent()), COUNT, tau=1.0, target=5)


@pytest.mark.parametrize(
    ("model", "asked", "message"),
    [
        (CHAIN, {"target": 12}, "there is no record 12 in a chain of 12; they are numbered from 0"),
        (CHAIN, {"target": 0, "known": [1, 40]}, "there is no record 40 in a chain of 12"),
        (GaussianGroups(covariance=[[1, 0], [0, 1]]), {"target": 2}, "there is no record 2 in a group of 2"),
        (CHAIN, {"target": 3, "known": [3]}, "record 3 is both the target and known"),
        (CHAIN, {"target": 3, "known": [4, 4]}, "known names a record twice"),
        (CHAIN, {"known": [4]}, "known= requires target="),
        (CHAIN, {"target": -1}, "target must be at least 0"),
        (CHAIN, {"target": 1.5}, "target must be a whole number"),
        (CHAIN, {"target": True}, "target must be a whole number"),
        (CHAIN, {"target": 1, "known": "2"}, r"known must be positions of records, such as \[3, 9\]"),
        (CHAIN, {"target": 1, "known": 2}, r"known must be positions of records, such as \[3, 9\]"),
        (CHAIN, {"target": 1, "known": [None]}, "known must be a whole number"),
        (MarkovChain(ROWS), {"target": 1}, "positions in a chain of known length; give the model a length"),
        (MarkovChain(ROWS, length=9, gaps=True), {"target": 1}, "records are missing inside the chain"),
    ],
)
def test_adversaries_that_cannot_be(model: Model, asked: dict[str, Any], message: str) -> None:
    query = SUM if isinstance(model, GaussianGroups) else COUNT
    with pytest.raises(InvalidInputError, match=message):
        leakage(model, query, tau=1.0, **asked)


def test_nothing_that_releases_takes_one_adversary() -> None:
    spend = as_spend(COUNT, 1.0)
    with pytest.raises(InvalidInputError, match="safe from every adversary"):
        report(CHAIN, spend, panel=ApplicableTheorems.about(CHAIN, spend, composing=True), adversary=Adversary(0))
    with pytest.raises(TypeError):
        calibrate(CHAIN, COUNT, epsilon=1.0, target=0)  # type: ignore[call-overload]
    assert calibrate(CHAIN, COUNT, epsilon=1.0).leakage.adversary is None


def test_a_target_determined_by_known_records_leaks_nothing() -> None:
    flips = MarkovChain([[0, 1], [1, 0]], length=5)
    assert leakage(flips, COUNT, tau=1.0, target=2, known=[0]).epsilon == 0
    assert leakage(flips, COUNT, tau=1.0, target=2).epsilon == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("model", "position", "message"),
    [
        (MarkovChain(ROWS), 0, "chain of known length"),
        (MarkovChain(ROWS, length=300, gaps=True), 0, "records are missing inside the chain"),
        (MarkovChain(ROWS, length=300), 300, "no record 300 in a chain of 300"),
        (GaussianGroups(correlation=0.3, size=3), 3, "no record 3 in a group of 3"),
    ],
)
def test_a_position_that_the_model_does_not_have_is_refused(model: Model, position: int, message: str) -> None:
    Adversary(299).check(MarkovChain(ROWS, length=300))
    Adversary(10**6).check(ArbitraryGroups(2))
    with pytest.raises(InvalidInputError, match=message):
        Adversary(position).check(model)


def test_he_is_described_by_the_states_of_his_chain() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["idle", "active"])
    worst = WorstInChain((1, 0), Ending(2, None), Ending(0, 1))
    assert worst.described(chain) == (
        "a target that is 'active' or 'idle', with 2 unknown records and then nothing before it and a known 'active' "
        "after it"
    )


@pytest.mark.parametrize(
    ("known", "words"), [((), "knows no other record of it"), ((0, 3), "knows records 0, 3 of it")]
)
def test_he_is_described_by_what_he_knows_of_his_group(known: tuple[int, ...], words: str) -> None:
    assert WorstInGroup(0, 1, known).described() == f"an adversary who targets record 1 of a group and {words}"


@pytest.mark.parametrize("sign", [1, -1])
def test_the_one_who_is_named_learns_all_that_is_bounded(sign: int) -> None:
    theorem, spend = theorem_named("gaussian-covariance"), as_spend(Sum(bounds=(0, 1)), 1.0)
    model = GaussianGroups(covariance=[[1, 0.5, 0.4 * sign], [0.5, 1, 0.45], [0.4 * sign, 0.45, 1]])
    worst = theorem.worst_adversary(model, spend)
    assert isinstance(worst, WorstInGroup)
    assert worst.described() == theorem.worst_case(model, spend)
    one = theorem.epsilon_for(model, spend, Adversary(worst.target, worst.known))
    assert one == pytest.approx(theorem.epsilon(model, spend), rel=1e-9)
