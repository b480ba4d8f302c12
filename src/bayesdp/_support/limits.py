"""Limits on what one file or one model may take of time and memory, and the variables that change them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError

__all__ = ["LINE_BYTES", "SHEET_BYTES", "STATES", "UNPACKED_BYTES", "Limit"]

_LARGEST = 10**15
_WHOLE = re.compile(r"[0-9]{1,16}")


@dataclass(frozen=True)
class Limit:
    """A number that must not be exceeded, unless an environment variable says otherwise.

    variable: the environment variable that replaces the number.
    usual:    the number without it.
    largest:  the largest number that the variable may give.

    >>> Limit("BAYESDP_MAX_EXAMPLES", 500).value
    500
    """

    variable: str
    usual: int
    largest: int = _LARGEST

    @property
    def value(self) -> int:
        """The number that holds now. Raises InvalidInputError if the variable is no positive whole number."""
        given = os.environ.get(self.variable, "").strip()
        if not given:
            return self.usual
        if not (_WHOLE.fullmatch(given) and 1 <= int(given) <= self.largest):
            raise InvalidInputError(
                f"the environment variable {self.variable} must be a whole number from 1 to {self.largest}, not "
                f"{brief(given)}"
            )
        return int(given)

    @property
    def advice(self) -> str:
        """How to get past the limit, as the end of a message."""
        return f"set the environment variable {self.variable} to allow more"


LINE_BYTES = Limit("BAYESDP_MAX_LINE_BYTES", 16 * 2**20)
"""Bytes of one line of a text file; with line breaks between quotes, of one row."""

UNPACKED_BYTES = Limit("BAYESDP_MAX_UNPACKED_BYTES", 16 * 2**30)
"""Bytes that a compressed text file may have once it is unpacked. It streams, so this limits time, not memory."""

SHEET_BYTES = Limit(UNPACKED_BYTES.variable, 2**30)
"""Bytes that an Excel file may have once it is unpacked. It is read into memory as a whole."""

STATES = Limit("BAYESDP_MAX_STATES", 500, largest=1000)
"""States of a chain. The rounding of sums is proven for a thousand (docs/theory/markov-mixing.md)."""
