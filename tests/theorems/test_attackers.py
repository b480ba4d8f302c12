"""Whom the theorems protect against: each says it, and the documentation says the same."""

import re
from pathlib import Path

import pytest

from bayesdp import Count, GaussianGroups, Independent, MarkovChain, Model, OddsChain, Query, Sum, leakage
from bayesdp.theorems import theorem_named, theorems
from bayesdp.theorems.attackers import ANYBODY, EXACT_KNOWLEDGE, SIDE_INFORMATION

PAGE = Path(__file__).parents[2] / "docs" / "theory" / "side-information.md"


def test_the_page_on_side_information_names_its_theorems() -> None:
    ours = {theorem.name for theorem in theorems() if theorem.against == SIDE_INFORMATION}
    (line,) = (line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("The theorems "))
    assert set(re.findall(r"\[`([\w-]+)`\]", line)) == ours
    (quoted,) = re.findall(r"\*(an attacker .*?)\*", line)
    assert quoted in SIDE_INFORMATION


def test_only_group_privacy_holds_against_anybody() -> None:
    assert {theorem.name for theorem in theorems() if theorem.against == ANYBODY} == {"independent", "general"}
    assert {theorem.against for theorem in theorems()} == {ANYBODY, EXACT_KNOWLEDGE, SIDE_INFORMATION}


@pytest.mark.parametrize(
    ("model", "query"),
    [
        (Independent(), Count(equals=1)),
        (MarkovChain([[0.9, 0.1], [0.4, 0.6]]), Count(equals=1)),
        (OddsChain(5), Count(equals=1)),
        (GaussianGroups(correlation=0.2, size=3), Sum(bounds=(0, 1))),
    ],
    ids=lambda part: part.kind,
)
def test_a_guarantee_ends_with_the_attacker_of_its_theorem(model: Model, query: Query) -> None:
    found = leakage(model, query, tau=0.5)
    assert found.scope.endswith(theorem_named(found.theorem).against)
