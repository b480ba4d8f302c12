"""Likelihood ratios of tables of counts: a larger model of transitions against a smaller one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bayesdp.diagnostics.power import EFFECT, Power, chi_square
from bayesdp.diagnostics.report import Outcome, UntestableError, judge, on_degrees, shown_p
from bayesdp.models.diagnosis import Verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ENOUGH", "SMALL_FACTOR", "LikelihoodRatio", "Part", "homogeneity"]

Part: TypeAlias = "tuple[NDArray[Any], NDArray[Any], int]"
"""A table of counts, the expected ones, and the degrees of freedom."""

ENOUGH = 5
"""Cochran's rule: the least expected count for which the chi-square approximation holds."""

SMALL_FACTOR = 1.05
"""A transition probability that is off by less than this factor hardly changes a leakage."""


@dataclass(frozen=True)
class LikelihoodRatio:
    """How much better the larger model fits, and how far its probabilities differ from the smaller one's.

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
        """Add up tables (observed, expected, degrees of freedom), whose rows are laws of the next state."""
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
        verdict = judge(self.p_value, self.bic < 0 and self.factor >= SMALL_FACTOR, self.power.enough)
        small = (
            " The deviation is significant, but small or not certain: the BIC prefers the simpler model, or no "
            f"probability changes by a factor of {SMALL_FACTOR:g}, or p is not below 0.001. With many records small "
            "deviations become significant."
        )
        untested = str(self.power) if verdict == Verdict.NOT_TESTED else ""
        return Outcome.of(
            verdict, self.figure + figure, self.values,
            fine=fine, flagged=flagged, advice=advice, untested=untested, small=small,
        )  # fmt: skip


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
