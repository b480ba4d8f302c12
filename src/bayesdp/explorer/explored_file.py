"""The file that the page explores, a model, a table or none, and which of its states may be shown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bayesdp._support.validation import Scalar
from bayesdp.explorer.choices import Choices
from bayesdp.models import AnyOf, Model

__all__ = ["ExploredFile", "discreet", "hides"]


@dataclass(frozen=True)
class ExploredFile:
    """The file that the page explores.

    path:    the file as given; empty if there is none.
    model:   the model in the file.
    columns: the names of the table's columns. Rows are read only when the reader looks at the table, and never stored.
    """

    kind: Literal["nothing", "model", "table"]
    path: str = ""
    model: Model | None = None
    columns: tuple[str, ...] = ()

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

        return cls("table", str(path), columns=tuple(scan(str(path)).schema))

    @property
    def name(self) -> str:
        """The name of the file."""
        return Path(self.path).name or self.path

    @property
    def start(self) -> Choices:
        """The initial choices."""
        if self.kind == "table":
            return Choices(values="")
        if self.model is None:
            return Choices()
        numbers = self.model.metric
        states = () if hides(self.model, ()) else tuple(self.model.states)
        return Choices(
            kind="sum" if numbers else "count",
            column=self.model.columns[0] if len(self.model.columns) > 1 else "",
            values=json.dumps(states[-1], ensure_ascii=False) if states else "" if self.model.states else "true",
        )


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
