"""Values and limits are checked before they are used."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesdp._support import validation
from bayesdp._support.limits import Limit
from bayesdp.errors import FrameError, InvalidInputError, ModelError

pd: Any = pytest.importorskip("pandas")

NAN, INFINITE = math.nan, math.inf


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (validation.number, [0, -1.5, np.float32(2), Fraction(1, 3)], [True, "1", None, NAN, INFINITE, 10**400, 1j]),
        (validation.positive, [1, 5e-324], [0, -1, NAN, "1"]),
        (validation.not_negative, [0, 1], [-1e-300, NAN, None]),
        (validation.probability, [0.5, 1e-300], [0, 1, -0.1, NAN, "half"]),
        (validation.natural, [1, np.int64(3), 10**18], [0, 1.0, True, 10**18 + 1, "1", None]),
        (validation.text, ["a", " a "], ["", "  ", None, 1, b"a"]),
        (validation.line, ["steps 2012", "été"], ["a\nb", "a\x1b[2J", "\u202eabc", ""]),
        (validation.scalar, ["a", 1, 1.5, True, np.int64(1)], [NAN, None, [1], b"a", np.array([1]), 10**301]),
        (validation.items, [[], (1, 2), np.array([1])], ["ab", b"ab", 1, None, {1, 2}, {"a": 1}]),
        (validation.distinct, [[1, 2], ["a", "b"]], [[1, 1], [1, 1.0], [True, 1], ["a", None]]),
        (validation.positives, [[1, 2]], [[], [1, 0], "1", 3]),
        (
            validation.square,
            [[[1, 2], [3, 4]], np.eye(40)],
            [[], [[1, 2]], [[1], [2]], [[NAN]], [["1"]], np.eye(3)[:2]],
        ),
        (
            validation.rows_of_probabilities,
            [[[0.5, 0.5]], [[0.1, 0.9], [1, 0]]],
            [[], [[]], [[0.5, 0.4]], [[1.5, -0.5]], [[0.5, 0.5], [1]], [[NAN, 1]]],
        ),
    ],
)
def test_what_passes_and_what_is_refused_by_name(check: Callable[..., Any], good: list[Any], bad: list[Any]) -> None:
    for value in good:
        check("entry", value)
    for value in bad:
        with pytest.raises(ModelError, match="entry"):
            check("entry", value, ModelError)


def test_numbers_become_pythons_own() -> None:
    assert type(validation.number("x", np.float32(2))) is float
    assert type(validation.natural("x", np.int64(2))) is int
    assert type(validation.scalar("x", np.bool_(True))) is bool
    with pytest.raises(InvalidInputError, match="x must be a number"):
        validation.number("x", Decimal(1))


@pytest.mark.parametrize(
    "secret", [pd.DataFrame({"a": [12345]}), pl.Series([12345]), np.array([12345]), pd.Series([12345])]
)
def test_messages_show_no_data(secret: Any) -> None:
    assert "12345" not in validation.brief(secret)
    with pytest.raises(InvalidInputError) as refused:
        validation.text("name", secret)
    assert "12345" not in str(refused.value)


def test_messages_are_short() -> None:
    assert len(validation.brief("a" * 1000)) < 100
    assert validation.brief(10**5000) == "a number too long to show"


def test_a_large_matrix_is_named_where_it_is_wrong() -> None:
    table = np.eye(50)
    assert validation.square("matrix", table) == validation.square("matrix", table.tolist())
    table[3, 7] = NAN
    with pytest.raises(InvalidInputError, match="row 3, column 7"):
        validation.square("matrix", table)


def test_missing_values_are_an_error_or_dropped() -> None:
    assert [validation.checked_missing(rule) for rule in ("error", "drop")] == ["error", "drop"]
    with pytest.raises(FrameError, match='missing must be "error" or "drop", not None'):
        validation.checked_missing(None)


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
