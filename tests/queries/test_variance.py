"""Variances: one whole number whose sensitivity is exact on the grid, and intervals that hold."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import bayesdp as bdp
from bayesdp import Variance
from bayesdp.cli import run
from bayesdp.errors import QueryError
from bayesdp.frames.aggregates import tally
from bayesdp.frames.grid import grid_for
from bayesdp.mechanisms import DiscreteLaplaceMechanism
from bayesdp.queries import query_from_dict
from bayesdp.session.prepared_query import PreparedQuery

HUGE = 1e9
"""An ε at which there is hardly any noise."""


def noised(places: list[int]) -> int:
    """Return what noise is added to, for these places on a grid."""
    query = Variance(bounds=(0, 1))
    sums = [sum(term) for term in zip(*map(query.terms, places), strict=True)]
    (number,) = query.condensed((sums[0], sums[1]), len(places))
    return number


@given(st.integers(1, 50), st.data())
def test_replacing_a_record_moves_it_by_the_span_squared_at_most(span: int, data: st.DataObject) -> None:
    places = st.integers(0, span) | st.sampled_from([0, span])
    before = data.draw(st.lists(places, min_size=1, max_size=30))
    after = [*before]
    after[data.draw(st.integers(0, len(before) - 1))] = data.draw(places)
    assert abs(noised(before) - noised(after)) <= Variance(bounds=(0, 1)).moved(span)


def test_the_sensitivity_is_nearly_attained() -> None:
    n, span = 1000, 64
    assert noised([0] * (n - 1) + [span]) - noised([0] * n) == span**2 * (n - 1) // n
    assert Variance(bounds=(0, 1)).moved(span) == span**2


@given(
    st.lists(st.floats(-3, 5), min_size=1, max_size=40),
    st.sampled_from([(-2.0, 4.0), (0.0, 1.0), (-0.1, 0.7), (0.0, 4.0)]),
    st.integers(2, 40),
    st.booleans(),
)
def test_the_grid_moves_it_by_no_more_than_it_says(
    values: list[float], bounds: tuple[float, float], bits: int, whole: bool
) -> None:
    query = Variance("x", bounds=bounds)
    if whole:
        values = [float(round(value)) for value in values]
    whole = whole and all(end.is_integer() for end in bounds)
    n, grid = len(values), grid_for(query, len(values), whole=whole, bits=bits)
    clipped = [Fraction(min(max(value, bounds[0]), bounds[1])) for value in values]
    total, squares = sum(clipped, Fraction(0)), sum((value * value for value in clipped), Fraction(0))
    exact = squares / n - (total / n) ** 2
    answer = query.assembled([noised([grid.place(value) for value in values])], grid, n)
    assert isinstance(answer, float)
    asked = PreparedQuery(query, "q", grid, query.moved(grid.span), n).checked()
    assert abs(Fraction(answer) - exact) <= asked.rounding(n) + Fraction(1, 10**12)


def test_it_is_described_and_read_like_any_question() -> None:
    query = Variance("height", bounds=(40, 100), size=50)
    assert query.description == "the variance of height, clipped to 40–100"
    assert query.sensitivity == 3600 / 50
    assert query_from_dict(json.loads(query.to_json())) == query
    assert query.possible(50) == (Fraction(0), Fraction(900))
    assert query.ledger_key() == bdp.Count("height", equals=1).ledger_key()
    with pytest.raises(QueryError, match="the noise on a variance depends on the public number of records"):
        _ = Variance("height", bounds=(40, 100)).sensitivity
    with pytest.raises(QueryError, match="a variance needs a public number of records"):
        Variance("height", bounds=(40, 100), where="height > 50")


def test_theorems_about_sums_do_not_cover_it() -> None:
    chain = bdp.MarkovChain([[0.9, 0.1], [0.3, 0.7]], length=50)
    family = bdp.GaussianGroups(covariance=[[1.0, 0.3], [0.3, 1.0]])
    query = Variance(bounds=(0, 1), size=50)
    reasons = {row.theorem: row.reason for row in bdp.leakage(chain, query, tau=1.0).assessments}
    assert "it subtracts the mean" in (reasons["markov-count"] or "")
    leaked = bdp.leakage(family, query, tau=1.0)
    assert (leaked.theorem, leaked.epsilon) == ("general", 2.0)
    assert bdp.calibrate(family, query, epsilon=1.0).scale == pytest.approx((1 / 50) / 0.5)


def test_it_is_released_over_whole_and_real_numbers(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    whole, real = generator.integers(-5, 15, 300), generator.normal(3, 2, 300)
    table = polars.DataFrame({"whole": whole, "real": real, "district": [i % 2 for i in range(300)]})
    reported: dict[str, Any] = {"dataset": "x", "ledger": tmp_path / "l.db", "public": ["district"]}
    with bdp.Session(table, bdp.Independent(), epsilon=9 * HUGE, **reported) as session:
        exact = session.release(Variance("whole", bounds=(0, 9)), epsilon=HUGE)
        assert isinstance(exact.value, float)
        assert abs(exact.value - np.clip(whole, 0, 9).var()) <= exact.rounding + 1e-12
        near = session.release(Variance("real", bounds=(0, 5)), epsilon=HUGE)
        assert near.value == pytest.approx(np.clip(real, 0, 5).var(), abs=1e-6)
        some = Variance("real", bounds=(0, 5), where="district = 1", public_filter=True)
        assert session.release(some, epsilon=HUGE).value == pytest.approx(np.clip(real[1::2], 0, 5).var(), abs=1e-6)
        noisy = session.release(Variance("real", bounds=(0, 5)), alpha=0.5)
        assert noisy.reused  # the better one is stored
        assert (session.preview(Variance("whole", bounds=(0, 20)), alpha=0.5).alpha or 1.0) <= 0.5


@pytest.mark.parametrize("n", [20, 400])
def test_the_interval_covers_the_variance_of_the_records(n: int) -> None:
    """Nominally 90 %, with everything the mechanism and the grid do; one in a billion of right ones is farther off."""
    values = np.random.default_rng(n).gamma(2.0, 3.0, n)
    query, low, high = Variance("x", bounds=(0, 10), size=n), 0.0, 10.0
    grid = grid_for(query, n, whole=False, bits=20)
    asked = PreparedQuery(query, "q", grid, query.moved(grid.span), n)
    mechanism = DiscreteLaplaceMechanism(asked.sensitivity, tau=0.5)
    releases = 3000
    exact, truth = noised([grid.place(value) for value in values]), np.clip(values, low, high).var()
    half = Fraction(mechanism.alpha(0.1) - 1) * asked.worth(n) + asked.rounding(n)
    inside = 0
    for drawn in replace(mechanism, dimension=releases).release([exact] * releases):
        value = query.assembled([drawn], grid, n)
        assert isinstance(value, float)
        inside += abs(value - truth) <= half
    assert stats.binomtest(inside, releases, 0.9).pvalue > 1e-9


def test_the_command_line_knows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model = tmp_path / "people.parquet", tmp_path / "model.json"
    polars.DataFrame({"age": [10, 30, 50, 70] * 50}).write_parquet(data)
    model.write_text('{"type": "arbitrary", "size": 4}')
    asked = ["--query", "variance", "--column", "age", "--bounds", "0", "100", "--epsilon", str(HUGE), "--json"]
    given = ["--model", str(model), "--ledger", str(tmp_path / "l.db"), "--dataset", "people", "--budget", str(HUGE)]
    assert run(["release", str(data), *asked, *given]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == 500.0


def test_no_records_have_no_variance() -> None:
    table = polars.DataFrame({"x": [None, None], "y": [1, 2]}, schema={"x": polars.Int64, "y": polars.Int64})
    assert tally(table, [Variance("x", bounds=(0, 3))], missing="drop")[0].counts == (0,)
