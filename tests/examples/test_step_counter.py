"""The figures of the README and of docs/one-number.md are those the code computes."""

from pathlib import Path

import pytest

from step_counter import activity_assumptions, assumptions_text, readme_table

ROOT = Path(__file__).parents[2]


def test_the_tables_are_what_the_code_prints() -> None:
    assert readme_table() in (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme_table(theorems=True) in (ROOT / "docs" / "one-number.md").read_text(encoding="utf-8")


def test_multiples_of_plain_dp() -> None:
    errors = [row.errors([1.0])[0] for row in activity_assumptions()]
    plain = errors[0]
    assert plain is not None
    multiples = [None if error is None else error / plain for error in errors]
    assert multiples == [
        1.0,
        pytest.approx(4.004, abs=1e-3),
        pytest.approx(4.097, abs=1e-3),
        pytest.approx(7.187, abs=1e-3),
        pytest.approx(12.86, abs=1e-2),
        None,
        pytest.approx(15264),
    ]
    text = assumptions_text(1.0)
    assert text.count(" ×") == 6
    assert "impossible" in text
