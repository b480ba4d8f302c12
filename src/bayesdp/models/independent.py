"""Independent records: the implicit assumption of ordinary differential privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from bayesdp.models.base import Model
from bayesdp.models.layout import ChainLayout, column_names
from bayesdp.models.view import TableView

__all__ = ["Independent"]


@dataclass(frozen=True, kw_only=True)
class Independent(Model):
    """Records are independent; leakage is then exactly the ordinary τ.

    order_by: the public columns that order the records, for questions by windows, such as by hour.

    >>> Independent().group_size
    1
    """

    order_by: Sequence[str] = ()

    kind: ClassVar[str] = "independent"
    about_values: ClassVar[bool] = False
    _instead_of_diagnosis: ClassVar[str] = "; fit a chain or groups to see whether records depend on one another"
    group_size: ClassVar[int] = 1
    assumption: ClassVar[str] = "all records are independent of one another"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "order_by", column_names("order_by", self.order_by))

    @property
    def entity_columns(self) -> tuple[str, ...]:
        return ()

    @property
    def public_columns(self) -> tuple[str, ...]:
        return tuple(self.order_by)

    @property
    def order(self) -> str | None:
        return self.order_by[0] if self.order_by else None

    @property
    def ordering(self) -> ChainLayout | None:
        return ChainLayout(self.order_by) if self.order_by else None

    def at_any_length(self) -> Self:
        """Return the model: more records are independent, too."""
        return self

    def check_table(self, table: TableView, subject: str | None = None) -> Self:
        """Return the model, which every table satisfies in size and order."""
        return self

    def _content(self) -> dict[str, Any]:
        return {"order_by": list(self.order_by)} if self.order_by else {}
