"""The sum of clipped values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bayesdp.queries.clipped import Clipped

__all__ = ["Sum"]


@dataclass(frozen=True)
class Sum(Clipped):
    """The sum of values clipped to `bounds`.

    Its sensitivity is high − low, or max(|low|, |high|, high − low) with a private filter: a record may leave the sum.

    >>> Sum("height", bounds=(40, 100)).sensitivity
    60.0
    >>> Sum("height", bounds=(40, 100), where="height > 70").sensitivity
    100.0
    """

    kind: ClassVar[str] = "sum"
