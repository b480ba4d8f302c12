import json

import pytest

from bayesdp import (
    AnyOf,
    ArbitraryGroups,
    Count,
    GaussianGroups,
    Independent,
    MarkovChain,
    Mean,
    Sum,
    leakage,
)
from bayesdp.errors import InvalidInputError, NoTheoremAppliesError, QueryError
from bayesdp.theorems import theorem_named, theorems

COUNT = Count(equals=1)
CHAIN = MarkovChain([[0.9, 0.1], [0.4, 0.6]], length=100)


def test_the_best_is_named_and_every_theorem_is_heard() -> None:
    found = leakage(CHAIN, COUNT, tau=1.0)
    assert found.theorem in ("markov-mixing", "markov-count")
    assert found.worst_case is not None
    assert [each.theorem for each in found.assessments] == [theorem.name for theorem in theorems()]
    assert all((each.epsilon is None) != (each.reason is None) for each in found.assessments)
    assert found.epsilon < next(each.epsilon or 0 for each in found.assessments if each.theorem == "markov-quilt")


def test_it_reads_as_a_sentence_a_table_and_json() -> None:
    found = leakage(CHAIN, COUNT, tau=1.0)
    assert "leaks at most ε = 3.298" in str(found)
    assert (
        "about one record, not the person behind several: an attacker who starts at 50 : 50 ends at most at 96.5"
        in str(found)
    )
    assert "if the records follow a stationary Markov chain with 2 states" in str(found)
    assert "docs/theory/markov-" in str(found)
    assert "general" in found.table()
    document = json.loads(found.to_json())
    assert {"epsilon", "tau", "scale", "alpha", "beta", "theorem", "scope", "theorems"} <= document.keys()
    assert document["scale"] == 1
    assert document["alpha"] == pytest.approx(2.9957, abs=1e-4)


def test_estimated_models_say_so() -> None:
    estimated = MarkovChain.from_counts([[9, 1], [4, 6]])
    assert "estimated from data" in str(leakage(estimated, COUNT, tau=1))
    assert "estimated" not in str(leakage(CHAIN, COUNT, tau=1))


def test_several_releases_read_as_one_spend() -> None:
    found = leakage(ArbitraryGroups(2), [(COUNT, 0.5), (COUNT, 0.25)])
    assert found.epsilon == 1.5
    assert found.tau == 0.75
    assert "(together tau = 0.75)" in str(found)
    assert found.to_dict()["scale"] is None


def test_a_mean_of_unknown_size_has_a_leakage_but_no_scale() -> None:
    document = leakage(Independent(), Mean("x", bounds=(0, 1)), tau=1).to_dict()
    assert document["epsilon"] == 1
    assert document["scale"] is None


def test_any_of_leaks_as_much_as_its_worst_model() -> None:
    unsure = AnyOf(Independent(), ArbitraryGroups(3))
    found = leakage(unsure, COUNT, tau=1.0)
    assert found.epsilon == 3
    reasons = {each.theorem: each.reason for each in found.assessments}
    assert "under model 2" in (reasons["independent"] or "")
    assert "one of these holds" in str(found)
    assert "under model 1: theorem independent" in str(found)
    assert reasons["any-of"] is None
    assert [part.epsilon for part in found.parts] == [1, 3]


def test_the_scope_of_any_of_is_no_wider_than_each_models() -> None:
    unsure = AnyOf(GaussianGroups(correlation=0.2, size=5), ArbitraryGroups(2))
    scope = leakage(unsure, Sum(bounds=(0, 1234567)), tau=1.0).scope
    assert "under model 1: target values at most 1234567 apart" in scope
    assert "under model 2: every pair of target values" in scope


def test_a_model_of_one_column_says_nothing_about_two() -> None:
    """Fair bits, and the same bits one step later, both follow this chain; released together they leak 3, not 2."""
    chain = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(QueryError, match="different columns"):
        leakage(chain, [(Count("a", equals=1), 1.0), (Count("b", equals=1), 1.0)])
    assert leakage(ArbitraryGroups(2), [(Count("a", equals=1), 1.0), (Count("b", equals=1), 1.0)]).epsilon == 4


def test_one_theorem_out_of_range_does_not_silence_the_others() -> None:
    far = GaussianGroups(correlation=0.2, size=2, distance=1e300)
    found = leakage(far, Sum(bounds=(0, 1e-20)), tau=1)
    assert found.epsilon == 2
    assert next(each.reason for each in found.assessments if each.theorem == "gaussian-paper")
    assert leakage(GaussianGroups(covariance=[[1e-308, 0], [0, 1e308]]), Sum(bounds=(0, 1)), tau=1).epsilon <= 2


def test_nothing_proven_is_an_error_with_every_reason() -> None:
    with pytest.raises(NoTheoremAppliesError) as refusal:
        leakage(MarkovChain([[0, 1], [1, 0]]), COUNT, tau=1.0)
    assert [name for name, _ in refusal.value.reasons] == [theorem.name for theorem in theorems()]


def test_wrong_arguments() -> None:
    with pytest.raises(InvalidInputError, match="expected a model"):
        leakage("chain", COUNT, tau=1.0)  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="not a state"):
        leakage(CHAIN, Count(equals=7), tau=1.0)
    with pytest.raises(InvalidInputError, match="there is no theorem 'magic'; there are independent"):
        theorem_named("magic")
