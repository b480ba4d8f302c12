"""An extension in one file: a model of pairs, a theorem about it, a model of chains, and four queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self

from bayesdp import Count, Histogram, Model, Query, Sum, Theorem
from bayesdp.errors import QueryError, RecordsError
from bayesdp.frames.source import scan
from bayesdp.frames.transitions import transitions
from bayesdp.frames.view import View
from bayesdp.models import CHAIN_OPTIONS, RECORD, Chain, ChainLayout, FitOption
from bayesdp.models.diagnosis import Diagnosis
from bayesdp.models.view import TableView
from bayesdp.queries import Averaged
from bayesdp.theorems.spend import Spend, total_tau


@dataclass(frozen=True, kw_only=True)
class Twins(Model):
    """Records come in pairs that are always equal, found by the column `pair`."""

    pair: str

    kind: ClassVar[str] = "twins"
    about_values: ClassVar[bool] = False
    fit_options: ClassVar[tuple[FitOption, ...]] = (
        FitOption("pair", "The column that identifies a pair.", required=True, example="couple", locates=True),
        RECORD,
    )

    @classmethod
    def fit(cls, frame: object, *, pair: str, record: str = "record") -> Self:
        """There is nothing to estimate; a table without pairs is refused."""
        return cls(pair=pair, record=record).check_table(View(scan(frame), "error"))

    def diagnose(self, frame: object, *, pair: str | None = None, missing: str | None = None) -> Diagnosis:
        """Nothing is tested."""
        return Diagnosis(self.assumption, (), 0, f"pairs by {pair or self.pair}")

    @property
    def group_size(self) -> int:
        return 2

    @property
    def assumption(self) -> str:
        return "records come in pairs of twins, independent of other pairs"

    def check_table(self, table: TableView, explored: str | None = None) -> Self:
        if table.largest_group([self.pair]) > 2:
            raise RecordsError(f"{table.name} has more than two records in a pair")
        return self

    def _content(self) -> dict[str, Any]:
        return {"pair": self.pair}


@dataclass(frozen=True, kw_only=True)
class Lingering(Chain):
    """A chain in which every record stays as the one before it with a probability of at least `stay`."""

    stay: float

    kind: ClassVar[str] = "lingering"
    fit_options: ClassVar[tuple[FitOption, ...]] = (
        *CHAIN_OPTIONS,
        FitOption(
            "margin", "The margin subtracted from the observed share that stays.", "X", reads="number", default="0"
        ),
    )

    @classmethod
    def fit(
        cls,
        frame: object,
        *,
        state: str,
        order_by: list[str],
        entity: tuple[str, ...] | list[str] = (),
        step: str | None = None,
        missing: Literal["error", "drop"] = "error",
        record: str = "record",
        margin: float = 0.0,
    ) -> Self:
        """Estimate the smallest share of records of a state that stay in it."""
        layout = ChainLayout(order_by, entity, step, dropped=missing == "drop")
        counted = transitions(frame, state, layout, missing)
        stay = min(row[place] / sum(row) for place, row in enumerate(counted.counts)) - margin
        return cls(
            stay=stay,
            states=counted.states,
            length=counted.longest,
            gaps=counted.gaps,
            layout=layout,
            record=record,
            column=None if counted.condition else state,
            state=state if counted.condition else None,
        )

    @property
    def assumption(self) -> str:
        return f"records stay with probability {self.stay:g} or more, in a chain {self.extent}{self.entities}"

    def _content(self) -> dict[str, Any]:
        return {"stay": self.stay} | super()._content()

    @classmethod
    def _required(cls) -> frozenset[str]:
        return frozenset({"stay"})


class TwinsTheorem(Theorem):
    """A twin moves with the other: 2τ."""

    name: ClassVar[str] = "twins"
    proof: ClassVar[str] = "the extension's own pages"

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        return None if isinstance(model, Twins) else "it is about twins"

    def bound(self, model: Model, spend: Spend) -> float:
        return 2 * total_tau(spend)


@dataclass(frozen=True)
class Share(Averaged, Count):
    """Which share of the records has a value."""

    size: int | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "share"

    @property
    def description(self) -> str:
        return super().description.replace("the number", "the share", 1)


@dataclass(frozen=True)
class Shares(Averaged, Histogram):
    """Which share of the records falls in each cell."""

    size: int | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "shares"


@dataclass(frozen=True)
class Cents(Sum):
    """A sum of amounts in euros, answered in cents."""

    kind: ClassVar[str] = "cents"

    def worth(self, amount: Fraction, records: int) -> Fraction:
        return 100 * amount


@dataclass(frozen=True)
class Exchanged(Sum):
    """A sum of amounts in another currency."""

    rate: float = field(default=1.0, kw_only=True)

    kind: ClassVar[str] = "exchanged"
    options: ClassVar[dict[str, str]] = {"rate": "The worth of one unit."}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.rate, int | float) and self.rate > 0):
            raise QueryError(f"rate must be a number above 0, not {self.rate!r}")

    def worth(self, amount: Fraction, records: int) -> Fraction:
        return Fraction(self.rate) * amount
