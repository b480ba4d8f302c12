"""The register of theorems: ours, and those from outside."""

from typing import ClassVar

import pytest

from bayesdp import ArbitraryGroups, Count, Model, Query, Theorem, calibrate, compare, leakage, register, unregister
from bayesdp.errors import InvalidInputError
from bayesdp.theorems import theorem_named, theorems
from bayesdp.theorems.spend import Spend, total_tau

COUNT = Count(equals=1)


class Pairs(Theorem):
    """An outside theorem: for groups of two, group privacy once more."""

    name: ClassVar[str] = "pairs"
    proof: ClassVar[str] = "a paper of mine"

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        return None if model.group_size == 2 else "it is about pairs"

    def bound(self, model: Model, spend: Spend) -> float:
        return 1.5 * total_tau(spend)


def test_a_theorem_from_outside_is_registered_in_one_line() -> None:
    register(Pairs())
    try:
        assert leakage(ArbitraryGroups(2), COUNT, tau=1.0).theorem == "pairs"
        assert calibrate(ArbitraryGroups(2), COUNT, epsilon=3.0).tau == pytest.approx(2, rel=1e-11)
        assert any(row.theorem == "pairs" and row.tau for row in compare(ArbitraryGroups(2), COUNT, epsilons=[1]).rows)
        assert leakage(ArbitraryGroups(3), COUNT, tau=1.0).theorem == "general"
        with pytest.raises(InvalidInputError, match="already"):
            register(Pairs())
    finally:
        unregister("pairs")
    assert "pairs" not in [theorem.name for theorem in theorems()]
    with pytest.raises(InvalidInputError, match="was added with register"):
        unregister("general")
    with pytest.raises(InvalidInputError, match="instance of a Theorem"):
        register(Pairs)  # type: ignore[arg-type]


def test_a_result_outlives_its_theorem() -> None:
    register(Pairs())
    found = leakage(ArbitraryGroups(2), COUNT, tau=1.0)
    unregister("pairs")
    assert "a paper of mine" in str(found)


def test_a_theorem_needs_a_proof_and_a_name_of_its_own() -> None:
    class Unproven(Pairs):
        proof = None  # type: ignore[assignment]

    class Disguised(Pairs):
        name = "general"

    before = theorems()
    with pytest.raises(InvalidInputError, match="Unproven needs a proof"):
        register(Unproven())
    with pytest.raises(InvalidInputError, match="there is a theorem 'general' already"):
        register(Disguised())
    assert theorems() == before


def test_theorems_are_printed_with_where_their_proof_is() -> None:
    printed = str(theorems())
    for theorem in theorems():
        assert theorem.name in printed
        assert theorem.proof in printed
    with pytest.raises(InvalidInputError, match="there is no theorem 'pairs'; there are independent"):
        theorem_named("pairs")
