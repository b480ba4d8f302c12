"""Weaker assumptions than those of a model, for which guarantees state the leakage of their noise."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from bayesdp.errors import ModelError
from bayesdp.models import (
    AnyOf,
    ArbitraryGroups,
    GaussianGroups,
    GaussianSeries,
    HiddenMarkov,
    Independent,
    MarkovChain,
    Model,
    Network,
    OddsChain,
    OddsSeries,
)
from bayesdp.models.markov import MOST_COMPARED
from bayesdp.models.odds import odds_above

__all__ = ["NUMBERS", "Alternative", "alternatives"]

_HALF_AGAIN = 1.5
"""The factor by which the strength of a correlation is raised."""

_LONG = 1000
"""The length from which a chain is treated as one of any length, which has a formula."""

_MOST_RELAXED = 1000
"""The most edges of a network: alternatives are computed with every release, and larger networks take too long."""

NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}


class Alternative(NamedTuple):
    """A weaker assumption: how it differs, as the clause after "if", and its model."""

    condition: str
    model: Model


@singledispatch
def alternatives(model: Model) -> tuple[Alternative, ...]:
    """Return weaker assumptions than those of a model; none for a type without a registered function.

    Register a function for a type from outside the package with `@alternatives.register`.

    >>> for condition, weaker in alternatives(ArbitraryGroups(2)):
    ...     print(f"{condition}: {weaker.group_size}")
    groups are half as large again: 3
    """
    return ()


@alternatives.register
def _of_any_of(model: AnyOf) -> tuple[Alternative, ...]:
    """Return those of every member in turn; a condition may occur twice."""
    return tuple(alternative for member in model.members for alternative in alternatives(member))


@alternatives.register
def _of_independent(model: Independent) -> tuple[Alternative, ...]:
    return (
        Alternative("each record may depend on one other in any way", ArbitraryGroups(2)),
        Alternative("each record may depend on nine others in any way", ArbitraryGroups(10)),
    )


@alternatives.register
def _of_groups(model: ArbitraryGroups) -> tuple[Alternative, ...]:
    if model.reads is not None:
        return ()  # no more records are read of a larger group
    larger = replace(model, size=math.ceil(_HALF_AGAIN * model.size), diagnosis=None)
    return (Alternative("groups are half as large again", larger),)


@alternatives.register
def _of_normal_groups(model: GaussianGroups) -> tuple[Alternative, ...]:
    anything = Alternative("inside a group anything may hold", ArbitraryGroups(model.group_size, unit=model.unit))
    if model.correlation is None and not model.matrices:
        return (anything,)
    stronger = GaussianGroups(
        correlation=min(1.0, _HALF_AGAIN * model.largest_correlation),
        size=model.group_size,
        distance=model.distance,
        unit=model.unit,
        column=model.column,
        record=model.record,
    )
    return (Alternative("any correlation is half as large again as the largest", stronger), anything)


@alternatives.register
def _of_series(model: GaussianSeries) -> tuple[Alternative, ...]:
    records, stretch = model.window
    weaker = [Alternative(f"anything may happen within {stretch}, and no farther", ArbitraryGroups(records))]
    with suppress(ModelError):  # unless that series is not stationary
        stronger = replace(model, coefficients=[_HALF_AGAIN * value for value in model.coefficients], moments=None)
        weaker.insert(0, Alternative("every coefficient is half as large again", stronger))
    return tuple(weaker)


@alternatives.register
def _of_markov_chain(model: MarkovChain) -> tuple[Alternative, ...]:
    """Return chains of which only the odds ratio is known; none if it has no limit."""
    if model.table[..., 0].size > MOST_COMPARED or math.isinf(odds := odds_above([model.log_odds])):
        return ()
    free = OddsChain(
        odds,
        memory=model.memory,
        states=model.states,
        length=model.length,
        column=model.column,
        state=model.state,
        gaps=model.gaps,
        unit=model.unit,
        layout=model.layout,
        record=model.record,
    )
    changing = Alternative("the probabilities change with time, with this odds ratio", _bare(free))
    return (changing, *alternatives(free))


@alternatives.register
def _of_odds_chain(model: OddsChain) -> tuple[Alternative, ...]:
    records, stretch = model.window
    bare, longer = _bare(model), model.memory + 1
    return (
        Alternative("the odds ratio is half as large again", replace(bare, odds=_HALF_AGAIN * model.odds)),
        Alternative(
            f"what matters is the last {NUMBERS.get(longer, longer)} records, with this odds ratio",
            replace(bare, memory=longer),
        ),
        Alternative(f"anything may happen within {stretch}", replace(bare, unit=records)),
    )


@alternatives.register
def _of_odds_series(model: OddsSeries) -> tuple[Alternative, ...]:
    records, stretch = model.window
    bare = replace(model, fitted=None, learnt=None, credibility=None, diagnosis=None)
    stronger = replace(bare, odds=[_HALF_AGAIN * model.odds[0], *model.odds[1:]])
    farther = replace(bare, odds=[*model.odds, model.odds[-1]])
    weaker = [
        Alternative("the odds ratio of neighbours is half as large again", stronger),
        Alternative(f"records {len(farther.odds)} apart matter as much as those {len(model.odds)} apart", farther),
        Alternative(f"anything may happen within {stretch}", replace(bare, unit=records)),
    ]
    if model.additive:
        weaker.insert(0, Alternative("effects do not add up, with these odds ratios", replace(bare, additive=False)))
    return tuple(weaker)


@alternatives.register
def _of_hidden_markov(model: HiddenMarkov) -> tuple[Alternative, ...]:
    odds = [_HALF_AGAIN * odds_above([log]) for log in (model.transition_log_odds, model.emission_log_odds)]
    if not np.isfinite(odds).all():
        return ()
    stronger = HiddenMarkov(
        transition_odds=odds[0],
        emission_odds=odds[1],
        **{name: getattr(model, name) for name in ("states", "length", "column", "state", "gaps", "unit", "layout")},
    )
    return (Alternative("both odds ratios are half as large again", stronger),)


@alternatives.register
def _of_network(model: Network) -> tuple[Alternative, ...]:
    if model.odds is not None:
        stronger = replace(model, odds=_HALF_AGAIN * model.odds)
    elif len(model.edges or ()) <= _MOST_RELAXED:
        stronger = replace(model, edges=[(i, j, _HALF_AGAIN * odds) for i, j, odds in model.edges or ()])
    else:
        return ()
    return (Alternative("every odds ratio is half as large again", stronger),)


def _bare(model: OddsChain) -> OddsChain:
    """Return the chain with only its odds, and without a length that makes no difference."""
    length = None if model.length is None or model.length >= _LONG else model.length
    return replace(model, length=length, strata=None, within=(), credibility=None, learnt=None, diagnosis=None)
