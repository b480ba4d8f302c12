"""One side of a target, followed outwards record by record: three or more states. Proof: docs/theory/markov-mixing.md.

Tables are (τ, ending, u, u′); endings that are followed together share one. One more table is *uniform*: it holds for
every ending at the current distance or farther, including an unknown start, and so bounds what is not followed.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from bayesdp._support.arrays import Booleans, Floats
from bayesdp.theorems.markov.boxes import Boxes
from bayesdp.theorems.markov.gathering import Gathering
from bayesdp.theorems.markov.levels import Levels, LevelsBuilder
from bayesdp.theorems.markov.sides import Side
from bayesdp.theorems.markov.transport import LARGEST_EXACT, close, exact_step
from bayesdp.theorems.odds.contraction import contraction
from bayesdp.theorems.odds.sides import contracted, contracted_forever

__all__ = ["followed", "least_beyond"]

_MOST_RECENT = 8
_MOST_RECENT_NUMBERS = 2**23
"""The most numbers kept for conditioning on the last records; with many states, that allows few records or none."""

_PAUSE = 4
"""The number of records after which endings are joined and the stopping rule is checked."""

_CAPPED = 1 + 1e-9
"""How close a result must come to its cap to count as capped."""
_TOGETHER_SHARE = 5e-4
"""If the step is relaxed, endings are also joined within this share of the largest logarithm so far."""

_TABLES = 960_000
"""The number of tables on a side, times the square of the number of states, beyond which endings are joined."""


def followed(side: Side, taus: Floats, depth: int, tolerance: float, margin: float, relaxed: bool) -> Levels:
    """Follow one side outwards for `depth` records, or until nothing farther out can be worse.

    tolerance: endings whose columns differ by at most this are followed together.
    margin:    a bound on the rounding error of a logarithm.
    relaxed:   whether the step is relaxed to boxes.
    """
    size, endings = side.matrix.shape[-1], side.boundary(0).shape[-1]
    gathering = Gathering.apart(endings)
    values = np.ones((len(taus), endings, size, size))
    useful = np.ones((len(taus), endings), dtype=bool)
    grown = np.exp(taus)[:, None, None, None]
    uniform = _Uniform(side, len(taus))
    step = _Step(side, taus, margin, relaxed)
    start = _UnknownStart(side, taus, depth) if side.end is None else None
    builder = LevelsBuilder(len(taus), size)
    different = ~np.eye(size, dtype=bool)
    share = _TOGETHER_SHARE if relaxed else 0.0
    with np.errstate(all="ignore"):
        for taken in range(1, depth + 1):
            here, outer = side.stacked(taken), side.stacked(taken + 1)
            grouped = np.exp((taken - 1) * taus)[:, None, None, None]
            leading = gathering.leaders
            if gathering.alike(here):
                column = here[:, leading[0]]
                relative = values[:, 0] * (column[:, :, None] / column[:, None, :])
                known = uniform.condition_alike(taken, relative, grouped[:, 0])
            else:
                known = np.minimum(gathering.read(values, here, slice(0, size)), grouped)
                uniform.condition(taken, known)
                known = np.where(_pairs(here[:, :size] > 0), known, 0.0)
            tables = np.where(useful[..., None, None], values, np.inf)
            solved, wide = step(here[:, leading], outer[:, leading], tables, uniform.table, _surveyed(taken))
            uniform.improve(wide)
            caps = uniform.at(taken, gathering)
            values = np.where(different, step.closed(np.fmin(solved, caps), outer[:, leading] > 0), 1.0)
            if relaxed and len(leading) == 1:  # a table that nowhere falls below its cap need not be followed
                useful &= ~((caps <= solved * _CAPPED) | ~different).all(axis=(2, 3))
            if start is None:
                nothing = np.log(np.minimum(gathering.read(values, outer, slice(size, None)), grown * grouped)[:, 0])
            else:
                nothing = start.bound(taken, uniform)
            builder.add(known, nothing)
            most = _most_tables(size, endings, taken, depth)
            if taken % _PAUSE == 0 or len(leading) > most:
                within = max(tolerance, share * float(builder.best[-1].max(axis=(1, 2)).min()))
                gathering, values = gathering.joined(values, outer, most, within)
                place = gathering.table[leading]
                useful = np.stack([useful[:, place == index].all(axis=1) for index in range(values.shape[1])], axis=1)
            if taken % _PAUSE == 0 or relaxed:
                reached = builder.best[-1] * (1 + share)
                if np.all((uniform.farther(taken) <= reached)[:, different]):
                    break
        return builder.levels(np.fmin(uniform.farther(taken), uniform.contracted(taus)))


def least_beyond(side: Side, tau: float, depth: int) -> Floats:
    """Return what `followed` at least says of ln V of every ending, as (u, u′), if it ends at this depth or before.

    Conditioning on a record costs at least the ratio of the limiting column, and the way back is never shorter.
    """
    uniform = _Uniform(side, 1)
    conditioned = np.log(uniform.limiting) + uniform.back(depth + 1)
    return np.asarray(np.fmin(conditioned, uniform.contracted(np.array([tau])))[0])


def _most_tables(size: int, endings: int, taken: int, depth: int) -> int:
    """Return the number of tables to keep: one for each ending if the work allows it, else fewer with each record."""
    affordable = _TABLES // size**2
    if endings * depth <= affordable or size <= LARGEST_EXACT:
        return endings
    return max(1, affordable // (8 * taken))


def _surveyed(taken: int) -> bool:
    """Return whether the boxes are compared again: at distances 2, 8, 32, … (at 1 all gains are equal)."""
    return taken & (taken - 1) == 0 and taken.bit_length() % 2 == 0


class _Step:
    """The step of the mixing bound by one record, for every table."""

    def __init__(self, side: Side, taus: Floats, margin: float, relaxed: bool) -> None:
        self.size = side.matrix.shape[-1]
        self.matrix = side.matrix.reshape(-1, 1, self.size, self.size)
        self.limit = None if side.limit is None else side.limit.reshape(-1, 1, self.size)
        self.grown = np.exp(taus)[:, None, None, None]
        self.same = np.eye(self.size, dtype=bool)
        self.detour = np.exp(margin)
        self.boxes = Boxes(side.matrix, len(taus)) if relaxed else None
        self.previous: Floats | None = None

    def __call__(
        self, here: Floats, outer: Floats, values: Floats, uniform: Floats, compare: bool
    ) -> tuple[Floats, Floats]:
        """Return the next tables and the next uniform table; infinite where a gain is.

        here, outer: (chain, table, state): the leaders' columns at this distance and one farther.
        """
        laws = self.matrix * here[:, :, None, :]
        laws = laws / np.where(outer[..., None] > 0, laws.sum(axis=3, keepdims=True), 1.0)
        if self.limit is None:
            return self._solved(laws, here > 0, values, compare), np.full(uniform.shape, np.inf)
        wide = self.matrix * (self.limit[:, :, None, :] / self.limit[..., None])
        laws, columns = np.concatenate([laws, wide], axis=1), np.concatenate([here, self.limit], axis=1)
        solved = self._solved(laws, columns > 0, np.concatenate([values, uniform[:, None]], axis=1), compare)
        return solved[:, :-1], solved[:, -1]

    def _solved(self, laws: Floats, possible: Booleans, values: Floats, compare: bool) -> Floats:
        """Return max_h E_u[h]/E_u′[h] for every pair of values."""
        grown = self.grown * values
        pairs = _pairs(possible) & ~self.same
        lost = np.asarray((pairs & ~np.isfinite(grown)).any(axis=(2, 3)))
        gains = np.where(pairs & ~lost[..., None, None], grown, np.where(possible[..., :, None], np.inf, 1.0))
        gains = np.where(lost[..., None, None] & pairs | self.same, 1.0, gains)
        if self.boxes is None:
            solved = exact_step(laws, gains)
        else:
            occurring = np.where((laws[0].sum(axis=2) > 0)[..., None], laws[0], 1 / self.size)
            last = values.shape[1] - 1 - (self.limit is not None) if compare else None
            solved = self.boxes.step(occurring, gains, possible[0], self._guesses(values), ~lost, last)
        return np.where(lost[..., None, None], np.inf, solved)

    def _guesses(self, values: Floats) -> Floats:
        """Return approximate results: the last values, extrapolated by their ratio to those before."""
        previous, self.previous = self.previous, values
        if previous is None or previous.shape != values.shape:
            return values
        guesses = values * (values / previous)
        return np.where(np.isfinite(guesses), guesses, values)

    def closed(self, values: Floats, possible: Booleans) -> Floats:
        """Lower relaxed bounds by detours that are smaller: E[g|u]/E[g|u′] by way of E[g|z]."""
        if self.boxes is None:
            return values
        apart = np.where(_pairs(possible), values * self.detour, np.inf)
        return np.minimum(values, close(apart))


class _Uniform:
    """The bounds that hold for every ending at the current distance or farther.

    cheapest: (τ, u, u′): by conditioning on one record in between, not relative to a column.
    table:    (τ, u, u′): the same and by following, relative to the limiting column.
    """

    def __init__(self, side: Side, taus: int) -> None:
        size = side.matrix.shape[-1]
        self.side, self.size = side, size
        self.cheapest = np.full((taus, size, size), np.inf)
        self.table = np.full((taus, size, size), np.inf)
        self.recent: list[tuple[int, Floats]] = []
        self.most_recent = min(_MOST_RECENT + 1, _MOST_RECENT_NUMBERS // size**4)

    def condition(self, taken: int, known: Floats) -> None:
        """Improve the bounds by conditioning on the record `taken` steps away; `known` bounds the records before it."""
        here = self.side.stacked(taken)[:, : self.size]
        own, other = here[..., :, None], here[..., None, :]
        through = np.where(own > 0, np.where(other > 0, own / other * known, np.inf), -np.inf)
        self.cheapest = np.minimum(self.cheapest, through.max(axis=1))
        self.recent = [(steps, cap) for steps, cap in self.recent if not self._settled(taken + 1 - steps)]
        if self.most_recent and not self._settled(1):
            self.recent = [*self.recent, (taken, through)][-self.most_recent :]

    def condition_alike(self, taken: int, relative: Floats, grouped: Floats) -> Floats:
        """Do the same if all boundaries share a table, and return what they reach, as (τ, 1, u, u′).

        relative: (τ, u, u′): the table, times the quotients of its leader's column.
        grouped:  (τ, 1, 1): the bound of group privacy.
        """
        ratio = np.exp(self.side.log_ratio(taken)).reshape(-1, self.size, self.size)
        self.cheapest = np.minimum(self.cheapest, np.minimum(relative, ratio * grouped))
        return np.asarray(np.minimum(relative * ratio.swapaxes(1, 2), grouped)[:, None])

    def improve(self, wide: Floats) -> None:
        """Improve the bounds by the step of one more record."""
        if self.side.limit is not None:
            self.table = np.fmin(wide, self.cheapest / self.limiting)
            self.cheapest = np.fmin(self.cheapest, self.table * self.limiting)

    @cached_property
    def limiting(self) -> Floats:
        """The quotients of the limiting column, as (chain, u, u′)."""
        assert self.side.limit is not None
        limit = self.side.limit.reshape(-1, self.size)
        return np.asarray(limit[:, :, None] / limit[:, None, :])

    def back(self, steps: int) -> Floats:
        """Return the log ratio of the way back, as (chain, u, u′)."""
        return np.asarray(self.side.log_ratio(steps).reshape(-1, self.size, self.size).swapaxes(1, 2))

    def _settled(self, steps: int) -> bool:
        return bool((self.side.boundary(steps)[..., : self.size] > 0).all())

    def at(self, taken: int, gathering: Gathering) -> Floats:
        """Return the cap on V with `taken` unknown records, for each table.

        Near the boundary of a chain with zeros, values in between that no ending of the table allows are left out.
        """
        leaders = gathering.leaders
        outer = self.side.stacked(taken + 1)[:, leaders]
        through = np.repeat(self.cheapest[:, None], len(leaders), axis=1)
        for steps, cap in self.recent:
            between = self.side.stacked(taken + 1 - steps) > 0
            for table in range(len(leaders)):
                reaching = np.asarray(between[:, gathering.table == table].any(axis=1))[..., None, None]
                if not reaching.all():
                    allowed = np.fmax.reduce(np.where(reaching, cap, -np.inf), axis=1)
                    through[:, table] = np.minimum(through[:, table], allowed)
        return np.asarray(through * (outer[..., None, :] / outer[..., :, None]))

    def farther(self, taken: int) -> Floats:
        """Bound ln V of every ending that takes more than the `taken` records followed."""
        return np.asarray(np.log(self.cheapest) + self.back(taken + 1))

    def contracted(self, taus: Floats) -> Floats:
        """Bound ln V of every ending by the odds of the transitions alone."""
        odds = self.side.log_odds
        oscillation = contracted_forever(taus, odds.max(axis=(1, 2)))
        return contraction((taus + oscillation)[:, None, None], odds)


class _UnknownStart:
    """The left side with no known record, in a chain that starts in an unknown law."""

    def __init__(self, side: Side, taus: Floats, depth: int) -> None:
        self.taus, self.odds = taus, side.log_odds
        steps = contracted(taus, self.odds.max(axis=(1, 2)), depth)
        self.before = np.concatenate([np.zeros((1, len(taus))), steps])

    def bound(self, taken: int, uniform: _Uniform) -> Floats:
        """Bound ln V for `taken` unknown records."""
        within = contraction((self.taus + self.before[taken - 1])[:, None, None], self.odds)
        grouped = taken * self.taus[:, None, None]
        return np.asarray(np.fmin(np.fmin(grouped, within), np.log(uniform.cheapest) + uniform.back(taken)))


def _pairs(possible: Booleans) -> Booleans:
    """Return for which pairs of values both can occur."""
    return np.asarray(possible[..., :, None] & possible[..., None, :])
