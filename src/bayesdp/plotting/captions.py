"""What a picture is about, in its title: the data set, how many records, which model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesdp._support.validation import escaped

if TYPE_CHECKING:
    from bayesdp.models import Model

__all__ = ["NOT_PRIVATE", "caption", "titled"]

NOT_PRIVATE = "Computed from the data without noise: not to be published."
"""What stands in a picture that no guarantee covers."""


def caption(model: Model) -> str:
    """Return which table a model was diagnosed on, if it was, how many records it is about, and its type.

    >>> from bayesdp import MarkovChain
    >>> caption(MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=15264))
    'model markov, up to n = 15,264 records together'
    """
    diagnosis, size = model.diagnosis, model.group_size
    if diagnosis is not None:
        return titled(diagnosis.table_name, diagnosis.records, f"model {model.kind}")
    if size is None:
        return f"model {model.kind}, any number of records"
    return f"model {model.kind}" + (f", up to n = {size:,} records together" if size > 1 else "")


def titled(dataset: str, records: int | None, *more: str) -> str:
    """Return a data set, its number of records, if that is known, and what else there is to say, in one line.

    >>> titled("activity.csv", 15264, "model markov")
    'activity.csv, n = 15,264, model markov'
    """
    known = [] if records is None else [f"n = {records:,}"]
    return escaped(", ".join([" ".join(dataset.split()), *known, *more]))
