import math
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from inspect import signature
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opendp.domains import atom_domain
from opendp.measurements import make_laplace
from opendp.metrics import absolute_distance
from scipy import stats

from bayesdp.accuracy import DiscreteLaplace
from bayesdp.errors import InvalidInputError
from bayesdp.losses import PureLoss
from bayesdp.mechanisms import LARGEST_SCALE, LARGEST_VALUE, DiscreteLaplaceMechanism, discrete_laplace
from bayesdp.rounding import float_above, up

SIGNIFICANCE = 1e-9
sensitivities = st.one_of(st.integers(1, 100), st.integers(1, 2**40), st.just(2**40))
taus = st.one_of(st.floats(2e-5, 50), st.floats(1e-4, 1.7e308), st.sampled_from([0.1, 1 / 3, math.log(2), 1e-3]))
pairs = st.one_of(st.tuples(sensitivities, taus), st.tuples(st.integers(1, 100), st.floats(2e-15, 1e-6)))


@given(pairs)
def test_opendp_confirms_tau(pair: tuple[int, float]) -> None:
    sensitivity, tau = pair
    mechanism = DiscreteLaplaceMechanism(sensitivity, tau)
    scalar: Any = make_laplace(atom_domain(T="i64"), absolute_distance(T="i64"), scale=mechanism.scale)
    assert scalar.map(sensitivity) <= tau
    assert Fraction(sensitivity) / Fraction(mechanism.scale) <= Fraction(tau)


@given(pairs)
def test_the_scale_is_the_least_float(pair: tuple[int, float]) -> None:
    sensitivity, tau = pair
    mechanism = DiscreteLaplaceMechanism(sensitivity, tau)
    assert Fraction(sensitivity) / Fraction(math.nextafter(mechanism.scale, 0)) > Fraction(tau)


class LooseMap:
    """OpenDP's mechanism if its map were rounded up by some steps more."""

    def __init__(self, scale: float, steps: int) -> None:
        self.scale, self.steps = scale, steps

    def map(self, distance: int) -> float:
        return up(float_above(Fraction(distance) / Fraction(self.scale)), self.steps)


@given(pairs)
def test_a_map_off_by_one_step_is_still_satisfied(pair: tuple[int, float]) -> None:
    sensitivity, tau = pair
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discrete_laplace, "_measurement", lambda scale, _: LooseMap(scale, 1))
        scale = DiscreteLaplaceMechanism(sensitivity, tau).scale
    assert LooseMap(scale, 1).map(sensitivity) <= tau
    assert scale <= up(float_above(Fraction(sensitivity) / Fraction(tau)), 3)


def test_a_map_off_by_more_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discrete_laplace, "_measurement", lambda scale, _: LooseMap(scale, 10))
    with pytest.raises(InvalidInputError, match="OpenDP does not confirm"):
        DiscreteLaplaceMechanism(1, 0.7)


@pytest.mark.parametrize(("sensitivity", "tau"), [(1, 1e-12), (1, 1e-16), (2**40, 2**-16), (1, 1.7976931348623157e308)])
def test_the_ends_of_the_range(sensitivity: int, tau: float) -> None:
    mechanism = DiscreteLaplaceMechanism(sensitivity, tau, dimension=2)
    assert mechanism.scale >= sensitivity / tau
    assert all(abs(value) < 64 * mechanism.scale + 1 for value in mechanism.release([0, 0]))
    assert mechanism.alpha(0.05) >= 1


def test_noise_cannot_overflow_before_the_limits_are_passed() -> None:
    """The argument beside the limits: Pr[|Z| ≥ 2^62] is less than 2^−91 in a cell."""
    assert DiscreteLaplace(LARGEST_SCALE).tail(2**63 - 1 - LARGEST_VALUE) < 2.0**-91
    largest = DiscreteLaplaceMechanism(1, 2.0**-56, dimension=2)
    assert largest.scale == LARGEST_SCALE
    released = largest.release([LARGEST_VALUE, -LARGEST_VALUE])
    assert max(map(abs, released)) < 2**63 - 1


@pytest.mark.parametrize("tau", [math.nextafter(2.0**-56, 0), 1e-18, 1e-19, 1e-300, 5e-324])
def test_scales_beyond_the_limit_are_refused(tau: float) -> None:
    with pytest.raises(InvalidInputError, match="larger tau or a coarser grid"):
        DiscreteLaplaceMechanism(1, tau)


@pytest.mark.parametrize("tau", [0, -1.0, math.nan, math.inf, -math.inf, True, "1", None, 10**400])
def test_a_tau_that_is_none_is_refused(tau: Any) -> None:
    with pytest.raises(InvalidInputError, match="tau"):
        DiscreteLaplaceMechanism(1, tau)


@pytest.mark.parametrize("sensitivity", [0, -1, 1.0, True, "1", 10**19, math.nan])
def test_a_sensitivity_that_is_none_is_refused(sensitivity: Any) -> None:
    with pytest.raises(InvalidInputError, match="sensitivity"):
        DiscreteLaplaceMechanism(sensitivity, 1.0)


@pytest.mark.parametrize("dimension", [0, -1, 1.5, True, 2**31])
def test_a_dimension_that_is_none_is_refused(dimension: Any) -> None:
    with pytest.raises(InvalidInputError, match="dimension"):
        DiscreteLaplaceMechanism(1, 1.0, dimension)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([True], "not of type bool"),
        ([np.True_], "not of type bool"),
        ([424242.0], "not of type float"),
        ([math.nan], "not of type float"),
        (["424242"], "not of type str"),
        ([None], "not of type NoneType"),
        ([LARGEST_VALUE + 1], "2\\^62"),
        ([-LARGEST_VALUE - 1], "2\\^62"),
        ([10**30], "2\\^62"),
        ([np.int64(-(2**63))], "2\\^62"),
        ([424242, 1], "dimension = 1 values, not 2"),
        ([], "dimension = 1 values, not 0"),
        (424242, "list of whole numbers"),
    ],
)
def test_values_out_of_range_are_refused_without_being_shown(values: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as refusal:
        DiscreteLaplaceMechanism(1, 1.0).release(values)
    assert "424242" not in str(refusal.value)


def test_numpy_integers_come_back_as_python_integers() -> None:
    released = DiscreteLaplaceMechanism(2, 1e300, dimension=3).release(np.array([1, 2**62, -5]))  # type: ignore[arg-type]
    assert released == (1, 2**62, -5)
    assert all(type(value) is int for value in released)


def test_no_seed_can_be_set() -> None:
    assert list(signature(DiscreteLaplaceMechanism).parameters) == ["sensitivity", "tau", "dimension"]
    assert list(signature(DiscreteLaplaceMechanism.release).parameters) == ["self", "values"]
    mechanism = DiscreteLaplaceMechanism(1, 1e-9, dimension=8)
    np.random.seed(1)  # noqa: NPY002
    first = mechanism.release([0] * 8)
    np.random.seed(1)  # noqa: NPY002
    assert mechanism.release([0] * 8) != first


def test_it_is_frozen_and_a_copy_gets_its_own_scale() -> None:
    mechanism = DiscreteLaplaceMechanism(1, 1.0)
    with pytest.raises(FrozenInstanceError):
        mechanism.scale = 0.0  # type: ignore[misc]
    assert replace(mechanism, tau=0.5).scale == 2
    assert hash(mechanism) == hash(DiscreteLaplaceMechanism(1, 1.0))


def test_accuracy_is_that_of_the_law_for_all_cells_at_once() -> None:
    mechanism = DiscreteLaplaceMechanism(2, 0.5, dimension=10)
    assert mechanism.law == DiscreteLaplace(4.0)
    assert mechanism.alpha(0.05) == DiscreteLaplace(4.0).alpha(0.05, cells=10)


@pytest.mark.parametrize(
    ("sensitivity", "tau"), [(1, 4.0), (1, 1.0), (1, 0.7), (2, 0.3), (3, 1 / 3), (1000, 0.7), (10**12, 0.9)]
)
def test_the_noise_follows_its_law(sensitivity: int, tau: float) -> None:
    """A chi-square test on cells of about equal weight, and the mean within its own standard error."""
    draws = 40_000
    mechanism = DiscreteLaplaceMechanism(sensitivity, tau, dimension=draws)
    noise = np.array(mechanism.release([7] * draws)) - 7
    scale = mechanism.scale
    p = math.exp(-1 / scale)

    def at_most(k: float) -> float:
        return float(1 - p ** (k + 1) / (1 + p) if k >= 0 else p**-k / (1 + p))

    wanted = [-scale * math.log(1 / (2 * share)) for share in (0.01, 0.05, 0.1, 0.2, 0.3, 0.4)]
    edges = sorted({math.floor(edge) for edge in [*wanted, *(-edge for edge in wanted), -1, 0]})
    expected = np.diff([0.0, *map(at_most, edges), 1.0]) * draws
    observed = np.bincount(np.searchsorted(edges, noise), minlength=len(edges) + 1)
    enough = expected > 20
    statistic = float((((observed - expected) ** 2 / np.maximum(expected, 1e-9))[enough]).sum())
    assert stats.chi2.sf(statistic, enough.sum()) > SIGNIFICANCE
    error = math.sqrt(2 * p / (1 - p) ** 2 / draws)
    assert abs(noise.mean()) < stats.norm.isf(SIGNIFICANCE / 2) * error


def test_the_cells_of_a_vector_have_noise_of_their_own() -> None:
    draws = 10_000
    noise = np.array(DiscreteLaplaceMechanism(1, 0.01, dimension=2 * draws).release([0] * 2 * draws)).reshape(-1, 2)
    correlation = np.corrcoef(np.sign(noise).T)[0, 1]
    assert abs(correlation) < stats.norm.isf(SIGNIFICANCE / 2) / math.sqrt(draws)


@pytest.mark.parametrize("beta", [0.95, 0.5, 0.05, 1e-9])
@pytest.mark.parametrize("units", [1, 7, 10**6])
def test_the_smallest_loss_of_an_accuracy(units: int, beta: float) -> None:
    loss = DiscreteLaplaceMechanism.for_accuracy(units, beta, sensitivity=2, dimension=3)
    assert DiscreteLaplaceMechanism(2, loss.tau, 3).alpha(beta) <= units
    assert DiscreteLaplace(2 / (loss.tau * (1 - 1e-4))).alpha(beta, cells=3) > units
    with pytest.raises(InvalidInputError, match="no noise is small enough for beta"):
        DiscreteLaplaceMechanism.for_accuracy(1, 0.0, sensitivity=1, dimension=1)


def test_noise_fits_up_to_the_largest_scale() -> None:
    assert DiscreteLaplaceMechanism.fits(PureLoss(1.0), LARGEST_SCALE)
    assert not DiscreteLaplaceMechanism.fits(PureLoss(1.0), LARGEST_SCALE + 1)
    assert DiscreteLaplaceMechanism(1, 1.0).law.step == 1
