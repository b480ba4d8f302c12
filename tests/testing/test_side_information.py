"""The suite that attacks theorems with side information must itself be able to say no."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.internal.conjecture import engine

from bayesdp import Independent, Model, Query, Theorem
from bayesdp.audit.oracle import worst_mechanism
from bayesdp.testing import (
    Law,
    SideInformationContract,
    chain_laws,
    network_laws,
    tree_laws,
)
from bayesdp.theorems.odds.contraction import contraction
from bayesdp.theorems.spend import Spend, total_tau


@dataclass(frozen=True, kw_only=True)
class Odds(Independent):
    """A model that carries the odds ratios of its vertices, and which of them are hidden."""

    odds: tuple[tuple[float, ...], ...] = ()
    hidden: tuple[int, ...] = ()

    @classmethod
    def of(cls, odds: np.ndarray, hidden: tuple[int, ...]) -> Model:
        return cls(odds=tuple(map(tuple, odds.tolist())), hidden=hidden)


@dataclass(frozen=True, kw_only=True)
class Whole(Independent):
    """A model that is the joint law itself."""

    joint: tuple[float, ...] = ()
    shape: tuple[int, ...] = ()


class ForTests(Theorem):
    proof: ClassVar[str] = "none"

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        return None


class ChainOfOdds(ForTests):
    """True: sinh(ε/4) = √θ·sinh(τ/4) for a chain, θ the largest odds ratio of neighbours."""

    name: ClassVar[str] = "chain-of-odds"

    def bound(self, model: Model, spend: Spend) -> float:
        assert isinstance(model, Odds)
        return 4 * math.asinh(math.sqrt(np.max(model.odds)) * math.sinh(total_tau(spend) / 4))


class TreeOfOdds(ForTests):
    """True: the contraction, repeated from the leaves of a tree to each target; hidden vertices have no τ."""

    name: ClassVar[str] = "tree-of-odds"
    share: ClassVar[float] = 1.0

    def bound(self, model: Model, spend: Spend) -> float:
        assert isinstance(model, Odds)
        odds, tau = np.array(model.odds), total_tau(spend)

        def beyond(vertex: int, parent: int | None) -> float:
            near = [int(other) for other in np.flatnonzero(odds[vertex] > 1 + 1e-9) if other not in (vertex, parent)]
            own = 0.0 if vertex in model.hidden else tau
            logs = self.share * np.log(odds[vertex])
            return own + sum(contraction(beyond(child, vertex), float(logs[child])) for child in near)

        return max(beyond(vertex, None) for vertex in range(len(odds)) if vertex not in model.hidden)


class TooLittleOdds(TreeOfOdds):
    """False, if only just: a twentieth of the logarithm of each odds ratio is forgotten."""

    name: ClassVar[str] = "too-little-odds"
    share: ClassVar[float] = 0.95


class ExactKnowledgeOnly(ForTests):
    """The leakage itself: true for adversaries who know records exactly or not at all, false with side information."""

    name: ClassVar[str] = "exact-knowledge-only"

    def bound(self, model: Model, spend: Spend) -> float:
        assert isinstance(model, Whole)
        return worst_mechanism(np.array(model.joint).reshape(model.shape), total_tau(spend))


class TestChainOfOdds(SideInformationContract):
    theorem = ChainOfOdds()
    laws = chain_laws(Odds.of)


class TestTreeOfOdds(SideInformationContract):
    theorem = TreeOfOdds()
    laws = tree_laws(Odds.of, hidden=True)


class FalseContract(SideInformationContract):
    theorem = TooLittleOdds()
    laws = tree_laws(Odds.of)


class ChainOnANetwork(SideInformationContract):
    """False: in a complete graph every record has more than two neighbours."""

    theorem = ChainOfOdds()
    laws = network_laws(Odds.of)


def pair_of_bits(seed: int) -> Law:
    joint = np.random.default_rng(seed).dirichlet(np.full(4, 0.5)).reshape(2, 2)
    return Law(Whole(joint=tuple(joint.ravel().tolist()), shape=joint.shape), joint)


class KnowledgeContract(SideInformationContract):
    theorem = ExactKnowledgeOnly()
    laws = st.integers(0, 10**6).map(pair_of_bits)


@pytest.mark.parametrize(
    "test",
    [
        FalseContract().test_never_below_the_worst_side_information_found,
        pytest.param(ChainOnANetwork().test_never_below_the_worst_side_information_found, marks=pytest.mark.slow),
        KnowledgeContract().test_never_below_the_worst_side_information_found,
    ],
    ids=lambda test: f"{type(test.__self__).__name__}.{test.__name__}",
)
def test_a_false_theorem_fails(test: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MAX_SHRINKS", 0)  # any counterexample will do
    assert callable(test)
    with pytest.raises(AssertionError, match="proves"):
        test()


def test_exact_knowledge_is_told_from_side_information() -> None:
    KnowledgeContract().test_never_below_someone_who_knows_records_exactly()
