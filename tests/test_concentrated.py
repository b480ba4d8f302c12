import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.concentrated import delta_of_rho, largest_rho, tau_of_rho
from bayesdp.errors import InvalidInputError

RHOS = st.floats(1e-8, 50)
TAUS = st.floats(1e-4, 50)


def at_order(rho: float, tau: float, alpha: float) -> float:
    return math.exp((alpha - 1) * (alpha * rho - tau) + alpha * math.log1p(-1 / alpha)) / (alpha - 1)


@given(rho=RHOS, tau=TAUS, alpha=st.floats(1.001, 200))
def test_no_order_gives_less(rho: float, tau: float, alpha: float) -> None:
    exponent = (alpha - 1) * (alpha * rho - tau)
    if exponent < 600:
        assert delta_of_rho(rho, tau) <= max(at_order(rho, tau, alpha), 1e-300) * (1 + 1e-9)


@given(rho=RHOS, tau=TAUS)
def test_it_is_never_below_the_exact_profile_of_gaussian_noise(rho: float, tau: float) -> None:
    """Gaussian noise of scale 1 and a shift of √(2ρ) is ρ-zCDP; its δ is known (Balle and Wang 2018)."""
    shift = math.sqrt(2 * rho)
    below = math.erfc((tau / shift - shift / 2) / math.sqrt(2)) / 2
    exact = below - math.exp(tau) * math.erfc((tau / shift + shift / 2) / math.sqrt(2)) / 2
    assert exact <= delta_of_rho(rho, tau) + 1e-12


@pytest.mark.parametrize("scale", [0.5, 1.0, 8.0])
def test_opendp_says_the_same(scale: float) -> None:
    from opendp.combinators import make_zCDP_to_approxDP
    from opendp.domains import atom_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import absolute_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    noise: Any = make_gaussian(atom_domain(T="i64"), absolute_distance(T="i64"), scale=scale)
    converted: Any = make_zCDP_to_approxDP(noise)
    profile = converted.map(1)
    for tau in (0.01, 0.3, 1.0, 3.0):
        assert delta_of_rho(noise.map(1), tau) == pytest.approx(profile.delta(tau), rel=1e-9)


@given(tau=TAUS, delta=st.floats(1e-200, 0.9))
def test_the_largest_rho_keeps_delta_and_wastes_nothing(tau: float, delta: float) -> None:
    rho = largest_rho(tau, delta)
    assert rho > 0
    assert delta_of_rho(rho, tau) <= delta < delta_of_rho(rho * (1 + 1e-9), tau)


@given(rho=RHOS, delta=st.floats(1e-200, 0.9))
def test_the_smallest_tau_keeps_delta_and_wastes_nothing(rho: float, delta: float) -> None:
    tau = tau_of_rho(rho, delta)
    assert delta_of_rho(rho, tau) <= delta
    assert tau == 0 or delta < delta_of_rho(rho, tau * (1 - 1e-6)) or tau < 1e-9


def test_extreme_values_stay_probabilities() -> None:
    assert delta_of_rho(0.0, 1.0) == 0
    assert delta_of_rho(100.0, 1.0) == 1
    assert 0 < delta_of_rho(1e-300, 1.0) < 1e-300
    assert delta_of_rho(1e300, 1e-3) == 1
    assert 1e12 <= largest_rho(1e300, 0.5) <= 4e12
    assert 1e12 <= largest_rho(1.0, 1.0) <= 4e12
    assert largest_rho(1e-300, 5e-324) == 0 or delta_of_rho(largest_rho(1e-300, 5e-324), 1e-300) <= 5e-324


def test_bad_input_is_one_clear_line() -> None:
    with pytest.raises(InvalidInputError, match="rho must be at least 0, not -1"):
        delta_of_rho(-1.0, 1.0)
    with pytest.raises(InvalidInputError, match="tau must be a finite number, not nan"):
        delta_of_rho(1.0, math.nan)
    with pytest.raises(InvalidInputError, match="tau must be greater than 0"):
        largest_rho(0.0, 1e-6)
    with pytest.raises(InvalidInputError, match="delta must lie strictly between 0 and 1"):
        tau_of_rho(1.0, 1.0)
