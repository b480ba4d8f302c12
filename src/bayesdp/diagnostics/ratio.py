"""Likelihood ratios of tables of counts: a larger model of transitions against a smaller one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bayesdp.diagnostics.power import EFFECT, Power, chi_square
from bayesdp.diagnostics.report import VIOLATED, Outcome, UntestableError, judge, on_degrees, shown_p
from bayesdp.models.diagnosis import Verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "CERTAINLY",
    "ENOUGH",
    "LARGE_FACTOR",
    "SMALL_FACTOR",
    "LikelihoodRatio",
    "Part",
    "certain_factor",
    "homogeneity",
    "uncertain",
]

Part: TypeAlias = "tuple[NDArray[Any], NDArray[Any], int]"
"""A table of counts, the expected ones, and the degrees of freedom."""

ENOUGH = 5
"""Cochran's rule: the least expected count for which the chi-square approximation holds."""

SMALL_FACTOR = 1.05
"""A transition probability that is off by less than this factor hardly changes a leakage."""

LARGE_FACTOR = 1.5
"""A count that is certainly off by this factor matters, even if the BIC prefers the simpler model."""

CERTAINLY = 4.0
"""The standard errors by which a factor is lowered to be certain: the largest of thousands is large by chance."""


def certain_factor(observed: NDArray[Any], expected: NDArray[Any]) -> float:
    """Return the factor by which some count is certainly off; 1 if none is expected often enough.

    >>> certain_factor(np.array([300, 5]), np.array([100, 2])) > 2, certain_factor(np.array([9]), np.array([5]))
    (True, 1.0)
    """
    enough = expected >= ENOUGH
    if not enough.any():
        return 1.0
    off = np.abs(np.log((observed[enough] + 0.5) / (expected[enough] + 0.5)))
    return float(np.exp((off - CERTAINLY / np.sqrt(expected[enough])).max(initial=0.0)))


@dataclass(frozen=True)
class LikelihoodRatio:
    """How much better the larger model fits, and how far its probabilities differ from the smaller one's.

    change and factor are the largest over cells that the smaller model expects at least five times; certain is the
    `certain_factor`.
    """

    likelihood: float
    pearson: float
    freedom: int
    size: int
    change: float
    factor: float
    unit: str = "transitions"
    certain: float = 1.0

    @classmethod
    def of(cls, parts: Iterable[Part], size: int, unit: str = "transitions") -> LikelihoodRatio:
        """Add up tables (observed, expected, degrees of freedom), whose rows are laws of the next state."""
        from scipy.stats import power_divergence

        likelihood, pearson, freedom, change, factor, certain = 0.0, 0.0, 0, 0.0, 1.0, 1.0
        for observed, expected, degrees in parts:
            likelihood += float(power_divergence(observed, expected, axis=None, lambda_="log-likelihood").statistic)
            pearson += float(power_divergence(observed, expected, axis=None).statistic)
            freedom += degrees
            enough = expected >= ENOUGH
            certain = max(certain, certain_factor(observed, expected))
            if enough.any():
                off = np.abs(observed - expected) / observed.sum(axis=1, keepdims=True)
                change = max(change, float(off[enough].max()))
                ratios = np.log((observed[enough] + 0.5) / (expected[enough] + 0.5))
                factor = max(factor, float(np.exp(np.abs(ratios).max())))
        if not freedom:
            raise UntestableError("There is nothing to compare: too few different transitions were seen.")
        return cls(max(likelihood, 0.0), pearson, freedom, size, change, factor, unit, certain)

    @property
    def p_value(self) -> float:
        """The larger of the likelihood ratio's and Pearson's: with small counts either may be too small."""
        from scipy.stats import chi2

        return float(chi2.sf(min(self.likelihood, self.pearson), self.freedom))

    @property
    def bic(self) -> float:
        """The BIC of the larger model minus that of the smaller; below 0 the larger is preferred."""
        return self.freedom * math.log(self.size) - self.likelihood

    @property
    def large(self) -> bool:
        """Whether the deviation is large enough to matter."""
        return self.certain >= LARGE_FACTOR or (self.bic < 0 and self.factor >= SMALL_FACTOR)

    @property
    def power(self) -> Power:
        """The power against a deviation of Cohen's w = 0.1."""

        def curve(size: float, level: float) -> float:
            return chi_square(size, self.freedom, level=level)

        return Power(curve, self.size, self.unit, f"a small deviation (w = {EFFECT:g})")

    @property
    def figure(self) -> str:
        """The statistic, the largest deviation and the power, in words."""
        return (
            f"G² = {self.likelihood:.1f} (Pearson {self.pearson:.1f}) {on_degrees(self.freedom)}, "
            f"{shown_p(self.p_value)}; a probability changes by at most {self.change:.2g}"
            + (f", or a factor of {self.factor:.3g}" if self.factor > 1 else "")
            + f"; power {self.power.chance:.2f}"
        )

    @property
    def values(self) -> dict[str, float]:
        """The same as numbers."""
        return {
            "statistic": self.likelihood,
            "pearson": self.pearson,
            "degrees_of_freedom": self.freedom,
            "p_value": self.p_value,
            "bic_difference": self.bic,
            "largest_change": self.change,
            "largest_factor": self.factor,
            "power": self.power.chance,
        }

    def outcome(self, fine: str, flagged: str, advice: str, figure: str = "") -> Outcome:
        """Return the outcome, given what it means if the larger model is not needed and if it is."""
        verdict = judge(self.p_value, self.large, self.power.enough)
        small = f" The deviation is significant, but {uncertain(self.p_value, self.factor)}."
        untested = str(self.power) if verdict == Verdict.NOT_TESTED else ""
        return Outcome.of(
            verdict, self.figure + figure, self.values,
            fine=fine, flagged=flagged, advice=advice, untested=untested, small=small,
        )  # fmt: skip


def uncertain(p_value: float, factor: float) -> str:
    """Return why a significant deviation is no violation, as a clause.

    >>> uncertain(0.005, 1.3), uncertain(1e-9, 1.01), uncertain(1e-9, 1.3)
    ('not certain', 'small', 'the BIC prefers the simpler model')
    """
    if p_value >= VIOLATED:
        return "not certain"
    return "small" if factor < SMALL_FACTOR else "the BIC prefers the simpler model"


def homogeneity(tables: Iterable[NDArray[np.int64]], size: int, unit: str = "transitions") -> LikelihoodRatio:
    """Compare a law of the next state for each row of the tables with one law for all rows of a table."""
    from scipy.stats import chi2_contingency

    def parts() -> Iterable[Part]:
        for table in tables:
            seen = table[table.any(axis=1)][:, table.any(axis=0)]
            if min(seen.shape) > 1:
                result = chi2_contingency(seen, correction=False)
                yield seen, result.expected_freq, int(result.dof)

    return LikelihoodRatio.of(parts(), size, unit)
