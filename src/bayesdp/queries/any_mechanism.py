"""A release by any mechanism with a known τ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from bayesdp._support import validation
from bayesdp._support.validation import Scalar
from bayesdp.errors import QueryError
from bayesdp.queries.query import Query

__all__ = ["AnyMechanism"]

_ANY = "it may be any mechanism with this tau"


@dataclass(frozen=True)
class AnyMechanism(Query):
    """A release by any τ-DP mechanism: by OpenDP, by Tumult, or by your own code.

    what: the release, in words.

    Theorems that hold for every mechanism cover it. Those about counts or about Laplace noise on sums do not apply,
    or count it as a release that costs τ for each correlated record. Its noise and accuracy are unknown here.

    >>> from bayesdp import ArbitraryGroups, leakage
    >>> leakage(ArbitraryGroups(3), AnyMechanism(), tau=0.5, neighbours="replace").epsilon
    1.5
    """

    what: str | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "any-mechanism"
    made_elsewhere: ClassVar[bool] = True
    unforeseen: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.where is not None:
            raise QueryError("AnyMechanism takes no filter: tau covers everything that the mechanism computes")
        if self.what is not None:
            object.__setattr__(self, "what", validation.line("what", self.what, QueryError))

    @property
    def description(self) -> str:
        what = "anything at all" if self.what is None else self.what
        return what if self.column is None else f"{what} ({self.column})"

    @property
    def sensitivity(self) -> float:
        raise QueryError(f"its noise and accuracy are unknown: {_ANY}")

    @property
    def not_metric(self) -> str:
        return _ANY

    def state_values(self, states: Sequence[Scalar]) -> str:
        return f"it is about Laplace noise on one count or sum, and {_ANY}"
