"""bayesdp: differential privacy that holds when records are correlated.

    import bayesdp as bdp

    family = bdp.GaussianGroups(correlation=0.275, size=3)
    question = bdp.Sum("height", bounds=(0, 100))

    bdp.leakage(family, question, tau=1.0)          # what a 1-DP release really leaks
    bdp.calibrate(family, question, epsilon=1.0)    # the noise that keeps a promise of ε = 1
    bdp.compare(family, question, epsilons=[1, 5])  # every theorem side by side

Names load when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesdp.lazy import lazily
from bayesdp.leakage import leakage

if TYPE_CHECKING:
    from bayesdp.answer import Answer
    from bayesdp.calibration import Calibration, calibrate
    from bayesdp.comparison import Comparison, compare
    from bayesdp.errors import BayesDPError
    from bayesdp.inquiry import check_table
    from bayesdp.leakage.registry import register, theorems, unregister
    from bayesdp.leakage.report import Leakage
    from bayesdp.leakage.theorem import Theorem
    from bayesdp.models import AnyOf, ArbitraryGroups, GaussianGroups, Independent, MarkovChain, Model
    from bayesdp.plotting import plot_tradeoff
    from bayesdp.queries import Count, Histogram, Mean, Query, Sum
    from bayesdp.session import Session

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "AnyOf",
    "ArbitraryGroups",
    "BayesDPError",
    "Calibration",
    "Comparison",
    "Count",
    "GaussianGroups",
    "Histogram",
    "Independent",
    "Leakage",
    "MarkovChain",
    "Mean",
    "Model",
    "Query",
    "Session",
    "Sum",
    "Theorem",
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
    "Answer": "answer",
    "AnyOf": "models",
    "ArbitraryGroups": "models",
    "BayesDPError": "errors",
    "Calibration": "calibration",
    "Comparison": "comparison",
    "Count": "queries",
    "GaussianGroups": "models",
    "Histogram": "queries",
    "Independent": "models",
    "Leakage": "leakage.report",
    "MarkovChain": "models",
    "Mean": "queries",
    "Model": "models",
    "Query": "queries",
    "Session": "session",
    "Sum": "queries",
    "Theorem": "leakage.theorem",
    "calibrate": "calibration",
    "check_table": "inquiry",
    "compare": "comparison",
    "plot_tradeoff": "plotting",
    "register": "leakage.registry",
    "theorems": "leakage.registry",
    "unregister": "leakage.registry",
}

__getattr__ = lazily(__name__, _HOMES, globals())


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
