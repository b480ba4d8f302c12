"""What is said about a model beside every result: the verdict of a table, and notes on how the model was made."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["DROPPED", "ESTIMATED", "Verdict"]

ESTIMATED = (
    "The model's parameters were estimated from data. If these data are private, the estimate is itself a release that "
    "this guarantee does not cover."
)

DROPPED = "Records with missing values are left out; which values are missing is treated as public."


class Verdict(StrEnum):
    """The verdict of a table on an assumption, from the least to the most alarming; each is a text and prints as such.

    >>> Verdict.FINE == "fine", Verdict("not tested"), f"{Verdict.VIOLATED}"
    (True, 'not tested', 'violated')
    """

    FINE = "fine"
    NOT_TESTED = "not tested"
    DOUBTFUL = "doubtful"
    VIOLATED = "violated"

    def __repr__(self) -> str:
        return repr(self.value)
