"""One `ask`: it alone knows the members of a model, which theorems compose, and what is too large."""

from __future__ import annotations

import pytest

from bayesdp import AnyOf, ArbitraryGroups, Count, Independent, MarkovChain, Model, Query, Theorem
from bayesdp.errors import DoesNotApplyError, QueryError, TooLargeError
from bayesdp.theorems import register, theorems, unregister
from bayesdp.theorems.ask import ApplicableTheorems, ask
from bayesdp.theorems.leakage import Composition
from bayesdp.theorems.spend import Spend, as_spend

SPEND = as_spend(Count(equals=1), 1.0)
CHAIN = MarkovChain([[0.9, 0.1], [0.4, 0.6]], length=10)


def epsilon(theorem: Theorem, model: Model) -> float:
    return theorem.epsilon(model, SPEND)


def test_every_theorem_is_asked_under_every_member() -> None:
    either = AnyOf(Independent(), ArbitraryGroups(3), CHAIN)
    rows = ask(either, epsilon)
    assert len(rows) == len(either.members) == 3
    for replies in rows:
        assert [reply.theorem for reply in replies] == list(theorems())
        assert all((reply.value is None) != (reply.reason is None) for reply in replies)
    assert ask(CHAIN, epsilon) == (rows[2],)


def test_a_ledger_asks_only_what_composes() -> None:
    (replies,) = ApplicableTheorems.about(CHAIN, SPEND, composing=True).ask(epsilon)
    assert {reply.theorem.name for reply in replies} == {theorem.name for theorem in theorems() if theorem.composes}


@pytest.mark.parametrize("model", [CHAIN, AnyOf(Independent(), ArbitraryGroups(3))])
def test_hypotheses_checked_before_give_the_same_replies(model: Model) -> None:
    panel = ApplicableTheorems.about(model, SPEND)
    assert panel.ask(epsilon) == ask(model, epsilon)
    best = max(min(reply.value for reply in row if reply.value is not None) for row in panel.ask(epsilon))
    assert Composition(model).proven(SPEND) >= best


def test_a_composition_checks_once_and_agrees_with_the_report() -> None:
    composition = Composition(CHAIN)
    assert composition.panel(SPEND) is composition.panel(SPEND)
    assert composition.proven(SPEND) == composition.report(SPEND).epsilon
    assert composition.proven(()) == 0
    with pytest.raises(QueryError):
        composition.panel(as_spend(Count(equals="unknown"), 1.0))


class _Broken(Theorem):
    """Refuses, or is too large, as constructed."""

    name = "broken"
    proof = "nowhere"

    def __init__(self, error: Exception, *, when_asked: bool = False) -> None:
        self.error, self.when_asked = error, when_asked

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        if self.when_asked:
            raise self.error
        return None

    def bound(self, model: Model, spend: Spend) -> float:
        raise self.error


def test_what_does_not_apply_or_is_too_large_says_why() -> None:
    for error, reason in (
        (DoesNotApplyError("broken", "not for you"), "not for you"),
        (TooLargeError("beyond floats"), "beyond floats"),
    ):
        ((reply,),) = ask(CHAIN, epsilon, only=[_Broken(error)])
        assert (reply.value, reply.reason) == (None, reason)
    with pytest.raises(ZeroDivisionError):
        ask(CHAIN, epsilon, only=[_Broken(ZeroDivisionError())])


def test_a_hypothesis_that_cannot_be_computed_is_a_reason() -> None:
    broken = _Broken(TooLargeError("beyond floats"), when_asked=True)
    register(broken)
    try:
        panel = ApplicableTheorems.about(CHAIN, SPEND)
        assert [reply.reason for reply in panel.ask(epsilon)[0] if reply.theorem is broken] == ["beyond floats"]
    finally:
        unregister("broken")
