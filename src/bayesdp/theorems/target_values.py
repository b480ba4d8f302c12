"""The leakage about two given values of a record: Bayesian metric privacy. Proofs: docs/theory/metric-privacy.md."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from bayesdp._support import validation
from bayesdp._support.display import Displayed, Section, Words
from bayesdp._support.documents import Document
from bayesdp._support.validation import Scalar, brief
from bayesdp.errors import InvalidInputError
from bayesdp.models import MarkovChain, Model
from bayesdp.queries import Query
from bayesdp.rounding import float_above, shown_above, shown_odds
from bayesdp.theorems.gaussian.metric import Normal
from bayesdp.theorems.leakage import check_queries, notes_about, report
from bayesdp.theorems.markov.mixing import MarkovMixing
from bayesdp.theorems.spend import Spend, as_spend

__all__ = ["TargetLeakage", "target_leakage"]


@dataclass(frozen=True)
class TargetLeakage(Displayed, Document):
    """The proven leakage of one release about two values of a record, to every adversary.

    model, query, tau: the assumed model, and the released query with the loss of its mechanism.
    values:   the two values of a record.
    distance: how far apart they are; None if they are not numbers.
    epsilon:  an upper bound on the target-dependent BDPL, in both directions.
    theorem:  the theorem that proves it; proof: its page.
    scope:    the mechanisms and attackers that it covers.

    >>> from bayesdp import ArbitraryGroups, Sum
    >>> round(target_leakage(ArbitraryGroups(2), Sum("x", bounds=(0, 8)), 3, 5, tau=1.0).epsilon, 2)
    1.25
    """

    model: Model
    query: Query
    tau: float
    values: tuple[Scalar, Scalar]
    distance: float | None
    epsilon: float
    theorem: str
    proof: str
    scope: str

    def _printed(self) -> list[Section]:
        first, second = self.values
        sentences = [
            f"Releasing {self.query.description} with tau = {shown_above(self.tau)} leaks at most ε = "
            f"{shown_above(self.epsilon)} about whether a record is {first} or {second}: {shown_odds(self.epsilon)}.",
            f"This is proven ({self.theorem}, {self.proof}) if {self.model.assumption}. It covers {self.scope}.",
            "Other pairs of values may leak more; a guarantee covers all of them.",
        ]
        return [[Words(" ".join([*sentences, *notes_about(self.model)]))]]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON object."""
        return {
            "epsilon": self.epsilon,
            "tau": self.tau,
            "values": list(self.values),
            "distance": self.distance,
            "theorem": self.theorem,
            "proof": self.proof,
            "scope": self.scope,
            "assumption": self.model.assumption,
            "notes": list(notes_about(self.model)),
        }


def target_leakage(model: Model, query: Query, first: Scalar, second: Scalar, *, tau: float) -> TargetLeakage:
    """Return what a τ-DP release leaks about whether a record has one value or another.

    model: the correlation model of the records.
    query: the released query.
    first: one of the values: a number for sums and normal records, a state for a chain.
    second: the other.
    tau:   the ordinary differential privacy of the release.

    The release is Bayesian d-private for the d that gives this ε for every pair of values. Close values of a clipped
    sum leak less than values that are far apart, and similar states of a chain less than others.

    Raises InvalidInputError for values that the model does not have, QueryError for a query that it does not describe
    and NoTheoremAppliesError if nothing is proven.

    >>> from bayesdp import GaussianGroups, Sum
    >>> family = GaussianGroups(covariance=[[36, 9], [9, 36]])
    >>> height = Sum("height", bounds=(100, 200))
    >>> near, far = (target_leakage(family, height, 170, other, tau=1.0).epsilon for other in (171, 220))
    >>> round(near, 4), round(far, 4)
    (0.0125, 0.625)
    """
    spend = as_spend(query, tau)
    check_queries(model, spend)
    numbers = [validation.number("value", value) for value in (first, second) if _is_number(value)]
    distance = abs(Fraction(numbers[0]) - Fraction(numbers[1])) if len(numbers) == 2 else None
    parts = [_about(member, query, spend, (first, second), distance) for member in model.members]
    epsilon, theorem, proof, scope = max(parts)
    apart = None if distance is None else float_above(distance)
    return TargetLeakage(model, query, float(tau), (first, second), apart, epsilon, theorem, proof, scope)


def _about(
    model: Model, query: Query, spend: Spend, values: tuple[Scalar, Scalar], distance: Fraction | None
) -> tuple[float, str, str, str]:
    """Return the smallest ε about two values under one model, with its theorem, proof and scope."""
    _check(model, values)
    page = "docs/theory/metric-privacy.md"
    if values[0] == values[1]:
        return 0.0, "equal values", page, "any mechanism"
    if isinstance(model, Normal):
        if distance is None:
            raise InvalidInputError(f"values of normal records are numbers, not {brief(values)}")
        model = replace(model, distance=float_above(distance))
    every = report(model, spend)
    found = [(every.epsilon, every.theorem, every.proof, every.scope)]
    if distance is not None and query.width is not None and model.group_size is not None:
        moves = min(distance / query.width + Fraction(query.rounding), Fraction(1))
        grouped = (moves + model.group_size - 1) * sum(Fraction(release.tau) for release in spend)
        found.append((float_above(grouped), "general", page, "Laplace noise on clipped sums"))
    mixing = MarkovMixing()
    if isinstance(model, MarkovChain) and model.unit == 1 and mixing.objection(model, spend) is None:
        places = tuple(model.states.index(value) for value in values)
        about_both = mixing.bound_between(model, spend, (places[0], places[1]))
        found.append((about_both, mixing.name, page, mixing.scope(model, (query,))))
    return min(found)


def _check(model: Model, values: tuple[Scalar, Scalar]) -> None:
    states = getattr(model, "states", None)
    for value in values:
        if states and value not in states:
            raise InvalidInputError(f"{brief(value)} is not a state of the model; its states are {brief(states)}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
