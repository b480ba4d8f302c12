"""What a picture is about: the table if one was looked at, else how many records the model is about."""

from __future__ import annotations

import pytest

import bayesdp as bdp
from bayesdp.models import Model
from bayesdp.models.diagnosis import Diagnosis
from bayesdp.plotting.charts import caption, titled


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (bdp.Independent(), "model independent"),
        (bdp.OddsChain(9), "model odds-chain, any number of records"),
        (bdp.ArbitraryGroups(1200), "model arbitrary, up to n = 1,200 records together"),
    ],
)
def test_a_model_says_how_many_records_belong_together(model: Model, said: str) -> None:
    assert caption(model) == said


def test_a_model_that_was_diagnosed_names_its_table() -> None:
    seen = bdp.OddsChain(9).with_diagnosis(
        Diagnosis("records follow a chain", (), 7, "all records", table_name="meters.csv")
    )
    assert caption(seen) == "meters.csv, n = 7, model odds-chain"


def test_a_title_is_one_line_whatever_a_table_is_called() -> None:
    title = titled("a\n\tb\x1b[2J", None, "model markov")
    assert "\n" not in title
    assert "\x1b" not in title
    assert title.startswith("a b")
    assert title.endswith(", model markov")
    assert titled("a", 0) == "a, n = 0"
