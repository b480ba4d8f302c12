"""The promise of the library: on random models of every kind, no applicable theorem is ever below the oracle."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bayesdp import calibrate, leakage, theorems
from bayesdp.errors import CalibrationError, NoTheoremAppliesError
from bayesdp.testing import every_case
from bayesdp.testing.cases import Case
from bayesdp.testing.contract import ROUNDING


@settings(max_examples=max(2000, settings.default.max_examples if settings.default else 0))
@given(every_case(), st.floats(0.01, 6))
def test_oracle_is_below_every_theorem(case: Case, tau: float) -> None:
    try:
        found = leakage(case.model, case.query, tau=tau)
    except NoTheoremAppliesError:
        assume(False)
    measured = case.measure([tau])
    for each in found.assessments:
        if each.epsilon is not None and (case.laplace or each.theorem != "markov-count"):
            assert measured <= each.epsilon * (1 + ROUNDING) + ROUNDING, each.theorem
    assert found.epsilon == min(each.epsilon for each in found.assessments if each.epsilon is not None)


@given(every_case(), st.floats(0.05, 12))
def test_calibrated_then_measured(case: Case, epsilon: float) -> None:
    try:
        chosen = calibrate(case.model, case.query, epsilon=epsilon)
    except (CalibrationError, NoTheoremAppliesError):
        assume(False)
    assert chosen.leakage.epsilon <= epsilon
    assume(case.laplace or chosen.theorem != "markov-count")
    assert case.measure([chosen.tau]) <= epsilon * (1 + ROUNDING) + ROUNDING


@given(every_case(), st.floats(0.05, 6), st.floats(0.05, 6))
def test_what_was_spent_counts(case: Case, before: float, more: float) -> None:
    try:
        chosen = calibrate(case.model, case.query, epsilon=before + more, spent=[(case.query, before / 4)])
    except (CalibrationError, NoTheoremAppliesError):
        assume(False)
    assert chosen.leakage.epsilon <= before + more
    assert case.measure([before / 4, chosen.tau]) <= (before + more) * (1 + ROUNDING) + ROUNDING


@pytest.mark.parametrize("theorem", theorems(), ids=lambda theorem: theorem.name)
def test_every_theorem_points_to_a_proof_that_exists(theorem: object) -> None:
    from pathlib import Path

    from bayesdp import Theorem

    assert isinstance(theorem, Theorem)
    page = Path(__file__).parents[2] / theorem.proof
    headings = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("## ")]
    assert headings[:3] == ["## Statement", "## Hypotheses", "## Proof"]
