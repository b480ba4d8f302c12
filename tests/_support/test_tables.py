"""Tables of plain text: what lines up, and rows that do not fit."""

from __future__ import annotations

import pytest

from bayesdp._support.tables import table


def test_columns_align_and_no_line_ends_with_spaces() -> None:
    header, rule, *rows = table(["theorem", "ε", "note"], [["a", "12.5", ""], ["general", "3", "best"]]).split("\n")
    assert header == "theorem     ε  note"
    assert rule == "-------  ----  ----"
    assert rows == ["a        12.5", "general     3  best"]


def test_untitled_columns_have_no_rule_and_no_rows_give_a_header() -> None:
    assert table(["", "ε"], [["a", "1"]]).split("\n")[1] == "   -"
    assert table(["a", "b"], []) == "a  b\n-  -"


@pytest.mark.parametrize(("row", "error"), [(["a"], IndexError), (["a", "b", "c"], ValueError)])
def test_a_row_of_another_length_is_an_error_not_a_shifted_table(row: list[str], error: type[Exception]) -> None:
    with pytest.raises(error):
        table(["x", "y"], [row])
