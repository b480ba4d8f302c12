"""The means of sums of a series by transfer matrix, against sums over all series by hand."""

from itertools import product

import numpy as np
import pytest

from bayesdp.errors import ModelError
from bayesdp.models import series_sums as module
from bayesdp.models.series_sums import Course, estimated, expected_sums, stationary

COURSE = np.array([0, 0, 1, 1, 0, -1, -1, 1, 0, 1, 1], dtype=np.int16)
FIELDS, EFFECTS = np.array([-0.5, 0.8]), np.array([1.2, 0.4])


def means_by_hand() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    total, means = 0.0, np.zeros(4)
    for values in product((0, 1), repeat=len(COURSE)):
        x = np.array(values)
        if x[COURSE < 0].any():
            continue
        pairs = [x[1:] @ x[:-1], x[2:] @ x[:-2]]
        sums = np.array([x[COURSE == 0].sum(), x[COURSE == 1].sum(), *pairs])
        weight = np.exp(sums @ np.concatenate([FIELDS, EFFECTS]))
        total, means = total + weight, means + weight * sums
    return np.asarray(means / total)


def test_means_are_those_of_all_series() -> None:
    course = Course.of(COURSE, 2)
    assert expected_sums(course, FIELDS[None], EFFECTS[None])[0] == pytest.approx(means_by_hand(), rel=1e-12)
    assert course.records.tolist() == [4, 5]


def test_parts_with_margins_make_up_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    strata = (np.arange(1500) // 7 % 3).astype(np.int16)
    fields, effects = np.array([[-2.0, -1.0, -1.6]]), np.array([[1.5, 0.3, 0.2]])
    parts = expected_sums(Course.of(strata, 3), fields, effects)
    monkeypatch.setattr(module, "_PARTS", (1500,))
    whole = Course.of(strata, 3)
    assert len(whole.parts) == 1
    assert parts == pytest.approx(expected_sums(whole, fields, effects), rel=1e-9)


def test_the_slope_of_strata_that_do_not_meet_is_that_of_all() -> None:
    course, found = stationary([300, 500]), np.array([-1.0, -2.0, 1.1, 0.4])
    means, slope = module._means_and_slope(course, found, 2)
    doubled = Course(course.parts[:, :-1], course.times, module._MARGIN - 1, 2)
    joined = Course(np.pad(doubled.parts, ((0, 0), (0, 1)), mode="edge"), course.times, module._MARGIN, 2)
    monkey = module.expected_sums(joined, found[None, :2], found[None, 2:])[0]
    assert means == pytest.approx(monkey, rel=1e-9)
    step = 1e-5
    for index in range(4):
        moved = found + step * np.eye(4)[index]
        rise = (module.expected_sums(course, moved[None, :2], moved[None, 2:])[0] - means) / step
        assert slope[index] == pytest.approx(rise, rel=2e-3, abs=1e-2)


def test_exact_sums_give_the_effects_again() -> None:
    course = Course.of((np.arange(6000) // 12 % 3).astype(np.int16), 3)
    fields, effects = np.array([[-2.5, -1.5, -1.0]]), np.array([[1.6, 0.5]])
    sums = expected_sums(course, fields, effects)[0]
    found = estimated(course, sums.tolist(), np.full(5, 0.1), [4.0, 4.0])
    assert found is not None
    assert found.effects == pytest.approx(effects[0], abs=0.05)


def test_sums_that_no_series_has_are_hidden() -> None:
    course = stationary([100])
    assert estimated(course, [-3.0, 4.0], np.ones(2), [4.0]) is None
    assert estimated(course, [50.0, -4.0], np.ones(2), [4.0]) is None
    assert estimated(course, [50.0, 400.0], np.full(2, 0.1), [1.0]) is None


def test_a_course_that_never_repeats_itself_is_refused() -> None:
    strata = np.random.default_rng(0).integers(0, 40, 10**5).astype(np.int16)
    with pytest.raises(ModelError, match="fewer strata"):
        Course.of(strata, 40).check(8)
