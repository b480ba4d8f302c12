"""A table under a model: which questions may be asked of it, and their exact answers before any noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from bayesdp._support import validation
from bayesdp._support.documents import fingerprint
from bayesdp._support.messages import in_python, param
from bayesdp._support.validation import Scalar, brief
from bayesdp._support.words import counted
from bayesdp.errors import ChangedError, FrameError, InvalidInputError, NoColumnError, QueryError, RecordsError
from bayesdp.frames.aggregates import Tally, check_question, row_count, tally
from bayesdp.frames.expressions import canonical, parse
from bayesdp.frames.grid import FINEST_BITS, grid_for
from bayesdp.frames.growth import Extent, check_grown, extent_of, extents_of_parts
from bayesdp.frames.parts import cells_of, check_parts, members, part_sizes
from bayesdp.frames.source import LazyTable, Missing, checked_missing, reading, scan
from bayesdp.frames.view import View
from bayesdp.frames.wide_format import VALUE, unpivoted
from bayesdp.ledger import Check
from bayesdp.models import Model
from bayesdp.models.layout import column_names
from bayesdp.queries import Averaged, Count, Query
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
    """Say what a session would refuse about a table under a model, and about these questions, in detail.

    missing: "drop" if records with missing values are left out; by default as the model was fitted.
    public:  the columns that are public. By default those are that the questions take for it.

    A session itself says only that it refuses. This is for those who may see the data: the messages count and name
    what is wrong, and no guarantee covers them. Nothing is released or charged.

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
        checked_table.exact(checked_table.asked(questions, FINEST_BITS))


@dataclass(frozen=True)
class CheckedTable:
    """A table, the model as it holds on it, what is done with missing values, and the public number of rows.

    growing: rows may be added to the table later; the same question is then another one.
    public:  the columns that the account names as public; None if whatever questions take for public is.
    assumed: the fingerprint of the model as it was given.

    What it refuses because of the records it refuses in detail, with RecordsError; a session must not pass that on.
    """

    table: LazyTable
    model: Model
    missing: Missing
    rows: int
    growing: bool = False
    public: frozenset[str] | None = None
    assumed: str = ""
    _within: set[str] = field(default_factory=set, compare=False, repr=False)
    """The columns asked about that were found to be within a model that names none."""
    _parts: dict[tuple[str, tuple[str, ...]], int] = field(default_factory=dict, compare=False, repr=False)
    """The parts that were found to be made of whole chains or groups, and how many records they have."""

    @classmethod
    def of(cls, frame: object, model: Model, missing: Missing | None, *, growing: bool = False) -> CheckedTable:
        """Open a table; missing values are treated as when the model was fitted, unless `missing` says otherwise.

        Only its columns are looked at, and how many records it has. Raises FrameError for what is no table or is empty,
        RecordsError for a file that cannot be read.
        """
        rule, table = missing_rule(model, missing), scan(frame)
        with reading(table):
            rows = row_count(table)
        return cls(table, model, rule, rows, growing, assumed=fingerprint(model.opened_as.identity))

    def checked(self) -> CheckedTable:
        """Return this with the model as it holds on the table; RecordsError for a table that is outside of it."""
        with _by_kinds(self.table, self.table.schema):
            within = self.model.check_table(View(self.table, self.missing))
        if not isinstance(within, type(self.model)):
            raise InvalidInputError(f'a model of type "{self.model.kind}" does not say whether a table is within it')
        return replace(self, model=within)

    def check_of(self, columns: Iterable[str]) -> Check:
        """Return what reading these columns under the model looks up, for the ledger."""
        read = {"model": self.assumed, "missing": self.missing, "columns": sorted(set(columns))}
        return Check(self._columns_mark, None if self.growing else self.rows, fingerprint(read))

    @property
    def _columns_mark(self) -> str:
        return fingerprint({"columns": sorted(map(str, self.table.schema))})

    @property
    def name(self) -> str:
        """What the table is called in messages."""
        return self.table.name

    @property
    def description(self) -> dict[str, Any]:
        """What a ledger keeps of the table: public facts, by which it is known again."""
        size: dict[str, Any] = {"growing": True} if self.growing else {"records": self.rows}
        return {**size, "columns": self._columns_mark, "missing": self.missing}

    def check_grown(self, earlier: Sequence[Extent]) -> Extent:
        """Return how far the table reaches; refuses one that does not continue what it was when it was released."""
        check_grown(self.table, earlier)
        return extent_of(self.table, self.model.order)

    def extents(self, asked: Sequence[PreparedQuery], extent: Extent) -> dict[str, Extent]:
        """Return how far what each question is about reaches, by its fingerprint: the table, or a part of it."""
        extents = {prepared.question: extent for prepared in asked}
        for by in {prepared.query.by for prepared in asked if prepared.query.by is not None}:
            inside = [prepared for prepared in asked if prepared.query.by == by]
            parts = extents_of_parts(self.table, extent, by, [prepared.query.parts[0] for prepared in inside])
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
        """Return the columns whose private values questions read; refuses what cannot be asked, by names alone."""
        named = self._named(queries)
        read = frozenset(column for query in named for column in self._columns_used(query))
        return read - self._public_columns(*named)

    def _public_columns(self, *queries: Query) -> frozenset[str]:
        """Return the columns that are public in the account; without one, those that questions take for it."""
        natural = frozenset(self.model.public_columns)
        if self.public is not None:
            return natural | self.public
        by = {query.by for query in queries if query.by is not None}
        filtered = [parse(query.where).columns for query in queries if query.where and query.public_filter]
        return natural.union(by, *filtered)

    def check_public(self, columns: Iterable[str], what: str) -> None:
        """Refuse a use of columns as public that the holder of the data did not name so."""
        private = [] if self.public is None else sorted(set(columns) - self._public_columns())
        if private:
            listed = ", ".join(map(repr, private))
            raise QueryError(
                f"{what} {listed}, which the account does not name as public; only the holder of the data can do "
                "that: when the account is opened, with "
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
        """Return the questions, each with its column; refuses what cannot be asked, by names alone."""
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

    def asked(self, queries: Sequence[Query], bits: int, *, unread: bool = False) -> tuple[PreparedQuery, ...]:
        """Resolve columns, choose grids and refuse what the model does not describe.

        No private value is read, except once for each column a model that names none is asked about, and for averages
        that leave out records without a value.

        unread: read none of these either, as a preview; what cannot be known then is not known of the question.
        """
        parts = [
            (query, part)
            for query, named in zip(queries, self._named(queries), strict=True)
            for part in part_by_part(named)
        ]
        questions = []
        for query, named in parts:
            records = self.rows * (len(self._spread) if self._about_all(named) else 1)
            used = self._columns_used(named)
            grid, clipped, sensitivity = None, named.clipped, 0
            if clipped is not None:
                grid = grid_for(clipped, records, whole=self._whole(named), bits=bits)
                named, sensitivity = replace(clipped, step=grid.step), clipped.moved(grid.span)
            if not unread or not self.table.types_from_values(used):
                self._check_kinds(named, used)
            if not unread:
                self._check_within(named)
            if named.by is not None:
                named, records = self._in_part(named, tuple(query.by_cells or ()))
            if grid is None:
                sensitivity = math.ceil(named.parts_sensitivity)
            foreseen = not (unread and named.averaged and self.missing == "drop")
            records = self._averaged(named, records) if named.averaged and foreseen else records
            question = PreparedQuery.about(named, self._question(query, named), grid, sensitivity, records)
            questions.append(question if foreseen else replace(question, foreseeable=False))
        if not questions:
            raise InvalidInputError("no question was asked; give at least one query")
        if len({prepared.question for prepared in questions}) < len(questions):
            raise InvalidInputError("the same question was asked twice; ask it once")
        return tuple(questions)

    def _check_filter(self, query: Query) -> None:
        """Refuse a private filter on columns the model does not describe, and a "public" one on what is protected.

        The first would release columns that the account does not cover: a model of the condition "steps > 0" describes
        whether there were steps, not how many. The second would release the protected values, since a record in or out
        of the answer tells its value.
        """
        asked = self._subjects(query)
        described = self.model.columns or (asked if self.model.about_values else ())
        modelled = self._columns_of(described)
        if query.by is not None and query.by in modelled | self._columns_of(asked):
            raise QueryError(f"parts by {query.by!r} cannot be public, for it holds the values that are protected")
        if query.by is not None:
            self.check_public([query.by], "the parts are by")
        self.check_private(*asked)
        if query.where is None:
            return
        used = parse(query.where).columns
        protected = sorted(used & (modelled | self._columns_of(asked)))
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
        """Return the columns that columns and conditions are made of: by their names alone."""
        return frozenset(
            name for text in texts for name in ((text,) if text in self.table.schema else parse(text).columns)
        )

    def _columns_used(self, query: Query) -> frozenset[str]:
        filtered = frozenset() if query.where is None else parse(query.where).columns
        by = frozenset() if query.by is None else frozenset({query.by})
        return self._columns_of(self._subjects(query)) | filtered | by

    def _check_added(self, query: Query) -> None:
        """Refuse to add up what is no column."""
        if query.column is not None and query.column not in self.table.schema:
            raise QueryError(f"only a column of numbers can be added up, and {query.column!r} is a condition")

    def _check_kinds(self, query: Query, used: Iterable[str]) -> None:
        """Refuse what the table cannot answer, by the kinds of the columns it uses."""
        with _by_kinds(self.table, used):
            wide = self._about_all(query)
            table, subject = (unpivoted(self.table, self._spread), VALUE) if wide else (self.table, None)
            check_question(table, query, subject=subject, rows=self.rows)

    def _check_within(self, query: Query) -> None:
        """Look whether the column asked about is within a model that names no column of its own."""
        if query.column is None or query.column in self._within or self.model.subject is not None:
            return
        with _by_kinds(self.table, self._columns_used(query)):
            self.model.check_table(View(self.table, self.missing), query.column)
        self._within.add(query.column)

    def _in_part(self, query: Query, cells: Sequence[Scalar]) -> tuple[Query, int]:
        """Return a question about a part, named as the table names it, and the public number of the part's records.

        cells: all parts that are asked about with it, which are looked at in one scan.

        Refuses parts that are not made of whole chains or groups, which would not be independent of one another.
        """
        by = query.by
        assert by is not None
        if self._about_all(query):
            raise QueryError(f"a question about all columns of a wide table has no parts by {by!r}; ask about one")
        with _by_kinds(self.table, (by,)):
            query = replace(query, by_cells=cells_of(self.table, by, query.by_cells or ()))
            if (by, query.parts) not in self._parts:
                self._measure(by, cells_of(self.table, by, cells))
        return query, self._parts[by, query.parts]

    def _measure(self, by: str, cells: Sequence[Scalar]) -> None:
        """Count the records of parts that are made of whole chains or groups; refuses others, and empty ones."""
        for member in self.model.members:
            if member.entity_columns is None:
                raise QueryError(f"the model does not say which records parts by {by!r} may tell apart")
            check_parts(self.table, by, member.entity_columns)
        for cell, size in zip(cells, part_sizes(self.table, by, cells), strict=True):
            self._parts[by, Count(equals=0, by=by, by_cells=(cell,)).parts] = size

    def _question(self, query: Query, named: Query) -> str:
        """Return the fingerprint of a question, the same for the same question in other words."""
        column = named.column
        condition = None if column is None or column in self.table.schema else parse(column)
        entries = {**query.identity(), "column": column if condition is None else canonical(condition)}
        if query.where is not None:
            entries["where"] = canonical(parse(query.where))
        if named.by is not None:
            entries["by_cells"] = list(named.parts)
        if self.growing:
            entries["records"] = self.rows
        return fingerprint(entries)

    def _averaged(self, query: Query, records: int) -> int:
        """Return over how many records a mean is: a public number, which its accuracy depends on."""
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
            passing = Count(query.where, equals=True, by=query.by, by_cells=query.by_cells)
            records = self.read([passing])[0].counts[0] * (len(self._spread) if self._about_all(query) else 1)
        query.of_size(records)
        return records

    @property
    def _spread(self) -> tuple[str, ...]:
        return self.model.spread

    def _about_all(self, query: Query) -> bool:
        """Whether a question without a column is about every value of a wide table."""
        return query.column is None and bool(self._spread)

    def _whole(self, query: Query) -> bool:
        """Whether a sum is in steps of 1: by the type of its column, for the step must not depend on private values."""
        column = query.column
        finer = self.model.metric and query.clipped is not None and query.clipped.step is None
        if self.table.guessed or finer:
            return False
        with reading(self.table):
            return (
                column is not None and column in self.table.schema and self.table.pick([column]).kind(column) == "whole"
            )

    def read(self, queries: Sequence[Query], *, wide: bool = False) -> tuple[Tally, ...]:
        """Read exact answers in one scan; wide: about every value of a wide table."""
        table, subject, times = self.table, None, 1
        if wide:
            table, subject, times = unpivoted(self.table, self._spread), VALUE, len(self._spread)
        tallies = tally(table, queries, subject=subject, missing=self.missing, rows=self.rows * times)
        rows = tallies[0].rows // times
        if rows != self.rows:
            raise FrameError(f"{self.name} has {counted(rows, 'row')} now, but had {self.rows} when the session began")
        return tallies

    def exact(self, asked: tuple[PreparedQuery, ...]) -> list[Tally]:
        """Read the exact answers, in one scan (and one more for questions about all columns of a wide table)."""
        tallies: dict[int, Tally] = {}
        for wide in (False, True):
            places = [i for i, prepared in enumerate(asked) if self._about_all(prepared.query) == wide]
            if places:
                answers = self.read([asked[i].query for i in places], wide=wide)
                tallies.update(zip(places, answers, strict=True))
        for i, prepared in enumerate(asked):
            kind = prepared.query.kind
            if tallies[i].present == 0:
                raise RecordsError(f"no record of {self.name} has a value of everything that {kind} needs")
            if tallies[i].records == 0 and not prepared.of_no_records:
                raise RecordsError(f"the {kind} is over no records at all; nothing can be said about it")
            if prepared.query.averaged and tallies[i].records != prepared.records:
                raise RecordsError(
                    f"{self.name} changed: a {kind} was over {counted(prepared.records, 'record')} before"
                )
        return [tallies[i] for i in range(len(asked))]


@contextmanager
def _by_kinds(table: LazyTable, columns: Iterable[str]) -> Iterator[None]:
    """Make what is refused because of kinds that were read off the values a refusal about the records.

    In a CSV file one value decides whether a column holds numbers or texts, so such a refusal tells about values.
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
    """Return what is done with missing values: `missing`, or else what was done when the model was fitted."""
    return checked_missing(missing if missing is not None else "drop" if model.dropped else "error")
