"""Published methods, shown beside our theorems, and whether they keep the promise (docs/theory/prior-art.md).

`yang-2015` is valid but never better than `general`. `chakrabarti-2022`, as printed, is not ε-BDP against adversaries
who know other records; tests/audit/test_oracle.py shows it. `randomized-response` is the same mechanism with proven
flip probabilities.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from bayesdp._support import validation
from bayesdp.accuracy import Laplace, RandomizedResponse, laplace_scale
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.errors import DoesNotApplyError
from bayesdp.mechanisms.randomized_response import RandomizedResponseMechanism
from bayesdp.models import GaussianGroups, MarkovChain, Model
from bayesdp.queries import Query
from bayesdp.rounding import down
from bayesdp.theorems.markov.mixing import MarkovMixing

__all__ = [
    "PRIOR_ART",
    "Chakrabarti2022",
    "LaplaceMethod",
    "PlainDP",
    "ProvenResponse",
    "Published",
    "PublishedResult",
    "Yang2015",
    "chakrabarti_flip",
]

_ROUNDED = 1e-12
"""An upper bound on the relative rounding error of a flip probability, whose exponent is at most 700."""

_LEAST_TAU = 1e-15
"""Randomized response with a smaller τ flips half of the bits and carries no information."""

_NO_ERROR = 1e-6
"""A smaller error of a count, in records, is reported as 0."""


@dataclass(frozen=True)
class PublishedResult:
    """The result of a method at one ε: its accuracy, and the τ of its noise.

    alpha:  0 if the error of a count is below a millionth of a record with probability at least 1 − β.
    tau:    None for chakrabarti-2022, which is not calibrated through DP.
    proven: whether the method is proven to leak at most ε.
    """

    method: str
    epsilon: float
    alpha: float
    tau: float | None = None
    proven: bool = False


class Published(ABC):
    """A published method: when it applies, how accurate it is, and a note about it.

    proven:    whether it keeps the promise.
    status:    the same in a few words, for tables and pictures.
    note:      the same in a sentence.
    one_model: whether it is about one model only, not the worst of several.
    """

    name: ClassVar[str]
    proven: ClassVar[bool] = False
    status: ClassVar[str] = "no guarantee"
    note: ClassVar[str]
    one_model: ClassVar[bool] = False

    @abstractmethod
    def refusal(self, model: Model, query: Query) -> str | None:
        """Return why the method does not cover the query under the model, or None."""

    def objection(self, model: Model, query: Query) -> str | None:
        """Return why the method cannot be used: its refusal, or that the model protects several records at once."""
        return f"it protects one record, not {model.protects}" if model.protects_several else self.refusal(model, query)

    @abstractmethod
    def _results(self, model: Model, query: Query, epsilons: Sequence[float], beta: float) -> list[PublishedResult]: ...

    def results(self, model: Model, query: Query, epsilons: Sequence[float], beta: float) -> list[PublishedResult]:
        """Return the results at each ε; raises DoesNotApplyError if the method does not apply."""
        reason = self.objection(model, query)
        if reason is not None:
            raise DoesNotApplyError(self.name, reason)
        targets = validation.positives("epsilons", epsilons)
        return self._results(model, query, targets, validation.probability("beta", beta))


class LaplaceMethod(Published):
    """A method that adds Laplace noise at a τ of its own."""

    @abstractmethod
    def tau(self, model: Model, epsilon: float) -> float:
        """Return the τ the method uses for ε under a model it covers."""

    def _results(self, model: Model, query: Query, epsilons: Sequence[float], beta: float) -> list[PublishedResult]:
        results = []
        for epsilon in epsilons:
            tau = self.tau(model, epsilon)
            alpha = Laplace(laplace_scale(query, tau)).alpha(beta, query.dimension)
            results.append(PublishedResult(self.name, epsilon, alpha, tau, self.proven))
        return results


class PlainDP(LaplaceMethod):
    """Laplace noise at τ = ε, as in ordinary differential privacy."""

    name: ClassVar[str] = "plain-dp"
    note: ClassVar[str] = "unprotected: ordinary DP at τ = ε promises nothing about correlated records"

    def refusal(self, model: Model, query: Query) -> str | None:
        return "it is Laplace noise on an answer" if query.unforeseen else None

    def tau(self, model: Model, epsilon: float) -> float:
        return epsilon


class Yang2015(LaplaceMethod):
    """Yang, Sato and Nakagawa (2015), Gaussian Markov random fields of n records: ε = n·τ."""

    name: ClassVar[str] = "yang-2015"
    proven: ClassVar[bool] = True
    status: ClassVar[str] = "valid, but loose"
    note: ClassVar[str] = "n·τ over a field of n records, here one group: valid, and never better than general"

    def refusal(self, model: Model, query: Query) -> str | None:
        if not isinstance(model, GaussianGroups):
            return "it is about Gaussian Markov random fields"
        if query.not_metric is not None:
            return f"it is about clipped sums, and {query.not_metric}"
        return None

    def tau(self, model: Model, epsilon: float) -> float:
        assert model.group_size is not None
        return down(epsilon / model.group_size)


class _Response(Published):
    """Randomized response on a symmetric, lazy, stationary binary chain, and the count estimated from it.

    The accuracy assumes that half of the records are 1; it hardly depends on that.
    """

    def refusal(self, model: Model, query: Query) -> str | None:
        if not isinstance(model, MarkovChain) or model.memory > 1 or len(model.transition) != 2:
            return "it is about Markov chains with two states"
        (stay, switch), (switch_back, stay_back) = model.transition
        if stay != stay_back or switch != switch_back:
            return "it needs a symmetric chain: both states must be left with the same probability"
        if not 0 < switch < 0.5:
            return f"it needs a lazy chain: the switching probability must lie in (0, 0.5), not {switch:g}"
        if model.start != "stationary":
            return 'it needs a stationary start, but the start of the model is "any"'
        if not _counts_one_state(query):
            return "it answers an unfiltered count of one of the two states"
        if model.length is None:
            return "its accuracy depends on the number of records: give the model a length"
        if model.length > 10**6:
            return "its exact accuracy is computed for at most a million records"
        return None

    def _result(
        self, model: Model, epsilon: float, beta: float, flip: float, tau: float | None = None
    ) -> PublishedResult:
        alpha = _response(model, flip).alpha(beta)
        return PublishedResult(self.name, epsilon, 0.0 if alpha < _NO_ERROR else alpha, tau, self.proven)


def _counts_one_state(query: Query) -> bool:
    plain = query.whole and not query.by_cell and query.sensitivity == 1
    return plain and len(query.values) == 1 and query.where is None


class Chakrabarti2022(_Response):
    """Chakrabarti et al. (2022): randomized response with the flip probability they publish."""

    name: ClassVar[str] = "chakrabarti-2022"
    note: ClassVar[str] = "as published, but not ε-BDP against adversaries who know other records"

    def _results(self, model: Model, query: Query, epsilons: Sequence[float], beta: float) -> list[PublishedResult]:
        return [self._result(model, epsilon, beta, _flip(model, epsilon)) for epsilon in epsilons]

    @staticmethod
    def noise(model: Model, epsilon: float) -> RandomizedResponse:
        """Return the law of the estimated count's error for a chain the method covers."""
        return _response(model, _flip(model, epsilon))


class ProvenResponse(_Response):
    """Randomized response that keeps the promise: flips with probability 1/(1 + e^τ) are τ-DP for every record.

    τ is the largest that markov-mixing, which holds for every τ-DP mechanism, allows for ε.
    """

    name: ClassVar[str] = "randomized-response"
    proven: ClassVar[bool] = True
    status: ClassVar[str] = "proven by markov-mixing"
    one_model: ClassVar[bool] = True
    note: ClassVar[str] = (
        "the same mechanism with flips 1/(1 + e^τ), τ from markov-mixing: proven, and every record is noised by itself"
    )

    def refusal(self, model: Model, query: Query) -> str | None:
        return super().refusal(model, query) or MarkovMixing().refusal(model, (query,))

    def _results(self, model: Model, query: Query, epsilons: Sequence[float], beta: float) -> list[PublishedResult]:
        taus = largest_taus(MarkovMixing(), model, query, epsilons)
        return [
            self._result(model, epsilon, beta, _proven_flip(tau), tau)
            for epsilon, tau in zip(epsilons, taus, strict=True)
            if tau is not None and tau > _LEAST_TAU
        ]

    @staticmethod
    def noise(model: Model, tau: float) -> RandomizedResponse:
        """Return the law of the estimated count's error at τ for a chain the method covers."""
        return _response(model, _proven_flip(tau))


def _response(model: Model, flip: float) -> RandomizedResponse:
    assert isinstance(model, MarkovChain)
    assert model.length is not None
    return RandomizedResponse(flip, model.length, model.length // 2)


def _flip(model: Model, epsilon: float) -> float:
    assert isinstance(model, MarkovChain)
    return chakrabarti_flip(model.transition[0][1], epsilon)


def _proven_flip(tau: float) -> float:
    return float(RandomizedResponseMechanism(tau).flip_probability)


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


PRIOR_ART: tuple[Published, ...] = (PlainDP(), Yang2015(), Chakrabarti2022(), ProvenResponse())
