"""A question that is ready to be asked: its grid, its noise, and the answer that noise makes."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars
import pytest

import bayesdp as bdp
from bayesdp.errors import QueryError, TooLargeError
from bayesdp.frames.aggregates import tally
from bayesdp.frames.grid import grid_for
from bayesdp.losses import ConcentratedLoss
from bayesdp.mechanisms import DiscreteLaplaceMechanism, NoisyMaxMechanism
from bayesdp.session.prepared_query import PreparedQuery, Selected
from bayesdp.session.session import Session

HEIGHT = bdp.Sum("height", bounds=(0, 100))


def test_a_sum_on_the_grid_with_its_rounding(families: polars.DataFrame, tmp_path: Path) -> None:
    model = bdp.GaussianGroups.fit(families, value=["height", "father", "mother"])
    with Session(families, model, epsilon=5.0, ledger=tmp_path / "b.db", dataset="galton", accept="a test") as session:
        one = session.release(HEIGHT, epsilon=1.0)
        truth = float(families["height"].sum())
        assert abs(float(one.value) - truth) < 60 * one.scale  # type: ignore[arg-type]
        assert one.theorem == "gaussian-covariance"
        assert 0 < one.rounding < 1e-3
        every = session.release(bdp.Sum(bounds=(0, 100)), epsilon=1.0)
        total = sum(float(families[column].sum()) for column in ("height", "father", "mother"))
        assert abs(float(every.value) - total) < 60 * every.scale  # type: ignore[arg-type]
        mean = session.release(bdp.Mean("height", bounds=(0, 100)), epsilon=1.0)
        assert abs(float(mean.value) - truth / 898) < 60 * mean.scale  # type: ignore[arg-type]
        with pytest.raises(QueryError, match="898 records, not over size = 5"):
            session.release(bdp.Mean("height", bounds=(0, 50), size=5), epsilon=0.5)
        with pytest.raises(QueryError, match="the model describes"):
            session.release(bdp.Count("family", equals="1"), epsilon=0.1)


@pytest.mark.parametrize(
    ("query", "epsilon"),
    [
        (bdp.Sum("x", bounds=(0, 1e307)), 0.1),
        (bdp.Sum("x", bounds=(-8e307, 8e307)), 1.0),
        (bdp.Mean("x", bounds=(0, 1.7e308)), 1e-3),
        (bdp.Sum("x", bounds=(1e306, 1.1e306)), 1.0),
    ],
)
def test_an_answer_that_is_not_a_number_is_refused_uncharged(tmp_path: Path, query: bdp.Query, epsilon: float) -> None:
    table = polars.DataFrame({"x": [1.0] * 1000})
    with Session(table, bdp.Independent(), epsilon=5.0, ledger=tmp_path / "b.db", dataset="d") as session:
        for ask in (session.preview, session.release):
            with pytest.raises(TooLargeError, match="narrower bounds"):
                ask(query, epsilon=epsilon)
        assert session.leaked == 0


def test_wide_bounds_still_give_answers_with_finite_intervals(tmp_path: Path) -> None:
    table = polars.DataFrame({"x": [1.0] * 1000})
    with Session(table, bdp.Independent(), epsilon=5.0, ledger=tmp_path / "b.db", dataset="d") as session:
        answer = session.release(bdp.Sum("x", bounds=(-1e280, 1e280)), epsilon=1e-3)
        assert np.isfinite(answer.interval(1 - 1e-15)).all()
        assert math.isfinite(answer.accuracy(1e-300))


TABLE = polars.DataFrame({"x": [0.2, 0.9, 1.7, 5.0], "s": [1, 0, 1, 1]})


def ready(query: bdp.Query) -> PreparedQuery:
    (exact,) = tally(TABLE, [query])
    return PreparedQuery.about(query, "q", exact.grid, 1 if exact.grid is None else exact.grid.span, records=4)


def test_a_record_moves_two_cells_of_a_histogram_by_one_each() -> None:
    for query, moved, squared in ((bdp.Count("s", equals=1), 1, 1), (bdp.Histogram("s", cells=["a", "b"]), 2, 2)):
        question = PreparedQuery.about(query, "q", None, moved, records=4)
        assert (question.sensitivity_in("l1"), question.sensitivity_in("l2")) == (moved, squared)


def test_a_selection_takes_no_gaussian_noise() -> None:
    with pytest.raises(QueryError, match="take no Gaussian noise"):
        ready(bdp.Median("x", candidates=[0, 1, 2])).mechanism(ConcentratedLoss(0.1))


def test_sums_get_noise_and_quantiles_are_selected() -> None:
    assert isinstance(ready(bdp.Count("s", equals=1)).mechanism(0.5), DiscreteLaplaceMechanism)
    quantile = ready(bdp.Median("x", candidates=[0, 1, 2]))
    assert isinstance(quantile, Selected)
    assert isinstance(quantile.mechanism(0.5), NoisyMaxMechanism)
    assert not quantile.of_no_records
    assert quantile.foreseen(quantile.mechanism(0.5), 0.05) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("query", "truth"),
    [
        (bdp.Count("s", equals=1), 3),
        (bdp.Sum("x", bounds=(0, 2), step=0.5), 4.5),
        (bdp.Mean("x", bounds=(0, 2), step=0.5, size=4), 1.125),
        (bdp.Histogram("s", cells=[0, 1]), (1, 3)),
    ],
)
def test_without_noise_to_speak_of_it_is_the_answer(query: bdp.Query, truth: object) -> None:
    asked = ready(query)
    (exact,) = tally(TABLE, [query])
    measured = asked.drawn(exact, asked.mechanism(1e4), beta=0.05)
    assert measured.value == truth
    assert measured.records == 4
    assert Fraction(measured.unit) >= asked.worth(4)


def test_the_error_foreseen_covers_the_rounding_of_the_grid() -> None:
    asked = ready(bdp.Sum("x", bounds=(0, 2), step=0.5))
    assert 4 * Fraction(1, 4) <= asked.rounding(4) <= 4 * Fraction(1, 4) * Fraction(513, 512)
    assert ready(bdp.Count("s", equals=1)).rounding(4) == 0
    mechanism = asked.mechanism(1.0)
    assert isinstance(mechanism, DiscreteLaplaceMechanism)
    off_by, half = asked.foreseen(mechanism, 0.05)
    assert off_by == pytest.approx(mechanism.alpha(0.05) * 0.5 + float(asked.rounding(4)))
    assert half == pytest.approx(off_by - 0.5)


def test_whole_numbers_that_are_worth_nothing_are_refused() -> None:
    class Worthless(bdp.Count):
        def worth(self, amount: Fraction, records: int) -> Fraction:
            return Fraction(0)

    with pytest.raises(QueryError, match="is not made of whole numbers, each worth something"):
        PreparedQuery.about(Worthless("s", equals=1), "q", None, 1, 4)


def test_bounds_too_wide_for_any_noise_are_refused() -> None:
    wide = bdp.Sum("x", bounds=(0, 1e308))
    grid = grid_for(wide, 4, whole=False)
    with pytest.raises(TooLargeError, match="narrower bounds"):
        PreparedQuery.about(wide, "q", grid, 1, 4)
