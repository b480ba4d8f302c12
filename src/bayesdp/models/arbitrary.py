"""Groups of limited size, correlated in any way whatever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from bayesdp import validation
from bayesdp.errors import ModelError
from bayesdp.models.base import Model

__all__ = ["ArbitraryGroups"]


@dataclass(frozen=True)
class ArbitraryGroups(Model):
    """Records come in independent groups of at most `size`; nothing is assumed inside a group.

    >>> ArbitraryGroups(4).assumption
    'records come in groups of at most 4 that are independent of one another; inside a group anything may hold'
    """

    size: int

    kind: ClassVar[str] = "arbitrary"
    about_values: ClassVar[bool] = False
    _instead_of_diagnosis: ClassVar[str] = ": it assumes only the size of groups, and that they are independent"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "size", validation.natural("size", self.size, ModelError))

    @property
    def group_size(self) -> int:
        return self.size

    @property
    def assumption(self) -> str:
        return (
            f"records come in groups of at most {self.size} that are independent of one another; inside a group "
            "anything may hold"
        )

    def _content(self) -> dict[str, Any]:
        return {"size": self.size}

    @classmethod
    def _required(cls) -> frozenset[str]:
        return frozenset({"size"})
