"""The number of records in each of several cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from bayesdp._support.validation import Scalar, Values
from bayesdp._support.words import counted
from bayesdp.queries.counting import Counting, named_once

__all__ = ["Histogram"]


@dataclass(frozen=True)
class Histogram(Counting):
    """The number of records in each of the disjoint `cells`, each given by its value.

    A replaced record leaves one cell and enters another: sensitivity 2 in ℓ1, or 1 when there is only one cell.

    >>> Histogram("state", cells=["idle", "walk", "run"]).sensitivity
    2.0
    """

    cells: Values = ()

    kind: ClassVar[str] = "histogram"
    by_cell: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "cells", named_once("cells", self.cells))

    @classmethod
    def entries_for(cls, values: Sequence[Scalar]) -> dict[str, Any]:
        return {"cells": values}

    def cells_asked(self) -> tuple[tuple[Scalar, ...], ...]:
        return tuple((cell,) for cell in self.cells)

    def in_l2(self, moved: Fraction) -> Fraction:
        """A record that leaves one cell and enters another moves both by half of what it moves in ℓ1.

        >>> Histogram("state", cells=["idle", "walk"]).in_l2(Fraction(2))
        Fraction(2, 1)
        """
        return moved**2 / 2 if self.dimension > 1 else moved**2

    @property
    def description(self) -> str:
        return self._about(f"the histogram of {self.column or 'the state'} over {counted(self.dimension, 'cell')}")
