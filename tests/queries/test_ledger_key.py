"""The key of a charge: written in one way, and read as every older version wrote it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bayesdp import AnyMechanism, Count, Histogram, Mean, Median, Quantile, Sum, Variance
from bayesdp.errors import InvalidInputError, QueryError
from bayesdp.queries import LedgerKey, Query

ANY = {"query": "sum", "column": "s", "bounds": [0.0, 1.0], "where": "any question"}
PART: dict[str, Any] = {"by": "district", "by_cells": ["A"]}


@pytest.mark.parametrize(
    ("query", "document", "older"),
    [
        (Count("s", equals=1), {"column": "s"}, ANY),
        (Count(equals=1), {}, {"query": "sum", "bounds": [0.0, 1.0], "where": "any question"}),
        (Count("s", equals=1, where="s > 0"), {"column": "s"}, ANY),
        (Histogram("s", cells=[0, 1]), {"column": "s"}, ANY),
        (Quantile("s", at=0.5, candidates=[1, 2]), {"column": "s"}, ANY),
        (Median("s", candidates=[1, 2]), {"column": "s"}, ANY),
        (Variance("s", bounds=(0, 5), size=4), {"column": "s"}, ANY),
        (AnyMechanism("s", what="a table"), {"column": "s"}, ANY),
        (Sum("s", bounds=(0, 5), where="s > 0"), {"column": "s"}, ANY),
        (
            Sum("s", bounds=(0, 5)),
            {"column": "s", "bounds": [0.0, 5.0]},
            {"query": "sum", "column": "s", "bounds": [0.0, 5.0]},
        ),
        (
            Mean("s", bounds=(0, 5), step=0.5, size=7),
            {"column": "s", "bounds": [0.0, 5.0], "step": 0.5},
            {"query": "sum", "column": "s", "bounds": [0.0, 5.0], "step": 0.5},
        ),
        (Count("s", equals=1, **PART), {"column": "s", "by": "district", "parts": ["A"]}, ANY | PART),
        (
            Sum("s", bounds=(0, 5), by="n", by_cells=[1.0]),
            {"column": "s", "bounds": [0.0, 5.0], "by": "n", "parts": ["1"]},
            {"query": "sum", "column": "s", "bounds": [0.0, 5.0], "by": "n", "by_cells": ["1"]},
        ),
    ],
)
def test_a_key_is_written_in_one_way_and_read_in_both(query: Query, document: Any, older: Any) -> None:
    key = query.ledger_key()
    assert key.to_dict() == document
    for written in (document, older):
        assert LedgerKey.from_dict(json.loads(json.dumps(written))) == key
        assert LedgerKey.from_text(json.dumps(written)) == key
    assert key.query.ledger_key() == key
    assert (key.query.width, key.query.by, key.query.parts) == (query.width, query.by, query.parts)
    assert (key.query.not_metric is None) == (query.not_metric is None)


def test_an_older_total_of_another_query_counts_as_any_mechanism() -> None:
    assert LedgerKey.from_dict({"query": "count", "column": "s", "equals": 1}) == LedgerKey("s")


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        "s",
        {"region": {}},
        {"column": 7},
        {"column": "s", "step": 0.5},
        {"column": "s", "bounds": [1, 0]},
        {"column": "s", "bounds": [0]},
        {"column": "s", "bounds": 5},
        {"column": "s", "by": "d"},
        {"column": "s", "parts": ["A"]},
        {"column": "s", "by": "d", "parts": []},
        {"column": "s", "by": "d", "parts": [1]},
        {"query": "poem"},
        {**ANY, "loss": {}},
    ],
)
def test_what_is_no_key_is_refused(document: Any) -> None:
    with pytest.raises(InvalidInputError):
        LedgerKey.from_dict(document)


def test_an_unknown_entry_is_named() -> None:
    with pytest.raises(QueryError, match="a key has no 'region'; it has bounds, by, column, parts, step"):
        LedgerKey.from_dict({"column": "s", "region": {}})


def test_the_former_name_works_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match="ledger_key"):
        assert Count("s", equals=1).standing() == LedgerKey("s")
