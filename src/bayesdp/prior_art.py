"""What others published, shown beside our theorems and never offered as a guarantee.

`yang-2015` is valid but never better than `general`. `chakrabarti-2022`, as printed, is not ε-BDP against adversaries
who know other records; tests/audit/test_oracle.py shows it. Both: docs/theory/prior-art.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from bayesdp import validation
from bayesdp.accuracy import Laplace, RandomizedResponse, laplace_scale
from bayesdp.errors import DoesNotApplyError
from bayesdp.models import GaussianGroups, MarkovChain, Model
from bayesdp.queries import Count, Query
from bayesdp.rounding import down

__all__ = ["PRIOR_ART", "Chakrabarti2022", "PlainDP", "Published", "PublishedResult", "Yang2015", "chakrabarti_flip"]

_ROUNDED = 1e-12
"""More than rounding can take from a flip probability, relatively: its exponent is at most 700 and carries 2^-53."""


@dataclass(frozen=True)
class PublishedResult:
    """What a published method says at one ε: its accuracy, and its τ if it is a Laplace mechanism."""

    method: str
    epsilon: float
    alpha: float
    tau: float | None = None


class Published(ABC):
    """A method from the literature: when it applies, its accuracy as published, and what to know about it."""

    name: ClassVar[str]
    note: ClassVar[str]

    @abstractmethod
    def refusal(self, model: Model, query: Query) -> str | None:
        """Return why the method does not cover the query under the model, or None."""

    @abstractmethod
    def _result(self, model: Model, query: Query, epsilon: float, beta: float) -> PublishedResult: ...

    def result(self, model: Model, query: Query, epsilon: float, beta: float) -> PublishedResult:
        """Return what the method says at ε; raises DoesNotApplyError where it does not apply."""
        reason = self.refusal(model, query)
        if reason is not None:
            raise DoesNotApplyError(self.name, reason)
        return self._result(model, query, validation.positive("epsilon", epsilon), validation.probability("beta", beta))


class PlainDP(Published):
    """Laplace noise at τ = ε: what ordinary differential privacy would do."""

    name: ClassVar[str] = "plain-dp"
    note: ClassVar[str] = "unprotected: ordinary DP at τ = ε promises nothing about correlated records"

    def refusal(self, model: Model, query: Query) -> str | None:
        return None

    def _result(self, model: Model, query: Query, epsilon: float, beta: float) -> PublishedResult:
        return _laplace(self.name, query, epsilon, epsilon, beta)


class Yang2015(Published):
    """Yang, Sato and Nakagawa (2015), Gaussian Markov random fields of n records: ε = n·τ."""

    name: ClassVar[str] = "yang-2015"
    note: ClassVar[str] = "as published: n·τ over a field of n records, here one group; never better than general"

    def refusal(self, model: Model, query: Query) -> str | None:
        if not isinstance(model, GaussianGroups):
            return "it is about Gaussian Markov random fields (GaussianGroups)"
        if query.not_metric is not None:
            return f"it is about clipped sums, and {query.not_metric}"
        return None

    def _result(self, model: Model, query: Query, epsilon: float, beta: float) -> PublishedResult:
        assert model.group_size is not None
        return _laplace(self.name, query, epsilon, down(epsilon / model.group_size), beta)


class Chakrabarti2022(Published):
    """Chakrabarti et al. (2022): randomized response on a symmetric, lazy, stationary binary chain.

    The accuracy is for half of the records being 1; its spread hardly depends on that.
    """

    name: ClassVar[str] = "chakrabarti-2022"
    note: ClassVar[str] = "as published, but not ε-BDP against adversaries who know other records"

    def refusal(self, model: Model, query: Query) -> str | None:
        if not isinstance(model, MarkovChain) or len(model.transition) != 2:
            return "it is about Markov chains with two states"
        (stay, switch), (switch_back, stay_back) = model.transition
        if stay != stay_back or switch != switch_back:
            return "it needs a symmetric chain: both states must be left with the same probability"
        if not 0 < switch < 0.5:
            return f"it needs a lazy chain: the switching probability must lie in (0, 0.5), not {switch:g}"
        if model.start != "stationary":
            return 'it needs a stationary start, but the model says start="any"'
        if not isinstance(query, Count) or len(query.values) != 1 or query.where is not None:
            return "it answers an unfiltered count of one of the two states"
        if model.length is None:
            return "its accuracy depends on the number of records: give the model a length"
        if model.length > 10**6:
            return "its exact accuracy is computed for at most a million records"
        return None

    def _result(self, model: Model, query: Query, epsilon: float, beta: float) -> PublishedResult:
        law = self.noise(model, epsilon)
        return PublishedResult(self.name, epsilon, law.alpha(beta))

    @staticmethod
    def noise(model: Model, epsilon: float) -> RandomizedResponse:
        """Return the law of the estimated count's error for a chain the method covers."""
        assert isinstance(model, MarkovChain)
        assert model.length is not None
        flip = chakrabarti_flip(model.transition[0][1], epsilon)
        return RandomizedResponse(flip, model.length, model.length // 2)


def chakrabarti_flip(switch: float, epsilon: float) -> float:
    """Return the published flip probability for switching probability r and ε, rounded up.

    The printed quotient cancels badly for large ε; docs/theory/prior-art.md shows that it equals
    2/(4 − 2r + r²e^ε + √(r²e^ε(4 − 4r + r²e^ε))).

    >>> round(chakrabarti_flip(0.2, 2), 5), round(chakrabarti_flip(0.4, 4), 5)
    (0.40717, 0.09175)
    """
    switch = validation.number("switch", switch)
    if not 0 < switch < 0.5:
        raise DoesNotApplyError("chakrabarti-2022", f"the switching probability must lie in (0, 0.5), not {switch:g}")
    exponent = 2 * math.log(switch) + validation.positive("epsilon", epsilon)
    if exponent > 700:
        return math.exp(-exponent) * (1 + _ROUNDED)
    grown = math.exp(exponent)
    flip = 2 / (4 - 2 * switch + grown + math.sqrt(grown * (4 - 4 * switch + grown)))
    return min(down(0.5), flip * (1 + _ROUNDED))


def _laplace(method: str, query: Query, epsilon: float, tau: float, beta: float) -> PublishedResult:
    return PublishedResult(method, epsilon, Laplace(laplace_scale(query, tau)).alpha(beta, query.dimension), tau)


PRIOR_ART: tuple[Published, ...] = (PlainDP(), Yang2015(), Chakrabarti2022())
