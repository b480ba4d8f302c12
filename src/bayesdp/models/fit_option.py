"""What a model's `fit` needs and takes: `bayesdp fit` builds its options and its call from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["MISSING", "RECORD", "FitOption"]


@dataclass(frozen=True)
class FitOption:
    """One keyword of a model's `fit`; on the command line, an option of the same name.

    name:     the keyword. The option is written with hyphens: order_by is --order-by.
    help:     what it means, for `bayesdp fit --help`.
    metavar:  what stands for the value in the help.
    reads:    how the option's text is read: as it stands, as column names separated by commas, as a number or a whole
              number; a flag has no text.
    default:  what fit assumes if the option is not given, as it is typed; None if there is nothing to type.
    required: fit cannot do without it.
    example:  a value for the message that says what is required.
    locates:  it says where in a table the records are, so that `diagnose` takes it, too.

    >>> FitOption("order_by", "the columns that put records in order.", "A,B", reads="columns").flag
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


MISSING = FitOption("missing", "error, or drop: leave records with missing values out.", "RULE", default="error")
"""What is done with missing values."""

RECORD = FitOption("record", 'What one record is, as in "5-minute interval".', default="record")
"""What one record is called in guarantees."""
