"""What a server says of a data set is read strictly, and printed in a few lines."""

from __future__ import annotations

from typing import Any

import pytest

from bayesdp.client import Description
from bayesdp.errors import InvalidInputError

DOCUMENT: dict[str, Any] = {
    "kind": "dataset",
    "schema": 1,
    "dataset": "steps",
    "columns": [{"name": "district", "type": "String"}, {"name": "steps", "type": "Int64"}],
    "public": {"district": [f"d{number}" for number in range(20)], "date": None},
    "model": {"type": "markov", "assumption": "the next depends on the last", "protects": "one record"},
    "queries": ["count"],
    "budget": 2.0,
    "delta": 1e-6,
    "epsilon_total": 0.5,
    "epsilon_remaining": 1.5,
    "allowance": {"day": 0.5, "total": 4.0, "day_remaining": 0.0, "total_remaining": 3.5},
}


def test_it_prints_what_may_be_asked() -> None:
    printed = str(Description.from_dict(DOCUMENT)).splitlines()
    rows = {line.split("  ")[0]: " ".join(line.split()) for line in printed}
    assert rows["ε leaked"].endswith("0.5 at δ = 1e-06")
    assert rows["your ε today"].endswith("today 0")
    assert rows["your ε in all"].endswith("3.5")
    assert rows["district"].endswith("'d11', …")
    assert rows["date"].endswith("public")
    assert rows["steps"] == "steps Int64"
    without = Description.from_dict({**DOCUMENT, "allowance": None, "delta": None})
    assert "your ε" not in str(without)
    assert "δ" not in str(without)


def test_its_json_reads_back() -> None:
    described = Description.from_dict(DOCUMENT)
    assert Description.from_dict(described.to_dict()) == described
    assert described.to_json() == Description.from_dict(described.to_dict()).to_json()


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "answer"},
        {"schema": 2},
        {"columns": "steps"},
        {"columns": [3]},
        {"public": ["district"]},
        {"public": {"district": [[1]]}},
        {"budget": "much"},
        {"epsilon_remaining": -1},
        {"delta": 1.0},
        {"allowance": {"day": -1}},
        {"model": None},
        {"dataset": ""},
    ],
)
def test_what_is_none_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        Description.from_dict({**DOCUMENT, **wrong})
