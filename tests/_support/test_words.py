"""Numbers and lists in words, lines that break where they may, and texts that a database takes for one another."""

from __future__ import annotations

import pytest

from bayesdp._support.words import counted, filled, folded, having, listed


def test_numbers_agree_with_what_they_count() -> None:
    assert [counted(number, "entry", "entries") for number in (0, 1, 2)] == ["no entries", "1 entry", "2 entries"]
    assert [having(number, "record", "it") for number in (0, 1, 2)] == [
        "no records of it have",
        "1 record of it has",
        "2 records of it have",
    ]


def test_a_list_takes_any_iterable_but_not_an_empty_one() -> None:
    assert listed(word for word in "abc") == "a, b and c"
    with pytest.raises(ValueError, match="not enough values"):
        listed([])


@pytest.mark.parametrize("width", range(9, 40))
def test_no_line_is_too_long_ends_beside_a_sign_or_breaks_a_word(width: int) -> None:
    text = "n = 15,264 and a well-known m = 20 of 50 : 50"
    lines = filled(text, width, "=", ":", break_long_words=False).split("\n")
    assert " ".join(lines) == text
    assert all(len(line) <= max(width, len("well-known")) for line in lines)
    assert not any(line[0] in "=:" or line[-1] in "=:" for line in lines)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße", "STRASSE"),
        ("e\N{COMBINING ACUTE ACCENT}te", "\N{LATIN SMALL LETTER E WITH ACUTE}TE"),
        ("a\N{ZERO WIDTH JOINER}b", "ab"),
        ("a \t b", " a b "),
        ("\N{FULLWIDTH DIGIT ONE}", "1"),
        ("\N{LATIN SMALL LIGATURE FI}", "FI"),
    ],
)
def test_texts_a_database_may_confuse_fold_to_one(one: str, other: str) -> None:
    assert folded(one) == folded(other)
    assert folded(folded(one)) == folded(one)


def test_texts_that_no_database_takes_for_one_another_stay_two() -> None:
    texts = ["a", "b", "ab", "a b", "1", "-1", "1.0", "", "ø"]
    assert len({folded(text) for text in texts}) == len(texts)
