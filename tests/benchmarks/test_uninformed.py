"""The bound for an adversary who knows no record."""

from dataclasses import replace

import numpy as np
import pytest

from bayesdp.audit.oracle import chain_joint
from bayesdp.errors import DoesNotApplyError
from bayesdp.models import MarkovChain
from bayesdp.theorems.markov.mixing import mixing_epsilons
from peer_mechanisms.comparison import (
    PEERS,
    compared,
    exceeded,
)
from peer_mechanisms.uninformed import uninformed_epsilons, uninformed_scales

SLOW = MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=100)


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


@pytest.mark.slow
def test_many_states_with_nothing_known() -> None:
    from shared.activities import activities

    chain = replace(activities(9, 3), length=2000)
    (bound,), (every,) = uninformed_epsilons(chain, [0.02]), mixing_epsilons(chain, [0.02])
    assert bound <= every
    some = [peer for peer in PEERS if peer.name not in ("markov-mixing", "markov-count")]
    assert not exceeded(compared(chain, (0.2, 1.0, 5.0), some), "uninformed-mixing", tolerance=1e-3)


def test_an_endless_chain_is_a_long_one() -> None:
    epsilons = (0.2, 1.0, 5.0)
    long, endless = (uninformed_scales(replace(SLOW, length=length), epsilons) for length in (5000, None))
    assert long == pytest.approx(endless)


def test_one_state_and_independent_records_leak_tau() -> None:
    assert uninformed_epsilons(MarkovChain([[1.0]], length=9), [0.3]) == [0.3]
    assert uninformed_epsilons(MarkovChain([[0.4, 0.6], [0.4, 0.6]], length=9), [0.3]) == [pytest.approx(0.3)]


@pytest.mark.parametrize(
    "chain",
    [
        replace(SLOW, start="any"),
        replace(SLOW, gaps=True),
        MarkovChain([[0, 1], [1, 0]], length=10),
        MarkovChain([[[0.9, 0.1], [0.6, 0.4]], [[0.7, 0.3], [0.2, 0.8]]], memory=2),
    ],
)
def test_chains_that_are_not_covered_are_refused(chain: MarkovChain) -> None:
    with pytest.raises(DoesNotApplyError):
        uninformed_epsilons(chain, [1.0])
