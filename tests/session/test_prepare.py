"""A session releases only from a table that is within the model it accounts with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.audit import oracle
from bayesdp.errors import FrameError, ModelError, QueryError, RecordsError
from bayesdp.models.layout import ChainLayout, GroupLayout
from bayesdp.session.prepare import CheckedTable
from bayesdp.testing import transition_matrices

P = [[0.62856, 0.37144], [5.5e-8, 1 - 5.5e-8]]


def chain(step: float | None = 1, **more: Any) -> bdp.MarkovChain:
    given: dict[str, Any] = {"column": "x", "length": 5, "layout": ChainLayout("t", step=step)}
    return bdp.MarkovChain(P, **(given | more))


def held(frame: polars.DataFrame, model: bdp.Model, missing: Any = None) -> bdp.Model:
    """Return the model that a session on this table accounts with."""
    return CheckedTable.of(frame, model, missing).checked().model


def gaps_of(frame: polars.DataFrame, model: bdp.Model, missing: Any = None) -> bool:
    accounted = held(frame, model, missing)
    assert isinstance(accounted, bdp.MarkovChain)
    return accounted.gaps


UNBROKEN = polars.DataFrame({"t": [4, 1, 3, 0, 2], "x": [0, 1, 1, 0, 1]})


def test_absent_rows_are_accounted_for_as_gaps() -> None:
    """The issue's counterexample: at times 0, 6, 10, 16, 18 the count leaks 0.046616 where 0.036275 was promised."""
    times = [0, 6, 10, 16, 18]
    frame = polars.DataFrame({"t": times, "x": [0, 1, 1, 0, 1]})
    joint = chain().stationary
    for apart in np.diff(times):
        joint = joint[..., None] * np.linalg.matrix_power(chain().matrix, int(apart))

    def leaked(tau: float) -> float:
        return oracle.bdpl(joint, oracle.laplace_sum([0.0, 1.0], 5, tau)).epsilon

    count = bdp.Count("x", equals=1)
    assert leaked(bdp.calibrate(chain(), count, epsilon=0.036275).tau) == pytest.approx(0.046616, abs=1e-6)
    with bdp.Session(frame, chain(), epsilon=1.0, dataset="d") as session:
        answer = session.release(count, epsilon=0.036275)
    assert leaked(answer.tau) <= answer.epsilon <= 0.036275


def test_gaps_are_ruled_out_only_by_what_the_table_shows() -> None:
    assert not gaps_of(UNBROKEN, chain())
    assert gaps_of(UNBROKEN, chain(step=None)), "without a step, an absent row does not show"
    assert gaps_of(UNBROKEN, chain(layout=None)), "without an order neither"
    assert gaps_of(UNBROKEN, chain(gaps=True)), "the model may know more than the table shows"
    assert gaps_of(UNBROKEN, bdp.MarkovChain(P, length=5)), "nor without a column"
    assert gaps_of(UNBROKEN.filter(polars.col("t") != 2), chain())
    missing = UNBROKEN.with_columns(x=polars.when(polars.col("t") == 2).then(None).otherwise("x"))
    assert gaps_of(missing, chain(), "drop")
    last = UNBROKEN.with_columns(x=polars.when(polars.col("t") == 4).then(None).otherwise("x"))
    assert gaps_of(last, chain(), "drop"), "a missing end is not worth a special case"
    several = bdp.AnyOf(bdp.Independent(), chain(step=None))
    assert isinstance(held(UNBROKEN, several), bdp.AnyOf)
    assert held(UNBROKEN, several).models[1].gaps  # type: ignore[attr-defined]


def test_entities_are_looked_at_one_by_one() -> None:
    frame = polars.DataFrame({"t": [0, 1, 2, 7, 8], "x": [0, 1, 1, 0, 1], "who": ["a", "a", "a", "b", "b"]})
    by_person = chain(length=3, layout=ChainLayout("t", "who", step=1))
    assert not gaps_of(frame, by_person)
    assert gaps_of(frame.filter(polars.col("t") != 1), by_person)
    with pytest.raises(RecordsError, match="a chain of 3 records"):
        held(frame, chain(length=2, layout=ChainLayout("t", "who", step=1)))


@pytest.mark.parametrize("times", [[0.0, 1, 1, 2, 3], [0.0, 1, 1.5, 2, 3]])
def test_ties_and_records_closer_than_the_step_are_refused(times: list[float]) -> None:
    frame = polars.DataFrame({"t": times, "x": [0, 1, 1, 0, 1]})
    with pytest.raises(RecordsError, match="less than the step"):
        held(frame, chain())
    with pytest.raises(FrameError, match="the table is refused"):
        bdp.Session(frame, chain(), epsilon=1.0, dataset="d")


def test_ties_are_refused_without_a_step_too() -> None:
    with pytest.raises(RecordsError, match="the same t as the previous record"):
        held(UNBROKEN.with_columns(t=polars.lit(3)), chain(step=None))


@given(transition_matrices(2), st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True))
def test_the_oracle_at_any_times_is_at_most_the_promise(matrix: list[list[float]], times: list[int]) -> None:
    """Whatever is absent, what a session proves covers the records that are there."""
    times = sorted(times)
    model = bdp.MarkovChain(matrix, column="x", length=len(times), start="any", layout=ChainLayout("t", step=1))
    accounted = held(polars.DataFrame({"t": times, "x": [0] * len(times)}), model)
    joint = oracle.chain_joint(model, 6, np.array([0.5, 0.5]))
    seen = joint.sum(axis=tuple(place for place in range(6) if place not in times))
    count = bdp.Count("x", equals=1)
    proven = bdp.leakage(accounted, count, tau=0.7).epsilon
    assert oracle.bdpl(seen, oracle.laplace_sum([0.0, 1.0], len(times), 0.7)).epsilon <= proven + 1e-9


def test_a_chain_without_a_column_is_checked_on_the_querys() -> None:
    frame = polars.DataFrame({"x": [0, 1] * 500, "y": [0, 7] * 500})
    short = bdp.MarkovChain([[0.5, 0.5], [0.4, 0.6]], length=3)
    with bdp.Session(frame, short, epsilon=1.0, dataset="d") as session:
        with pytest.raises(FrameError, match="the table is refused"):
            session.release(bdp.Count("x", equals=1), epsilon=0.5)
        assert session.leaked == 0
    with pytest.raises(RecordsError, match="a chain of 1000 records"):
        bdp.check_table(frame, short, bdp.Count("x", equals=1))
    long = bdp.MarkovChain([[0.5, 0.5], [0.4, 0.6]], length=1000)
    with pytest.raises(RecordsError, match="500 records of the table have a value of 'y'"):
        bdp.check_table(frame, long, bdp.Count("y", equals=1))
    with bdp.Session(frame, long, epsilon=1.0, dataset="e") as session:
        assert session.release(bdp.Count("x", equals=1), epsilon=0.5).epsilon <= 0.5


def test_only_the_holder_learns_that_no_record_has_a_value(tmp_path: Path) -> None:
    frame, yes = polars.DataFrame({"x": ["a", "b"] * 50}), bdp.Count("x", equals="Yes")
    with pytest.warns(UserWarning, match="x = 'Yes': no record has such a value"):
        bdp.check_table(frame, bdp.Independent(), yes)
    bdp.check_table(frame, bdp.Independent(), bdp.Count("x", equals="a"))
    with bdp.Session(frame, bdp.Independent(), epsilon=1.0, dataset="d", ledger=tmp_path / "l.db") as session:
        assert session.release(yes, epsilon=0.5).epsilon <= 0.5


FAMILIES = polars.DataFrame(
    {
        "family": [1, 1, 2, 2, 3, 3, 4, 4, 5, 5],
        "who": ["child", "mother"] * 5,
        "height": [60.0, 64.0, 66.0, 65.0, 62.5, 61.0, 70.0, 66.5, 64.0, 63.0],
    }
)


def with_record(family: int, who: str) -> polars.DataFrame:
    return polars.concat([FAMILIES, polars.DataFrame({"family": [family], "who": [who], "height": [65.0]})])


def test_a_role_covariance_refuses_two_records_in_one_role() -> None:
    fitted = bdp.GaussianGroups.fit(FAMILIES, value="height", group="family", role="who")
    assert held(FAMILIES, fitted) == fitted
    twins = with_record(6, "child").extend(polars.DataFrame({"family": [6], "who": ["child"], "height": [66.0]}))
    with pytest.raises(RecordsError, match="more than one record in the role 'child'"):
        held(twins, fitted)
    with pytest.raises(RecordsError, match=r"roles that the model does not have: .*uncle"):
        held(with_record(6, "uncle"), fitted)
    with pytest.raises(RecordsError, match="a group of 3 records"):
        held(with_record(1, "uncle"), fitted)
    assert held(with_record(6, "mother"), fitted) == fitted, "a group may lack a role"


def test_groups_are_counted_in_the_column_that_is_asked_about() -> None:
    """Two heights in a group, but ten weights: a model of pairs of heights says nothing about the weights."""
    layout = GroupLayout("height", "family")
    with pytest.raises(ModelError, match="its layout is about height"):
        bdp.GaussianGroups(correlation=0.1, size=2, column="weight", layout=layout)
    model = bdp.GaussianGroups(correlation=0.1, size=2, layout=layout)
    assert model.column == "height"
    frame = polars.DataFrame({"family": [1] * 10, "height": [60.0, 61.0] + [None] * 8, "weight": [70.0] * 10})
    session = bdp.Session(frame, model, epsilon=1.0, dataset="d", missing="drop")
    with session, pytest.raises(QueryError, match="weight"):
        session.release(bdp.Sum("weight", bounds=(0, 100)), epsilon=0.5)


def test_a_covariance_that_tells_members_apart_needs_their_roles() -> None:
    alike, apart = [[2.0, 1.0], [1.0, 2.0]], [[2.0, 1.0], [1.0, 3.0]]
    layout = GroupLayout("height", "family")
    assert held(FAMILIES, bdp.GaussianGroups(covariance=alike, layout=layout)).unchecked is None
    with pytest.raises(ModelError, match="no role column identifies them"):
        held(FAMILIES, bdp.GaussianGroups(covariance=apart, layout=layout))


def test_an_infinite_time_is_no_place_in_a_chain() -> None:
    frame = polars.DataFrame({"t": [0.0, 1.0, np.inf, np.inf], "x": [0, 1, 1, 0]})
    for step in (1, None):
        with pytest.raises(RecordsError, match="no place in a chain"):
            held(frame, chain(step=step))


def test_a_covariance_by_hand_knows_how_many_roles_there_are() -> None:
    layout = GroupLayout("height", "family", "who")
    by_hand = bdp.GaussianGroups(covariance=[[9, 4], [4, 9]], column="height", layout=layout)
    assert held(FAMILIES, by_hand) == by_hand
    with pytest.raises(RecordsError, match="roles that the model does not have"):
        held(with_record(6, "uncle"), by_hand)


def test_groups_are_counted_if_their_columns_are_named() -> None:
    assert held(FAMILIES, bdp.ArbitraryGroups(2, group="family")).unchecked is None
    with pytest.raises(RecordsError, match="a group of 3 records"):
        held(with_record(1, "uncle"), bdp.ArbitraryGroups(2, group=["family"]))
    assert bdp.Model.from_json(bdp.ArbitraryGroups(2, group="family").to_json()) == bdp.ArbitraryGroups(
        2, group=["family"]
    )
    with pytest.raises(RecordsError, match="belong to no group"):
        held(FAMILIES.with_columns(family=None).cast({"family": polars.Int64}), bdp.ArbitraryGroups(2, group="family"))


@pytest.mark.parametrize(
    "model",
    [
        bdp.ArbitraryGroups(3),
        bdp.GaussianGroups(correlation=0.3, size=2, column="height"),
        bdp.GaussianGroups(correlation=0.3, size=2),
    ],
)
def test_what_was_not_checked_is_said(model: bdp.Model) -> None:
    with bdp.Session(FAMILIES, model, epsilon=1.0, dataset="d") as session:
        answer = session.release(bdp.Sum("height", bounds=(50, 80)), epsilon=0.5)
    assert "belong together was not checked" in answer.guarantee
    assert "belong together was not checked" in answer.statement()


def test_a_model_that_cannot_check_the_table_is_refused() -> None:
    class Silent(bdp.Independent):
        kind = "silent"

        def check_table(self, table: object, subject: str | None = None) -> Any:
            return None

    with pytest.raises(bdp.BayesDPError, match="does not say whether a table is within it"):
        bdp.Session(FAMILIES, Silent(), epsilon=1.0, dataset="d")


@pytest.mark.parametrize(
    ("model", "query"),
    [
        (bdp.Independent(), bdp.Sum("x", bounds=(1000, 1001), where="x >= 42", public_filter=True)),
        (bdp.Independent(), bdp.Count("x > 3", equals=True, where="x >= 42", public_filter=True)),
        (bdp.Independent(), bdp.Mean("x", bounds=(0, 1), where="x >= 42 and y = 1", public_filter=True)),
        (bdp.Independent(), bdp.Histogram("x", cells=[1, 2], where="not x = 1", public_filter=True)),
        (bdp.ArbitraryGroups(2), bdp.Sum("x", bounds=(0, 1), where="x >= 42", public_filter=True)),
        (
            bdp.MarkovChain([[0.5, 0.5], [0.5, 0.5]], state="x > 4", states=[False, True]),
            bdp.Count("x > 4", equals=True, where="x >= 42", public_filter=True),
        ),
        (
            bdp.GaussianGroups(covariance=[[2, 1], [1, 2]], layout=GroupLayout(["x", "y"])),
            bdp.Sum("x", bounds=(0, 1), where="y >= 42", public_filter=True),
        ),
        (
            bdp.AnyOf(
                bdp.GaussianGroups(covariance=[[2, 1], [1, 2]], layout=GroupLayout(["x", "y"])), bdp.Independent()
            ),
            bdp.Sum("x", bounds=(0, 1), where="y >= 42", public_filter=True),
        ),
    ],
)
def test_a_filter_on_protected_values_is_never_public(model: bdp.Model, query: bdp.Query) -> None:
    frame = polars.DataFrame({"x": [1, 2, 42, 43], "y": [1, 1, 1, 2]})
    with bdp.Session(frame, model, epsilon=5.0, dataset="d") as session:
        with pytest.raises(QueryError, match="cannot be public"):
            session.release(query, epsilon=1.0)
        assert session.leaked == 0


def test_the_statement_says_what_the_holder_asserted() -> None:
    frame = polars.DataFrame({"x": [1, 2, 42, 43], "district": [1, 1, 1, 2]})
    query = bdp.Sum("x", bounds=(0, 50), where="district = 1", public_filter=True)
    with bdp.Session(frame, bdp.Independent(), epsilon=5.0, dataset="d", public=["district"]) as session:
        page = session.release(query, epsilon=1.0).statement()
    assert "district = 1" in page
    assert "asserted" in page


def test_a_normal_model_adds_integers_on_the_fine_grid() -> None:
    """Reference: values 0–10 in groups of 5, ρ = 0.1: a step of 1 would leave τ = 0.526 of ε = 1 instead of 0.714."""
    frame = polars.DataFrame({"family": [0, 0, 0, 0, 0, 1, 1], "x": [3, 4, 5, 10, 0, 7, 7]})
    family = bdp.GaussianGroups(correlation=0.1, size=5, column="x")
    question = bdp.Sum("x", bounds=(0, 10))
    for model in (family, bdp.AnyOf(family, bdp.Independent())):
        with bdp.Session(frame, model, epsilon=3.0, dataset=model.kind) as session:
            coarse = session.preview(bdp.Sum("x", bounds=(0, 10), step=1), epsilon=1.0)
            answer = session.release(question, epsilon=1.0)
        assert answer.tau == pytest.approx(1 / 1.4, rel=1e-9)
        assert coarse.tau == pytest.approx(1 / (1.4 + 5 * 513 / 5120), rel=1e-9)
    with bdp.Session(frame, bdp.ArbitraryGroups(5, column="x"), epsilon=3.0, dataset="e") as session:
        assert session.release(question, epsilon=1.0).unit == 1


def test_a_model_of_a_condition_does_not_describe_its_column() -> None:
    steps = polars.DataFrame({"steps": [0, 50, 200, 0] * 20})
    chain = bdp.MarkovChain([[0.6, 0.4], [0.4, 0.6]], states=[False, True], state="steps > 0")
    checked_table = CheckedTable.of(steps, chain, None).checked()
    checked_table.prepared([bdp.Count("steps > 0", equals=True, where="steps > 0")], 20)
    with pytest.raises(QueryError, match="the filter uses 'steps', which the model does not describe"):
        checked_table.prepared([bdp.Count("steps > 0", equals=True, where="steps > 100")], 20)
