"""First choices: from names and types of columns alone."""

from bayesdp.explorer.first_choices import first_choices


def test_dates_come_before_clocks() -> None:
    first = first_choices({"interval": "whole", "steps": "whole", "date": "time"})
    assert first.order == ["date", "interval"]
    assert first.subject == "steps > 0"
    assert first.kind == "count"


def test_id_like_columns_tell_chains_apart() -> None:
    for name in ("person", "patient_id", "meterId", "ID"):
        assert first_choices({"t": "whole", name: "text", "on": "truth"}).entities == [name]
    assert first_choices({"t": "whole", "video": "text", "on": "truth"}).entities == []


def test_a_table_without_an_order_is_about_groups() -> None:
    first = first_choices({"family": "whole", "sex": "text", "height": "number"})
    assert (first.kind, first.column, first.group, first.order) == ("sum", "height", "family", [])
    assert first.low == first.high == ""  # bounds must be public, so the page does not propose any


def test_states_and_truths_are_counted() -> None:
    assert first_choices({"day": "time", "mood": "text"}).values == ""
    assert first_choices({"day": "time", "flu": "truth", "mood": "text"}).values == "true"


def test_columns_that_no_question_reads_are_not_chosen() -> None:
    first = first_choices({"day": None, "blob": None})
    assert (first.column, first.order) == ("", [])
