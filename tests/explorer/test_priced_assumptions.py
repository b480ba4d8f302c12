"""The priced assumptions of a table: computed on request, with one recommendation and no value of a record."""

import re
from dataclasses import replace
from pathlib import Path

import polars
import pytest
from screens import secrets_in, settled  # type: ignore[import-not-found]

from bayesdp.errors import InvalidInputError
from bayesdp.explorer.choices import Choices
from bayesdp.explorer.explored_file import ExploredFile
from bayesdp.explorer.page import assumption_list
from bayesdp.explorer.page_text import page_text
from bayesdp.explorer.priced_assumptions import priced_assumptions_of


@pytest.fixture
def families(tmp_path: Path) -> ExploredFile:
    path = tmp_path / "families.csv"
    heights = [9876543 + (family * 7 + child * 3) % 11 + family % 5 for family in range(60) for child in range(3)]
    people = ["SENTINELbob"] * 3 + [f"family {family}" for family in range(1, 60) for _ in range(3)]
    polars.DataFrame({"family": people, "height": heights}).write_csv(path)
    return ExploredFile.of(path)


def test_assumptions_about_numbers_show_no_value(families: ExploredFile) -> None:
    chosen = Choices(kind="sum", column="height", low="0", high="200", group="family")
    priced_assumptions = priced_assumptions_of(families, chosen)
    assert secrets_in(priced_assumptions.shown) == []
    assert len(priced_assumptions.shown) >= 3
    for each in priced_assumptions.shown:
        shown = settled(families, replace(chosen, assumption=each.name), priced_assumptions)
        assert secrets_in(shown) == []
        assert each.name == "independent" or shown.problem or "height" in shown.python


@pytest.mark.slow
def test_assumptions_about_states_show_no_value(tmp_path: Path) -> None:
    path = tmp_path / "rooms.csv"
    rooms = [("SENTINELattic", "hall")[t * t // 7 % 2] for t in range(400)]
    people = ["SENTINELbob"] * 200 + ["eve"] * 200
    polars.DataFrame({"t": range(400), "room": rooms, "who": people}).write_csv(path)
    explored = ExploredFile.of(path)
    chosen = Choices(column="room", values="hall", order_by="t", entity="who")
    priced_assumptions = priced_assumptions_of(explored, chosen)
    assert secrets_in(priced_assumptions.shown) == []
    for each in priced_assumptions.shown:
        assert secrets_in(page_text(explored, replace(chosen, assumption=each.name), priced_assumptions)) == []


def test_a_table_is_read_on_request_and_again_for_a_new_question(families: ExploredFile) -> None:
    chosen = Choices(kind="sum", column="height", low="0", high="200", group="family")
    assert "look at the table" in page_text(families, chosen).problem
    priced_assumptions = priced_assumptions_of(families, chosen)
    assert page_text(families, chosen, priced_assumptions).problem == ""
    assert "Look again" in page_text(families, replace(chosen, high="300"), priced_assumptions).problem
    assert (
        page_text(families, replace(chosen, epsilon="2"), priced_assumptions).problem == ""
    )  # another ε is another screen only


def test_one_assumption_is_recommended_and_another_can_be_chosen(families: ExploredFile) -> None:
    chosen = Choices(kind="sum", column="height", low="0", high="200", group="family")
    priced_assumptions = priced_assumptions_of(families, chosen)
    assert sum(each.recommended for each in priced_assumptions.shown) == 1
    last = priced_assumptions.shown[-1]
    assert last.name == "arbitrary groups"
    assert (
        "groups of at most 3"
        in page_text(families, replace(chosen, assumption=last.name), priced_assumptions).assumption
    )


def test_the_radio_buttons_are_named_as_their_choice(families: ExploredFile) -> None:
    chosen = Choices(kind="sum", column="height", low="0", high="200", group="family")
    drawn = str(assumption_list(priced_assumptions_of(families, chosen), chosen))
    (name,) = set(re.findall(r'<input type="radio" name="(\w+)"', drawn))
    assert name in Choices.names()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"column": ""}, "choose the column"),
        ({"column": "nothing"}, "no column"),
        ({"kind": "count", "values": "1"}, "order the records"),
        ({"kind": "count", "order_by": "family"}, "the values to count"),
        ({"kind": "count", "condition": ">", "order_by": "family"}, "cannot read"),
        (
            {"kind": "count", "condition": "> 3", "order_by": "family"},
            "may depend on single records",
        ),
        ({"group": "nobody"}, "no column 'nobody'; it has 'family', 'height'"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_without_its_records(
    families: ExploredFile, wrong: dict[str, str], said: str
) -> None:
    chosen = Choices.read(wrong, Choices(kind="sum", values="", column="height", high="200", group="family"))
    with pytest.raises(InvalidInputError, match=said) as refused:
        priced_assumptions_of(families, chosen)
    assert secrets_in(str(refused.value)) == []


def test_a_promise_with_a_delta_is_advised_with_it(families: ExploredFile) -> None:
    chosen = Choices(
        kind="sum", column="height", low="0", high="200", group="family", definition="approximate", delta="1e-6"
    )
    priced_assumptions = priced_assumptions_of(families, chosen)
    assert priced_assumptions.advice.delta == 1e-6
    assert "Its error is" in str(assumption_list(priced_assumptions, chosen))
