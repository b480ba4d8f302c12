"""Forests of bounded odds, hidden vertices and hidden Markov chains among them. Proof: docs/theory/odds-tree.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from bayesdp._support.arrays import Floats
from bayesdp.models import HiddenMarkov, Model, Network
from bayesdp.models.odds import log_odds_above
from bayesdp.queries import Query
from bayesdp.rounding import finite, float_above
from bayesdp.theorems.attackers import SIDE_INFORMATION
from bayesdp.theorems.odds.contraction import BEYOND_DEPENDENCE, contraction
from bayesdp.theorems.odds.messages import branching, largest_in_forest
from bayesdp.theorems.odds.sides import leakage_of_any_length, side, tau_of_any_length
from bayesdp.theorems.spend import Spend, exact_total, total_tau
from bayesdp.theorems.theorem import Theorem

__all__ = ["OddsTree"]

_CHAIN = 2
"""A tree of this degree is a chain, which has a formula that loses no digits at any odds."""

_CANCELLED = 2.0**-20
"""If a difference is a smaller share of ε, cancellation has cost digits, and a search is used instead."""


class OddsTree(Theorem):
    """A forest: every branch passes on its leakage, contracted at each edge on the way to the target."""

    name: ClassVar[str] = "odds-tree"
    proof: ClassVar[str] = "docs/theory/odds-tree.md"
    covers_every_mechanism: ClassVar[bool] = True
    against: ClassVar[str] = SIDE_INFORMATION
    vectorised: ClassVar[bool] = True
    larger_units: ClassVar[bool] = True

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        if isinstance(model, Network):
            if not model.is_forest:
                known = "" if model.edges is not None else ", or the model does not state that it is a forest"
                return f"the dependences form loops{known}"
            return None
        if not isinstance(model, HiddenMarkov):
            return "it is about forests of bounded odds and hidden Markov chains"
        if math.isinf(model.transition_log_odds):
            return "the odds ratio of hidden states is infinite: some can follow one state but not another"
        if math.isinf(model.emission_log_odds):
            return "the odds ratio of emissions is infinite: some values occur in one hidden state but not in another"
        return None

    def bound(self, model: Model, spend: Spend) -> float:
        return self.bounds(model, [spend])[0]

    def bounds(self, model: Model, spends: Sequence[Spend]) -> Sequence[float]:
        taus = np.array([total_tau(spend) for spend in spends])
        with np.errstate(over="ignore"):
            if isinstance(model, HiddenMarkov):
                several = [float_above(model.unit * exact_total(spend)) for spend in spends] if model.unit > 1 else taus
                proven = np.nextafter(several + _from_hidden(model, taus), np.inf)
            else:
                proven = _of_network(model, taus)
        if model.group_size is not None:
            proven = np.minimum(proven, [float_above(model.group_size * exact_total(spend)) for spend in spends])
        return [finite(epsilon) for epsilon in proven.tolist()]

    def closed_form(self, model: Model, query: Query, epsilon: float, spent: Spend) -> float | None:
        before = float(exact_total(spent))
        if epsilon > BEYOND_DEPENDENCE:
            return epsilon * (1 - 2.0**-40) - before
        if not isinstance(model, Network) or model.edges is not None or model.records is not None:
            return None
        tau = _tau_of_regular_tree(model, epsilon)
        return None if tau is None else tau - before


def _from_hidden(model: HiddenMarkov, taus: Floats) -> Floats:
    """Return what the other records of a hidden Markov chain add, for each τ, rounded up.

    A record reaches its hidden state by f(τ, d_E). The hidden states form a chain in which each holds this much, and
    both sides of it reach the target through the hidden states of all records of the unit.
    """
    transition, emission = model.transition_log_odds, model.emission_log_odds
    held = contraction(taus, emission)
    if model.length is None:
        both = 2 * side(held, transition, None)
    else:
        others = max(model.length - model.unit, 0)
        both = side(held, transition, others // 2) + side(held, transition, others - others // 2)
    return contraction(np.nextafter(both, np.inf), np.nextafter(model.unit * emission, np.inf))


def _of_network(model: Model, taus: Floats) -> Floats:
    assert isinstance(model, Network)
    if model.edges is not None:
        return largest_in_forest(model.ties, taus)
    degree, log_odds = _regular(model)
    if degree == 0 or log_odds == 0:
        return taus
    if degree == _CHAIN:
        return leakage_of_any_length(taus, log_odds)
    passed = contraction(branching(taus, degree - 1, log_odds), log_odds)
    return np.nextafter(taus + np.nextafter(degree * passed, np.inf), np.inf)


def _tau_of_regular_tree(model: Network, epsilon: float) -> float | None:
    """Return the inverse for a regular tree, not rounded: with F = f(ε − F, d), τ = ε − degree·F.

    None if the difference has lost its digits to cancellation.
    """
    degree, log_odds = _regular(model)
    if degree == _CHAIN:
        return tau_of_any_length(epsilon, log_odds)
    share, reach = math.tanh(log_odds / 4), math.tanh(epsilon / 4)
    near = math.sqrt((1 - share) ** 2 + 4 * share / math.cosh(min(epsilon / 4, 300.0)) ** 2)
    passed = 2 * share * reach / (1 + share + near)
    tau = epsilon - degree * 4 * math.atanh(min(passed, 1 - 2.0**-53))
    return tau if tau > _CANCELLED * epsilon else None


def _regular(model: Network) -> tuple[int, float]:
    assert model.odds is not None
    assert model.degree is not None
    return model.degree, float(log_odds_above(np.array(model.odds)))
