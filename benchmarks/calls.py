"""How often one warm release of a count calls from one package or module of bayesdp into another, model by model.

python benchmarks/calls.py           # three lines for each model
python benchmarks/calls.py --pairs   # also which packages and modules call each other most

A call counts when a function of this package calls one in another module, however many functions of
Polars or SQLAlchemy lie between the two. Returning does not count. The lines for modules and for packages leave out
what every package uses all the time: errors, rounding and _support.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import polars

import bayesdp as bdp
from shared.reporting import report

SOURCE = Path(bdp.__file__).parent
BASE = {"errors", "rounding", "_support", "__init__"}

LAYOUT: dict[str, Any] = {"state": "on", "order_by": "t"}
MODELS: dict[str, bdp.Model] = {
    "Independent": bdp.Independent(),
    "Markov chain": bdp.MarkovChain([[0.7, 0.3], [0.4, 0.6]], states=[0, 1]).located(**LAYOUT),
    "odds chain": bdp.OddsChain(5.0, states=[0, 1]).located(**LAYOUT),
}

Calls = Counter[tuple[str, str]]


def module_of(frame: FrameType) -> str | None:
    """Return the module of this package that a frame executes; None for any other."""
    path = Path(frame.f_code.co_filename)
    return str(path.relative_to(SOURCE).with_suffix("")) if path.is_relative_to(SOURCE) else None


def package_of(module: str) -> str:
    """Return the package of a module; a module beside the packages is one itself."""
    return module.split("/")[0]


def calls_in(action: Callable[[], Any]) -> Calls:
    """Return the number of calls from each module of this package into each other one during an action."""
    calls: Calls = Counter()

    def watch(frame: FrameType, event: str, _: object) -> None:
        here = module_of(frame)
        if event != "call" or here is None:
            return
        caller = frame.f_back
        while caller is not None and module_of(caller) is None:
            caller = caller.f_back
        there = None if caller is None else module_of(caller)
        if there is not None and there != here:
            calls[there, here] += 1

    sys.setprofile(watch)
    try:
        action()
    finally:
        sys.setprofile(None)
    return calls


def above_base(calls: Calls) -> Calls:
    """Return the calls that neither leave nor enter what every package uses."""
    return Counter({pair: times for pair, times in calls.items() if not {*map(package_of, pair)} & BASE})


def between_packages(calls: Calls) -> Calls:
    """Return the calls from one package into another."""
    packages: Calls = Counter()
    for (there, here), times in calls.items():
        if package_of(there) != package_of(here):
            packages[package_of(there), package_of(here)] += times
    return packages


def release_of(model: bdp.Model) -> Calls:
    """Return the calls of a release of a question not asked before, in a session that has released."""
    frame = polars.DataFrame({"on": [0, 0, 1, 1, 1] * 20, "t": range(100)})
    with (
        tempfile.TemporaryDirectory() as folder,
        bdp.Session(frame, model, epsilon=5.0, ledger=Path(folder) / "budget.db", dataset="on") as session,
    ):
        session.release(bdp.Count("on", equals=0), epsilon=0.1)
        return calls_in(lambda: session.release(bdp.Count("on", equals=1), epsilon=0.1))


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--pairs", action="store_true", help="also print who calls whom most")
    pairs = arguments.parse_args().pairs
    for name, model in MODELS.items():
        calls = release_of(model)
        upper = above_base(calls)
        counted = {"between all modules": calls, "between modules": upper, "between packages": between_packages(upper)}
        for kind, found in counted.items():
            places = {place for pair in found for place in pair}
            report(f"{name}: calls {kind} ({len(places)})", found.total(), "calls")
            for (there, here), times in found.most_common(40) if pairs else ():
                print(f"    {times:4d}  {there} → {here}")


if __name__ == "__main__":
    main()
