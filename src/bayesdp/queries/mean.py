"""The mean of clipped values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bayesdp.queries.averaged import Averaged
from bayesdp.queries.clipped import Clipped

__all__ = ["Mean"]


@dataclass(frozen=True)
class Mean(Averaged, Clipped):
    """The mean of values clipped to `bounds` over a public number of records, `size`: sensitivity (high − low)/size.

    Leakage does not need `size`, but noise cannot be scaled without it. A private filter is refused: it makes the
    number of records private.

    >>> Mean("height", bounds=(0, 100), size=50).sensitivity
    2.0
    """

    size: int | None = None

    kind: ClassVar[str] = "mean"
