"""Limits and the environment variables that change them."""

import pytest

from bayesdp._support.limits import LINE_BYTES, SHEET_BYTES, STATES, UNPACKED_BYTES, Limit
from bayesdp.errors import InvalidInputError

LIMIT = Limit("BAYESDP_MAX_EXAMPLES", 500, largest=1000)


def test_without_the_variable_the_usual_number_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LIMIT.value == 500
    monkeypatch.setenv(LIMIT.variable, " ")
    assert LIMIT.value == 500


@pytest.mark.parametrize("given", ["1", "750", " 1000 ", "007"])
def test_the_variable_replaces_it(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT.variable, given)
    assert LIMIT.value == int(given)
    assert LIMIT.variable in LIMIT.advice


@pytest.mark.parametrize("given", ["0", "-1", "1001", "1.5", "1e3", "many", "٣", "inf", "9" * 5000])
def test_what_is_no_positive_whole_number_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT.variable, given)
    with pytest.raises(InvalidInputError, match="BAYESDP_MAX_EXAMPLES must be a whole number from 1 to 1000, not '"):
        _ = LIMIT.value


def test_the_limits() -> None:
    assert (LINE_BYTES.value, UNPACKED_BYTES.value, SHEET_BYTES.value, STATES.value) == (2**24, 2**34, 2**30, 500)
    assert SHEET_BYTES.variable == UNPACKED_BYTES.variable
