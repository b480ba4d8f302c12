"""The exceptions of bayesdp: each message states what is wrong, what was expected, and what to do.

Every refusal raises a subclass of `BayesDPError`, and releases nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_FLOOR, Context
from typing import Any

from bayesdp._support.messages import Message, param

__all__ = [
    "AnsweredError",
    "BayesDPError",
    "BudgetError",
    "CalibrationError",
    "ChangedError",
    "DoesNotApplyError",
    "ExpressionError",
    "FrameError",
    "InvalidInputError",
    "LedgerError",
    "MissingDependencyError",
    "ModelError",
    "NoColumnError",
    "NoTheoremAppliesError",
    "NoiseError",
    "PromiseBrokenError",
    "QueryError",
    "RecordsError",
    "RefusedError",
    "TheoremError",
    "TooLargeError",
]


class BayesDPError(Exception):
    """The base of every exception this library raises on purpose.

    Instances can be pickled and so pass between processes.

    >>> issubclass(ModelError, BayesDPError)
    True
    """

    @property
    def message(self) -> Message:
        """What `str` returns, with the parameters that it names as data.

        >>> from bayesdp._support.messages import name_of
        >>> InvalidInputError(name_of("tau") + " must be greater than 0").message.parts[0].name
        'tau'
        """
        text, given = str(self), self.args[0] if self.args else None
        return given if isinstance(given, Message) and given == text else Message(text)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, vars(self))


def _again(kind: type[BayesDPError], args: tuple[Any, ...], entries: dict[str, Any]) -> BayesDPError:
    """Return a pickled exception, without composing its message again."""
    error = kind.__new__(kind, *args)
    vars(error).update(entries)
    return error


class InvalidInputError(BayesDPError, ValueError):
    """A value is invalid (a negative ε, a NaN, an unknown option)."""


class TooLargeError(InvalidInputError):
    """A result is beyond the range of floating-point numbers."""


class ModelError(InvalidInputError):
    """A correlation model is invalid; the message names the entry."""


class QueryError(InvalidInputError):
    """A query is invalid, or about something that the model does not describe."""


class ExpressionError(InvalidInputError):
    """A condition such as `steps > 0` cannot be read; the message shows the position of the error."""


class FrameError(InvalidInputError):
    """A table cannot be read or does not fit the request: no such column, missing values, tied times."""


class ChangedError(FrameError):
    """A file changed since it was opened as a table, so earlier checks may not hold; open it again."""


class NoColumnError(FrameError):
    """The table has no column of that name. Only the names were read.

    discreet: the message for a session. The names in a CSV file may be its first record, if it has no header.
    """

    def __init__(self, message: str, discreet: str | None = None) -> None:
        super().__init__(message)
        self.discreet = message if discreet is None else discreet


class RecordsError(FrameError):
    """The records themselves are refused: missing values, ties, a state that the model does not have.

    The message may depend on private values and is for the data holder only; a session raises `RefusedError` instead.
    """


class RefusedError(FrameError):
    """A session refuses because of the records. The message is always the same, because details would be a release."""

    def __init__(self) -> None:
        super().__init__(
            "the table is refused: its records are not what the model or the question needs. The reason is "
            "withheld, because it could reveal something about a record. Common causes: missing values ("
            + param("missing", like='"drop"')
            + " leaves such records out); values of another type than the model and the question declare, or not among "
            "their states; two records at one place of the order; a group or a chain with more records than the model "
            "has. To the holder of the data, bayesdp check, or bayesdp.check_table, states the reason"
        )


class DoesNotApplyError(BayesDPError):
    """One theorem's hypotheses do not hold. `theorem` is its name, `reason` the reason."""

    def __init__(self, theorem: str, reason: str) -> None:
        super().__init__(f"{theorem} does not apply: {reason}")
        self.theorem = theorem
        self.reason = reason


class NoTheoremAppliesError(BayesDPError):
    """No theorem covers this model and these queries. `reasons` holds (theorem, reason) pairs.

    The message leaves out the theorems about other models ("it is about …"), unless there are no others, and states a
    reason that several theorems share once.

    >>> print(NoTheoremAppliesError([("a", "it is about x"), ("b", "no limit"), ("c", "no limit"), ("d", "zeros")]))
    no theorem gives a guarantee here (b, c: no limit; d: zeros)
    >>> print(NoTheoremAppliesError([("a", "one record only"), ("b", "one record only")]))
    no theorem gives a guarantee here (one record only)
    """

    def __init__(self, reasons: Iterable[tuple[str, str]]) -> None:
        self.reasons = tuple(reasons)
        near = [(name, reason) for name, reason in self.reasons if not reason.startswith("it is about ")]
        names: dict[str, list[str]] = {}
        for name, reason in near or self.reasons:
            names.setdefault(reason, []).append(name)
        shared = len(names) == 1 and len(near) == len(self.reasons) > 1
        listed = "; ".join(reason if shared else f"{', '.join(names[reason])}: {reason}" for reason in names)
        super().__init__(f"no theorem gives a guarantee here ({listed})")


class CalibrationError(BayesDPError):
    """Theorems apply, but none reaches the requested ε or accuracy."""


class TheoremError(BayesDPError):
    """A theorem broke its contract: it returned something that is not a leakage."""


class PromiseBrokenError(BayesDPError):
    """A mechanism leaks more than claimed, with the requested confidence.

    claimed: the claimed ε. lower_bound: a lower bound on its leakage. evidence: the audit's `LowerBound`.
    claimed_delta: the claimed δ; 0 for a pure claim. lower_delta: a lower bound on δ at that ε.

    >>> print(PromiseBrokenError(claimed=1.0, lower_bound=2.5, confidence=0.95))
    the promise is broken: ε = 1 is claimed, but at least 2.5 leaks (with a confidence of 95 %)
    >>> print(PromiseBrokenError(1.0, 1.2, 0.95, claimed_delta=1e-6, lower_delta=0.25))
    the promise is broken: δ = 1e-06 at ε = 1 is claimed, but it is at least 0.25 (with a confidence of 95 %)
    """

    def __init__(
        self,
        claimed: float,
        lower_bound: float,
        confidence: float,
        evidence: object = None,
        *,
        claimed_delta: float = 0.0,
        lower_delta: float = 0.0,
    ) -> None:
        self.claimed = claimed
        self.lower_bound = lower_bound
        self.confidence = confidence
        self.evidence = evidence
        self.claimed_delta = claimed_delta
        self.lower_delta = lower_delta
        if claimed_delta:
            least = Context(prec=3, rounding=ROUND_FLOOR).create_decimal_from_float(lower_delta)
            broken = f"δ = {claimed_delta:.3g} at ε = {claimed:g} is claimed, but it is at least {float(least):g}"
        else:
            broken = f"ε = {claimed:g} is claimed, but at least {math.floor(1000 * lower_bound) / 1000:g} leaks"
        super().__init__(f"the promise is broken: {broken} (with a confidence of {100 * confidence:.6g} %)")


_DUST = 1e-9
"""A remainder that is only rounding error, as a share of what was requested, is printed as 0."""


class BudgetError(BayesDPError):
    """A release exceeds the remaining budget; nothing was charged.

    >>> print(BudgetError(requested=1.0, remaining=0.25))
    the budget does not allow it: requested ε = 1, remaining 0.25, short by 0.75
    """

    def __init__(self, requested: float, remaining: float) -> None:
        self.requested = requested
        self.remaining = remaining
        self.difference = requested - remaining
        left = f"{remaining:g}" if remaining > _DUST * requested else "0"
        super().__init__(
            f"the budget does not allow it: requested ε = {requested:g}, remaining {left}, short by {self.difference:g}"
        )


class LedgerError(BayesDPError):
    """A ledger cannot be opened, does not match, was tampered with, or could not be written; nothing was released."""


class NoiseError(BayesDPError):
    """Noise cannot be drawn: OpenDP failed, or the environment redirects its random generator. Nothing was released."""


class AnsweredError(LedgerError):
    """A charge already has an answer, from another process. The answer drawn by this process must not be shown."""


class MissingDependencyError(BayesDPError, ImportError):
    """An optional part needs a package that is not installed; the message names the extra that installs it."""
