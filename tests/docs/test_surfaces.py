"""Every command and method reports the cost that the session will charge.

Five places tell it: `calibrate`, `advise`, the explorer, `session.preview` and the release itself. They are compared
on every journey of the documentation, and on a panel of eight years. What they share is τ and the scale of the noise.
Their α differ as the Laplace noise of the formula and the whole numbers of the discrete noise do.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest

import bayesdp as bdp
from bayesdp.explorer.choices import Target
from bayesdp.explorer.view import Wanted, sides
from tools.docs.navigation import ROOT

CLOSE = 1e-6
"""A session asks the theorems that add up, `calibrate` all of them; a search ends a little below what is allowed."""


@dataclass(frozen=True)
class Surface:
    """A table, a model of it, and what is asked; `advised`: how `advise` is asked about the same."""

    table: Any
    model: bdp.Model
    query: bdp.Query
    missing: Literal["error", "drop"] = "error"
    growing: bool = False
    advised: dict[str, Any] | None = None


def _page(name: str, *needed: str, without: str | None = None) -> dict[str, Any]:
    """Run the Python of a journey, `without` what names this, until it has made what is needed; return its names."""
    text = (ROOT / "docs" / "journeys" / f"{name}.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if set(needed) <= set(names):
            return names
        if without is not None and without in block:
            continue
        with redirect_stdout(StringIO()):
            exec(block, names)
    assert set(needed) <= set(names)
    return names


def families() -> Iterator[Surface]:
    made = _page("families", "mean", "anything")
    yield Surface("siblings.csv", made["family"], made["mean"], advised={"group": "family"})
    yield Surface("flu.parquet", made["anything"], bdp.Count("ill", equals=True))


def sensor_series() -> Iterator[Surface]:
    made = _page("sensor-series", "town", "high")
    place = {"order_by": "time", "entity": "home"}
    yield Surface(made["use"], made["series"], made["mean"], advised=place)
    yield Surface(made["town"], made["chain"], made["high"], advised=place)


def smart_meters() -> Iterator[Surface]:
    made = _page("smart-meters", "running")
    month = made["january"]
    yield Surface(month, made["model"], made["running"], advised={"order_by": "time", "entity": "meter"})
    yield Surface(month, made["model"], made["running"], growing=True)


def spark_cluster() -> Iterator[Surface]:
    made = _page("spark-cluster", "active", without="spark")  # which is on the cluster; this is its table
    numbers = pl.DataFrame({"id": range(57600)})
    steps = numbers.select(person=pl.col("id") // 288, slot=pl.col("id") % 288, active=pl.col("id") // 7 % 10 < 3)
    with_gaps = made["model"].at_any_length()  # it names no step, so the table cannot show that no record is missing
    yield Surface(steps, with_gaps, made["active"])


def public_dashboard() -> Iterator[Surface]:
    made = _page("public-dashboard", "on")
    yield Surface(made["year"].head(9600), made["model"], made["on"], growing=True)


def sql_database() -> Iterator[Surface]:
    made = _page("sql-database", "urgent")
    source = "sqlite:///clinic.db#visits"
    yield Surface(source, made["patients"], made["urgent"])
    yield Surface(source, made["patients"], bdp.Sum("waited", bounds=(0, 120)), advised={"group": "patient"})


def step_counter() -> Iterator[Surface]:
    made = _page("step-counter", "question")
    place: dict[str, Any] = {"order_by": ["date", "interval"], "missing": "drop"}
    fitted = bdp.MarkovChain.fit("steps.csv", state="steps > 0", **place)
    yield Surface("steps.csv", fitted, made["question"], "drop", advised=place)


PANEL: dict[str, Any] = {"order_by": "year", "entity": "person"}
ILL = bdp.Count("ill", equals=True)


def _panel(persons: int) -> pl.DataFrame:
    draw = np.random.default_rng(8)
    rows = []
    for person in range(persons):
        ill = bool(draw.random() < 0.5)
        for year in range(2015, 2023):
            rows.append((person, year, ill))
            ill = bool(draw.random() < (0.8 if ill else 0.2))
    return pl.DataFrame(rows, schema=["person", "year", "ill"], orient="row")


def eight_years() -> Iterator[Surface]:
    panel = _panel(100)
    with_gaps = panel.filter(pl.int_range(pl.len()) % 97 != 3)
    irregular = panel.with_columns(year=pl.col("year") ** 2)
    for table in (panel, with_gaps, irregular):
        yield Surface(table, bdp.MarkovChain.fit(table, state="ill", diagnose=False, **PANEL), ILL)
        yield Surface(table, bdp.OddsChain.fit(table, state="ill", memory=2, **PANEL), ILL)


def eight_years_advised() -> Iterator[Surface]:
    for case in eight_years():
        if isinstance(case.model, bdp.OddsChain):
            yield replace(case, advised=PANEL)


CREDIBILITY = 0.95
"""What `advise` asks of models that were estimated."""

JOURNEYS = [families, public_dashboard, sensor_series, smart_meters, spark_cluster, sql_database, step_counter]

ON_A_CLUSTER = "spark-cluster"
"""The journey whose table is on a cluster, which these tests do not have; `test_spark_journey` has one."""


def test_every_journey_is_compared() -> None:
    pages = {path.stem for path in (ROOT / "docs" / "journeys").glob("[!R]*.md")}
    assert {*(journey.__name__.replace("_", "-") for journey in JOURNEYS), ON_A_CLUSTER} == pages


@pytest.mark.parametrize(
    "cases",
    [eight_years, *(pytest.param(cases, marks=pytest.mark.slow) for cases in (eight_years_advised, *JOURNEYS))],
)
def test_five_surfaces_tell_one_figure(
    cases: Callable[[], Iterator[Surface]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, case in enumerate(cases()):
        reported = _told(case, tmp_path / f"{number}.db")
        assert reported == {name: pytest.approx(reported["release"], rel=CLOSE) for name in reported}, (
            case.model.assumption
        )
        for assumption in _assumptions(case):
            credibility = CREDIBILITY if assumption.credible else None
            own = replace(case, model=assumption.model, query=assumption.calibration.query)
            reported = _told(own, tmp_path / f"{number} {assumption.name}.db", credibility)
            reported["advise"] = (assumption.calibration.tau, assumption.calibration.scale)
            assert reported == {name: pytest.approx(reported["release"], rel=CLOSE) for name in reported}, (
                assumption.name
            )


def _assumptions(case: Surface) -> list[Any]:
    if case.advised is None:
        return []
    return [
        assumption
        for assumption in bdp.advise(case.table, case.query, credibility=CREDIBILITY, **case.advised).priced_assumptions
        if assumption.calibration is not None
    ]


def _told(case: Surface, ledger: Path, credibility: float | None = None) -> dict[str, tuple[float, float]]:
    """Return τ and the scale of the noise that each surface tells for ε = 1."""
    used = case.model.at_any_length() if case.growing else case.model
    promise = bdp.calibrate(used, case.query, epsilon=1.0, credibility=credibility)
    reported = {"calibrate": (promise.tau, promise.scale)}
    if credibility is None:  # the explorer says that it takes figures as they were estimated
        for settled in (False, True):
            ours = sides(Wanted(used, case.query, Target(1.0, None, 0.05)), settled=settled).ours
            reported[f"explorer {settled}"] = (ours.belief.tau, ours.scale)
    place: dict[str, Any] = {"dataset": "d", "epsilon": 1.0, "ledger": ledger, "growing": case.growing}
    place |= {"missing": case.missing}
    accept = "the figures are compared"
    with bdp.Session(case.table, case.model, accept=accept, credibility=credibility, **place) as session:
        assert session.model.identity == used.identity, "what is calibrated is what the session uses"
        seen = session.preview(case.query, epsilon=1.0)
        assert seen.scale is not None
        assert seen.tau is not None
        answer = session.release(case.query, epsilon=1.0)
    return reported | {"preview": (seen.tau, seen.scale), "release": (answer.tau, answer.scale)}


@pytest.mark.slow
def test_a_release_after_a_private_fit_has_its_calibrated_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = _page("step-counter", "answer")
    answer, model = made["answer"], made["fit"].model
    before = [(bdp.AnyMechanism(what="the transitions"), 0.05)]
    promise = bdp.calibrate(model, made["question"], epsilon=answer.epsilon_total, spent=before)
    assert (promise.tau, promise.scale) == pytest.approx((answer.tau, answer.scale), rel=CLOSE)
