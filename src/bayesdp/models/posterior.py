"""Draws from a posterior: how many a credibility needs, and which order statistic to choose."""

from __future__ import annotations

import math

from bayesdp._support import validation
from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError

__all__ = ["DRAWS", "MONTE_CARLO_RISK", "SMALLEST_WEIGHT", "chosen_rank", "draws_needed"]

DRAWS = 200
"""The number of models drawn, unless the credibility needs more."""

MONTE_CARLO_RISK = 0.01
"""The probability that the draws mislead: that the share of the posterior is smaller than requested."""

_MOST_DRAWS = 1_000_000
"""More draws would take hours, and no data set warrants such precision."""

SMALLEST_WEIGHT = 1e-200
"""The smallest value of a gamma variable, so that no probability drawn from the posterior is 0."""


def draws_needed(credibility: float, draws: int | None, usual: int = DRAWS) -> int:
    """Return the number of models to draw: the given number, or the default, and enough for the credibility.

    Raises InvalidInputError for a credibility outside (0, 1), and for too few or too many draws.

    >>> draws_needed(0.95, None), draws_needed(0.999, None)
    (200, 4603)
    """
    credibility = validation.probability("credibility", credibility)
    least = math.ceil(math.log(MONTE_CARLO_RISK) / math.log(credibility))
    if least > _MOST_DRAWS:
        raise InvalidInputError(
            f"a credibility of {credibility:.15g} would take {least} draws; the limit is {_MOST_DRAWS}"
        )
    least += chosen_rank(credibility, least) < 1  # where the logarithms were rounded
    if draws is None:
        return max(usual, least)
    draws = validation.natural("draws", draws)
    if draws > _MOST_DRAWS:
        raise InvalidInputError(f"the limit is {_MOST_DRAWS} draws, not {brief(draws)}")
    if draws < least:
        raise InvalidInputError(
            f"{draws} draws are too few for a credibility of {credibility:g}; give at least {least}"
        )
    return draws


def chosen_rank(credibility: float, draws: int) -> int:
    """Return the rank r of the τ to choose among ascending τ's, counted from 1.

    The r-th smallest of `draws` independent τ's has more than the share 1 − credibility of the posterior below it only
    if fewer than r of them fall into that share, which has probability P(Binomial(draws, 1 − credibility) < r). The
    largest r for which that is at most one percent is taken.

    >>> chosen_rank(0.95, 200)
    4
    """
    below, rank = 0.0, 0
    while True:
        below += math.exp(
            math.lgamma(draws + 1)
            - math.lgamma(rank + 1)
            - math.lgamma(draws - rank + 1)
            + rank * math.log1p(-credibility)
            + (draws - rank) * math.log(credibility)
        )
        if below > MONTE_CARLO_RISK:
            return rank
        rank += 1
