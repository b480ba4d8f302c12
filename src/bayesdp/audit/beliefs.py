"""An attacker's belief about a record before and after a release: plain DP beside noise that keeps the promise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from bayesdp._support import validation
from bayesdp._support.display import Displayed, Section, lines
from bayesdp._support.documents import Document
from bayesdp._support.messages import params
from bayesdp.audit.worst_cases import SCHEMA, worst_case
from bayesdp.calibration.calibrate import calibrate
from bayesdp.errors import InvalidInputError
from bayesdp.models import Model
from bayesdp.queries import Query
from bayesdp.rounding import NEARLY_CERTAIN, shown_above, shown_below, shown_pair, up
from bayesdp.theorems.leakage import report
from bayesdp.theorems.spend import as_spend

__all__ = ["Belief", "Beliefs", "belief", "posterior", "promise_of"]

_ULPS = 4
"""Upper bound on the rounding error of a posterior's exponential and quotient."""


@dataclass(frozen=True)
class Belief(Displayed, Document):
    """How certain an attacker can become about one of two values of a record, through one release.

    tau:       the ordinary differential privacy of the release.
    epsilon:   the proven bound on its leakage.
    prior:     the probability the attacker gives to the value before.
    posterior: the largest probability he can give to it afterwards; rounded up.
    attained:  the probability that the worst known attacker gives to it afterwards; None if not computed.
    """

    tau: float
    epsilon: float
    prior: float
    posterior: float
    attained: float | None = None

    @property
    def odds(self) -> tuple[float, float]:
        """The odds for the value before and after; they change by a factor of at most e^ε."""
        before = self.prior / (1 - self.prior)
        return before, math.inf if self.posterior >= 1 else self.posterior / (1 - self.posterior)

    def _printed(self) -> list[Section]:
        before = shown_below(100 * self.prior, 3)
        after = shown_pair(self.posterior)
        becomes = f"may become {NEARLY_CERTAIN}" if after is None else f"becomes at most {after}"
        return [lines(f"{before} : {100 - Decimal(before)} {becomes}")]

    def to_dict(self) -> dict[str, Any]:
        """Return τ, ε and the probabilities as a JSON object."""
        document = {"tau": self.tau, "epsilon": self.epsilon, "prior": self.prior, "posterior": self.posterior}
        return document if self.attained is None else document | {"attained": self.attained}


@dataclass(frozen=True)
class Beliefs(Displayed, Document):
    """The attacker's belief after plain DP, with noise for τ = ε, and after a calibrated release.

    promise: the ε that both claim; only the calibrated release keeps it in general.
    """

    promise: float
    plain: Belief
    calibrated: Belief

    def _printed(self) -> list[Section]:
        promised = f"Promised: ε = {shown_above(self.promise)}."
        sides = (("Plain DP", self.plain), ("Calibrated", self.calibrated))
        return [lines(promised, *(f"{name} (tau = {shown_below(side.tau)}): {side}." for name, side in sides))]

    def to_dict(self) -> dict[str, Any]:
        """Return both beliefs as a JSON object."""
        return {
            "kind": "beliefs",
            "schema": SCHEMA,
            "promise": self.promise,
            "plain": self.plain.to_dict(),
            "calibrated": self.calibrated.to_dict(),
        }


def belief(
    model: Model,
    query: Query,
    *,
    tau: float | None = None,
    epsilon: float | None = None,
    prior: float = 0.5,
    attained: bool = False,
) -> Beliefs:
    """Return how certain an attacker can become about a record: after plain DP, and after noise that keeps the promise.

    tau, epsilon: the promise; give one of them. Plain DP uses τ = ε, so both mean the same here.
    prior:        the attacker's probability of the true value, among the two that he compares.
    attained:     whether to compute the belief of the worst known attacker as well (`worst_case`), which takes longer.

    Needs no data. Raises as `leakage` and `calibrate` do.

    >>> from bayesdp import ArbitraryGroups, Count
    >>> both = belief(ArbitraryGroups(3), Count("ill", equals=True), epsilon=1.0)
    >>> print(both.plain)
    50 : 50 becomes at most 95.3 : 4.7
    >>> print(both.calibrated)
    50 : 50 becomes at most 73.2 : 26.8
    """
    promise = promise_of(tau, epsilon)
    prior = validation.probability("prior", prior)
    leaked = report(model, as_spend(query, promise))
    chosen = calibrate(model, query, epsilon=promise)
    return Beliefs(
        promise,
        *(
            Belief(
                tau,
                leaks,
                prior,
                posterior(leaks, prior),
                posterior(worst_case(model, query, tau=tau).realised, prior) if attained else None,
            )
            for tau, leaks in ((promise, leaked.epsilon), (chosen.tau, chosen.leakage.epsilon))
        ),
    )


def promise_of(tau: float | None, epsilon: float | None) -> float:
    """Return the promise: ε, or the τ of plain DP; InvalidInputError unless exactly one is given.

    >>> promise_of(None, 1)
    1.0
    """
    if (tau is None) == (epsilon is None):
        raise InvalidInputError(params("give either {tau} (a plain DP release) or {epsilon} (the promise)"))
    return validation.positive("tau", tau) if epsilon is None else validation.positive("epsilon", epsilon)


def posterior(epsilon: float, prior: float = 0.5) -> float:
    """Return the largest probability of a value after a release that leaks ε, given the prior probability; rounded up.

    >>> round(posterior(1.0), 4), posterior(0.0), posterior(1000.0)
    (0.7311, 0.5, 1.0)
    """
    if epsilon == 0:
        return prior
    against = (1 - prior) / prior * math.exp(-epsilon)
    return min(1.0, up(1 / (1 + against), _ULPS))
