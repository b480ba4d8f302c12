"""A chain of which only one number is assumed: how strongly neighbours are tied."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from bayesdp._support import validation
from bayesdp.errors import ModelError
from bayesdp.models.chain import Chain
from bayesdp.models.odds import log_odds_ratio, odds_above
from bayesdp.rounding import log_above, shown_above

__all__ = ["OddsChain"]


@dataclass(frozen=True)
class OddsChain(Chain):
    """Records form a chain whose neighbours have an odds ratio of at most `odds`; nothing else is assumed of it.

    How likely each value is may change with the hour, the weather or the place in the chain, and nobody needs to know
    it. Only how much one record says about the next is limited: if two values of a record are compared, the odds
    between any two values of the next one differ by a factor of at most `odds`.

    odds:   the largest odds ratio P(x,y)·P(x′,y′) / (P(x,y′)·P(x′,y)) of neighbouring records, at least 1; 1 means that
            neighbours are independent.
    memory: how many records matter for the next one. With memory k, `odds` is the odds ratio of neighbouring blocks
            of k records.

    >>> OddsChain(9).assumption
    'the records form a chain of any length in which the odds ratio of neighbouring records is at most 9'
    >>> OddsChain.of([[[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.5, 0.5]]]).length
    3
    """

    odds: float
    memory: int = field(default=1, kw_only=True)

    kind: ClassVar[str] = "odds-chain"
    about_values: ClassVar[bool] = True
    _instead_of_diagnosis: ClassVar[str] = "; fit a MarkovChain to the table to see its odds ratio"

    def __post_init__(self) -> None:
        super().__post_init__()
        odds = validation.number("odds", self.odds, ModelError)
        if odds < 1:
            raise ModelError(
                f"odds must be at least 1, the odds ratio of independent records, not {odds:g}; of a ratio below 1 "
                "take the reciprocal"
            )
        object.__setattr__(self, "odds", odds)
        object.__setattr__(self, "memory", validation.natural("memory", self.memory, ModelError))

    @classmethod
    def of(cls, matrices: Iterable[ArrayLike], *, length: int | None = None, **described: Any) -> Self:
        """Return the odds chain of known transition matrices, one a step; they may differ, and so may their sizes.

        length: the number of records, if the matrices repeat; by default one more than there are matrices.

        Raises ModelError for a matrix whose rows are not probabilities, or where some values can follow one value but
        not another: then the odds ratio has no limit.
        """
        ratios = [_log_odds(index, matrix) for index, matrix in enumerate(matrices)]
        if not ratios:
            raise ModelError("give at least one transition matrix")
        return cls(odds_above(ratios), length=len(ratios) + 1 if length is None else length, **described)

    @cached_property
    def log_odds(self) -> float:
        """ln of the odds ratio, rounded up."""
        return log_above(Fraction(self.odds))

    @property
    def assumption(self) -> str:
        neighbours = "neighbouring records"
        reach = ""
        if self.memory > 1:
            neighbours = f"neighbouring blocks of {self.memory} records"
            reach = f", given {self.memory} records, the future does not depend on what was before them, and"
        return (
            f"the records form a chain {self.extent} in which{reach} the odds ratio of {neighbours} is at most "
            f"{shown_above(self.odds)}{self.entities}"
        )

    @property
    def parameters(self) -> str:
        """What the odds ratio means, in a sentence, and what it costs if the secret is one record."""
        said = (
            f"Odds ratio of {'neighbouring records' if self.memory == 1 else 'neighbouring blocks'}: at most "
            f"{shown_above(self.odds)}. If one of them had another value, the odds between any two values of the next "
            "would change by at most that factor."
        )
        if self.unit > 1:
            return said
        price = shown_above(self.memory * math.sqrt(self.odds), 3)
        return f"{said} For a small ε the noise must be {price} times as large as for independent records."

    def _content(self) -> dict[str, Any]:
        return {"odds": self.odds, **super()._content(), "memory": self.memory}

    @classmethod
    def _required(cls) -> frozenset[str]:
        return frozenset({"odds"})


def _log_odds(index: int, matrix: ArrayLike) -> float:
    """Return the log odds ratio of one transition matrix, or refuse it by its position."""
    rows = validation.rows_of_probabilities(f"matrix {index}", matrix, ModelError)
    ratio = log_odds_ratio(rows)
    if math.isinf(ratio):
        raise ModelError(f"matrix {index} has odds without limit: some values can follow one value but not another")
    return ratio
