"""Mechanisms for correlated records from other papers beside ours: their noise on a chain, and their adversaries.

    for row in compared(MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=100), [1.0]):
        print(row.peer.name, row.scale, row.peer.against)

Compare `against` first: a mechanism against an adversary who knows no record promises less, and may add less noise. The
library offers none of the others for releases; `benchmarks/peers.py` prints them all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bayesdp._support import validation
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.errors import DoesNotApplyError
from bayesdp.models import MarkovChain
from bayesdp.queries import Count
from bayesdp.theorems.registry import theorem_named
from peer_mechanisms.dependent import dependent_scales
from peer_mechanisms.influence import influence_scales
from peer_mechanisms.quilts import approximate_quilt_scales, exact_quilt_scales
from peer_mechanisms.uninformed import uninformed_scales

__all__ = [
    "KNOWS_ANY",
    "KNOWS_NONE",
    "PEERS",
    "Compared",
    "Peer",
    "compared",
    "exceeded",
    "group_scales",
    "peer_named",
    "two_state_chains",
]

KNOWS_ANY = "may know any other records"
KNOWS_NONE = "knows no record"

Scales = Callable[[MarkovChain, Sequence[float]], list[float]]


@dataclass(frozen=True)
class Peer:
    """A mechanism: its name, its source, its adversary, and the noise it needs.

    answers: the queries it covers.
    ours:    whether the bound is this library's.
    scales:  the Laplace scale of a query that one record changes by at most 1, at each ε. It raises DoesNotApplyError
             with the reason where the mechanism does not cover the chain.
    """

    name: str
    source: str
    against: str
    scales: Scales
    answers: str = "any query"
    ours: bool = False


@dataclass(frozen=True)
class Compared:
    """A mechanism on one chain at one ε: its noise, or why there is none; the processor time is that for all ε."""

    peer: Peer
    epsilon: float
    scale: float | None
    seconds: float
    reason: str | None = None


def group_scales(chain: MarkovChain, epsilons: Sequence[float]) -> list[float]:
    """Return the Laplace scale of group privacy for all n records: n/ε.

    >>> group_scales(MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=100), [0.2, 1.0, 5.0])
    [500.0, 100.0, 20.0]
    """
    if chain.length is None:
        raise DoesNotApplyError("group-dp", "it needs the number of records: give the chain a length")
    return [chain.length / epsilon for epsilon in epsilons]


def _by_theorem(name: str) -> Scales:
    """Return the noise at which one of our theorems proves ε for the count of the chain's last state."""

    def scales(chain: MarkovChain, epsilons: Sequence[float]) -> list[float]:
        taus = largest_taus(theorem_named(name), chain, Count(equals=chain.states[-1]), sorted(set(epsilons)))
        tau_at = dict(zip(sorted(set(epsilons)), taus, strict=True))
        if None in taus:
            raise DoesNotApplyError(name, "it does not reach an ε this small here")
        return [1 / (tau_at[epsilon] or 0.0) for epsilon in epsilons]

    return scales


PEERS: tuple[Peer, ...] = (
    Peer("group-dp", "group privacy", KNOWS_ANY, group_scales),
    Peer("gk16", "Ghosh and Kleinberg 2017", KNOWS_ANY, influence_scales),
    Peer("mqm-approx", "Song, Wang and Chaudhuri 2017", KNOWS_NONE, approximate_quilt_scales),
    Peer("mqm-exact", "Song, Wang and Chaudhuri 2017", KNOWS_NONE, exact_quilt_scales),
    Peer("dependent-dp", "Liu, Chakraborty and Mittal 2016", KNOWS_NONE, dependent_scales),
    Peer("markov-mixing", "here", KNOWS_ANY, _by_theorem("markov-mixing"), ours=True),
    Peer("uninformed-mixing", "here, for comparison only", KNOWS_NONE, uninformed_scales, ours=True),
    Peer("markov-count", "here", KNOWS_ANY, _by_theorem("markov-count"), "one count", ours=True),
)
"""Every mechanism compared, ours last."""


def peer_named(name: str) -> Peer:
    """Return the mechanism of that name; KeyError if there is none."""
    return {peer.name: peer for peer in PEERS}[name]


def compared(chain: MarkovChain, epsilons: Sequence[float], peers: Iterable[Peer] = PEERS) -> list[Compared]:
    """Return the noise of every mechanism on a chain at each ε, or the reason why it has none.

    >>> chain = MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=100)
    >>> [row.reason is None for row in compared(chain, [1.0], [peer_named("group-dp"), peer_named("gk16")])]
    [True, False]
    """
    targets = validation.positives("epsilons", epsilons)
    rows = []
    for peer in peers:
        begun = time.process_time()
        scales: Sequence[float | None] = [None] * len(targets)
        reason = None
        try:
            scales = peer.scales(chain, targets)
        except DoesNotApplyError as refused:
            reason = refused.reason
        took = time.process_time() - begun
        rows += [Compared(peer, epsilon, scale, took, reason) for epsilon, scale in zip(targets, scales, strict=True)]
    return rows


def exceeded(rows: Sequence[Compared], ours: str, tolerance: float = 1e-6) -> list[Compared]:
    """Return the rows of others that need less noise than one of our bounds at the same ε, by more than a tolerance."""
    own = {row.epsilon: row.scale for row in rows if row.peer.name == ours}
    return [
        row
        for row in rows
        if not row.peer.ours
        and row.scale is not None
        and ((mine := own.get(row.epsilon)) is None or mine > row.scale * (1 + tolerance))
    ]


def two_state_chains(length: int = 100) -> list[MarkovChain]:
    """Return the 81 chains of two states that stay with probabilities 0.1, 0.2, … 0.9 each.

    Song, Wang and Chaudhuri use them, with 100 records.

    >>> len(two_state_chains())
    81
    """
    stays = [tenth / 10 for tenth in range(1, 10)]
    return [MarkovChain([[p, 1 - p], [1 - q, q]], length=length) for p in stays for q in stays]
