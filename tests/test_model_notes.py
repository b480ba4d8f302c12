"""What is said about a model beside every result."""

from __future__ import annotations

import bayesdp as bdp
from bayesdp.model_notes import DROPPED, ESTIMATED, Verdict
from bayesdp.models.diagnosis import Finding


def test_notes_stand_beside_what_leaks_under_an_estimated_model() -> None:
    walk = bdp.MarkovChain(states=[0, 1], transition=[[0.9, 0.1], [0.4, 0.6]], length=500)
    assert ESTIMATED not in bdp.leakage(walk, bdp.Count(equals=1), tau=0.1).notes
    counts = [[450, 50], [40, 60]]
    fitted = bdp.MarkovChain(states=[0, 1], transition=[[0.9, 0.1], [0.4, 0.6]], length=601, counts=counts)
    assert ESTIMATED in bdp.leakage(fitted, bdp.Count(equals=1), tau=0.1).notes
    assert DROPPED.endswith("is treated as public.")


def test_a_verdict_is_its_text() -> None:
    assert Verdict("violated") is Finding("a", "b", "", "violated", "", "").verdict  # type: ignore[arg-type]
    assert repr(Verdict.NOT_TESTED) == "'not tested'"
