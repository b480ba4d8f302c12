"""bayesdp: differential privacy that holds when records are correlated.

    import bayesdp as bdp

    family = bdp.GaussianGroups(correlation=0.275, size=3)
    question = bdp.Sum("height", bounds=(0, 100))

    bdp.leakage(family, question, tau=1.0)          # what a 1-DP release really leaks
    bdp.calibrate(family, question, epsilon=1.0)    # the noise that keeps a promise of ε = 1
    bdp.compare(family, question, epsilons=[1, 5])  # every theorem side by side

Names load when they are first used, so that importing the package is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesdp._support import hooks as _hooks
from bayesdp._support.lazy import lazily

if TYPE_CHECKING:
    from bayesdp import audit as audit
    from bayesdp import theorems as theorems
    from bayesdp.advice.advice import Advice
    from bayesdp.advice.advise import advise
    from bayesdp.calibration.calibrate import Calibration, calibrate
    from bayesdp.calibration.comparison import Comparison, compare
    from bayesdp.errors import BayesDPError
    from bayesdp.frames.bins import bin_names, binned
    from bayesdp.models import (
        AnyOf,
        ArbitraryGroups,
        GaussianGroups,
        GaussianSeries,
        HiddenMarkov,
        Independent,
        MarkovChain,
        Model,
        Network,
        OddsChain,
    )
    from bayesdp.plotting.results import plot_tradeoff
    from bayesdp.queries import (
        AnyMechanism,
        Count,
        Histogram,
        Mean,
        Median,
        Proportion,
        Quantile,
        Query,
        Sum,
        Variance,
    )
    from bayesdp.session.answer import Answer
    from bayesdp.session.answers import Answers
    from bayesdp.session.prepare import check_table
    from bayesdp.session.session import Session
    from bayesdp.theorems.leakage import Leakage, leakage
    from bayesdp.theorems.registry import register, unregister
    from bayesdp.theorems.theorem import Theorem

__version__ = "0.1.0"

__all__ = [
    "Advice",
    "Answer",
    "Answers",
    "AnyMechanism",
    "AnyOf",
    "ArbitraryGroups",
    "BayesDPError",
    "Calibration",
    "Comparison",
    "Count",
    "GaussianGroups",
    "GaussianSeries",
    "HiddenMarkov",
    "Histogram",
    "Independent",
    "Leakage",
    "MarkovChain",
    "Mean",
    "Median",
    "Model",
    "Network",
    "OddsChain",
    "Proportion",
    "Quantile",
    "Query",
    "Session",
    "Sum",
    "Theorem",
    "Variance",
    "advise",
    "audit",
    "bin_names",
    "binned",
    "calibrate",
    "check_table",
    "compare",
    "leakage",
    "plot_tradeoff",
    "register",
    "theorems",
    "unregister",
]

_HOMES = {
    "Advice": "advice.advice",
    "Answer": "session.answer",
    "Answers": "session.answers",
    "AnyMechanism": "queries",
    "AnyOf": "models",
    "ArbitraryGroups": "models",
    "BayesDPError": "errors",
    "Calibration": "calibration.calibrate",
    "Comparison": "calibration.comparison",
    "Count": "queries",
    "GaussianGroups": "models",
    "GaussianSeries": "models",
    "HiddenMarkov": "models",
    "Histogram": "queries",
    "Independent": "models",
    "Leakage": "theorems.leakage",
    "MarkovChain": "models",
    "Mean": "queries",
    "Median": "queries",
    "Model": "models",
    "Network": "models",
    "OddsChain": "models",
    "Proportion": "queries",
    "Quantile": "queries",
    "Query": "queries",
    "Session": "session.session",
    "Sum": "queries",
    "Theorem": "theorems.theorem",
    "Variance": "queries",
    "advise": "advice.advise",
    "audit": "",
    "bin_names": "frames.bins",
    "binned": "frames.bins",
    "calibrate": "calibration.calibrate",
    "check_table": "session.prepare",
    "compare": "calibration.comparison",
    "leakage": "theorems.leakage",
    "plot_tradeoff": "plotting.results",
    "register": "theorems.registry",
    "theorems": "",
    "unregister": "theorems.registry",
}

_hooks.register(
    {
        "diagnose.chain": "bayesdp.frames.checks:diagnose_chain_of",
        "diagnose.groups": "bayesdp.frames.checks:diagnose_groups_of",
        "plot.advice": "bayesdp.plotting.priced_assumptions:plot_advice",
        "plot.budget": "bayesdp.plotting.budget:plot_budget",
        "plot.calibration": "bayesdp.plotting.results:plot_calibration",
        "plot.comparison": "bayesdp.plotting.results:plot_comparison",
        "plot.diagnosis": "bayesdp.plotting.findings:plot_diagnosis",
        "plot.leakage": "bayesdp.plotting.results:plot_leakage",
        "table.group_moments": "bayesdp.frames.groups:group_moments",
        "table.scan": "bayesdp.frames.source:scan",
        "table.series_moments": "bayesdp.frames.series:series_moments",
        "table.spacing": "bayesdp.frames.spacing:spaced",
        "table.transitions": "bayesdp.frames.transitions:transitions",
        "theorem.series_refusal": "bayesdp.theorems.gaussian.walk:series_refused",
    }
)

__getattr__ = lazily(__name__, _HOMES, globals())


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
