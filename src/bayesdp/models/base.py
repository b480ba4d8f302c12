"""The base of all correlation models: column, largest group, assumption in words, JSON."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from bayesdp._support import documents, validation
from bayesdp._support.documents import Document
from bayesdp._support.messages import in_python, name_of, param
from bayesdp._support.validation import Values, brief
from bayesdp._support.words import counted, plural
from bayesdp.errors import InvalidInputError, ModelError, QueryError
from bayesdp.models.diagnosis import Diagnosis
from bayesdp.models.fit_option import FitOption
from bayesdp.models.layout import ChainLayout, KeptRecords
from bayesdp.models.view import TableView
from bayesdp.queries import Query

if TYPE_CHECKING:
    import numpy as np

__all__ = ["SCHEMA", "Model", "check_unit", "whole_group"]

SCHEMA = 1
"""The version of the JSON schema this library writes."""


@dataclass(frozen=True, kw_only=True)
class Model(Document):
    """An assumption about how records are correlated. Frozen, validated, hashable, and a JSON document.

    column:    the column whose records are correlated; None if the model describes the column of any query.
    record:    what one record is, in the singular ("5-minute interval"); guarantees name it as the privacy unit.
    diagnosis: the diagnosis of the assumption on a table, if there is one; `fit` and `with_diagnosis` store it. It does
               not matter for equality.
    """

    column: str | None = None
    record: str = "record"
    diagnosis: Diagnosis | None = field(default=None, compare=False, repr=False)

    kind: ClassVar[str]
    about_values: ClassVar[bool] = True
    """Whether the model describes the values of one column, not only which records are correlated."""

    anything_inside: ClassVar[bool] = False
    """Whether the records of a group may be correlated in any way at all."""

    fit_options: ClassVar[tuple[FitOption, ...]] = ()
    """The options of `fit`, for the command line; empty for a model that cannot be fitted."""

    _instead_of_diagnosis: ClassVar[str] = ""
    """The alternative, as the end of a sentence, for a type without a diagnosis."""

    _types: ClassVar[dict[str, type[Model]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            Model._types[cls.kind] = cls

    @staticmethod
    def types() -> dict[str, type[Model]]:
        """Return the types of models by their JSON names, in the order in which they were defined.

        >>> from bayesdp import Model
        >>> Model.types()["independent"].__name__
        'Independent'
        """
        return dict(Model._types)

    def __post_init__(self) -> None:
        if self.column is not None:
            validation.text("column", self.column, ModelError)
        validation.text("record", self.record, ModelError)
        if self.diagnosis is not None and not isinstance(self.diagnosis, Diagnosis):
            raise ModelError(
                name_of("diagnosis") + f" must be a Diagnosis, as diagnose returns it, not {brief(self.diagnosis)}"
            )

    @property
    def protects(self) -> str:
        """What a guarantee under this model protects, in words."""
        return "one person" if self.record == "person" else f"one {self.record}, not the person behind several"

    @property
    def protects_several(self) -> bool:
        """Whether several records are protected together (`unit=`); most theorems are about one."""
        return False

    @property
    def subject(self) -> str | None:
        """The column or state expression the model describes."""
        return self.column

    @property
    @abstractmethod
    def group_size(self) -> int | None:
        """The most records that are correlated with one another; None without a limit."""

    @property
    @abstractmethod
    def assumption(self) -> str:
        """The assumption, as the end of a sentence that begins with "if"."""

    @property
    def parameters(self) -> str | None:
        """The assumed probabilities or correlations in a few lines, without the counts or moments behind them.

        None if the assumption is complete without them.
        """
        return None

    def summary(self) -> str:
        """Return the model in a few lines: the assumption, and the parameters if there are not too many."""
        return f"It is assumed that {self.assumption}."

    @property
    def estimated(self) -> bool:
        """Whether the parameters were estimated from data, which the guarantee does not cover."""
        return False

    @property
    def origin(self) -> str | None:
        """How a private release estimated the parameters, in sentences; None if none did."""
        return None

    @property
    def opened_as(self) -> Model:
        """The model with which an account is opened: this one, unless a release of the account estimated it."""
        return self

    @property
    def dropped(self) -> bool:
        """Whether the estimation left out records with missing values."""
        return False

    @property
    def members(self) -> tuple[Model, ...]:
        """The models, one of which holds: this model alone, except under AnyOf."""
        return (self,)

    @property
    def metric(self) -> bool:
        """Whether the distance between values matters, not only whether they differ.

        Sums are then computed on the finest grid, because rounding by a step costs as much as a move by a step.
        """
        return False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose values the model describes; empty if it describes the column of any query."""
        return () if self.subject is None else (self.subject,)

    @property
    def states(self) -> Values:
        """The values a record can have, if the model lists them."""
        return ()

    def with_states(self, states: Values) -> Self:
        """Return the model with other names for its states, in their order.

        Raises ModelError for a type whose states cannot be renamed.
        """
        raise ModelError(f'the states of a model of type "{self.kind}" cannot be renamed')

    @property
    def spread(self) -> tuple[str, ...]:
        """The columns of a wide table that hold the records of a group; empty if each row is a record."""
        return ()

    @property
    def reads(self) -> KeptRecords | None:
        """The records of each group that releases read; None if they read every record."""
        return None

    @property
    def entity_columns(self) -> tuple[str, ...] | None:
        """The columns that identify independent chains or groups; empty if every row is one, None if unknown.

        Parts of a table (`by=`) consist of whole chains or groups and so need these columns.
        """
        return None

    @property
    def public_columns(self) -> tuple[str, ...]:
        """The columns by which the model orders, groups or places records; they are treated as public."""
        return ()

    @property
    def order(self) -> str | None:
        """The column whose values grow when records are added, if the model orders records."""
        return None

    @property
    def ordering(self) -> ChainLayout | None:
        """The columns that order records and identify chains, if the model orders records; their clocks are public."""
        return None

    def at_any_length(self) -> Self:
        """Return the model as it holds for a table that may grow; ModelError if it does not cover such a table."""
        raise ModelError(
            f'a model of type "{self.kind}" does not cover rows that are added later; growing data need one that does'
        )

    @classmethod
    def fit(cls, frame: object, *args: Any, **options: Any) -> Self:
        """Estimate the model from a table; `fit_options` lists the arguments of types that can be fitted.

        Raises ModelError for any other type.
        """
        raise ModelError(f'a model of type "{cls.kind}" cannot be fitted; it is written by hand')

    @abstractmethod
    def check_table(self, table: TableView, subject: str | None = None) -> Self:
        """Return the model as it holds on a table: with gaps, for example, if the table may have some.

        subject: the column or condition of the query, for a model without its own.

        Raises RecordsError, with details, for a table that the model does not cover: an unknown state, a longer chain,
        a larger group, two records of a group in one role.
        """

    @property
    def unchecked(self) -> str | None:
        """What `check_table` cannot check because the model names no columns for it, as a sentence; None if nothing."""
        return None

    @property
    def no_diagnosis(self) -> str | None:
        """Why the assumption cannot be diagnosed, as a sentence without its full stop; None if it can."""
        return self._undiagnosed if type(self).diagnose is Model.diagnose else None

    @property
    def _undiagnosed(self) -> str:
        return f'there is no diagnosis for a model of type "{self.kind}"{self._instead_of_diagnosis}'

    def diagnose(self, frame: object, *args: Any, **columns: Any) -> Diagnosis:
        """Diagnose whether a table looks as the model assumes; chains and normal groups have a diagnosis.

        Raises ModelError for any other type. Without a diagnosis, nothing suggests that the model holds.
        """
        raise ModelError(self._undiagnosed)

    def with_diagnosis(self, diagnosis: Diagnosis) -> Self:
        """Return the model with a diagnosis, which its JSON, releases and statements include.

        Raises ModelError if the diagnosis would hide a violation on another table.
        """
        before = self.diagnosis
        buried = before is not None and before.violated and not diagnosis.violated
        if before is not None and buried and not before.is_about(diagnosis.table_name, diagnosis.rows):
            raise ModelError(
                f"the model's diagnosis on {before.table_name} is violated, and one on {diagnosis.table_name} does "
                "not replace it; take a copy of the model without a diagnosis for the other table"
            )
        return replace(self, diagnosis=diagnosis)

    @property
    def identity(self) -> dict[str, Any]:
        """The JSON object without the diagnosis; it identifies the model in a ledger."""
        return {name: value for name, value in self.to_dict().items() if name != "diagnosis"}

    def draws(self, generator: np.random.Generator) -> Iterator[Self]:
        """Yield models from the posterior of the parameters, given what they were estimated from.

        generator: the source of randomness; the same seed gives the same models.

        Raises ModelError for a model that was not estimated, whose uncertainty is unknown.
        """
        raise ModelError(
            f'the uncertainty of a model of type "{self.kind}" is known only if it was estimated from data, with '
            "counts or moments"
            + in_python(" (fit, from_counts, from_moments)")
            + "; leave "
            + param("credibility")
            + " out, or cover what may hold by an any-of model"
        )

    def check_query(self, query: Query) -> None:
        """Raise QueryError for a query about a column that the model does not describe.

        Models with known values also refuse other values.
        """
        if self.columns and query.column is not None and query.column not in self.columns:
            raise QueryError(
                f"the model describes {', '.join(map(repr, self.columns))}, but the query is about {query.column!r}; a "
                "model of one column does not describe another"
            )

    def check_queries(self, queries: tuple[Query, ...]) -> None:
        """Raise QueryError for queries that the model does not describe, individually or together.

        A model of values describes one column even if it does not name it; two columns need a model of both.
        """
        for query in queries:
            self.check_query(query)
        columns = sorted({query.column for query in queries if query.column is not None})
        if self.about_values and len(columns) > 1 and not set(columns) <= set(self.columns):
            raise QueryError(
                f"the queries are about different columns ({', '.join(columns)}), but the model describes "
                "the values of one, not how the columns depend on one another"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the model as the JSON object of docs/models.md."""
        extras: dict[str, Any] = {} if self.column is None else {"column": self.column}
        if self.record != "record":
            extras["record"] = self.record
        if self.diagnosis is not None:
            extras["diagnosis"] = self.diagnosis.to_dict()
        return {"schema": SCHEMA, "type": self.kind} | self._content() | extras

    @abstractmethod
    def _content(self) -> dict[str, Any]:
        """Return the entries of the JSON object that are this type's own."""

    @classmethod
    def _read(cls, entries: Mapping[str, Any]) -> Self:
        """Build the model from its JSON entries; by default they are the constructor's arguments."""
        return cls(**entries)

    @classmethod
    def _keys(cls) -> frozenset[str]:
        """Return the names of the JSON entries of this type."""
        return frozenset(item.name for item in fields(cls))

    @classmethod
    def _required(cls) -> frozenset[str]:
        """Return the names of the required JSON entries of this type."""
        return frozenset()

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Model:
        """Read a model of any type from its JSON object.

        Raises ModelError for an unknown type, schema or entry, and for everything that the model refuses.

        >>> from bayesdp import Model
        >>> Model.from_dict({"type": "arbitrary", "size": 3}).group_size
        3
        """
        entries = dict(documents.of_schema(document, "model", SCHEMA, ModelError))
        entries.pop("schema", None)
        kind = entries.pop("type", None)
        known = ", ".join(f'"{name}"' for name in sorted(Model._types))
        if kind is None:
            raise ModelError(f'a model needs a "type", one of {known}')
        if not isinstance(kind, str) or kind not in Model._types:
            raise ModelError(f'"type" must be one of {known}, not {brief(kind)}')
        return Model._types[kind]._checked(entries)

    @classmethod
    def _checked(cls, entries: dict[str, Any]) -> Self:
        for key in entries:
            if key not in cls._keys():
                raise ModelError(f'a model of type "{cls.kind}" has no "{key}"; it has {_listed(cls._keys())}')
        for key in sorted(cls._required()):
            if key not in entries:
                raise ModelError(f'a model of type "{cls.kind}" needs "{key}"')
        if entries.get("diagnosis") is not None:
            entries["diagnosis"] = Diagnosis.from_dict(entries["diagnosis"])
        return cls._read(entries)

    @staticmethod
    def from_json(text: str) -> Model:
        """Read a model from its JSON text.

        >>> from bayesdp import Model
        >>> Model.from_json('{"type": "independent"}')
        Independent(column=None, record='record', order_by=())
        """
        return Model.from_dict(documents.parse(text, "the model"))

    @staticmethod
    def load(path: str | Path) -> Model:
        """Read a model from a JSON file; a ModelError names the file if it holds none."""
        try:
            return Model.from_dict(documents.read(path))
        except ModelError as error:
            raise ModelError(f"{path}: " + error.message) from None

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the model to a JSON file that only its owner can read: it may hold exact counts, so keep it private.

        Raises InvalidInputError for a file that exists, unless `overwrite` is true, and for one that cannot be written;
        no partial file is left behind.
        """
        if not overwrite and Path(path).is_file():
            raise InvalidInputError(
                f"{path} exists; write to another file, or say " + param("overwrite", True) + " to replace it"
            )
        documents.write(path, self)


def _listed(names: frozenset[str]) -> str:
    return ", ".join(f'"{name}"' for name in sorted(names))


def check_unit(unit: object) -> None:
    """Raise ModelError unless the unit is "record" or "group"."""
    if unit not in ("record", "group"):
        raise ModelError(name_of("unit") + f' must be "record" or "group", not {brief(unit)}')


def whole_group(size: int | None, record: str) -> str:
    """Return the privacy unit of a model that protects whole groups, in words; of any size if it has no limit."""
    whole = "a whole group" + (f" of {plural(record)}" if size is None else f" of at most {counted(size, record)}")
    return whole if record == "person" else f"{whole}, so that a person who is the group is protected"
