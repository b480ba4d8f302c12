import csv
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bayesdp import ArbitraryGroups, Count, GaussianGroups, Sum, leakage
from bayesdp.audit.oracle import gaussian_lemma
from bayesdp.errors import DoesNotApplyError
from bayesdp.testing import TheoremContract, gaussian_cases
from bayesdp.testing.cases import Case
from bayesdp.theorems.gaussian.covariance import (
    GaussianCovariance,
    _norm_above,
    _smallest_eigenvalue,
    covariance_factor,
    find_signs,
)
from bayesdp.theorems.gaussian.metric import reach_of
from bayesdp.theorems.spend import as_spend

SUM = Sum(bounds=(0, 100))
PAIR = GaussianGroups(covariance=[[1, 0.4], [0.4, 2]])
Rows = tuple[tuple[float, ...], ...]


def rows(matrix: object) -> Rows:
    return tuple(map(tuple, np.asarray(matrix, dtype=float).tolist()))


def autoregressive(size: int, coefficient: float) -> Rows:
    return rows([[coefficient ** abs(i - j) for j in range(size)] for i in range(size)])


class TestGaussianCovariance(TheoremContract):
    theorem = GaussianCovariance()
    cases = gaussian_cases()
    refused = (
        (ArbitraryGroups(2), SUM),
        (PAIR, Count(equals=1)),
        (GaussianGroups(correlation=0.1, size=2), SUM),
        (GaussianGroups(covariance=[[1, 1 - 1e-11], [1 - 1e-11, 1]]), SUM),
    )


@given(gaussian_cases())
def test_it_is_the_oracle(case: Case) -> None:
    model = case.model
    assert isinstance(model, GaussianGroups)
    if GaussianCovariance().refusal(model, (case.query,)) is None:
        proven = GaussianCovariance().epsilon(model, as_spend(case.query, 1.0))
        assert proven == pytest.approx(case.measure([1.0]), rel=1e-7)
        assert proven >= case.measure([1.0]) * (1 - 1e-13)


GALTON = [[3.5829**2, 0.2754 * 3.5829 * 2.4702, 0.2017 * 3.5829 * 2.3070], [0.0] * 3, [0.0] * 3]


def symmetric(matrix: list[list[float]], diagonal: list[float], rest: float) -> list[list[float]]:
    full = np.array(matrix)
    full[1, 2] = rest
    full = np.triu(full, 1)
    return (full + full.T + np.diag(diagonal)).tolist()  # type: ignore[no-any-return]


def test_reference_values() -> None:
    heights = symmetric(GALTON, [3.5829**2, 2.4702**2, 2.3070**2], 0.0737 * 2.4702 * 2.3070)
    assert covariance_factor(rows(heights)).factor == pytest.approx(1.468, abs=1e-3)
    scores = [[20.41**2, 0.4483 * 20.41 * 15.0], [0.4483 * 20.41 * 15.0, 15.0**2]]
    assert covariance_factor(rows(scores)).factor == pytest.approx(1.610, abs=1e-3)
    assert covariance_factor(autoregressive(500, 0.5)).factor == pytest.approx(3.0, rel=1e-8)
    steep = covariance_factor(rows([[1, 4.5, 0.05], [4.5, 25, 0], [0.05, 0, 1]]))
    assert steep.factor == pytest.approx(2.05)


DATA = Path(__file__).parents[4] / "shared" / "data"


def columns(name: str, *wanted: str) -> list[list[float]]:
    with (DATA / name).open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    return [[float(row[column]) for row in table] for column in wanted]


@pytest.mark.skipif(not DATA.exists(), reason="the real data sets are not here; the published moments are tested above")
def test_reference_values_from_the_real_files() -> None:
    heights = np.cov(columns("galton.csv", "height", "father", "mother"))
    assert covariance_factor(rows(heights)).factor == pytest.approx(1.46818, abs=5e-6)
    scores = np.cov(columns("kidiq.csv", "kid_score", "mom_iq"))
    assert covariance_factor(rows(scores)).factor == pytest.approx(1.60997, abs=5e-6)


@pytest.mark.parametrize("size", [7, 12])
@pytest.mark.parametrize("seed", range(3))
def test_larger_groups_agree_with_plain_enumeration(size: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    factors = generator.normal(size=(size, 2 * size))
    matrix = factors @ factors.T
    found = covariance_factor(rows((matrix + matrix.T) / 2))
    given = [*found.known, found.target]
    others = [record for record in range(size) if record not in given]
    slopes = matrix[np.ix_(others, given)] @ np.linalg.inv(matrix[np.ix_(given, given)])[:, -1]
    assert found.factor == pytest.approx(1 + np.minimum(np.abs(slopes), 1).sum(), rel=1e-9)
    for _ in range(300):
        target, *rest = generator.permutation(size)
        known = [*rest[: generator.integers(0, size)], target]
        unknown = [record for record in range(size) if record not in known]
        moved = matrix[np.ix_(unknown, known)] @ np.linalg.inv(matrix[np.ix_(known, known)])[:, -1]
        assert 1 + np.minimum(np.abs(moved), 1).sum() <= found.factor + 1e-9


@given(st.integers(11, 14), st.floats(-0.9, 0.9).filter(lambda value: abs(value) > 0.01), st.integers(0, 2**14))
def test_shared_signs_make_knowing_nothing_worst(size: int, coefficient: float, flips: int) -> None:
    """Autoregressive groups, with the signs of some records flipped: the fast path against full enumeration."""
    from bayesdp.theorems.gaussian.covariance import _enumerated, _Group

    signs = np.array([1 if flips >> index & 1 else -1 for index in range(size)])
    matrix = rows(np.array(autoregressive(size, coefficient)) * np.outer(signs, signs))
    assert find_signs(matrix) is not None
    fast = covariance_factor(matrix)
    assert fast.known == ()
    assert fast.factor == pytest.approx(_enumerated(_Group.of(matrix), (1.0,))[0].factor, rel=1e-7)


def test_equicorrelation_and_trees_share_signs() -> None:
    for size in (3, 60, 400):
        matrix = rows(np.full((size, size), 0.3) + 0.7 * np.eye(size))
        assert find_signs(matrix) is not None
    assert covariance_factor(matrix).factor == pytest.approx(1 + 399 * 0.3, rel=1e-9)
    star = np.eye(25)
    star[0, 1:] = star[1:, 0] = 0.5
    star[1:, 1:] += 0.25 * (1 - np.eye(24))
    assert find_signs(rows(star)) is not None
    assert find_signs(autoregressive(1000, -0.5)) is not None
    assert covariance_factor(autoregressive(200, 0.9)).factor == pytest.approx(19, rel=1e-4)


def test_two_parents_and_a_child_do_not_share_signs() -> None:
    family = rows([[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]])
    assert find_signs(family) is None
    assert covariance_factor(family).factor == pytest.approx(gaussian_lemma(family).factor)


def test_an_autoregressive_group_approaches_its_limit() -> None:
    for coefficient in (0.3, 0.8):
        limit = (1 + coefficient) / (1 - coefficient)
        assert covariance_factor(autoregressive(200, coefficient)).factor == pytest.approx(limit, rel=1e-6)


def test_large_groups_of_mixed_signs_name_theorems_that_apply() -> None:
    generator = np.random.default_rng(1)
    factors = generator.normal(size=(30, 60))
    model = GaussianGroups(covariance=factors @ factors.T / 60)
    reason = GaussianCovariance().refusal(model, (SUM,))
    assert reason is not None
    assert "too large to enumerate" in reason
    assert "general may still apply" in reason
    with pytest.raises(DoesNotApplyError, match="too large"):
        covariance_factor(model.kinds[0])
    assert leakage(model, SUM, tau=1.0).theorem == "general"


def test_ill_conditioned_covariances_are_refused() -> None:
    nearly = GaussianGroups(covariance=[[1, 1 - 1e-11], [1 - 1e-11, 1]])
    reason = GaussianCovariance().refusal(nearly, (SUM,))
    assert reason is not None
    assert "ill-conditioned" in reason
    assert "arbitrary groups of size 2" in reason


def test_several_kinds_releases_and_distances() -> None:
    kinds = GaussianGroups(covariance=[[[1, 0.3], [0.3, 1]], [[1, 0.5], [0.5, 1]]])
    theorem = GaussianCovariance()
    assert theorem.epsilon(kinds, as_spend(SUM, 1.0)) == pytest.approx(1.5)
    mixed = as_spend([(SUM, 1.0), (Sum(bounds=(0, 50)), 1.0), (Count(equals=1), 0.25)])
    assert theorem.epsilon(kinds, mixed) == pytest.approx(1.5 + 2.0 + 2 * 0.25)
    far = GaussianGroups(covariance=[[1, 0.5], [0.5, 1]], distance=150)
    assert theorem.epsilon(far, as_spend(SUM, 1.0)) == pytest.approx(1.75)


def jointly_enumerated(covariance: Rows, releases: list[tuple[float, float]]) -> float:
    """The largest Σ_k τ_k·Σ_j min(|β_j|·r_k, 1) over adversaries, by the oracle, one adversary at a time."""
    size = len(covariance)
    return max(
        sum(tau * gaussian_lemma(covariance, reach=reach, adversary=(target, known)).factor for reach, tau in releases)
        for target in range(size)
        for count in range(size)
        for known in itertools.combinations([record for record in range(size) if record != target], count)
    )


@given(gaussian_cases(), st.floats(1.0, 20.0), st.floats(0.01, 5.0))
def test_several_widths_are_maximised_together(case: Case, narrower: float, tau: float) -> None:
    model = case.model
    assert isinstance(model, GaussianGroups)
    assert isinstance(case.query, Sum)
    assert case.query.bounds is not None
    high = case.query.bounds[1]
    queries = (case.query, Sum(bounds=(0.0, high / narrower)))
    assume(GaussianCovariance().refusal(model, queries) is None)
    proven = GaussianCovariance().epsilon(model, as_spend([(queries[0], 1.0), (queries[1], tau)]))
    wide, narrow = (float(reach_of(query, model, queries) or 0) for query in queries)
    expected = jointly_enumerated(rows(model.kinds[0]), [(wide, 1.0), (narrow, tau)])
    assert proven == pytest.approx(expected, rel=1e-7)
    assert proven >= expected * (1 - 1e-12)


def test_the_worst_of_two_widths_is_no_sum_of_worsts() -> None:
    """The wide sum is worst for who knows record 0; the narrow one for who does not: no adversary is both."""
    family = GaussianGroups(covariance=[[1, 0.7, 7], [0.7, 1, 0], [7, 0, 100]], distance=10)
    wide, narrow = Sum(bounds=(0, 100)), Sum(bounds=(0, 1))
    theorem = GaussianCovariance()
    together = theorem.epsilon(family, as_spend([(wide, 1.0), (narrow, 0.1)]))
    apart = theorem.epsilon(family, as_spend(wide, 1.0)) + theorem.epsilon(family, as_spend(narrow, 0.1))
    assert together < apart - 1e-3
    assert together == pytest.approx(jointly_enumerated(rows(family.kinds[0]), [(0.1, 1.0), (10.0, 0.1)]))
    tau = theorem.closed_form(family, wide, 1.0, as_spend(narrow, 0.1))
    assert theorem.epsilon(family, as_spend([(wide, tau), (narrow, 0.1)])) == pytest.approx(1.0, rel=1e-12)


def test_the_worst_adversary_is_named() -> None:
    found = leakage(GaussianGroups(covariance=[[1, 0.6, 0.3], [0.6, 1, 0.5], [0.3, 0.5, 1]]), SUM, tau=1)
    assert found.theorem == "gaussian-covariance"
    assert found.worst_case == "an adversary who targets record 1 of a group and knows no other record of it"
    assert math.isclose(found.epsilon, 2.1, rel_tol=1e-9)


@given(st.integers(1, 40), st.integers(0, 2**32 - 1), st.floats(0.0, 1.0))
def test_norms_bound_the_eigenvalues_of_large_groups(size: int, seed: int, common: float) -> None:
    factors = np.random.default_rng(seed).normal(size=(size, size + 2))
    matrix = (1 - common) * factors @ factors.T / size + common + 0.01 * np.eye(size)
    deviations = np.sqrt(np.diag(matrix))
    correlations = matrix / np.outer(deviations, deviations)
    correlations = (correlations + correlations.T) / 2
    eigenvalues = np.linalg.eigvalsh(correlations)
    smallest, largest = _smallest_eigenvalue(correlations), _norm_above(correlations)
    assert eigenvalues[0] / size**0.5 * (1 - 1e-6) <= smallest <= eigenvalues[0] * (1 + 1e-9)
    assert eigenvalues[-1] * (1 - 1e-9) <= largest <= eigenvalues[-1] * size**0.5 * (1 + 1e-9)


def test_a_nearly_singular_matrix_is_not_certified() -> None:
    steps = np.arange(30)
    hilbert = 1 / (1 + steps[:, None] + steps)
    assert _smallest_eigenvalue(hilbert) <= 1e-15
