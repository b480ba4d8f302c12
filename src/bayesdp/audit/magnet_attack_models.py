"""Attack models of records whose effects add up: a magnet of 0/1 records, and side information that attains the bound.

Any two records have the largest odds ratio allowed and tend to be equal. The attacker's observation of each record
makes 1 less likely than 0 by a factor e^(τ/2), which brings the field at each to −τ/4 (docs/theory/odds-ising.md). The
most telling output is a count as large as the number of records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesdp.audit.attack_models import AttackModel
from bayesdp.models import Network, OddsSeries
from bayesdp.models.network import Ties
from bayesdp.theorems.odds.eliminated import connected
from bayesdp.theorems.odds.enumerated import MOST_POSITIONS, Enumerated

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["network_attack_model", "series_attack_model"]

_MOST_RECORDS = 301
_MOST_NUMBERS = 2**24
"""The most records of a series in an attack, and the most numbers in all tables together."""

_SMALLEST_EXPONENT = 500.0
"""Probabilities below e to minus this are not needed: so many records are left out."""


def series_attack_model(series: OddsSeries, tau: float) -> AttackModel:
    """Return the attack model of the middle `unit` records of a series.

    >>> attack_model = series_attack_model(OddsSeries([9.0], length=5), 1.0)
    >>> round(attack_model.betrayal(1.0).epsilon, 6)
    2.442142
    """
    probable = int(min(2 * _SMALLEST_EXPONENT / tau, _MOST_RECORDS))
    most = max(min(probable, math.isqrt(_MOST_NUMBERS >> series.reach)), series.unit)
    records = most if series.length is None else min(max(series.length, series.unit), most)
    first = (records - series.unit) // 2
    secret = range(first, first + series.unit)
    return _attack_model([_counts_in_series(series.log_odds, records, secret, value, tau) for value in (-1, 1)])


def network_attack_model(network: Network, tau: float) -> AttackModel | None:
    """Return the attack model of the record of a network that reveals most; None if its parts are too large.

    >>> attack_model = network_attack_model(Network(edges=[(0, 1, 9.0)], additive=True), 1.0)
    >>> round(attack_model.betrayal(1.0).epsilon, 6)
    1.492308
    """
    parts = [part for part in connected(network.ties) if part.visible.any()]
    if not parts or max(part.size for part in parts) > MOST_POSITIONS:
        return None
    leaked = [Enumerated(part).of_records(tau) for part in parts]
    part, found = max(zip(parts, leaked, strict=True), key=lambda one: float(one[1].max()))
    target = int(np.flatnonzero(part.visible)[found.argmax()])
    return _attack_model([_counts_in_network(part, target, value, tau) for value in (-1, 1)])


def _attack_model(laws: Sequence[NDArray[np.float64]]) -> AttackModel:
    both = np.array([law / law.sum() for law in laws])
    return AttackModel((0, 1), np.full(2, 0.5), np.arange(both.shape[1], dtype=np.float64), both, 1.0)


def _counts_in_series(
    log_odds: NDArray[np.float64], records: int, secret: range, secret_value: int, tau: float
) -> NDArray[np.float64]:
    """Return the law of the count, given the value −1 or 1 of the secret, up to a factor."""
    reach = len(log_odds)
    values = 2.0 * (np.arange(2**reach)[:, None] >> np.arange(reach) & 1) - 1
    table = np.zeros((2**reach, records + 1))
    table[0, 0] = 1.0
    for place in range(records):
        pull = values[:, :place] @ log_odds[:place] / 4
        pull = pull + (0.0 if place in secret else -tau / 4)
        longer = np.zeros_like(table)
        for bit, value in enumerate((-1, 1)):
            if place in secret and value != secret_value:
                continue
            weighted = table * np.exp(value * pull - np.abs(pull).max())[:, None]
            added = np.roll(weighted, 1, axis=1) if value > 0 else weighted
            halves = added.reshape(2, -1, records + 1).sum(axis=0) if reach else added
            if reach:
                longer[bit::2] += halves
            else:
                longer += halves
        table = longer / longer.max()
    return np.asarray(table.sum(axis=0))


def _counts_in_network(ties: Ties, target: int, value: int, tau: float) -> NDArray[np.float64]:
    """Return the law of the count, given the value −1 or 1 of the target, up to a factor."""
    rows = np.arange(2**ties.size)
    rows = rows[(rows >> target & 1) == (value > 0)]
    heights = np.zeros(len(rows))
    for first, second, log_odds in zip(ties.first, ties.second, ties.log_odds, strict=True):
        heights += np.where((rows >> int(first) & 1) == (rows >> int(second) & 1), log_odds / 4, -log_odds / 4)
    count = sum(rows >> int(place) & 1 for place in np.flatnonzero(ties.visible))
    heights -= tau / 2 * count
    weights = np.exp(heights - heights.max())
    return np.asarray(np.bincount(np.asarray(count), weights, int(ties.visible.sum()) + 1), dtype=np.float64)
