"""A noisy number: how far off it may be, and the number to publish.

Everything here is computed from what was released or is public, so it costs no privacy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil, ulp

from bayesdp._support import validation
from bayesdp._support.messages import name_of
from bayesdp._support.validation import brief
from bayesdp.accuracy import NoiseLaw
from bayesdp.errors import InvalidInputError
from bayesdp.losses import ConcentratedLoss, Loss, PureLoss
from bayesdp.mechanisms import noise_for
from bayesdp.noise_sums import NoiseSum
from bayesdp.queries import Quantile, Query, Value
from bayesdp.rounding import float_above, float_below, hardly_a_promise, nearest, shown_above, shown_below, up
from bayesdp.theorems.leakage import BETA

__all__ = [
    "NOISE_ALONE",
    "Measurement",
    "checked_value",
    "last_place",
    "noise_alone",
    "shortened",
    "shortened_accuracy",
    "warnings_about",
]

Interval = tuple[float, float]

_LOSSES: dict[str, type[Loss]] = {"laplace": PureLoss, "gaussian": ConcentratedLoss}
"""The loss of each kind of noise. Answers of accounts that promise ε alone state no kind: they have Laplace noise."""


@dataclass(frozen=True)
class Measurement:
    """A question and the noisy number that answers it; `Answer` describes the fields.

    >>> from bayesdp import Count
    >>> measured = Measurement(4248, Count("s", equals=1), records=15264, noise=100.0, unit=1.0, rounding=0.0)
    >>> measured.accuracy(), measured.interval(), measured.rounded
    (301.0, (3948.0, 4548.0), 4250)
    """

    value: Value
    query: Query
    records: int
    noise: float
    unit: float
    rounding: float
    beta: float = field(default=BETA, compare=False)
    ends: Sequence[Interval] | None = None
    ends_beta: float | None = None
    noise_kind: str | None = None
    noises: Sequence[tuple[float, float, int]] | None = None

    def __post_init__(self) -> None:
        validation.every(
            (validation.positive, {"noise": self.noise, "unit": self.unit}),
            (validation.not_negative, {"rounding": self.rounding}),
            (validation.probability, {"beta": self.beta}),
        )
        validation.natural("records", self.records, least=0)  # a window may have none
        if self.noise_kind not in (None, *_LOSSES):
            raise InvalidInputError(
                name_of("noise_kind") + f" must be laplace or gaussian, not {brief(self.noise_kind)}"
            )
        object.__setattr__(self, "value", checked_value(self.query, self.value))
        if self.noises is not None:
            object.__setattr__(self, "noises", _checked_noises(self.noises))
        if bool(self.query.thresholds) != (self.ends is not None and self.ends_beta is not None):
            raise InvalidInputError("a selected answer, and no other, has ends, and the probability that they miss")
        if self.ends is not None:
            validation.probability("ends_beta", self.ends_beta)
            object.__setattr__(self, "ends", _checked_ends(self.ends, self.query.dimension))

    @property
    def scale(self) -> float:
        """The scale of the noise in the units of the answer."""
        return float_above(Fraction(self.noise) * Fraction(self.unit))

    @property
    def level(self) -> float:
        """The probability with which the interval holds, unless another is asked for."""
        return 1 - self.beta

    def accuracy(self, beta: float | None = None) -> float:
        """Return α: the answer (every cell of a histogram at once) is off by α or more with probability at most β."""
        if self.ends is not None:
            return up(self.reach(beta))
        return self._own_accuracy if beta is None else self._beyond(Fraction(self._alpha(beta)))

    def reach(self, beta: float | None = None) -> float:
        """Return how far the interval of level 1 − β reaches to either side."""
        if self.ends is not None:
            ends = zip(self._cells, self._selected(self.beta if beta is None else beta), strict=True)
            return max(float_above(_farther(Fraction(cell), *between)) for cell, between in ends)
        return self._own_reach if beta is None else self._beyond(Fraction(self._alpha(beta) - self._law.step))

    def interval(self, level: float | None = None) -> Interval | tuple[Interval, ...]:
        """Return where the true answer lies with probability at least `level`; for a histogram, all cells at once."""
        if self.ends is not None:
            beta = self.beta if level is None else 1 - validation.probability("level", level)
            selected = self._selected(beta)
            return selected if isinstance(self.value, tuple) else selected[0]
        half = Fraction(self.reach(None if level is None else 1 - validation.probability("level", level)))
        around = tuple((float_below(Fraction(cell) - half), float_above(Fraction(cell) + half)) for cell in self._cells)
        return around if isinstance(self.value, tuple) else around[0]

    @property
    def rounded(self) -> Value:
        """The number to publish: rounded to the digits that the noise leaves, within the range of possible answers."""
        if self.ends is not None:
            return self.value
        low, high = self._possible
        cells = [min(max(shortened(cell, self._last_place), low), high) for cell in self._cells]
        numbers = tuple(int(cell) if self.query.whole else nearest(cell) for cell in cells)
        return numbers if isinstance(self.value, tuple) else numbers[0]

    def warnings(self, epsilon_total: float) -> tuple[str, ...]:
        """Return the warnings that stand beside the number, once ε has leaked in all."""
        return warnings_about(self._possible, self._printed_accuracy, epsilon_total)

    @property
    def published(self) -> str:
        """The rounded answer as text, with the unrounded one in brackets if it is another."""
        return _both(self.shown(self.rounded), self.shown(self.value))

    @property
    def off_by(self) -> str:
        """The bound on the error of the rounded and the unrounded answer, and how often it holds, as text."""
        figures = _both(shown_above(self._printed_accuracy), shown_above(self.accuracy()))
        if isinstance(self.query, Quantile) and self.reach() == 0:  # exact: less than the distance of two candidates
            figures = f"{min(after - before for before, after in pairwise(self.query.offered)):g}"
        return f"{figures} in {shown_below(100 * self.level)} % of cases"

    @property
    def spans(self) -> str | None:
        """The interval of each selected number in words; None for an answer with noise."""
        if self.ends is None:
            return None
        texts = [f"{low:.15g} to {high:.15g}" for low, high in self._selected(self.beta)]
        named = [f"{name}: {text}" for name, text in zip(self.query.cell_names, texts, strict=True)]
        return f"interval of each: {', '.join(named)}" if isinstance(self.value, tuple) else f"interval: {texts[0]}"

    def shown(self, value: Value) -> str:
        """Return a value as text; the cells of a histogram with their names."""
        texts = [f"{cell:.15g}" if isinstance(cell, float) else str(cell) for cell in _cells(value)]
        if not isinstance(value, tuple):
            return texts[0]
        return ", ".join(f"{name}: {text}" for name, text in zip(self.query.cell_names, texts, strict=True))

    def _selected(self, beta: float) -> tuple[Interval, ...]:
        """Return the intervals that were selected; if they may miss too often, the whole range."""
        assert self.ends is not None
        assert self.ends_beta is not None
        if validation.probability("beta", beta) >= self.ends_beta:
            return tuple(self.ends)
        low, high = self._possible
        return ((float_below(low), float_above(high)),) * self.query.dimension

    @cached_property
    def _own_accuracy(self) -> float:
        return self._beyond(Fraction(self._own_alpha))

    @cached_property
    def _own_reach(self) -> float:
        return self._beyond(Fraction(self._own_alpha - self._law.step))

    @cached_property
    def _own_alpha(self) -> float:
        return self._alpha(self.beta)

    def _alpha(self, beta: float) -> float:
        """Return the α of the noise, in units."""
        return self._law.alpha(beta, cells=self.query.dimension)

    @cached_property
    def _law(self) -> NoiseLaw:
        kind = noise_for(_LOSSES[self.noise_kind or "laplace"])
        if self.noises is None:
            return kind.law_of(self.noise)
        return NoiseSum(tuple((kind.law_of(scale), factor, number) for scale, factor, number in self.noises))  # type: ignore[misc]

    def _beyond(self, units: Fraction) -> float:
        """Return the worth of this many units of noise, and the largest other error of the number."""
        return float_above(units * Fraction(self.unit) + self._slack)

    @cached_property
    def _slack(self) -> Fraction:
        """How far the number may be off besides its noise: the grid's rounding, and that of the float it is."""
        shown = max((ulp(cell) for cell in self._cells if isinstance(cell, float)), default=0.0)
        return Fraction(self.rounding) + Fraction(shown)

    @cached_property
    def _possible(self) -> tuple[Fraction, Fraction]:
        return self.query.possible(self.records)

    @cached_property
    def _last_place(self) -> Fraction:
        return last_place(self.reach(), whole=self.query.whole)

    @property
    def _printed_accuracy(self) -> float:
        """The α of the rounded answer."""
        if self.ends is not None:
            return self.accuracy()
        return shortened_accuracy(self.accuracy(), self._cells, self._last_place)

    @property
    def _cells(self) -> Sequence[int | float]:
        return _cells(self.value)


def checked_value(query: Query, value: object) -> Value:
    """Return an answer read from JSON: a whole number, a number, or one of them for every cell of the query.

    Raises InvalidInputError for any other value.
    """
    cells = tuple(validation.items("value", value)) if query.by_cell else (value,)
    if len(cells) != query.dimension:
        raise InvalidInputError(name_of("value") + f" must have {query.dimension} cells, not {len(cells)}")
    numbers = tuple(validation.number("value", cell) for cell in cells)
    if not query.whole:
        return numbers if query.by_cell else numbers[0]
    counts = tuple(int(cell) for cell in cells if isinstance(cell, int))
    if len(counts) < len(cells):
        raise InvalidInputError(name_of("value") + f" must be whole, not {brief(value)}")
    return counts if query.by_cell else counts[0]


def _checked_noises(noises: object) -> tuple[tuple[float, float, int], ...]:
    """Return the noises of a total: of each kind its scale, how much it counts, and how many there are."""
    checked = []
    for item in validation.items("noises", noises):
        triple = tuple(validation.items("noises", item))
        if len(triple) != 3:
            raise InvalidInputError(name_of("noises") + " must have a scale, a factor and a number each")
        scale, factor, number = triple
        checked.append(
            (
                validation.positive("noises", scale),
                validation.number("noises", factor),
                validation.natural("noises", number),
            )
        )
    if not any(factor for _, factor, _ in checked):
        raise InvalidInputError(name_of("noises") + " must have at least one that counts")
    return tuple(checked)


def _checked_ends(ends: object, number: int) -> tuple[Interval, ...]:
    """Return the intervals of selected answers, each in order."""
    intervals = []
    for pair in validation.items("ends", ends):
        between = [validation.number("ends", end) for end in validation.items("ends", pair)]
        if len(between) != 2 or between[0] > between[1]:
            raise InvalidInputError(name_of("ends") + " must be intervals, a pair of numbers in order each")
        intervals.append((between[0], between[1]))
    if len(intervals) != number:
        raise InvalidInputError(name_of("ends") + f" must be {number} intervals, not {len(intervals)}")
    return tuple(intervals)


def _farther(cell: Fraction, low: float, high: float) -> Fraction:
    """Return how far the farther end of an interval is from a number."""
    return max(Fraction(high) - cell, cell - Fraction(low))


def last_place(half: float, *, whole: bool) -> Fraction:
    """Return the place of the last digit that noise leaves: one below the first digit of an interval's half-width.

    whole: the number is one; it then keeps no digit below its units.

    >>> last_place(374.0, whole=True), last_place(0.0051, whole=False), last_place(3.0, whole=True)
    (Fraction(10, 1), Fraction(1, 10000), Fraction(1, 1))
    """
    place = Fraction(10) ** (Decimal(half).adjusted() - 1)
    return max(place, Fraction(1)) if whole else place


def shortened(cell: float, place: Fraction) -> Fraction:
    """Return a number without the digits below `place`, rounded to the nearest."""
    return round(Fraction(cell) / place) * place


def shortened_accuracy(alpha: float, cells: Iterable[float], place: Fraction) -> float:
    """Return the bound on the error of shortened cells, to the same place, if that of the cells is α.

    >>> shortened_accuracy(374.5, [4248], Fraction(10))
    380.0
    """
    moved = max(abs(shortened(cell, place) - Fraction(cell)) for cell in cells)
    return float_above(ceil((Fraction(alpha) + moved) / place) * place) if moved else alpha


NOISE_ALONE = "The noise is larger than any possible answer: this number is useless."
"""The warning about an answer that its noise may drown."""


def noise_alone(drowned: int, of: int) -> str:
    """Return the warning about several answers that their noise may drown.

    >>> noise_alone(24, 48)
    'The noise is larger than any possible answer in 24 of 48 windows: these numbers are useless.'
    """
    if drowned == of:
        return "The noise is larger than any possible answer: these numbers are useless."
    return f"The noise is larger than any possible answer in {drowned} of {of} windows: these numbers are useless."


def warnings_about(possible: tuple[Fraction, Fraction], alpha: float, epsilon_total: float) -> tuple[str, ...]:
    """Return the warnings about an answer within a range that may be off by α, once ε has leaked in all.

    >>> from bayesdp import Count
    >>> warnings_about(Count("ill", equals=True).possible(100), alpha=300.0, epsilon_total=1.0)
    ('The noise is larger than any possible answer: this number is useless.',)
    """
    low, high = possible
    drowned = NOISE_ALONE if alpha > high - low else None
    return tuple(warning for warning in (drowned, hardly_a_promise(epsilon_total)) if warning is not None)


def _cells(value: Value) -> Sequence[int | float]:
    return value if isinstance(value, tuple) else (value,)


def _both(rounded: str, unrounded: str) -> str:
    return rounded if rounded == unrounded else f"{rounded} (unrounded {unrounded})"
