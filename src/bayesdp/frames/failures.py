"""Conversion of the errors of engines into errors of this package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bayesdp.errors import BayesDPError

__all__ = ["PASSING", "first_line", "refusing"]

PASSING = (BayesDPError, KeyboardInterrupt, SystemExit, GeneratorExit)
"""Exceptions that are not converted: our own, and those that end a program or a generator."""


@contextmanager
def refusing(refusal: Callable[[BaseException], BaseException], *passing: type[BaseException]) -> Iterator[None]:
    """Replace an exception raised inside by the one that `refusal` returns for it.

    passing: exceptions that are not replaced, besides those of `PASSING`.

    Every BaseException is replaced, because a panic of Polars (`PanicException`) is one.

    >>> from bayesdp.errors import FrameError
    >>> with refusing(lambda error: FrameError(type(error).__name__)):
    ...     1 / 0
    Traceback (most recent call last):
    ...
    bayesdp.errors.FrameError: ZeroDivisionError
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, (*PASSING, *passing)):
            raise
        raise refusal(error) from None


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its type if the message is empty."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]
