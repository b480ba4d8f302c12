"""Retries of a release: on a coarser grid, or after another process has stored the answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from bayesdp.errors import CalibrationError
from bayesdp.frames.grid import FINEST_BITS
from bayesdp.session.plan import Plan, TooFineError

__all__ = ["Attempt", "with_retries"]

GRIDS = (FINEST_BITS, 32, 24, 16, 8)
"""How fine a grid may be, in bits, finest first; a small τ needs a coarser one, so that its noise fits into 64 bits."""

PATIENCE = 3.0
PAUSE = 0.02
"""How many seconds to wait for another process's answer to the same question, and between reads of the ledger."""

_TOO_SMALL = "that takes more noise than fits into 64 bits; ask for a larger epsilon or a smaller alpha"

T = TypeVar("T")


class InProgressError(Exception):
    """Another process was charged for the same question a moment ago and is about to store its answer."""


@dataclass(frozen=True)
class Attempt:
    """One attempt at a release.

    bits:    how fine its grid is.
    waiting: whether it gives way to another process that is about to answer the same question.
    """

    bits: int
    waiting: bool

    def unless_in_progress(self, plan: Plan) -> Plan:
        """Return the plan; raise if another process is already computing the answer to one of its questions.

        The age of the charge, by the ledger's clock, tells this from an answer that was lost in a crash.
        """
        state, prepared = plan.state, [*plan.fresh, *(begun for begun, _ in plan.begun)]
        charged = [state.unanswered(one.question) for one in prepared] if self.waiting and state.pending else []
        if any(pending is not None and _seconds(pending.moment, state.moment) < PATIENCE for pending in charged):
            raise InProgressError
        return plan


def with_retries(attempt: Callable[[Attempt], T]) -> T:
    """Return what an attempt returns, on the finest grid whose noise fits into 64 bits; CalibrationError if none does.

    >>> with_retries(lambda attempt: attempt.bits) == FINEST_BITS
    True
    """
    for bits in GRIDS:
        try:
            return _patiently(attempt, bits)
        except TooFineError:
            continue
    raise CalibrationError(_TOO_SMALL)


def _patiently(attempt: Callable[[Attempt], T], bits: int) -> T:
    """Return what an attempt returns; for a while, the attempt waits for other processes."""
    begun = time.monotonic()
    while time.monotonic() < begun + PATIENCE:
        try:
            return attempt(Attempt(bits, waiting=True))
        except InProgressError:
            time.sleep(PAUSE)
    return attempt(Attempt(bits, waiting=False))


def _seconds(begin: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()
