"""What a private fit counts in a table, model by model, and the model that follows from the noisy counts.

Each kind of model that can be fitted privately has a spec here. Proof: docs/theory/private-fit.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Self

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
from bayesdp.frames.lagged_pairs import lagged_pairs
from bayesdp.frames.transitions import Transitions, transitions
from bayesdp.models import GaussianGroups, Model, OddsChain, OddsSeries, learnt, learnt_correlation, learnt_series
from bayesdp.models.layout import ChainLayout, GroupLayout, column_names
from bayesdp.models.learnt import MOST_CELLS, Learnt, sensitivity
from bayesdp.models.learnt_correlation import LearntCorrelation, checked_bounds, pairs_sensitivity
from bayesdp.models.learnt_series import LearntSeries, credible_series, sums_sensitivity, weight_of_strata
from bayesdp.models.pair_regression import MOST_REACH
from bayesdp.models.series_sums import Course
from bayesdp.queries import AnyMechanism, Count, Query
from bayesdp.session.prepare import CheckedTable
from bayesdp.session.prepared_query import PreparedQuery
from bayesdp.session.private_fit_preview import Expected

__all__ = ["QUESTION", "Learner", "Prepared", "PrivateFitSpec", "Within", "private_fit_spec"]

QUESTION = fingerprint({"fit": "transition counts"})
"""One question for every fit of an account: there is one model, and so one fit that counts."""

_CLOCKS: Mapping[str, Sequence[Scalar]] = dict(zip(SHOWN, (range(24), range(1, 8), range(1, 13)), strict=True))
"""What clocks can show: public, whatever the table holds."""

Within = str | Sequence[str] | Mapping[str, Sequence[Scalar]]

Learner = OddsChain | OddsSeries | GaussianGroups
"""The models that can learn."""


@dataclass(frozen=True)
class Prepared:
    """The exact whole numbers of a private fit, which are released with noise only, and the model of noisy ones.

    prepared: the release that is charged, with its sensitivity.
    values:   the exact numbers.
    fitted:   returns the model for noisy numbers.
    details:  further entries for the ledger.
    """

    prepared: PreparedQuery
    values: Sequence[int]
    fitted: Callable[[Sequence[int]], Learner]
    details: Mapping[str, Any]


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
    def question(self, checked_table: CheckedTable) -> PreparedQuery:
        """Return the release to be charged, without reading; refuses a model that has nothing to learn."""

    @abstractmethod
    def expected(self, checked_table: CheckedTable) -> Expected:
        """Return what the fit is expected to state, from public numbers alone; refuses as `question` does."""

    @abstractmethod
    def prepared(self, checked_table: CheckedTable) -> Prepared:
        """Read the exact numbers; refuses as `question` does, and a table that is not as is public."""

    @abstractmethod
    def asks(self) -> Mapping[str, Any]:
        """Return the settings of the fit besides τ, as the result stores them."""


@dataclass(frozen=True)
class StrataFitSpec(PrivateFitSpec):
    """What chains and series have in common: sums by public strata, of columns that the model names."""

    within: tuple[str, ...]
    strata: tuple[tuple[Scalar, ...], ...]

    about: ClassVar[str]
    what: ClassVar[str]
    largest: ClassVar[str]

    @classmethod
    def of(cls, tau: float, credibility: float, options: Mapping[str, Any]) -> Self:
        """Return a checked spec; the strata are all that the columns named can hold, seen or not."""
        within, strata = _public_strata(_only(options, "within", cls.about))
        return cls(tau, credibility, within, strata)

    def _checked_strata(
        self, checked_table: CheckedTable, model: OddsChain | OddsSeries
    ) -> tuple[ChainLayout, tuple[Scalar, ...]]:
        """Return the columns of the model and its public states."""
        if model.estimated:
            raise ModelError(f"what can be learnt by a release {self.largest}, not of one that was estimated")
        if model.subject is None or model.layout is None:
            raise ModelError(
                f"the {self.what} does not say which columns it is about; name them by its `located`, or by --state "
                "and --order-by"
            )
        checked_table.check_public((name for name in self.within if name in checked_table.table), "the strata are by")
        return model.layout, _states(checked_table, model)


@dataclass(frozen=True)
class OddsFitSpec(StrataFitSpec):
    """Transition counts of an odds chain, stratum by stratum."""

    about: ClassVar[str] = "an odds chain"
    what: ClassVar[str] = "chain"
    largest: ClassVar[str] = "is the odds ratio of a chain whose odds ratio is the largest that is possible"

    def asks(self) -> Mapping[str, Any]:
        return {"credibility": self.credibility, "within": list(self.within), "strata": set(self.strata)}

    def question(self, checked_table: CheckedTable) -> PreparedQuery:
        model, _, states, _ = self._checked(checked_table)
        (prepared,) = checked_table.prepared([Count(model.subject, equals=states[0])], FINEST_BITS, unread=True)
        return _released(checked_table, prepared.query, sensitivity(model.memory))

    def expected(self, checked_table: CheckedTable) -> Expected:
        model, _, states, _ = self._checked(checked_table)
        size = (len(self.strata), len(states), model.memory, checked_table.rows)
        bounds = learnt.bounds_in_cases(*size, ceiling=model.odds, tau=self.tau, credibility=self.credibility)
        return Expected(Learnt.parameter_in_words, checked_table.rows, self.tau, model.odds, bounds)

    def _checked(
        self, checked_table: CheckedTable
    ) -> tuple[OddsChain, ChainLayout, tuple[Scalar, ...], tuple[int, ...]]:
        """Return the chain, its columns, its public states and the shape of the counts."""
        model = checked_table.model
        assert isinstance(model, OddsChain)
        layout, states = self._checked_strata(checked_table, model)
        shape = (len(self.strata), *(len(states),) * (model.memory + 1))
        if math.prod(map(float, shape)) > MOST_CELLS:
            raise ModelError(
                f"there are {math.prod(shape)} counts, more than the {MOST_CELLS} that are released at once"
            )
        return model, layout, states, shape

    def prepared(self, checked_table: CheckedTable) -> Prepared:
        model, layout, states, shape = self._checked(checked_table)
        assert model.subject is not None
        with kinds_of_text(checked_table.table, layout):
            seen = transitions(
                checked_table.table,
                model.subject,
                layout,
                checked_table.missing,
                memory=model.memory,
                within=self.within,
            )
        exact = np.zeros(shape, dtype=np.int64)
        for values, counts in _tables(seen):
            axes = [_place("state", states, state) for state in seen.states]
            cells = np.ix_([_place("stratum", self.strata, values)], *[axes] * (model.memory + 1))
            exact[cells] += np.array(counts, dtype=np.int64)[None]

        def fitted(noisy: Sequence[int]) -> OddsChain:
            tables = np.array(noisy).reshape(shape).tolist()
            return model.with_learnt(
                Learnt(model.odds, self.tau, self.credibility, tables, self.within, self.strata),
            )

        (prepared,) = checked_table.prepared([Count(model.subject, equals=states[0])], FINEST_BITS)
        return Prepared(
            _released(checked_table, prepared.query, sensitivity(model.memory)),
            exact.ravel().tolist(),
            fitted,
            {"fit": model.subject, "learning": Learnt.about(model.subject), "memory": model.memory},
        )


@dataclass(frozen=True)
class SeriesFitSpec(StrataFitSpec):
    """Sums of a series of two values, stratum by stratum, and of the products of its records by distance."""

    about: ClassVar[str] = "a series of bounded odds"
    what: ClassVar[str] = "series"
    largest: ClassVar[str] = "are the odds ratios of a series whose odds ratios are the largest that are possible"

    def asks(self) -> Mapping[str, Any]:
        return {"credibility": self.credibility, "within": list(self.within)}

    def question(self, checked_table: CheckedTable) -> PreparedQuery:
        model, _, states = self._checked(checked_table)
        (prepared,) = checked_table.prepared([Count(model.subject, equals=states[1])], FINEST_BITS, unread=True)
        return _released(checked_table, prepared.query, sums_sensitivity(len(model.odds)))

    def expected(self, checked_table: CheckedTable) -> Expected:
        model, _, _ = self._checked(checked_table)
        bounds = learnt_series.bounds_in_cases(
            len(self.strata),
            checked_table.rows,
            ceiling=tuple(model.odds),
            tau=self.tau,
            credibility=self.credibility,
            additive=model.additive,
        )
        return Expected(LearntSeries.parameter_in_words, checked_table.rows, self.tau, tuple(model.odds), bounds)

    def _checked(self, checked_table: CheckedTable) -> tuple[OddsSeries, ChainLayout, tuple[Scalar, ...]]:
        """Return the series, its columns and its two public states."""
        model = checked_table.model
        assert isinstance(model, OddsSeries)
        if len(model.odds) > MOST_REACH:
            raise ModelError(f"a private fit of a series has a reach of at most {MOST_REACH}, not {len(model.odds)}")
        layout, states = self._checked_strata(checked_table, model)
        if len(states) != 2:
            raise ModelError(
                f"a private fit of a series is about records with two states, not {len(states)}; take a condition, or "
                "an odds chain"
            )
        return model, layout, states

    def prepared(self, checked_table: CheckedTable) -> Prepared:
        model, layout, states = self._checked(checked_table)
        assert model.subject is not None
        reach = len(model.odds)
        with kinds_of_text(checked_table.table, layout):
            seen = lagged_pairs(
                checked_table.table,
                model.subject,
                layout,
                checked_table.missing,
                states=states,
                reach=reach,
                within=self.within,
            )
        weight, places = weight_of_strata(reach), [_place("stratum", self.strata, values) for values in seen.strata]
        totals, records = [0] * len(self.strata), [0] * len(self.strata)
        for place, total, number in zip(places, seen.totals, seen.records, strict=True):
            totals[place], records[place] = weight * total, number
        renamed = np.array([*places, -1], dtype=np.int16)
        course = Course.of(renamed[seen.course], len(self.strata))
        course.check(reach)
        ceiling = tuple(model.odds)

        def fitted(noisy: Sequence[int]) -> OddsSeries:
            odds = credible_series(
                course, noisy, ceiling=ceiling, tau=self.tau, credibility=self.credibility, additive=model.additive
            )
            settings = (ceiling, self.tau, self.credibility, odds, list(noisy), records)
            return model.with_learnt(LearntSeries(*settings, self.within, self.strata))

        details = {"fit": model.subject, "learning": LearntSeries.about(model.subject), "reach": reach}
        return Prepared(self.question(checked_table), [*totals, *seen.products], fitted, details)


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

    def question(self, checked_table: CheckedTable) -> PreparedQuery:
        _, layout, _, size = self._checked(checked_table)
        released = AnyMechanism(layout.value[0], what="noisy sums of squares and products")
        return _released(checked_table, released, pairs_sensitivity(size))

    def expected(self, checked_table: CheckedTable) -> Expected:
        _, _, ceiling, size = self._checked(checked_table)
        bounds = learnt_correlation.bounds_in_cases(
            size, checked_table.rows, ceiling=ceiling, tau=self.tau, credibility=self.credibility
        )
        return Expected(LearntCorrelation.parameter_in_words, checked_table.rows, self.tau, ceiling, bounds)

    def _checked(self, checked_table: CheckedTable) -> tuple[GaussianGroups, GroupLayout, float, int]:
        """Return the groups, their columns, the ceiling and the largest size."""
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
        return model, layout, ceiling, size

    def prepared(self, checked_table: CheckedTable) -> Prepared:
        model, layout, ceiling, size = self._checked(checked_table)
        groups, sums = pair_sums(checked_table.table, layout, self.bounds, size, checked_table.missing)

        def fitted(noisy: Sequence[int]) -> GaussianGroups:
            return model.with_learnt(
                LearntCorrelation(ceiling, self.tau, self.credibility, self.bounds, size, groups, list(noisy))
            )

        (column,) = layout.value
        details = {"fit": column, "learning": LearntCorrelation.about(column)}
        return Prepared(self.question(checked_table), sums, fitted, details)


SPECS: Mapping[str, type[PrivateFitSpec]] = {
    OddsChain.kind: OddsFitSpec,
    OddsSeries.kind: SeriesFitSpec,
    GaussianGroups.kind: CorrelationFitSpec,
}


def private_fit_spec(model: Model, tau: float, credibility: float, options: Mapping[str, Any]) -> PrivateFitSpec:
    """Return the spec of a kind of model; ModelError if the kind has no private fit."""
    tau, share = validation.positive("tau", tau), validation.probability("credibility", credibility)
    if model.kind not in SPECS:
        raise ModelError(
            "what can be learnt by a release are the odds ratios of an odds-chain or odds-series model, or the "
            "correlation of a gaussian model: start from one that has the largest possible, not with a "
            f"{model.kind} model"
        )
    return SPECS[model.kind].of(tau, share, {name: given for name, given in options.items() if given is not None})


def _public_strata(within: Within | None) -> tuple[tuple[str, ...], tuple[tuple[Scalar, ...], ...]]:
    """Return the columns of strata, and all their values together: what the columns can hold, seen or not."""
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
    return tuple(given), strata


def _only(options: Mapping[str, Any], name: str, model: str) -> Any:
    """Return the one option that a spec takes; refuses others."""
    for other in options.keys() - {name}:
        raise InvalidInputError(f"{other}= does not go with {model}")
    return options.get(name)


def _released(checked_table: CheckedTable, query: Query, moved: int) -> PreparedQuery:
    return PreparedQuery(query, QUESTION, None, moved, checked_table.rows)


def _states(checked_table: CheckedTable, model: OddsChain | OddsSeries) -> tuple[Scalar, ...]:
    """Return the public states: those of the model, or false and true of a condition."""
    if model.states:
        return tuple(model.states)
    if model.subject in checked_table.table:
        kind = "chain" if isinstance(model, OddsChain) else "series"
        raise ModelError(
            f"which values {model.subject!r} has must be public: list them as the "
            + param("states")
            + f" of the {kind}"
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
