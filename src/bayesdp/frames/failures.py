"""Whatever an engine raises becomes an error of our family, in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bayesdp.errors import BayesDPError

__all__ = ["PASSING", "first_line", "refusing"]

PASSING = (BayesDPError, KeyboardInterrupt, SystemExit, GeneratorExit)
"""What passes as it is: our own errors, and what ends a program or a generator."""


@contextmanager
def refusing(refusal: Callable[[BaseException], BaseException], *passing: type[BaseException]) -> Iterator[None]:
    """Raise, instead of what is raised inside, what `refusal` makes of it.

    passing: what else passes as it is.

    A panic of Polars (`PanicException`) is a BaseException, so every BaseException counts that is not in `PASSING`.

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
    """Return the first line of what an error says, or its name if it says nothing."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]
