"""A table under a model: the questions that it allows, and their exact answers before any noise."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from bayesdp._support import validation
from bayesdp._support.documents import fingerprint
from bayesdp._support.messages import in_python, name_of, param
from bayesdp._support.validation import Scalar, brief, plain_number
from bayesdp._support.words import counted
from bayesdp.errors import ChangedError, FrameError, InvalidInputError, NoColumnError, QueryError, RecordsError
from bayesdp.frames.aggregates import Tally, check_question, row_count, tally
from bayesdp.frames.expressions import canonical, parse
from bayesdp.frames.grid import FINEST_BITS, Grid, grid_for
from bayesdp.frames.growth import Extent, check_grown, extent_of, extents_of_parts, span_of
from bayesdp.frames.kept_records import kept_records
from bayesdp.frames.parts import cells_of, makes_parts, members, part_sizes
from bayesdp.frames.source import LazyTable, Missing, checked_missing, reading, scan
from bayesdp.frames.view import View
from bayesdp.frames.wide_format import VALUE, unpivoted
from bayesdp.frames.windows import Order, Window, clocks_of, tally_windows, together, windows_of, within_filter
from bayesdp.ledger import Check
from bayesdp.ledger.changes import columns_mark
from bayesdp.models import Model
from bayesdp.models.layout import column_names
from bayesdp.queries import AnyMechanism, Averaged, Count, Query
from bayesdp.queries.region import Region
from bayesdp.queries.windows import CLOCKS
from bayesdp.session.parts import part_by_part
from bayesdp.session.prepared_query import PreparedQuery

__all__ = ["CheckedTable", "check_table", "missing_rule"]


def check_table(
    frame: object,
    model: Model,
    queries: Query | Sequence[Query] = (),
    *,
    missing: Missing | None = None,
    public: Sequence[str] | None = None,
) -> None:
    """Raise, in detail, what a session would refuse about a table under a model, and about these questions.

    missing: "drop" if records with missing values are left out; by default as the model was fitted.
    public:  the columns that are public; by default those that the questions treat as public.

    A session states only that it refuses. This function is for people who may see the data: its messages count and
    name what is wrong, and no guarantee covers them. Nothing is released or charged.

    Warns if a question counts a value that no record has: a session answers it like any other, with 0 and noise.

    Raises RecordsError for what is wrong with the records, FrameError for the table, QueryError for a question.

    >>> import polars
    >>> from bayesdp import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], column="on", length=3)
    >>> check_table(polars.DataFrame({"on": [0, 1, 1, 0]}), chain)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    bayesdp.errors.RecordsError: the table has a chain of 4 records, but the model describes chains of at most 3; ...
    """
    named = None if public is None else frozenset(column_names("public", public))
    checked_table = replace(CheckedTable.of(frame, model, missing).checked(), public=named)
    questions: Sequence[Any] = (queries,) if isinstance(queries, Query) else validation.items("queries", queries)
    if questions:
        tallies = checked_table.exact(checked_table.prepared(questions, FINEST_BITS))
        for query, found in zip(questions, tallies, strict=True):
            if query.counts_values and not any(found.counts):
                warnings.warn(f"{query.description}: no record has such a value", stacklevel=2)


@dataclass(frozen=True)
class CheckedTable:
    """A table, the model as it holds on it, what is done with missing values, and the public number of rows.

    If the model keeps some records of each group, the table is that of these records.

    everything: the table with all of its records, and how many these are.
    growing: rows may be added to the table later; a question about the longer table is a new one.
    public:  the columns that the account names as public; None for those that questions treat as public.
    assumed: the fingerprint of the model as it was given.
    extent:  how far a growing table reaches.
    stayed_until: where a growing table ended as long as its account was one of a fixed table.

    What is wrong with the records raises RecordsError, in detail; a session must not pass on its message.
    """

    table: LazyTable
    model: Model
    missing: Missing
    rows: int
    growing: bool = False
    public: frozenset[str] | None = None
    assumed: str = ""
    extent: Extent | None = None
    stayed_until: Scalar | None = None
    everything: tuple[LazyTable, int] = field(kw_only=True)
    _within: set[str] = field(default_factory=set, compare=False, repr=False)
    """The columns of questions that were found to be within a model that names no column."""
    _parts: dict[tuple[str, tuple[str, ...]], int] = field(default_factory=dict, compare=False, repr=False)
    """The parts that were found to consist of whole chains or groups, and how many records they have."""
    _divides: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)
    """The columns by which questions are divided, and whether their parts consist of whole chains or groups."""

    @classmethod
    def of(cls, frame: object, model: Model, missing: Missing | None, *, growing: bool = False) -> CheckedTable:
        """Open a table; missing values are treated as when the model was fitted, unless `missing` says otherwise.

        Reads only its columns and its number of records. Raises FrameError for what is no table or is empty,
        RecordsError for a file that cannot be read.
        """
        rule, table = missing_rule(model, missing), scan(frame)
        with reading(table):
            rows = row_count(table)
        read = table if model.reads is None else kept_records(table, model.reads)
        return cls(
            read,
            model,
            rule,
            rows if read is table else row_count(read),
            growing,
            assumed=fingerprint(model.opened_as.identity),
            everything=(table, rows),
        )

    def checked(self) -> CheckedTable:
        """Return this with the model as it holds on the table; RecordsError for a table that is outside of it."""
        with _by_kinds(self.table, self.table.schema):
            within = self.model.check_table(View(self.table, self.missing))
        if not isinstance(within, type(self.model)):
            raise InvalidInputError(f'a model of type "{self.model.kind}" does not say whether a table is within it')
        return replace(self, model=within)

    def check_of(self, columns: Iterable[str]) -> Check:
        """Return which facts a check of these columns under the model reads, for the ledger."""
        read = {"model": self.assumed, "missing": self.missing, "columns": sorted(set(columns))}
        return Check(self._columns_mark, None if self.growing else self.everything[1], fingerprint(read))

    @property
    def _columns_mark(self) -> str:
        return columns_mark(list(self.table.schema))

    @property
    def name(self) -> str:
        """The name of the table in messages."""
        return self.table.name

    @property
    def description(self) -> dict[str, Any]:
        """The public facts by which a ledger recognises the table."""
        size: dict[str, Any] = {"growing": True} if self.growing else {"records": self.everything[1]}
        return {**size, "columns": self._columns_mark, "missing": self.missing}

    def check_grown(self, earlier: Sequence[Extent]) -> Extent:
        """Return how far the table reaches; refuses a table that does not continue the one released before."""
        check_grown(self.everything[0], earlier)
        return extent_of(self.everything[0], self.model.order)

    def extents(self, requested: Sequence[PreparedQuery], extent: Extent) -> dict[str, Extent]:
        """Return how far the table, or the part that a question is about, reaches, by the question's fingerprint."""
        extents = {prepared.question: extent for prepared in requested}
        for by in {by for prepared in requested if (by := prepared.query.part_column) is not None}:
            inside = [prepared for prepared in requested if prepared.query.part_column == by]
            parts = extents_of_parts(self.everything[0], extent, by, [prepared.query.parts[0] for prepared in inside])
            extents |= {prepared.question: part for prepared, part in zip(inside, parts, strict=True)}
        return extents

    def members(self, by: str, end: tuple[str, Scalar] | None = None) -> str:
        """Return the fingerprint of who is in which part by a column, of the records up to the end of an order."""
        return members(self.table, by, [member.entity_columns or () for member in self.model.members], end)

    @property
    def model_columns(self) -> frozenset[str]:
        """The columns whose values the model describes, as far as it names them."""
        return self._columns_of(self.model.columns)

    def columns_read(self, queries: Sequence[Query]) -> frozenset[str]:
        """Return the columns whose private values questions read; refuses questions by the names of columns alone."""
        named = self._named(queries)
        read = frozenset(column for query in named for column in self._columns_used(query))
        return read - self._public_columns(*named)

    def _public_columns(self, *queries: Query) -> frozenset[str]:
        """Return the public columns of the account; without an account, those that questions treat as public."""
        natural = frozenset(self.model.public_columns)
        if self.public is not None:
            return natural | self.public
        by = {name for query in queries for name in self._by_columns(query)}
        filtered = [parse(query.where).columns for query in queries if query.where and query.public_filter]
        return natural.union(by, *filtered)

    def check_public(self, columns: Iterable[str], what: str) -> None:
        """Refuse to use columns as public that the holder of the data did not name as public."""
        private = [] if self.public is None else sorted(set(columns) - self._public_columns())
        if private:
            listed = ", ".join(map(repr, private))
            raise QueryError(
                f"{what} {listed}, which the account does not name as public. Only the holder of the data can declare "
                "a column public: when the account is opened, with "
                + param("public", like="[...]")
                + ", or once afterwards, with: bayesdp budget public --dataset NAME --columns A,B --reason TEXT"
            )

    def check_private(self, *subjects: str) -> None:
        """Refuse a question about public columns alone."""
        columns = self._columns_of(subjects)
        if self.public is not None and columns and columns <= self._public_columns():
            raise QueryError(
                f"{', '.join(map(repr, sorted(columns)))} is public in this account, so noise would protect nothing; "
                "read it off the table"
            )

    def _named(self, queries: Sequence[Query]) -> list[Query]:
        """Return the questions, each with its column; refuses questions by the names of columns alone."""
        for query in queries:
            if not isinstance(query, Query):
                raise InvalidInputError(f"expected a query such as Count(...), not {brief(query)}")
            if Query.kinds().get(query.kind) is not type(query):
                raise QueryError(
                    f'{type(query).__name__} has no kind of its own, and would be taken for "{query.kind}"'
                )
            if query.made_elsewhere:
                raise QueryError(
                    "a release by any mechanism is made elsewhere; to charge it here, use "
                    + in_python("session.record(tau=, what=)", elsewhere="bayesdp budget record")
                )
        everything = [query if query.column else replace(query, column=self.model.subject) for query in queries]
        self.model.check_queries(tuple(everything))
        for query in everything:
            self._check_filter(query)
            self.table.check_names(sorted(self._columns_used(query)))
            if query.clipped is not None:
                self._check_added(query.clipped)
        return everything

    def prepared(self, queries: Sequence[Query], bits: int, *, unread: bool = False) -> tuple[PreparedQuery, ...]:
        """Resolve columns, choose grids and refuse what the model does not describe.

        No private value is read, except once for each column a model that names none is asked about, and for averages
        that leave out records without a value.

        unread: read none of these either, as for a preview; what depends on them is then unknown.
        """
        questions: list[PreparedQuery] = []
        for query, named in zip(queries, self._named(queries), strict=True):
            if self._in_windows(named):
                questions += self._by_windows(query, named, bits, unread=unread)
            else:
                questions += [self._prepared(query, part, bits, unread=unread) for part in part_by_part(named)]
        if not questions:
            raise InvalidInputError("no question was asked; give at least one query")
        if len({prepared.question for prepared in questions}) < len(questions):
            raise InvalidInputError("the same question was asked twice; ask it once")
        return tuple(questions)

    def _prepared(self, query: Query, named: Query, bits: int, *, unread: bool) -> PreparedQuery:
        """Return the prepared question about the whole table, or about one part of it."""
        gridded, grid, sensitivity, records = self._on_grid(named, bits, unread=unread)
        if gridded.part_column is not None:
            gridded, records = self._in_part(gridded, tuple(query.by_cells or ()))
        foreseen = not (unread and named.averaged and self.missing == "drop")
        records = self._averaged(gridded, records) if named.averaged and foreseen else records
        question = PreparedQuery.about(gridded, self._question(query, gridded), grid, sensitivity, records)
        return replace(question, foreseeable=foreseen, region=within_filter(self.table, gridded))

    def _on_grid(self, named: Query, bits: int, *, unread: bool) -> tuple[Query, Grid | None, int, int]:
        """Return a question on its grid, the grid, the sensitivity on it, and how many records the table has at most.

        Refuses what the table cannot answer.
        """
        records = self.rows * (len(self._spread) if self._about_all(named) else 1)
        used = self._columns_used(named)
        grid, clipped, sensitivity = None, named.clipped, math.ceil(named.parts_sensitivity)
        if clipped is not None:
            grid = grid_for(clipped, records, whole=self._whole(named), bits=bits)
            named, sensitivity = replace(clipped, step=grid.step), clipped.moved(grid.span)
        if not unread or not self.table.types_from_values(used):
            self._check_kinds(named, used)
        if not unread:
            self._check_within(named)
        return named, grid, sensitivity, records

    def _by_windows(self, query: Query, named: Query, bits: int, *, unread: bool) -> list[PreparedQuery]:
        """Return the prepared question about each window, without the windows that it cannot be asked about.

        An average or a quantile needs a record. How many records a window has is public.
        """
        self._check_divided(named)
        gridded, grid, sensitivity, records = self._on_grid(named.undivided, bits, unread=unread)
        divided = replace(gridded, by=named.by, by_cells=named.by_cells, since=named.since, until=named.until)
        windows = windows_of(self.table, self.order, divided)
        needs_records = named.averaged or bool(named.thresholds)
        foreseen = not (unread and needs_records and self.missing == "drop")
        sizes: Sequence[int] = [records] * len(windows)
        if needs_records and foreseen:
            sizes = self._window_sizes(windows, named)
            if not any(sizes):
                raise QueryError(f"{self.name} has no record for {named.description}")
        questions = [
            replace(
                PreparedQuery.about(window.query, self._question(query, window.query), grid, sensitivity, size),
                region=within_filter(self.table, window.query, window.region),
            )
            for window, size in zip(windows, sizes, strict=True)
            if size
        ]
        return questions if foreseen else [replace(question, foreseeable=False) for question in questions]

    def _window_sizes(self, windows: Sequence[Window], named: Query) -> list[int]:
        """Return how many records each window has; refuses an average that states another size."""
        instead = None if self.missing == "drop" else () if named.where is None else (Count(named.where, equals=True),)
        found = self.tally_windows([window.query for window in windows], instead)
        sizes = [tally.counts[0] if instead else tally.records for tally in found]
        for size in sizes:
            if isinstance(named, Averaged) and size and named.size not in (None, size):
                if self.missing == "drop":
                    named.of_size(size)
                raise QueryError(
                    f"each window has a number of records of its own, so the {named.kind} is not over size = "
                    f"{named.size}; leave " + param("size") + " out"
                )
        return sizes

    def named_windows(self, query: Query) -> tuple[tuple[tuple[Scalar, ...], str], ...]:
        """Return the names of the windows of a question, each with its fingerprint; none if it is by parts."""
        (named,) = self._named([query])
        if not self._in_windows(named):
            return ()
        windows = windows_of(self.table, self.order, named)
        return tuple((window.names, self._question(query, window.query)) for window in windows)

    def region_of(self, column: str | None, window: object) -> Region:
        """Return what a release made elsewhere reads, by `since`, `until` and `by_cells` as queries have them.

        Raises QueryError for columns that are not public, and for what is no window.
        """
        if not isinstance(window, Mapping) or not window or not set(window) <= {"since", "until", "by_cells"}:
            raise QueryError(name_of("window") + f" has since, until or by_cells; {brief(window)} has not")
        by = tuple(validation.mapping("by_cells", window.get("by_cells", {}), QueryError)) or None
        query = AnyMechanism(column or self.model.subject, by=by, **window)
        self._check_filter(query)
        self.table.check_names(sorted(self._columns_used(query)))
        self._check_divided(query)
        return together(windows_of(self.table, self.order, query))

    @cached_property
    def order(self) -> Order | None:
        """The columns by which the model orders records, as they are in the table."""
        layout = self.model.ordering
        return None if layout is None else Order.of(self.table, layout)

    def _by_columns(self, query: Query) -> tuple[str, ...]:
        """Return the columns in `by`, without the names of clocks."""
        return tuple(name for name in query.by_columns if name in self.table.schema or name not in CLOCKS)

    def _in_windows(self, query: Query) -> bool:
        """Tell whether a question is about windows, not about the whole table or about independent parts.

        Parts are made by one column that is the same for all records of each chain or group.
        """
        by = query.part_column
        if query.in_windows or by is None or by not in self.table.schema:
            return query.in_windows or by is not None
        if by not in self._divides:
            entities = [member.entity_columns for member in self.model.members]
            with _by_kinds(self.table, (by,)):
                self._divides[by] = all(
                    columns is not None and makes_parts(self.table, by, columns) for columns in entities
                )
        return not self._divides[by]

    def _check_divided(self, query: Query) -> None:
        """Refuse windows of a wide table, and windows by the columns that are protected."""
        if self._about_all(query):
            raise QueryError("a question about all columns of a wide table has no windows; ask about one column")
        layout = self.model.ordering
        clocks = query.since is not None or query.until is not None or bool(clocks_of(self.table, self.order, query))
        protected = self._columns_of((*self.model.columns, *self._subjects(query)))
        chosen = protected.intersection(layout.order_by) if clocks and layout is not None else ()
        if chosen:
            raise QueryError(f"windows by {', '.join(map(repr, chosen))} cannot be public, for it is protected")

    def _check_filter(self, query: Query) -> None:
        """Refuse a private filter on columns the model does not describe, and a "public" one on what is protected.

        The first would release columns that the account does not cover: a model of the condition "steps > 0" describes
        whether there were steps, not how many. The second would release the protected values, since a record in or out
        of the answer tells its value.
        """
        subjects = self._subjects(query)
        described = self.model.columns or (subjects if self.model.about_values else ())
        modelled = self._columns_of(described)
        for by in self._by_columns(query):
            if by in modelled | self._columns_of(subjects):
                raise QueryError(f"parts by {by!r} cannot be public, for it holds the values that are protected")
            self.table.check_names([by])
            self.check_public([by], "the answers are by")
        self.check_private(*subjects)
        if query.where is None:
            return
        used = parse(query.where).columns
        protected = sorted(used & (modelled | self._columns_of(subjects)))
        beyond = (
            [] if query.where in described else sorted(used - {text for text in described if text in self.table.schema})
        )
        if query.public_filter and protected:
            raise QueryError(
                f"a filter on {', '.join(map(repr, protected))} cannot be public, for these are the values that are "
                "protected; leave " + param("public_filter", True) + " out"
            )
        if query.public_filter:
            self.check_public(used, "the filter uses")
        if not query.public_filter and described and beyond:
            raise QueryError(
                f"the filter uses {', '.join(map(repr, beyond))}, which the model does not describe; filter by "
                f"{', '.join(map(repr, described))}, or say "
                + param("public_filter", True)
                + " if these columns are public"
            )

    def _subjects(self, query: Query) -> tuple[str, ...]:
        """Return the columns and conditions a question is about, without its filter."""
        return (query.column,) if query.column else self._spread

    def _columns_of(self, texts: Sequence[str]) -> frozenset[str]:
        """Return the columns that columns and conditions use, by their names alone."""
        return frozenset(
            name for text in texts for name in ((text,) if text in self.table.schema else parse(text).columns)
        )

    def _columns_used(self, query: Query) -> frozenset[str]:
        filtered = frozenset() if query.where is None else parse(query.where).columns
        return self._columns_of(self._subjects(query)) | filtered | frozenset(self._by_columns(query))

    def _check_added(self, query: Query) -> None:
        """Refuse to add up a condition."""
        if query.column is not None and query.column not in self.table.schema:
            raise QueryError(f"cannot add up {query.column!r}: it is a condition, not a column of numbers")

    def _check_kinds(self, query: Query, used: Iterable[str]) -> None:
        """Refuse questions that the table cannot answer, by the kinds of the columns that they use."""
        with _by_kinds(self.table, used):
            wide = self._about_all(query)
            table, subject = (unpivoted(self.table, self._spread), VALUE) if wide else (self.table, None)
            check_question(table, query, subject=subject, rows=self.rows)

    def _check_within(self, query: Query) -> None:
        """Check that the column of a question is within a model that names no column."""
        if query.column is None or query.column in self._within or self.model.subject is not None:
            return
        with _by_kinds(self.table, self._columns_used(query)):
            self.model.check_table(View(self.table, self.missing), query.column)
        self._within.add(query.column)

    def _in_part(self, query: Query, cells: Sequence[Scalar]) -> tuple[Query, int]:
        """Return a question about a part, by the table's name for it, and the part's public number of records.

        cells: all parts of the same request, which are read in one scan.
        """
        by = query.part_column
        assert by is not None
        if self._about_all(query):
            raise QueryError(f"a question about all columns of a wide table has no parts by {by!r}; ask about one")
        with _by_kinds(self.table, (by,)):
            query = replace(query, by_cells=cells_of(self.table, by, query.listed[by]))
            if (by, query.parts) not in self._parts:
                every = cells_of(self.table, by, cells)
                for cell, size in zip(every, part_sizes(self.table, by, every), strict=True):
                    self._parts[by, replace(query, by_cells=(cell,)).parts] = size
        return query, self._parts[by, query.parts]

    def identity(self, query: Query, named: Query) -> dict[str, Any]:
        """Return the identity of a question: two ways to write the same question have the same.

        named: the question about one part or window, as the table names it.
        """
        column = named.column
        condition = None if column is None or column in self.table.schema else parse(column)
        entries = {**query.identity(), "column": column if condition is None else canonical(condition)}
        if query.where is not None:
            entries["where"] = canonical(parse(query.where))
        if named.part_column is not None:
            entries["by_cells"] = list(named.parts)
        elif named.in_windows:
            entries |= {
                "by": None,
                "by_cells": {name: str(plain_number(cell)) for name, (cell,) in named.listed.items()},
            }
            entries |= {"since": named.since, "until": named.until}
        return entries

    def _question(self, query: Query, named: Query) -> str:
        """Return the fingerprint of a question; while records may be added to what it reads, with their number.

        A window that was not complete when a fixed table began to grow is another question than it was until then.
        """
        added: dict[str, Any] = {}
        if self.growing and not self._complete(named, None if self.extent is None else self.extent.until):
            added = {"records": self.rows}
        elif self.stayed_until is not None and not self._complete(named, self.stayed_until):
            added = {"grown": True}
        return fingerprint(self.identity(query, named) | added)

    def _complete(self, query: Query, reached: Scalar | None) -> bool:
        """Tell whether a window is complete in a table that reaches this far: it has records after the window."""
        if query.until is None or reached is None or self.order is None:
            return False
        with suppress(QueryError):
            end = self.order.end("until", reached)
            return isinstance(end, str) == isinstance(query.until, str) and bool(query.until <= end)  # type: ignore[operator]
        return False

    def _averaged(self, query: Query, records: int) -> int:
        """Return the number of records of a mean: a public number, on which its accuracy depends."""
        if query.where is None and self.missing == "error":
            size = query.size if isinstance(query, Averaged) else None
            if size not in (None, records):
                raise QueryError(
                    f"the {query.kind} is over {counted(records, 'record')}, not over size = {size}; leave "
                    + param("size")
                    + " out"
                )
            return records
        if self.missing == "drop":
            records = self.read([query], wide=self._about_all(query))[0].records
        else:  # the filter is public, and no other column need be read
            passing = Count(query.where, equals=True, by=query.part_column, by_cells=query.by_cells)
            records = self.read([passing])[0].counts[0] * (len(self._spread) if self._about_all(query) else 1)
        query.of_size(records)
        return records

    @property
    def _spread(self) -> tuple[str, ...]:
        return self.model.spread

    def _about_all(self, query: Query) -> bool:
        """Tell whether a question without a column is about every value of a wide table."""
        return query.column is None and bool(self._spread)

    def _whole(self, query: Query) -> bool:
        """Tell whether a sum is in steps of 1, by its column's type: the step must not depend on private values."""
        column = query.column
        finer = self.model.metric and query.clipped is not None and query.clipped.step is None
        if self.table.guessed or finer:
            return False
        with reading(self.table):
            return (
                column is not None and column in self.table.schema and self.table.pick([column]).kind(column) == "whole"
            )

    @cached_property
    def span(self) -> tuple[Scalar | None, Scalar | None]:
        """The first and the last place of a record in the order; both are public. The table must have an order."""
        assert self.order is not None
        return span_of(self.everything[0], self.order.columns[0])

    def read(self, queries: Sequence[Query], *, wide: bool = False) -> tuple[Tally, ...]:
        """Read exact answers in one scan; wide: about every value of a wide table."""
        table, subject, times = self.table, None, 1
        if wide:
            table, subject, times = unpivoted(self.table, self._spread), VALUE, len(self._spread)
        tallies = tally(table, queries, subject=subject, missing=self.missing, rows=self.rows * times)
        rows = tallies[0].rows // times
        if rows != self.rows:
            raise FrameError(self._changed(rows))
        return tallies

    def tally_windows(self, queries: Sequence[Query], instead: Sequence[Query] | None = None) -> tuple[Tally, ...]:
        """Read the exact answers about windows, or about other queries on the same windows."""
        tallies = tally_windows(self.table, self.order, queries, instead=instead, missing=self.missing, rows=self.rows)
        if tallies[0].rows != self.rows:
            raise FrameError(self._changed(tallies[0].rows))
        return tallies

    def _changed(self, rows: int) -> str:
        return f"{self.name} has {counted(rows, 'row')} now, but had {self.rows} when the session began"

    def exact(self, requested: tuple[PreparedQuery, ...]) -> list[Tally]:
        """Read the exact answers, in one scan, and one more for each way to divide the records into windows.

        Questions about all columns of a wide table take another one.
        """
        tallies: dict[int, Tally] = {}
        places = [i for i, prepared in enumerate(requested) if prepared.query.in_windows]
        if places:
            tallies |= zip(places, self.tally_windows([requested[i].query for i in places]), strict=True)
        for wide in (False, True):
            places = [i for i, prepared in enumerate(requested) if not prepared.query.in_windows]
            places = [i for i in places if self._about_all(requested[i].query) == wide]
            if places:
                answers = self.read([requested[i].query for i in places], wide=wide)
                tallies.update(zip(places, answers, strict=True))
        for i, prepared in enumerate(requested):
            kind = prepared.query.kind
            if tallies[i].present == 0 and (prepared.query.averaged or not prepared.query.in_windows):
                raise RecordsError(f"no record of {self.name} has all values that {kind} needs")
            if tallies[i].records == 0 and not prepared.of_no_records:
                raise RecordsError(f"the {kind} has no records, so it has no value")
            if prepared.query.averaged and tallies[i].records != prepared.records:
                raise RecordsError(
                    f"{self.name} changed: a {kind} was over {counted(prepared.records, 'record')} before"
                )
        return [tallies[i] for i in range(len(requested))]


@contextmanager
def _by_kinds(table: LazyTable, columns: Iterable[str]) -> Iterator[None]:
    """Turn a refusal because of a column's kind into one about the records if the kind was inferred from values.

    In a CSV file one value decides whether a column holds numbers or texts, so such a refusal depends on values.
    """
    try:
        yield
    except (ChangedError, NoColumnError):
        raise
    except (FrameError, QueryError) as error:
        if not table.types_from_values(columns):
            raise
        raise RecordsError(error.message) from None


def missing_rule(model: Model, missing: Missing | None) -> Missing:
    """Return how missing values are treated: as `missing` states, by default as when the model was fitted."""
    return checked_missing(missing if missing is not None else "drop" if model.dropped else "error")
