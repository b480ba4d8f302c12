import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import (
    AnyOf,
    ArbitraryGroups,
    Count,
    GaussianGroups,
    MarkovChain,
    Model,
    Sum,
    calibrate,
    leakage,
)
from bayesdp.audit.oracle import bdpl, generalized_randomized_response, randomized_response
from bayesdp.errors import ModelError, NoTheoremAppliesError
from bayesdp.testing import TheoremContract, every_case, group_cases
from bayesdp.testing.cases import Case, kept_cases
from bayesdp.theorems.general import GeneralBound

COUNT = Count(equals=1)


class TestGeneralBound(TheoremContract):
    theorem = GeneralBound()
    cases = every_case()
    refused = ((MarkovChain([[0.5, 0.5], [0.5, 0.5]]), COUNT),)


class TestKeptRecords(TheoremContract):
    theorem = GeneralBound()
    cases = kept_cases()
    refused = TestGeneralBound.refused


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_kept_records_leak_no_more_but_no_less(keep: int) -> None:
    """Three equal records: a bound of one record less, or one for a release that reads all of them, would be false."""
    joint, tau = np.zeros((2, 2, 2)), 0.7
    joint[0, 0, 0] = joint[1, 1, 1] = 0.5
    whole = randomized_response(1 / (1 + math.exp(tau)), records=3)
    kept = randomized_response(1 / (1 + math.exp(tau)), records=keep)
    read = np.broadcast_to(kept.reshape((2,) * keep + (1,) * (3 - keep) + (-1,)), (2, 2, 2, kept.shape[-1]))
    proven = leakage(ArbitraryGroups(300, group="user", keep=keep), COUNT, tau=tau).epsilon
    assert bdpl(joint, read).epsilon == pytest.approx(proven)
    assert bdpl(joint, read).epsilon > (keep - 1) * tau + 1e-9
    assert (bdpl(joint, whole).epsilon > proven + 1e-9) == (keep < 3)


def test_reference_value() -> None:
    assert leakage(ArbitraryGroups(3), COUNT, tau=1.0).epsilon == 3.0
    assert leakage(ArbitraryGroups(3), COUNT, tau=0.1).epsilon >= 0.3


def tightness_example(r: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The paper's table: rows are X1, columns X2; its Pearson correlation vanishes as r grows."""
    return np.array([[1 / r**2, 1 / r**3], [(r - 1) / r**2, (r**3 - r**2 - 1) / r**3]])


@pytest.mark.parametrize("tau", [0.5, 1.0, 3.0])
def test_the_papers_tightness_example_approaches_twice_tau(tau: float) -> None:
    kernel = randomized_response(1 / (1 + math.exp(tau)), records=2)
    leaks, correlations = [], []
    for r in (10.0, 1e2, 1e3, 1e4):
        joint = tightness_example(r)
        assert joint.sum() == pytest.approx(1)
        leaks.append(bdpl(joint, kernel).epsilon)
        first, second = joint[1].sum(), joint[:, 1].sum()
        spread = math.sqrt(first * (1 - first) * second * (1 - second))
        correlations.append((joint[1, 1] - first * second) / spread)
    assert leaks == sorted(leaks)
    assert leaks[-1] <= 2 * tau + 1e-12
    assert leaks[-1] == pytest.approx(2 * tau, rel=2e-2 * math.exp(tau) / tau)
    assert correlations == sorted(correlations, reverse=True)
    assert 0 < correlations[-1] < 0.02


GROUPS = (
    ArbitraryGroups(3, unit="group"),
    GaussianGroups(correlation=0.1, size=3, unit="group"),
    GaussianGroups(covariance=[[1, 0.1, 0.1], [0.1, 1, 0.1], [0.1, 0.1, 1]], unit="group"),
    GaussianGroups(precision=[[1, 0.1, 0.1], [0.1, 1, 0.1], [0.1, 0.1, 1]], unit="group"),
)


@pytest.mark.parametrize("model", GROUPS, ids=lambda model: model.kind)
def test_only_this_theorem_protects_a_whole_group(model: Model) -> None:
    found = leakage(model, Sum(bounds=(0, 1)), tau=0.5)
    assert (found.theorem, found.epsilon) == ("general", 1.5)
    assert [each.theorem for each in found.assessments if each.applies] == ["general"]
    assert "a whole group of at most 3 records" in found.unit
    assert "a person who is the group is protected" in str(found)
    assert calibrate(model, Sum(bounds=(0, 1)), epsilon=1.5).tau == 0.5
    assert Model.from_json(model.to_json()) == model
    assert '"unit": "group"' in model.to_json()
    with pytest.raises(NoTheoremAppliesError):
        leakage(model, Sum(bounds=(0, 1)), tau=0.5, target=0)


@pytest.mark.parametrize("unit", ["person", 3, None, True])
def test_other_units_of_groups_are_refused(unit: Any) -> None:
    with pytest.raises(ModelError, match='"record" or "group"'):
        ArbitraryGroups(3, unit=unit)
    with pytest.raises(ModelError, match='"record" or "group"'):
        GaussianGroups(correlation=0.1, size=3, unit=unit)


def test_a_whole_group_and_one_record_are_different_promises() -> None:
    with pytest.raises(ModelError, match="protect different things"):
        AnyOf(ArbitraryGroups(3, unit="group"), ArbitraryGroups(3))
    assert ArbitraryGroups(3, unit="group") != ArbitraryGroups(3)
    assert "unit" not in ArbitraryGroups(3).to_dict()


@given(group_cases(), st.floats(0.1, 2))
def test_no_filling_of_a_group_is_told_from_another_by_more(case: Case, tau: float) -> None:
    """Randomized response on every record of a group: the oracle's kernel itself, all values of the group apart."""
    size = case.model.group_size
    assert size is not None
    outputs = generalized_randomized_response(tau, 3, size).reshape(3**size, -1)
    largest = float(np.log(outputs.max(axis=0) / outputs.min(axis=0)).max())
    proven = leakage(ArbitraryGroups(size, unit="group"), case.query, tau=tau).epsilon
    assert largest == pytest.approx(proven, rel=1e-9)
