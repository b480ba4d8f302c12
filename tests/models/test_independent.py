"""Independent records: nothing that a table could contradict, and nothing to fit or to diagnose."""

import polars
import pytest

from bayesdp import ArbitraryGroups, Independent, Model, Sum, leakage
from bayesdp.errors import ModelError
from bayesdp.frames.source import scan
from bayesdp.frames.view import View


def test_any_table_is_within_it_and_may_grow() -> None:
    model = Independent(column="x", record="visit")
    assert model.check_table(View(scan(polars.DataFrame({"x": [1, 1, 1]})), "error")) is model
    assert model.at_any_length() is model
    assert model.unchecked is None
    assert model.parameters is None
    assert model.apart == ()


def test_what_else_might_hold_are_pairs_and_groups_of_ten() -> None:
    model, query = Independent(), Sum("x", bounds=(0, 1))
    assert [weaker for _, weaker in model.alternatives] == [ArbitraryGroups(2), ArbitraryGroups(10)]
    assert [leakage(weaker, query, tau=0.25).epsilon for _, weaker in model.alternatives] == [0.5, 2.5]
    assert leakage(model, query, tau=0.25).epsilon == 0.25


def test_there_is_nothing_to_fit_and_no_size_to_give() -> None:
    with pytest.raises(ModelError, match="cannot be fitted; it is written by hand"):
        Independent.fit(polars.DataFrame({"x": [1]}))
    with pytest.raises(ModelError, match='has no "size"'):
        Model.from_dict({"type": "independent", "size": 2})
