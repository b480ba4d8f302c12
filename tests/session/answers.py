"""Answers that were never released, for tests of what an answer and its statement say."""

from __future__ import annotations

from typing import Any

import bayesdp as bdp
from bayesdp.queries import query_from_dict
from bayesdp.session.answer import Answer

DOCUMENT: dict[str, Any] = {
    "schema": 1,
    "value": 4248,
    "query": {"query": "count", "column": "s", "equals": 1},
    "dataset": "steps",
    "records": 15264,
    "tau": 0.01,
    "noise": 100.0,
    "unit": 1.0,
    "rounding": 0.0,
    "epsilon": 0.5,
    "epsilon_total": 1.0,
    "epsilon_remaining": 1.0,
    "theorem": "general",
    "proof": "docs/theory/general.md",
    "scope": "every pair of target values",
    "protects": "one record, not the person behind several",
    "assumption": "all records are independent of one another",
    "timestamp": "2026-11-02T00:00:00+00:00",
    "query_fingerprint": "a" * 64,
    "model_fingerprint": "b" * 64,
    "entry": 2,
    "head": "c" * 64,
}
"""A count with noise of scale 100: the interval of 95 % reaches 300 to either side of it."""

DIAGNOSIS: dict[str, Any] = {
    "verdict": "violated",
    "date": "2026-11-01",
    "table": "steps.csv",
    "rows": 500,
    "findings": [{"name": "order", "verdict": "violated"}, {"name": "same over time", "verdict": "fine"}],
}


def answered(value: Any = 4248, query: bdp.Query | None = None, **changes: Any) -> Answer:
    """Return the answer of `DOCUMENT`, with another value, another question, other entries."""
    entries = {**DOCUMENT, "query": query or query_from_dict(DOCUMENT["query"]), "value": value, **changes}
    return Answer.of(**{name: entry for name, entry in entries.items() if name != "schema"})
