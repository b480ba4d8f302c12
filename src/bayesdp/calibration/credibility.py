"""Parameter uncertainty: a loss that keeps the promise for most of the posterior (docs/uncertainty.md).

Models are drawn from the posterior of an estimated model, and each has a largest τ that keeps the promise. The chosen
τ is an order statistic of these: the requested share of the posterior lies above it, Monte Carlo error included.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from bayesdp._support import validation
from bayesdp.errors import CalibrationError
from bayesdp.models import Model
from bayesdp.models.posterior import DRAWS, MONTE_CARLO_RISK, chosen_rank, draws_needed
from bayesdp.rounding import shown_above, shown_below
from bayesdp.theorems.theorem import Theorem

__all__ = ["DRAWS", "MONTE_CARLO_RISK", "Sample", "Uncertainty", "chosen_rank", "draws_needed", "posterior", "summary"]

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
"""The quantiles of ε over the models drawn that are reported."""

_AT_ONCE = 64
"""Models evaluated in one batch: enough to benefit from NumPy, few enough to update a progress bar."""

Done = Callable[[int], None]


@dataclass(frozen=True)
class Uncertainty:
    """How often a promise holds under the posterior of the model's parameters.

    credibility: the share of the posterior that must leak at most ε.
    share:       the share of the models drawn that do; it exceeds the credibility to cover sampling error.
    spread:      ε at the chosen τ, at the levels 5, 25, 50, 75, 95 and 100 % of the models drawn.
    """

    credibility: float
    draws: int
    share: float
    spread: tuple[float, ...]
    theorem: str

    def __str__(self) -> str:
        low, middle, high = self.spread[0], self.spread[2], self.spread[4]
        return (
            f"At least {shown_below(100 * self.credibility)} % of the posterior of the model leaks no more "
            f"than that ({shown_below(100 * self.share)} % of {self.draws} models drawn, theorem {self.theorem}; ε is "
            f"{shown_above(low)} at 5 %, {shown_above(middle)} at 50 % and {shown_above(high)} at 95 % of them; the "
            "draws mislead with probability at most 1 %). The posterior assumes the form of the model."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object under "uncertainty" of `bayesdp calibrate --json`."""
        return {
            "credibility": self.credibility,
            "draws": self.draws,
            "share": self.share,
            "theorem": self.theorem,
            "epsilon_spread": {f"{100 * level:g}%": value for level, value in zip(LEVELS, self.spread, strict=True)},
        }


def posterior(model: Model, draws: int, seed: int = 0) -> list[Model]:
    """Draw models from the posterior of an estimated model; the same seed gives the same models.

    Raises ModelError if the model was not estimated or the data are too few.

    >>> from bayesdp import MarkovChain
    >>> len(posterior(MarkovChain.from_counts([[90, 10], [10, 30]]), 5))
    5
    """
    import numpy as np

    generator = np.random.default_rng(validation.natural("seed", seed, least=0))
    return list(islice(model.draws(generator), draws))


class Sample:
    """Models drawn from one posterior, with a cache of their leakages.

    theorem: the theorem that covers all of them.
    leaks:   returns the leakage of models at τ; infinite where nothing is proven.
    largest: returns the largest τ at which a model keeps the promise; 0 if there is none.
    """

    PASSES = 2
    """About how often each model is evaluated: at the first τ and at the chosen one."""

    def __init__(
        self,
        theorem: Theorem,
        models: Sequence[Model],
        leaks: Callable[[Sequence[Model], float], Sequence[float]],
        largest: Callable[[Model], float],
    ) -> None:
        self.theorem = theorem
        self.models = models
        self._leaks, self._largest = leaks, largest
        self._known: dict[tuple[int, float], float] = {}

    def leakages(self, tau: float, done: Done, some: Sequence[int] | None = None) -> list[float]:
        """Return the leakage of all models at τ, or of some of them."""
        chosen = range(len(self.models)) if some is None else some
        fresh = [index for index in chosen if (index, tau) not in self._known]
        for begin in range(0, len(fresh), _AT_ONCE):
            part = fresh[begin : begin + _AT_ONCE]
            leaks = self._leaks([self.models[index] for index in part], tau)
            self._known.update(zip(((index, tau) for index in part), leaks, strict=True))
            done(len(part))
        return [self._known[index, tau] for index in chosen]

    def credible_tau(self, most: float, promised: float, credibility: float, done: Done) -> float:
        """Return the largest τ, at most `most`, that keeps the promise for the requested share of the posterior.

        It is the τ of rank r among those of the models drawn (`chosen_rank`). A model that keeps the promise at the
        current τ of rank r has a τ at least as large, because leakage never falls as τ rises, so its own τ is not
        needed. The models that leak most are evaluated first, so that few τ's are searched for.

        Raises CalibrationError if no τ keeps the promise.
        """
        rank = chosen_rank(credibility, len(self.models))
        smallest: list[float] = []
        breaking = self._breaking(range(len(self.models)), most, promised, done)
        while breaking:
            insort(smallest, self._largest(self.models[breaking.pop(0)]))
            del smallest[rank:]
            if len(smallest) == rank:
                breaking = self._breaking(breaking, smallest[-1], promised, done)
        tau = smallest[-1] if len(smallest) == rank else most
        if tau <= 0:
            raise CalibrationError(
                f"no amount of noise keeps the promise for {credibility:g} of the posterior of the model (theorem "
                f"{self.theorem.name}); allow a larger ε, or collect more data"
            )
        return tau

    def _breaking(self, some: Sequence[int], tau: float, promised: float, done: Done) -> list[int]:
        """Return which of some models break the promise at τ, in descending order of leakage."""
        leaking = sorted(zip(self.leakages(tau, done, some), some, strict=True), reverse=True)
        return [index for leak, index in leaking if leak > promised]


def summary(credibility: float, theorem: Theorem, epsilons: Sequence[float], promised: float) -> Uncertainty:
    """Summarise the leakages of the models drawn at the chosen τ."""
    ascending = sorted(epsilons)
    spread = tuple(ascending[math.ceil(level * len(ascending)) - 1] for level in LEVELS)
    share = sum(epsilon <= promised for epsilon in ascending) / len(ascending)
    return Uncertainty(credibility, len(ascending), share, spread, theorem.name)
