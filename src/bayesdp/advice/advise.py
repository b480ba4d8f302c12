"""`advise`: priced assumptions for a table and a question."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bayesdp._support import validation
from bayesdp._support.messages import in_python, param, params
from bayesdp._support.progress import progress_bar
from bayesdp._support.validation import brief
from bayesdp._support.words import counted
from bayesdp.advice.advice import Advice
from bayesdp.advice.chains import STEPS, ChainEvidence, chain_tests, of_two_states, priced_chain_assumptions
from bayesdp.advice.claims import SEPARATE, Evidence, consistent
from bayesdp.advice.next_steps import NextSteps
from bayesdp.advice.numbers import NumberEvidence, number_tests, priced_number_assumptions
from bayesdp.advice.priced_assumption import (
    PricedAssumption,
    hopeless,
    nearly_free,
    recommended,
    with_price,
    with_sensitivities,
)
from bayesdp.advice.questions import Yardstick, quantile_error, sized, yardstick
from bayesdp.advice.states_in_groups import priced_group_assumptions
from bayesdp.advice.usefulness import (
    USEFUL,
    WaysOut,
    coarser_windows,
    finer_windows,
    useful,
    ways_out,
    whole_table,
)
from bayesdp.errors import FrameError, InvalidInputError, QueryError
from bayesdp.frames.group_pairs import group_pairs
from bayesdp.frames.kept_records import kept_records
from bayesdp.frames.source import LazyTable, Missing, checked_missing, scan
from bayesdp.frames.spacing import spaced
from bayesdp.models import ArbitraryGroups, ChainLayout, Independent
from bayesdp.models.layout import column_name, column_names
from bayesdp.queries import Count, Quantile, Query
from bayesdp.rounding import shown_above
from bayesdp.theorems.leakage import BETA

__all__ = ["advise"]

_MOST_ASSUMPTIONS = 11
"""The most assumptions, for the progress bar."""

KEPT = 5
"""The number of records of each group that are read, where `advise` tries to read fewer."""

_Pricing = Callable[..., PricedAssumption]
"""Prices an assumption, for the question or another one, at the ε or another one."""


def advise(
    frame: object,
    question: Query | None = None,
    *,
    epsilon: float = 1.0,
    delta: float | None = None,
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
    delta:       the δ of a promise of (ε, δ), if it has one; models are then as estimated, without a credibility.
    state:       a column of states or a condition such as "steps > 0", in an order (`order_by`); by default the column
                 of a question that counts values. Sums and means need a column of numbers.
    order_by, order_by_text, entity, step, missing, record: as in MarkovChain.fit.
    within:      public columns, or hour, weekday, month of the order, between which odds may differ, or means of
                 numbers; by default the first of these clocks that the order has.
    group, role: for numbers, the columns of groups and roles, as in GaussianGroups.fit. States may have a group
                 instead of an order, such as the household of a person who is ill.
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
    delta = None if delta is None else validation.probability("delta", delta)
    beta, credibility = validation.probability("beta", beta), validation.probability("credibility", credibility)
    missing, record = checked_missing(missing), validation.text("record", record)
    subject = state if state is not None else (question.column if question and question.counts_values else None)
    order, entities = column_names("order_by", order_by), column_names("entity", entity)
    strata, groups = column_names("within", within), column_names("group", group)
    table = scan(frame)
    table.check_names((*order, *entities, *groups))
    place = _TableOptions(table, order, entities, step, missing, record, order_by_text)
    with progress_bar(STEPS + _MOST_ASSUMPTIONS, "looking at the table") as done:
        if subject is not None and groups:
            if role is not None or entities:
                raise InvalidInputError(params("states in groups have neither {role} nor {entity}"))
            seen = _states_in_groups(place, question, column_name("state", subject), groups)
            done(STEPS)
        elif subject is not None:
            if role is not None:
                raise InvalidInputError(params("{role} is for a column of numbers"))
            seen = _states(place, question, column_name("state", subject), strata or None, credibility, done)
        else:
            seen = _numbers(place, question, groups, role, strata)
            done(STEPS)
        query = sized(table, seen.question, missing)
        error = quantile_error(table, query, missing, beta)

        ordered = [_with_order(assumption, order if query.in_windows else ()) for assumption in seen.assumptions]
        candidates = consistent(tuple(ordered), tuple(seen.tests))
        for candidate in candidates:
            if candidate.model is not None:
                candidate.model.check_query(query)
        by = yardstick(table, query, missing, place.layout if order else None)

        def priced(assumption: PricedAssumption, query: Query = query, *, epsilon: float = epsilon) -> PricedAssumption:
            reason = "" if delta is not None else hopeless(assumption, query, epsilon, beta, by.size)
            if reason:
                return replace(assumption, reason=reason)
            return with_price(assumption, query, epsilon, beta, credibility, error, delta)

        priced_assumptions = []
        for candidate in candidates:
            priced_assumptions.append(_compared(priced(candidate), by))
            done(1)
        less = _reading_less(place, query, priced_assumptions, priced)
        assumptions = with_sensitivities([*priced_assumptions[:-1], *less, *priced_assumptions[-1:]])
        chosen = recommended(assumptions)
        whole = None if chosen is None else nearly_free(chosen, assumptions)
        if whole is not None:
            chosen, assumptions = whole, (*assumptions, whole)
        outlook = "" if chosen is None else _outlook(place, seen, query, epsilon, by, chosen, assumptions, priced)
    given = {"state": subject, "order_by": list(order), "entity": list(entities), "step": step, "group": list(groups)}
    given |= {"order_by_text": order_by_text, "role": role, "within": list(seen.means_within)}
    given |= {"missing": None if missing == "error" else missing, "record": None if record == "record" else record}
    return Advice(
        query,
        epsilon,
        beta,
        assumptions,
        chosen,
        f"{seen.shows} {_protection(assumptions)}".strip() if seen.shows else "",
        Path(table.name).name or table.name,
        NextSteps(
            _path_of(frame),
            {name: value for name, value in given.items() if value},
            credibility,
            delta,
        ),
        outlook,
        by.name,
        delta,
    )


def _path_of(frame: object) -> str | Path | tuple[str, ...] | None:
    """Return the path of a table, or its paths; None if it is not in files."""
    if isinstance(frame, list | tuple) and frame:
        return tuple(str(path) for path in frame) if len(frame) > 1 else str(frame[0])
    return frame if isinstance(frame, str | Path) else None


def _outlook(
    place: _TableOptions,
    seen: _Seen,
    query: Query,
    epsilon: float,
    by: Yardstick,
    chosen: PricedAssumption,
    assumptions: Sequence[PricedAssumption],
    priced: _Pricing,
) -> str:
    """Return whether the recommended answer is useful, and what would make it so; if it is, what else it allows."""

    def in_windows(other: Query) -> tuple[float, str] | None:
        """Return the relative error of a question by windows, and what it is a share of; None if it has no answer."""
        try:
            size = yardstick(place.table, other, place.missing, place.layout)
        except (FrameError, QueryError):
            return None
        alpha = priced(_with_order(chosen, place.order), other).alpha
        return None if alpha is None else (size.share(alpha), size.name)

    assert chosen.relative_error is not None
    if chosen.relative_error <= USEFUL:
        finer = () if not place.order or chosen.credible else finer_windows(query)
        return useful(chosen, by, ((name, in_windows(other)) for name, other in finer))
    options = WaysOut(
        coarser=_coarser(seen, priced),
        windows=[(name, in_windows(other)) for name, other in coarser_windows(query)],
        reading_less=[each for each in assumptions if each.reads_less],
        whole=whole_table(query),
    )
    return ways_out(chosen, query, epsilon, by, lambda larger: priced(chosen, epsilon=larger), options)


def _reading_less(
    place: _TableOptions, query: Query, candidates: Sequence[PricedAssumption], priced: _Pricing
) -> Iterator[PricedAssumption]:
    """Yield the protection of long groups of which a few records are read, for questions that add up records.

    The error is compared with the answer about the records that are read.
    """
    for groups in candidates:
        model = groups.model
        if not isinstance(model, ArbitraryGroups) or SEPARATE not in groups.claims or model.size <= 2 * KEPT:
            continue
        if query.averaged or isinstance(query, Quantile) or query.in_windows:
            continue
        less = replace(model, keep=KEPT, order_by=place.order)
        try:
            assert less.reads is not None
            rows = kept_records(place.table, less.reads)
            size = yardstick(rows, query, place.missing)
        except FrameError:  # the rows have no order, or several records have the same place
            continue
        several = counted(KEPT, place.record)
        assumption = replace(
            groups,
            name=f"arbitrary groups, {several} of each",
            assumes=f"{groups.assumes} Of each group, only {less.reads} are read, and the answer is about them.",
            model=less,
            calibration=None,
            relative_error=None,
            reason="",
        )
        yield _compared(priced(assumption), size)


def _compared(assumption: PricedAssumption, by: Yardstick) -> PricedAssumption:
    """Return an assumption with its error as a share of what is asked."""
    return assumption if assumption.alpha is None else replace(assumption, relative_error=by.share(assumption.alpha))


def _with_order(assumption: PricedAssumption, order: tuple[str, ...]) -> PricedAssumption:
    """Return an assumption whose model names the columns that order records, so that questions by windows are asked."""
    model = assumption.model
    if not order or not isinstance(model, Independent | ArbitraryGroups) or model.order_by:
        return assumption
    return replace(assumption, model=replace(model, order_by=order))


def _coarser(seen: _Seen, priced: _Pricing) -> float | None:
    """Return the error if all states but those asked for are one; None if that is not possible."""
    joined = None if seen.coarser is None else seen.coarser()
    return None if joined is None else priced(*joined).alpha


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
    """Assumptions without prices, tests of what they claim, the question, and the memory that the table shows.

    coarser: returns the assumption of a chain of two states, those asked for and all others, and a count of them.
    """

    assumptions: Iterable[PricedAssumption]
    tests: Iterable[Evidence]
    question: Query
    shows: str = ""
    means_within: Sequence[str] = ()
    coarser: Callable[[], tuple[PricedAssumption, Query] | None] | None = None


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
    return _Seen(
        priced_chain_assumptions(evidence),
        chain_tests(evidence),
        named,
        _memory(evidence),
        coarser=partial(of_two_states, evidence, named),
    )


def _states_in_groups(place: _TableOptions, question: Query | None, subject: str, group: tuple[str, ...]) -> _Seen:
    pairs = group_pairs(place.table, subject, group, place.missing)
    query = Count(subject, equals=list(pairs.states)[-1]) if question is None else question
    named = replace(query, column=subject) if query.column is None else query
    return _Seen(priced_group_assumptions(pairs, subject, group, place.record), (), named)


def _numbers(
    place: _TableOptions, question: Query | None, group: tuple[str, ...], role: str | None, within: tuple[str, ...]
) -> _Seen:
    place.table.check_names(column_names("role", role))
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
    evidence = NumberEvidence(place.table, question.column, group, role, layout, place.missing, place.record, within)
    means: Sequence[str] = () if layout is None else evidence.within
    return _Seen(priced_number_assumptions(evidence), number_tests(evidence), question, means_within=means)


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
