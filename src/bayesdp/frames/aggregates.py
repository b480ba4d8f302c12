"""Exact answers to questions, as integers before any noise, in one scan of the table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw

from bayesdp._support.messages import param
from bayesdp._support.validation import Scalar, brief
from bayesdp._support.words import counted
from bayesdp.errors import FrameError, QueryError, RecordsError
from bayesdp.frames.expressions import Condition, parse
from bayesdp.frames.grid import Grid, grid_for
from bayesdp.frames.source import (
    Kind,
    LazyTable,
    Missing,
    as_kind,
    checked_missing,
    places,
    plain,
    reading,
    scan,
    whole,
)
from bayesdp.queries import Query

__all__ = [
    "ColumnOrCondition",
    "Groups",
    "Key",
    "Tally",
    "check_question",
    "column_totals",
    "member_of",
    "present_records",
    "row_count",
    "subject_of",
    "tally",
    "tally_by",
]

_TRUTHS = (False, True)

Key = tuple[Scalar | None, ...]
"""The values of some columns that the records of a group agree in."""


@dataclass(frozen=True)
class Tally:
    """The exact answer to one question: whole numbers, one for each cell.

    counts:  the number of records for a count, that of each cell for a histogram, the sum on the grid for a sum.
    records: how many records pass the filter and have all values that the question needs. Private if the filter is.
    present: how many records have all values that the question needs. If the question is about parts of the table,
             `records` and `present` count only their records.
    rows:    how many rows the table had.
    grid:    the grid of a sum or mean.
    """

    query: Query
    counts: tuple[int, ...]
    records: int
    present: int
    rows: int
    grid: Grid | None = None

    @property
    def public_records(self) -> int:
        """How many records the question is about; with a private filter, an upper bound."""
        return self.present if self.query.privately_filtered else self.records


@dataclass(frozen=True)
class ColumnOrCondition:
    """The values a question is about: those of a column, or of a condition, which are false and true."""

    text: str
    condition: Condition | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the values are computed from."""
        return (self.text,) if self.condition is None else tuple(sorted(self.condition.columns))

    def kind(self, table: LazyTable) -> Kind:
        """Return the kind of the values."""
        return "truth" if self.condition is not None else table.kind(self.text)

    def member(self, table: LazyTable, values: Sequence[Scalar]) -> nw.Expr:
        """Return whether a record has one of these values, converted to the kind of the column."""
        values = [as_kind(self.kind(table), value) for value in values]
        if self.condition is None:
            return table.member(self.text, values)
        for value in values:
            if isinstance(value, str) or value not in _TRUTHS:
                raise QueryError(f"the values of {self.text!r} are true and false, not {brief(value)}")
        wanted = {bool(value) for value in values}
        truth = self.condition.expression(table)
        if len(wanted) == 2:
            return truth | ~truth
        return truth if True in wanted else ~truth


def subject_of(table: LazyTable, text: str) -> ColumnOrCondition:
    """Return the column of that name, or else the condition that the text is.

    Raises FrameError if the text is neither a column of the table nor a condition over its columns.
    """
    if text in table:
        return ColumnOrCondition(text)
    condition = parse(text)
    subject = ColumnOrCondition(text, condition)
    table.pick(subject.columns)
    return subject


def tally(
    source: object,
    queries: Sequence[Query],
    *,
    subject: str | None = None,
    missing: Missing = "error",
    rows: int | None = None,
) -> tuple[Tally, ...]:
    """Answer questions exactly, all in one scan.

    subject: the column or condition of queries without a column.
    missing: "error" refuses records without a value that some question needs; "drop" leaves them out of that question,
             which treats the pattern of missing values as public.
    rows:    the number of rows of the table, if known, to save a scan; compare it with `Tally.rows`, the number read.

    Raises FrameError for an empty table, missing or infinite values; QueryError for values that a column cannot have.

    >>> import polars
    >>> from bayesdp import Count, Sum
    >>> frame = polars.DataFrame({"steps": [0, 7, 12]})
    >>> [answer.counts for answer in tally(frame, [Count("steps > 0", equals=True), Sum("steps", bounds=(0, 10))])]
    [(2,), (17,)]
    """
    return tally_by(source, queries, (), subject=subject, missing=missing, rows=rows).tallies([()])


@dataclass(frozen=True)
class Groups:
    """The exact totals of questions in each group of records that agree in certain columns.

    >>> import polars
    >>> from bayesdp import Count
    >>> frame = polars.DataFrame({"hour": [7, 7, 8, 9], "on": [1, 0, 1, 1]})
    >>> groups = tally_by(frame, [Count("on", equals=1)], ["hour"])
    >>> sorted(groups.keys), groups.tallies([(7,), (8,)])[0].counts, groups.tallies([(10,)])[0].counts
    ([(7,), (8,), (9,)], (2,), (0,))
    """

    _planned: _Planned
    _totals: Mapping[Key, _Totals]
    rows: int

    @property
    def keys(self) -> Iterable[Key]:
        """The values of the columns in each group that has records; None for a missing one."""
        return self._totals.keys()

    def tallies(self, keys: Iterable[Key]) -> tuple[Tally, ...]:
        """Return the answers about the records of these groups together; `rows` is that of the whole table."""
        return self._planned.tallies(replace(self._together(keys), rows=self.rows))

    def records(self, keys: Iterable[Key]) -> int:
        """Return how many records these groups have."""
        return self._together(keys).rows

    def _together(self, keys: Iterable[Key]) -> _Totals:
        return _added(self._planned, [self._totals[key] for key in keys if key in self._totals])


def tally_by(
    source: object,
    queries: Sequence[Query],
    keys: Sequence[str],
    *,
    needed: Sequence[str] = (),
    subject: str | None = None,
    missing: Missing = "error",
    rows: int | None = None,
) -> Groups:
    """Answer questions exactly for each group of records that agree in some columns, all in one scan.

    keys:   the columns. None: all records are one group.
    needed: columns in which no value may be missing, beside those of the questions.

    The rest is as in `tally`.
    """
    table, missing = scan(source), checked_missing(missing)
    with reading(table):
        known = row_count(table) if rows is None else rows
        planned = _Planned.of(table, queries, subject, known, needed, keys, complete=missing == "error")
        groups = planned.totals()
        totals = _added(planned, groups.values())
        if planned.table.complete and not totals.complete:
            planned = _Planned.of(table, queries, subject, known, needed, keys)
            groups = planned.totals()
            totals = _added(planned, groups.values())
        if rows is None and totals.rows != known:
            raise FrameError(f"{table.name} changed while it was read: {counted(known, 'row')}, then {totals.rows}")
        _check_missing(planned.table, totals, missing)
    return Groups(planned, groups, totals.rows)


def check_question(source: object, query: Query, *, subject: str | None = None, rows: int = 1) -> None:
    """Refuse a question that does not fit the columns of a table and their kinds; no value is read.

    `tally` refuses the same questions with the same messages.

    subject: the column or condition of queries without a column.
    rows:    the number of rows of the table, if known: the step of a sum over very many may be too fine.

    >>> import polars
    >>> from bayesdp import Sum
    >>> check_question(polars.LazyFrame({"room": ["hall"]}), Sum("room", bounds=(0, 1)))
    Traceback (most recent call last):
    ...
    bayesdp.errors.QueryError: cannot sum 'room': it is not numeric
    """
    table = scan(source)
    with reading(table):
        _Planned.of(table, [query], subject, rows)


@dataclass(frozen=True)
class _Plan:
    """The columns to add up for one question; if it is filtered, first those of `Tally.records` and `present`."""

    numbers: tuple[nw.Expr, ...]
    filtered: bool
    grid: Grid | None = None


@dataclass(frozen=True)
class _Question:
    query: Query
    subject: ColumnOrCondition
    where: ColumnOrCondition | None

    @classmethod
    def about(cls, table: LazyTable, query: Query, subject: str | None) -> _Question:
        text = query.column if query.column is not None else subject
        if text is None:
            raise QueryError(
                f"the column of {query.description} is missing; name it: {type(query).__name__}('column', ...)"
            )
        where = None if query.where is None else ColumnOrCondition(query.where, parse(query.where))
        return cls(query, subject_of(table, text), where)

    @property
    def columns(self) -> tuple[str, ...]:
        by = () if self.query.part_column is None else (self.query.part_column,)
        return tuple(dict.fromkeys(self.subject.columns + (() if self.where is None else self.where.columns) + by))

    def plan(self, table: LazyTable, rows: int) -> _Plan:
        grid, numbers = self._numbers(table, rows)
        about_all = self.where is None and self.query.part_column is None
        if about_all and (table.complete or self.subject.condition is None):
            return _Plan(numbers, False, grid)
        present = table.present(self.columns)
        if about_all and len(self.columns) == 1:  # `_totals` counts its values anyway
            return _Plan(tuple(nw.when(present).then(number) for number in numbers), False, grid)
        if self.query.part_column is not None:
            present = present & member_of(table, self.query.part_column, tuple(self.query.by_cells or ()))
        included = present
        if self.where is not None and self.where.condition is not None:
            included = present & self.where.condition.expression(table)
        answered = (nw.when(included).then(number) for number in numbers)
        return _Plan((table.occurrences(included), table.occurrences(present), *answered), True, grid)

    def _numbers(self, table: LazyTable, rows: int) -> tuple[Grid | None, tuple[nw.Expr, ...]]:
        query, subject = self.query, self.subject
        if cells := query.cells_asked():
            named = [value for cell in cells for value in cell]
            if subject.condition is None:
                table.check_distinct(subject.text, named)
                table.check_distinct_cells(subject.text, cells)
            else:
                places(subject.text, subject.kind(table), named)
            return None, tuple(table.occurrences(subject.member(table, values)) for values in cells)
        if query.clipped is not None:
            kind = subject.kind(table)
            if kind not in ("whole", "number"):
                raise QueryError(f"cannot sum {subject.text!r}: it is not numeric")
            grid = grid_for(query.clipped, rows, whole=kind == "whole")
            return grid, query.clipped.terms(grid.placed(table, subject.text))
        if query.thresholds:
            if subject.kind(table) not in ("whole", "number") or subject.condition is not None:
                raise QueryError(f"cannot compute a {query.kind} of {subject.text!r}: it is not numeric")
            column = table.column(subject.text)
            below = (column <= table.value(subject.text, threshold) for threshold in query.thresholds)
            return None, tuple(table.occurrences(number) for number in below)
        raise QueryError(f"cannot compute {query.description}: it has no cells, bounds or thresholds")


def member_of(table: LazyTable, by: str, cells: Sequence[Scalar]) -> nw.Expr:
    """Return whether a record belongs to one of these parts.

    Only texts, whole numbers and booleans name parts: a time or a fraction can be written in several ways.
    """
    kind = table.kind(by)
    if kind not in ("text", "whole", "truth"):
        raise QueryError(f"column {by!r} cannot name parts; use a column of texts, whole numbers, or true and false")
    table.check_distinct(by, cells)
    return table.member(by, [as_kind(kind, cell) for cell in cells])


@dataclass(frozen=True)
class _Planned:
    """Questions, a table of the columns they need, and the sums to compute for each."""

    questions: tuple[_Question, ...]
    table: LazyTable
    plans: tuple[_Plan, ...]
    keys: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        table: LazyTable,
        queries: Sequence[Query],
        subject: str | None,
        rows: int,
        needed: Sequence[str] = (),
        keys: Sequence[str] = (),
        *,
        complete: bool = False,
    ) -> _Planned:
        """Plan questions; complete: assume that no value is missing, which their totals must then confirm.

        needed, keys: as in `tally_by`.
        """
        questions = tuple(_Question.about(table, query, subject) for query in queries)
        used = [column for question in questions for column in question.columns]
        picked = table.pick([*used, *needed, *keys], complete=complete)
        return cls(questions, picked, tuple(question.plan(picked, rows) for question in questions), tuple(keys))

    @property
    def numbers(self) -> dict[str, nw.Expr]:
        """The numbers to add up, by name."""
        return {f"q{i}_{j}": number for i, plan in enumerate(self.plans) for j, number in enumerate(plan.numbers)}

    def totals(self) -> dict[Key, _Totals]:
        """Return the totals of each group of records that agree in the key columns."""
        return _totals_by(self.table, self.numbers, self.keys)

    def tallies(self, totals: _Totals) -> tuple[Tally, ...]:
        pairs = zip(self.questions, self.plans, strict=True)
        return tuple(_tally(question, plan, totals, f"q{i}") for i, (question, plan) in enumerate(pairs))


def _tally(question: _Question, plan: _Plan, totals: _Totals, name: str) -> Tally:
    every = totals.present[question.columns[0]]
    records, present = (totals.sums[f"{name}_{j}"] if plan.filtered else every for j in range(2))
    sums = tuple(totals.sums[f"{name}_{j}"] for j in range(2 * plan.filtered, len(plan.numbers)))
    counts = question.query.condensed(sums, records) if records else sums[: question.query.dimension]
    return Tally(question.query, counts, records, present, totals.rows, plan.grid)


@dataclass(frozen=True)
class _Totals:
    """The result of one scan: the number of rows, sums, and for each column the number of present values."""

    rows: int
    sums: Mapping[str, int]
    present: Mapping[str, int]
    suspects: frozenset[str]
    """Columns of numbers whose sum is not finite: a value may be infinite, or NaN if the column was not cleaned."""

    @property
    def complete(self) -> bool:
        """Whether no value is missing, NaN or infinite."""
        return not self.suspects and all(present == self.rows for present in self.present.values())


def _totals(table: LazyTable, derived: Mapping[str, nw.Expr]) -> _Totals:
    return _totals_by(table, derived, ())[()]


def _totals_by(table: LazyTable, derived: Mapping[str, nw.Expr], keys: Sequence[str]) -> dict[Key, _Totals]:
    names = {column: f"c{i}" for i, column in enumerate(table.schema) if column not in keys}
    groups = {key: f"k{i}" for i, key in enumerate(keys)}
    numbers = [column for column in names if table.kind(column) == "number"]

    def totals(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        chosen = frame.select(
            *(nw.col(column).alias(name) for column, name in (groups | names).items()),
            **(derived or {"q": nw.lit(0)}),
        )
        sums = (
            nw.len().alias("rows"),
            *(nw.col(name).sum() for name in derived),
            *(nw.col(name).count() for name in names.values()),
            *(nw.col(names[column]).sum().alias(f"sum_{names[column]}") for column in numbers),
        )
        if not groups:
            return chosen.select(*sums)
        return chosen.group_by(*groups.values()).agg(*sums)

    found: dict[Key, list[tuple[Any, ...]]] = {}
    for part in table.parts(totals):
        for row in part:
            found.setdefault(tuple(map(plain, row[: len(keys)])), []).append(row[len(keys) :])
    return {key: _read_totals(rows, list(derived), list(names), numbers) for key, rows in found.items()}


def _read_totals(
    rows: Sequence[tuple[Any, ...]], derived: Sequence[str], names: Sequence[str], numbers: Sequence[str]
) -> _Totals:
    """Return the totals in rows of sums, one for each partition."""
    sums = [sum(map(whole, column)) for column in list(zip(*rows, strict=True))[: 1 + len(derived) + len(names)]]
    last = len(rows[0]) - len(numbers)
    suspects = {
        column for index, column in enumerate(numbers, start=last) if not all(_is_finite(row[index]) for row in rows)
    }
    return _Totals(
        sums[0],
        dict(zip(derived, sums[1:], strict=False)),
        dict(zip(names, sums[1 + len(derived) :], strict=True)),
        frozenset(suspects),
    )


def _added(planned: _Planned, groups: Iterable[_Totals]) -> _Totals:
    """Return the totals of several groups together."""
    listed = list(groups)
    if len(listed) == 1:
        return listed[0]
    return _Totals(
        sum(group.rows for group in listed),
        {name: sum(group.sums[name] for group in listed) for name in planned.numbers},
        {
            name: sum(group.present[name] for group in listed)
            for name in planned.table.schema
            if name not in planned.keys
        },
        frozenset().union(*(group.suspects for group in listed)),
    )


def _is_finite(total: Any) -> bool:
    number = 0.0 if total is None else plain(total)
    return number is not None and math.isfinite(float(number))


def _check_missing(table: LazyTable, totals: _Totals, missing: Missing) -> None:
    """Refuse infinite values, and missing ones unless they are dropped, with their number in each column."""
    for column in sorted(totals.suspects):
        finite = table.sums({"finite": table.occurrences(nw.col(column).is_finite())})["finite"]
        infinite = totals.present[column] - finite
        if infinite:
            raise RecordsError(
                f"column {column!r} of {table.name} holds {counted(infinite, 'infinite value')}; "
                "a sum, count or model needs finite ones: replace or remove them"
            )
    lacking = {column: totals.rows - present for column, present in totals.present.items() if present < totals.rows}
    if lacking and missing == "error":
        listed = ", ".join(f"{count} in {column!r}" for column, count in lacking.items())
        raise RecordsError(
            f"values are missing in {table.name}: {listed}; fill them in, or say "
            + param("missing", "drop")
            + " to leave those records out, which treats the pattern of missing values as public"
        )


def column_totals(table: LazyTable, columns: Sequence[str], missing: Missing) -> None:
    """Refuse infinite values in these columns, and missing ones unless they are dropped."""
    if columns:
        picked = table.pick(columns)
        _check_missing(picked, _totals(picked, {}), missing)


def present_records(table: LazyTable, columns: Sequence[str]) -> int:
    """Return how many records have a value in all of these columns."""
    picked = table.pick(columns)
    return picked.sums({"present": picked.occurrences(picked.present(columns))})["present"]


def row_count(table: LazyTable) -> int:
    """Return the number of rows of the table; refuses an empty one."""
    rows = sum(whole(part[0][0]) for part in table.parts(lambda frame: frame.select(nw.len())))
    if rows == 0:
        raise FrameError(f"{table.name} is empty: it has no rows")
    return rows
