"""The file that the page explores, a model, a table or none, and which of its states may be shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bayesdp._support.validation import Scalar
from bayesdp.errors import FrameError
from bayesdp.explorer.choices import Choices
from bayesdp.explorer.first_choices import first_choices
from bayesdp.models import AnyOf, Model

if TYPE_CHECKING:
    from bayesdp.frames.source import Kind, LazyTable

__all__ = ["ExploredFile", "discreet", "hides"]

_SMALL = 64 * 2**20
"""The largest file, in bytes, that the page reads without being told to."""


@dataclass(frozen=True)
class ExploredFile:
    """The file that the page explores.

    path:    the file as given; empty if there is none.
    model:   the model in the file.
    kinds:   the table's columns and the kinds of their values. No row is stored.
    """

    kind: Literal["nothing", "model", "table"]
    path: str = ""
    model: Model | None = None
    kinds: Mapping[str, Kind | None] = field(default_factory=dict)

    @classmethod
    def of(cls, path: str | Path | None) -> ExploredFile:
        """Open a file: a name that ends in .json is a model, any other a table.

        Raises ModelError and FrameError for files that cannot be read.
        """
        if path is None:
            return cls("nothing")
        if str(path).endswith(".json"):
            return cls("model", str(path), Model.load(path))
        from bayesdp.frames.source import scan

        table = scan(str(path))
        return cls("table", str(path), kinds={column: _kind(table, column) for column in table.schema})

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the table's columns."""
        return tuple(self.kinds)

    @property
    def small(self) -> bool:
        """Whether the table is a file that is read in seconds, so that the page need not wait for a button."""
        return self.kind == "table" and Path(self.path).is_file() and Path(self.path).stat().st_size <= _SMALL

    @property
    def name(self) -> str:
        """The name of the file."""
        return Path(self.path).name or self.path

    @property
    def start(self) -> Choices:
        """The initial choices."""
        if self.kind == "table":
            return first_choices(self.kinds)
        if self.model is None:
            return Choices()
        numbers = self.model.metric
        states = () if hides(self.model, ()) else tuple(self.model.states)
        return Choices(
            kind="sum" if numbers else "count",
            column=self.model.columns[0] if len(self.model.columns) > 1 else "",
            values=json.dumps(states[-1], ensure_ascii=False) if states else "" if self.model.states else "true",
        )


def _kind(table: LazyTable, column: str) -> Kind | None:
    """Return the kind of a column's values; None for a type that no question reads."""
    try:
        return table.kind(column)
    except FrameError:
        return None


def hides(model: Model, public: tuple[Scalar, ...]) -> bool:
    """Whether a model has states that must not be shown: see `discreet`."""
    return any(
        member.estimated and not all(_open(state, public) for state in member.states) for member in model.members
    )


def discreet(model: Model, public: tuple[Scalar, ...]) -> Model:
    """Return the model with neutral names for states that were read from a table.

    The states of a fitted model are values of its records. True and false are not secret, nor are the values that the
    reader typed (`public`) or the states of a model that was written by hand. The renaming changes no guarantee:
    theorems do not depend on the names of states, unless a query adds them up.

    >>> from bayesdp import MarkovChain
    >>> fitted = MarkovChain.from_counts([[5, 2], [2, 5]], states=["kitchen", "attic"])
    >>> discreet(fitted, ("attic",)).states
    ('value 1', 'attic')
    """
    if not hides(model, public):
        return model
    if isinstance(model, AnyOf):
        return model.over_members(lambda member: discreet(member, public))
    names = (state if _open(state, public) else f"value {place}" for place, state in enumerate(model.states, 1))
    return model.with_states(tuple(names))


def _open(state: Scalar, public: tuple[Scalar, ...]) -> bool:
    return isinstance(state, bool) or any(type(word) is type(state) and word == state for word in public)
