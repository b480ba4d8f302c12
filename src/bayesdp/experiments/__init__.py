"""Reproduce the paper's figures and tables, and run the same experiments on your own data.

    from bayesdp.experiments import Experiment, reproduce, run

    reproduce(out="reproduction")                                   # every figure and table of the paper
    print(run(Experiment(name="mine", model=..., query=..., frame=...)))   # one result table for a data set of yours

Names load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesdp._support.lazy import lazily

if TYPE_CHECKING:
    from bayesdp.experiments.reproduction import Report, catalogue, reproduce
    from bayesdp.experiments.simulate import Assumption, Experiment, Result, Row, run

__all__ = ["Assumption", "Experiment", "Report", "Result", "Row", "catalogue", "reproduce", "run"]

_HOMES = {
    "Assumption": "simulate",
    "Experiment": "simulate",
    "Report": "reproduction",
    "Result": "simulate",
    "Row": "simulate",
    "catalogue": "reproduction",
    "reproduce": "reproduction",
    "run": "simulate",
}

__getattr__ = lazily(__name__, _HOMES, globals())
