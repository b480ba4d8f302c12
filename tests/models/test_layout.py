import datetime as dt
import json
from typing import Any

import pytest

from bayesdp.errors import ModelError
from bayesdp.models.layout import ChainLayout, GroupLayout


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ((dt.timedelta(minutes=5), "5m", "300s", " 300 s", "300000ms", "300000000us"), "5m"),
        ((dt.timedelta(days=7), "7d", "168h"), "7d"),
        ((dt.timedelta(minutes=90), "90m", "5400s"), "90m"),
        ((dt.timedelta(microseconds=1500), "1500us"), "1500us"),
        ((1, 1.0, "1", "1.0"), 1.0),
        (("1mo",), "1mo"),
        (("nan",), "nan"),
        (("-1",), "-1"),
        ((f"{10**30}d",), f"{10**30}d"),
    ],
)
def test_equal_steps_make_equal_layouts(steps: tuple[Any, ...], kept: float | str) -> None:
    for step in steps:
        layout = ChainLayout("t", step=step)
        assert layout.step == kept
        assert ChainLayout.from_dict(json.loads(json.dumps(layout.to_dict()))) == layout
        assert hash(layout) == hash(ChainLayout("t", step=steps[0]))


def test_a_layout_keeps_what_is_not_given() -> None:
    chain = ChainLayout("t", "who", step=1, dropped=True)
    assert chain.renamed(None, None, None) == chain
    assert chain.renamed(None, None, 2) == ChainLayout("t", "who", step=2, dropped=True)
    assert chain.renamed("t", ["a", "b"], None) == ChainLayout("t", ["a", "b"], step=1, dropped=True)
    assert chain.renamed(["day", "t"], (), None) == ChainLayout(["day", "t"], dropped=True)
    groups = GroupLayout("v", "g", "r", dropped=True)
    assert (
        groups.renamed(None, None, None)
        == groups.renamed("v", "g", None)
        == groups.renamed(["v"], None, None)
        == groups
    )
    assert groups.renamed(None, "h", None) == GroupLayout("v", "h", dropped=True)
    assert groups.renamed(None, None, "q") == GroupLayout("v", "g", "q", dropped=True)
    assert groups.renamed(["v", "w"], None, None) == GroupLayout(["v", "w"], dropped=True)
    with pytest.raises(ModelError, match="one value column needs group="):
        groups.renamed("w", None, None)


def test_layouts() -> None:
    assert ChainLayout("t", entity="who").to_dict() == {"order_by": ["t"], "entity": ["who"]}
    assert GroupLayout(["a", "b"]).wide
    for layout in (
        ChainLayout(["t"], ["a", "b"], 2, True),
        GroupLayout("v", ["g"], "role", True),
        ChainLayout("t", step="5m"),
    ):
        assert type(layout).from_dict(json.loads(json.dumps(layout.to_dict()))) == layout
    with pytest.raises(ModelError, match='"layout" must be an object'):
        ChainLayout.from_dict("t")
