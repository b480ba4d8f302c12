"""What a private fit counts in a table, model by model, and the model that follows from the noisy counts.

Each kind of model that can be fitted privately has a spec here. Proof: docs/theory/private-fit.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np

from bayesdp._support import validation
from bayesdp._support.documents import fingerprint
from bayesdp._support.messages import in_python, param, params
from bayesdp._support.validation import Scalar, brief
from bayesdp.errors import InvalidInputError, ModelError, RecordsError
from bayesdp.frames.clocks import SHOWN
from bayesdp.frames.dates import kinds_of_text
from bayesdp.frames.grid import FINEST_BITS
from bayesdp.frames.groups import pair_sums
from bayesdp.frames.transitions import Transitions, transitions
from bayesdp.models import GaussianGroups, Model, OddsChain
from bayesdp.models.layout import column_names
from bayesdp.models.learnt import MOST_CELLS, Learnt, sensitivity
from bayesdp.models.learnt_correlation import LearntCorrelation, checked_bounds, pairs_sensitivity
from bayesdp.queries import AnyMechanism, Count, Query
from bayesdp.session.prepare import CheckedTable
from bayesdp.session.prepared_query import PreparedQuery

__all__ = ["QUESTION", "Learner", "Prepared", "PrivateFitSpec", "Within", "private_fit_spec"]

QUESTION = fingerprint({"fit": "transition counts"})
"""One question for every fit of an account: there is one model, and so one fit that counts."""

_CLOCKS: Mapping[str, Sequence[Scalar]] = dict(zip(SHOWN, (range(24), range(1, 8), range(1, 13)), strict=True))
"""What clocks can show: public, whatever the table holds."""

Within = str | Sequence[str] | Mapping[str, Sequence[Scalar]]

Learner = OddsChain | GaussianGroups
"""The models that can learn."""


@dataclass(frozen=True)
class Prepared:
    """The exact whole numbers of a private fit, which are released with noise only, and the model they lead to.

    asked:  the release as the account sees it: what is charged, and its sensitivity.
    values: the exact numbers.      taught: makes the model of noisy ones.
    kept:   what else the ledger keeps of it.
    """

    asked: PreparedQuery
    values: Sequence[int]
    taught: Callable[[Sequence[int]], Learner]
    kept: Mapping[str, Any]


@dataclass(frozen=True)
class PrivateFitSpec(ABC):
    """What is to be learnt, all of it public: τ, the credibility, and what a kind of model needs beside."""

    tau: float
    credibility: float

    @classmethod
    @abstractmethod
    def of(cls, tau: float, credibility: float, options: Mapping[str, Any]) -> Self:
        """Return a checked spec; options: those of `Session.fit` that were given and are of one kind of model."""

    @abstractmethod
    def prepared(self, checked_table: CheckedTable) -> Prepared:
        """Read the exact numbers; refuses a model that has nothing to learn, and a table that is not as is public."""

    @abstractmethod
    def asks(self) -> Mapping[str, Any]:
        """Return the settings of the fit besides τ, as the result stores them."""


@dataclass(frozen=True)
class OddsFitSpec(PrivateFitSpec):
    """Transition counts of an odds chain, stratum by stratum."""

    within: tuple[str, ...]
    strata: tuple[tuple[Scalar, ...], ...]

    @classmethod
    def of(cls, tau: float, credibility: float, options: Mapping[str, Any]) -> OddsFitSpec:
        """Return a checked spec; the strata are all that the columns named can hold, seen or not."""
        within = _only(options, "within", "an odds chain")
        given = dict(within) if isinstance(within, Mapping) else dict.fromkeys(column_names("within", within))
        values = []
        for name, listed in given.items():
            cells = _CLOCKS.get(name) if listed is None else listed
            if cells is None:
                raise InvalidInputError(
                    f"which values {name!r} has must be public, and only those of {', '.join(SHOWN)} are known"
                    + in_python("; a session takes them with the column (a dictionary as within=)")
                )
            values.append(validation.distinct(f"within[{name!r}]", tuple(cells)))
        strata = tuple(product(*values))
        if not 1 <= len(strata) <= MOST_CELLS:
            raise InvalidInputError(
                param("within") + f" makes {len(strata)} strata; give at least one and at most {MOST_CELLS}"
            )
        return cls(tau, credibility, tuple(given), strata)

    def asks(self) -> Mapping[str, Any]:
        return {"credibility": self.credibility, "within": list(self.within), "strata": set(self.strata)}

    def prepared(self, checked_table: CheckedTable) -> Prepared:
        model = checked_table.model
        assert isinstance(model, OddsChain)
        if model.estimated:
            raise ModelError(
                "what can be learnt by a release is the odds ratio of a chain whose odds ratio is the largest that is "
                "possible, not of one that was estimated"
            )
        if model.subject is None or model.layout is None:
            raise ModelError(
                "the chain does not say which columns it is about; name them by its `located`, or by --state and "
                "--order-by"
            )
        checked_table.check_public((name for name in self.within if name in checked_table.table), "the strata are by")
        states = _states(checked_table, model)
        shape = (len(self.strata), *(len(states),) * (model.memory + 1))
        if math.prod(map(float, shape)) > MOST_CELLS:
            raise ModelError(
                f"there are {math.prod(shape)} counts, more than the {MOST_CELLS} that are released at once"
            )
        with kinds_of_text(checked_table.table, model.layout):
            seen = transitions(
                checked_table.table,
                model.subject,
                model.layout,
                checked_table.missing,
                memory=model.memory,
                within=self.within,
            )
        exact = np.zeros(shape, dtype=np.int64)
        for values, counts in _tables(seen):
            axes = [_place("state", states, state) for state in seen.states]
            cells = np.ix_([_place("stratum", self.strata, values)], *[axes] * (model.memory + 1))
            exact[cells] += np.array(counts, dtype=np.int64)[None]

        def taught(noisy: Sequence[int]) -> OddsChain:
            tables = np.array(noisy).reshape(shape).tolist()
            return model.learning(
                Learnt(model.odds, self.tau, self.credibility, tables, self.within, self.strata),
            )

        (asked,) = checked_table.asked([Count(model.subject, equals=states[0])], FINEST_BITS)
        return Prepared(
            _released(checked_table, asked.query, sensitivity(model.memory)),
            exact.ravel().tolist(),
            taught,
            {"fit": model.subject, "learning": Learnt.about(model.subject), "memory": model.memory},
        )


@dataclass(frozen=True)
class CorrelationFitSpec(PrivateFitSpec):
    """Sums of squares and products inside groups of normal records, all pairs of which are correlated alike."""

    bounds: tuple[float, float]

    @classmethod
    def of(cls, tau: float, credibility: float, options: Mapping[str, Any]) -> CorrelationFitSpec:
        bounds = _only(options, "bounds", "normal groups")
        if bounds is None:
            raise InvalidInputError(
                "to learn a correlation takes "
                + param("bounds")
                + ", between which nearly all values lie; choose them without looking at the data"
            )
        return cls(tau, credibility, checked_bounds(bounds))

    def asks(self) -> Mapping[str, Any]:
        return {"credibility": self.credibility, "bounds": list(self.bounds)}

    def prepared(self, checked_table: CheckedTable) -> Prepared:
        model = checked_table.model
        assert isinstance(model, GaussianGroups)
        ceiling, size, layout = model.correlation, model.size, model.layout
        if ceiling is None or size is None:
            raise ModelError(
                "what can be learnt by a release is one bound on every correlation: start from a model with the "
                "largest correlation and size that are possible"
            )
        if size < 2:
            raise ModelError("groups of one record have no correlation to learn")
        if layout is None or layout.wide or layout.role is not None:
            raise ModelError(
                params(
                    "one correlation of all pairs is learnt, from a table with a record a row: name the columns by "
                    "{value} and {group}, without roles"
                )
            )
        groups, sums = pair_sums(checked_table.table, layout, self.bounds, size, checked_table.missing)

        def taught(noisy: Sequence[int]) -> GaussianGroups:
            return model.learning(
                LearntCorrelation(ceiling, self.tau, self.credibility, self.bounds, size, groups, list(noisy))
            )

        (column,) = layout.value
        released = AnyMechanism(column, what="noisy sums of squares and products")
        kept = {"fit": column, "learning": LearntCorrelation.about(column)}
        return Prepared(_released(checked_table, released, pairs_sensitivity(size)), sums, taught, kept)


SPECS: Mapping[str, type[PrivateFitSpec]] = {OddsChain.kind: OddsFitSpec, GaussianGroups.kind: CorrelationFitSpec}


def private_fit_spec(model: Model, tau: float, credibility: float, options: Mapping[str, Any]) -> PrivateFitSpec:
    """Return the spec of a kind of model; ModelError if the kind has no private fit."""
    tau, share = validation.positive("tau", tau), validation.probability("credibility", credibility)
    if model.kind not in SPECS:
        raise ModelError(
            "what can be learnt by a release is the odds ratio of an odds-chain model, or the correlation of a "
            f"gaussian model: start from one that has the largest possible, not with a {model.kind} model"
        )
    return SPECS[model.kind].of(tau, share, {name: given for name, given in options.items() if given is not None})


def _only(options: Mapping[str, Any], name: str, model: str) -> Any:
    """Return the one option that a spec takes; refuses others."""
    for other in options.keys() - {name}:
        raise InvalidInputError(f"{other}= does not go with {model}")
    return options.get(name)


def _released(checked_table: CheckedTable, query: Query, moved: int) -> PreparedQuery:
    return PreparedQuery(query, QUESTION, None, moved, checked_table.rows)


def _states(checked_table: CheckedTable, model: OddsChain) -> tuple[Scalar, ...]:
    """Return the public states: those of the model, or false and true of a condition."""
    if model.states:
        return tuple(model.states)
    if model.subject in checked_table.table:
        raise ModelError(
            f"which values {model.subject!r} has must be public: list them as the " + param("states") + " of the chain"
        )
    return (False, True)


def _tables(seen: Transitions) -> list[tuple[tuple[Scalar, ...], Any]]:
    if not seen.strata:
        return [((), seen.counts)]
    return [(stratum.values[0], stratum.counts) for stratum in seen.strata]


def _place(what: str, known: Sequence[Any], value: Any) -> int:
    if value not in known:
        raise RecordsError(f"the table has a {what} {brief(value)} that is not among those that were said to be public")
    return list(known).index(value)
