"""The paper's data sets as experiments: their models, their diagnoses, and what is said of them."""

import re
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from bayesdp import Count, MarkovChain, Sum
from bayesdp.experiments import Report
from bayesdp.experiments.paper import DATA
from bayesdp.experiments.studies import STUDIES, Study, _clipped, _sorted_by, study
from bayesdp.models.diagnosis import Verdict


def test_every_data_set_has_a_diagnosis(full: Report, twin_of: Callable[[str], Study]) -> None:
    rows = full.table("diagnosis").rows
    assert [row[0].removesuffix(" (twin)") for row in rows] == [each.title for each in STUDIES.values()]
    for name, row in zip(STUDIES, rows, strict=True):
        assert row[1] == full.verdicts[name] == twin_of(name).diagnosis.verdict
        assert row[2]
        (chart,) = [chart for chart in full.charts if chart.name == f"{name}-error"]
        assert f"Diagnosis of these data: {row[1]}" in chart.note


@pytest.mark.parametrize("name", STUDIES)
def test_no_data_drawn_from_a_model_contradict_it(name: str, twin_of: Callable[[str], Study]) -> None:
    assert twin_of(name).diagnosis.verdict in (Verdict.FINE, Verdict.NOT_TESTED)


def test_the_diagnosis_is_about_the_families_of_the_query(twin_of: Callable[[str], Study]) -> None:
    families = twin_of("galton")
    assert families.data.frame.height == 898
    figures = {finding.name: finding.figure for finding in families.diagnosis.findings}
    assert figures["covariance"].startswith("197 groups: ")
    assert families.records == 3 * 197


def test_every_figure_and_table_marks_twins(full: Report) -> None:
    for chart in full.charts:
        name = chart.name.rpartition("-")[0].removesuffix("-added")
        if name in STUDIES:
            assert ("synthetic data" if name == "syntheticiq" else "(twin)") in chart.source
        else:
            assert chart.source == "theory only, no data"
    for table in full.tables:
        if table.name != "errata":
            assert all(re.search(r"\(twin\)|^Synthetic|no data", row[0]) for row in table.rows)


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_asks_what_the_paper_asks_of_as_many_records(name: str, twin_of: Callable[[str], Study]) -> None:
    found, printed = twin_of(name), DATA[name]
    assert found.size == (found.records if printed.size == "n" else int(printed.size))
    if printed.bounds is not None:
        assert found.experiment.query.clipped is not None
        assert found.experiment.query.clipped.bounds == printed.bounds
    else:
        assert isinstance(found.experiment.query, Count)
    assert found.label == found.title + " (twin)" * (name != "syntheticiq")


def test_it_is_run_as_often_as_is_asked() -> None:
    found = study("electricity-80", runs=7, seed=3, epsilons=[1.0]).experiment
    assert (found.runs, found.seed, tuple(found.epsilons)) == (7, 3, (1.0,))


def test_a_day_is_its_own_chain_with_shared_probabilities(twin_of: Callable[[str], Study]) -> None:
    whole, day = twin_of("activity"), twin_of("activity-day")
    assert isinstance(whole.experiment.model, MarkovChain)
    assert isinstance(day.experiment.model, MarkovChain)
    assert day.experiment.model.transition == whole.experiment.model.transition
    assert day.records == 288
    assert sum(day.experiment.answers) == whole.experiment.answers[0]


def test_what_clipping_does_is_said_only_if_it_does_something() -> None:
    query = Sum("value", bounds=(0, 10))
    assert _clipped(pl.Series([0.0, 5.0, 10.0]), query, "cm") == ()
    assert _clipped(pl.Series([-3.0, 5.0]), query, "cm") == (
        "clipping to 0–10 moves the exact sum by +3 cm: 1 value lies outside",
    )


def test_families_in_the_order_of_the_fathers_are_recognized() -> None:
    fathers = pl.Series(np.linspace(78, 62, 50))
    assert "listed by the father's height (correlation 1.00)" in _sorted_by(fathers)[0]
    assert _sorted_by(fathers.shuffle(seed=1)) == ()
    assert _sorted_by(pl.Series([70.0] * 5)) == ()


def test_an_unknown_study_is_no_study() -> None:
    with pytest.raises(KeyError):
        study("nonsense")


@pytest.mark.parametrize("name", STUDIES)
def test_studies_have_the_records_of_the_specification(name: str, twin_of: Callable[[str], Study]) -> None:
    records = {"galton": 591, "familyiq": 868, "syntheticiq": 20_000, "activity": 15_264, "activity-day": 288}
    high = {"electricity-70": 576, "electricity-80": 241, "electricity-90": 134, "activity": 4250}
    found = twin_of(name)
    assert found.records == records.get(name, 731)
    if name in high:
        assert found.experiment.answers == (high[name],)
    assert len(found.experiment.answers) == (53 if name == "activity-day" else 1)
