"""Sections and tables as text and as HTML: what lines up, what stays text, and what is left out."""

from __future__ import annotations

import re

import pytest

from bayesdp._support.display import (
    Code,
    Displayed,
    PrintedTable,
    Section,
    Words,
    as_html,
    as_text,
    lines,
    table,
    warned,
)


def test_numbers_stand_right_and_texts_left() -> None:
    shown = PrintedTable(["theorem", "ε", "note"], [["general", "3", "best"]]).html()
    assert re.findall(r"text-align:(\w+)", shown) == ["left", "right", "left"] * 2
    assert "<thead>" not in PrintedTable(["", ""], [["a", "b"]]).html()


def test_lines_stay_lines_and_control_characters_are_written_out() -> None:
    sections: list[Section] = [lines("one", "two"), [Code("a = 1\nb = 2")], [Words("x\x1b[2J", warning=True)], []]
    assert as_text(sections) == "one\ntwo\n\n    a = 1\n    b = 2\n\nWarning: x\x1b[2J"
    assert "\x1b" not in as_html(sections)
    assert as_html(sections).count("<div") == 4


def test_a_filled_paragraph_keeps_its_indent_and_its_colons() -> None:
    text = Words("odds of 50 : 50 " * 12, indent="  ", filled=True).text()
    first, *others = text.splitlines()
    assert first.startswith("  odds")
    assert others
    assert all(line.startswith("    ") for line in others)
    assert all(
        len(line) <= 100 and not line.endswith(":") and not line.strip().startswith(":") for line in [first, *others]
    )
    assert Words("odds of 50 : 50 " * 12, indent="  ").text() == "odds of 50 : 50 " * 12


def test_a_display_prints_its_text_and_may_show_html() -> None:
    class Short(Displayed):
        def _printed(self) -> list[Section]:
            return [lines("a < b")]

    class Long(Short):
        def _shown(self) -> list[Section]:
            return [*self._printed(), warned(["<b>"])]

    assert str(Short()) == str(Long()) == "a < b"
    assert "a &lt; b" in Short()._repr_html_()
    assert "<strong>Warning:</strong> &lt;b&gt;" in Long()._repr_html_()
    with pytest.raises(TypeError, match="_printed"):
        Displayed()  # type: ignore[abstract]


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
