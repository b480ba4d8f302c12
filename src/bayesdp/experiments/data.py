"""The data sets of the paper as far as no file is needed: the sufficient statistics that were published."""

from __future__ import annotations

from bayesdp.models import GaussianGroups, MarkovChain

__all__ = ["activity_chain", "galton_families"]


def activity_chain() -> MarkovChain:
    """Return the chain of the Activity data: is a person active in a 5-minute interval?

    15,264 intervals of one person on 53 days; transitions across missing intervals are not counted.

    >>> chain = activity_chain()
    >>> round(chain.gamma, 3), chain.length
    (7.5, 15264)
    """
    return MarkovChain.from_counts(
        [[9713, 1295], [1295, 2955]],
        states=(False, True),
        length=15264,
        gaps=True,
        state="steps > 0",
        record="5-minute interval",
    )


def galton_families() -> GaussianGroups:
    """Return Galton's families: heights of a child, its father and its mother, every correlation at most 0.275."""
    return GaussianGroups(correlation=0.275, size=3, column="height", record="family member's height")
