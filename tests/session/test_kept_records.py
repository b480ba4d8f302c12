"""Sessions that read a few records of each group."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

import bayesdp as bdp
from bayesdp.errors import InvalidInputError, LedgerError, ModelError, RecordsError, RefusedError
from bayesdp.models import Model
from bayesdp.session.prepare import CheckedTable

KEPT = bdp.ArbitraryGroups(300, group="user", keep=2, order_by="day")
ILL = bdp.Count("ill", equals="yes")
MEAN = bdp.Mean("level", bounds=(0, 10))


def visits(**changed: list[object]) -> polars.DataFrame:
    """Return six visits of three users, one of which is not kept."""
    columns: dict[str, list[object]] = {
        "user": [1, 1, 1, 2, 2, 3],
        "day": [3, 1, 2, 1, 2, 1],
        "ill": ["yes", "no", "yes", "yes", "yes", "no"],
        "level": [1, 2, 3, 4, 5, 6],
    }
    return polars.DataFrame(columns | changed)


def exact(frame: polars.DataFrame, model: Model, query: bdp.Query) -> tuple[tuple[int, ...], int]:
    """Return the exact answer before noise, and over how many records it is."""
    table = CheckedTable.of(frame, model, None).checked()
    (found,) = table.exact(table.prepared([query], 20))
    return found.counts, found.records


def test_only_kept_records_are_read() -> None:
    assert exact(visits(), KEPT, ILL) == ((3,), 5)
    assert exact(visits(ill=["no", "no", "yes", "yes", "yes", "no"]), KEPT, ILL) == ((3,), 5)
    assert exact(visits(), KEPT, MEAN)[1] == 5
    assert exact(visits(), bdp.ArbitraryGroups(300, group="user", keep=1), ILL) == ((2,), 3)
    assert exact(visits(), bdp.ArbitraryGroups(3, group="user"), ILL) == ((4,), 6)


def test_an_answer_says_what_was_read(tmp_path: Path) -> None:
    with bdp.Session(visits(), KEPT, dataset="visits", epsilon=2, ledger=tmp_path / "l.db") as session:
        answer = session.release(ILL, epsilon=2)
        assert answer.tau == 1.0
        assert "of each group the first 2 records by day are read" in answer.assumption
        assert "Of each group the first 2 records by day were read: 5 records in all." in answer.notes
        with pytest.raises(InvalidInputError, match="may have read all"):
            session.record(tau=0.1, what="a histogram", neighbours="replace")
    with pytest.raises(LedgerError, match="looks like"):
        bdp.Session(visits(), KEPT, dataset="again", epsilon=2, ledger=tmp_path / "l.db").open_account()


def test_a_table_with_undecided_places_is_refused(tmp_path: Path) -> None:
    tied = visits(day=[1, 1, 2, 1, 2, 1])
    with pytest.raises(RecordsError, match="same 'day'"):
        bdp.check_table(tied, KEPT)
    with pytest.raises(RefusedError):
        bdp.Session(tied, KEPT, dataset="tied", epsilon=1, ledger=tmp_path / "l.db")
    larger = bdp.ArbitraryGroups(2, group="user", keep=3, order_by="day")
    with pytest.raises(RecordsError, match="a group of 3 records"):
        bdp.check_table(visits(), larger)
    bdp.check_table(visits(), bdp.ArbitraryGroups(2, group="user", keep=2, order_by="day"))


def test_a_growing_table_keeps_its_first_records(tmp_path: Path) -> None:
    spaced = bdp.ArbitraryGroups(9, group="user", keep=2, order_by="day", spaced=True)
    for moving in (bdp.ArbitraryGroups(9, group="user", keep=2), spaced):
        with pytest.raises(ModelError, match="order_by"):
            moving.at_any_length()
    first = visits().filter(polars.col("day") < 3)
    with bdp.Session(first, KEPT, dataset="v", epsilon=4, ledger=tmp_path / "l.db", growing=True) as session:
        session.release(ILL, epsilon=1)
    with bdp.Session(visits(), KEPT, dataset="v", epsilon=4, ledger=tmp_path / "l.db", growing=True) as session:
        assert session.release(ILL, epsilon=1).records == 5
    inserted = visits(day=[0, 1, 2, 1, 2, 1])
    with pytest.raises(LedgerError, match="past period"):
        bdp.Session(inserted, KEPT, dataset="v", epsilon=4, ledger=tmp_path / "l.db", growing=True)


def test_models_keep_their_json_and_their_records() -> None:
    for model in (KEPT, bdp.ArbitraryGroups(5, group="user", keep=5, spaced=True, unit="group")):
        assert Model.from_dict(model.to_dict()) == model
    assert bdp.ArbitraryGroups(5, group="user").to_dict().keys() == {"schema", "type", "size", "group"}
    assert bdp.ArbitraryGroups(5, group="user", keep=5, unit="group").protects.startswith("a whole group of records")
    assert bdp.AnyOf(KEPT, bdp.ArbitraryGroups(1, group="user", keep=2, order_by="day")).reads == KEPT.reads
    with pytest.raises(ModelError, match="keep different records"):
        bdp.AnyOf(KEPT, bdp.ArbitraryGroups(5))
    for wrong in ({"keep": 0}, {"keep": 2}, {"group": "user", "spaced": True}):
        with pytest.raises(ModelError):
            bdp.ArbitraryGroups(5, **wrong)
    assert bdp.ArbitraryGroups.fit(visits(), group="user", keep=2, order_by="day").size == 3
