"""Independent records: the implicit assumption of ordinary differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from bayesdp.models.base import Model
from bayesdp.models.view import TableView

__all__ = ["Independent"]


@dataclass(frozen=True, kw_only=True)
class Independent(Model):
    """Records are independent; leakage is then exactly the ordinary τ.

    >>> Independent().group_size
    1
    """

    kind: ClassVar[str] = "independent"
    about_values: ClassVar[bool] = False
    _instead_of_diagnosis: ClassVar[str] = "; fit a chain or groups to see whether records depend on one another"
    group_size: ClassVar[int] = 1
    assumption: ClassVar[str] = "all records are independent of one another"

    @property
    def entity_columns(self) -> tuple[str, ...]:
        return ()

    def at_any_length(self) -> Self:
        """Return the model: more records are independent, too."""
        return self

    def check_table(self, table: TableView, subject: str | None = None) -> Self:
        """Return the model, which every table satisfies in size and order."""
        return self

    def _content(self) -> dict[str, Any]:
        return {}
