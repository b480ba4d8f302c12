"""Models without data: assumptions about correlations for readers with neither a model nor a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bayesdp.explorer.choices import Choices, between, positive, whole
from bayesdp.models import ArbitraryGroups, GaussianGroups, Independent, MarkovChain, Model, OddsChain

__all__ = ["ASSUMPTIONS", "AssumptionForm"]

_STATES = [False, True]


@dataclass(frozen=True)
class AssumptionForm:
    """One kind of model in the form.

    label:     the assumption in a few words.
    fields:    the choices it needs.
    arguments: the arguments of the model, from the choices.
    """

    label: str
    model: type[Model]
    fields: tuple[str, ...]
    arguments: Callable[[Choices], Mapping[str, Any]]

    def built(self, choices: Choices) -> Model:
        """Return the model; BayesDPError for invalid choices."""
        return self.model(**self.arguments(choices))


def _chain(choices: Choices) -> dict[str, Any]:
    stays = [
        between("the probability that a state stays", text, 0, 1) for text in (choices.stay_first, choices.stay_second)
    ]
    first, second = stays
    transition = [[first, round(1 - first, 12)], [round(1 - second, 12), second]]
    return {"transition": transition, "states": _STATES, "length": whole("the length", choices.length)}


def _normal(choices: Choices) -> dict[str, Any]:
    return {
        "correlation": between("the correlation", choices.correlation, 0, 1),
        "size": whole("the size of a group", choices.group_size),
    }


def _odds(choices: Choices) -> dict[str, Any]:
    length = whole("the length", choices.length)
    return {"odds": positive("the odds ratio", choices.odds), "states": _STATES, "length": length}


ASSUMPTIONS: Mapping[str, AssumptionForm] = {
    "chain": AssumptionForm(
        "Two states over time (Markov chain)", MarkovChain, ("stay_first", "stay_second", "length"), _chain
    ),
    "odds": AssumptionForm("A chain whose odds ratio has a limit", OddsChain, ("odds", "length"), _odds),
    "normal": AssumptionForm("Groups of correlated numbers", GaussianGroups, ("correlation", "group_size"), _normal),
    "groups": AssumptionForm(
        "Groups in which anything may happen",
        ArbitraryGroups,
        ("group_size",),
        lambda choices: {"size": whole("the size of a group", choices.group_size)},
    ),
    "independent": AssumptionForm("Records are independent (plain DP)", Independent, (), lambda choices: {}),
}
"""By their names in the address, in the order of the form."""
