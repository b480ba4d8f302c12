"""The view of a table that models check (`bayesdp.models.view`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from bayesdp._support.messages import param
from bayesdp._support.validation import Values
from bayesdp._support.words import having
from bayesdp.errors import RecordsError
from bayesdp.frames.aggregates import present_records, row_count, subject_of, tally
from bayesdp.frames.dates import kinds_of_text
from bayesdp.frames.groups import check_named
from bayesdp.frames.source import LazyTable, Missing, plain, reading, whole
from bayesdp.frames.transitions import FOLLOWS, Sequences
from bayesdp.models.layout import ChainLayout
from bayesdp.models.view import Chains
from bayesdp.queries import Count

__all__ = ["View"]


@dataclass(frozen=True)
class View:
    """A table and the rule for its missing values."""

    table: LazyTable
    missing: Missing

    @property
    def name(self) -> str:
        """The name of the table in messages."""
        return self.table.name

    def chains(self, subject: str, states: Values, layout: ChainLayout | None) -> Chains:
        """Return the chains; refuses other states, ties, and records closer than the step."""
        records = self._records_in(subject, states) if states else self._records_of(subject)
        if layout is None:
            return Chains(records, unbroken=False)
        with reading(self.table), kinds_of_text(self.table, layout):
            sequences = Sequences.of(self.table, subject, layout)
            sizes = sequences.sizes()
            relations = sequences.relations()
        sequences.check(relations, layout)
        unbroken = layout.step is not None and not sizes.lacking and relations[FOLLOWS] == records - sizes.chains
        return Chains(sizes.longest, unbroken)

    def _records_in(self, subject: str, states: Values) -> int:
        known = tally(self.table, [Count(subject, isin=tuple(states))], missing=self.missing)[0]
        other = known.records - known.counts[0]
        if other:
            raise RecordsError(
                f"{having(other, 'record', self.name)} a value of {subject!r} that is not a state of the chain; fit it "
                "again"
            )
        return known.records

    def _records_of(self, subject: str) -> int:
        with reading(self.table):
            rows = row_count(self.table)
            present = present_records(self.table, subject_of(self.table, subject).columns)
        if present < rows and self.missing == "error":
            raise RecordsError(
                f"values are missing in {self.name}: {rows - present} records have no {subject!r}; fill them in, or "
                "say " + param("missing", "drop") + ", which treats the pattern of missing values as public"
            )
        return present

    def largest_group(self, group: Sequence[str], value: str | None = None) -> int:
        """Return the most records that agree in the columns `group`, of those that have a `value`."""
        return max(self._largest(group, value, ()).values())

    def roles(self, group: Sequence[str], role: str, value: str | None = None) -> Mapping[str, int]:
        """Return, for each role, the most records with a `value` that one group has in it."""
        largest = self._largest(group, value, (role,))
        return {str(role): most for (role,), most in largest.items() if most}

    def _largest(self, group: Sequence[str], value: str | None, by: Sequence[str]) -> Mapping[tuple[object, ...], int]:
        """Return the size of the largest group for each value of the columns `by`; with none, of all groups."""
        with reading(self.table):
            named = [*group, *by]
            picked = self.table.pick([*named, *([] if value is None else [value])])
            check_named(picked, named)
            keys = {f"g{i}": nw.col(column) for i, column in enumerate(named)}
            kinds = list(keys)[len(group) :]
            ones = nw.lit(1) if value is None else picked.ones(~nw.col(value).is_null())

            def sizes(frame: Any) -> Any:
                groups = frame.select(**keys, n=ones).group_by(*keys).agg(nw.col("n").sum())
                return groups.group_by(*kinds).agg(nw.col("n").max()) if kinds else groups.select(nw.col("n").max())

            largest: dict[tuple[object, ...], int] = {}
            for part in picked.together(group).parts(sizes):
                for *kind, most in part:
                    key = tuple(map(plain, kind))
                    largest[key] = max(largest.get(key, 0), whole(most))
            return largest
