"""A real record and its neighbours, for the holder of the data: everything read here is private."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from bayesdp._support import validation
from bayesdp._support.messages import param
from bayesdp._support.validation import Scalar, brief
from bayesdp.audit.chain_attack_models import UnknownStretch
from bayesdp.errors import InvalidInputError, RecordsError
from bayesdp.frames.source import reading
from bayesdp.frames.transitions import Sequences
from bayesdp.models import MarkovChain, Model, OddsChain
from bayesdp.theorems.markov.sides import Ending

__all__ = ["RealRecord", "real_record"]


@dataclass(frozen=True, repr=False)
class RealRecord:
    """One record of a real chain: the chain's states, as positions in the model's, and the place of the record.

    chain:    what the attacker takes the records for.
    believed: the sentence that says so, if the model does not.
    """

    chain: MarkovChain
    states: tuple[int, ...]
    place: int
    believed: str = ""

    @property
    def state(self) -> int:
        """The state of the record."""
        return self.states[self.place]

    @property
    def described(self) -> str:
        """Which record it is, as a sentence."""
        return f"The target is record {self.place} of a real chain of {len(self.states)} records.{self.believed}"

    def within(self, before: int, after: int) -> UnknownStretch:
        """Return the stretch of `before` and `after` unknown records around it, or all there are, with its ends."""
        memory = self.chain.memory
        first = max(self.place - before, 0 if memory == 1 else memory)
        end = min(self.place + after + 1, len(self.states))
        left, right = self.states[max(first - memory, 0) : first], self.states[end : end + memory]
        several = memory > 1
        return UnknownStretch(
            Ending(self.place - first, left[-1] if left else None),
            Ending(end - self.place - 1, right[0] if right else None),
            left=left if several else (),
            right=right if several else (),
        )

    def answer(self, stretch: UnknownStretch, values: Sequence[int]) -> int:
        """Return the contribution of the target and the unknown records of a stretch to the exact answer."""
        first = self.place - stretch.before.unknown
        return sum(values[state] for state in self.states[first : self.place + stretch.after.unknown + 1])


def real_record(
    model: Model, frame: object, record: int | None, entity: Scalar | Sequence[Scalar] | None
) -> RealRecord:
    """Return a record of a table that follows a Markov chain, or one of bounded odds with known states.

    Under bounded odds the attacker takes the records for the symmetric chain that repeats its last state as often as
    the odds ratio allows. It is one of the laws that the model covers, whatever the memory.

    record: its position in the chain, from 0, among the records that have a state. entity: the values of its chain in
    the entity columns, if there are several chains.

    Raises InvalidInputError for a model without the columns of its order, FrameError for the table, and RecordsError
    for a record that does not exist or a state that is not in the model.
    """
    if not isinstance(model, MarkovChain | OddsChain) or model.unit > 1:
        raise InvalidInputError("real records can be attacked only under a MarkovChain or an OddsChain with unit 1")
    if model.layout is None or model.subject is None:
        raise InvalidInputError(
            "the model does not name the columns of its chain; fit it to the table, or give " + param("layout")
        )
    if record is None:
        raise InvalidInputError(param("record") + " must name the record to attack: its position in the chain, from 0")
    place = validation.natural("record", record, least=0)
    chain, believed = _believed(model)
    sequences = Sequences.of(frame, model.subject, model.layout)
    wanted = () if entity is None else tuple(entity) if isinstance(entity, list | tuple) else (entity,)
    if len(wanted) != len(sequences.entities):
        named = ", ".join(model.layout.entity) or "none"
        raise InvalidInputError(param("entity") + f" must give a value for each entity column of the model ({named})")
    columns = [*sequences.orders, "s", *sequences.entities]

    def chosen(rows: Any) -> Any:
        for name, value in zip(sequences.entities, wanted, strict=True):
            rows = rows.filter(nw.col(name) == sequences.table.value(name, value))
        return rows.select(*columns)

    with reading(sequences.table):
        sequences.check(sequences.relations(), model.layout)
        parts = sequences.table.parts(chosen)
    places, width = sequences.places(chain.states), len(sequences.orders)
    rows = sorted((row[:width], row[width]) for part in parts for row in part if row[width] is not None)
    strange = next((state for _, state in rows if state not in places), None)
    if strange is not None:
        raise RecordsError(f"the table has a state {brief(strange)} that is not in the model")
    if place >= len(rows):
        raise RecordsError(f"record {place} does not exist: the chain has {len(rows)} records, numbered from 0")
    if place < chain.memory > 1:
        raise InvalidInputError(
            f"record {place} cannot be attacked under a memory of {chain.memory}: at least {chain.memory} records must "
            f"lie before it; name record {chain.memory} or a later one"
        )
    return RealRecord(chain, tuple(places[state] for _, state in rows), place, believed)


def _believed(model: MarkovChain | OddsChain) -> tuple[MarkovChain, str]:
    """Return the chain that the attacker takes the records for, and the sentence that says so."""
    if isinstance(model, MarkovChain):
        return model, ""
    if not model.states or len(model.states) < 2:
        raise InvalidInputError("the model does not list the states of its chain; give " + param("states"))
    size = len(model.states)
    repeated = 1 / (1 + (size - 1) / math.sqrt(model.odds))
    rows = [[repeated if x == y else (1 - repeated) / (size - 1) for y in range(size)] for x in range(size)]
    sentence = f" He takes the records for a chain that repeats its last state with probability {repeated:.3g}."
    return MarkovChain(rows, states=model.states, column=model.column, state=model.state), sentence
