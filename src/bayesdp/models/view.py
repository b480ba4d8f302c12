"""The interface through which a model checks a table; `bayesdp.frames.view` implements it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from bayesdp._support.validation import Values
from bayesdp.models.layout import ChainLayout

__all__ = ["Chains", "TableView"]


class Chains(NamedTuple):
    """The chains in a table: the most records of one, and whether all are without gaps.

    unbroken: whether every record has a state and follows the previous one by exactly the step. It is False without a
              step.
    """

    longest: int
    unbroken: bool


class TableView(Protocol):
    """A table as models see it. Every method may raise RecordsError, with details."""

    @property
    def name(self) -> str:
        """The name of the table in messages."""

    def chains(self, subject: str, states: Values, layout: ChainLayout | None) -> Chains:
        """Return the chains; RecordsError for other states, ties, and records closer than the step.

        states: empty if the model does not list them.
        layout: None if the whole table is one chain in an unknown order.
        """

    def largest_group(self, group: Sequence[str], value: str | None = None) -> int:
        """Return the most records that agree in the columns `group`, of those that have a `value`."""

    def roles(self, group: Sequence[str], role: str, value: str | None = None) -> Mapping[str, int]:
        """Return the roles, by their names, and the most records of one group that have each, and a `value`.

        group: empty if the whole table is one group.
        """
