"""Independent records: nothing that a table could contradict, and nothing to fit or to diagnose."""

import polars
import pytest

from bayesdp import Independent, Model
from bayesdp.errors import ModelError
from bayesdp.frames.source import scan
from bayesdp.frames.view import View


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
