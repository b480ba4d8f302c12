"""`advise`: priced assumptions for a table and a question."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bayesdp._support import validation
from bayesdp._support.messages import in_python, param, params
from bayesdp._support.progress import progress_bar
from bayesdp._support.validation import brief
from bayesdp.advice.advice import Advice
from bayesdp.advice.chains import STEPS, ChainEvidence, priced_chain_assumptions
from bayesdp.advice.next_steps import NextSteps
from bayesdp.advice.numbers import NumberEvidence, priced_number_assumptions
from bayesdp.advice.priced_assumption import PricedAssumption, recommended, with_price, with_sensitivities
from bayesdp.errors import InvalidInputError
from bayesdp.frames.source import LazyTable, Missing, checked_missing, scan
from bayesdp.frames.spacing import spaced
from bayesdp.models import ChainLayout
from bayesdp.models.layout import column_name, column_names
from bayesdp.queries import Count, Query
from bayesdp.rounding import shown_above
from bayesdp.theorems.leakage import BETA

__all__ = ["advise"]

_MOST_ASSUMPTIONS = 9
"""The most assumptions, for the progress bar."""


def advise(
    frame: object,
    question: Query | None = None,
    *,
    epsilon: float = 1.0,
    state: str | None = None,
    order_by: str | Sequence[str] | None = None,
    entity: str | Sequence[str] | None = None,
    step: float | str | datetime.timedelta | None = None,
    within: str | Sequence[str] | None = None,
    group: str | Sequence[str] | None = None,
    role: str | None = None,
    missing: Missing = "error",
    record: str = "record",
    beta: float = BETA,
    credibility: float = 0.95,
    order_by_text: bool = False,
) -> Advice:
    """Return the models of correlation that a table does not contradict, their costs, and the leakage if one is wrong.

    question:    the question; by default the number of records in the last state (true, for a condition).
    epsilon:     the ε that costs are computed for; beta: the probability that the error reaches α.
    state:       a column of states or a condition such as "steps > 0", in an order (`order_by`); by default the column
                 of a question that counts values. Sums and means need a column of numbers.
    order_by, order_by_text, entity, step, missing, record: as in MarkovChain.fit.
    within:      public columns, or hour, weekday, month of the order, between which odds may differ; by default the
                 first of these clocks that the order has.
    group, role: for numbers, the columns of groups and roles, as in GaussianGroups.fit.
    credibility: the share of the posterior for which the promise must hold.

    Nothing is released or charged; docs/advise.md has the rules. Raises InvalidInputError if arguments are missing,
    FrameError for a table that does not fit, QueryError for a question about another column.

    >>> import polars
    >>> from random import Random
    >>> from bayesdp import Sum
    >>> draw = Random(1)
    >>> means = [draw.gauss(170, 5) for family in range(200)]
    >>> people = [{"family": family, "height": draw.gauss(means[family], 5)} for family in [*range(200)] * 2]
    >>> advice = advise(polars.DataFrame(people), Sum("height", bounds=(150, 190)), group="family")
    >>> [(assumption.name, str(assumption.verdict)) for assumption in advice.priced_assumptions[:2]]
    [('independent', 'violated'), ('normal groups', 'not tested')]
    """
    if question is not None and not isinstance(question, Query):
        raise InvalidInputError(f"expected a question such as Count(...), not {brief(question)}")
    epsilon = validation.positive("epsilon", epsilon)
    beta, credibility = validation.probability("beta", beta), validation.probability("credibility", credibility)
    missing, record = checked_missing(missing), validation.text("record", record)
    subject = state if state is not None else (question.column if question and question.counts_values else None)
    order, entities = column_names("order_by", order_by), column_names("entity", entity)
    strata, groups = column_names("within", within), column_names("group", group)
    table = scan(frame)
    place = _TableOptions(table, order, entities, step, missing, record, order_by_text)
    with progress_bar(STEPS + _MOST_ASSUMPTIONS, "looking at the table") as done:
        if subject is not None:
            if groups or role is not None:
                raise InvalidInputError(params("{group} and {role} are for a column of numbers; states have entities"))
            seen = _states(place, question, column_name("state", subject), strata or None, credibility, done)
        else:
            seen = _numbers(place, question, groups, role)
            done(STEPS)
        priced_assumptions = []
        for assumption in seen.assumptions:
            priced_assumptions.append(with_price(assumption, seen.question, epsilon, beta, credibility))
            done(1)
    assumptions = with_sensitivities(priced_assumptions)
    given = {"state": subject, "order_by": list(order), "entity": list(entities), "step": step, "group": list(groups)}
    given |= {"order_by_text": order_by_text, "role": role, "within": list(seen.means_within)}
    given |= {"missing": None if missing == "error" else missing, "record": None if record == "record" else record}
    return Advice(
        seen.question,
        epsilon,
        beta,
        assumptions,
        recommended(assumptions),
        f"{seen.shows} {_protection(assumptions)}".strip() if seen.shows else "",
        Path(table.name).name or table.name,
        NextSteps(
            frame if isinstance(frame, str | Path) else None,
            {name: value for name, value in given.items() if value},
            credibility,
        ),
    )


@dataclass(frozen=True)
class _TableOptions:
    table: LazyTable
    order: tuple[str, ...]
    entities: tuple[str, ...]
    step: float | str | datetime.timedelta | None
    missing: Missing
    record: str
    order_by_text: bool

    @property
    def layout(self) -> ChainLayout:
        return ChainLayout(
            self.order, self.entities, self.step, dropped=self.missing == "drop", order_by_text=self.order_by_text
        )


@dataclass(frozen=True)
class _Seen:
    """Assumptions without prices, the question, and the memory that the table shows."""

    assumptions: Iterable[PricedAssumption]
    question: Query
    shows: str = ""
    means_within: Sequence[str] = ()


def _states(
    place: _TableOptions,
    question: Query | None,
    subject: str,
    within: tuple[str, ...] | None,
    credibility: float,
    done: Callable[[int], None],
) -> _Seen:
    if not place.order:
        raise InvalidInputError("the records need an order: name its columns by " + param("order_by"))
    evidence = ChainEvidence.of(
        place.table,
        subject,
        place.layout,
        within=within,
        missing=place.missing,
        record=place.record,
        credibility=credibility,
        done=done,
    )
    query = Count(subject, equals=evidence.first.states[-1]) if question is None else question
    named = replace(query, column=subject) if query.column is None else query
    return _Seen(priced_chain_assumptions(evidence), named, _memory(evidence))


def _numbers(place: _TableOptions, question: Query | None, group: tuple[str, ...], role: str | None) -> _Seen:
    if question is None or question.column is None:
        raise InvalidInputError(
            params("say what to look at: {state} and {order_by}, or a question about a column of numbers ")
            + in_python(
                'such as Sum("height", bounds=(0, 100))', elsewhere="such as --query sum --column height --bounds 0 100"
            )
        )
    if not group and not place.order:
        raise InvalidInputError(
            params("name the columns of records that belong together: {group}, or {order_by} for a series")
        )
    layout = spaced(place.table, question.column, place.layout, numeric=True) if place.order else None
    evidence = NumberEvidence(place.table, question.column, group, role, layout, place.missing, place.record)
    means: Sequence[str] = () if layout is None else evidence.within
    return _Seen(priced_number_assumptions(evidence), question, means_within=means)


def _memory(evidence: ChainEvidence) -> str:
    records, all_of_it = evidence.memory
    where = f", also within each {' and '.join(evidence.within)}" if evidence.within else ""
    if records == 1:
        return (
            "The table shows no memory beyond the last record."
            if all_of_it
            else "The table has too many states to test whether more than the last record matters."
        )
    at_least = "" if all_of_it else " at least"
    return f"The table shows a memory of{at_least} {records} records: not only the last one matters{where}."


def _protection(priced_assumptions: Sequence[PricedAssumption]) -> str:
    """Return the cost of protection against memory, as a sentence; empty if no assumption has one."""
    costs = [
        f"{shown_above(assumption.alpha, 3)} ({assumption.name})"
        for assumption in priced_assumptions
        if assumption.alpha is not None and getattr(assumption.model, "memory", 1) > 1
    ]
    first = next(
        (
            assumption.alpha
            for assumption in priced_assumptions
            if assumption.name == "chain" and assumption.alpha is not None
        ),
        None,
    )
    if not costs or first is None:
        return ""
    return (
        f"Protecting against it costs an error of {'; '.join(costs)}, instead of {shown_above(first, 3)} for a chain."
    )
