"""What a promise of (ε, δ) means, in sentences that a data-protection officer can dispute."""

from __future__ import annotations

from math import exp

from bayesdp._support.words import counted
from bayesdp.losses import Loss, PureLoss
from bayesdp.rounding import shown_above, up

__all__ = ["MEANING", "factor_and_delta", "guessed_right", "large_delta", "large_share", "number_left"]

_LARGEST_LOG = 700.0
_LARGE_SHARE = 0.5

MEANING = (
    "δ is not the probability that the promise fails: rare answers may tell more than e^ε allows, and a release that "
    "publishes a record outright with probability δ keeps the promise, too. So δ must be far below one in the number "
    "of records."
)


def factor_and_delta(epsilon: float, delta: float) -> str:
    """Return the promise as part of a sentence.

    >>> factor_and_delta(1.0, 1e-6)
    'e^ε = 2.719 times as probable under one value of a record as under another, plus δ = 1e-06'
    """
    factor = f"e^ε = {shown_above(up(exp(epsilon), 2), 4)}" if epsilon < _LARGEST_LOG else "e^ε, beyond any meaning,"
    return f"{factor} times as probable under one value of a record as under another, plus δ = {shown_above(delta)}"


def guessed_right(epsilon: float, delta: float) -> str:
    """Return how often an attacker guesses right who starts at 50 : 50, as part of a sentence.

    Whoever says x if the answer is in S is right with probability (1 + Pr[S|x] − Pr[S|x′])/2 ≤ (e^ε + δ)/(e^ε + 1).

    >>> guessed_right(1.0, 1e-6)
    'an attacker who starts at 50 : 50 between two values guesses right in at most 73.11 % of cases'
    """
    less = exp(-epsilon) if epsilon < _LARGEST_LOG else 0.0
    right = shown_above(100 * min(1.0, up((1 + delta * less) / (1 + less), 4)), 4)
    return f"an attacker who starts at 50 : 50 between two values guesses right in at most {right} % of cases"


def large_delta(delta: float | None, records: int) -> str | None:
    """Return the warning that belongs to a δ of more than one in the number of records; None if it needs none.

    >>> large_delta(1e-3, 10_000)
    'δ = 0.001 is more than one in the 10,000 records: publishing one of them outright would keep the promise.'
    """
    if delta is None or delta * records <= 1:
        return None
    many = f"δ = {shown_above(delta)} is more than one in the {records:,} records"
    return f"{many}: publishing one of them outright would keep the promise."


def large_share(share: float | None, loss: Loss) -> str | None:
    """Return the warning that belongs to Laplace noise that takes most of an account's limit; None if it needs none.

    >>> large_share(0.8, PureLoss(0.5))
    'This Laplace noise takes 80 % of the limit of the account: if more answers follow, take a share of the limit.'
    """
    if share is None or share < _LARGE_SHARE or not isinstance(loss, PureLoss):
        return None
    much = "the whole limit" if share >= 1 else f"{shown_above(100 * share, 3)} % of the limit"
    return f"This Laplace noise takes {much} of the account: if more answers follow, take a share of the limit."


def number_left(further: int | None) -> str:
    """Return how many more answers of the same size fit, as a sentence; empty if that is not known.

    >>> number_left(99), number_left(1), number_left(None)
    ('At least 99 more answers of this size fit. ', 'At least 1 more answer of this size fits. ', '')
    """
    if further is None:
        return ""
    if not further:
        return "No other answer of this size fits. "
    return f"At least {counted(further, 'more answer')} of this size {'fit' if further > 1 else 'fits'}. "
