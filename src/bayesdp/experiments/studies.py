"""The paper's data sets as experiments: which model is estimated, what is asked, what the paper assumed instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bayesdp.experiments import paper
from bayesdp.experiments.data import Dataset, load
from bayesdp.experiments.simulate import Assumption, Experiment
from bayesdp.models import GaussianGroups, MarkovChain
from bayesdp.plotting import EPSILONS
from bayesdp.queries import Count, Query, Sum

if TYPE_CHECKING:
    import polars as pl

__all__ = ["STUDIES", "Study", "study"]

IF_EQUAL = "if variances were equal"
"""What the paper takes for granted where it does not hold; what a theorem then allows is no guarantee."""


@dataclass(frozen=True, eq=False)
class Study:
    """A data set of the paper, ready to run.

    unit:    what the answer is counted or measured in.
    records: how many records the query is about, and how many of them may be correlated.
    """

    name: str
    title: str
    data: Dataset
    experiment: Experiment
    unit: str
    records: int
    size: int

    @property
    def source(self) -> str:
        """Whether this is the original file, a twin or synthetic, for figures and tables."""
        if self.data.source == "file":
            return f"original file {self.data.path.name}" if self.data.path else "original file"
        return "built-in twin, not the original data" if self.data.source == "twin" else "synthetic data"


def study(
    name: str,
    folder: str | Path | None = None,
    *,
    epsilons: Sequence[float] = EPSILONS,
    runs: int = 1000,
    seed: int = 0,
) -> Study:
    """Load one of the data sets in `STUDIES`, estimate its model, and say what to run.

    >>> found = study("electricity-80")
    >>> found.records, found.experiment.answers, round(found.experiment.model.gamma, 3)
    (731, (241.0,), 4.506)
    """
    recipe = STUDIES[name]
    data = load(recipe.dataset, folder)
    made = recipe.make(data.frame)
    experiment = Experiment(
        name=name,
        model=made.model,
        query=made.query,
        frame=made.frame,
        truth=made.truth,
        assumptions=made.assumptions,
        epsilons=epsilons,
        runs=runs,
        seed=seed,
    )
    size = made.model.group_size
    assert size is not None
    return Study(name, recipe.title, data, experiment, recipe.unit, made.records, size)


@dataclass(frozen=True, eq=False)
class _Made:
    model: GaussianGroups | MarkovChain
    query: Query
    records: int
    frame: pl.DataFrame | None = None
    truth: tuple[float, ...] | None = None
    assumptions: tuple[Assumption, ...] = ()


def _families(frame: pl.DataFrame, name: str, roles: Sequence[str], groups: pl.DataFrame) -> _Made:
    """Estimate the covariance of the roles from all rows; ask about `groups`, one row a family."""
    printed = paper.DATA[name]
    fitted = GaussianGroups.fit(frame, value=list(roles))
    model = replace(fitted, layout=None, column="value", record="family member")
    query, long = Sum("value", bounds=printed.bounds), groups.unpivot(on=list(roles), value_name="value")
    equal = GaussianGroups(correlation=float(printed.correlation or 0), size=len(roles), column="value")
    supposed = tuple(
        Assumption(f"{theorem}, {IF_EQUAL}", equal, theorem) for theorem in ("gaussian-paper", "gaussian-tight")
    )
    return _Made(model, query, long.height, frame=long, assumptions=supposed)


def _galton(frame: pl.DataFrame) -> _Made:
    trios = frame.unique("family", keep="first", maintain_order=True)
    return _families(frame, "galton", ["height", "father", "mother"], trios)


def _family_iq(frame: pl.DataFrame) -> _Made:
    return _families(frame, "familyiq", ["kid_score", "mom_iq"], frame)


def _synthetic_iq(frame: pl.DataFrame) -> _Made:
    printed = paper.DATA["syntheticiq"]
    variance, correlation = float(paper.CLAIMS.iq_variance) ** 2, float(printed.correlation or 0)
    covariance = ((variance, correlation * variance), (correlation * variance, variance))
    long = frame.unpivot(value_name="value")
    model = GaussianGroups(covariance=covariance, column="value", record="family member")
    return _Made(model, Sum("value", bounds=printed.bounds), long.height, frame=long)


def _activity(frame: pl.DataFrame) -> _Made:
    chain = MarkovChain.fit(
        frame, state="steps > 0", order_by=["date", "interval"], missing="drop", record="5-minute interval"
    )
    assert chain.length is not None
    return _Made(chain, Count("steps > 0", equals=True), chain.length, frame=frame)


def _activity_day(frame: pl.DataFrame) -> _Made:
    """Each day by itself, as in the paper: a chain of 288 intervals with the probabilities of all days."""
    import polars as pl

    whole = _activity(frame)
    present = frame.filter(pl.col("steps").is_not_null())
    days = present.group_by("date").agg(pl.len().alias("records"), (pl.col("steps") > 0).sum().alias("active"))
    days = days.sort("date")
    longest = int(days["records"].max())  # type: ignore[arg-type]
    assert isinstance(whole.model, MarkovChain)
    model = replace(whole.model, length=longest, gaps=bool((days["records"] < longest).any()))
    return _Made(model, whole.query, longest, truth=tuple(map(float, days["active"])))


def _electricity(frame: pl.DataFrame) -> _Made:
    chain = MarkovChain.fit(frame, state="high", order_by="day", step="1d", record="day")
    assert chain.length is not None
    return _Made(chain, Count("high", equals=True), chain.length, frame=frame)


@dataclass(frozen=True)
class _Recipe:
    dataset: str
    title: str
    unit: str
    make: Callable[[pl.DataFrame], _Made]


STUDIES: Mapping[str, _Recipe] = {
    "galton": _Recipe("galton", "Galton, total height of families", "inches", _galton),
    "familyiq": _Recipe("familyiq", "FamilyIQ, total score of pairs", "IQ points", _family_iq),
    "syntheticiq": _Recipe("syntheticiq", "SyntheticIQ, total score of pairs", "IQ points", _synthetic_iq),
    "activity": _Recipe("activity", "Activity, number of active intervals", "intervals", _activity),
    "activity-day": _Recipe("activity", "Activity, single day", "intervals", _activity_day),
    **{
        f"electricity-{kwh}": _Recipe(f"electricity-{kwh}", f"Electricity, days above {kwh} kWh", "days", _electricity)
        for kwh in (70, 80, 90)
    },
}
"""The data sets by name, in the order of the report."""
