"""Sections as text and as HTML: what lines up, what stays text, and what is left out."""

from __future__ import annotations

import re

import pytest

from bayesdp._support.display import Code, Displayed, Section, Table, Words, as_html, as_text, lines, warned


def test_numbers_stand_right_and_texts_left() -> None:
    shown = Table(["theorem", "ε", "note"], [["general", "3", "best"]]).html()
    assert re.findall(r"text-align:(\w+)", shown) == ["left", "right", "left"] * 2
    assert "<thead>" not in Table(["", ""], [["a", "b"]]).html()


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
