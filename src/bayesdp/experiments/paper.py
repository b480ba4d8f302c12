"""The values that the paper prints, copied by hand, with their places in the paper. No other values are copied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["CLAIMS", "DATA", "FIGURES", "TITLE", "PrintedClaims", "PrintedData"]

TITLE = "Balancing Privacy and Utility in Correlated Data: A Study of Bayesian Differential Privacy (extended version)"

Entries = tuple[str, str, str, str]


@dataclass(frozen=True)
class PrintedData:
    """The paper's values for one data set, as texts, because "0.850" has three decimals.

    records, size, sensitivity, and ρ or γ: the data table (tab:data), m = n being "n".
    bounds:      the clipping bounds, in the unit of the data (Databases, Multivariate Gaussian).
    factor:      ε/τ of the Gaussian bound (Mechanism and Experiment Design, Gaussian Data).
    matrix:      transition probabilities 00, 01, 10, 11 (Databases, Markov Model).
    least:       the smallest ε in the equation of τ (eq:markov_tao), in the text below it, and, for 70 and 90 kWh, in
                 Results and Discussion.
    """

    records: str
    size: str
    sensitivity: str
    bounds: tuple[float, float] | None = None
    correlation: str | None = None
    factor: str | None = None
    gamma: str | None = None
    matrix: Entries | None = None
    least: tuple[str, ...] = ()


_ACTIVITY_MATRIX = ("0.882", "0.117", "0.305", "0.695")

DATA: Mapping[str, PrintedData] = {
    "galton": PrintedData("897", "3", "254 cm (100 in)", (0, 100), correlation="0.275", factor="1.853"),
    "familyiq": PrintedData("868", "2", "120", (40, 160), correlation="0.4483", factor="1.45"),
    "syntheticiq": PrintedData("20000", "2", "120", (40, 160), correlation="0.45", factor="1.45"),
    "activity": PrintedData("17568", "n", "1", gamma="7.54", matrix=_ACTIVITY_MATRIX, least=("8.05", "8.05")),
    "activity-day": PrintedData("288", "n", "1", gamma="7.54", matrix=_ACTIVITY_MATRIX, least=("8.05", "8.05")),
    "electricity-70": PrintedData(
        "731", "n", "1", gamma="3.29", matrix=("0.445", "0.555", "0.149", "0.850"), least=("4.7", "6.9", "4.9")
    ),
    "electricity-80": PrintedData(
        "731", "n", "1", gamma="4.49", matrix=("0.818", "0.182", "0.371", "0.629"), least=("6.03", "4.7")
    ),
    "electricity-90": PrintedData(
        "731", "n", "1", gamma="8.43", matrix=("0.894", "0.106", "0.478", "0.522"), least=("8.54", "8.45", "8.45")
    ),
}
"""The paper's values for each data set, in the order of the report."""


@dataclass(frozen=True)
class PrintedClaims:
    """Numbers the paper's text states.

    days:              single-day data sets of Activity (Databases; then Mechanism and Experiment Design).
    galton_saving:     error saved at ε = 1 against the general bound, in inches (Results and Discussion).
    iq_saving:         the same for both IQ data sets.
    activity_ratio:    how many times larger the general bound's error is for Activity (same place).
    markov_wins:       (τ, n, γ): the Markov bound is still the tighter one (Markov, Relationship between DP and BDP).
    markov_loses:      (τ, n, γ): it loses only for γ as high as this (same place).
    day_mape, mape:    the Markov bound's MAPE in percent stays below this for a single day, for Activity and
                       Electricity (Results and Discussion).
    general_mape:      the general bound's MAPE in percent reaches values above this for Markov data (same place).
    similar:           (ε, γ): for utility similar to DP's either ε must be larger or γ smaller (Markov, Accuracy).
    gaussian_wins:     the Gaussian bound improves on the general one if ρ is on the order of this (Gaussian,
                       Relationship between DP and BDP).
    iq_variance:       σ² of SyntheticIQ, which is its σ (Databases, Multivariate Gaussian).
    impossible_below:  no standard confidence level, 90 to 99 %, for ε below this (after the impossibility result).
    """

    days: tuple[str, str] = ("61", "56")
    galton_saving: str = "200"
    iq_saving: str = "400"
    activity_ratio: str = "100000"
    markov_wins: tuple[str, str, str] = ("0.5", "80", "10000")
    markov_loses: tuple[str, str, str] = ("0.5", "20", "100")
    day_mape: str = "10"
    mape: str = "0.1"
    general_mape: str = "100"
    similar: tuple[str, str] = ("5", "3")
    gaussian_wins: str = "1/m"
    iq_variance: str = "15"
    impossible_below: str = "4"


CLAIMS = PrintedClaims()
"""The numbers of the paper's text."""

_GAUSSIAN = {"galton": "Galton", "familyiq": "FamilyIQ", "syntheticiq": "SyntheticIQ"}
_MARKOV = {f"electricity-{kwh}": f"Electricity {kwh} kWh" for kwh in (70, 80, 90)} | {
    "activity-day": "Activity Single Day",
    "activity": "Activity",
}


def _panels(number: int, kind: str, caption: str, names: Mapping[str, str]) -> dict[str, str]:
    """Return the names of a figure's panels: a, b, c, …"""
    letters = "abcde"
    return {
        f"{name}-{kind}": f"Figure {number}{letter}: {caption}, {shown}"
        for letter, (name, shown) in zip(letters, names.items(), strict=False)
    }


def _beside(number: int, kind: str, names: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the figures that have what this library adds beside the lines of a figure's panels."""
    added = "(ε, δ), windows and odds by distance" if names is _MARKOV else "(ε, δ) and windows"
    panels = _panels(number, f"added-{kind}", added, names)
    return {name: f"Ours, beside {title}" for name, title in panels.items()}


FIGURES: Mapping[str, str] = {
    "gaussian-bound": "Figure 1: Gaussian-specific bound compared to the general bound",
    "gaussian-error": "Figure 2: relative accuracy for a multivariate Gaussian distribution",
    "markov-region": "Figure 3: comparison of the Markov-specific bound to the general bound",
    "markov-error": "Figure 4: relative accuracy for Markov chain data",
    "response-beta": "Figure 5: (α, β)-accuracy against the state of the art, n = 500",
    "response-alpha": "Figure 6: accuracy against the state of the art, n = 700",
    "impossibility": "Not drawn in the paper: the proposition on arbitrary correlation",
    "tightness": "Not drawn in the paper: the example of a tight general bound (Table 2)",
    **_panels(7, "error", "Gaussian data results", _GAUSSIAN),
    **_panels(8, "error", "Markov data results", _MARKOV),
    **_panels(9, "mape", "MAPE, Gaussian", _GAUSSIAN),
    **_panels(10, "mape", "MAPE, Markov", _MARKOV),
    **_beside(7, "error", _GAUSSIAN),
    **_beside(8, "error", _MARKOV),
    **_beside(9, "mape", _GAUSSIAN),
    **_beside(10, "mape", _MARKOV),
    "markov-bounds": "Extra: the bounds for Markov chains over τ",
    "arbitrary-laplace": "Extra: Laplace noise under arbitrary correlation, and a random guess",
    "response-theta": "Extra: Figure 6 for switching probabilities 0.1 and 0.7",
}
"""The paper's names of the figures, by our names, numbered in the order of its source."""
