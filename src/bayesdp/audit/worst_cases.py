"""The worst attacker of a release: his target, what he knows, the output that reveals most, and what he learns.

Theorems name the adversary. This module computes his likelihoods from the model, without the theorem's own figures. An
existing attacker attains the realised ε, so it never exceeds the proven one. Where it is smaller, the proof may be
loose, or another attacker may be worse.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp._support.display import Displayed, Section, lines
from bayesdp._support.documents import Document
from bayesdp._support.validation import Scalar, brief
from bayesdp._support.words import counted
from bayesdp.audit.attack_models import AttackModel, copies
from bayesdp.audit.chain_attack_models import UnknownStretch, adding, chain_attack_model
from bayesdp.audit.group_attack_models import group_attack_model
from bayesdp.audit.magnet_attack_models import network_attack_model, series_attack_model
from bayesdp.audit.tree_attack_models import BoundedOdds, tree_attack_model, worst_tree
from bayesdp.errors import InvalidInputError, TheoremError
from bayesdp.models import (
    ArbitraryGroups,
    GaussianGroups,
    GaussianSeries,
    HiddenMarkov,
    MarkovChain,
    Model,
    Network,
    OddsChain,
    OddsSeries,
)
from bayesdp.queries import Query
from bayesdp.rounding import NEARLY_CERTAIN, shown_above, shown_below, shown_pair
from bayesdp.theorems.adversary import WorstInChain, WorstInGroup
from bayesdp.theorems.ask import ask
from bayesdp.theorems.gaussian.metric import Normal, covered_distance
from bayesdp.theorems.leakage import report
from bayesdp.theorems.markov.sides import Ending
from bayesdp.theorems.spend import as_spend
from bayesdp.theorems.theorem import Theorem

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "SCHEMA",
    "NormalCase",
    "Setting",
    "WorstCase",
    "autocorrelations",
    "normal_cases",
    "settings",
    "shown",
    "usual_suspects",
    "worst_case",
]

SCHEMA = 1
"""The version of the JSON documents of an audit."""

_LARGEST_EXPONENT = 700.0
"""e to a larger power overflows a float."""

_ATTAINED = 1e-6
"""A realised ε within this share of the proven one counts as attained."""

_OTHER = "another value"
"""Stands for a value that is not counted, in a model that lists no values."""

_ROUNDING = 1e-9
"""The share by which rounding may raise the realised ε above the proven one; more contradicts the proof."""

_LARGEST_SERIES = 41
"""Records of a normal series that an attack includes; those farther away hardly depend on the target."""

_LONGEST_RESPONSE = 2000
"""The number of records after which the response of a series to a shock is cut off, unless it vanishes earlier."""

_STRETCHES = (0, 1, 2, 4, 8, 16)
"""Numbers of unknown records on each side, for chains whose worst adversary no theorem names."""


@dataclass(frozen=True, eq=False)
class Setting:
    """An attacker and his attack model, before the release.

    who:       his target and what he knows, as sentences.
    known:     the records he knows, by their position from the target (in a group: by their number), with their states
               where these matter.
    unknown:   how many records he does not know, before and after the target; None if records have no order.
    evidence:  his side information: the likelihoods of 0 and 1 for each vertex of a tree, the target first.
    direction: how far each unknown record of a group moves if the target moves by 1, by its number.
    of_query:  whether the noise is that of the query; otherwise it stands for some mechanism with the same τ.
    """

    attack_model: AttackModel
    who: str
    values: tuple[int, int] | None = None
    known: tuple[tuple[int, Scalar | None], ...] = ()
    unknown: tuple[int, int] | None = None
    evidence: tuple[tuple[float, float], ...] = ()
    direction: tuple[tuple[int, float], ...] = ()
    stretch: UnknownStretch | None = None
    of_query: bool = True


@dataclass(frozen=True)
class WorstCase(Displayed, Document):
    """The worst known attacker, as a sentence and as data.

    epsilon, theorem: the proven leakage of the release, and the theorem.
    realised:   what this attacker learns: ln of the factor by which the odds between two values change.
    values:     the two values he compares; the output reveals the first.
    prior:      the probability of the first of the two before the release; posterior: after the release of `output`.
    output:     the noisy answer that reveals most, without the contribution of known records.
    direction:  1 if all larger answers reveal as much, −1 if all smaller ones do, 0 if only this one does.
    who:        his target and what he knows.
    known, unknown, evidence, moves: the same as data; see `Setting`.
    of_query:   whether this is the query's own noise. Otherwise another mechanism with the same τ attains it.
    by_cell:    whether the answer is a histogram; `output` is then the difference of the cells of the two values.
    """

    tau: float
    epsilon: float
    theorem: str
    release: str
    realised: float
    values: tuple[Scalar, Scalar]
    prior: float
    posterior: float
    output: float
    direction: int
    who: str
    known: tuple[tuple[int, Scalar | None], ...] = ()
    unknown: tuple[int, int] | None = None
    evidence: tuple[tuple[float, float], ...] = ()
    moves: tuple[tuple[int, float], ...] = ()
    of_query: bool = True
    by_cell: bool = False

    @property
    def attained(self) -> bool:
        """Whether he attains the proven leakage, up to a millionth."""
        return self.realised >= self.epsilon * (1 - _ATTAINED) - _ATTAINED**2

    @property
    def odds(self) -> tuple[float, float]:
        """The odds of the first value against the second, before and after."""
        before = self.prior / (1 - self.prior)
        return before, before * (math.exp(self.realised) if self.realised < _LARGEST_EXPONENT else math.inf)

    def _printed(self) -> list[Section]:
        first, second = map(shown, self.values)
        proven = (
            "which is the proven bound"
            if self.attained
            else f"and the proven bound is ε = {shown_above(self.epsilon)} ({self.theorem})"
        )
        reported = (
            f"Released: {self.release}, with tau = {shown_below(self.tau)}. An attacker asks whether a record is "
            f"{first} or {second}. {self.who} {self._betrayal}: {_odds(self.prior)} for {first} becomes "
            f"{_odds(self.posterior)}. He learns ε = {shown_below(self.realised)}, {proven}."
        )
        return [lines(reported)]

    @property
    def _betrayal(self) -> str:
        """The output that reveals the first value, as the beginning of a sentence."""
        first, second = map(shown, self.values)
        if not self.of_query:
            return f"Some output of a mechanism with this tau, such as randomized response, reveals {first}"
        if self.by_cell:
            return (
                f"The largest possible count in the cell of {first} and the smallest in that of {second} reveal {first}"
            )
        where = {1: " or more", -1: " or less", 0: ""}[self.direction]
        return f"An answer of {self.output:.6g}{where} for the records he does not know reveals {first}"

    def to_dict(self) -> dict[str, Any]:
        """Return the attacker as a JSON object."""
        return {
            "kind": "worst-case",
            "schema": SCHEMA,
            "tau": self.tau,
            "epsilon": self.epsilon,
            "theorem": self.theorem,
            "release": self.release,
            "realised": self.realised,
            "attained": self.attained,
            "values": list(self.values),
            "prior": self.prior,
            "posterior": self.posterior,
            "output": self.output,
            "direction": self.direction,
            "who": self.who,
            "known": [{"record": record, "value": value} for record, value in self.known],
            "unknown": None if self.unknown is None else {"before": self.unknown[0], "after": self.unknown[1]},
            "evidence": [list(likelihood) for likelihood in self.evidence],
            "moves": [{"record": record, "by": slope} for record, slope in self.moves],
            "of_query": self.of_query,
            "by_cell": self.by_cell,
            "text": str(self),
        }


def worst_case(model: Model, query: Query, *, tau: float) -> WorstCase:
    """Return the known attacker who learns most from a τ-DP release of a query.

    Chains: between two known records, as the theorems name them. Bounded odds: with the side information that attains
    the bound, on a law with these odds (for loops and a longer reach, that of effects that add up). Normal groups: with
    the known records that the theorem names. Arbitrary groups: all their records are equal. Anything else: he knows
    every other record.

    Raises as `leakage` does, and TheoremError if an attacker learns more than is proven: then a proof is wrong.

    >>> from bayesdp import Count, OddsChain
    >>> worst = worst_case(OddsChain(9.0), Count(equals=1), tau=1.0)
    >>> round(worst.realised, 6), worst.attained
    (2.79762, True)
    """
    leaked = report(model, as_spend(query, tau))
    attackers = [_assessed(setting, tau) for member in model.members for setting in settings(member, query, tau)]
    setting, realised, values, output, direction = max(attackers, key=lambda one: one[1])
    more, less = values
    attack_model = setting.attack_model
    if realised > leaked.epsilon * (1 + _ROUNDING):
        raise TheoremError(
            f"{leaked.theorem} proves ε = {leaked.epsilon!r}, but an attacker learns {realised!r}: the proof or the "
            "audit is wrong; please report this"
        )
    prior = float(attack_model.prior[more] / (attack_model.prior[more] + attack_model.prior[less]))
    return WorstCase(
        tau=leaked.tau,
        epsilon=leaked.epsilon,
        theorem=leaked.theorem,
        release=query.description,
        realised=min(realised, leaked.epsilon),
        values=(attack_model.secret[more], attack_model.secret[less]),
        prior=prior,
        posterior=1 / (1 + (1 - prior) / prior * math.exp(-realised)),
        output=output,
        direction=direction,
        who=setting.who,
        known=setting.known,
        unknown=setting.unknown,
        evidence=setting.evidence,
        moves=setting.direction,
        of_query=setting.of_query,
        by_cell=attack_model.extremes,
    )


def _assessed(setting: Setting, tau: float) -> tuple[Setting, float, tuple[int, int], float, int]:
    betrayal = setting.attack_model.betrayal(tau, setting.values)
    return setting, betrayal.epsilon, betrayal.values, betrayal.output, betrayal.direction


def settings(model: Model, query: Query, tau: float) -> list[Setting]:
    """Return the known attackers under one model, each with his attack model; the last knows all but one record.

    >>> from bayesdp import ArbitraryGroups, Count
    >>> [len(setting.known) for setting in settings(ArbitraryGroups(3), Count(equals=1), 1.0)]
    [0, 0]
    """
    if not isinstance(query, Query):
        raise InvalidInputError(f"expected a query such as Count(...), not {brief(query)}")
    return [
        *_known_attackers(model, query, tau),
        Setting(_for_query(copies(1), model, query), "He knows every other record."),
    ]


@singledispatch
def _known_attackers(model: Model, query: Query, tau: float) -> Iterator[Setting]:
    """Yield the attackers that the theorems about a type of models name; no attack is known for other types."""
    return iter(())


@_known_attackers.register(ArbitraryGroups)
def _among_copies(model: ArbitraryGroups | GaussianGroups, query: Query, tau: float) -> Iterator[Setting]:
    size = model.group_size
    assert size is not None
    together = (
        f"He knows that the {size} records of its group are all equal."
        if not model.protects_several
        else f"The secret is all {size} records of a group, which are all equal."
    )
    yield Setting(_for_query(copies(size), model, query), together)


def _for_query(attack_model: AttackModel, model: Model, query: Query) -> AttackModel:
    """Translate an attack model of 0/1 records to the query: to its bounds, or to a counted and another value."""
    if query.clipped is not None and query.width is not None and query.clipped.bounds is not None:
        low, high = _reached(model.states, query.clipped.bounds)
        width = query.clipped.bounds[1] - query.clipped.bounds[0]
        return replace(attack_model, secret=(low, high), answers=attack_model.answers * (high - low), sensitivity=width)
    if not query.values:
        return attack_model
    if model.states and all(state in query.values for state in model.states):
        return replace(attack_model, secret=(model.states[0], model.states[-1]), answers=attack_model.answers * 0)
    other = next((state for state in model.states if state not in query.values), _OTHER)
    return replace(attack_model, secret=(other, query.values[0]))


def _reached(states: Sequence[Scalar], bounds: tuple[float, float]) -> tuple[float, float]:
    """Return the smallest and the largest value of a record after clipping: of its states, if they are numbers."""
    low, high = bounds
    numbers = [min(max(float(state), low), high) for state in states if not isinstance(state, str)]
    return (min(numbers), max(numbers)) if numbers else bounds


def _adversaries(model: Model, query: Query, tau: float) -> set[WorstInChain | WorstInGroup]:
    """Return the worst adversaries that theorems about one model name."""
    spend = as_spend(query, tau)

    def named(theorem: Theorem, member: Model) -> WorstInChain | WorstInGroup | None:
        return theorem.worst_adversary(member, spend) if theorem.objection(member, spend) is None else None

    return {reply.value for replies in ask(model, named) for reply in replies if reply.value is not None}


@_known_attackers.register(MarkovChain)
def _in_chain(chain: MarkovChain, query: Query, tau: float) -> Iterator[Setting]:
    named = _adversaries(replace(chain, unit=1, diagnosis=None), query, tau)
    attackers = [
        worst
        for worst in named
        if isinstance(worst, WorstInChain) and (worst.before.boundary is not None or chain.is_irreducible)
    ] or list(usual_suspects(chain))
    for worst in attackers:
        added = adding(query, chain, worst.values)
        stretch = UnknownStretch(worst.before, worst.after)
        attack_model, likely = chain_attack_model(chain, added, stretch)
        if likely == 0 or not (attack_model.prior[list(worst.values)] > 0).all():
            continue
        yield Setting(
            attack_model,
            _between(chain, stretch),
            worst.values,
            _ends(chain, stretch),
            (worst.before.unknown, worst.after.unknown),
            stretch=stretch,
            of_query=added.of_query,
        )


def usual_suspects(chain: MarkovChain, states: int = 4) -> Iterator[WorstInChain]:
    """Yield adversaries between two known records in the same state, for every two values of the target.

    states: the number of states to try.
    """
    size = min(len(chain.states), states)
    for unknown in _STRETCHES:
        if chain.length is not None and 2 * (unknown + chain.memory) + chain.unit > chain.length:
            break
        for end in range(size):
            for more, less in itertools.permutations(range(size), 2):
                yield WorstInChain((more, less), Ending(unknown, end), Ending(unknown, end))


def _between(chain: MarkovChain, stretch: UnknownStretch) -> str:
    """Return what an attacker of a chain knows, as a sentence."""
    before, after = stretch.before, stretch.after
    target, them = ("this one", "it") if chain.unit == 1 else (f"these {chain.unit}", "them")
    around = f", the {before.unknown} before {them} and the {after.unknown} after" if stretch.records else ""
    sides = ((before, "before"), (after, "after"))
    nearest = [f"{chain.states[end.boundary]!r} {place}" for end, place in sides if end.boundary is not None]
    verb = "are" if len(nearest) > 1 else "is"
    ends = f"; the nearest records he knows {verb} {' and '.join(nearest)}" if nearest else ""
    ended = [place for end, place in ((before, "begins"), (after, "ends")) if end.boundary is None]
    there = f"; the chain {' and '.join(ended)} with them" if ended else ""
    return f"He knows every record but {target}{around}{ends}{there}."


def _ends(chain: MarkovChain, stretch: UnknownStretch) -> tuple[tuple[int, Scalar | None], ...]:
    places = ((-stretch.before.unknown - 1, stretch.before), (stretch.after.unknown + chain.unit, stretch.after))
    return tuple((place, chain.states[end.boundary]) for place, end in places if end.boundary is not None)


@_known_attackers.register(OddsSeries)
def _in_series(series: OddsSeries, query: Query, tau: float) -> Iterator[Setting]:
    yield _in_magnet(series_attack_model(series, tau), series, query, tau)


@_known_attackers.register(Network)
def _in_network(network: Network, query: Query, tau: float) -> Iterator[Setting]:
    if network.additive and (attack_model := network_attack_model(network, tau)) is not None:
        yield _in_magnet(attack_model, network, query, tau)
    else:
        yield from _in_tree(network, query, tau)


def _in_magnet(attack_model: AttackModel, model: Model, query: Query, tau: float) -> Setting:
    who = (
        "The records follow a law that these odds ratios allow: each is 0 or 1, any two tend to be equal, and their "
        "effects add up. He knows none of the others, and has a noisy observation of each."
    )
    secret = model.unit if isinstance(model, OddsSeries) else 1
    observed, others = (1.0, math.exp(-tau / 2)), len(attack_model.answers) - 1 - secret
    held = (*[(1.0, 1.0)] * secret, *[observed] * others)
    attacked = _for_query(attack_model, model, query)
    return Setting(attacked, who, (1, 0), evidence=held, of_query=not query.made_elsewhere)


@_known_attackers.register(OddsChain)
@_known_attackers.register(HiddenMarkov)
def _in_tree(model: BoundedOdds, query: Query, tau: float) -> Iterator[Setting]:
    tree = worst_tree(model, tau)
    attack_model, evidence = tree_attack_model(tree, tau)
    others = tree.total - tree.records[0]
    who = (
        "The records follow the worst law that these odds ratios allow: each is 0 or 1, and neighbours tend to "
        f"be equal. He knows none of the {counted(others, 'other record')} in this attack, and has a noisy "
        "observation of each."
    )
    held = tuple((float(zero), float(one)) for zero, one in evidence)
    yield Setting(_for_query(attack_model, model, query), who, (1, 0), evidence=held, of_query=not query.made_elsewhere)


@_known_attackers.register(GaussianGroups)
@_known_attackers.register(GaussianSeries)
def _among_normal(model: Normal, query: Query, tau: float) -> Iterator[Setting]:
    if isinstance(model, GaussianGroups) and model.protects_several:
        yield from _among_copies(model, query, tau)
        return
    whole = "group" if isinstance(model, GaussianGroups) else "series"
    for case in normal_cases(model, query, tau):
        group = group_attack_model(
            case.covariance, case.target, case.known, case.values, case.bounds, mean=case.mean, spread=case.spread
        )
        knows = f"records {', '.join(map(str, case.known))}" if case.known else "no other record"
        small = "" if case.spread else ", in the limit of small variances"
        yield Setting(
            group.attack_model,
            f"It is record {case.target} of a {whole} of {len(case.mean)}{small}, and he knows {knows} of it.",
            known=tuple((record, float(case.mean[record])) for record in case.known),
            direction=tuple(zip(group.unknown, group.direction, strict=True)),
        )


@dataclass(frozen=True, eq=False)
class NormalCase:
    """Normal records to attack: the law, the target and its two values, the known records; see `group_attack_model`."""

    covariance: NDArray[np.float64]
    target: int
    known: tuple[int, ...]
    spread: float
    values: tuple[float, float]
    bounds: tuple[float, float]

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean of every record: the middle of the bounds."""
        return np.full(len(self.covariance), sum(self.bounds) / 2)


def normal_cases(model: Normal, query: Query, tau: float) -> Iterator[NormalCase]:
    """Yield the worst groups or series of normal records for a clipped sum; none for another query."""
    if query.clipped is None or query.clipped.bounds is None or query.width is None:
        return
    low, high = query.clipped.bounds
    centre, reach = (low + high) / 2, float(covered_distance(model, (query,))) / 2
    values, bounds = (centre - reach, centre + reach), (low, high)
    if isinstance(model, GaussianSeries):
        size = _LARGEST_SERIES if model.length is None else min(model.length, _LARGEST_SERIES)
        yield NormalCase(autocorrelations(model, size), size // 2, (), 0.0, values, bounds)
    elif model.correlation is not None:
        equal = (1 - model.correlation) * np.eye(model.group_size) + model.correlation
        yield NormalCase(equal, 0, (), 0.0, values, bounds)
    else:
        for worst in _adversaries(model, query, tau):
            if isinstance(worst, WorstInGroup):
                covariance = np.array(model.kinds[worst.kind])
                yield NormalCase(covariance, worst.target, worst.known, 1.0, values, bounds)


def autocorrelations(series: GaussianSeries, size: int) -> NDArray[np.float64]:
    """Return the correlations of `size` neighbouring records of a series, from its response to one shock."""
    order, shocks = len(series.coefficients), [1.0]
    while len(shocks) < _LONGEST_RESPONSE and abs(np.array(shocks[-order:])).max() > 1e-12:
        shocks.append(sum(phi * shocks[-lag] for lag, phi in enumerate(series.coefficients, 1) if lag <= len(shocks)))
    response = np.array([*shocks, *[0.0] * size])
    lags = np.array([response[: len(shocks)] @ response[lag : lag + len(shocks)] for lag in range(size)])
    places = np.arange(size)
    return np.asarray((lags / lags[0])[np.abs(places[:, None] - places)])


def shown(value: object) -> str:
    """Return the value of a record as text for a sentence."""
    return f"{value:.6g}" if isinstance(value, float) else _OTHER if value == _OTHER else repr(value)


def _odds(probability: float) -> str:
    return shown_pair(probability) or NEARLY_CERTAIN
