"""The leakage of a release: the best proven ε, and the result of every other theorem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from bayesdp._support import hooks
from bayesdp._support.display import Displayed, PrintedTable, Section, Words, warned
from bayesdp._support.documents import Document
from bayesdp._support.messages import params
from bayesdp._support.validation import brief
from bayesdp.accuracy import BETA, Laplace, laplace_scale
from bayesdp.errors import InvalidInputError, NoTheoremAppliesError
from bayesdp.losses import Neighbours, PrivacyProfile, assumed_replacing
from bayesdp.model_notes import DROPPED, ESTIMATED
from bayesdp.models import Model
from bayesdp.queries import Query
from bayesdp.rounding import hardly_a_promise, shown_above, shown_odds
from bayesdp.theorems.adversary import Adversary
from bayesdp.theorems.ask import ApplicableTheorems, Reply, ask
from bayesdp.theorems.registry import theorem_named
from bayesdp.theorems.spend import Released, Spend, queries_of, total_tau
from bayesdp.theorems.theorem import Theorem

__all__ = [
    "ESTIMATED",
    "Assessment",
    "Composition",
    "Leakage",
    "check_queries",
    "combined_leakage",
    "leakage",
    "notes_about",
    "promised",
    "report",
]

ANY_OF = "any-of"
"""The row that combines the best theorem of each model under an AnyOf."""

ONE_ADVERSARY = (
    "This is what one adversary learns, not a guarantee: others may learn more, and a guarantee must cover all of them."
)


@dataclass(frozen=True)
class Assessment:
    """The result of one theorem: the ε it proves, with its δ if any, or the reason why it does not apply."""

    theorem: str
    epsilon: float | None = None
    reason: str | None = None
    delta: float | None = None

    @property
    def applies(self) -> bool:
        """Whether the theorem gives a guarantee here."""
        return self.epsilon is not None

    def to_dict(self, cost: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON object of one theorem, with the cost of the release."""
        if self.epsilon is None:
            return {"theorem": self.theorem, "applies": False, "reason": self.reason}
        delta = {} if self.delta is None else {"delta": self.delta}
        return {"theorem": self.theorem, "applies": True, "epsilon": self.epsilon, **delta, **cost}


@dataclass(frozen=True)
class Leakage(Displayed, Document):
    """The proven leakage of a spend: the logarithm of how much one record can change the odds of any output.

    Prints as sentences; `table()` lists every theorem; `to_dict()` is the JSON of the command line. Under an AnyOf,
    `parts` holds the leakage under each of its models, and everything else is that of the worst.

    model:       the assumed model.
    spend:       the releases: queries, and the loss of each.
    epsilon:     the proven upper bound on the leakage.
    theorem:     the name of the theorem that proves it; proof: the page of its proof.
    scope:       the target values, mechanisms and attackers that it covers.
    unit:        what is protected: one record, or the unit of the model.
    worst_case:  the case in which the bound is attained, in words; None if the theorem does not provide it.
    assessments: the result of every theorem.
    adversary:   the only adversary of this leakage; None for a guarantee, which covers all of them.
    delta:       0, unless the guarantee is (ε, δ) (bayesdp.theorems.approximate).
    """

    model: Model
    spend: Spend
    epsilon: float
    theorem: str
    scope: str
    unit: str
    proof: str
    worst_case: str | None
    assessments: tuple[Assessment, ...]
    parts: tuple[Leakage, ...] = ()
    adversary: Adversary | None = None
    delta: float = 0.0

    @property
    def tau(self) -> float:
        """The ordinary differential privacy of the whole spend; InvalidInputError if a loss is not pure."""
        return total_tau(self.spend)

    @property
    def headline(self) -> str:
        """The table row of this leakage: its theorem, or "any-of" under an AnyOf."""
        return ANY_OF if self.parts else self.theorem

    @property
    def assumption(self) -> str:
        """The assumption about the records."""
        return self.model.assumption

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that must accompany the number."""
        return (*(() if self.adversary is None else (ONE_ADVERSARY,)), *notes_about(self.model))

    @property
    def denial(self) -> tuple[str, ...]:
        """A sentence if a table contradicts the model's assumption; otherwise empty."""
        diagnosis = self.model.diagnosis
        if diagnosis is None or not diagnosis.violated:
            return ()
        names = ", ".join(diagnosis.violated)
        when = f" of {diagnosis.date}" if diagnosis.date else ""
        return (
            f"The data contradict that assumption: the diagnosis{when} on {diagnosis.table_name} found it violated "
            f"({names}), so nothing is proven for them.",
        )

    def _printed(self) -> Sequence[Section]:
        return [promised(self, f"Releasing {_described(self.spend)}", self.epsilon)]

    def _shown(self) -> Sequence[Section]:
        return [*self._printed(), [self._table]]

    def table(self) -> str:
        """Return the result of every theorem, as a text table."""
        return self._table.text()

    @property
    def _table(self) -> PrintedTable:
        rows = [
            [assessment.theorem, shown_above(assessment.epsilon), "best" if assessment.theorem == self.headline else ""]
            if assessment.epsilon is not None
            else [assessment.theorem, "–", assessment.reason or ""]
            for assessment in self.assessments
        ]
        return PrintedTable(["theorem", "ε", ""], rows)

    def plot(self, path: str | Path) -> Path:
        """Plot what every theorem proves around this τ, and write the picture (.png, .svg or .pdf)."""
        drawn: Path = hooks.call("plot.leakage", self, path)
        return drawn

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp leakage --json` prints."""
        scale, alpha = noise_of(self.spend)
        one = {} if self.adversary is None else {"adversary": self.adversary.to_dict()}
        cost = {"tau": self.tau, "alpha": alpha}
        return one | self._document({"tau": self.tau, "scale": scale, "alpha": alpha}, cost)

    def _document(self, release: Mapping[str, Any], cost: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON object of a guarantee, with entries about the release, and those of each theorem's cost."""
        return {
            "epsilon": self.epsilon,
            **release,
            "beta": BETA,
            "theorem": self.theorem,
            "scope": self.scope,
            "worst_case": self.worst_case,
            "unit": self.unit,
            "assumption": self.assumption,
            "proof": self.proof,
            "notes": [*self.notes, *self.denial],
            "theorems": [assessment.to_dict(cost) for assessment in self.assessments],
        }


Found = TypeVar("Found", bound=Leakage)


def leakage(
    model: Model,
    releases: Query | Iterable[Released],
    *,
    tau: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    profile: PrivacyProfile | None = None,
    neighbours: Neighbours | None = None,
    theorem: str | None = None,
    target: int | None = None,
    known: Iterable[int] | None = None,
) -> Leakage:
    """Return what a release leaks about one record when records are correlated.

    model:    the correlation model of the records.
    releases: one query, with the loss of its mechanism, or a list of (query, loss or τ): everything released on one
              data set, converted together.
    tau:      the ordinary differential privacy of the one query.
    delta:    with tau, the δ of the mechanism, which is (τ, δ)-DP; the guarantee then has an ε and a δ of its own. With
              rho, a profile or a list, the δ of the guarantee.
    rho:      the loss of a ρ-zCDP mechanism, such as one with Gaussian noise.
    profile:  δ for every τ, from an accountant.
    neighbours: "replace" (the default) if tau and delta, or rho, are for replacing a record, "add-remove" if they are
              for adding or removing one, as in most libraries. A profile has its own. AnyMechanism needs it: without
              it, a tau alone is for "replace", with a DeprecationWarning.
    theorem:  the name of the only theorem to evaluate.
    target:   the record that one adversary wants to learn: a position from 0 in a chain of exactly `length` records, or
              in a group. The leakage to one adversary is not a guarantee.
    known:    the positions of the records that this adversary knows exactly; by default none.

    Returns the smallest ε that any theorem proves, with the result of every theorem; an ApproximateLeakage if it has a
    δ. Raises InvalidInputError for invalid losses or positions, QueryError for a query that the model does not
    describe, and NoTheoremAppliesError if nothing is proven (about one adversary, if one is given).

    >>> from bayesdp import ArbitraryGroups, Count, GaussianGroups, Sum
    >>> leaked = leakage(ArbitraryGroups(3), Count("ill", equals=True), tau=1.0)
    >>> leaked.epsilon, leaked.theorem
    (3.0, 'general')
    >>> family = GaussianGroups(covariance=[[1, 0.5], [0.5, 1]])
    >>> round(leakage(family, Sum("height", bounds=(0, 100)), tau=1.0, target=0, known=[1]).epsilon, 6)
    1.0
    >>> leaked = leakage(ArbitraryGroups(3), Count("ill", equals=True), tau=0.5, delta=1e-6)
    >>> leaked.epsilon, round(leaked.delta * 1e6, 4)
    (1.5, 5.367)
    """
    from bayesdp.theorems.approximate import approximate_report, as_losses, has_delta

    if tau is not None and delta is None and neighbours is None and getattr(releases, "made_elsewhere", False):
        assumed_replacing("leakage(AnyMechanism(), tau=...)")
    adversary = Adversary.of(target, known)
    spend, promised_delta = as_losses(releases, tau=tau, delta=delta, rho=rho, profile=profile, neighbours=neighbours)
    only = None if theorem is None else [theorem_named(theorem)]
    if promised_delta is None and not has_delta(spend):
        return report(model, spend, adversary=adversary, only=only)
    if adversary is not None:
        raise InvalidInputError(
            params("{target} and {known} require {tau} alone: no theorem about one adversary has a delta")
        )
    return approximate_report(model, spend, promised_delta, only=only)


def report(
    model: Model,
    spend: Spend,
    *,
    panel: ApplicableTheorems | None = None,
    adversary: Adversary | None = None,
    only: Sequence[Theorem] | None = None,
) -> Leakage:
    """Return the proven leakage of `spend` if the data follow `model`.

    panel:     the theorems that apply, if they have been checked for these queries; by default all are checked.
    adversary: the only adversary to consider; a ledger needs the leakage to all of them, so it leaves this out.
    only:      the theorems to evaluate; by default all that are registered.

    Raises QueryError for queries that the model does not describe, InvalidInputError for positions that it does not
    have, and NoTheoremAppliesError if nothing is proven.
    """
    if panel is not None and adversary is not None:
        raise InvalidInputError("a release must be safe from every adversary; leave adversary out")
    if panel is None:
        check_queries(model, spend)
    if adversary is None:
        panel = ApplicableTheorems.about(model, spend, only=only) if panel is None else panel
        members, rows = panel.members, _replies(panel, spend)
    else:
        members, rows = model.members, _replies_about(model, spend, adversary, only)
    parts = [_under(member, spend, replies, adversary) for member, replies in zip(members, rows, strict=True)]
    return combined_leakage(model, parts)


def combined_leakage(model: Model, parts: Sequence[Found]) -> Found:
    """Return the leakage under the worst of the models that may hold, from the leakage under each."""
    if model.members == (model,):
        return parts[0]
    worst = max(parts, key=lambda part: (part.epsilon, part.delta))
    delta = max(part.delta for part in parts)
    scopes = {part.scope for part in parts}
    together = [_together(assessments) for assessments in zip(*(part.assessments for part in parts), strict=True)]
    pure = all(assessment.delta is None for assessment in worst.assessments)
    return replace(
        worst,
        model=model,
        unit=model.protects,
        delta=delta,
        scope=worst.scope if len(scopes) == 1 else _numbered(part.scope for part in parts),
        assessments=(*together, Assessment(ANY_OF, worst.epsilon, delta=None if pure else delta)),
        parts=tuple(parts),
    )


_REMEMBERED = 64


@dataclass(frozen=True)
class Composition:
    """The joint leakage of any number of releases under a model, by the theorems that cover all of them.

    Applicable theorems are cached, because an account asks about the same queries repeatedly.

    >>> from bayesdp import ArbitraryGroups, Count
    >>> from bayesdp.theorems.spend import as_spend
    >>> Composition(ArbitraryGroups(3)).proven(as_spend(Count("ill", equals=True), 1.0))
    3.0
    """

    model: Model
    _panels: list[ApplicableTheorems] = field(default_factory=list, compare=False, repr=False)

    def panel(self, spend: Spend) -> ApplicableTheorems:
        """Return the theorems that apply to a spend."""
        # Comparing is faster than hashing: an account may have hundreds of queries, mostly the same objects.
        panel = next((panel for panel in self._panels if panel.covers(spend)), None)
        if panel is None:
            self.model.check_queries(queries_of(spend))
            panel = ApplicableTheorems.about(self.model, spend, composing=True)
            self._panels[:] = [panel, *self._panels[: _REMEMBERED - 1]]
        return panel

    def proven(self, spend: Spend) -> float:
        """Return the smallest ε that is proven under every model that may hold, as `report` does; 0 for no releases."""
        return max(_best(replies)[1] for replies in _replies(self.panel(spend), spend)) if spend else 0.0

    def report(self, spend: Spend) -> Leakage:
        """Return the proven leakage, with the theorem that proves it."""
        return report(self.model, spend, panel=self.panel(spend))


def _replies(panel: ApplicableTheorems, spend: Spend) -> tuple[tuple[Reply[float], ...], ...]:
    return panel.ask(lambda theorem, member: theorem.epsilon(member, spend))


def _replies_about(
    model: Model, spend: Spend, adversary: Adversary, only: Sequence[Theorem] | None
) -> tuple[tuple[Reply[float], ...], ...]:
    for member in model.members:
        adversary.check(member)
    return ask(model, lambda theorem, member: theorem.epsilon_for(member, spend, adversary), only=only)


def _best(replies: Sequence[Reply[float]]) -> tuple[Theorem, float]:
    """Return the theorem with the smallest ε under one model, and that ε."""
    values = [(reply.theorem, reply.value) for reply in replies if reply.value is not None]
    if not values:
        raise NoTheoremAppliesError((reply.theorem.name, reply.reason or "") for reply in replies)
    return min(values, key=lambda pair: pair[1])


def _under(model: Model, spend: Spend, replies: Sequence[Reply[float]], adversary: Adversary | None) -> Leakage:
    """Return the leakage under one model, by the theorem with the smallest ε."""
    theorem, epsilon = _best(replies)
    scope = theorem.scope(model, queries_of(spend))
    return Leakage(
        model=model,
        spend=spend,
        epsilon=epsilon,
        theorem=theorem.name,
        scope=scope if adversary is None else f"no adversary but {adversary.within(model)}; {scope}",
        unit=model.protects,
        proof=theorem.proof,
        worst_case=theorem.worst_case(model, spend) if adversary is None else None,
        assessments=tuple(Assessment(reply.theorem.name, reply.value, reply.reason) for reply in replies),
        adversary=adversary,
    )


def notes_about(model: Model) -> tuple[str, ...]:
    """Return sentences about a model that must accompany a guarantee, in addition to its assumption."""
    origins = [member.origin for member in model.members if member.origin is not None]
    return (*origins, *(note for note, holds in ((ESTIMATED, model.estimated), (DROPPED, model.dropped)) if holds))


def check_queries(model: object, spend: Spend) -> None:
    """Raise an error for an object that is not a model, and for queries that the model does not describe."""
    if not isinstance(model, Model):
        raise InvalidInputError(f"expected a model such as MarkovChain(...) first, not {brief(model)}")
    model.check_queries(queries_of(spend))


def promised(leakage: Leakage, release: str, epsilon: float, *more: str) -> Section:
    """Return the sentences of a guarantee: its leakage, theorem, assumption and scope, then `more` sentences."""
    proofs = [f"theorem {part.theorem}, {part.proof}" for part in leakage.parts or (leakage,)]
    sentences = [
        f"{release} leaks at most ε = {shown_above(epsilon)} about {leakage.unit}: {shown_odds(epsilon)}",
        f"This {'would be' if leakage.denial else 'is'} proven "
        f"({_numbered(proofs) if leakage.parts else proofs[0]}) if {leakage.assumption}",
        f"It {'covers' if leakage.adversary is None else 'is about'} {leakage.scope}",
    ]
    if leakage.worst_case is not None:
        sentences.append(f"The worst case: {leakage.worst_case}")
    warnings = [warning for warning in (*leakage.denial, hardly_a_promise(epsilon)) if warning is not None]
    paragraph = " ".join([*(f"{sentence}." for sentence in sentences), *leakage.notes, *more])
    return [Words(paragraph), *warned(warnings)]


def noise_of(spend: Spend) -> tuple[float | None, float | None]:
    """Return the Laplace scale and α of a single τ-DP release; None for others, or without a finite scale."""
    if len(spend) != 1:
        return None, None
    query = spend[0].query
    try:
        scale = laplace_scale(query, spend[0].tau)
        return scale, Laplace(scale).alpha(BETA, cells=query.dimension)
    except InvalidInputError:
        return None, None


def _together(assessments: tuple[Assessment, ...]) -> Assessment:
    """Combine the results of one theorem under each model that may hold: the largest ε and δ, or the first reason."""
    for index, assessment in enumerate(assessments):
        if assessment.epsilon is None:
            return Assessment(assessment.theorem, reason=f"under model {index + 1}: {assessment.reason}")
    worst = max(assessments, key=lambda assessment: assessment.epsilon or 0.0)
    deltas = [assessment.delta for assessment in assessments if assessment.delta is not None]
    return replace(worst, delta=max(deltas, default=None))


def _numbered(texts: Iterable[str]) -> str:
    return "; ".join(f"under model {index}: {text}" for index, text in enumerate(texts, start=1))


def _described(spend: Spend) -> str:
    releases = "; ".join(f"{release.query.description} with {release.loss.description}" for release in spend)
    several = len(spend) > 1 and all(release.pure for release in spend)
    return f"{releases} (together tau = {shown_above(total_tau(spend))})" if several else releases
