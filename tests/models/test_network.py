from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesdp import Model, Network
from bayesdp.errors import InvalidInputError, ModelError, RecordsError
from bayesdp.frames.source import scan
from bayesdp.frames.view import View

EDGES = [(0, 1, 1.5), (1, 2, 2.0)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give either odds= and degree="),
        ({"odds": 2}, "give either odds= and degree="),
        ({"odds": 0.5, "degree": 2}, "at least 1, the odds ratio of independent records"),
        ({"odds": float("inf"), "degree": 2}, "finite"),
        ({"odds": 2, "degree": -1}, "degree must be at least 0"),
        ({"odds": 2, "degree": 2, "forest": 1}, "forest must be true or false"),
        ({"odds": 2, "degree": 2, "hidden": [1]}, "hidden= goes with edges="),
        ({"odds": 2, "degree": 2, "position": "seat"}, "position= goes with edges="),
        ({"odds": 2, "degree": 2, "additive": True}, "additive= goes with edges="),
        ({"edges": EDGES, "additive": "yes"}, "additive must be true or false"),
        ({"edges": []}, "needs records="),
        ({"edges": EDGES, "records": 3, "odds": 2}, "edges= is complete"),
        ({"edges": EDGES, "records": 2}, r"edges\[1\] names the position 2, but the last is 1"),
        ({"edges": [(0, 1)], "records": 2}, r"edges\[0\] must be two positions and an odds ratio"),
        ({"edges": [(0, 0, 2)], "records": 2}, r"edges\[0\] connects the record 0 with itself"),
        ({"edges": [(0, 1, 0.5)], "records": 2}, r"the odds of edges\[0\] must be at least 1"),
        ({"edges": [(0, 1, 2), (1, 0, 3)], "records": 2}, "names the records 0 and 1 twice"),
        ({"edges": [(0, True, 2)], "records": 2}, "must be a whole number"),
        ({"edges": [(0, 0.5, 2)], "records": 2}, "must be a whole number"),
        ({"edges": [(0, 1, float("nan"))], "records": 2}, "finite"),
        ({"edges": [("a", "b", 2)], "records": 2}, "must be a whole number"),
        ({"edges": 3, "records": 2}, "edges must be a list"),
        ({"edges": EDGES, "records": 3, "hidden": [3]}, "hidden names the position 3"),
        ({"edges": EDGES, "records": 3, "hidden": [1, 1]}, "hidden names a position twice"),
        ({"edges": EDGES, "records": 3, "hidden": [0, 1, 2]}, "every position is hidden"),
    ],
)
def test_what_is_no_network_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Network(**arguments)


def test_effects_that_add_up_are_said() -> None:
    network = Network(edges=EDGES, additive=True)
    assert network.to_dict()["additive"] is True
    assert Model.from_json(network.to_json()) == network
    assert "additive" not in Network(edges=EDGES).to_dict()
    assert network.assumption.endswith(
        "each position has two values, what the others say about it adds up, and all push the same way"
    )
    assert "two values whose effects add up was not checked" in (network.unchecked or "")
    assert "position" not in (replace(network, position="seat").unchecked or "")


def test_edges_may_come_as_they_are() -> None:
    asked = Network(edges=EDGES, records=3)
    for same in (EDGES[::-1], np.array(EDGES), [[1, 0, 1.5], [2, 1, 2]], ((np.int64(0), 1, 1.5), (1, 2, 2))):
        assert Network(edges=same, records=3) == asked
    assert Network(edges=[], records=3).group_size == 1


def test_what_hangs_together() -> None:
    two = Network(edges=[(0, 1, 2), (1, 2, 2), (7, 9, 3), (4, 5, 1)], records=10, hidden=[1])
    assert two.group_size == 2
    assert two.is_forest
    assert two.visible == 9
    assert two.ties.size == 5
    assert two.ties.visible.tolist() == [True, False, True, True, True]
    assert not Network(edges=[(0, 1, 2), (1, 2, 2), (0, 2, 2)], records=3).is_forest
    assert Network(edges=[(0, 1, 2), (1, 2, 2), (0, 2, 1)], records=3).is_forest
    assert Network(odds=2, degree=2).group_size is None
    assert Network(odds=2, degree=2, records=7).group_size == 7


def test_it_says_what_is_assumed() -> None:
    assert Network(odds=1.5, degree=4).assumption == (
        "each record depends directly on at most 4 others, with an odds ratio of at most 1.5 with each of them"
    )
    assert Network(odds=1.5, degree=4, forest=True, records=9).assumption.endswith(
        "with each of them, and these dependences form no loop, and at most 9 records are connected"
    )
    two = Network(edges=EDGES, records=4, hidden=[3], group=["school", "class"])
    assert two.assumption == (
        "records depend on one another along the edges of a network (4 positions, 1 of them hidden; 2 edges), with at "
        "most the given odds ratios; there is one network for each school and class, independent of the others"
    )
    assert "1.5" in (two.parameters or "")
    many = Network(edges=[(0, i, 1 + i) for i in range(1, 20)], records=20)
    assert many.parameters == "Odds ratios of 19 edges between 20 positions: from 2 to 20."
    with pytest.raises(ModelError, match="does not show which records depend on one another"):
        many.diagnose(None)


def seats(positions: list[Any], classes: list[int] | None = None) -> pl.DataFrame:
    return pl.DataFrame({"seat": positions, "class": classes or [1] * len(positions), "x": [1.0] * len(positions)})


def check_table(frame: pl.DataFrame, model: Network) -> Network:
    return model.check_table(View(scan(frame), "error"))


def test_positions_are_checked_on_the_table() -> None:
    model = Network(edges=EDGES, records=4, hidden=[3], position="seat", column="x")
    assert model.unchecked is None
    for fine in ([0, 1, 2], [2], [1.0, 0.0], ["0", "2"]):
        assert check_table(seats(fine), model) == model
    for wrong, message in (
        ([0, 4], "positions 0 to 3"),
        ([0, -1], "positions 0 to 3"),
        ([0.5, 1.0], "positions 0 to 3"),
        (["a", "b"], "positions 0 to 3"),
        ([0, 3], "it is hidden"),
        ([0, 1, 1], "several records at the position 1"),
        (["1", "01"], "several records at the position 1"),
        ([0, None], "no usable value"),
    ):
        with pytest.raises(RecordsError, match=message):
            check_table(seats(wrong), model)


def test_each_group_is_a_network() -> None:
    model = Network(edges=EDGES, records=3, position="seat", group="class", column="x")
    assert check_table(seats([0, 1, 0, 1], [1, 1, 2, 2]), model) == model
    with pytest.raises(RecordsError, match="several records"):
        check_table(seats([0, 1, 0, 1], [1, 2, 1, 2]), model)
    by_size = Network(odds=2, degree=2, records=2, group="class", column="x")
    assert check_table(seats([0, 1, 0, 1], [1, 1, 2, 2]), by_size) == by_size
    with pytest.raises(RecordsError, match="a network of 3 records, but the model describes at most 2"):
        check_table(seats([0, 1, 0, 1], [1, 1, 1, 2]), by_size)


def test_a_table_without_groups_is_one_network() -> None:
    model = Network(edges=EDGES, records=4, hidden=[3], column="x")
    assert check_table(seats([0, 0, 0]), model) == model, "positions are not known"
    with pytest.raises(RecordsError, match="a network of 4 records, but the model describes at most 3"):
        check_table(seats([0, 0, 0, 0]), model)
    with pytest.raises(RecordsError, match="a network of 4 records"):
        replace(model, column=None).check_table(View(scan(seats([0, 0, 0, 0])), "error"), "x")
    connected = Network(odds=2, degree=2, records=2, column="x")
    assert check_table(seats([0, 0, 0, 0]), connected) == connected, "at most 2 of them are connected"


def test_it_states_what_was_not_checked() -> None:
    assert "Which record has which position" in (Network(edges=EDGES, records=3).unchecked or "")
    assert "more than 4 others was not checked" in (Network(odds=2, degree=4).unchecked or "")


def test_unknown_entries_are_refused() -> None:
    with pytest.raises(InvalidInputError, match='has no "nodes"'):
        Model.from_dict({"type": "network", "nodes": 3})


def test_edges_alone_say_how_many_positions_there_are() -> None:
    network = Network(edges=[(4, 1, 9), (1, 2, 4)])
    assert network == Network(edges=[(4, 1, 9), (1, 2, 4)], records=5)
    assert network.is_forest
    assert Model.from_json(network.to_json()) == network
    with pytest.raises(ModelError, match="the last is 4"):
        Network(edges=[(4, 1, 9)], hidden=[5])
