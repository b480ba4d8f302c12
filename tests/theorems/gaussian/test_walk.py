import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad

from bayesdp import ArbitraryGroups, Count, GaussianGroups, GaussianSeries, MarkovChain, Sum, calibrate, leakage
from bayesdp.audit.oracle import gaussian_lemma
from bayesdp.errors import NoTheoremAppliesError
from bayesdp.models.precision import Precision
from bayesdp.testing import TheoremContract, walk_cases
from bayesdp.testing.cases import Case
from bayesdp.theorems.gaussian import walk
from bayesdp.theorems.gaussian.covariance import GaussianCovariance, covariance_factor
from bayesdp.theorems.gaussian.walk import GaussianWalk, covariance_walks, precision_walks, series_walks
from bayesdp.theorems.spend import as_spend

SUM = Sum(bounds=(0, 100))
SERIES = GaussianSeries([0.5])


class TestGaussianWalk(TheoremContract):
    theorem = GaussianWalk()
    cases = walk_cases()
    refused = (
        (ArbitraryGroups(2), SUM),
        (MarkovChain([[0.9, 0.1], [0.4, 0.6]]), SUM),
        (SERIES, Count(equals=1)),
        (GaussianGroups(precision=[[1, 0.2], [0.2, 1]]), Count(equals=1)),
        (GaussianGroups(correlation=0.1, size=2), SUM),
        (GaussianGroups(precision=np.full((3, 3), 0.9) + 0.1 * np.eye(3)), SUM),
        (GaussianSeries([0.5, -0.3]), SUM),
        (GaussianSeries([1.2, -0.5]), SUM),
        (GaussianSeries([0.99999999]), SUM),
    )


def factor(model: GaussianGroups | GaussianSeries, query: Sum = SUM) -> float:
    return GaussianWalk().epsilon(model, as_spend(query, 1.0))


def autoregressive(coefficients: tuple[float, ...], size: int) -> sp.csr_array:
    """The precision of a series between records of which none is near an end."""
    filtered = np.concatenate([[1.0], -np.array(coefficients)])
    order = len(coefficients)
    lags = [float(filtered[: order + 1 - lag] @ filtered[lag:]) for lag in range(order + 1)]
    offsets = list(range(-order, order + 1))
    return sp.diags_array([lags[abs(lag)] for lag in offsets], offsets=offsets, shape=(size, size), dtype=float).tocsr()


@given(walk_cases())
def test_one_sign_of_partial_correlations_gives_covariance_bound(case: Case) -> None:
    """Off-diagonal entries that are all negative: no adversary learns more than one who knows nothing."""
    assume(isinstance(case.model, GaussianGroups))
    assert isinstance(case.model, GaussianGroups)
    assert case.model.precision is not None
    dense = -np.abs(case.model.precision.strengths.toarray()) + np.diag(case.model.precision.diagonal)
    assume(Precision.of(case.model.precision).dominance is not None)
    model = GaussianGroups(precision=dense, distance=case.model.distance)
    spend = as_spend(case.query, 1.0)
    assert GaussianWalk().epsilon(model, spend) == pytest.approx(GaussianCovariance().epsilon(model, spend), rel=1e-9)


@given(st.floats(-0.99, 0.99), st.sampled_from([0.1, 1.0]))
def test_the_closed_form_of_order_one(coefficient: float, reach: float) -> None:
    assume(abs(coefficient) > 1e-3)
    expected = reach * (1 + abs(coefficient)) / (1 - abs(coefficient))
    found = factor(GaussianSeries([coefficient], distance=100 * reach))
    assert found == pytest.approx(expected, rel=1e-9)
    assert found >= expected


@given(st.integers(1, 40), st.floats(-0.9, 0.9), st.sampled_from([0.3, 1.0, 4.0]))
def test_series_of_a_given_length_are_their_covariance(size: int, coefficient: float, reach: float) -> None:
    steps = np.arange(size)
    covariance = coefficient ** np.abs(steps[:, None] - steps)
    assume(abs(coefficient) > 0.01)
    rows = tuple(map(tuple, covariance.tolist()))
    ((found,),) = series_walks((coefficient,), size, (reach,))
    assert found == pytest.approx(covariance_factor(rows, reach).factor, rel=1e-7)


@pytest.mark.parametrize("coefficients", [(0.3, 0.2, 0.1), (0.5, 0.3), (0.2, -0.1), (0.0, 0.0, 0.4)])
def test_series_precisions_and_covariances_agree(coefficients: tuple[float, ...]) -> None:
    """The same series, as such, as a dense and as a sparse precision: three ways to compute one number."""
    ((expected,),) = series_walks(coefficients, None, (1.0,))
    for size in (400, 3100):
        found = precision_walks(Precision.of(autoregressive(coefficients, size)), (1.0,))
        assert found is not None
        assert found[0][0] == pytest.approx(expected, rel=1e-8)
    covariance = np.linalg.inv(autoregressive(coefficients, 300).toarray())[100:200, 100:200]
    inverse = covariance_walks(tuple(map(tuple, (covariance + covariance.T) / 2)), (1.0,))
    assert inverse is not None
    assert inverse[0][0] == pytest.approx(expected, rel=1e-3)


def test_a_week_of_hours() -> None:
    """One coefficient, that of the same hour a week before: 168 interleaved series of order one."""
    ((found,),) = series_walks((*[0.0] * 167, 0.5), None, (1.0,))
    assert found == pytest.approx(3, rel=1e-8)
    ((day,),) = series_walks((*[0.0] * 167, 0.5), 24, (1.0,))
    assert day == pytest.approx(1, rel=1e-8)


def grid(side: int, weight: float) -> sp.csr_array:
    line = sp.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(side, side), dtype=float)
    one = sp.eye_array(side)
    return (sp.eye_array(side**2) - weight * (sp.kron(line, one) + sp.kron(one, line))).tocsr()


@pytest.mark.parametrize("weight", [0.1, 0.2])
def test_a_large_field_is_bounded_by_its_sums(weight: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too large to look at each pair: one solution, and closed walks; never below what the pairs say."""
    field = Precision.of(grid(28, weight))
    exact = precision_walks(field, (1.0, 0.5))
    monkeypatch.setattr(walk, "LARGEST_DENSE", 500)
    precision_walks.cache_clear()
    summed = precision_walks(field, (1.0, 0.5))
    precision_walks.cache_clear()
    assert exact is not None
    assert summed is not None
    for place in (0, 1):
        largest = max(row[place] for row in exact)
        assert largest <= max(row[place] for row in summed) <= 1.02 * largest


def test_many_groups_are_as_bad_as_the_worst_of_them() -> None:
    families = [[[1, 0.3, 0.2], [0.3, 1, 0.1], [0.2, 0.1, 1]], [[1, -0.45], [-0.45, 2]], [[3.0]]]
    together = sp.block_diag([families[number % 3] for number in range(6000)])
    model = GaussianGroups(precision=together)
    assert model.group_size == 3
    alone = max(factor(GaussianGroups(precision=family)) for family in families)
    assert factor(model) == pytest.approx(alone, rel=1e-12)
    assert leakage(model, SUM, tau=1.0).theorem == "gaussian-covariance"


def test_many_records_without_a_dense_matrix() -> None:
    model = GaussianGroups(precision=autoregressive((0.3, 0.2, 0.1), 10**5))
    assert factor(model) == pytest.approx(factor(GaussianSeries([0.3, 0.2, 0.1])), rel=1e-9)
    assert calibrate(GaussianSeries([0.3, 0.2, 0.1], length=10**6), SUM, epsilon=1.0).tau == pytest.approx(0.2076503)
    reasons = {each.theorem: each.reason for each in leakage(model, SUM, tau=1.0).assessments}
    for name in ("gaussian-covariance", "gaussian-tight", "gaussian-paper"):
        assert "inverted exactly" in str(reasons[name])


def test_large_covariances_without_shared_signs() -> None:
    """Where gaussian-covariance has too many adversaries to enumerate, the walks still bound them all."""
    generator = np.random.default_rng(3)
    signs = np.triu(generator.choice([-1, 1], (30, 30)), 1)
    precision = np.eye(30) + 0.02 * (signs + signs.T)
    model = GaussianGroups(covariance=np.linalg.inv(precision))
    found = leakage(model, SUM, tau=1.0)
    assert found.theorem == "gaussian-walk"
    assert found.epsilon == pytest.approx(factor(GaussianGroups(precision=precision)), rel=1e-9)
    few = [record for record in range(30) if record < 6]
    inside = np.linalg.inv(np.array(precision)[np.ix_(few, few)])
    assert gaussian_lemma(inside).factor <= found.epsilon


def test_gaps_cost_as_much_as_the_records_that_are_missing() -> None:
    """Two records of five that are a step apart may have no other neighbours, or two."""
    assert factor(GaussianSeries([0.5], length=3, gaps=True)) == pytest.approx(3)
    assert factor(GaussianSeries([0.5], length=3)) == pytest.approx(2)
    assert leakage(GaussianSeries([0.9], length=3, gaps=True), SUM, tau=1.0).theorem == "general"


def test_what_the_guarantee_covers_is_said() -> None:
    found = leakage(SERIES, SUM, tau=1.0)
    assert found.theorem == "gaussian-walk"
    assert "target values at most 100 apart" in found.scope
    assert "or has other side information, is not covered" in found.scope
    with pytest.raises(NoTheoremAppliesError, match="not walk-summable"):
        leakage(GaussianSeries([0.5, -0.3]), SUM, tau=1.0)
    assert leakage(GaussianSeries([0.5, -0.3], length=4), SUM, tau=1.0).theorem == "general"


def test_other_side_information_is_not_covered() -> None:
    """The counterexample: two N(0, 1) records with ρ = 0.1, of which one is known to be −30 or 30.

    The target is at −1/2 or 1/2, the sum is clipped to these: far outputs tell e^1.894, not the e^1.1 that is proven
    against someone who knows the other record exactly or not at all.
    """
    correlation, tau = 0.1, 1.0
    proven = factor(GaussianGroups(covariance=[[1, correlation], [correlation, 1]]), Sum(bounds=(-0.5, 0.5)))
    assert proven == pytest.approx(1.1)

    def reported(target: float) -> float:
        """Return the density of a far output: e^(τ·sum), for records that are either low or high."""
        spread = 1 - correlation**2
        weights = [math.exp(-((other - correlation * target) ** 2 - 900) / (2 * spread)) for other in (-30.0, 30.0)]
        sums = [target - 0.5, target + 0.5]
        return sum(w * math.exp(tau * s) for w, s in zip(weights, sums, strict=True)) / sum(weights)

    leaked = math.log(reported(0.5) / reported(-0.5))
    assert leaked == pytest.approx(1.894, abs=5e-4)
    assert leaked > proven


@given(st.floats(-0.9, 0.9), st.floats(0.2, 5.0), st.floats(-1.0, 1.0))
def test_gaussian_side_information_is_covered(correlation: float, noise: float, seen: float) -> None:
    """A noisy normal observation of the other record only adds to the diagonal of the precision: fewer walks."""

    def reported(target: float, output: float) -> float:
        spread = 1 - correlation**2
        mean = (correlation * target / spread + seen / noise) / (1 / spread + 1 / noise)
        deviation = math.sqrt(1 / (1 / spread + 1 / noise))

        def integrand(other: float) -> float:
            density = math.exp(-(((other - mean) / deviation) ** 2) / 2) / deviation
            return density * math.exp(-abs(output - target - min(max(other, -0.5), 0.5)))

        return float(quad(integrand, mean - 9 * deviation, mean + 9 * deviation, points=[-0.5, 0.5])[0])

    proven = factor(GaussianGroups(covariance=[[1, correlation], [correlation, 1]]), Sum(bounds=(-0.5, 0.5)))
    for output in (-1.0, -0.5, 0.0, 0.5, 1.0):
        assert abs(math.log(reported(0.5, output) / reported(-0.5, output))) <= proven + 1e-6


def enumerated(covariance: NDArray[np.float64], hidden: set[int]) -> float:
    """The largest factor over adversaries who know some of the records that are seen; hidden ones are in no sum."""
    size, worst = len(covariance), 0.0
    seen = [record for record in range(size) if record not in hidden]
    for target in seen:
        others = [record for record in seen if record != target]
        for count in range(len(others) + 1):
            for known in itertools.combinations(others, count):
                given = [*known, target]
                left = [record for record in others if record not in known]
                slopes = covariance[np.ix_(left, given)] @ np.linalg.inv(covariance[np.ix_(given, given)])[:, -1]
                worst = max(worst, 1 + float(np.minimum(np.abs(slopes), 1).sum()))
    return worst


@given(walk_cases(), st.sets(st.integers(0, 5), max_size=3))
def test_hidden_records_are_covered(case: Case, hidden: set[int]) -> None:
    """A table with fewer records than the precision has: walks pass through the missing ones all the same."""
    assume(isinstance(case.model, GaussianGroups))
    assert isinstance(case.model, GaussianGroups)
    assert case.model.precision is not None
    precision = case.model.precision
    assume(GaussianWalk().refusal(case.model, (case.query,)) is None and precision.records > len(hidden))
    dense = np.zeros((precision.records, precision.records))
    dense[precision.rows, precision.columns] = dense[precision.columns, precision.rows] = precision.values
    found = precision_walks(precision, (1.0,))
    assert found is not None
    assert enumerated(np.linalg.inv(dense), hidden) <= found[0][0] * (1 + 1e-9)


@pytest.mark.parametrize("coefficients", [(0.0,) * 167 + (0.5,), (0.2 / 300,) * 300])
def test_a_series_of_high_order_is_followed(coefficients: tuple[float, ...]) -> None:
    """Exact sums over hundreds of lags, each with a denominator of its own, would take minutes."""
    filtered = np.array([1.0, *(-value for value in coefficients)])
    lags = np.correlate(filtered, filtered, "full")[len(coefficients) :]
    angles = 2 * np.pi * np.arange(2**14) / 2**14
    comparison = lags[0] - 2 * np.abs(lags[1:]) @ np.cos(np.outer(np.arange(1, len(lags)), angles))
    assert factor(GaussianSeries(coefficients)) == pytest.approx(1 / comparison[0] / np.mean(1 / comparison), rel=1e-9)
