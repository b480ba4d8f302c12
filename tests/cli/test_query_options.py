"""The options of a question stand in one place, and every command that asks one has them all."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import typer

import bayesdp as bdp
from bayesdp.cli.app import app
from bayesdp.cli.query_options import QueryOptions, Question
from bayesdp.errors import QueryError

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
OPTIONS = ["--query", "--states", "--bounds", "--column", "--where", "--public-filter", "--size"]
CHAIN = bdp.MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["idle", "active"], length=50)


def asked(kind: str, **given: Any) -> Question:
    nothing = dict.fromkeys(("states", "bounds", "column", "where", "size"))
    return Question(kind, **{**nothing, "public_filter": False, "own": {}, **given})


def test_commands_with_a_query_have_its_options_in_one_order() -> None:
    asking = {
        name: [parameter.opts[0] for parameter in command.params]
        for name, command in COMMANDS.items()
        if any("--query" in parameter.opts for parameter in command.params)
    }
    assert {"leakage", "calibrate", "compare", "release"} <= set(asking)
    for names in asking.values():
        assert [name for name in names if name in OPTIONS] == OPTIONS


def test_options_describe_a_query_and_are_read_by_type() -> None:
    described: list[Question] = []

    def command(question: Question, loud: bool = False) -> None:
        described.append(question)

    asking = QueryOptions(command)
    assert list(inspect.signature(asking).parameters)[:2] == ["query", "states"]
    small = typer.Typer()
    small.command()(asking)
    line = "--query mean --bounds -1 1e2 --size 12 --loud --column height --where x>1 --public-filter"
    typer.main.get_command(small).main(line.split(), standalone_mode=False)
    (question,) = described
    assert (question.bounds, question.size) == ((-1.0, 100.0), 12)
    mean = question.under(bdp.Independent())
    assert mean == bdp.Mean("height", bounds=(-1, 100), size=12, where="x>1", public_filter=True)


def test_states_are_read_under_the_model() -> None:
    assert asked("count", states="active").under(CHAIN) == bdp.Count(equals="active")
    assert asked("histogram").under(CHAIN) == bdp.Histogram(cells=["idle", "active"])
    assert asked("count", states="1,2").under(bdp.Independent()) == bdp.Count(isin=[1, 2])
    with pytest.raises(QueryError, match='some of "idle", "active"'):
        asked("count").under(CHAIN)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (asked("mode"), "--query must be one of count"),
        (asked("count", states="active", size=3), "--size goes with mean.*, not with count"),
        (asked("sum", bounds=(0.0, 1.0), states="a"), "--states goes with count.*, not with sum"),
        (asked("sum"), "a sum needs --bounds LOW HIGH"),
    ],
)
def test_what_does_not_go_together_is_refused(question: Question, said: str) -> None:
    with pytest.raises(QueryError, match=said):
        question.under(CHAIN)
