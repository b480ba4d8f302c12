"""Walks through a network of bounded odds: bounded from above and closely."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shaped_networks import complete, grid  # type: ignore[import-not-found]

from bayesdp import Network
from bayesdp.theorems.odds import walks as walk_sums
from bayesdp.theorems.odds.walks import Walks, walks


def exact_sums(network: Network) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The walk sums as the statement has them, by a dense inverse."""
    ties = network.ties
    step = np.zeros((ties.size, ties.size))
    step[ties.first, ties.second] = step[ties.second, ties.first] = np.tanh(ties.log_odds / 4)
    inverse = np.linalg.inv(np.eye(ties.size) - step)
    return np.asarray((inverse @ ties.visible / np.diag(inverse))[ties.visible])


@st.composite
def sparse_networks(draw: st.DrawFn) -> Network:
    size = draw(st.integers(2, 30))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pairs = {tuple(sorted(random.choice(size, 2, replace=False).tolist())) for _ in range(draw(st.integers(1, 40)))}
    edges = [(i, j, float(1 + random.exponential(0.3))) for i, j in sorted(pairs)]
    hidden = random.choice(size, int(random.integers(0, size // 2)), replace=False).tolist()
    return Network(edges=edges, records=size, hidden=hidden)


@given(sparse_networks())
def test_walks_are_bounded_from_above_and_closely(network: Network) -> None:
    sums = walks(network)
    if isinstance(sums, str) or not network.ties.visible.any():
        return
    exact = exact_sums(network).max() - 1
    assert exact <= sums.beyond + 1e-15
    assert sums.beyond <= exact * (1 + 1e-9) + 1e-11


def test_large_networks_count_the_shortest_ways_back(monkeypatch: pytest.MonkeyPatch) -> None:
    network = grid(12, 1.5)
    exact = exact_sums(network).max() - 1
    monkeypatch.setattr(walk_sums, "_INVERTED", 0)
    near = walk_sums._of_edges(network.ties)
    monkeypatch.setattr(walk_sums, "_MOST_PRODUCTS", 0)
    far = walk_sums._of_edges(network.ties)
    assert isinstance(near, Walks)
    assert isinstance(far, Walks)
    assert exact <= near.beyond < 1.001 * exact
    assert near.beyond < far.beyond < 1.03 * exact


@pytest.mark.parametrize("degree", [1, 2, 3, 7])
def test_the_regular_tree_has_most_walks_of_its_degree(degree: int) -> None:
    odds = 1 + 0.8 / degree
    bounded = walks(Network(odds=odds, degree=degree))
    layers, edges, size = [[0]], [], 1
    for depth in range(8 if degree < 4 else 3):  # a regular tree, cut
        layers.append([])
        for vertex in layers[depth]:
            for _ in range(degree - (depth > 0)):
                edges.append((vertex, size, odds))
                layers[-1].append(size)
                size += 1
    assert isinstance(bounded, Walks)
    cut = exact_sums(Network(edges=edges, records=size)).max() - 1
    assert cut <= bounded.beyond < (1.0001 if degree < 4 else 1.1) * cut
    for network in (complete(degree + 1, odds), *([grid(9, odds)] if degree >= 4 else [])):
        assert exact_sums(network).max() - 1 <= bounded.beyond * (1 + 1e-12)
