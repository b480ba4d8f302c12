"""Choices of the form: kept as typed, read from an address, turned into a target or a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.errors import BayesDPError, InvalidInputError
from bayesdp.explorer.assumed import ASSUMPTIONS
from bayesdp.explorer.choices import BETAS, EPSILONS, Choices, between, whole

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


@given(st.dictionaries(st.sampled_from(Choices.names()), TEXTS))
def test_an_address_brings_back_what_was_chosen(typed: dict[str, str]) -> None:
    chosen = Choices.read(typed)
    assert Choices.from_query(chosen.to_query()) == chosen
    other = Choices(kind="sum", values="")
    assert Choices.from_query(chosen.to_query(other), other) == chosen


def test_what_is_no_field_or_no_text_is_ignored() -> None:
    assert Choices.read({"kind": 3, "nonsense": "x", "low": None, "high": "7\0"}) == Choices()
    assert len(Choices.read({"values": "x" * 10_000}).values) == 2000


def test_going_to_another_question_and_back_keeps_what_was_typed() -> None:
    typed = Choices.read({"kind": "sum", "low": "-3", "high": "12"})
    away = Choices.read({"kind": "count"}, typed)
    back = Choices.read({"kind": "sum"}, away)
    assert (back.low, back.high) == ("-3", "12")


def test_a_target_is_a_promise_or_an_error() -> None:
    assert Choices(epsilon="0.5").target.epsilon == 0.5
    assert Choices(start="alpha", alpha="12").target.alpha == 12
    assert Choices().epsilon in EPSILONS
    assert Choices().beta in BETAS


@pytest.mark.parametrize(
    "chosen",
    [
        Choices(epsilon="nonsense"),
        Choices(epsilon="0"),
        Choices(epsilon="nan"),
        Choices(start="alpha", alpha="-1"),
        Choices(start="alpha", alpha=""),
        Choices(beta="2"),
    ],
)
def test_what_is_no_target_is_refused(chosen: Choices) -> None:
    with pytest.raises(InvalidInputError):
        _ = chosen.target


@pytest.mark.parametrize(("text", "problem"), [("1.5", "from 0 to 1"), ("x", "must be a number"), ("inf", "finite")])
def test_figures_name_their_field(text: str, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=f"the correlation.*{problem}"):
        between("the correlation", text, 0, 1)


@pytest.mark.parametrize("text", ["0", "-1", "2.5", ""])
def test_whole_numbers_are_above_zero(text: str) -> None:
    with pytest.raises(InvalidInputError, match="the length"):
        whole("the length", text)


@pytest.mark.parametrize("name", ASSUMPTIONS)
def test_the_form_begins_with_a_model(name: str) -> None:
    assumption = ASSUMPTIONS[name]
    assert isinstance(assumption.built(Choices()), assumption.model)
    assert set(assumption.fields) <= set(Choices.names())


@pytest.mark.parametrize(
    ("name", "field", "text"),
    [
        ("chain", "stay_first", "1.2"),
        ("chain", "length", "0"),
        ("odds", "odds", "0.5"),
        ("normal", "correlation", "1.5"),
        ("groups", "group_size", "many"),
    ],
)
def test_nonsense_is_refused(name: str, field: str, text: str) -> None:
    with pytest.raises(BayesDPError):
        ASSUMPTIONS[name].built(Choices.read({field: text}))
