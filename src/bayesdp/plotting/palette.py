"""The same colour for the same thing in every picture: Okabe and Ito's colour-blind safe palette, and brown."""

from __future__ import annotations

from collections.abc import Mapping

from bayesdp.models.diagnosis import Verdict

__all__ = ["COLOURS", "NO_NUMBER", "PALETTE", "PLAIN", "SEQUENCE", "colour_of", "verdict_colour"]

_BLUE, _VERMILLION, _GREEN, _PURPLE, _ORANGE, _SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
_BLACK, _GREY, _BROWN = "#000000", "#767676", "#7F4F24"

PALETTE = (_BLUE, _VERMILLION, _GREEN, _PURPLE, _ORANGE, _SKY)
"""The colours of lines without a colour of their own, in order."""

PLAIN = "plain-dp"
"""The name of ordinary differential privacy, which ignores correlations."""

SEQUENCE = "cividis"
"""Matplotlib's colours for numbers, which people with any kind of colour vision see in the same order."""

NO_NUMBER = "#DDDDDD"
"""The colour of a cell without a number."""

COLOURS: Mapping[str, str] = {
    PLAIN: _GREY,
    "general": _BLACK,
    "independent": _SKY,
    "markov-paper": _VERMILLION,
    "markov-mixing": _BLUE,
    "markov-quilt": _GREEN,
    "markov-count": _PURPLE,
    "gaussian-paper": _VERMILLION,
    "gaussian-tight": _BLUE,
    "gaussian-covariance": _GREEN,
    "gaussian-walk": _PURPLE,
    "markov-memory": _ORANGE,
    "odds-chain": _BROWN,
    "odds-tree": _PURPLE,
    "odds-network": _VERMILLION,
    "odds-elimination": _GREEN,
    "odds-series": _BLUE,
    "odds-ising": _ORANGE,
    "any-of": _ORANGE,
    "chakrabarti-2022": _ORANGE,
    "randomized-response": _SKY,
    "yang-2015": _BROWN,
}


_VERDICTS: Mapping[str, str] = {
    Verdict.FINE: _GREEN,
    Verdict.NOT_TESTED: _GREY,
    Verdict.DOUBTFUL: _ORANGE,
    Verdict.VIOLATED: _VERMILLION,
}


def verdict_colour(verdict: str) -> str:
    """Return the colour of a verdict.

    >>> verdict_colour("fine")
    '#009E73'
    """
    return _VERDICTS[verdict]


def colour_of(name: str) -> str:
    """Return the colour of a theorem or mechanism; other names also always get the same colour.

    >>> colour_of("markov-mixing"), colour_of("mine") == colour_of("mine")
    ('#0072B2', True)
    """
    known = name.partition(",")[0]
    return COLOURS.get(known) or PALETTE[sum(map(ord, known)) % len(PALETTE)]
