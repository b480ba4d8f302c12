"""A prepared question: its grid and sensitivity, the noise it needs, and the answer with that noise.

There are two ways to answer: to add noise to whole numbers (`PreparedQuery`), or to select one of several candidates
(`Selected`). All code that depends on the way is here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from bayesdp.errors import QueryError, TooLargeError
from bayesdp.frames.aggregates import Tally
from bayesdp.frames.grid import Grid
from bayesdp.losses import Loss, PureLoss
from bayesdp.mechanisms import (
    SELECTIONS,
    DiscreteGaussianMechanism,
    IntegerNoise,
    NoisyMaxMechanism,
    Norm,
    noise_for,
    require_private,
)
from bayesdp.queries import LedgerKey, Quantile, Query
from bayesdp.queries.region import Region
from bayesdp.rounding import float_above
from bayesdp.session.measurement import Interval, Measurement, checked_value
from bayesdp.session.parts import Reading

__all__ = ["MOST_NOISE", "SELECTIONS", "PreparedQuery", "PrivateNoise", "Selected", "selected"]

MOST_NOISE = 2**80
"""In whole numbers: a sum has 62 bits, a scale 60, and an interval of any level reaches no farther than 2^10 scales."""

PrivateNoise = IntegerNoise | NoisyMaxMechanism


@dataclass(frozen=True)
class PreparedQuery:
    """A question with its column and grid filled in, its fingerprint, and its sensitivity in whole numbers.

    records: the public number of records, which bounds how many the question can be about.
    foreseeable: whether that number is known before the table is read; without it, the accuracy is unknown.
    region:      the records that it reads, by public columns; None for all of them.
    """

    query: Query
    question: str
    grid: Grid | None
    sensitivity: int
    records: int
    foreseeable: bool = True
    region: Region | None = None

    of_no_records: ClassVar[bool] = True
    """Whether the question has an answer if no record passes the filter."""

    @classmethod
    def about(cls, query: Query, question: str, grid: Grid | None, sensitivity: int, records: int) -> PreparedQuery:
        """Return the checked question, of the class for its way to answer."""
        way = Selected if query.thresholds else PreparedQuery
        return way(query, question, grid, sensitivity, records).checked()

    @cached_property
    def dimension(self) -> int:
        """How many numbers the answer has."""
        return self.query.dimension

    @cached_property
    def ledger_key(self) -> LedgerKey:
        """The key under which an account adds up its charges."""
        return self.query.ledger_key()

    @cached_property
    def reading(self) -> Reading:
        """The question with the records that it reads."""
        return Reading(self.query, self.region)

    def worth(self, records: int) -> Fraction:
        """Return what one whole number is worth in the answer."""
        return self._worth if records == self.records else self._worth_among(records)

    @cached_property
    def _worth(self) -> Fraction:
        return self._worth_among(self.records)

    def _worth_among(self, records: int) -> Fraction:
        return self.query.worth(Fraction(1) if self.grid is None else Fraction(self.grid.step), records)

    def rounding(self, records: int) -> Fraction:
        """Return how far the grid can move the answer: half a step for each value, and a little for floating point."""
        if self.grid is None or self.query.clipped is None:
            return Fraction(0)
        return self.query.clipped.rounded_by(Fraction(self.grid.step), records, whole=self.grid.whole)

    def checked(self) -> PreparedQuery:
        """Return this if the answer and its interval are finite for any noise; else raise TooLargeError.

        It also tries out whether the query makes an answer of whole numbers, since that must not fail after the charge.
        """
        self._check_size()
        parts = 1 if self.grid is not None else len(self.query.cells_asked())
        if parts != self.dimension or self.worth(self.records) <= 0:
            raise QueryError(f"{self.query.description} is not made of whole numbers, each worth something")
        checked_value(self.query, self.query.assembled([1] * parts, self.grid, self.records))
        return self

    def _check_size(self) -> None:
        origin, step = (Fraction(0), Fraction(1)) if self.grid is None else (self.grid.origin, self.grid.step)
        most = abs(Fraction(origin)) * self.records + Fraction(step) * MOST_NOISE
        try:
            float_above(max(most, self.query.worth(most, self.records)))
        except TooLargeError:
            raise TooLargeError(
                f"between bounds so wide, {self.query.description} may be beyond the largest floating-point number "
                "once noise is added; give narrower bounds"
            ) from None

    def sensitivity_in(self, norm: Norm) -> int:
        """Return how far one replaced record moves the whole numbers: in l1, or the square of that in l2."""
        return self.sensitivity if norm == "l1" else math.ceil(self.query.in_l2(Fraction(self.sensitivity)))

    def fits(self, loss: Loss) -> bool:
        """Tell whether the noise that costs `loss` fits into 64 bits on this grid."""
        kind = noise_for(type(loss))
        return kind.fits(loss, self.sensitivity_in(kind.norm))

    def loss_for(self, units: int, beta: float, loss: type[Loss] = PureLoss) -> Loss:
        """Return the smallest loss of a kind whose noise stays below this many units with probability 1 − β."""
        kind = noise_for(loss)
        return kind.for_accuracy(units, beta, self.sensitivity_in(kind.norm), self.dimension)

    def mechanism(self, loss: Loss | float) -> PrivateNoise:
        """Return the noise at which the answer costs a loss; a number is the τ of a pure loss."""
        loss = loss if isinstance(loss, Loss) else PureLoss(loss)
        kind = noise_for(type(loss))
        mechanism = kind.for_loss(loss, self.sensitivity_in(kind.norm), self.dimension)
        require_private(mechanism)
        return mechanism

    def foreseen(self, mechanism: Any, beta: float) -> tuple[float, float]:
        """Return, before anything is drawn, the bound on the answer's error and how far its interval reaches."""
        units, worth, slack = Fraction(mechanism.alpha(beta)), self.worth(self.records), self.rounding(self.records)
        return float_above(units * worth + slack), float_above((units - mechanism.law.step) * worth + slack)

    def drawn(self, exact: Tally, mechanism: Any, beta: float) -> Measurement:
        """Draw the noise of a charged release."""
        records = exact.public_records
        return Measurement(
            value=self.query.assembled(mechanism.release(exact.counts), self.grid, records),
            query=self.query,
            records=exact.present,
            noise=mechanism.scale,
            unit=float_above(self.worth(records)),
            rounding=float_above(self.rounding(records)),
            beta=beta,
            noise_kind="gaussian" if isinstance(mechanism, DiscreteGaussianMechanism) else None,
        )


@dataclass(frozen=True)
class Selected(PreparedQuery):
    """A question that is answered by the selection of candidates: a quantile."""

    of_no_records: ClassVar[bool] = False

    def checked(self) -> PreparedQuery:
        """Return this if the answer and its interval are finite; else raise TooLargeError."""
        self._check_size()
        return self

    def mechanism(self, loss: Loss | float) -> PrivateNoise:
        """Return the noise that makes all selections together τ-DP; QueryError for a loss without a τ."""
        loss = loss if isinstance(loss, Loss) else PureLoss(loss)
        if not isinstance(loss, PureLoss):
            raise QueryError(
                f"{self.query.description} is answered by selections, which cost a tau and take no Gaussian noise"
            )
        mechanism = NoisyMaxMechanism(loss.tau, len(self.query.thresholds) + 1, SELECTIONS * self.dimension)
        require_private(mechanism)
        return mechanism

    def foreseen(self, mechanism: Any, beta: float) -> tuple[float, float]:
        """Return the range of the candidates twice, since the error of a quantile depends on the records."""
        low, high = self.query.possible(self.records)
        return float_above(high - low), float_above(high - low)

    def drawn(self, exact: Tally, mechanism: Any, beta: float) -> Measurement:
        """Select the quantiles and the ends of their intervals."""
        return selected(self.query, exact, mechanism, beta)


def selected(query: Query, exact: Tally, mechanism: NoisyMaxMechanism, beta: float) -> Measurement:
    """Select the quantiles and the ends of their intervals, which hold together with probability 1 − β."""
    assert isinstance(query, Quantile)
    records, counts, number = exact.records, exact.counts, query.dimension
    slack = mechanism.slack(beta, among=2 * number)
    ranks = query.ranks(records)
    aims = [aim for rank in ranks for aim in (rank, max(1, rank - slack), min(records, rank + slack))]
    places = mechanism.release([query.distances(counts, aim, records) for aim in aims])
    values = tuple(query.offered[place] for place in places[::3])
    ends = tuple(
        _ends(query.offered, low, high, rank, slack, records)
        for rank, low, high in zip(ranks, places[1::3], places[2::3], strict=True)
    )
    return Measurement(
        value=values if query.by_cell else values[0],
        query=query,
        records=exact.present,
        noise=mechanism.scale,
        unit=1.0,
        rounding=0.0,
        beta=beta,
        ends=ends,
        ends_beta=beta,
    )


def _ends(candidates: Sequence[float], low: int, high: int, rank: int, slack: int, records: int) -> Interval:
    """Return the interval between two places; without a rank to aim at, it ends at the first or last candidate.

    A place lies between the candidate before it and its own.
    """
    first = candidates[max(low - 1, 0)] if rank - slack >= 1 else candidates[0]
    last = candidates[high] if rank + slack <= records else candidates[-1]
    return min(first, last), max(first, last)
