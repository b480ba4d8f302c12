"""What the assumptions that real series do not contradict cost: before, and with odds by distance.

python benchmarks/assumptions.py [FOLDER]     # FOLDER holds activity.csv, the original; a built-in twin otherwise
python benchmarks/assumptions.py --short      # the two shortest series

Each table is given to `advise`, which asks for the number of records in a state at ε = 1. Before: the cheapest
assumption that the table does not contradict and that has an error, among independent records, chains, bounded odds.
After: with odds by distance as well. The series, besides Activity, ship with statsmodels, of the extra "dev". The error
is smaller in 95 % of answers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import statsmodels.api as sm

import bayesdp as bdp
from bayesdp.advice.priced_assumption import PricedAssumption
from bayesdp.experiments.data import load
from shared.reporting import heading, report

Table = tuple[pl.DataFrame | str, dict[str, Any]]
"""A table, or the path of a file, and the columns of its series."""

DISTANCE = "odds-series"
TARGET = 45.0
"""The largest error that is wanted for Activity."""


def activity(folder: str | None) -> Table:
    original = Path(folder or ".") / "activity.csv"
    steps = str(original) if original.exists() else load("activity").frame
    return steps, {"state": "steps > 0", "order_by": ["date", "interval"], "missing": "drop"}


def sunspots(_: str | None) -> Table:
    frame = pl.from_pandas(sm.datasets.sunspots.load_pandas().data).with_columns(pl.col("YEAR").cast(pl.Int64))
    return frame, {"state": "SUNACTIVITY > 50", "order_by": "YEAR"}


def elnino(_: str | None) -> Table:
    """Return the temperature of the sea, month by month."""
    table = sm.datasets.elnino.load_pandas().data
    values = table.drop(columns="YEAR").to_numpy().ravel()
    begun = int(table["YEAR"].iloc[0])
    times = [np.datetime64(f"{begun + place // 12}-{place % 12 + 1:02}-01") for place in range(len(values))]
    return pl.DataFrame({"month": np.array(times, "datetime64[us]"), "sea": values}), {
        "state": "sea > 23",
        "order_by": "month",
        "missing": "drop",
    }


def unemployment(_: str | None) -> Table:
    table = sm.datasets.macrodata.load_pandas().data
    rows = {"quarter": 4 * table["year"].astype(int) + table["quarter"].astype(int) - 1, "rate": table["unemp"]}
    return pl.DataFrame({name: list(values) for name, values in rows.items()}), {
        "state": "rate > 6",
        "order_by": "quarter",
    }


def carbon(_: str | None) -> Table:
    """Return whether carbon dioxide rose within the week; weeks are missing."""
    table = sm.datasets.co2.load_pandas().data["co2"]
    rows = {"week": list(table.index.to_pydatetime()), "change": table.diff().to_numpy()}
    frame = pl.DataFrame(rows).with_columns(pl.col("change").fill_nan(None))
    return frame, {"state": "change > 0", "order_by": "week", "missing": "drop"}


SERIES: dict[str, Callable[[str | None], Table]] = {
    "activity": activity,
    "sunspots": sunspots,
    "el niño": elnino,
    "unemployment": unemployment,
    "carbon dioxide": carbon,
}


def allowed(advice: bdp.Advice) -> Iterator[PricedAssumption]:
    """Yield the assumptions that the table does not contradict and that have an error."""
    for assumption in advice.priced_assumptions:
        if not assumption.denied and assumption.alpha is not None and assumption.model is not None:
            yield assumption


def cheapest(found: list[PricedAssumption]) -> PricedAssumption | None:
    return min(found, key=lambda assumption: assumption.alpha or 0.0, default=None)


def shown(name: str, when: str, chosen: PricedAssumption | None, target: float | None) -> None:
    if chosen is None or chosen.alpha is None:
        print(f"{name}, {when}: no assumption that the table does not contradict has an error")
        return
    relative = "" if chosen.relative_error is None else f", {100 * chosen.relative_error:.0f} % of what is asked"
    report(f"{name}, {when} ({chosen.name}: {chosen.verdict}{relative})", chosen.alpha, "records", at_most=target)


def main(folder: str | None, names: list[str]) -> None:
    print(heading())
    for name in names:
        frame, place = SERIES[name](folder)
        advice = bdp.advise(frame, **place)
        found = list(allowed(advice))
        before = [each for each in found if each.model is not None and each.model.kind != DISTANCE]
        shown(name, "before", cheapest(before), None)
        shown(name, "after", cheapest(found), TARGET if name == "activity" else None)
        for each in advice.priced_assumptions:
            if each.model is not None and each.model.kind == DISTANCE and each.alpha is not None:
                reach = len(getattr(each.model, "odds", ()))
                print(f"  {each.name}, reach {reach}: {each.verdict}, off by {each.alpha:.4g}", flush=True)
        recommended = advice.recommended
        print(f"  recommended: {'none' if recommended is None else recommended.name}", flush=True)


if __name__ == "__main__":
    short = "--short" in sys.argv[1:]
    folders = [argument for argument in sys.argv[1:] if argument != "--short"]
    main(folders[0] if folders else None, ["sunspots", "unemployment"] if short else list(SERIES))
