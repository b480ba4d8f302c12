"""One colour for one thing: every theorem has one, and those that may stand in one picture differ."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from bayesdp.models.diagnosis import Verdict
from bayesdp.plotting.palette import COLOURS, PALETTE, PLAIN, colour_of, verdict_colour
from bayesdp.theorems.registry import theorems


def test_every_theorem_of_ours_has_a_colour_of_its_own_choice() -> None:
    assert {theorem.name for theorem in theorems()} <= set(COLOURS)
    assert all(re.fullmatch("#[0-9A-F]{6}", colour) for colour in (*COLOURS.values(), *PALETTE))


@pytest.mark.parametrize("family", ["markov", "gaussian", "odds"])
def test_theorems_about_one_model_have_different_colours(family: str) -> None:
    names = [name for name in COLOURS if name.startswith(family)] + [PLAIN, "general"]
    assert len(names) > 3
    for one, other in combinations(names, 2):
        assert colour_of(one) != colour_of(other), (one, other)


def test_what_is_said_of_a_line_does_not_change_its_colour() -> None:
    assert colour_of("general, unprotected") == colour_of("general") == COLOURS["general"]
    assert colour_of("mine, proven") == colour_of("mine") in PALETTE


def test_every_verdict_has_its_colour_and_no_other_word_has() -> None:
    assert len({verdict_colour(verdict) for verdict in Verdict}) == len(Verdict) > 3
    with pytest.raises(KeyError):
        verdict_colour("perhaps")
