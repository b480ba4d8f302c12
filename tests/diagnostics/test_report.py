"""The one rule that turns figures into verdicts, and checks that always return."""

import warnings

import numpy as np
import pytest

from bayesdp.diagnostics.report import Outcome, UntestableError, by_construction, check, judge, shown_p
from bayesdp.models.diagnosis import Verdict


def test_seeing_nothing_without_power_is_no_test() -> None:
    assert judge(0.5, False, powerful=False) == "not tested"
    assert judge(0.5, False, powerful=True) == "fine"
    assert judge(1e-9, True, powerful=False) == "violated"


def test_verdicts_change_at_the_limits_that_are_stated() -> None:
    assert [judge(p, True) for p in (0.000999, 0.001, 0.00999, 0.01)] == ["violated", "doubtful", "doubtful", "fine"]
    assert judge(1e-300, False) == "doubtful"


def test_a_p_value_is_never_written_as_nothing() -> None:
    assert [shown_p(p) for p in (0.5, 1e-16, 9e-17, 0.0)] == ["p = 0.5", "p = 1e-16", "p < 1e-16", "p < 1e-16"]


@check("size", "Is it large?")
def _size(number: float) -> Outcome:
    if number < 0:
        raise UntestableError("There is none.", "Look elsewhere.")
    warnings.warn("a figure may be inexact", RuntimeWarning, stacklevel=1)
    return Outcome(
        Verdict.FINE, f"{number:g}", "It is.", values={"size": number / np.float64(0) if number > 99 else number}
    )


def test_a_check_becomes_a_finding_quietly() -> None:
    found = _size(3.0)
    assert (found.name, found.tested, found.figure, found.verdict, found.values) == (
        *("size", "Is it large?", "3", "fine"),
        {"size": 3.0},
    )


def test_what_cannot_be_tested_says_why_and_what_to_do() -> None:
    found = _size(-1.0)
    assert (found.verdict, found.meaning, found.advice, found.figure) == (
        *("not tested", "There is none.", "Look elsewhere.", ""),
    )


def test_figures_that_are_not_finite_are_no_verdict() -> None:
    found = _size(100.0)
    assert found.verdict == "not tested"
    assert "beyond the range of floats" in found.meaning


def test_other_errors_are_not_swallowed() -> None:
    with pytest.raises(TypeError):
        _size("three")  # type: ignore[arg-type]


def test_what_cannot_be_otherwise_is_fine_and_says_so() -> None:
    outcome = by_construction("It was estimated from these.")
    assert (outcome.verdict, outcome.word, outcome.figure) == ("fine", "by construction", "")
