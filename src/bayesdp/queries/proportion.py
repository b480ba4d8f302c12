"""The share of records that have a value or one of several."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from bayesdp.queries.averaged import Averaged
from bayesdp.queries.count import Count

__all__ = ["Proportion"]


@dataclass(frozen=True)
class Proportion(Averaged, Count):
    """The share of records that have a value (`equals=`) or one of several (`isin=`): sensitivity 1/size.

    It is a count divided by a public number of records, `size`. Leakage does not need `size`, but noise cannot be
    scaled without it. A private filter is refused: it makes the number of records private.

    >>> Proportion("ill", equals=True, size=200).sensitivity
    0.005
    >>> Proportion("room", isin=["kitchen", "hall"]).description
    "the proportion of records with room in 'kitchen', 'hall'"
    """

    size: int | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "proportion"

    @property
    def description(self) -> str:
        return super().description.replace("the number", "the proportion", 1)
