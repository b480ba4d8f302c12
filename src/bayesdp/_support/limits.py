"""Limits on the time and memory that one file or model may take, and the variables that change them."""

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
    """A limit that an environment variable can change.

    variable: the environment variable.
    usual:    the limit without it.
    largest:  the largest limit that the variable may set.

    >>> Limit("BAYESDP_MAX_EXAMPLES", 500).value
    500
    """

    variable: str
    usual: int
    largest: int = _LARGEST

    @property
    def value(self) -> int:
        """The current limit. Raises InvalidInputError if the variable is not a positive whole number."""
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
        """How to raise the limit, as the end of a message."""
        return f"set the environment variable {self.variable} to allow more"


LINE_BYTES = Limit("BAYESDP_MAX_LINE_BYTES", 16 * 2**20)
"""Bytes of one line of a text file, or of one row if quoted fields hold line breaks."""

UNPACKED_BYTES = Limit("BAYESDP_MAX_UNPACKED_BYTES", 16 * 2**30)
"""Unpacked bytes of a compressed text file. It is streamed, so this limits time, not memory."""

SHEET_BYTES = Limit(UNPACKED_BYTES.variable, 2**30)
"""Unpacked bytes of an Excel file, which is read into memory as a whole."""

STATES = Limit("BAYESDP_MAX_STATES", 500, largest=1000)
"""States of a chain. The rounding of sums is proven for up to 1,000 (docs/theory/markov-mixing.md)."""
