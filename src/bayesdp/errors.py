"""One family of exceptions: what was wrong, what was expected, what to do.

Everything this library refuses, it refuses with a subclass of `BayesDPError`. A refusal never leaves a number behind.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "BayesDPError",
    "CalibrationError",
    "DoesNotApplyError",
    "ExpressionError",
    "FrameError",
    "InvalidInputError",
    "MissingDependencyError",
    "ModelError",
    "NoTheoremAppliesError",
    "QueryError",
    "TheoremError",
    "TooLargeError",
]


class BayesDPError(Exception):
    """The base of every exception this library raises on purpose.

    >>> issubclass(ModelError, BayesDPError)
    True
    """


class InvalidInputError(BayesDPError, ValueError):
    """A value is outside what its meaning allows (a negative ε, a NaN, an unknown option)."""


class TooLargeError(InvalidInputError):
    """A result is beyond the range of floating-point numbers."""


class ModelError(InvalidInputError):
    """A correlation model is not what it claims to be; the message names the entry."""


class QueryError(InvalidInputError):
    """A query is ill-formed, or asks about something the model does not speak about."""


class ExpressionError(InvalidInputError):
    """A condition such as `steps > 0` cannot be read; the message shows where the reading stopped."""


class FrameError(InvalidInputError):
    """A table cannot be read, or does not hold what was asked: no such column, missing values, tied times."""


class DoesNotApplyError(BayesDPError):
    """One theorem's hypotheses do not hold. `theorem` and `reason` say which and why."""

    def __init__(self, theorem: str, reason: str) -> None:
        super().__init__(f"{theorem} does not apply: {reason}")
        self.theorem = theorem
        self.reason = reason


class NoTheoremAppliesError(BayesDPError):
    """No theorem covers this model and these queries. `reasons` holds (theorem, reason) pairs."""

    def __init__(self, reasons: Iterable[tuple[str, str]]) -> None:
        self.reasons = tuple(reasons)
        listed = "; ".join(f"{name}: {reason}" for name, reason in self.reasons)
        super().__init__(f"no theorem gives a guarantee here ({listed})")


class CalibrationError(BayesDPError):
    """Theorems apply, but none reaches the ε or the accuracy that was asked for."""


class TheoremError(BayesDPError):
    """A theorem broke its contract: it returned something that is not a leakage."""


class MissingDependencyError(BayesDPError, ImportError):
    """An optional part needs a package that is not installed; the message says which extra brings it."""
