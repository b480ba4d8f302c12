import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp.errors import InvalidInputError
from bayesdp.window_trees import Node, TreeNoise, WindowTree, window_tree

NOISES = st.sampled_from(("laplace", "gaussian"))
HORIZONS = st.none() | st.integers(1, 70)
POWER: dict[TreeNoise, int] = {"laplace": 2, "gaussian": 1}


def all_nodes(root: Node) -> Iterator[Node]:
    yield root
    for child in root.children:
        yield from all_nodes(child)


def taken(roots: Iterable[Node], period: int) -> Fraction:
    """Return the share of the loss that a record of a period pays."""
    nodes = (node for root in roots for node in all_nodes(root) if node.start <= period < node.stop)
    return sum((node.share for node in nodes), Fraction(0))


def dense(tree: WindowTree, periods: int) -> tuple[Any, Any, Any]:
    """Return, for the nodes released so far, which periods each reads, the root of its precision, and their order."""
    nodes = tree.completed(periods)
    design = np.array([[node.start <= period < node.stop for period in range(periods)] for node in nodes], dtype=float)
    roots = np.array([float(node.share) ** (POWER[tree.noise] / 2) for node in nodes])
    return design, roots, [node.window for node in nodes]


@given(horizon=HORIZONS, noise=NOISES, periods=st.integers(1, 70))
def test_no_record_pays_more_than_the_loss(horizon: int | None, noise: TreeNoise, periods: int) -> None:
    tree = window_tree(horizon, noise)
    periods = min(periods, horizon or periods)
    roots = tree._roots(periods)
    assert all(0 < taken(roots, period) <= 1 for period in range(periods))


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_year_pays_the_loss_once(noise: TreeNoise) -> None:
    roots = window_tree(365, noise)._roots(365)
    assert max(taken(roots, period) for period in range(365)) == 1


def test_a_leaf_with_one_share_more_is_found_out() -> None:
    """The property above is not empty: a last leaf that took the share of its parent, too, would fail it."""
    root = next(root for root in window_tree(365, "laplace")._roots(365) if root.children)
    last = root.children[-1]
    greedy = replace(root, children=(*root.children[:-1], replace(last, share=last.share + root.share)))
    assert taken([greedy], last.start) > 1


@given(horizon=HORIZONS, noise=NOISES, periods=st.integers(1, 40), seed=st.integers(0, 2**32 - 1))
def test_totals_are_those_of_dense_least_squares(
    horizon: int | None, noise: TreeNoise, periods: int, seed: int
) -> None:
    tree = window_tree(horizon, noise)
    periods = min(periods, horizon or periods)
    design, roots, windows = dense(tree, periods)
    noisy = np.random.default_rng(seed).integers(-1000, 1000, len(windows))
    estimate, *_ = np.linalg.lstsq(design * roots[:, None], noisy * roots, rcond=None)
    total = tree.total(periods, dict(zip(windows, map(Fraction, noisy.tolist()), strict=True)))
    assert float(total) == pytest.approx(estimate.sum(), abs=1e-6)
    covariance = np.linalg.inv((design * (roots**2)[:, None]).T @ design)
    assert tree.variance(periods) == pytest.approx(covariance.sum(), rel=1e-9)


@given(horizon=HORIZONS, noise=NOISES, periods=st.integers(1, 60))
def test_what_answers_count_for_has_the_stated_variance(horizon: int | None, noise: TreeNoise, periods: int) -> None:
    tree = window_tree(horizon, noise)
    periods = min(periods, horizon or periods)
    stated = sum(
        number * weight**2 / float(share) ** POWER[noise]
        for (share, weight), number in tree.coefficients(periods).items()
    )
    assert stated == pytest.approx(tree.variance(periods), rel=1e-9)


@given(horizon=HORIZONS, noise=NOISES, periods=st.integers(1, 60))
def test_a_total_of_exact_answers_is_exact(horizon: int | None, noise: TreeNoise, periods: int) -> None:
    tree = window_tree(horizon, noise)
    periods = min(periods, horizon or periods)
    exact = {
        (start, stop): Fraction(sum(day**3 for day in range(start, stop)))
        for start, stop in (node.window for node in tree.completed(periods))
    }
    assert tree.total(periods, exact) == sum(day**3 for day in range(periods))


@given(horizon=HORIZONS, noise=NOISES, periods=st.integers(1, 60), before=st.integers(0, 60))
def test_each_node_is_released_once(horizon: int | None, noise: TreeNoise, periods: int, before: int) -> None:
    tree = window_tree(horizon, noise)
    periods = min(periods, horizon or periods)
    before = min(before, periods)
    first = tree.completed(before) if before else ()
    windows = [node.window for node in (*first, *tree.completed(periods, since=before))]
    assert sorted(windows) == sorted(node.window for node in tree.completed(periods))
    assert len(set(windows)) == len(windows)
    assert all(stop <= periods for _, stop in windows)


@given(horizon=HORIZONS, noise=NOISES, periods=st.integers(1, 60))
def test_the_worst_total_is_the_largest_variance(horizon: int | None, noise: TreeNoise, periods: int) -> None:
    tree = window_tree(horizon, noise)
    periods = min(periods, horizon or periods)
    assert tree.worst(periods) == pytest.approx(max(tree.variance(day) for day in range(1, periods + 1)), rel=1e-12)


def test_a_planned_tree_does_not_depend_on_earlier_plans() -> None:
    early, late = WindowTree(None, "laplace"), WindowTree(None, "laplace")
    early.worst(3)
    assert early.completed(200) == late.completed(200)


@pytest.mark.parametrize(("noise", "power"), [("laplace", 1.0), ("gaussian", 0.5)])
def test_a_year_errs_far_less_than_separate_totals(noise: TreeNoise, power: float) -> None:
    ratio = math.sqrt(window_tree(365, noise).worst()) / 365**power
    assert ratio <= {"laplace": 0.027, "gaussian": 0.24}[noise]


@pytest.mark.parametrize("horizon", [0, -1, 2.5, True, math.nan, 10_001, "a"])
def test_a_horizon_is_a_number_of_periods(horizon: Any) -> None:
    with pytest.raises(InvalidInputError, match="horizon"):
        WindowTree(horizon, "laplace")


def test_what_a_tree_cannot_say_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="noise must be"):
        WindowTree(3, "uniform")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="has 3 periods, not 4"):
        WindowTree(3, "laplace").completed(4)
    with pytest.raises(InvalidInputError, match="up to which period"):
        WindowTree(None, "laplace").worst()
    with pytest.raises(InvalidInputError, match="100,000"):
        WindowTree(None, "laplace").completed(100_001)
