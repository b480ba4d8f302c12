"""Is an answer useful, and what would make it so?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from bayesdp._support.words import counted, listed
from bayesdp.advice.priced_assumption import PricedAssumption
from bayesdp.advice.questions import Yardstick
from bayesdp.calibration.calibrate import Calibration
from bayesdp.errors import ModelError, NoTheoremAppliesError, TooLargeError
from bayesdp.models import ArbitraryGroups
from bayesdp.queries import Quantile, Query
from bayesdp.queries.windows import CLOCKS, PERIODS
from bayesdp.rounding import shown_above
from bayesdp.theorems.leakage import Composition
from bayesdp.theorems.spend import Release

__all__ = [
    "TRIED",
    "USEFUL",
    "WaysOut",
    "coarser_windows",
    "finer_windows",
    "useful",
    "ways_out",
    "whole_table",
]

USEFUL = 0.1
"""An answer is useful if its error is at most this share of what is asked."""

TRIED = (2.0, 3.0, 5.0, 8.0, 10.0)
"""The larger ε that are tried, in units of the requested one."""

Priced = Callable[[float], PricedAssumption]
"""Prices one assumption at an ε."""


InWindows = tuple[str, tuple[float, str] | None]
"""What the windows of a question are called, and their relative error with what it is a share of; None without one."""


@dataclass(frozen=True)
class WaysOut:
    """What else could be asked, with its error.

    coarser:      the error if all states but those asked for are joined into one; None if that is not possible.
    windows:      longer windows, or fewer of them.
    reading_less: assumptions under which only some records of each group are read.
    whole:        whether the question is about some records only, by public ends or windows.
    """

    coarser: float | None = None
    windows: Iterable[InWindows] = ()
    reading_less: Sequence[PricedAssumption] = ()
    whole: bool = False


def coarser_windows(query: Query) -> Iterator[tuple[str, Query]]:
    """Yield the same question by longer periods, or by fewer clocks, each with its name.

    >>> from bayesdp import Count
    >>> [name for name, _ in coarser_windows(Count("on", equals=1, by="date", since="2024-01-01", until="2025-01-01"))]
    ['week', 'month']
    >>> [name for name, _ in coarser_windows(Count("on", equals=1, by=["weekday", "hour"]))]
    ['weekday', 'hour']
    """
    names = tuple(query.by_columns)
    if query.by_cells is not None or not set(names) <= set(CLOCKS):
        return
    if len(names) == 1 and names[0] in PERIODS:
        for name in PERIODS[PERIODS.index(names[0]) + 1 :]:
            yield name, replace(query, by=name)
    elif len(names) > 1:
        for name in names:
            yield name, replace(query, by=name)


def finer_windows(query: Query) -> Iterator[tuple[str, Query]]:
    """Yield the same question by clocks that need no public ends, the one with the most windows first.

    >>> from bayesdp import Count
    >>> [name for name, _ in finer_windows(Count("on", equals=1))]
    ['weekday and hour', 'hour', 'weekday']
    """
    if query.by is not None or query.averaged or query.by_cell or isinstance(query, Quantile) or query.unforeseen:
        return
    for names in (("weekday", "hour"), ("hour",), ("weekday",)):
        yield " and ".join(names), replace(query, by=list(names))


def whole_table(query: Query) -> bool:
    """Return whether a question is about some records only, between public ends."""
    return query.since is not None or query.until is not None


def useful(chosen: PricedAssumption, by: Yardstick, finer: Iterable[InWindows]) -> str:
    """Return the error of a useful answer in a sentence, and by which windows the same ε gives useful answers, too."""
    assert chosen.relative_error is not None
    error = f"Its error is {_percent(chosen.relative_error)} of {by.name}."
    for name, found in finer:
        if found is not None and found[0] <= USEFUL:
            share, whole = found
            return (
                f"{error} A record is in one window only, so the same ε also gives an answer for each {name}, with an "
                f"error of {_percent(share)} of {whole}."
            )
    return error


def ways_out(
    chosen: PricedAssumption, query: Query, epsilon: float, by: Yardstick, priced: Priced, options: WaysOut
) -> str:
    """Return that the recommended answer is not useful, and what would make it so, in sentences.

    priced: prices the recommended assumption at another ε.
    """
    assert chosen.relative_error is not None
    error = f"{_percent(chosen.relative_error)} of {by.name}"
    found = [
        *_joined(chosen, query, by),
        *_in_windows(options.windows),
        *_coarsened(options.coarser, by),
        *_reading_less(options.reading_less),
        *_for_more(chosen, epsilon, by, priced),
    ]
    at_most = f"an error of at most {_percent(USEFUL)} of {by.name}"
    nothing = f"No assumption that the table allows gives a useful answer at ε = {epsilon:g} ({at_most})"
    return f"{nothing}; that of the recommended one is {error}. {_advice(found, epsilon, options.whole)}"


def _advice(options: list[str], epsilon: float, whole: bool) -> str:
    if options:
        return f"Instead, {listed(options, 'or')}."
    more = "about the whole table" if whole else "about more records, or about something less rare"
    return f"Even ε = {epsilon * TRIED[-1]:g} gives none: ask {more}."


def _in_windows(windows: Iterable[InWindows]) -> Iterator[str]:
    """Yield the first windows whose answers are useful."""
    for name, found in windows:
        if found is not None and found[0] <= USEFUL:
            yield f"ask by {name} (error {_percent(found[0])})"
            return


def _reading_less(assumptions: Iterable[PricedAssumption]) -> Iterator[str]:
    """Yield how many records of each group to read, if the answer about them is useful."""
    for each in assumptions:
        share, model = each.relative_error, each.model
        if share is not None and share <= USEFUL and isinstance(model, ArbitraryGroups):
            several, group = counted(model.group_size, model.record), " and ".join(model.group)
            yield f"read at most {several} of each {group} (error {_percent(share)} of the answer about these)"


def _joined(chosen: PricedAssumption, query: Query, by: Yardstick) -> Iterator[str]:
    """Yield to how many cells an answer must be reduced; its error hardly depends on their number."""
    if query.by_cell and chosen.alpha is not None:
        cells = int(USEFUL * by.size * query.dimension / chosen.alpha)
        if 1 < cells < query.dimension:
            yield f"join cells until at most {cells} are left"


def _coarsened(coarser: float | None, by: Yardstick) -> Iterator[str]:
    if coarser is not None and by.share(coarser) <= USEFUL:
        error = _percent(by.share(coarser))
        yield f"coarsen the states to two, those asked for and all others (error {error})"


def _for_more(chosen: PricedAssumption, epsilon: float, by: Yardstick, priced: Priced) -> Iterator[str]:
    """Yield a larger ε at which the same assumption gives a useful answer, with its error.

    Each price takes a calibration, so no ε is tried at which errors would have to fall faster than 1/ε, nor one below
    the leakage of noise with a useful error.
    """
    share, least = chosen.relative_error or 0.0, 0.0
    for times in TRIED:
        if times * USEFUL < min(share, TRIED[-1] * USEFUL):
            continue
        least = least or _least_useful(chosen)
        if times * epsilon < least:
            continue
        alpha = priced(epsilon * times).alpha
        if alpha is not None and by.share(alpha) <= USEFUL:
            yield f"accept ε = {epsilon * times:g} (error {_percent(by.share(alpha))})"
            return


def _least_useful(chosen: PricedAssumption) -> float:
    """Return the leakage of noise with a useful error under the recommended assumption; 0 if it is not known."""
    plain = chosen.calibration
    if chosen.model is None or chosen.error is not None or not isinstance(plain, Calibration):
        return 0.0
    tau = plain.tau * (chosen.relative_error or 0.0) / USEFUL
    try:
        return Composition(chosen.model).proven((Release(plain.query, tau),))
    except (NoTheoremAppliesError, ModelError, TooLargeError):
        return 0.0


def _percent(share: float) -> str:
    return f"{shown_above(100 * share, 2)} %"
