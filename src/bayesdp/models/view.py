"""What a model may ask of a table, to see whether the table is within it. `bayesdp.frames.view` answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from bayesdp._support.validation import Values
from bayesdp.models.layout import ChainLayout, GroupLayout

__all__ = ["Chains", "TableView"]


class Chains(NamedTuple):
    """The chains in a table: the most records of one, and whether no record is seen to be missing inside any.

    unbroken: every record follows the one before it by exactly the step, and none lacks its state. Without a step
              nobody can see that, and it is False.
    """

    longest: int
    unbroken: bool


class TableView(Protocol):
    """A table as models see it. Every question may raise RecordsError, which says in detail what is wrong."""

    @property
    def name(self) -> str:
        """What the table is called in messages."""

    def chains(self, subject: str, states: Values, layout: ChainLayout | None) -> Chains:
        """Return the chains; refuses other states than these, ties, and records closer than the step.

        states: none means that the model does not list them.
        layout: None means that the whole table is one chain in an order that nobody has named.
        """

    def largest_group(self, group: Sequence[str], value: str | None = None) -> int:
        """Return the most records that agree in the columns `group`, of those that have a `value`."""

    def roles(self, layout: GroupLayout) -> Mapping[str, int]:
        """Return the roles, by their names, and the most records of one group that have each."""
