"""Models without parameters to fit: independent records and arbitrary groups."""

from typing import Any

import polars
import pytest

from bayesdp import ArbitraryGroups, Independent, Model
from bayesdp.errors import ModelError, RecordsError
from bayesdp.frames.source import scan
from bayesdp.frames.view import View


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ArbitraryGroups(0), "size must be at least 1"),
        (lambda: ArbitraryGroups(-(10**5000)), "size must be at least 1"),
    ],
)
def test_impossible_sizes_are_refused(build: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        build()


def test_what_is_given_wrong_is_refused() -> None:
    wrong: Any = "person"
    with pytest.raises(ModelError, match="unit must be"):
        ArbitraryGroups(3, unit=wrong)
    with pytest.raises(ModelError, match="group names a column twice"):
        ArbitraryGroups(3, group=["g", "g"])


def test_a_larger_group_than_the_model_s_is_refused() -> None:
    table = View(scan(polars.DataFrame({"g": ["a", "a", "a", "b"]})), "error")
    groups = ArbitraryGroups(3, group="g")
    assert groups.check_table(table) is groups
    with pytest.raises(RecordsError, match="has a group of 3 records, but the model describes at most 2"):
        ArbitraryGroups(2, group="g").check_table(table)


def test_sizes_that_cannot_be_checked_are_stated_as_unchecked() -> None:
    table = View(scan(polars.DataFrame({"g": ["a", "a", "a", "b"]})), "error")
    blind = ArbitraryGroups(2)
    assert blind.check_table(table) is blind
    assert "belong together was not checked" in str(blind.unchecked)
    assert ArbitraryGroups(2, group="g").unchecked is None


def test_it_reads_back_as_it_was_written() -> None:
    groups = ArbitraryGroups(5, group="g", unit="group", record="visit")
    assert Model.from_json(groups.to_json()) == groups
    assert groups.parameters is None


def test_any_table_is_within_it_and_may_grow() -> None:
    model = Independent(column="x", record="visit")
    assert model.check_table(View(scan(polars.DataFrame({"x": [1, 1, 1]})), "error")) is model
    assert model.at_any_length() is model
    assert model.unchecked is None
    assert model.parameters is None
    assert model.entity_columns == ()


def test_there_is_nothing_to_fit_and_no_size_to_give() -> None:
    with pytest.raises(ModelError, match="cannot be fitted; it is written by hand"):
        Independent.fit(polars.DataFrame({"x": [1]}))
    with pytest.raises(ModelError, match='has no "size"'):
        Model.from_dict({"type": "independent", "size": 2})


def test_an_order_is_public_and_stays_with_the_model() -> None:
    for model in (ArbitraryGroups(8, group="who", order_by="at"), Independent(order_by=["at"])):
        assert Model.from_dict(model.to_dict()) == model
        assert model.ordering is not None
        assert (model.order, tuple(model.ordering.order_by)) == ("at", ("at",))
        assert "at" in model.public_columns
    assert Independent().ordering is None
    assert "order_by" not in Independent().to_dict()
    with pytest.raises(ModelError, match="keep"):
        ArbitraryGroups(8, group="who", spaced=True)
