"""A sparse precision: every way to give it, and what is refused."""

import json
from typing import Any

import numpy as np
import polars
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.errors import ModelError, RecordsError
from bayesdp.models import GroupLayout
from bayesdp.models.precision import Precision, exact_inverse

ROWS = [[2.0, -0.5, 0.0], [-0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]
ONCE = {"records": 3, "entries": [[0, 0, 2.0], [1, 0, -0.5], [1, 1, 1.0], [2, 2, 1.0]]}
TWICE = {"records": 3, "entries": [*ONCE["entries"], [0, 1, -0.5]]}  # type: ignore[misc]


@pytest.mark.parametrize("given", [ROWS, np.array(ROWS), sp.csr_array(ROWS), sp.coo_matrix(ROWS), ONCE, TWICE])
def test_every_form_is_the_same_model(given: Any) -> None:
    model = bdp.GaussianGroups(precision=given)
    assert model == bdp.GaussianGroups(precision=ROWS)
    assert hash(model) == hash(bdp.GaussianGroups(precision=ROWS))
    assert model != bdp.GaussianGroups(precision=np.eye(3))
    assert bdp.Model.from_json(model.to_json()) == model
    assert model.group_size == 2
    assert np.linalg.inv(np.array(ROWS)[:2, :2]) == pytest.approx(np.array(model.kinds[1]))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([[1, 0.5], [0.4, 1]], "must be symmetric: row 0, column 1 is 0.5"),
        (sp.csr_array([[1, 0.5], [0, 1.0]]), "must be symmetric"),
        ({"records": 2, "entries": [[0, 0, 1], [1, 1, 1], [0, 1, 0.2], [1, 0, 0.3]]}, "given as 0.2 and as 0.3"),
        ([[1, 2], [2, 1]], "not positive definite"),
        ([[1, 0], [0, -1]], "diagonal in row 1 must be greater than 0"),
        ({"records": 2, "entries": [[0, 0, 1], [0, 1, 0.1]]}, "diagonal in row 1"),
        ({"records": 2, "entries": [[0, 0, 1]]}, "the diagonal of each of 2 records must be given"),
        ({"records": 10**18, "entries": [[0, 0, 1]]}, "the diagonal of each of 1000000000000000000 records"),
        ({"records": 2, "entries": [[0, 0, 1], [1, 2, 1]]}, "not in a row and a column from 0 to 1"),
        ({"records": 2, "entries": [[0, 0, 1], [0.5, 1, 1]]}, "not in a row and a column"),
        ({"records": 2, "entries": [[0, 0, 1], [1, 1]]}, "three numbers"),
        ({"records": 2, "entries": [[0, 0, 1, 1]]}, "three numbers"),
        ({"records": 2, "entries": [[0, 0, "x"]]}, "three numbers"),
        ({"records": 2, "entries": []}, "three numbers"),
        ({"records": 2}, '"records" and "entries"'),
        ({"records": 0, "entries": [[0, 0, 1]]}, "records must be at least 1"),
        ({"records": 2, "entries": [[0, 0, 1], [1, 1, float("nan")]]}, "finite"),
        (sp.csr_array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), "square"),
        (sp.csr_array([[1j]]), "real numbers"),
        ([[1, 0.2, 0.1], [0.2, 1]], "square"),
        ("precision", "must be a list"),
    ],
)
def test_what_is_no_precision_is_refused(given: Any, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        bdp.GaussianGroups(precision=given)


def test_one_of_three_and_no_layout() -> None:
    with pytest.raises(ModelError, match="give either"):
        bdp.GaussianGroups(precision=ROWS, covariance=ROWS)
    with pytest.raises(ModelError, match="size= goes with"):
        bdp.GaussianGroups(precision=ROWS, size=3)
    with pytest.raises(ModelError, match="no layout"):
        bdp.GaussianGroups(precision=ROWS, layout=GroupLayout("x", "family"))
    moments = bdp.GaussianGroups.from_moments([0, 0], [[1, 0.1], [0.1, 1]], groups=9).moments
    with pytest.raises(ModelError, match="covariance"):
        bdp.GaussianGroups(precision=np.eye(2), moments=moments)


def test_large_ones_that_are_not_walk_summable_are_refused() -> None:
    size = 2500
    loud = sp.diags_array([0.6, 1.0, 0.6], offsets=[-2, 0, 2], shape=(size, size))
    frustrated = loud + sp.diags_array([0.6, 0.6], offsets=[-1, 1], shape=(size, size))
    with pytest.raises(ModelError, match="too many to check whether"):
        bdp.GaussianGroups(precision=frustrated)


def test_small_ones_need_not_be_walk_summable() -> None:
    equal = np.full((4, 4), 0.9) + 0.1 * np.eye(4)
    model = bdp.GaussianGroups(precision=equal)
    assert model.precision is not None
    assert model.precision.dominance is None
    assert bdp.leakage(model, bdp.Sum(bounds=(0, 1)), tau=1.0).theorem == "gaussian-tight"


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_the_certificate_is_one(size: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    matrix = np.triu(generator.uniform(-1, 1, (size, size)), 1)
    strength = generator.uniform(0, 2) / generator.choice([1, size**0.5, size**0.5, size])
    matrix = (matrix + matrix.T) * strength + np.eye(size)
    deviations = np.exp(generator.uniform(-3, 3, size))
    matrix *= np.outer(deviations, deviations)
    try:
        precision = Precision.of(matrix)
    except ModelError:
        assert np.linalg.eigvalsh(matrix)[0] < 1e-8 * deviations.max() ** 2
        return
    comparison = 2 * np.diag(np.diag(matrix)) - np.abs(matrix)
    inverse = np.linalg.inv(comparison)
    if precision.dominance is None:
        assert inverse.min() <= 1e-9 * np.abs(inverse).max()
    else:
        assert (inverse >= -1e-9 * np.abs(inverse).max()).all()
        assert (comparison @ precision.dominance.weights >= precision.dominance.left).all()


@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_small_inverses_are_exact(size: int, seed: int) -> None:
    factors = np.random.default_rng(seed).normal(size=(size, size + 2))
    matrix = factors @ factors.T
    matrix = (matrix + matrix.T) / 2
    inverse = np.array(exact_inverse(matrix))
    assert (inverse == inverse.T).all()
    assert inverse == pytest.approx(np.linalg.inv(matrix), rel=1e-6, abs=1e-9 * np.abs(inverse).max())


def test_it_is_read_shown_and_refused_for_one_adversary() -> None:
    document = {"type": "gaussian", "precision": ONCE, "distance": 0.5}
    model = bdp.Model.from_json(json.dumps(document))
    assert isinstance(model, bdp.GaussianGroups)
    assert "the given precision" in model.assumption
    assert "Standard deviations" in model.parameters
    assert "1 pairs" not in model.summary()
    long = bdp.GaussianGroups(precision=sp.diags_array([-0.4, 1, -0.4], offsets=[-1, 0, 1], shape=(99, 99)))
    assert "A precision of 99 records, 98 pairs of which are directly dependent." in long.parameters
    with pytest.raises(ModelError, match="too large to list"):
        _ = long.largest_correlation
    assert bdp.leakage(model, bdp.Sum(bounds=(0, 1)), tau=1.0).epsilon == pytest.approx(0.75)
    with pytest.raises(bdp.errors.NoTheoremAppliesError, match="give its covariance instead"):
        bdp.leakage(model, bdp.Sum(bounds=(0, 1)), tau=1.0, target=0)


def test_a_session_counts_the_records() -> None:
    model = bdp.GaussianGroups(precision=ROWS, column="x")
    with bdp.Session(polars.DataFrame({"x": [1.0, 2.0]}), model, epsilon=1.0, dataset="two") as session:
        answer = session.release(bdp.Sum("x", bounds=(0, 4)), epsilon=0.5)
    assert answer.tau == pytest.approx(0.5 / 1.5, rel=1e-6)
    assert "Only the number of records" in str(model.unchecked)
    with pytest.raises(RecordsError, match="has 4 records, but the precision describes 3"):
        bdp.check_table(polars.DataFrame({"x": [1.0, 2, 3, 4]}), model)
    anything = bdp.GaussianGroups(precision=ROWS)
    with pytest.raises(RecordsError, match="has 4 records"):
        bdp.check_table(polars.DataFrame({"x": [1.0, 2, 3, 4]}), anything, bdp.Sum("x", bounds=(0, 4)))
