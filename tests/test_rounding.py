import math
import re
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.errors import InvalidInputError
from bayesdp.rounding import float_above, float_below, log_above, shown_above, shown_below, shown_odds, shown_remaining

fractions = st.fractions(min_value=Fraction(1, 10**30), max_value=Fraction(10**30))


@given(fractions)
def test_floats_enclose_the_exact_value_tightly(value: Fraction) -> None:
    above, below = float_above(value), float_below(value)
    assert Fraction(below) <= value <= Fraction(above)
    assert above in (below, math.nextafter(below, math.inf))


@given(st.fractions(min_value=1, max_value=10**12))
def test_logarithm_is_never_below(value: Fraction) -> None:
    with localcontext(prec=60):
        exact = (Decimal(value.numerator) / Decimal(value.denominator)).ln()
        assert exact <= Decimal(log_above(value)) <= exact * (1 + Decimal("1e-14")) + Decimal("1e-15")


@given(st.floats(1e-300, 1e300))
def test_shown_figures_round_towards_privacy(value: float) -> None:
    assert float(shown_above(value)) >= value * (1 - 1e-12)
    assert float(shown_below(value)) <= value * (1 + 1e-12)


def test_shown_figures_are_the_short_ones() -> None:
    assert shown_above(3.0) == "3"
    assert shown_below(math.nextafter(0.2, 0)) == "0.2"
    assert shown_above(0.1234561) == "0.123457"
    assert shown_below(0.1234569) == "0.123456"


@pytest.mark.parametrize(
    ("amount", "shown"), [(2.22044e-16, "0"), (0.0, "0"), (1.9e-6, "0"), (3e-6, "3e-06"), (0.4999999, "0.499999")]
)
def test_rounding_dust_of_a_budget_is_shown_as_nothing(amount: float, shown: str) -> None:
    assert shown_remaining(amount, 2.0) == shown
    assert shown_remaining(amount / 1e6, 2.0 / 1e6) == ("0" if shown == "0" else shown_below(amount / 1e6))


@given(st.floats(0, 9))
def test_the_attackers_certainty_is_never_understated(epsilon: float) -> None:
    winner, loser = map(float, re.findall(r"([\d.]+) : ([\d.]+)", shown_odds(epsilon))[1])
    assert winner + loser == pytest.approx(100)
    exact = 100 / (1 + math.exp(-epsilon))
    assert exact - 1e-9 <= winner <= exact + 0.1


def test_odds_in_words() -> None:
    assert shown_odds(0.0).endswith("at most at 50 : 50")
    assert shown_odds(math.log(3)).endswith("at most at 75 : 25")
    assert shown_odds(7.0).endswith("at most at 99.91 : 0.09")
    for epsilon in (9.22, 20.0, 800.0, 1e308):
        assert shown_odds(epsilon).endswith("nearly certain (more than 99.99 : 0.01)")


def test_overflow_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="too large"):
        float_above(Fraction(10) ** 400)
