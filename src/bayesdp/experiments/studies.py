"""The paper's data sets as experiments: the estimated model, the query, and the paper's own assumption."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bayesdp.experiments import paper
from bayesdp.experiments.data import Dataset, load
from bayesdp.experiments.simulate import Assumption, Experiment
from bayesdp.models import ChainLayout, GaussianGroups, MarkovChain, OddsSeries
from bayesdp.models.diagnosis import Verdict
from bayesdp.plotting.results import EPSILONS
from bayesdp.queries import Count, Query, Sum

if TYPE_CHECKING:
    import polars as pl

    from bayesdp.diagnostics import Diagnosis

__all__ = ["STUDIES", "Study", "study"]

IF_EQUAL = "if variances were equal"
"""An assumption of the paper that does not hold here; results under it are no guarantee."""


_SORTED = 0.9
"""Families count as sorted by the father's height from this correlation with the place in the file on."""

_AGAINST = (Verdict.DOUBTFUL, Verdict.VIOLATED)


@dataclass(frozen=True)
class Windows:
    """A division of the records, by a clock of their order or a public column, with the exact answer of each window.

    cells: the values of the column; None for a clock. answers: those of several tables one after another.
    """

    by: str
    number: int
    answers: tuple[float, ...]
    cells: tuple[str, ...] | None = None

    def question(self, query: Query) -> Query:
        """Return the query about each window."""
        return replace(query, by=self.by, by_cells=self.cells)


@dataclass(frozen=True, eq=False)
class Study:
    """A data set of the paper, ready to run.

    unit:    the unit of the answer.
    records: the number of records in the query; size: how many of them may be correlated.
    fitted:  the model with the columns of `sample`, the table on which its assumptions are tested.
    windows: a division of the records into windows.
    fit_series: fits odds by distance to a series; None for groups.
    remarks: further facts about these data, as sentences.
    """

    name: str
    title: str
    data: Dataset
    experiment: Experiment
    unit: str
    records: int
    size: int
    fitted: GaussianGroups | MarkovChain
    sample: pl.DataFrame
    windows: Windows
    fit_series: Callable[[], OddsSeries] | None = None
    remarks: tuple[str, ...] = ()

    @cached_property
    def series(self) -> tuple[OddsSeries, ...]:
        """The records as a series whose odds depend on the distance, fitted to these data; none for groups."""
        return () if self.fit_series is None else (self.fit_series(),)

    @property
    def source(self) -> str:
        """The source for figures and tables: the original file, a twin or synthetic data."""
        if self.data.source == "file":
            return f"original file {self.data.path.name}" if self.data.path else "original file"
        return "built-in twin" if self.data.source == "twin" else "synthetic data"

    @property
    def label(self) -> str:
        """The title, marked if the data are a twin."""
        return f"{self.title} (twin)" if self.data.source == "twin" else self.title

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """The diagnosis of the model on the records that the query is about."""
        return self.fitted.diagnosis or self.fitted.diagnose(self.sample)

    @property
    def judged(self) -> str:
        """The diagnosis in one sentence: the evidence against the model, or that there is none."""
        diagnosis = self.diagnosis
        against = [finding for finding in diagnosis.findings if finding.verdict == diagnosis.verdict]
        if diagnosis.verdict in _AGAINST:
            sentence = "; ".join(
                f"{finding.name}: {finding.figure.partition(';')[0] or finding.meaning}" for finding in against
            )
        else:
            untested = [finding.name for finding in diagnosis.findings if finding.verdict == Verdict.NOT_TESTED]
            sentence = "nothing that was tested contradicts the model"
            sentence += f"; not tested: {', '.join(untested)}" if untested else ""
        return sentence


def study(
    name: str,
    folder: str | Path | None = None,
    *,
    epsilons: Sequence[float] = EPSILONS,
    runs: int = 1000,
    seed: int = 0,
) -> Study:
    """Load one of the data sets in `STUDIES`, estimate its model, and return the experiment to run.

    >>> days = study("electricity-80")
    >>> days.records, days.experiment.answers, round(days.experiment.model.gamma, 3)
    (731, (241.0,), 4.506)
    """
    recipe = STUDIES[name]
    data = load(recipe.dataset, folder)
    setup = recipe.make(data.frame)
    experiment = Experiment(
        name=name,
        model=setup.model,
        query=setup.query,
        frame=setup.frame,
        truth=setup.truth,
        assumptions=setup.assumptions,
        epsilons=epsilons,
        runs=runs,
        seed=seed,
    )
    size = setup.model.group_size
    assert size is not None
    return Study(
        name,
        recipe.title,
        data,
        experiment,
        recipe.unit,
        setup.records,
        size,
        setup.fitted,
        setup.sample,
        setup.windows,
        setup.fit_series,
        tuple(f"{text[0].upper()}{text[1:]}" for text in setup.remarks),
    )


@dataclass(frozen=True, eq=False)
class _Setup:
    model: GaussianGroups | MarkovChain
    query: Query
    records: int
    fitted: GaussianGroups | MarkovChain
    sample: pl.DataFrame
    windows: Windows
    fit_series: Callable[[], OddsSeries] | None = None
    frame: pl.DataFrame | None = None
    truth: tuple[float, ...] | None = None
    assumptions: tuple[Assumption, ...] = ()
    remarks: tuple[str, ...] = ()


def _families(frame: pl.DataFrame, name: str, roles: Sequence[str], groups: pl.DataFrame) -> _Setup:
    """Estimate the covariance of the roles from all rows; the query is about `groups`, one row for each family."""
    printed = paper.DATA[name]
    fitted = GaussianGroups.fit(frame, value=list(roles), diagnose=False)
    model = replace(fitted, layout=None, column="value", record="family member")
    query, long = Sum("value", bounds=printed.bounds), groups.unpivot(on=list(roles), value_name="value")
    remarks = _clipped(long["value"], query, STUDIES[name].unit)
    equal = GaussianGroups(correlation=float(printed.correlation or 0), size=len(roles), column="value")
    supposed = tuple(
        Assumption(f"{theorem}, {IF_EQUAL}", equal, theorem) for theorem in ("gaussian-paper", "gaussian-tight")
    )
    return _Setup(
        model,
        query,
        long.height,
        fitted,
        groups,
        _by_role(groups.select(roles), query),
        frame=long,
        assumptions=supposed,
        remarks=remarks,
    )


def _by_role(groups: pl.DataFrame, query: Sum) -> Windows:
    """Return the sum of each role as the answer of a window."""
    assert query.bounds is not None
    sums = (float(groups[role].clip(*query.bounds).sum()) for role in groups.columns)
    return Windows("role", groups.width, tuple(sums), tuple(groups.columns))


def _clipped(values: pl.Series, query: Sum, unit: str) -> tuple[str, ...]:
    """Return the effect of clipping on the sum, if there is one."""
    assert query.bounds is not None
    low, high = query.bounds
    clipped = values.clip(low, high)
    outside = int((clipped != values).sum())
    moved = float(clipped.sum()) - float(values.sum())
    if not outside:
        return ()
    lie = "1 value lies" if outside == 1 else f"{outside} values lie"
    return (f"clipping to {low:g}–{high:g} moves the exact sum by {moved:+.4g} {unit}: {lie} outside",)


def _galton(frame: pl.DataFrame) -> _Setup:
    trios = frame.unique("family", keep="first", maintain_order=True)
    setup = _families(frame, "galton", ["height", "father", "mother"], trios)
    return replace(setup, remarks=(*setup.remarks, *_sorted_by(trios["father"])))


def _sorted_by(fathers: pl.Series) -> tuple[str, ...]:
    """Return a remark if families are sorted by the father's height, which makes neighbours look dependent."""
    places = np.arange(len(fathers))
    correlation = abs(float(np.corrcoef(places, fathers.to_numpy())[0, 1])) if fathers.n_unique() > 1 else 0.0
    if correlation < _SORTED:
        return ()
    return (f"families are listed by the father's height (correlation {correlation:.2f}), which shows as dependence",)


def _family_iq(frame: pl.DataFrame) -> _Setup:
    return _families(frame, "familyiq", ["kid_score", "mom_iq"], frame)


def _synthetic_iq(frame: pl.DataFrame) -> _Setup:
    printed = paper.DATA["syntheticiq"]
    variance, correlation = float(paper.CLAIMS.iq_variance) ** 2, float(printed.correlation or 0)
    covariance = ((variance, correlation * variance), (correlation * variance, variance))
    long = frame.unpivot(value_name="value")
    model = GaussianGroups(covariance=covariance, column="value", record="family member")
    query, fitted = Sum("value", bounds=printed.bounds), GaussianGroups.fit(frame, value=frame.columns, diagnose=False)
    laid_out = replace(model, layout=fitted.layout, column=None)
    return _Setup(
        model,
        query,
        long.height,
        laid_out,
        frame,
        _by_role(frame, query),
        frame=long,
        remarks=_clipped(long["value"], query, STUDIES["syntheticiq"].unit),
    )


def _activity(frame: pl.DataFrame) -> _Setup:
    chain = MarkovChain.fit(
        frame, state="steps > 0", order_by=["date", "interval"], missing="drop", record="5-minute interval"
    )
    assert chain.length is not None
    windows, fit = Windows("hour", 24, _active_by_hour(frame, "hour")), partial(_odds_of_intervals, frame)
    return _Setup(chain, Count("steps > 0", equals=True), chain.length, chain, frame, windows, fit, frame=frame)


def _odds_of_intervals(frame: pl.DataFrame, length: int | None = None) -> OddsSeries:
    """Fit the odds by distance, given the hour; length: of a series, if not of the whole table."""
    series = OddsSeries.fit(
        frame,
        state="steps > 0",
        order_by=["date", "interval"],
        within="hour",
        missing="drop",
        record="5-minute interval",
        diagnose=False,
    )
    return series if length is None else replace(series, length=length)


def _active_by_hour(frame: pl.DataFrame, *columns: str) -> tuple[float, ...]:
    """Return the number of active intervals in each group of these columns; the hour is that of the interval."""
    import polars as pl

    present = frame.filter(pl.col("steps").is_not_null()).with_columns(hour=pl.col("interval") // 100)
    active = present.group_by(columns).agg((pl.col("steps") > 0).sum().alias("active")).sort(columns)
    return tuple(map(float, active["active"]))


def _activity_day(frame: pl.DataFrame) -> _Setup:
    """Set up each day separately, as in the paper: a chain of 288 intervals with the probabilities of all days."""
    import polars as pl

    whole = _activity(frame)
    present = frame.filter(pl.col("steps").is_not_null())
    days = present.group_by("date").agg(pl.len().alias("records"), (pl.col("steps") > 0).sum().alias("active"))
    days = days.sort("date")
    longest = int(days["records"].max())  # type: ignore[arg-type]
    assert isinstance(whole.model, MarkovChain)
    model = replace(whole.model, length=longest, gaps=bool((days["records"] < longest).any()), diagnosis=None)
    by_day = replace(model, layout=ChainLayout("interval", "date", dropped=True))
    return _Setup(
        model,
        whole.query,
        longest,
        by_day,
        frame,
        Windows("hour", 24, _active_by_hour(frame, "date", "hour")),
        partial(_odds_of_intervals, frame, longest),
        truth=tuple(map(float, days["active"])),
    )


def _electricity(frame: pl.DataFrame) -> _Setup:
    import polars as pl

    chain = MarkovChain.fit(frame, state="high", order_by="day", step="1d", record="day")
    assert chain.length is not None
    months = frame.group_by(pl.col("day").dt.truncate("1mo")).agg(pl.col("high").sum()).sort("day")
    windows = Windows("month", months.height, tuple(map(float, months["high"])))
    query, fit = Count("high", equals=True), partial(_odds_of_days, frame)
    return _Setup(chain, query, chain.length, chain, frame, windows, fit, frame=frame)


def _odds_of_days(frame: pl.DataFrame) -> OddsSeries:
    return OddsSeries.fit(frame, state="high", order_by="day", step="1d", record="day", diagnose=False)


@dataclass(frozen=True)
class _Recipe:
    dataset: str
    title: str
    unit: str
    make: Callable[[pl.DataFrame], _Setup]


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
