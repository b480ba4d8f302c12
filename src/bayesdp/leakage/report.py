"""What a release leaks: the best proven ε, and what every other theorem says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bayesdp.accuracy import Laplace, laplace_scale
from bayesdp.documents import Document
from bayesdp.errors import InvalidInputError, NoTheoremAppliesError, QueryError
from bayesdp.leakage.registry import theorem_named, theorems
from bayesdp.models import AnyOf, Model
from bayesdp.rounding import shown_above, shown_below
from bayesdp.spending import Spend, queries_of, total_tau
from bayesdp.tables import table

__all__ = ["Assessment", "Leakage", "assess", "check_queries", "members", "promised", "report"]

BETA = 0.05
"""The failure probability accuracy is stated at unless another is asked for."""

ESTIMATED = (
    "The model's parameters were estimated from data. If those are the private data, the estimate is itself a release "
    "that this guarantee does not cover."
)


@dataclass(frozen=True)
class Assessment:
    """What one theorem says: an ε it proves, or the reason it does not apply."""

    theorem: str
    epsilon: float | None = None
    reason: str | None = None

    @property
    def applies(self) -> bool:
        """Whether the theorem gives a guarantee here."""
        return self.epsilon is not None


@dataclass(frozen=True)
class Leakage(Document):
    """The proven leakage of a spend: the logarithm of how much one record can change the odds of any output.

    Prints as sentences; `table()` lists every theorem; `to_dict()` is the JSON of the command line.
    """

    model: Model
    spend: Spend
    epsilon: float
    theorem: str
    scope: str
    unit: str
    assessments: tuple[Assessment, ...]

    @property
    def tau(self) -> float:
        """The ordinary differential privacy of the whole spend."""
        return total_tau(self.spend)

    @property
    def proof(self) -> str:
        """Where the theorem's proof is."""
        return theorem_named(self.theorem).proof

    @property
    def assumption(self) -> str:
        """What is assumed about the records."""
        return self.model.assumption

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader must know beyond the number."""
        return (ESTIMATED,) if self.model.estimated else ()

    def __str__(self) -> str:
        return promised(self, f"Releasing {_described(self.spend)} leaks at most ε = {shown_above(self.epsilon)}")

    def table(self) -> str:
        """Return what every theorem says, as a text table."""
        rows = [
            [each.theorem, shown_above(each.epsilon), "best" if each.theorem == self.theorem else ""]
            if each.epsilon is not None
            else [each.theorem, "–", each.reason or ""]
            for each in self.assessments
        ]
        return table(["theorem", "ε", ""], rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp leakage --json` prints."""
        scale, alpha = noise_of(self.spend)
        return {
            "epsilon": self.epsilon,
            "tau": self.tau,
            "scale": scale,
            "alpha": alpha,
            "beta": BETA,
            "theorem": self.theorem,
            "scope": self.scope,
            "unit": self.unit,
            "assumption": self.assumption,
            "proof": self.proof,
            "notes": list(self.notes),
            "theorems": [
                {"theorem": each.theorem, "applies": True, "epsilon": each.epsilon, "tau": self.tau, "alpha": alpha}
                if each.applies
                else {"theorem": each.theorem, "applies": False, "reason": each.reason}
                for each in self.assessments
            ],
        }


def report(model: Model, spend: Spend) -> Leakage:
    """Return the proven leakage of `spend` if the data follow `model`.

    Raises QueryError for queries the model does not speak about, NoTheoremAppliesError if nothing is proven.
    """
    check_queries(model, spend)
    assessed = [assess(member, spend) for member in members(model)]
    best = [_best(found) for found in assessed]
    worst = max(range(len(best)), key=lambda index: best[index][0])
    queries = queries_of(spend)
    scopes = dict.fromkeys(
        theorem_named(name).scope(member, queries) for member, (_, name) in zip(members(model), best, strict=True)
    )
    epsilon, name = best[worst]
    return Leakage(
        model=model,
        spend=spend,
        epsilon=epsilon,
        theorem=name,
        scope="; ".join(scopes),
        unit=theorem_named(name).unit(members(model)[worst]),
        assessments=tuple(map(_together, zip(*assessed, strict=True))),
    )


def assess(model: Model, spend: Spend) -> list[Assessment]:
    """Return what every theorem says of `spend` under one model."""
    found = []
    for theorem in theorems():
        reason = theorem.refusal(model, queries_of(spend))
        epsilon = theorem.epsilon(model, spend) if reason is None else None
        found.append(Assessment(theorem.name, epsilon, reason))
    return found


def members(model: Model) -> tuple[Model, ...]:
    """Return the models of which one holds: those of an AnyOf, or just this one."""
    return tuple(model.models) if isinstance(model, AnyOf) else (model,)


def check_queries(model: object, spend: Spend) -> None:
    """Refuse what is not a model, and queries that the model does not speak about."""
    if not isinstance(model, Model):
        raise InvalidInputError(f"expected a model such as MarkovChain(...) first, not {model!r}")
    for query in queries_of(spend):
        model.check_query(query)


def promised(leakage: Leakage, claim: str) -> str:
    """Return a claim with everything it rests on, as sentences."""
    sentences = [
        f"{claim} about {leakage.unit}",
        f"This is proven (theorem {leakage.theorem}, {leakage.proof}) if {leakage.assumption}",
        f"It covers {leakage.scope}",
    ]
    return " ".join([sentence + "." for sentence in sentences] + list(leakage.notes))


def noise_of(spend: Spend) -> tuple[float | None, float | None]:
    """Return the Laplace scale and α of a single release; None for several, or while a mean's size is unknown."""
    if len(spend) != 1:
        return None, None
    (query, tau) = spend[0]
    try:
        scale = laplace_scale(query, tau)
    except QueryError:
        return None, None
    return scale, Laplace(scale).alpha(BETA, cells=query.dimension)


def _best(found: list[Assessment]) -> tuple[float, str]:
    proven = [(each.epsilon, index) for index, each in enumerate(found) if each.epsilon is not None]
    if not proven:
        raise NoTheoremAppliesError((each.theorem, each.reason or "") for each in found)
    epsilon, index = min(proven)
    return epsilon, found[index].theorem


def _together(found: tuple[Assessment, ...]) -> Assessment:
    """Combine what one theorem says under each model that may hold: the largest ε, or the first reason."""
    for index, each in enumerate(found):
        if each.epsilon is None:
            where = f"model {index + 1} of {len(found)}: " if len(found) > 1 else ""
            return Assessment(each.theorem, reason=f"{where}{each.reason}")
    return max(found, key=lambda each: each.epsilon or 0.0)


def _described(spend: Spend) -> str:
    first = f"{spend[0].query.description} with tau = {shown_below(spend[0].tau)}"
    if len(spend) == 1:
        return first
    rest = "; ".join(f"{query.description} with tau = {shown_below(tau)}" for query, tau in spend[1:])
    return f"{first}; {rest} (together tau = {shown_above(total_tau(spend))})"
