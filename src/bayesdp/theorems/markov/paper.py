"""The paper's bound for Markov chains: ε = τ + 4 ln γ. Proof: docs/theory/markov-paper.md."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from bayesdp.models import MarkovChain, Model
from bayesdp.queries import Query
from bayesdp.rounding import exact_sum, float_above, float_below, log_above
from bayesdp.theorems.markov.sides import REMEMBERS_MORE
from bayesdp.theorems.spend import Spend, exact_total
from bayesdp.theorems.theorem import Theorem

__all__ = ["MarkovPaper"]


class MarkovPaper(Theorem):
    """A stationary chain with positive transition probabilities; the offset 4 ln γ is paid once per data set."""

    name: ClassVar[str] = "markov-paper"
    proof: ClassVar[str] = "docs/theory/markov-paper.md"
    covers_every_mechanism: ClassVar[bool] = True

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        if not isinstance(model, MarkovChain):
            return "it is about Markov chains"
        if model.memory > 1:
            return REMEMBERS_MORE
        for i, row in enumerate(model.transition):
            for j, entry in enumerate(row):
                if entry == 0:
                    return (
                        "it needs every transition probability to be positive, but the one from "
                        f"{model.states[i]!r} to {model.states[j]!r} is 0"
                    )
        if model.start != "stationary":
            return 'it needs a stationary start, but the start of the model is "any"'
        return None

    def bound(self, model: Model, spend: Spend) -> float:
        return float_above(exact_total(spend) + _offset(model))

    def closed_form(self, model: Model, query: Query, epsilon: float, spent: Spend) -> float:
        return float_below(Fraction(epsilon) - _offset(model) - exact_total(spent))


@lru_cache(maxsize=256)
def _offset(model: Model) -> Fraction:
    """Return 4 ln γ of the transition matrix with its rows scaled to sum to exactly one, rounded up."""
    assert isinstance(model, MarkovChain)
    rows = [(Fraction(max(row)), Fraction(min(row)), exact_sum(row)) for row in model.transition]
    largest = max(most / total for most, _, total in rows)
    return 4 * Fraction(log_above(largest / min(least / total for _, least, total in rows)))
