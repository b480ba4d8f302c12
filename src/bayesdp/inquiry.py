"""A table under a model: which questions may be asked of it, and their exact answers before any noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bayesdp.errors import FrameError, InvalidInputError, QueryError
from bayesdp.frames.aggregates import Tally, check_question, row_count, subject_of, tally
from bayesdp.frames.expressions import canonical, parse
from bayesdp.frames.grid import grid_for
from bayesdp.frames.limits import check_sizes
from bayesdp.frames.source import Missing, Table, checked_missing, reading, scan
from bayesdp.frames.wide import VALUE, unpivoted
from bayesdp.ledger import fingerprint
from bayesdp.models import GaussianGroups, Model
from bayesdp.planning import Asked
from bayesdp.queries import Mean, Query, Sum
from bayesdp.validation import brief, plain_number

__all__ = ["Inquiry", "check_mean", "missing_rule", "spread"]


@dataclass(frozen=True)
class Inquiry:
    """A table, the model of it, what is done with missing values, and the public number of rows."""

    table: Table
    model: Model
    missing: Missing
    rows: int

    @classmethod
    def into(cls, frame: object, model: Model, missing: Missing | None) -> Inquiry:
        """Open a table; missing values are treated as the model was fitted, unless something else is said.

        Raises FrameError for what is no table, is empty, or has longer chains or larger groups than the model allows.
        """
        rule, table = missing_rule(model, missing), scan(frame)
        with reading(table):
            rows = row_count(table)
            check_sizes(table, model, rule)
        return cls(table, model, rule, rows)

    @property
    def name(self) -> str:
        """What the table is called in messages."""
        return self.table.name

    @property
    def description(self) -> dict[str, Any]:
        """What a ledger keeps of the table: public facts, by which it is known again."""
        columns = fingerprint({"columns": sorted(map(str, self.table.schema))})
        return {"records": self.rows, "columns": columns, "missing": self.missing}

    def asked(self, queries: Sequence[Query], bits: int) -> tuple[Asked, ...]:
        """Resolve columns, choose grids and refuse what the model does not speak about; no value is read."""
        for query in queries:
            if not isinstance(query, Query):
                raise InvalidInputError(f"expected a query such as Count(...), not {brief(query)}")
        everything = [replace(query, column=query.column or self.model.subject) for query in queries]
        self.model.check_queries(tuple(everything))
        found = []
        for query, named in zip(queries, everything, strict=True):
            records = self.rows * (len(self._spread) if self._about_all(named) else 1)
            self._check_filter(named)
            self._check_table(named)
            grid = None
            if isinstance(named, Sum | Mean):
                grid = grid_for(named, records, whole=self._whole(named), bits=bits)
                named = replace(named, step=grid.step)
            sensitivity = grid.span if grid is not None else int(query.sensitivity)
            records = self._averaged(named, records) if isinstance(named, Mean) else records
            found.append(Asked(named, self._question(query, named.column), grid, sensitivity, records).checked())
        if not found:
            raise InvalidInputError("no question was asked; give at least one query")
        if len({each.question for each in found}) < len(found):
            raise InvalidInputError("the same question was asked twice; ask it once")
        return tuple(found)

    def _check_filter(self, query: Query) -> None:
        """Refuse a private filter on columns the model does not speak about: it would release them."""
        if query.where is None or query.public_filter:
            return
        described = self.model.columns or ((query.column,) if self.model.about_values and query.column else ())
        with reading(self.table):
            allowed = {name for text in described for name in subject_of(self.table, text).columns}
        beyond = sorted(parse(query.where).columns - allowed)
        if described and beyond:
            raise QueryError(
                f"the filter uses {', '.join(map(repr, beyond))}, which the model does not speak about; filter by "
                f"{', '.join(map(repr, sorted(allowed)))}, or say public_filter=True if these columns are public"
            )

    def _check_table(self, query: Query) -> None:
        """Refuse what the table cannot answer, by its columns alone."""
        wide = self._about_all(query)
        table, subject = (unpivoted(self.table, self._spread), VALUE) if wide else (self.table, None)
        check_question(table, query, subject=subject, rows=self.rows)

    def _question(self, query: Query, column: str | None) -> str:
        """Return the fingerprint of a question, the same for the same question in other words."""
        condition = None if column is None or column in self.table else parse(column)
        entries = {**query.to_dict(), "column": column if condition is None else canonical(condition)}
        entries.pop("size", None)
        if query.where is not None:
            entries["where"] = canonical(parse(query.where))
        if "equals" in entries:
            entries["isin"] = [entries.pop("equals")]
        plain = {
            name: [*map(plain_number, value)] if isinstance(value, list) else value for name, value in entries.items()
        }
        if "isin" in plain:
            plain["isin"] = sorted(plain["isin"], key=repr)
        return fingerprint(plain)

    def _averaged(self, query: Mean, records: int) -> int:
        """Return over how many records a mean is: a public number, which its accuracy depends on."""
        if query.where is not None or self.missing == "drop":
            records = self.read([query], wide=self._about_all(query))[0].records
        check_mean(query, records)
        return records

    @property
    def _spread(self) -> tuple[str, ...]:
        return spread(self.model)

    def _about_all(self, query: Query) -> bool:
        """Whether a question without a column is about every value of a wide table."""
        return query.column is None and bool(self._spread)

    def _whole(self, query: Query) -> bool:
        """Whether the column holds whole numbers by its type. The step of a sum must not depend on private values."""
        column = query.column
        if self.table.guessed:
            return False
        with reading(self.table):
            return column is not None and column in self.table and self.table.pick([column]).kind(column) == "whole"

    def read(self, queries: Sequence[Query], *, wide: bool = False) -> tuple[Tally, ...]:
        """Read exact answers in one scan; wide: about every value of a wide table."""
        if not wide:
            found = tally(self.table, queries, missing=self.missing)
        else:
            found = tally(unpivoted(self.table, self._spread), queries, subject=VALUE, missing=self.missing)
        rows = found[0].rows // (len(self._spread) if wide else 1)
        if rows != self.rows:
            raise FrameError(f"{self.name} has {rows} rows now, but had {self.rows} when the session began")
        return found

    def exact(self, asked: tuple[Asked, ...]) -> list[Tally]:
        """Read the exact answers, in one scan (and one more for questions about all columns of a wide table)."""
        found: dict[int, Tally] = {}
        for wide in (False, True):
            places = [i for i, each in enumerate(asked) if self._about_all(each.query) == wide]
            if places:
                answers = self.read([asked[i].query for i in places], wide=wide)
                found.update(zip(places, answers, strict=True))
        for i, each in enumerate(asked):
            if isinstance(each.query, Mean) and found[i].records != each.records:
                raise FrameError(f"{self.name} changed: a mean was over {each.records} records before")
        return [found[i] for i in range(len(asked))]


def missing_rule(model: Model, missing: Missing | None) -> Missing:
    """Return what is done with missing values: what is said, or what was done when the model was fitted."""
    return checked_missing(missing if missing is not None else "drop" if model.dropped else "error")


def spread(model: Model) -> tuple[str, ...]:
    """Return the columns over which the values of a wide table are spread; none for a long one."""
    wide = isinstance(model, GaussianGroups) and model.layout is not None and model.layout.wide
    return model.columns if wide else ()


def check_mean(query: Mean, records: int) -> None:
    """Refuse a mean over no records, and one whose size is given and is not that."""
    if records == 0:
        raise QueryError("the mean is over no records at all; nothing can be said about it")
    if query.size not in (None, records):
        raise QueryError(f"the mean is over {records} records, but size = {query.size} was given; leave size= out")
