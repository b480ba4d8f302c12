"""Each mechanism is what its paper says, and ours needs no more noise: docs/performance.md shows the whole table."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from bayesdp.errors import DoesNotApplyError
from bayesdp.experiments.data import activity_chain
from bayesdp.models import MarkovChain
from bayesdp.theorems.registry import theorems
from peer_mechanisms.comparison import (
    KNOWS_NONE,
    PEERS,
    Peer,
    compared,
    exceeded,
    group_scales,
    peer_named,
    two_state_chains,
)
from peer_mechanisms.quilts import approximate_quilt_scales, exact_quilt_scales
from peer_mechanisms.uninformed import uninformed_scales

EPSILONS = (0.2, 1.0, 5.0)
SLOW = MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=100)
THREE = MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.25, 0.25, 0.5]], length=5)
RING = MarkovChain([[0, 1, 0], [0.5, 0, 0.5], [0.2, 0.8, 0]], length=30)


@pytest.mark.parametrize(
    ("scales", "printed"),
    [
        (group_scales, (500, 100, 20)),
        (approximate_quilt_scales, (116, 17.0, 2.02)),
        (exact_quilt_scales, (56.4, 7.16, 0.426)),
        (peer_named("markov-mixing").scales, (11.54, 2.32, 0.369)),
        pytest.param(uninformed_scales, (11.44, 2.31, 0.344), marks=pytest.mark.slow),
    ],
)
def test_the_means_over_the_81_chains(
    scales: Callable[[MarkovChain, Sequence[float]], list[float]], printed: Sequence[float]
) -> None:
    means = np.mean([scales(chain, EPSILONS) for chain in two_state_chains()], axis=0)
    for mean, expected in zip(means, printed, strict=True):
        assert mean == pytest.approx(expected, rel=5e-3)


@pytest.mark.slow
def test_the_exact_count_needs_least() -> None:
    count, mixing = peer_named("markov-count"), peer_named("markov-mixing")
    exact, any_query = (
        np.array([peer.scales(chain, EPSILONS) for chain in two_state_chains()]) for peer in (count, mixing)
    )
    assert exact.mean(axis=0) == pytest.approx((8.35, 1.69, 0.286), rel=5e-3)
    assert (exact <= any_query * (1 + 1e-8)).all()


def test_each_refuses_what_it_does_not_cover() -> None:
    some = [peer for peer in PEERS if not peer.ours]
    reasons = {row.peer.name: row.reason for row in compared(SLOW, [1.0], some)}
    assert "spectral norm of the influence matrix is" in (reasons["gk16"] or "")
    assert "two records" in (reasons["dependent-dp"] or "")
    endless = {row.peer.name: row.reason for row in compared(replace(SLOW, length=None), [1.0], some)}
    assert "length" in (endless["group-dp"] or "")
    assert "length" in (endless["gk16"] or "")
    for peer in PEERS:
        if peer.name not in ("group-dp", "markov-mixing"):
            with pytest.raises(DoesNotApplyError):
                peer.scales(replace(SLOW, start="any"), [1.0])
    for scales in (approximate_quilt_scales, uninformed_scales):
        with pytest.raises(DoesNotApplyError):
            scales(MarkovChain([[0, 1], [1, 0]], length=10), [1.0])
    assert exact_quilt_scales(MarkovChain([[0, 1], [1, 0]], length=10), [1.0]) == [10.0]


@pytest.mark.parametrize("chain", [SLOW, THREE, RING, replace(activity_chain(), gaps=False)])
def test_no_peer_needs_less_noise_against_the_uninformed(chain: MarkovChain) -> None:
    rows = compared(chain, EPSILONS, [peer for peer in PEERS if peer.name != "markov-count"])
    assert not exceeded(rows, "uninformed-mixing")
    weaker = exceeded(rows, "markov-mixing")
    assert all(row.peer.against == KNOWS_NONE for row in weaker)


def test_no_session_offers_them() -> None:
    names = {theorem.name for theorem in theorems()}
    assert {peer.name for peer in PEERS if peer.name in names} == {"markov-mixing", "markov-count"}


def test_what_is_exceeded() -> None:
    less = Peer("less", "a test", KNOWS_NONE, lambda chain, epsilons: [0.5 / epsilon for epsilon in epsilons])
    rows = compared(SLOW, [1.0], [less, peer_named("group-dp"), peer_named("markov-mixing")])
    assert [row.peer.name for row in exceeded(rows, "markov-mixing")] == ["less"]
    assert [row.peer.name for row in exceeded(rows, "markov-count")] == ["less", "group-dp"]
