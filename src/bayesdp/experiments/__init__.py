"""The paper, rerun — and the same machinery for your own data.

    from bayesdp.experiments import Experiment, reproduce, run

    reproduce(out="reproduction")                                   # every figure and table of the paper
    print(run(Experiment(name="mine", model=..., query=..., frame=...)))   # one result table for a data set of yours

Names load when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bayesdp.experiments' has no attribute {name!r}")
    value = getattr(import_module(f"bayesdp.experiments.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
