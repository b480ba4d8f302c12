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
    from bayesdp import errors as errors
    from bayesdp import ledger as ledger
    from bayesdp import losses as losses
    from bayesdp import mechanisms as mechanisms
    from bayesdp import models as models
    from bayesdp import queries as queries
    from bayesdp import testing as testing
    from bayesdp import theorems as theorems
    from bayesdp.advice.advice import Advice
    from bayesdp.advice.advise import advise
    from bayesdp.calibration.calibrate import Calibration, calibrate
    from bayesdp.calibration.comparison import Comparison, compare
    from bayesdp.client.remote import connect
    from bayesdp.errors import BayesDPError
    from bayesdp.frames.bins import bin_names, binned
    from bayesdp.losses import ApproximateLoss, ConcentratedLoss, PrivacyProfile, PureLoss
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
        OddsSeries,
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
    from bayesdp.theorems.target_values import TargetLeakage, target_leakage
    from bayesdp.theorems.theorem import Theorem

__version__ = "0.1.0"

__all__ = [
    "Advice",
    "Answer",
    "Answers",
    "AnyMechanism",
    "AnyOf",
    "ApproximateLoss",
    "ArbitraryGroups",
    "BayesDPError",
    "Calibration",
    "Comparison",
    "ConcentratedLoss",
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
    "OddsSeries",
    "PrivacyProfile",
    "Proportion",
    "PureLoss",
    "Quantile",
    "Query",
    "Session",
    "Sum",
    "TargetLeakage",
    "Theorem",
    "Variance",
    "advise",
    "audit",
    "bin_names",
    "binned",
    "calibrate",
    "check_table",
    "compare",
    "connect",
    "errors",
    "leakage",
    "ledger",
    "losses",
    "mechanisms",
    "models",
    "plot_tradeoff",
    "queries",
    "register",
    "target_leakage",
    "testing",
    "theorems",
    "unregister",
]

_HOMES = {
    "Advice": "advice.advice",
    "Answer": "session.answer",
    "Answers": "session.answers",
    "AnyMechanism": "queries",
    "AnyOf": "models",
    "ApproximateLoss": "losses",
    "ArbitraryGroups": "models",
    "BayesDPError": "errors",
    "Calibration": "calibration.calibrate",
    "Comparison": "calibration.comparison",
    "ConcentratedLoss": "losses",
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
    "OddsSeries": "models",
    "PrivacyProfile": "losses",
    "Proportion": "queries",
    "PureLoss": "losses",
    "Quantile": "queries",
    "Query": "queries",
    "Session": "session.session",
    "Sum": "queries",
    "TargetLeakage": "theorems.target_values",
    "Theorem": "theorems.theorem",
    "Variance": "queries",
    "advise": "advice.advise",
    "audit": "",
    "bin_names": "frames.bins",
    "binned": "frames.bins",
    "calibrate": "calibration.calibrate",
    "check_table": "session.prepare",
    "compare": "calibration.comparison",
    "connect": "client.remote",
    "errors": "",
    "leakage": "theorems.leakage",
    "ledger": "",
    "losses": "",
    "mechanisms": "",
    "models": "",
    "plot_tradeoff": "plotting.results",
    "queries": "",
    "register": "theorems.registry",
    "target_leakage": "theorems.target_values",
    "testing": "",
    "theorems": "",
    "unregister": "theorems.registry",
}

_hooks.register(
    {
        "diagnose.chain": "bayesdp.frames.checks:diagnose_chain_of",
        "diagnose.groups": "bayesdp.frames.checks:diagnose_groups_of",
        "diagnose.series": "bayesdp.frames.checks:diagnose_series_of",
        "plot.advice": "bayesdp.plotting.priced_assumptions:plot_advice",
        "plot.answers": "bayesdp.plotting.answers:plot_answers",
        "plot.approximate_calibration": "bayesdp.plotting.approximate:plot_noise",
        "plot.approximate_leakage": "bayesdp.plotting.approximate:plot_guarantees",
        "plot.budget": "bayesdp.plotting.budget:plot_budget",
        "plot.calibration": "bayesdp.plotting.results:plot_calibration",
        "plot.comparison": "bayesdp.plotting.results:plot_comparison",
        "plot.diagnosis": "bayesdp.plotting.findings:plot_diagnosis",
        "plot.leakage": "bayesdp.plotting.results:plot_leakage",
        "plot.running": "bayesdp.plotting.running:plot_running",
        "table.group_moments": "bayesdp.frames.groups:group_moments",
        "table.group_sizes": "bayesdp.frames.group_pairs:group_sizes",
        "table.patterns": "bayesdp.frames.patterns:patterns",
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
