"""What every correlation model has: the column it describes, its largest group, its sentence, its JSON."""

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
from bayesdp.errors import InvalidInputError, ModelError, QueryError
from bayesdp.models.diagnosis import Diagnosis
from bayesdp.models.fit_option import FitOption
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

    column:    the column whose records are correlated, or None when the model describes whatever is asked.
    record:    what one record is, in the singular ("5-minute interval"); guarantees name it as the privacy unit.
    diagnosis: what a table said about the assumption, if one was asked: `fit` does, `with_diagnosis` stores it. Models
               that differ in it only are equal.
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
    """What `fit` needs and takes, for the command line; none for a model that cannot be fitted."""

    _instead_of_diagnosis: ClassVar[str] = ""
    """What to do instead, as the end of a sentence, for a type without a diagnosis."""

    _types: ClassVar[dict[str, type[Model]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            Model._types[cls.kind] = cls

    @staticmethod
    def types() -> dict[str, type[Model]]:
        """Return the types of models by their JSON names, in the order in which they were defined.

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
        """Whether several records together are the secret (`unit=`); most theorems are about one."""
        return False

    @property
    def subject(self) -> str | None:
        """The column or state expression the model describes."""
        return self.column

    @property
    @abstractmethod
    def group_size(self) -> int | None:
        """At most how many records are correlated with one another; None when there is no limit."""

    @property
    @abstractmethod
    def assumption(self) -> str:
        """What is assumed, as the end of a sentence that begins "if"."""

    @property
    def parameters(self) -> str | None:
        """The assumed probabilities or correlations in a few readable lines, without the counts or moments behind them.

        None when the assumption says all there is.
        """
        return None

    def summary(self) -> str:
        """Return the model in a few lines of text: what is assumed, and the parameters if there are not too many."""
        return f"It is assumed that {self.assumption}."

    @property
    def estimated(self) -> bool:
        """Whether the parameters were estimated from data, which the guarantee does not cover."""
        return False

    @property
    def origin(self) -> str | None:
        """How the parameters were learnt by a release that is accounted for, as sentences; None if they were not."""
        return None

    @property
    def opened_as(self) -> Model:
        """The model that an account is opened with: this one, unless it was learnt by a release of the account."""
        return self

    @property
    def dropped(self) -> bool:
        """Whether records with missing values were left out when the parameters were estimated."""
        return False

    @property
    def members(self) -> tuple[Model, ...]:
        """The models of which one holds: this one alone, unless nobody knows which of several does."""
        return (self,)

    @property
    def metric(self) -> bool:
        """Whether it matters how far values move, not only whether they do: sums are then added up on the finest grid.

        Each step of rounding costs as much as a move of that length.
        """
        return False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose values the model describes; empty when it describes whatever is asked."""
        return () if self.subject is None else (self.subject,)

    @property
    def states(self) -> Values:
        """The values a record can have, if the model lists them."""
        return ()

    def with_states(self, states: Values) -> Self:
        """Return the model with other names for its states, in their order.

        Raises ModelError for a type that does not let its states be renamed.
        """
        raise ModelError(f'the states of a model of type "{self.kind}" cannot be renamed')

    @property
    def spread(self) -> tuple[str, ...]:
        """The columns of a wide table over which the records of a group are spread; none for a record a row."""
        return ()

    @property
    def entity_columns(self) -> tuple[str, ...] | None:
        """The columns that tell independent chains or groups apart: none if every row is one, None if nobody knows.

        Parts of a table (`by=`) are made of whole chains or groups, so without such columns there are none.
        """
        return None

    @property
    def public_columns(self) -> tuple[str, ...]:
        """The columns by which the model orders records, tells them apart or places them: taken for public."""
        return ()

    @property
    def order(self) -> str | None:
        """The column whose values grow when records are added, if the model puts records in an order."""
        return None

    def at_any_length(self) -> Self:
        """Return the model as it holds for a table that may grow; ModelError if nothing could be said then."""
        raise ModelError(
            f'a model of type "{self.kind}" that says nothing about rows that are added later does not fit growing data'
        )

    @classmethod
    def fit(cls, frame: object, *args: Any, **options: Any) -> Self:
        """Estimate the model from a table; the types that can be fitted list what that takes in `fit_options`.

        Raises ModelError for any other type.
        """
        raise ModelError(f'a model of type "{cls.kind}" cannot be fitted; it is written by hand')

    @abstractmethod
    def check_table(self, table: TableView, subject: str | None = None) -> Self:
        """Return the model as it holds on a table: with gaps, for example, if the table may have some.

        subject: the column or condition asked about, for a model that does not name its own.

        Raises RecordsError, which says in detail what is wrong, for a table that is outside of the model: a state it
        does not know, a longer chain, a larger group, two records of a group in one role.
        """

    @property
    def unchecked(self) -> str | None:
        """What `check_table` cannot see because the model names no columns for it, as a sentence; None if nothing."""
        return None

    @property
    def no_diagnosis(self) -> str | None:
        """Why no table can be asked about the assumption, as a sentence without its full stop; None if one can."""
        return self._undiagnosed if type(self).diagnose is Model.diagnose else None

    @property
    def _undiagnosed(self) -> str:
        return f'there is no diagnosis for a model of type "{self.kind}"{self._instead_of_diagnosis}'

    def diagnose(self, frame: object, *args: Any, **columns: Any) -> Diagnosis:
        """Say whether a table looks as the model assumes; chains and normal groups can tell.

        Raises ModelError for any other type: there is no diagnosis for it, which is no sign that it holds.
        """
        raise ModelError(self._undiagnosed)

    def with_diagnosis(self, diagnosis: Diagnosis) -> Self:
        """Return the model with a diagnosis, which travels with it into its JSON, releases and statements.

        Raises ModelError if the model was violated on another table: that is not forgotten because this one is fine.
        """
        before = self.diagnosis
        buried = before is not None and before.violated and not diagnosis.violated
        if before is not None and buried and not before.is_about(diagnosis.table_name, diagnosis.rows):
            raise ModelError(
                f"the model's diagnosis on {before.table_name} says violated, and one on {diagnosis.table_name} does "
                "not replace it; take a copy of the model without a diagnosis for the other table"
            )
        return replace(self, diagnosis=diagnosis)

    @property
    def identity(self) -> dict[str, Any]:
        """The JSON object without what tables have said about the model: what a ledger knows the model by."""
        return {name: value for name, value in self.to_dict().items() if name != "diagnosis"}

    def draws(self, generator: np.random.Generator) -> Iterator[Self]:
        """Yield models from the posterior of the parameters, given what they were estimated from.

        generator: where chance comes from; the same seed gives the same models.

        Raises ModelError for a model that was not estimated: nobody knows how uncertain it is.
        """
        raise ModelError(
            f'how uncertain a model of type "{self.kind}" is can only be said of one estimated from data, with counts '
            "or moments"
            + in_python(" (fit, from_counts, from_moments)")
            + "; leave "
            + param("credibility")
            + " out, or cover what may hold by an any-of model"
        )

    def check_query(self, query: Query) -> None:
        """Refuse a query about a column the model does not describe.

        Raises QueryError. Models that know their values refuse unknown ones too.
        """
        if self.columns and query.column is not None and query.column not in self.columns:
            raise QueryError(
                f"the model describes {', '.join(map(repr, self.columns))}, but the query is about {query.column!r}; a "
                "correlation model of one column says nothing about another"
            )
        if query.by is not None and any(member.entity_columns is None for member in self.members):
            raise QueryError(
                f"parts by {query.by!r} must be independent of one another, and the model does not say which records "
                "are: it names no columns that tell chains (entity) or groups apart"
            )

    def check_queries(self, queries: tuple[Query, ...]) -> None:
        """Refuse queries the model does not describe, one by one and together, with a QueryError.

        A model of values describes one column even if it does not name it; two columns need a model of both.
        """
        for query in queries:
            self.check_query(query)
        columns = sorted({query.column for query in queries if query.column is not None})
        if self.about_values and len(columns) > 1 and not set(columns) <= set(self.columns):
            raise QueryError(
                f"the queries are about different columns ({', '.join(columns)}), but the model describes "
                "the values of one; it does not say how the columns depend on one another"
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
        """Return the names of the JSON entries this type knows."""
        return frozenset(item.name for item in fields(cls))

    @classmethod
    def _required(cls) -> frozenset[str]:
        """Return the names of the JSON entries this type cannot do without."""
        return frozenset()

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Model:
        """Read a model of any type from its JSON object.

        Raises ModelError for an unknown type, schema or entry, and for everything the model itself refuses.

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
                raise ModelError(f'a model of type "{cls.kind}" has no "{key}"; it knows {_listed(cls._keys())}')
        for key in sorted(cls._required()):
            if key not in entries:
                raise ModelError(f'a model of type "{cls.kind}" needs "{key}"')
        if entries.get("diagnosis") is not None:
            entries["diagnosis"] = Diagnosis.from_dict(entries["diagnosis"])
        return cls._read(entries)

    @staticmethod
    def from_json(text: str) -> Model:
        """Read a model from its JSON text.

        >>> Model.from_json('{"type": "independent"}')
        Independent(column=None, record='record')
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
        """Write the model to a JSON file only its owner can read: it may hold exact counts, and is kept like the data.

        Raises InvalidInputError for a file that exists, unless `overwrite` is true, and for one that cannot be
        written; then nothing is left behind.
        """
        if not overwrite and Path(path).is_file():
            raise InvalidInputError(
                f"{path} exists; write to another file, or say " + param("overwrite", True) + " to replace it"
            )
        documents.write(path, self)


def _listed(names: frozenset[str]) -> str:
    return ", ".join(f'"{name}"' for name in sorted(names))


def check_unit(unit: object) -> None:
    """Refuse what groups cannot protect: it is "record" or "group"."""
    if unit not in ("record", "group"):
        raise ModelError(name_of("unit") + f' must be "record" or "group", not {brief(unit)}')


def whole_group(size: int, record: str) -> str:
    """Return in words that all records of a group together are protected."""
    whole = f"a whole group of at most {size} {record}s"
    return whole if record == "person" else f"{whole}, so that a person who is the group is protected"
