"""The index of stored answers: the τ and the request of each, so that few of them must be read.

The index only names the entries to read. Each of them is checked against the chain, and its body decides whether the
answer is good enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple

from bayesdp._support.documents import fingerprint

__all__ = ["AnswerRow", "answer_row"]


class AnswerRow(NamedTuple):
    """One answer in the index.

    tau:    its τ; 0 if it has none.
    terms:  the fingerprint of the terms in which it was asked: by ε or a share of the limit, alone or shared with
            certain questions, or by α at a certain β; and the kind of noise, if it was insisted on. Empty if that is
            not known.
    demand: how much was requested in these terms; the answer is good enough for a request of less.
    shared: how many questions shared its ε.
    """

    dataset: str
    question: str
    tau: float
    terms: str
    demand: float
    shared: int


def answer_row(dataset: str, question: str, body: Mapping[str, Any]) -> AnswerRow:
    """Return the row of the index for an answer, given the body of its entry.

    >>> row = answer_row("steps", "9f2c", {"tau": 0.5, "asked": {"alpha": 4.0, "beta": 0.05}})
    >>> row.tau, row.demand, row.shared
    (0.5, -4.0, 1)
    """
    request = body.get("asked")
    request = request if isinstance(request, Mapping) else {}
    epsilon, alpha, share = (_number(request.get(name)) for name in ("epsilon", "alpha", "share"))
    sharing = request.get("questions") or []
    insisted = {"noise": request["noise"]} if isinstance(request.get("noise"), str) else {}
    if epsilon is not None:
        terms, demand = fingerprint({"epsilon": sharing, **insisted}), epsilon
    elif share is not None:
        terms, demand = fingerprint({"share": sharing, **insisted}), share
    elif alpha is not None:
        terms, demand, sharing = fingerprint({"beta": request.get("beta"), **insisted}), -alpha, []
    else:
        terms, demand, sharing = "", 0.0, []
    shared = len(sharing) if isinstance(sharing, list) else 1
    return AnswerRow(dataset, question, _number(body.get("tau")) or 0.0, terms, demand, max(1, shared))


def _number(value: object) -> float | None:
    """Return a finite number as a float, None for anything else, so that every answer can be indexed."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:
        return None
