"""An odds ratio estimated from noisy transition counts. Proof: docs/theory/private-fit.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, product
from typing import Any, ClassVar

import numpy as np

from bayesdp._support import validation
from bayesdp._support.arrays import Floats, Integers
from bayesdp._support.messages import name_of
from bayesdp._support.validation import Scalar, brief
from bayesdp._support.words import counted
from bayesdp.errors import ModelError
from bayesdp.models.layout import column_names
from bayesdp.models.memory import tuples
from bayesdp.models.odds import checked_odds, odds_above
from bayesdp.models.posterior import SMALLEST_WEIGHT, chosen_rank
from bayesdp.models.strata import draws_for, log_odds_of
from bayesdp.rounding import shown_above, shown_below

__all__ = ["CASES", "MOST_CELLS", "NOISIEST", "Learnt", "bounds_in_cases", "checked_strata", "sensitivity"]

CASES = tuple(product((0.1, 0.3, 0.5, 0.7, 0.9), (1.0, 3.0)))
"""The cases by which a fit is foreseen: ln of the odds ratio as a share of that of the ceiling, and the weight of one
state, if the others have 1."""

_FORESEEN_DRAWS = 400
"""The most draws for each of these cases."""

DRAWS = 4000
"""The most tables drawn from the posterior, unless the credibility needs more."""

NOISIEST = 2.0**14
"""The largest scale of noise: beyond it, tables of any practical size carry no information."""

MOST_CELLS = 4096
"""The most counts in one release."""

_REACH = 40
"""The largest distance between a noisy and a true count, in scales; beyond it is e^(−40) of the posterior."""

_DIGITS = 4
"""The digits to which an odds ratio is rounded up, finer than the noise."""

_AT_ONCE = 2.0**20
_SEED = 14
"""The fixed seed: the same table gives the same odds ratio."""

Values = tuple[Scalar, ...]


def sensitivity(memory: int) -> int:
    """Return how far one replaced record can move the counts of all transitions, in ℓ1.

    It occurs in at most memory + 1 transitions, and each moves from one cell to another.

    >>> sensitivity(1), sensitivity(2)
    (4, 6)
    """
    return 2 * (memory + 1)


@dataclass(frozen=True)
class Learnt:
    """A private fit of an odds ratio: from noisy transition counts, released and charged like any other answer.

    ceiling:     the odds ratio assumed before the fit, which the estimate never exceeds.
    tau:         the privacy of the noisy counts.
    credibility: the share of the posterior, given the noisy counts, in which the odds ratio is below the estimate.
    counts:      the noisy counts, a table [before]…[now][next] for each stratum.
    within:      the public columns of the strata.         strata: their values in each; one empty tuple for none.

    >>> learnt = Learnt(1000, 1.0, 0.95, (((9020, 1003), (1007, 3010)),))
    >>> learnt.odds < 35
    True
    """

    ceiling: float
    tau: float
    credibility: float
    counts: Sequence[Any]
    within: Sequence[str] = ()
    strata: Sequence[Values] = ((),)

    parameter: ClassVar[str] = "odds"
    noun: ClassVar[str] = "odds ratio"
    parameter_in_words: ClassVar[str] = "odds ratio"
    plural: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "ceiling", checked_odds("ceiling", self.ceiling))
        object.__setattr__(self, "tau", validation.positive("tau", self.tau, ModelError))
        object.__setattr__(self, "credibility", validation.probability("credibility", self.credibility, ModelError))
        object.__setattr__(self, "within", column_names("within", self.within))
        object.__setattr__(self, "strata", checked_strata(self.strata, len(self.within)))
        table = _checked_counts(self.counts)
        if len(table) != len(self.strata):
            raise ModelError(name_of("counts") + f" must be {counted(len(self.strata), 'table')}, one for each stratum")
        draws_for(table.shape, self.credibility)
        object.__setattr__(self, "counts", tuples(table.tolist()))
        _check_noise(self.tau, self.scale)

    @staticmethod
    def about(subject: str) -> str:
        """Return a description of the release, and its purpose."""
        return f"the transitions of {subject}, to learn their odds ratio"

    @property
    def spec(self) -> dict[str, Any]:
        """The settings of the private fit, without τ."""
        return {"credibility": self.credibility, "within": list(self.within), "strata": set(self.strata)}

    @property
    def asked_for(self) -> str:
        """The settings of the private fit in words."""
        within = ", ".join(self.within) or "nothing"
        return f"tau = {self.tau:g}, credibility {self.credibility:g}, within {within}"

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.counts[0])

    @property
    def memory(self) -> int:
        """The number of preceding records that a record depends on."""
        return np.ndim(self.counts) - 2

    @property
    def scale(self) -> float:
        """The scale of the discrete Laplace noise on each count."""
        return sensitivity(self.memory) / self.tau

    @cached_property
    def odds(self) -> float:
        """The estimated odds ratio, rounded up; at most the ceiling."""
        largest = credible_log_odds(tuple(self.counts), self.scale, self.credibility)
        return min(self.ceiling, _rounded_up(largest))

    @property
    def origin(self) -> str:
        """The private fit of the odds ratio, in sentences."""
        same = "throughout each stratum" if self.within else "at all times"
        strata = f" in {len(self.strata)} strata by {', '.join(self.within)}" if self.within else ""
        return (
            f"The odds ratio was learnt by a private release of this account: from counts of transitions{strata} "
            f"with noise of scale {shown_above(self.scale)} (tau = {shown_below(self.tau)}), and nothing else of the "
            f"data. At least {shown_below(100 * self.credibility)} % of what these noisy counts leave possible lies "
            f"below it, if transition probabilities are the same {same}; that it is at most "
            f"{shown_above(self.ceiling)} was assumed before. What that release tells is in the ε stated "
            "(docs/theory/private-fit.md)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object under "learnt" of a model."""
        entries = {"ceiling": self.ceiling, "tau": self.tau, "credibility": self.credibility}
        strata = {"within": list(self.within), "strata": [list(values) for values in self.strata]}
        return {**entries, "counts": np.array(self.counts).tolist(), **(strata if self.within else {})}

    @classmethod
    def from_dict(cls, document: object) -> Learnt:
        """Read it from its JSON object; ModelError for an invalid one."""
        known = {"ceiling", "tau", "credibility", "counts", "within", "strata"}
        if not isinstance(document, Mapping) or not set(document) <= known:
            raise ModelError(f'"learnt" must be an object with {", ".join(sorted(known))}, not {brief(document)}')
        try:
            return cls(**document)
        except TypeError as error:
            raise ModelError(f'"learnt" is incomplete: {error}') from None


def _check_noise(tau: float, scale: float) -> None:
    if scale > NOISIEST:
        raise ModelError(
            f"tau = {tau:g} drowns the counts in noise of scale {shown_above(scale)}; nothing can be learnt from them"
        )


def checked_strata(value: object, columns: int) -> tuple[Values, ...]:
    """Return the values of public columns in each stratum, checked; ModelError if they are not `columns` many each."""
    rows = [validation.items("strata", row, ModelError) for row in validation.items("strata", value, ModelError)]
    strata = tuple(tuple(validation.scalar("strata", item, ModelError) for item in row) for row in rows)
    if not strata or any(len(values) != columns for values in strata) or len(set(strata)) < len(strata):
        raise ModelError(
            name_of("strata") + f" must be different lists of {counted(columns, 'value')}, one for each column"
        )
    return strata


def _checked_counts(value: object) -> Integers:
    """Return noisy counts as an array [stratum][before]…[next] of whole numbers; noise may take them below zero."""
    try:
        table = np.array(value, dtype=object)
        whole = all(isinstance(entry, int) and not isinstance(entry, bool) for entry in table.flat)
    except ValueError:
        raise ModelError(name_of("counts") + " must have as many entries on every level as there are states") from None
    if table.ndim < 3 or table.size == 0 or len(set(table.shape[1:])) > 1 or not whole:
        raise ModelError(
            name_of("counts") + " must be tables of whole numbers, with as many entries on every level as states"
        )
    if table.size > MOST_CELLS:
        raise ModelError(
            f"a private fit releases at most {MOST_CELLS} counts, not {table.size}; take fewer states or strata"
        )
    try:
        return table.astype(np.int64)
    except OverflowError:
        raise ModelError(name_of("counts") + " must fit into 64 bits") from None


def _rounded_up(log_odds: float) -> float:
    """Return the odds ratio of a logarithm, rounded up to a few digits; infinite beyond the largest float.

    >>> _rounded_up(math.log(21.34561))
    21.35
    """
    odds = odds_above([log_odds * (1 + 2.0**-40)])
    if math.isinf(odds):
        return odds
    place = _DIGITS - 1 - math.floor(math.log10(odds))
    return float(math.ceil(odds * 10**place) / 10**place) if place >= 0 else float(math.ceil(odds))


@lru_cache(maxsize=64)
def bounds_in_cases(
    strata: int, states: int, memory: int, records: int, *, ceiling: float, tau: float, credibility: float
) -> tuple[float, ...]:
    """Return the odds ratio that a private fit would state in each of the CASES, from public numbers alone.

    Records are spread evenly over the strata, and noise has a fixed seed.

    >>> bounds_in_cases(1, 2, 1, 4000, ceiling=500, tau=0.0005, credibility=0.95)[0]
    500.0
    """
    generator, bounds, scale = np.random.default_rng(_SEED), [], sensitivity(memory) / tau
    _check_noise(tau, scale)
    alike = sum(np.equal(*pair) for pair in combinations(np.indices((states,) * (memory + 1)), 2))
    first = (np.indices((states,) * (memory + 1)) == 0).sum(axis=0)
    pairs_of_blocks = memory * (memory + 1) / 2
    for share, weight in CASES:
        law = weight**first * np.exp(alike * share * math.log(ceiling) / 2 / pairs_of_blocks)
        counts = np.broadcast_to(records / strata * law / law.sum(), (strata, *law.shape))
        noisy = np.rint(counts + generator.laplace(scale=scale, size=counts.shape)).astype(np.int64)
        largest = credible_log_odds(tuples(noisy.tolist()), scale, credibility, most=_FORESEEN_DRAWS)
        bounds.append(min(float(ceiling), _rounded_up(largest)))
    return tuple(bounds)


@lru_cache(maxsize=64)
def credible_log_odds(tables: tuple[Any, ...], scale: float, credibility: float, most: int = DRAWS) -> float:
    """Return a bound on ln of the largest odds ratio with this credibility, given noisy counts.

    It is a high order statistic of draws from the posterior (docs/uncertainty.md); draws have a fixed seed.
    """
    noisy = np.array(tables, dtype=np.int64)
    draws = draws_for(noisy.shape, credibility, most=most)
    generator = np.random.default_rng(_SEED)
    true = np.stack([_true_counts(int(cell), scale, draws, generator) for cell in noisy.flat], axis=-1)
    gammas = np.maximum(generator.standard_gamma(true + 0.5), SMALLEST_WEIGHT).reshape(draws, *noisy.shape)
    logs = np.log(gammas) - np.log(gammas.sum(axis=-1, keepdims=True))
    at_once = max(int(_AT_ONCE / noisy.size / noisy.shape[-1] ** (noisy.ndim - 2)), 1)
    largest = np.concatenate([log_odds_of(logs[begin : begin + at_once])[0] for begin in range(0, draws, at_once)])
    place = draws - chosen_rank(credibility, draws)
    return float(np.partition(largest, place)[place])


def _true_counts(noisy: int, scale: float, draws: int, generator: np.random.Generator) -> Floats:
    """Draw true counts given a noisy one: the law of the noise times Jeffreys's prior Γ(n + ½)/n!, n ≥ 0."""
    from scipy.special import gammaln

    reach = math.ceil(_REACH * scale) + 1
    counts = np.arange(max(noisy - reach, 0), max(noisy, 0) + reach + 1, dtype=np.float64)
    logs = gammaln(counts + 0.5) - gammaln(counts + 1) - np.abs(counts - noisy) / scale
    shares = np.cumsum(np.exp(logs - logs.max()))
    places = np.searchsorted(shares, generator.random(draws) * shares[-1], side="right")
    return np.asarray(counts[np.minimum(places, len(counts) - 1)])
