import pytest

from bayesdp import ArbitraryGroups, Count, GaussianGroups, Histogram, Sum, leakage
from bayesdp.audit.oracle import gaussian_lemma
from bayesdp.errors import QueryError
from bayesdp.experiments.gaussian_pair import gaussian_pair
from bayesdp.testing import TheoremContract, gaussian_cases
from bayesdp.theorems.gaussian.paper import GaussianPaper

SUM = Sum(bounds=(0, 100))
FAMILY = GaussianGroups(correlation=0.275, size=3)


class TestGaussianPaper(TheoremContract):
    theorem = GaussianPaper()
    cases = gaussian_cases(equal_variances=True)
    refused = (
        (ArbitraryGroups(2), SUM),
        (FAMILY, Count(equals=1)),
        (FAMILY, Histogram(cells=[1, 2])),
        (FAMILY, Sum(bounds=(0, 100), where="height > 60")),
        (GaussianGroups(correlation=0.5, size=4), SUM),
        (GaussianGroups(correlation=1, size=3), SUM),
        (GaussianGroups(covariance=[[20.41**2, 137], [137, 225]]), SUM),
    )


def epsilon(model: GaussianGroups, tau: float = 1.0) -> float:
    return next(
        each.epsilon or 0 for each in leakage(model, SUM, tau=tau).assessments if each.theorem == "gaussian-paper"
    )


@pytest.mark.parametrize(("size", "correlation", "factor"), [(3, 0.275, 1.8534), (2, 0.4483, 1.4483), (10, 0.1, 13.5)])
def test_reference_values(size: int, correlation: float, factor: float) -> None:
    assert epsilon(GaussianGroups(correlation=correlation, size=size)) == pytest.approx(factor, abs=6e-5)


def test_no_correlation_or_no_group_costs_nothing() -> None:
    assert epsilon(GaussianGroups(correlation=0, size=9)) == 1
    assert epsilon(GaussianGroups(correlation=0.9, size=1)) == 1


def test_reasons_name_the_hypothesis() -> None:
    theorem = GaussianPaper()
    unequal = theorem.refusal(GaussianGroups(covariance=[[416.6, 137], [137, 225]]), (SUM,))
    assert unequal is not None
    assert "equal variances" in unequal
    dense = theorem.refusal(GaussianGroups(correlation=0.5, size=4), (SUM,))
    assert dense is not None
    assert "ρ(m−2) < 1" in dense
    with pytest.raises(QueryError, match="different columns"):
        leakage(FAMILY, [(Sum("height", bounds=(0, 1)), 1.0), (Sum("weight", bounds=(0, 1)), 1.0)])


def test_equal_variances_give_a_bound_on_the_correlations() -> None:
    covariance = GaussianGroups(covariance=[[4, 1.1, 0], [1.1, 4, -0.4], [0, -0.4, 4]])
    assert epsilon(covariance) == pytest.approx(epsilon(FAMILY), rel=1e-12)


def test_several_kinds_of_group_cost_the_worst() -> None:
    kinds = GaussianGroups(covariance=[[[1, 0.3], [0.3, 1]], [[1, 0.1], [0.1, 1]], [[2]]])
    assert epsilon(kinds) == pytest.approx(1.3)


def test_the_lemma_on_galtons_correlations() -> None:
    found = gaussian_lemma([[1, 0.275, 0.202], [0.275, 1, 0.074], [0.202, 0.074, 1]])
    assert found.factor == pytest.approx(1.477)
    assert (found.target, found.known) == (0, ())


def test_the_cap_of_the_lemma() -> None:
    steep = [[1, 4.5, 0.05], [4.5, 25, 0], [0.05, 0, 1]]
    assert gaussian_lemma(steep).factor == pytest.approx(2.05)
    assert gaussian_lemma(steep, capped=False).factor > 5


@pytest.mark.parametrize("correlation", [-0.8, 0.3, 0.45, 0.9])
@pytest.mark.parametrize("values", [(0.5, -0.5), (1.0, -1.0), (2.0, -0.5), (6.0, -6.0)])
@pytest.mark.parametrize("tau", [0.5, 2.0])
def test_the_true_leakage_of_a_pair_is_below_the_lemma(
    correlation: float, values: tuple[float, float], tau: float
) -> None:
    covariance = [[1.0, correlation], [correlation, 1.0]]
    true = gaussian_pair(covariance, mean=(0, 0), bounds=(-1, 1), tau=tau, values=values)
    reach = abs(values[0] - values[1]) / 2
    assert 0 < true <= tau * gaussian_lemma(covariance, reach=reach).factor + 1e-9


def test_far_targets_leak_more_than_the_paper_says() -> None:
    """Erratum 1: beyond the clipping width the leakage rises towards m·τ, above the paper's h·τ."""
    covariance = [[1.0, 0.45], [0.45, 1.0]]
    true = gaussian_pair(covariance, mean=(0, 0), bounds=(-1, 1), tau=1.0, values=(8.0, -8.0))
    assert true > 1.45 + 0.3
    assert true <= 2.0
