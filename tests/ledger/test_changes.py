"""What a message says of another model or table than those of an account."""

from __future__ import annotations

from typing import Any

import pytest

from bayesdp.errors import LedgerError
from bayesdp.ledger.changes import columns_mark, refuse_fixed_or_growing, refuse_other

COLUMNS = ["time", "on", "district"]
TABLE = {"records": 2180, "columns": columns_mark(COLUMNS), "missing": "error"}
MODEL = {"type": "markov", "length": 2180, "transition": [[0.9, 0.1], [0.2, 0.8]]}


def refused(names: list[str] | None = None, model: dict[str, Any] | None = None, **description: Any) -> str:
    given = {"model": MODEL if model is None else model, "description": {**TABLE, **description}}
    with pytest.raises(LedgerError) as error:
        refuse_other("steps", {"model": MODEL, "description": TABLE}, given, COLUMNS if names is None else names)
    return str(error.value)


def test_more_rows_are_counted_and_may_be_let_grow() -> None:
    said = refused(records=2725)
    assert "another description (2,180 rows then, 2,725 now)" in said
    assert "bayesdp budget grow" in said
    assert "bayesdp budget grow" not in refused(records=2000)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ([*COLUMNS, "operator"], "new column 'operator'"),
        (["a", *COLUMNS, "b"], "new columns 'a', 'b'"),
        (["time", "on", "town"], "other columns"),
        (COLUMNS[:2], "other columns"),
        ([*COLUMNS, *(f"c{number}" for number in range(40))], "other columns"),
    ],
)
def test_new_columns_are_named(columns: list[str], said: str) -> None:
    assert f"another description ({said})" in refused(columns, columns=columns_mark(columns))


def test_another_rule_for_missing_values_is_named() -> None:
    assert "(missing values: error then, drop now)" in refused(missing="drop")


def test_the_entries_in_which_models_differ_are_named() -> None:
    said = refused(model={**MODEL, "length": 2725, "transition": [[0.8, 0.2], [0.2, 0.8]], "unit": 3})
    assert 'another model ("length" was 2180, now 2725; another "transition"; "unit" was not given, now 3)' in said
    assert "another model and another description" in refused(model={"type": "independent"}, records=3)


def test_fixed_and_growing_tables_are_told_apart() -> None:
    refuse_fixed_or_growing("steps", TABLE, growing=False)
    refuse_fixed_or_growing("steps", {"growing": True}, growing=True)
    with pytest.raises(LedgerError, match=r"2,180 rows that stays as it is.*bayesdp budget grow"):
        refuse_fixed_or_growing("steps", TABLE, growing=True)
    with pytest.raises(LedgerError, match=r"table that grows.*growing=True"):
        refuse_fixed_or_growing("steps", {"growing": True}, growing=False)
