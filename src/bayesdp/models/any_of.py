"""Several models, one of which holds: the guarantee then holds under each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from bayesdp._support import validation
from bayesdp._support.validation import Values, brief
from bayesdp.errors import ModelError
from bayesdp.models.base import Model
from bayesdp.models.diagnosis import Diagnosis, least_alarming
from bayesdp.models.layout import ChainLayout, KeptRecords
from bayesdp.models.view import TableView
from bayesdp.queries import Query

__all__ = ["AnyOf"]


@dataclass(frozen=True, init=False)
class AnyOf(Model):
    """One of `models` holds, but which one is unknown; the leakage is the largest over them.

    If all models were diagnosed, its diagnosis is the least alarming of theirs: a table contradicts the assumption
    only if it contradicts every model.

    >>> from bayesdp.models import ArbitraryGroups, Independent
    >>> AnyOf(Independent(), ArbitraryGroups(3)).group_size
    3
    """

    models: Sequence[Model]

    kind: ClassVar[str] = "any-of"
    _instead_of_diagnosis: ClassVar[str] = "; diagnose its models one by one"

    def __init__(self, *models: Model, column: str | None = None, record: str = "record") -> None:
        validation.text("record", record, ModelError)
        if column is not None:
            validation.text("column", column, ModelError)
        if not models:
            raise ModelError("an any-of model needs at least one model")
        for index, model in enumerate(models):
            if not isinstance(model, Model):
                raise ModelError(f"model {index} of an any-of model is not a model: {brief(model)}")
        members = tuple(member for model in models for member in model.members)
        subjects = {member.subject for member in members} | {column}
        subjects.discard(None)
        if len(subjects) > 1:
            raise ModelError(
                f"the models of an any-of model describe different columns: {', '.join(sorted(map(str, subjects)))}"
            )
        records = ({member.record for member in members} | {record}) - {"record"}
        if len(records) > 1:
            raise ModelError(f"the models of an any-of model name different records: {', '.join(sorted(records))}")
        named = records.pop() if records else "record"
        protected = dict.fromkeys(replace(member, record=named).protects for member in members)
        if len(protected) > 1:
            raise ModelError(f"the models of an any-of model protect different things: {'; '.join(protected)}")
        if len({member.reads for member in members}) > 1:
            raise ModelError("the models of an any-of model keep different records of a group; let all keep the same")
        object.__setattr__(self, "models", members)
        object.__setattr__(self, "diagnosis", least_alarming([_diagnosis_of(member, members) for member in members]))
        object.__setattr__(self, "column", subjects.pop() if subjects else None)
        object.__setattr__(self, "record", named)
        super().__post_init__()

    @property
    def members(self) -> tuple[Model, ...]:
        return tuple(self.models)

    def over_members(self, change: Callable[[Model], Model]) -> Self:
        """Return the models with `change` applied to each; the same object if no model changes."""
        models = tuple(change(model) for model in self.models)
        if all(after is before for after, before in zip(models, self.models, strict=True)):
            return self
        return type(self)(*models, column=self.column, record=self.record)

    @property
    def protects(self) -> str:
        return replace(self.models[0], record=self.record).protects

    @property
    def protects_several(self) -> bool:
        return any(model.protects_several for model in self.models)

    @property
    def metric(self) -> bool:
        return any(model.metric for model in self.models)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that any of the models describes."""
        described = (column for model in self.models for column in model.columns)
        return tuple(dict.fromkeys((*super().columns, *described)))

    @property
    def states(self) -> Values:
        """The states of any of the models, each once; true is not 1, nor is 1.0."""
        return tuple({(type(state), state): state for model in self.models for state in model.states}.values())

    @property
    def group_size(self) -> int | None:
        sizes = [model.group_size for model in self.models]
        return None if None in sizes else max(size for size in sizes if size is not None)

    @property
    def assumption(self) -> str:
        return "one of these holds: " + "; or ".join(model.assumption for model in self.models)

    @property
    def parameters(self) -> str | None:
        numbered = [(index, model.parameters) for index, model in enumerate(self.models, start=1)]
        return "\n\n".join(f"Model {index}:\n{lines}" for index, lines in numbered if lines is not None) or None

    @property
    def estimated(self) -> bool:
        return any(model.estimated for model in self.models)

    @property
    def dropped(self) -> bool:
        return any(model.dropped for model in self.models)

    def check_queries(self, queries: tuple[Query, ...]) -> None:
        for query in queries:
            self.check_query(query)
        for model in self.models:
            model.check_queries(queries)

    def with_diagnosis(self, diagnosis: Diagnosis) -> Self:
        """Refuse: the models of an AnyOf are diagnosed one by one."""
        raise ModelError("a diagnosis is about one model; give it to the models inside the any-of model one by one")

    @property
    def identity(self) -> dict[str, Any]:
        return {**self.to_dict(), "models": [model.identity for model in self.models]}

    def to_dict(self) -> dict[str, Any]:
        entries = super().to_dict()
        entries.pop("diagnosis", None)
        return entries

    def check_table(self, table: TableView, subject: str | None = None) -> Self:
        """Return the models as they hold on a table. Every model must cover the table."""
        return self.over_members(lambda model: model.check_table(table, subject or self.subject))

    @property
    def public_columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column for model in self.models for column in model.public_columns))

    @property
    def reads(self) -> KeptRecords | None:
        return self.models[0].reads

    @property
    def order(self) -> str | None:
        return next((model.order for model in self.models if model.order is not None), None)

    @property
    def ordering(self) -> ChainLayout | None:
        layouts = [model.ordering for model in self.models if model.ordering is not None]
        one = len({(layout.order_by, layout.order_by_text) for layout in layouts}) == 1
        return layouts[0] if one else None

    def at_any_length(self) -> Self:
        """Return the models as they hold for a table that may grow."""
        return self.over_members(lambda model: model.at_any_length())

    @property
    def half_diagnosed(self) -> str | None:
        """A sentence with the verdicts if some of the models were diagnosed and others were not; otherwise None."""
        known = [_diagnosis_of(model, self.models) for model in self.models]
        if all(known) or not any(known):
            return None
        verdicts = (
            "never diagnosed" if diagnosis is None else f"{diagnosis.verdict} on {diagnosis.table_name}"
            for diagnosis in known
        )
        numbered = "; ".join(f"model {number}: {verdict}" for number, verdict in enumerate(verdicts, 1))
        return f"One of several models is assumed to hold; their diagnoses: {numbered}."

    @property
    def unchecked(self) -> str | None:
        sentences = dict.fromkeys(model.unchecked for model in self.models if model.unchecked)
        return " ".join(sentences) or None

    def _content(self) -> dict[str, Any]:
        return {"models": [model.to_dict() for model in self.models]}

    @classmethod
    def _keys(cls) -> frozenset[str]:
        return frozenset({"models", "column", "record"})

    @classmethod
    def _required(cls) -> frozenset[str]:
        return frozenset({"models"})

    @classmethod
    def _read(cls, entries: Mapping[str, Any]) -> Self:
        models = entries["models"]
        if not isinstance(models, list):
            raise ModelError(f'"models" must be a list of models, not {brief(models)}')
        for index, model in enumerate(models):
            if isinstance(model, Mapping) and model.get("type") == cls.kind:
                raise ModelError(f'model {index} is itself "{cls.kind}"; list its models here instead')
        named = {key: entries[key] for key in ("column", "record") if key in entries}
        return cls(*(Model.from_dict(model) for model in models), **named)


def _diagnosis_of(model: Model, members: Sequence[Model]) -> Diagnosis | None:
    """Return the diagnosis of a model, or of an equal model among `members`."""
    return model.diagnosis or next(
        (member.diagnosis for member in members if member == model and member.diagnosis), None
    )
