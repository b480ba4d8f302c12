"""A larger model of transitions against a smaller: likelihood ratios of tables of counts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.diagnostics.power import EFFECT, Power, chi_square
from bayesdp.diagnostics.report import Outcome, UntestableError, judge, shown_p
from bayesdp.models.diagnosis import Verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Part = tuple[NDArray[Any], NDArray[Any], int]

__all__ = ["ENOUGH", "LikelihoodRatio", "homogeneity"]

ENOUGH = 5
"""Cochran's rule: a chi-square approximation wants expected counts of at least this."""

_SMALL_FACTOR = 1.05
"""A transition probability that is off by less than this factor hardly moves a leakage."""


@dataclass(frozen=True)
class LikelihoodRatio:
    """How much better the larger model fits, and how far its probabilities are off the smaller's.

    change and factor are the largest over cells that the smaller model expects at least five times.
    """

    likelihood: float
    pearson: float
    freedom: int
    size: int
    change: float
    factor: float
    unit: str = "transitions"

    @classmethod
    def of(cls, parts: Iterable[Part], size: int, unit: str = "transitions") -> LikelihoodRatio:
        """Add up tables (observed, expected, degrees of freedom), rows being laws of the next state."""
        from scipy.stats import power_divergence

        likelihood, pearson, freedom, change, factor = 0.0, 0.0, 0, 0.0, 1.0
        for observed, expected, degrees in parts:
            likelihood += float(power_divergence(observed, expected, axis=None, lambda_="log-likelihood").statistic)
            pearson += float(power_divergence(observed, expected, axis=None).statistic)
            freedom += degrees
            enough = expected >= ENOUGH
            if enough.any():
                off = np.abs(observed - expected) / observed.sum(axis=1, keepdims=True)
                change = max(change, float(off[enough].max()))
                ratios = np.log((observed[enough] + 0.5) / (expected[enough] + 0.5))
                factor = max(factor, float(np.exp(np.abs(ratios).max())))
        if not freedom:
            raise UntestableError("There is nothing to compare: too few different transitions were seen.")
        return cls(max(likelihood, 0.0), pearson, freedom, size, change, factor, unit)

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
    def power(self) -> Power:
        """The chance to see a deviation of Cohen's w = 0.1."""
        return Power(
            lambda size: chi_square(size, self.freedom), self.size, self.unit, f"a small deviation (w = {EFFECT:g})"
        )

    @property
    def verdict(self) -> Verdict:
        """What the test says, if it had the power to say something."""
        return judge(self.p_value, self.bic < 0 and self.factor >= _SMALL_FACTOR, self.power.enough)

    @property
    def figure(self) -> str:
        """The statistic, how far off the hypothesis is, and the power, in words."""
        degrees = f"{self.freedom} degree{'s' if self.freedom > 1 else ''} of freedom"
        return (
            f"G² = {self.likelihood:.1f} (Pearson {self.pearson:.1f}) on {degrees}, {shown_p(self.p_value)}; "
            f"a probability changes by at most {self.change:.2g}"
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

    def reported(self, fine: str, flagged: str, advice: str, figure: str = "") -> Outcome:
        """Return the outcome, with what it means where the larger model is and is not needed."""
        verdict = self.verdict
        if verdict == Verdict.FINE:
            return Outcome(verdict, self.figure + figure, fine, values=self.values)
        if verdict == Verdict.NOT_TESTED:
            return Outcome(verdict, self.figure + figure, str(self.power), values=self.values)
        if verdict == Verdict.DOUBTFUL:
            flagged += (
                " The deviation is significant, but small or not certain: the BIC prefers the simpler model, or no "
                f"probability is off by a factor of {_SMALL_FACTOR:g}, or p is not below 0.001. With many records "
                "small deviations become significant."
            )
        return Outcome(verdict, self.figure + figure, flagged, advice, self.values)


def homogeneity(tables: Iterable[NDArray[np.int64]], size: int, unit: str = "transitions") -> LikelihoodRatio:
    """Compare "every row of each table has its own law of the next state" with "all rows of a table share one"."""
    from scipy.stats import chi2_contingency

    def parts() -> Iterable[Part]:
        for table in tables:
            seen = table[table.any(axis=1)][:, table.any(axis=0)]
            if min(seen.shape) > 1:
                result = chi2_contingency(seen, correction=False)
                yield seen, result.expected_freq, int(result.dof)

    return LikelihoodRatio.of(parts(), size, unit)
