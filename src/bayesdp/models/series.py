"""A series of numbers in time, normal, each a weighted sum of the last few and something new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from bayesdp._support import validation
from bayesdp._support.validation import brief
from bayesdp.errors import ModelError, RecordsError
from bayesdp.models.base import Model
from bayesdp.models.layout import ChainLayout
from bayesdp.models.view import TableView

__all__ = ["GaussianSeries"]

_CLEARLY = 1 - 1e-12
"""Partial autocorrelations must be below this: beyond it, floats cannot tell a stationary series from a random walk."""


@dataclass(frozen=True)
class GaussianSeries(Model):
    """Records are a stationary normal autoregressive series (several entities: independent series of the same kind).

    X_t − μ_t = φ₁·(X_{t−1} − μ_{t−1}) + … + φ_p·(X_{t−p} − μ_{t−p}) + noise, the noise normal, independent and of one
    variance. The mean μ_t may change with time in any way; neither it nor the variance matters to what leaks.

    coefficients: φ₁, …, φ_p, of one step of the calendar.
    length:       an upper bound on the number of records in one series; None means any length.
    distance:     target values up to this far apart are protected; None means the clipping width of the query.
    gaps:         whether records are missing inside the series.
    layout:       the columns that put records in order and tell entities apart.

    >>> GaussianSeries([0.5]).assumption
    'the records are a stationary normal autoregressive series of order 1 with the given coefficients, of any length'
    """

    coefficients: Sequence[float]
    length: int | None = field(default=None, kw_only=True)
    distance: float | None = field(default=None, kw_only=True)
    gaps: bool = field(default=False, kw_only=True)
    layout: ChainLayout | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "gaussian-series"
    _instead_of_diagnosis: ClassVar[str] = "; it is written by hand"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "coefficients", _coefficients(self.coefficients))
        if self.length is not None:
            object.__setattr__(self, "length", validation.natural("length", self.length, ModelError))
        if self.distance is not None:
            object.__setattr__(self, "distance", validation.positive("distance", self.distance, ModelError))
        if not isinstance(self.gaps, bool):
            raise ModelError(f"gaps must be true or false, not {brief(self.gaps)}")
        if self.layout is not None and not isinstance(self.layout, ChainLayout):
            raise ModelError(f"layout must be ChainLayout(order_by, entity, step), not {brief(self.layout)}")

    @property
    def metric(self) -> bool:
        return True

    @property
    def group_size(self) -> int | None:
        return self.length

    @property
    def dropped(self) -> bool:
        return self.layout is not None and self.layout.dropped

    @property
    def assumption(self) -> str:
        return (
            f"the records are a stationary normal autoregressive series of order {len(self.coefficients)} with the "
            "given coefficients, "
            + ("of any length" if self.length is None else f"at most {self.length} records long")
            + self._entities
        )

    @property
    def _entities(self) -> str:
        """That there are several series, if there are, as the end of the assumption."""
        if self.layout is None or not self.layout.entity:
            return ""
        return f", one series for each {', '.join(self.layout.entity)}, and these are independent of one another"

    @property
    def parameters(self) -> str:
        """The coefficients."""
        terms = ", ".join(f"φ{lag} = {value:.6g}" for lag, value in enumerate(self.coefficients, start=1))
        return f"Coefficients: {terms}. The mean may change with time."

    def summary(self) -> str:
        """Return what is assumed, with the coefficients."""
        return f"{super().summary()} {self.parameters}" + (" Some records in between are missing." * self.gaps)

    def check_table(self, table: TableView, subject: str | None = None) -> Self:
        """Return the series as it holds on a table: with gaps, unless the table shows that there are none.

        Refuses a longer series, ties, and records closer than the step.
        """
        asked = self.column if self.column is not None else subject
        if asked is None:
            return replace(self, gaps=True)
        chains = table.chains(asked, (), self.layout)
        if self.length is not None and chains.longest > self.length:
            raise RecordsError(
                f"{table.name} has a series of {chains.longest} records, but the model describes series of at most "
                f"{self.length}; give it another length, or say how entities are told apart"
            )
        return replace(self, gaps=self.gaps or not chains.unbroken)

    @property
    def unchecked(self) -> str | None:
        if self.layout is not None:
            return None
        return (
            "In which order records follow one another was not checked on the table, and all of it was taken for one "
            "series: the model does not name the columns."
        )

    def _content(self) -> dict[str, Any]:
        content: dict[str, Any] = {"coefficients": list(self.coefficients), "length": self.length}
        if self.distance is not None:
            content["distance"] = self.distance
        if self.gaps:
            content["gaps"] = True
        if self.layout is not None:
            content["layout"] = self.layout.to_dict()
        return content

    @classmethod
    def _read(cls, entries: Mapping[str, Any]) -> Self:
        layout = entries.get("layout")
        return cls(**entries) if layout is None else cls(**{**entries, "layout": ChainLayout.from_dict(layout)})

    @classmethod
    def _required(cls) -> frozenset[str]:
        return frozenset({"coefficients"})


def _coefficients(value: object) -> tuple[float, ...]:
    """Return the coefficients of a stationary series, or refuse them.

    A series is stationary if all its partial autocorrelations are inside (−1, 1): they are the last coefficients of the
    series of lower order that have the same autocovariances (Durbin and Levinson's recursion, read backwards).
    """
    given = validation.items("coefficients", value, ModelError)
    numbers = tuple(
        validation.number(f"coefficients[{index}]", number, ModelError) for index, number in enumerate(given)
    )
    if not numbers:
        raise ModelError("coefficients is empty; records that do not depend on one another are Independent()")
    left = list(numbers)
    while left:
        partial = left.pop()
        if abs(partial) >= _CLEARLY:
            raise ModelError(
                f"a series with the coefficients {brief(list(numbers))} is not stationary (its partial autocorrelation "
                f"of lag {len(left) + 1} is {partial:.6g}): it has no limit, or floats cannot tell"
            )
        left = [(a + partial * b) / (1 - partial**2) for a, b in zip(left, reversed(left), strict=True)]
    return numbers
