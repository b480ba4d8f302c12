"""The base of all queries: column and filter, what is computed, and how noisy numbers become an answer.

Sensitivities are *bounded*: one record's value is replaced, the number of records is fixed and public
(docs/glossary.md). A query also states whether its noisy answer is private in the ℓ1 metric; most are not, and the
Gaussian theorems need it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from bayesdp._support import validation
from bayesdp._support.documents import Document
from bayesdp._support.lazy import warn_renamed
from bayesdp._support.messages import name_of, param
from bayesdp._support.validation import Scalar, Values, brief, plain_number
from bayesdp.errors import QueryError
from bayesdp.queries import windows
from bayesdp.queries.ledger_key import LedgerKey
from bayesdp.rounding import float_above

if TYPE_CHECKING:
    from bayesdp.queries.clipped import Clipped, Placement

__all__ = ["Query", "Value", "query_from_dict"]

Value = int | float | tuple[int, ...] | tuple[float, ...]
"""An answer: a count, a sum or mean, or one number a cell."""


@dataclass(frozen=True)
class Query(Document):
    """A query about one column, perhaps only about the records that pass a filter.

    column:        the column or state expression; None stands for the column that the model describes.
    where:         a filter expression; None selects every record.
    public_filter: True promises that the filter uses positions or public attributes only. Without that promise a
                   filter is private: it may depend on the value that is protected.
    by:            public columns, or clocks of the order ("hour", "weekday", "date", "week", "month"): one answer for
                   each of their values. Each answer costs only the records that it reads (docs/releases.md).
    by_cells:      the values of the column, from a public list; of several columns by name. A clock has all of its own.
    since, until:  only the records with `since ≤ order < until`, of the first column that orders records.

    A class that defines `kind` is registered under it, and JSON and the command line accept it. A query computes either
    counts (`cells_asked`, see `Counting`) or one sum of clipped values (`clipped`, see `Clipped`). Noise is added to
    these whole numbers, and `worth` converts each into a number of the answer.
    """

    column: str | None = None
    where: str | None = field(default=None, kw_only=True)
    public_filter: bool = field(default=False, kw_only=True)
    by: str | Sequence[str] | None = field(default=None, kw_only=True)
    by_cells: Values | Mapping[str, Values] | None = field(default=None, kw_only=True)
    since: Scalar | None = field(default=None, kw_only=True)
    until: Scalar | None = field(default=None, kw_only=True)

    kind: ClassVar[str]

    counts_values: ClassVar[bool] = False
    """Whether records with certain values are counted."""

    by_cell: ClassVar[bool] = False
    """Whether the answer is a list, one number a cell."""

    whole: ClassVar[bool] = False
    """Whether the answer is in whole numbers."""

    averaged: ClassVar[bool] = False
    """Whether the answer is divided by the number of records it is about, which must then be public."""

    made_elsewhere: ClassVar[bool] = False
    """Whether it is a release made elsewhere, of which only the τ is known and no answer is computed."""

    unforeseen: ClassVar[bool] = False
    """Whether its accuracy is unknown before the release, so that no τ can be chosen for an accuracy."""

    options: ClassVar[Mapping[str, str]] = {}
    """The help of each field that is an option of the command line, by name: "rate" is --rate. A value is read as a
    JSON scalar, else as a text. Bounds, size and the values to count are options without an entry here."""

    _kinds: ClassVar[dict[str, type[Query]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" not in cls.__dict__:
            return
        known = Query._kinds.get(cls.kind)
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise QueryError(f'there is a query of kind "{cls.kind}" already, {known.__module__}.{known.__qualname__}')
        Query._kinds[cls.kind] = cls

    @classmethod
    def kinds(cls) -> Mapping[str, type[Query]]:
        """Return all kinds of queries by name, in the order of registration."""
        return dict(Query._kinds)

    def __post_init__(self) -> None:
        if self.column is not None:
            validation.text("column", self.column, QueryError)
        if self.where is not None:
            validation.text("where", self.where, QueryError)
        if not isinstance(self.public_filter, bool):
            raise QueryError(name_of("public_filter") + f" must be True or False, not {brief(self.public_filter)}")
        if self.public_filter and self.where is None:
            raise QueryError(
                name_of("public_filter")
                + " describes a filter, but there is none; give "
                + param("where")
                + " or leave it out"
            )
        self._take_windows()

    def _take_windows(self) -> None:
        """Check the columns, values and ends that divide the records."""
        if self.by is None and self.by_cells is not None:
            raise QueryError(
                windows.BY
                + " names a public column and "
                + param("by_cells")
                + " its values, from a public list; give both or neither"
            )
        if self.by is not None:
            by = windows.by_of(self.by)
            object.__setattr__(self, "by", by)
            object.__setattr__(self, "by_cells", windows.cells_of(by, self.by_cells))
        for name in ("since", "until"):
            object.__setattr__(self, name, windows.end_of(name, getattr(self, name)))

    # The question

    @property
    @abstractmethod
    def description(self) -> str:
        """The query in words: "the sum of height, clipped to 0–100"."""

    @property
    def privately_filtered(self) -> bool:
        """Whether replacing a value may move its record in or out of the answer."""
        return self.where is not None and not self.public_filter

    def to_dict(self) -> dict[str, Any]:
        """Return the query as a JSON object: its kind, and every field that was given."""
        given = {item.name: getattr(self, item.name) for item in fields(self)}
        entries = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in given.items()
            if value is not None and (name != "public_filter" or value)
        }
        if self.by_cells is not None and self.part_column is None:
            entries["by_cells"] = {name: list(cells) for name, cells in self.listed.items()}
        return {"query": self.kind} | entries

    def identity(self) -> dict[str, Any]:
        """Return the entries of `to_dict` in a normal form, which is the same for equivalent queries."""
        return {
            name: [*map(plain_number, value)] if isinstance(value, list) else value
            for name, value in self.to_dict().items()
        }

    @classmethod
    def entries_for(cls, values: Sequence[Scalar]) -> dict[str, Any]:
        """Return the entries for values given by --states; empty if the query counts no values."""
        return {}

    def _about(self, name: str) -> str:
        """Return a description with the part and the filter, and whether the filter was asserted to be public."""
        if self.by is not None:
            one = all(len(self.listed.get(column, ())) == 1 for column in self.by_columns)
            cells = ", ".join(f"{column} = {brief(self.listed[column][0])}" for column in self.by_columns if one)
            name = f"{name} for {cells}" if one else f"{name} by {', '.join(self.by_columns)}"
        for word, end in (("since", self.since), ("until", self.until)):
            name = name if end is None else f"{name} {word} {end}"
        asserted = " (filter asserted public)" if self.public_filter else ""
        return f"{name} where {self.where}{asserted}" if self.where else name

    # Which parts of the table it is about

    @cached_property
    def by_columns(self) -> tuple[str, ...]:
        """The columns and clocks in `by`."""
        return () if self.by is None else (self.by,) if isinstance(self.by, str) else tuple(self.by)

    @cached_property
    def listed(self) -> Mapping[str, tuple[Scalar, ...]]:
        """The values in `by_cells`, by column; a clock without values is not in it."""
        cells: Any = self.by_cells or ()
        return dict(cells) if self.part_column is None else {self.part_column: tuple(cells)}

    @cached_property
    def part_column(self) -> str | None:
        """The one column in `by` whose values are in a list: only such a column can divide a table into parts.

        A session writes windows, which may cut chains and groups, with the values of each column by its name.

        >>> from bayesdp.queries import Count
        >>> Count(equals=1, by="district", by_cells=["A"]).part_column
        'district'
        >>> Count(equals=1, by="hour", by_cells={"hour": [7]}).part_column is None
        True
        """
        unnamed = self.by_cells is not None and not any(isinstance(cell, tuple) for cell in self.by_cells)
        return self.by if isinstance(self.by, str) and unnamed else None

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The values of `part_column` as texts, as a ledger stores them; empty without one.

        >>> from bayesdp.queries import Count
        >>> Count(equals=1, by="district", by_cells=[7.0, "north"]).parts
        ('7', 'north')
        """
        return tuple(str(plain_number(cell)) for cell in self.by_cells or ()) if self.part_column else ()

    @property
    def undivided(self) -> Self:
        """The query about the whole table, without parts and windows."""
        whole: dict[str, Any] = dict.fromkeys(("by", "by_cells", "since", "until"))
        return replace(self, **whole) if self.by is not None or self.in_windows else self

    @property
    def in_windows(self) -> bool:
        """Whether it is about windows of the table, which may cut chains and groups, and not about parts."""
        divided = self.by is not None and self.part_column is None
        return divided or self.since is not None or self.until is not None

    # What is computed, in whole numbers

    def cells_asked(self) -> tuple[tuple[Scalar, ...], ...]:
        """Return the disjoint groups of values whose records are counted, one count a group; empty if values are added.

        A session checks that they are disjoint for the type of the column before it charges anything.
        """
        return ()

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The numbers at or below which records are counted to select an answer; empty if noise is added."""
        return ()

    @property
    def cell_names(self) -> tuple[str, ...]:
        """The names of the numbers of an answer by cells."""
        return tuple(" or ".join(map(str, cell)) for cell in self.cells_asked())

    @property
    def clipped(self) -> Clipped | None:
        """This query if it adds clipped values on a grid, else None."""
        return None

    @property
    def values(self) -> tuple[Scalar, ...]:
        """The values of the column that the query counts."""
        return tuple(value for cell in self.cells_asked() for value in cell)

    @property
    def dimension(self) -> int:
        """The number of numbers in the answer."""
        return len(self.cells_asked()) or 1

    @property
    def parts_sensitivity(self) -> Fraction:
        """How far one replaced record can move the numbers that noise is added to, in ℓ1: counts, or a sum in steps.

        A record leaves one of the disjoint cells and enters another.
        """
        return Fraction(min(2, len(self.cells_asked())))

    def condensed(self, sums: tuple[int, ...], records: int) -> tuple[int, ...]:
        """Return the whole numbers that noise is added to, given `sums` over `records` records.

        By default they are the sums. The result must move by at most `parts_sensitivity` when one record is replaced.
        """
        return sums

    # From noisy whole numbers to the answer

    def worth(self, amount: Fraction, records: int) -> Fraction:
        """Convert an amount of the counts or of the sum to the unit of the answer about `records` records.

        By default they are the same. An override must be proportional to the amount and positive. Noise, accuracy and
        the range of possible answers follow.
        """
        return amount

    def assembled(self, noisy: Sequence[int], placement: Placement | None, records: int) -> Value:
        """Return the answer for noisy whole numbers.

        placement: the grid of a sum.
        records:   the public number of records that the query is about; with a private filter, its upper bound.
        """
        totals = [Fraction(part) if placement is None else placement.total(part, records) for part in noisy]
        numbers = [self.worth(total, records) for total in totals]
        if self.whole and all(number.denominator == 1 for number in numbers):
            counts = tuple(map(int, numbers))
            return counts if self.by_cell else counts[0]
        cells = tuple(map(float, numbers))
        return cells if self.by_cell else cells[0]

    def possible(self, records: int) -> tuple[Fraction, Fraction]:
        """Return the smallest and the largest number of an answer about `records` records."""
        return Fraction(0), self.worth(Fraction(records), records)

    def of_size(self, records: int) -> Query:
        """Return the query for a table of this many records; RecordsError if it states another number."""
        return self

    # What it reveals

    @property
    @abstractmethod
    def sensitivity(self) -> float:
        """How far one replaced record can move the answer, in ℓ1, rounded up."""

    def in_l2(self, moved: Fraction) -> Fraction:
        """Return the square of how far one replaced record can move the answer in ℓ2, if it is `moved` in ℓ1.

        It is at most the square of `moved`. Override it for a sharper bound.
        """
        return moved**2

    def _sensitivity_of(self, total: Fraction) -> float:
        """Return how far the answer moves if the counts or the sum move by `total`."""
        return float_above(self.worth(total, 1))

    @property
    def not_metric(self) -> str | None:
        """The reason why the noisy answer is not private in the ℓ1 metric, or None if it is."""
        return f"a {self.kind} jumps when a value crosses into or out of what is counted, however small its move"

    @property
    def width(self) -> Fraction | None:
        """The exact clipping width M if τ-DP noise makes the answer (τ/M)·ℓ1-private, else None."""
        return None

    @property
    def rounding(self) -> Fraction:
        """How much farther rounding to the grid can move a value, in clipping widths."""
        return Fraction(0)

    @property
    def most_records(self) -> int | None:
        """The largest number of records; None without a limit."""
        return None

    def state_values(self, states: Sequence[Scalar]) -> tuple[int, ...] | str:
        """Return what each state of a chain adds to the whole number, shifted to begin at 0; or why that is unknown.

        The numbers are in the order of `states` and in the units of `parts_sensitivity`.
        """
        return f"the number that a state adds to a {self.kind} is unknown"

    def ledger_key(self) -> LedgerKey:
        """Return the key of the total to which an account adds this query.

        A theorem needs the column, bounds and step of a clipped sum, and only the column of any other query. The parts
        belong to the key, because a charge for one part is not a charge for another.

        >>> from bayesdp.queries import Count
        >>> Count("steps", equals=1).ledger_key() == Count("steps", equals=2).ledger_key()
        True
        """
        return LedgerKey(self.column, by=self.part_column, parts=self.parts)

    def standing(self) -> LedgerKey:
        """Return what `ledger_key` returns: its former name."""
        warn_renamed("Query.standing", "Query.ledger_key", stacklevel=3)
        return self.ledger_key()


def query_from_dict(document: object) -> Query:
    """Read a query from its JSON object.

    Raises QueryError for an unknown kind or entry, a missing entry, and everything that the query refuses.

    >>> query_from_dict({"query": "sum", "column": "height", "bounds": [0, 100]}).description
    'the sum of height, clipped to 0–100'
    """
    if not isinstance(document, Mapping):
        raise QueryError(f"a query must be a JSON object, not {brief(document)}")
    kinds = Query.kinds()
    entries = dict(document)
    kind = entries.pop("query", None)
    if not isinstance(kind, str) or kind not in kinds:
        raise QueryError(f'"query" must be one of {", ".join(sorted(kinds))}, not {brief(kind)}')
    known = {item.name for item in fields(kinds[kind])}
    for key in entries:
        if key not in known:
            raise QueryError(f'a {kind} has no "{key}"; it takes {", ".join(sorted(known))}')
    for item in fields(kinds[kind]):
        if item.name not in entries and item.default is MISSING and item.default_factory is MISSING:
            raise QueryError(f'a {kind} needs "{item.name}"')
    return kinds[kind](**entries)
