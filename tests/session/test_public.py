"""Public is the word of the holder of the data: questions are filtered and parted only by what the account names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars
import pytest

import bayesdp as bdp
from bayesdp import Count, Histogram, Independent, Mean, Sum
from bayesdp.audit import oracle
from bayesdp.errors import InvalidInputError, LedgerError, NoColumnError, QueryError, RefusedError
from bayesdp.ledger import Ledger, checks
from bayesdp.models import ChainLayout
from bayesdp.session.public import name_public
from bayesdp.session.session import Session

PEOPLE = polars.DataFrame(
    {
        "id": range(40),
        "age": [20 + i for i in range(40)],
        "hiv": [int(i % 7 == 0) for i in range(40)],
        "district": ["north", "south"] * 20,
    }
)


def opened(folder: Path, frame: object = PEOPLE, model: bdp.Model | None = None, **reported: Any) -> Session:
    reported = {"dataset": "people", "epsilon": 9.0, "ledger": folder / "budget.db", **reported}
    return Session(frame, model or Independent(), **reported)


FREE: list[bdp.Query] = [
    Mean("age", bounds=(0, 100), where="hiv = 1", public_filter=True),
    Mean("age", bounds=(0, 100), where="id = 14 and hiv = 1", public_filter=True),
    Sum("age", bounds=(0, 100), where="hiv = 1", public_filter=True),
    Count("age", equals=20, by="hiv", by_cells=[1]),
    Mean("age", bounds=(0, 100), by="hiv", by_cells=[0, 1]),
]


@pytest.mark.parametrize("query", FREE)
def test_an_analyst_cannot_call_a_column_public(tmp_path: Path, query: bdp.Query) -> None:
    """A preview gave the exact number of people with hiv = 1, and one person's status."""
    with opened(tmp_path, public=["district"]) as session:
        for ask in (session.preview, session.release_by if query.by else session.release):
            with pytest.raises(QueryError, match=r"does not name as public.*public=.*bayesdp budget public"):
                ask(query, epsilon=1.0)
        assert session.leaked == 0


def test_what_the_account_names_is_used_without_noise(tmp_path: Path) -> None:
    northern = Mean("age", bounds=(0, 100), where="district = 'north'", public_filter=True)
    by_district = Count("hiv", equals=1, by="district", by_cells=["north", "south"])
    with opened(tmp_path, public=["district"]) as session:
        assert session.public == ("district",)
        assert session.preview(northern, epsilon=1.0).records == 20
        session.release(northern, epsilon=1.0)
        assert [answer.records for answer in session.release_by(by_district, epsilon=1.0)] == [20, 20]
        session.release(Count("hiv", equals=1, where="district = 'north' and age > 30"), epsilon=1.0)
    with opened(tmp_path) as session:  # it is kept in the account
        assert session.preview(northern, epsilon=1.0).stored


def test_what_a_model_orders_or_tells_records_apart_by_is_public(tmp_path: Path) -> None:
    frame = polars.DataFrame({"on": [0, 1] * 20, "hour": list(range(20)) * 2, "meter": [0] * 20 + [1] * 20})
    chain = bdp.OddsChain(9, column="on", layout=ChainLayout("hour", "meter"))
    with opened(tmp_path, frame, chain) as session:
        assert session.public == ()
        session.release(Count("on", equals=1, where="hour < 5", public_filter=True), epsilon=1.0)
        session.release_by(Count("on", equals=1, by="meter", by_cells=[0, 1]), epsilon=1.0)
    family = bdp.ArbitraryGroups(4, group="family")
    frame = polars.DataFrame({"x": [1.0] * 8, "family": [0, 0, 0, 0, 1, 1, 1, 1]})
    with opened(tmp_path, frame, family, dataset="families") as session:
        session.release(Sum("x", bounds=(0, 2), where="family = 1", public_filter=True), epsilon=1.0)


@pytest.mark.parametrize(
    "query",
    [
        Mean("age", bounds=(0, 100)),
        Sum("age", bounds=(0, 100)),
        Histogram("hiv", cells=[0, 1]),
        Mean("age", bounds=(0, 100), where="district = 'north'", public_filter=True),
    ],
)
@pytest.mark.parametrize("missing", ["error", "drop"])
def test_previews_of_neighbouring_tables_are_the_same(tmp_path: Path, query: bdp.Query, missing: Any) -> None:
    """A preview depends only on the number of rows and the public columns, even if a release would be refused."""
    tables = [PEOPLE, PEOPLE.with_columns(age=polars.lit(None, polars.Int64), hiv=polars.lit(7))]
    previews = []
    for number, table in enumerate(tables):
        (tmp_path / str(number)).mkdir()
        with opened(tmp_path / str(number), table, missing=missing, public=["district"]) as session:
            previews.append(session.preview(query, epsilon=1.0))
    assert previews[0] == previews[1]
    unknown = missing == "drop" and query.averaged
    assert (previews[0].alpha is None) == (previews[0].records is None) == (previews[0].interval is None) == unknown
    assert ("not known before it is released" in str(previews[0])) == unknown
    assert previews[0].to_json()


def test_a_preview_of_a_csv_file_does_not_depend_on_its_values(tmp_path: Path) -> None:
    said = set()
    for number, text in enumerate(("age\n1\n2\n", "age\n1\nabc\n")):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "t.csv").write_text(text)
        with opened(folder, folder / "t.csv") as session:
            said.add(str(session.preview(Sum("age", bounds=(0, 9)), epsilon=1.0)))
    assert len(said) == 1


def test_a_preview_by_alpha_states_if_missing_values_matter(tmp_path: Path) -> None:
    with (
        opened(tmp_path, missing="drop") as session,
        pytest.raises(QueryError, match="depends on how many records have a value"),
    ):
        session.preview(Mean("age", bounds=(0, 100)), alpha=1.0)


# --- never both -------------------------------------------------------------------------------------------------------


def test_what_is_public_is_not_asked_about(tmp_path: Path) -> None:
    with opened(tmp_path, public=["district"]) as session:
        for query in (Count("district", equals="north"), Count(where="district = 'north'")):
            with pytest.raises(QueryError, match="'district' is public in this account"):
                session.release(query, epsilon=1.0)
        with pytest.raises(QueryError, match="is public in this account"):
            session.record(tau=0.5, neighbours="replace", what="districts", column="district")


def test_what_was_asked_about_does_not_become_public(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        session.release(Count("hiv", equals=1, where="age > 30"), epsilon=1.0)
        session.record(tau=0.1, neighbours="replace", what="something", column="id")
    with Ledger(tmp_path / "budget.db") as ledger:
        for column in ("hiv", "age", "id"):
            with pytest.raises(InvalidInputError, match=f"{column!r} cannot be public"):
                name_public(ledger, "people", [column], reason="we forgot")
        assert name_public(ledger, "people", "district", reason="it is on the map").public == ("district",)
        assert ledger.verify().ok
    with opened(tmp_path) as session:
        session.release(Sum("age", bounds=(0, 9), where="district = 'north'", public_filter=True), epsilon=1.0)


def test_what_the_model_describes_is_not_public(tmp_path: Path) -> None:
    chain = bdp.MarkovChain([[0.6, 0.4], [0.4, 0.6]], states=[False, True], state="age > 30", length=40)
    with pytest.raises(InvalidInputError, match="'age' cannot be public"):
        opened(tmp_path, model=chain, public=["age"])
    with opened(tmp_path, model=chain) as session:
        session.open_account()
    with Ledger(tmp_path / "budget.db") as ledger, pytest.raises(InvalidInputError, match="'age' cannot be public"):
        name_public(ledger, "people", ["age"], reason="we forgot")
    with pytest.raises(NoColumnError, match="no column 'nowhere'"):
        opened(tmp_path, dataset="others", public=["nowhere"])


def test_an_account_of_before_says_how_to_name_columns(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        session.open_account()
    with pytest.raises(LedgerError, match=r"does not name 'district' as public.*bayesdp budget public --dataset"):
        opened(tmp_path, public=["district"])


def test_a_session_does_not_go_on_under_other_public_columns(tmp_path: Path) -> None:
    """Else it could ask about a column that has become public meanwhile."""
    with opened(tmp_path) as session, Ledger(tmp_path / "budget.db") as ledger:
        session.open_account()
        name_public(ledger, "people", ["district"], reason="it is on the map")
        with pytest.raises(LedgerError, match="open it again"):
            session.release(Count("district", equals="north"), epsilon=1.0)
        assert session.leaked == 0


def test_strata_of_a_private_fit_are_public(tmp_path: Path) -> None:
    frame = polars.DataFrame({"s": [0, 1] * 20, "t": range(40), "ward": [0, 1, 1, 0] * 10})
    chain = bdp.OddsChain(50, column="s", states=[0, 1], layout=ChainLayout("t"))
    within = {"ward": [0, 1]}
    with opened(tmp_path, frame, chain) as session, pytest.raises(QueryError, match="the strata are by 'ward'"):
        session.fit(tau=0.1, within=within, anyway=True)
    with opened(tmp_path, frame, chain, dataset="wards", public=["ward"], separate_because="a test") as session:
        assert session.fit(tau=0.1, within=within, anyway=True).learnt.spec["within"] == ["ward"]


# --- bits that refusals tell ------------------------------------------------------------------------------------------


def test_a_search_by_refusals_comes_to_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening sessions under states 0…k finds the largest value of a column; every probe is an entry, and limited."""
    monkeypatch.setattr(checks, "MOST_CHECKS", 3)
    frame = polars.DataFrame({"x": [0, 5, 3, 11]})
    reported: list[type[Exception] | None] = []
    for number in (4, 8, 12, 16, 20):
        chain = bdp.OddsChain(9, column="x", states=range(number))
        try:
            opened(tmp_path, frame, chain, dataset=f"probe {number}").close()
            reported.append(None)
        except (RefusedError, LedgerError) as error:
            reported.append(type(error))
    assert reported == [RefusedError, RefusedError, None, LedgerError, LedgerError]
    with Ledger(tmp_path / "budget.db") as ledger:
        assert len(ledger.entries(kind="check")) == 3


def test_a_daily_publication_is_one_check(tmp_path: Path) -> None:
    for day in range(5):
        with opened(tmp_path) as session:
            session.release(Count("hiv", equals=1, where=f"age > {day}"), epsilon=0.5)
    with Ledger(tmp_path / "budget.db") as ledger:
        assert len(ledger.entries(kind="check")) == 2, "the session's, and that of hiv and age"
        assert len(ledger.entries(kind="charge")) == 5


# --- who is in which part ---------------------------------------------------------------------------------------------

METERS = bdp.MarkovChain([[0.75, 0.25], [0.25, 0.75]], column="on", layout=ChainLayout("hour", "meter", 1))


def meters(parts: str, hours: int = 3) -> polars.DataFrame:
    rows = [(meter, part, hour, (meter + hour) % 2) for meter, part in enumerate(parts) for hour in range(hours)]
    return polars.DataFrame(rows, schema=["meter", "district", "hour", "on"], orient="row")


def on_in(*parts: str) -> Count:
    return Count("on", equals=1, by="district", by_cells=parts)


def test_a_meter_that_moves_leaks_the_spend_of_both_parts() -> None:
    """What the refusals below prevent: a meter first counted in A and then in B meets 2τ, not τ."""
    law = METERS.stationary[:, None, None] * METERS.matrix[:, :, None] * METERS.matrix[None]
    once = oracle.bdpl(law, oracle.laplace_sum([0.0, 1.0], 3, 1.03219)).epsilon
    twice = oracle.bdpl(law, oracle.laplace_sum([0.0, 1.0], 3, 2 * 1.03219)).epsilon
    assert once == pytest.approx(2.0, abs=1e-5)
    assert twice == pytest.approx(3.6993, abs=1e-4)


def release(folder: Path, frame: polars.DataFrame, question: Count, **reported: Any) -> None:
    with opened(folder, frame, METERS, **reported) as session:
        session.release_by(question, epsilon=2.0)


@pytest.mark.parametrize("growing", [False, True])
@pytest.mark.parametrize(
    ("before", "after", "asked"),
    [("AAB", "BAB", "B"), ("AB", "BA", "A"), ("AAB", "abc", "a"), ("AAB", "AAC", "C"), ("AAB", "v2", "v")],
)
def test_members_of_parts_stay_the_same(tmp_path: Path, before: str, after: str, asked: str, growing: bool) -> None:
    reported: dict[str, Any] = {"public": ["district"], "growing": growing}
    with opened(tmp_path, meters(before), METERS, **reported) as session:
        session.release_by(on_in("A", "B"), epsilon=2.0)
        session.release_by(on_in("A"), epsilon=2.0)
    moved = meters(after) if len(after) == len(before) else meters(before).with_columns(district=polars.lit("v"))
    with pytest.raises(LedgerError, match=r"who is in which part by 'district'|keep them in their part"):
        release(tmp_path, moved, on_in(asked), **reported)
    with opened(tmp_path, meters(before), METERS, **reported) as session:
        session.release_by(on_in("B"), epsilon=2.0)
        assert session.leaked <= 4.0


def test_new_meters_may_join_a_growing_table(tmp_path: Path) -> None:
    reported: dict[str, Any] = {"public": ["district"], "growing": True}
    with opened(tmp_path, meters("AAB"), METERS, **reported) as session:
        session.release_by(on_in("A", "B"), epsilon=1.0)
    longer = polars.concat([meters("AAB", hours=6), meters("AABBA", hours=6).filter(polars.col("hour") > 2)]).unique()
    with opened(tmp_path, longer, METERS, **reported) as session:
        session.release_by(on_in("A", "B"), epsilon=1.0)
    moved = longer.with_columns(
        district=polars.when(polars.col("meter") == 4).then(polars.lit("B")).otherwise("district")
    )
    with pytest.raises(LedgerError, match=r"who is in which part|keep them in their part"):
        release(tmp_path, moved, on_in("A", "B"), **reported)


def test_rows_without_a_name_are_counted_part_by_part(tmp_path: Path) -> None:
    """Rows that are independent of one another have no name by which one that moved could be known."""
    question = Count("hiv", equals=1, by="district", by_cells=["north"])
    with opened(tmp_path, public=["district"]) as session:
        session.release_by(question, epsilon=1.0)
    moved = PEOPLE.with_columns(
        district=polars.when(polars.col("id") == 0).then(polars.lit("south")).otherwise("district")
    )
    with opened(tmp_path, moved) as session, pytest.raises(LedgerError, match="who is in which part"):
        session.release_by(question, epsilon=2.0)


def test_a_growing_table_of_nameless_rows_goes_on_by_parts(tmp_path: Path) -> None:
    question = Count("hiv", equals=1, by="district", by_cells=["north"])
    for rows in (30, 40):
        with opened(tmp_path, PEOPLE.head(rows), public=["district"], growing=True) as session:
            session.release_by(question, epsilon=1.0)
    assert session.public == ("district",)


def test_new_groups_without_an_order_look_like_moved_ones(tmp_path: Path) -> None:
    families = polars.DataFrame({"x": [1.0] * 8, "family": [0, 0, 1, 1, 2, 2, 3, 3], "town": [0, 0, 0, 0, 1, 1, 1, 1]})
    reported: dict[str, Any] = {"public": ["town"], "growing": True}
    question = Sum("x", bounds=(0, 2), by="town", by_cells=[0])
    model = bdp.ArbitraryGroups(2, group="family")
    with opened(tmp_path, families.head(6), model, **reported) as session:
        session.release_by(question, epsilon=1.0)
        session.release_by(question, epsilon=2.0)
    with (
        opened(tmp_path, families, model, **reported) as session,
        pytest.raises(LedgerError, match="who is in which part"),
    ):
        session.release_by(question, epsilon=1.0)


def test_networks_name_public_columns_too() -> None:
    network = bdp.Network(records=2, edges=[(0, 1, 1.5)], group="house", position="room")
    assert network.public_columns == ("house", "room")
    assert bdp.AnyOf(network, bdp.Independent()).public_columns == ("house", "room")
