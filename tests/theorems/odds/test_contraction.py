"""The contraction: never below the exact value, hardly above it, and attained."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.errors import InvalidInputError
from bayesdp.theorems.odds.contraction import contraction

sizes = st.floats(-12, 2.8).map(lambda exponent: 10.0**exponent) | st.floats(0.1, 20)
weights = st.lists(st.floats(0.001, 1), min_size=2, max_size=5)


def exact(c: float, d: float) -> Decimal:
    """Return 2 ln[cosh((c+d)/4)/cosh((c−d)/4)] to fifty digits more than the hyperbolic cosines swallow."""
    with localcontext() as context:
        context.prec = 90
        sums, gaps = ((Decimal(c) + Decimal(d)) / 4, (Decimal(c) - Decimal(d)) / 4)
        return 2 * ((sums.exp() + (-sums).exp()) / (gaps.exp() + (-gaps).exp())).ln()


@given(c=sizes, d=sizes)
def test_is_rounded_up_and_hardly_more(c: float, d: float) -> None:
    value = contraction(c, d)
    assert exact(c, d) <= Decimal(value) <= exact(c, d) * (1 + Decimal("1e-13"))
    assert value <= min(c, d)
    assert value == contraction(d, c)


@given(c=sizes, laws=st.tuples(weights, weights), heights=weights)
def test_bounds_the_ratio_of_two_means(c: float, laws: tuple[list[float], list[float]], heights: list[float]) -> None:
    size = min(len(laws[0]), len(laws[1]), len(heights))
    p, q, h = (np.array(values[:size]) for values in (*laws, heights))
    p, q = p / p.sum(), q / q.sum()
    h = np.exp(min(c, 50.0) * (h - h.min()) / max(np.ptp(h), 1e-9))
    odds = float(np.ptp(np.log(p / q)))
    oscillation = float(np.log(h.max() / h.min()))
    assert math.log((p @ h) / (q @ h)) <= contraction(oscillation, odds) * (1 + 1e-9) + 1e-12


@given(c=st.floats(0.01, 20), d=st.floats(0.01, 20))
def test_two_points_attain_it(c: float, d: float) -> None:
    one = 1 / (1 + math.exp((c + d) / 2))
    q = np.array([one, 1 - one])
    p = q * [math.exp(d), 1]
    p /= p.sum()
    h = np.array([math.exp(c), 1])
    assert math.log((p @ h) / (q @ h)) == pytest.approx(contraction(c, d), rel=1e-9, abs=1e-12)


def test_limits_are_exact() -> None:
    assert contraction(0.0, 3.0) == contraction(3.0, 0.0) == contraction(0.0, math.inf) == 0.0
    assert contraction(3.0, math.inf) == contraction(math.inf, 3.0) == 3.0
    assert contraction(math.inf, math.inf) == math.inf
    assert contraction(5e-324, 1e-3) == 5e-324
    assert 0 < contraction(1e-200, 1e-200) <= 1e-200


def test_takes_arrays() -> None:
    values = contraction(np.array([0.0, 1.0, 2.0]), 1.5)
    assert values.tolist() == [contraction(c, 1.5) for c in (0.0, 1.0, 2.0)]


@pytest.mark.parametrize("bad", [-1.0, math.nan])
def test_refuses_what_is_no_size(bad: float) -> None:
    for arguments in ((bad, 1.0), (1.0, bad)):
        with pytest.raises(InvalidInputError, match="at least 0"):
            contraction(*arguments)


@pytest.mark.parametrize("small", [5e-324, 1e-323, 3e-323, 1e-310])
def test_nothing_is_lost_where_floats_end(small: float) -> None:
    assert contraction(small, 700.0) == contraction(700.0, small) == contraction(small, math.inf) == small
    assert contraction(small, 1.0) >= 0.24 * small
    assert contraction(1e-291, 1.0) <= contraction(2e-290, 1.0) <= 2e-290
