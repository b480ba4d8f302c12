"""The options of a model's `fit`, from which `bayesdp fit` builds its options and its call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["MISSING", "RECORD", "FitOption"]


@dataclass(frozen=True)
class FitOption:
    """One keyword of a model's `fit`; on the command line, an option of the same name.

    name:     the keyword. The option is written with hyphens: order_by is --order-by.
    help:     its description in `bayesdp fit --help`.
    metavar:  the placeholder of the value in the help.
    reads:    how the text of the option is parsed: unchanged, as column names separated by commas, as a number or a
              whole number; a flag has no text.
    default:  the default as a user would type it; None if there is none.
    required: whether fit needs it.
    example:  a value for the message that asks for it.
    locates:  whether it locates the records in a table, so that `diagnose` accepts it, too.

    >>> FitOption("order_by", "The columns that order the records.", "A,B", reads="columns").flag
    '--order-by'
    """

    name: str
    help: str
    metavar: str = "NAME"
    reads: Literal["text", "columns", "number", "whole", "flag"] = "text"
    default: str | None = None
    required: bool = False
    example: str | None = None
    locates: bool = False

    @property
    def flag(self) -> str:
        """The option as it is typed."""
        return f"--{self.name.replace('_', '-')}"


MISSING = FitOption("missing", "What to do with missing values: error, or drop the records.", "RULE", default="error")
"""The option for missing values."""

RECORD = FitOption("record", 'What a record is, such as "5-minute interval".', default="record")
"""The option for the name of a record in guarantees."""
