"""A table as models see it: its chains, its largest group, its roles."""

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from bayesdp.errors import FrameError, RecordsError
from bayesdp.frames.source import scan
from bayesdp.frames.view import View
from bayesdp.models.layout import ChainLayout
from bayesdp.models.view import Chains

FRAME = pl.DataFrame(
    {
        "t": [4, 1, 3, 2, 1, 2],
        "who": ["a", "a", "a", "a", "b", "b"],
        "s": ["x", "y", "x", "x", "y", "x"],
        "v": [1.5, None, 2.0, 3.0, 4.0, 5.0],
        "role": ["child", "child", "father", "mother", "child", "mother"],
    }
)
STEPPED = ChainLayout("t", "who", step=1)


def seen(frame: pl.DataFrame = FRAME, missing: Any = "error") -> View:
    return View(scan(frame), missing)


@pytest.mark.parametrize(
    ("frame", "layout", "chains"),
    [
        (FRAME, STEPPED, Chains(4, unbroken=True)),
        (FRAME, ChainLayout("t", "who"), Chains(4, unbroken=False)),
        (FRAME, None, Chains(6, unbroken=False)),
        (FRAME.filter(pl.col("t") != 2), STEPPED, Chains(3, unbroken=False)),
    ],
    ids=["a step", "no step", "no order", "a gap"],
)
def test_only_a_step_shows_that_no_record_is_missing(
    frame: pl.DataFrame, layout: ChainLayout | None, chains: Chains
) -> None:
    assert seen(frame).chains("s", ("x", "y"), layout) == chains


def test_a_record_without_its_state_breaks_a_chain_that_drops_it() -> None:
    holes = FRAME.with_columns(s=pl.when(pl.col("t") != 3).then("s"))
    assert seen(holes, "drop").chains("s", ("x", "y"), STEPPED) == Chains(3, unbroken=False)
    for states in (("x", "y"), ()):
        with pytest.raises(RecordsError, match="missing"):
            seen(holes).chains("s", states, STEPPED)


@pytest.mark.parametrize(
    ("states", "layout", "message"),
    [
        (("x",), STEPPED, "2 records of the table have a value of 's' that is not a state of the chain"),
        ((), ChainLayout("t"), "the same t as the previous record"),
        ((), ChainLayout("t", "who", step=2), "by less than the step"),
    ],
)
def test_what_is_outside_of_a_chain_is_refused(states: Sequence[str], layout: ChainLayout, message: str) -> None:
    with pytest.raises(FrameError, match=message):
        seen().chains("s", tuple(states), layout)


def test_groups_are_counted_by_those_that_have_a_value() -> None:
    assert seen().largest_group(["who"]) == 4
    assert seen().largest_group(["who"], "v") == 3
    assert seen().largest_group(["who", "role"]) == 2
    with pytest.raises(FrameError, match="belong to no group"):
        seen(FRAME.with_columns(who=pl.Series([None, "a", "a", "a", "b", "b"]))).largest_group(["who"])


def test_roles_are_those_that_some_record_with_a_value_has() -> None:
    assert seen().roles(["who"], "role") == {"child": 2, "father": 1, "mother": 1}
    assert seen().roles(["who"], "role", "v") == {"child": 1, "father": 1, "mother": 1}
    assert seen().roles([], "role") == {"child": 3, "father": 1, "mother": 2}
    lost = FRAME.with_columns(v=pl.when(pl.col("role") != "father").then("v"))
    assert seen(lost).roles(["who"], "role", "v") == {"child": 1, "mother": 1}
