"""Each mechanism is what its paper says, and ours needs no more noise: docs/performance.md shows the whole table."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from bayesdp.audit.oracle import chain_joint
from bayesdp.errors import DoesNotApplyError
from bayesdp.experiments.data import activity_chain
from bayesdp.experiments.dependent import dependence_coefficient, dependent_scales
from bayesdp.experiments.influence import influence_scales, influences, spectral_norm
from bayesdp.experiments.peers import (
    KNOWS_NONE,
    PEERS,
    Peer,
    compared,
    exceeded,
    group_scales,
    peer_named,
    two_state_chains,
)
from bayesdp.experiments.quilts import approximate_quilt_scales, eigengap, exact_quilt_scales
from bayesdp.experiments.uninformed import uninformed_epsilons, uninformed_scales
from bayesdp.models import MarkovChain
from bayesdp.theorems.markov.mixing import mixing_epsilons
from bayesdp.theorems.registry import theorems

EPSILONS = (0.2, 1.0, 5.0)
SLOW = MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=100)
THREE = MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.25, 0.25, 0.5]], length=5)
SOME = [peer for peer in PEERS if peer.name not in ("markov-mixing", "markov-count")]
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


def enumerated_quilt(chain: MarkovChain, epsilon: float) -> float:
    """MQMExact by its definition: every target, every quilt, the influence from the joint law of all records."""
    assert chain.length is not None
    law, size = chain_joint(chain, chain.length, None), chain.length

    def influence(target: int, ends: tuple[int, ...]) -> float:
        given = np.moveaxis(law, (target, *ends), range(1 + len(ends))).reshape(
            len(chain.states), len(chain.states) ** len(ends), -1
        )
        conditional = given.sum(axis=2) / given.sum(axis=(1, 2))[:, None]
        return float(max(np.log(one / other).max() for one, other in itertools.permutations(conditional, 2)))

    worst = 0.0
    for target in range(size):
        best = size / epsilon
        for before, after in itertools.product([None, *range(target)], [None, *range(target + 1, size)]):
            ends = tuple(end for end in (before, after) if end is not None)
            inside = (size if after is None else after) - (-1 if before is None else before) - 1
            cost = influence(target, ends) if ends else 0.0
            if cost < epsilon:
                best = min(best, inside / (epsilon - cost))
        worst = max(worst, best)
    return worst


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("chain", [THREE, replace(SLOW, length=6)])
def test_the_exact_quilt_is_the_definition(chain: MarkovChain, epsilon: float) -> None:
    assert exact_quilt_scales(chain, [epsilon]) == [pytest.approx(enumerated_quilt(chain, epsilon), rel=1e-9)]


def test_an_endless_chain_is_a_long_one() -> None:
    long, endless = replace(SLOW, length=5000), replace(SLOW, length=None)
    assert exact_quilt_scales(long, EPSILONS) == pytest.approx(exact_quilt_scales(endless, EPSILONS))
    assert uninformed_scales(long, EPSILONS) == pytest.approx(uninformed_scales(endless, EPSILONS))


def test_the_eigengap_of_a_chain_that_cannot_be_reversed() -> None:
    round_about = MarkovChain([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]])
    matrix = round_about.matrix
    assert eigengap(round_about) == pytest.approx(1 - sorted(np.linalg.eigvalsh(matrix @ matrix.T))[-2])


def test_the_influence_matrix_by_its_definition() -> None:
    law = chain_joint(replace(THREE, length=4), 4, None)
    wanted = np.zeros((4, 4))
    for own, other in itertools.permutations(range(4), 2):
        given = np.moveaxis(law, (own, other), (0, 1)).reshape(3, 3, -1)
        logs = np.log(given / given.sum(axis=0))
        wanted[own, other] = 0.5 * (logs.max(axis=1) - logs.min(axis=1)).max()
    back, on = influences(replace(THREE, length=4))
    found = np.diag(back, -1) + np.diag(on, 1)
    assert found == pytest.approx(wanted, abs=1e-12)
    assert spectral_norm(replace(THREE, length=4)) == pytest.approx(np.linalg.norm(wanted, 2))


def test_gk16_sums_the_inverse() -> None:
    weak = MarkovChain([[0.6, 0.4], [0.45, 0.55]], length=12)
    back, on = influences(weak)
    inverse = np.linalg.inv(np.eye(12) - np.diag(back, -1) - np.diag(on, 1))
    assert influence_scales(weak, [0.5]) == [pytest.approx(4 * inverse.sum(axis=1).max())]


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


def test_dependent_dp_is_the_mixing_bound_of_two_records() -> None:
    for chain in (replace(SLOW, length=2), replace(THREE, length=2), replace(RING, length=2)):
        for tau in (0.1, 1.0, 3.0):
            leaked = tau * (1 + dependence_coefficient(chain, tau))
            assert mixing_epsilons(chain, [tau])[0] == pytest.approx(leaked, rel=1e-9)
        assert dependent_scales(chain, EPSILONS) == pytest.approx(peer_named("markov-mixing").scales(chain, EPSILONS))


def leaked_to_the_uninformed(chain: MarkovChain, tau: float) -> float:
    """The supremum over all τ-DP mechanisms, for two states: a count with geometric noise is one of them."""
    assert chain.length is not None
    law, size = chain_joint(chain, chain.length, None), chain.length
    counts = np.indices(law.shape).sum(axis=0)
    worst = 0.0
    for target in range(size):
        own = np.moveaxis(law, target, 0).reshape(2, -1)
        own = own / own.sum(axis=1, keepdims=True)
        summed = np.moveaxis(counts, target, 0).reshape(2, -1)
        for output in np.arange(-1, size + 1.5, 0.5):
            said = (own * np.exp(-tau * np.abs(summed - output))).sum(axis=1)
            worst = max(worst, abs(float(np.log(said[0] / said[1]))))
    return worst


@pytest.mark.parametrize("tau", [0.1, 0.7, 2.0])
def test_the_bound_for_the_uninformed_holds_and_is_the_smaller(tau: float) -> None:
    for chain in (replace(SLOW, length=7), MarkovChain([[0.2, 0.8], [0.7, 0.3]], length=6)):
        (bound,) = uninformed_epsilons(chain, [tau])
        assert leaked_to_the_uninformed(chain, tau) <= bound * (1 + 1e-9)
        assert bound <= mixing_epsilons(chain, [tau])[0] * (1 + 1e-9)
    (bound,) = uninformed_epsilons(replace(SLOW, length=7), [tau])
    assert leaked_to_the_uninformed(replace(SLOW, length=7), tau) == pytest.approx(bound, rel=1e-3)


@pytest.mark.parametrize("chain", [SLOW, THREE, RING, replace(activity_chain(), gaps=False)])
def test_against_the_uninformed_nobody_needs_less_than_we_do(chain: MarkovChain) -> None:
    rows = compared(chain, EPSILONS, [peer for peer in PEERS if peer.name != "markov-count"])
    assert not exceeded(rows, "uninformed-mixing")
    weaker = exceeded(rows, "markov-mixing")
    assert all(row.peer.against == KNOWS_NONE for row in weaker)


@pytest.mark.slow
def test_many_states_with_nothing_known() -> None:
    from bayesdp.testing.activities import activities

    chain = replace(activities(9, 3), length=2000)
    (bound,), (every,) = uninformed_epsilons(chain, [0.02]), mixing_epsilons(chain, [0.02])
    assert bound <= every
    assert not exceeded(compared(chain, EPSILONS, SOME), "uninformed-mixing", tolerance=1e-3)


def test_no_session_offers_them() -> None:
    names = {theorem.name for theorem in theorems()}
    assert {peer.name for peer in PEERS if peer.name in names} == {"markov-mixing", "markov-count"}


def test_what_is_exceeded() -> None:
    less = Peer("less", "a test", KNOWS_NONE, lambda chain, epsilons: [0.5 / epsilon for epsilon in epsilons])
    rows = compared(SLOW, [1.0], [less, peer_named("group-dp"), peer_named("markov-mixing")])
    assert [row.peer.name for row in exceeded(rows, "markov-mixing")] == ["less"]
    assert [row.peer.name for row in exceeded(rows, "markov-count")] == ["less", "group-dp"]
