"""The root search by itself: every answer was evaluated, keeps its target, and is the largest up to the tolerance."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.calibration.search import LARGEST_TAU, searched, stepped_down

CURVES: dict[str, Callable[[float], float]] = {
    "linear": lambda tau: 15264 * tau,
    "root": math.sqrt,
    "square": lambda tau: tau**2,
    "exponential": lambda tau: math.expm1(min(tau, 600)),
    "steps": lambda tau: math.ceil(10 * tau) / 10,
    "kink": lambda tau: tau if tau < 0.3 else 0.3 + 40 * (tau - 0.3),
    "offset": lambda tau: 2 + tau,
    "steep": lambda tau: 1e200 * tau,
}


class Evaluated:
    """A function that remembers where it was evaluated."""

    def __init__(self, curve: Callable[[float], float]) -> None:
        self.curve = curve
        self.known: dict[float, float] = {}
        self.batches = 0

    def __call__(self, taus: Sequence[float]) -> list[float]:
        self.batches += 1
        self.known.update((tau, self.curve(tau)) for tau in taus)
        return [self.known[tau] for tau in taus]


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("at_once", [False, True])
@given(targets=st.lists(st.floats(1e-6, 500), min_size=1, max_size=4, unique=True).map(sorted))
def test_the_largest_argument_that_keeps_each_target(name: str, at_once: bool, targets: list[float]) -> None:
    function = Evaluated(CURVES[name])
    for target, tau in zip(targets, searched(function, targets, [], 1e-12, at_once), strict=True):
        if tau is None:
            assert all(value > target for value in function.known.values())
            assert CURVES[name](2.0**-960 * target) > target
            continue
        assert function.known[tau] <= target, "an answer was evaluated, and keeps its promise"
        beyond = tau * (1 + 1e-11) + 1e-300
        assert CURVES[name](beyond) > target or tau >= LARGEST_TAU


def test_starts_near_the_answers_save_evaluations() -> None:
    far, near = Evaluated(CURVES["square"]), Evaluated(CURVES["square"])
    searched(far, [2.0], [], 1e-12, False)
    searched(near, [2.0], [math.sqrt(2) * (1 - 1e-9), math.sqrt(2) * (1 + 1e-9)], 1e-12, False)
    assert near.batches < far.batches


@given(st.floats(0.5, 1.05), st.floats(0.2, 5), st.floats(-0.1, 0.1))
def test_slow_theorems_are_evaluated_a_few_times(power: float, off: float, bent: float) -> None:
    """Where ε is nearly a power of τ: the answer keeps its target and is near the largest."""
    function = Evaluated(lambda tau: math.pow(tau, power + bent * math.tanh(math.log(tau))))
    (tau,) = searched(function, [1.0], [off], 8e-3, False)
    assert tau is not None
    assert function.known[tau] <= 1
    assert tau >= 1 - 0.012
    assert function.batches <= 7


@pytest.mark.parametrize("name", [name for name in CURVES if name != "steps"])  # ε of a theorem does not jump
@pytest.mark.parametrize("start", [1e-3, 1.0, 30.0])
def test_a_rough_search_keeps_its_target_on_any_curve(name: str, start: float) -> None:
    function = Evaluated(CURVES[name])
    (tau,) = searched(function, [2.5], [start], 8e-3, False)
    assert tau is not None
    assert function.known[tau] <= 2.5
    assert CURVES[name](tau * 1.02) > 2.5 or tau >= LARGEST_TAU


def test_a_target_out_of_reach_takes_few_evaluations() -> None:
    function = Evaluated(CURVES["offset"])
    assert searched(function, [1.0], [2.0**-60, 2.0**-5], 8e-3, False) == [None]
    assert function.batches <= 4


@pytest.mark.parametrize("slope", [1e20, 1e150, 1e280])
@pytest.mark.parametrize("off", [1e-13, 1e-3, 1.0])
def test_a_start_just_above_a_tiny_answer_does_not_hide_it(slope: float, off: float) -> None:
    function = Evaluated(lambda tau: slope * tau)
    (tau,) = searched(function, [1.0], [(1 + off) / slope], 1e-12, True)
    assert tau == pytest.approx(1 / slope, rel=1e-11)
    assert function.batches < 80


def test_several_targets_share_what_was_evaluated() -> None:
    together, alone = Evaluated(CURVES["kink"]), [Evaluated(CURVES["kink"]) for _ in range(5)]
    targets = [0.1, 0.2, 0.5, 1.0, 2.0]
    searched(together, targets, [], 1e-12, True)
    for function, target in zip(alone, targets, strict=True):
        searched(function, [target], [], 1e-12, True)
    assert together.batches < sum(function.batches for function in alone)


@given(st.floats(1e-6, 100), st.floats(0, 2**-46), st.floats(0.05, 2))
def test_a_formula_slightly_too_large_is_lowered(epsilon: float, excess: float, steepness: float) -> None:
    function = Evaluated(lambda tau: epsilon * math.exp(steepness * math.log(tau) + excess))
    tau = stepped_down(1.0, epsilon, function)
    assert tau is not None
    assert function.known[tau] <= epsilon
    assert tau > 1 - 2.1 * excess / steepness - 2**-48
    assert function.batches <= 8


def test_a_formula_far_too_large_is_not_used() -> None:
    assert stepped_down(2.0, 1.0, lambda taus: list(taus)) is None
    assert stepped_down(1.0, 1.0, lambda taus: [1.0 + 1e-9 for _ in taus]) is None
