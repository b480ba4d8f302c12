"""The base of chain models: records in an order, one chain for each entity, and their columns in a table."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from bayesdp._support import validation
from bayesdp._support.messages import name_of, params
from bayesdp._support.validation import Values, brief, checked_missing
from bayesdp._support.words import plural
from bayesdp.errors import ModelError, QueryError, RecordsError
from bayesdp.models.base import Model
from bayesdp.models.fit_option import MISSING, RECORD, FitOption
from bayesdp.models.layout import ChainLayout
from bayesdp.models.states import check_states
from bayesdp.models.view import TableView
from bayesdp.queries import Query

__all__ = ["CHAIN_OPTIONS", "MEMORY", "ORDER_BY_TEXT", "Chain"]

CHAIN_OPTIONS = (
    FitOption(
        "state",
        "The column of states, or a condition such as 'steps > 0'.",
        "EXPRESSION",
        required=True,
        example="steps > 0",
        locates=True,
    ),
    FitOption(
        "order_by",
        "The columns that order the records.",
        "A,B",
        reads="columns",
        required=True,
        example="time",
        locates=True,
    ),
    FitOption(
        "entity",
        "The columns that identify a chain; chains are independent of one another.",
        "A,B",
        reads="columns",
        locates=True,
    ),
    FitOption(
        "step",
        "The spacing of the order, such as 5, 5m or 1d; estimated from the table by default.",
        "STEP",
        locates=True,
    ),
    MISSING,
    RECORD,
)
"""The options of every fit of a chain; `fit_options` of a chain that can be fitted includes them."""

ORDER_BY_TEXT = FitOption(
    "order_by_text", "Sort text in the order columns alphabetically.", "", reads="flag", locates=True
)
"""The option to sort order columns of text as text."""

MEMORY = FitOption(
    "memory", "The number of preceding records that a record depends on.", "K", reads="whole", default="1"
)
"""The option for the memory of a chain."""

_MOST_LISTED = 8
"""The most states that a message lists."""


@dataclass(frozen=True, kw_only=True)
class Chain(Model):
    """Records have an order and depend on their neighbours. With several entities, there are independent chains.

    states: the values a record can have, if the model lists them; a table with others is refused.
    length: an upper bound on the number of records in one chain; None means any length.
    state:  the expression that defines the states if they are not the values of a column ("steps > 0").
    gaps:   whether records are missing inside the chain.
    unit:   how many consecutive records are protected together; 12 five-minute records protect any hour.
    layout: the columns of the table it was fitted on.

    A subclass defines the assumption about neighbours. It inherits the layout, the check of tables and queries, and
    the JSON entries above.
    """

    states: Values = ()
    length: int | None = None
    state: str | None = None
    gaps: bool = False
    unit: int = 1
    layout: ChainLayout | None = None

    _by_state: ClassVar[tuple[str, ...]] = ("states",)
    """The fields that have an entry for each state."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_states(**{name: getattr(self, name) for name in self._by_state})
        object.__setattr__(self, "states", validation.distinct("states", self.states, ModelError))
        if self.length is not None:
            object.__setattr__(self, "length", validation.natural("length", self.length, ModelError))
        if self.state is not None:
            validation.text("state", self.state, ModelError)
            if self.column is not None:
                raise ModelError(params("give {column} or {state}, not both: the model describes one of them"))
        if not isinstance(self.gaps, bool):
            raise ModelError(name_of("gaps") + f" must be true or false, not {brief(self.gaps)}")
        object.__setattr__(self, "unit", validation.natural("unit", self.unit, ModelError))
        if self.layout is not None and not isinstance(self.layout, ChainLayout):
            raise ModelError(name_of("layout") + f" must be a ChainLayout(...), not {brief(self.layout)}")

    @property
    def protects(self) -> str:
        if not self.protects_several:
            return super().protects
        time = None if self.layout is None else self.layout.span(self.unit)
        together = f"any {self.unit} consecutive {plural(self.record)} together{f' ({time})' if time else ''}"
        return f"{together}, not the person behind more"

    @property
    def protects_several(self) -> bool:
        return self.unit > 1

    @property
    def subject(self) -> str | None:
        return self.column if self.column is not None else self.state

    @property
    def group_size(self) -> int | None:
        return self.length

    def with_states(self, states: Values) -> Self:
        """Return the chain with other names for its states, in their order."""
        return replace(self, states=states)

    @property
    def entity_columns(self) -> tuple[str, ...] | None:
        return None if self.layout is None else tuple(self.layout.entity) or None

    @property
    def public_columns(self) -> tuple[str, ...]:
        return () if self.layout is None else (*self.layout.order_by, *self.layout.entity)

    @property
    def order(self) -> str | None:
        return None if self.layout is None else self.layout.order_by[0]

    @property
    def ordering(self) -> ChainLayout | None:
        return self.layout

    def at_any_length(self) -> Self:
        """Return the chain without a limit on its length, and with gaps, which then cost nothing more.

        Raises ModelError for a chain without an order, which is needed to check that new records come last.
        """
        if self.layout is None:
            raise ModelError(
                "growing data need a chain that names the columns of its order (layout), to check that new records "
                "follow the old ones"
            )
        return replace(self, length=None, gaps=True)

    @property
    def dropped(self) -> bool:
        return self.layout is not None and self.layout.dropped

    @property
    def extent(self) -> str:
        """The length, as a part of the assumption: "of any length", "at most 288 records long"."""
        return "of any length" if self.length is None else f"at most {self.length} records long"

    @property
    def entities(self) -> str:
        """The end of the assumption if there are several chains; otherwise empty."""
        if self.layout is None or not self.layout.entity:
            return ""
        return f", one chain for each {', '.join(self.layout.entity)}, and these chains are independent of one another"

    @property
    def window(self) -> tuple[int, str]:
        """The number of records in a period in which anything may happen, and the period in words."""
        several = plural(self.record)
        records, name = (12, None) if self.layout is None else self.layout.stretch
        if records <= self.unit:
            records, name = 2 * self.unit, None
        name = f"{records} consecutive {several}" if name is None else name
        if self.length is not None and records >= self.length:
            return max(self.length, self.unit), "the whole chain"
        return records, name

    def summary(self) -> str:
        """Return the assumption, and whether records are missing inside the chain."""
        return super().summary() + (" Some records in between are missing." if self.gaps else "")

    def located(
        self,
        *,
        state: str | None = None,
        order_by: str | Sequence[str] | None = None,
        entity: str | Sequence[str] | None = None,
        step: float | str | datetime.timedelta | None = None,
        missing: Literal["error", "drop"] | None = None,
        order_by_text: bool | None = None,
    ) -> Self:
        """Return the chain with its columns: those it was fitted on, replaced by the arguments given.

        Raises ModelError if the columns are unknown, or if the model describes another one.
        """
        subject = self.subject if state is None else validation.text("state", state, ModelError)
        if self.subject not in (None, subject):
            raise ModelError(f"the model describes {self.subject!r}, not {subject!r}")
        if self.layout is not None:
            layout = self.layout.renamed(order_by, entity, step, order_by_text=order_by_text)
        else:
            if subject is None or not order_by:
                raise ModelError(
                    params("the model does not name its columns; name them as in fit, by {state} and {order_by}")
                )
            layout = ChainLayout(order_by, entity or (), step, order_by_text=bool(order_by_text))
        if missing is not None:
            layout = replace(layout, dropped=checked_missing(missing) == "drop")
        return replace(self, column=subject, state=None, layout=layout)

    def check_query(self, query: Query) -> None:
        """Raise QueryError for another column, and for values that are not states of the chain."""
        super().check_query(query)
        for value in query.values if self.states else ():
            if value not in self.states:
                known = ", ".join(map(brief, self.states[:_MOST_LISTED]))
                more = ", …" if len(self.states) > _MOST_LISTED else ""
                raise QueryError(f"{brief(value)} is not a state of the chain; its states are {known}{more}")

    def check_table(self, table: TableView, subject: str | None = None) -> Self:
        """Return the chain as it holds on a table: with gaps, unless the table shows that there are none.

        There are none if the model has an order and a step, and every record of the table follows the previous one by
        that step. Raises RecordsError for other states, a longer chain, ties, and records closer than the step.
        """
        subject = self.subject if self.subject is not None else subject
        if subject is None:
            return replace(self, gaps=True)
        chains = table.chains(subject, self.states, self.layout)
        if self.length is not None and chains.longest > self.length:
            raise RecordsError(
                f"{table.name} has a chain of {chains.longest} records, but the model describes chains of at most "
                f"{self.length}; fit it again, or name the columns that identify entities"
            )
        return replace(self, gaps=self.gaps or not chains.unbroken)

    @property
    def unchecked(self) -> str | None:
        if self.layout is not None:
            return None
        return (
            "The model names no order, so the order of the records was not checked, and the whole table counts as one "
            "chain."
        )

    def _content(self) -> dict[str, Any]:
        content: dict[str, Any] = {"states": list(self.states)} if self.states else {}
        content["length"] = self.length
        if self.state is not None:
            content["state"] = self.state
        if self.gaps:
            content["gaps"] = True
        if self.unit > 1:
            content["unit"] = self.unit
        if self.layout is not None:
            content["layout"] = self.layout.to_dict()
        return content

    @classmethod
    def _read(cls, entries: Mapping[str, Any]) -> Self:
        layout = entries.get("layout")
        return cls(**entries) if layout is None else cls(**{**entries, "layout": ChainLayout.from_dict(layout)})
