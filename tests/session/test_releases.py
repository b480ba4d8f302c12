"""Several releases on one data set: a tuple that prints as a table, and how each kind is read again."""

from __future__ import annotations

from typing import Any

import pytest
from answers import answered  # type: ignore[import-not-found]

from bayesdp.errors import LedgerError
from bayesdp.session.answer import Answer
from bayesdp.session.history import release_stored
from bayesdp.session.randomize import Randomized
from bayesdp.session.releases import Releases

FLIPPED = Randomized("x", 0.5, 0.25, 1.0, 1.0, 1.0, "markov-mixing", 7, "ab")


def test_they_print_as_a_table_of_questions_and_costs() -> None:
    releases = Releases((answered(entry=2), FLIPPED))
    assert releases[0].value == 4248
    rows = str(releases).splitlines()
    assert rows[0].split() == ["entry", "answer", "ε", "τ", "question"]
    assert rows[-2].split()[:1] == ["2"]
    assert rows[-1].split()[:3] == ["7", "not", "kept"]
    assert rows[-1].endswith("x, record by record")


def test_without_any_that_is_said() -> None:
    assert str(Releases(())) == "Nothing has been released."


def test_each_kind_is_read_as_what_it_is() -> None:
    assert release_stored(FLIPPED.to_dict()) == FLIPPED
    found = release_stored(answered().to_dict())
    assert isinstance(found, Answer)
    assert found.value == 4248


@pytest.mark.parametrize("body", [{}, {"kind": "something"}, {**FLIPPED.to_dict(), "schema": 9}, None, [1]])
def test_what_is_none_is_damage(body: Any) -> None:
    with pytest.raises(LedgerError):
        release_stored(body)
