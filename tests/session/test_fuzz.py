"""Sessions asked anything: a sound answer that was charged for, or an exception of our family and no charge."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.errors import BayesDPError
from bayesdp.ledger import Ledger
from bayesdp.session.answer import Answer

TABLE = polars.DataFrame(
    {
        "s": [0, 1, 1, 0, 1, 0],
        "x": [0.5, -3.0, 1e300, 5e-324, -0.0, 7.25],
        "n": [2**62, -(2**62), 0, 1, -1, 3],
        "room": ["hall", "Küche", "", "NA", "'; drop table", "hall"],
        "on": [True, False, True, True, False, False],
    }
)
MODELS: tuple[bdp.Model, ...] = (
    bdp.Independent(),
    bdp.ArbitraryGroups(3),
    bdp.ArbitraryGroups(6),
    bdp.ArbitraryGroups(2, group=["room"]),
    bdp.MarkovChain([[0.7, 0.3], [0.4, 0.6]], column="s", length=6),
    bdp.MarkovChain([[0.7, 0.3], [0.2, 0.8]], state="x > 0", states=[False, True], length=6),
    bdp.GaussianGroups(correlation=0.4, size=3, column="x"),
    bdp.AnyOf(bdp.ArbitraryGroups(2), bdp.MarkovChain([[0.7, 0.3], [0.4, 0.6]], column="s", length=6)),
)

EXTREMES: Any = st.sampled_from(
    [0, 1, -1, 0.1, 1e-9, 1e-300, 5e-324, 1e15, 2.0**53, 1e300, 1.7e308, -1.7e308, math.inf, -math.inf, math.nan, -0.0]
)
NUMBERS: Any = EXTREMES | st.floats() | st.integers(-3, 3) | st.just(10**400)


def mostly(sound: Any, strange: Any) -> Any:
    return st.integers(0, 7).flatmap(lambda dice: strange if dice == 7 else sound)


COLUMNS: Any = mostly(
    st.none() | st.sampled_from(["s", "x", "x > 0"]),
    st.sampled_from(["n", "room", "on", "n>=0", "nothing", "", "s = ", "\ud800"]),
)
FILTERS: Any = mostly(
    st.none() | st.sampled_from(["s = 1", "x > 0", "s > 9"]),
    st.sampled_from(["room != 'hall'", "on", "nothing < 3", "import os", "`"]),
)
VALUES: Any = mostly(
    st.sampled_from([0, 1, False, True, 1.0]), NUMBERS | st.sampled_from(["hall", "", "1", "\ud800", None, 0.5])
)
BOUNDS: Any = mostly(
    st.tuples(st.floats(-1.7e308, 1.7e308), st.floats(-1.7e308, 1.7e308)).map(sorted)
    | st.tuples(st.floats(-10, 0), st.floats(1, 10))
    | (st.integers(-1074, 1023) | st.integers(950, 1023)).map(lambda power: (0.0, 2.0**power)),
    st.tuples(NUMBERS, NUMBERS) | NUMBERS,
)


PARTS: Any = st.fixed_dictionaries(
    {
        "by": mostly(st.sampled_from(["on", "room"]), COLUMNS),
        "by_cells": st.lists(mostly(st.sampled_from([True, False, "hall", "NA"]), VALUES), min_size=1, max_size=2),
    }
)


def _with(kind: Callable[..., bdp.Query], **entries: Any) -> Any:
    plain = st.fixed_dictionaries({"column": COLUMNS, **entries})
    public = {"where": FILTERS, "public_filter": st.booleans()}
    filtered = st.fixed_dictionaries({"column": COLUMNS, **entries, **public})
    in_parts = st.tuples(plain, PARTS).map(lambda both: {**both[0], **both[1]})
    return st.tuples(st.just(kind), mostly(plain, filtered | in_parts))


QUESTIONS: Any = st.one_of(
    _with(bdp.Count, equals=VALUES),
    _with(bdp.Count, isin=st.lists(VALUES, min_size=1, max_size=3, unique=True)),
    _with(bdp.Sum, bounds=BOUNDS),
    _with(bdp.Sum, bounds=BOUNDS, step=mostly(st.integers(-60, 60).map(lambda power: 2.0**power), NUMBERS)),
    _with(bdp.Mean, bounds=BOUNDS, size=mostly(st.sampled_from([None, 6]), NUMBERS)),
    _with(bdp.Histogram, cells=st.lists(VALUES, min_size=1, max_size=4, unique=True)),
)
SOUND: Any = st.sampled_from(
    [
        (bdp.Count, {"column": "s", "equals": 1}),
        (bdp.Count, {"column": "s", "isin": [0, 1]}),
        (bdp.Histogram, {"column": "s", "cells": [0, 1]}),
        (bdp.Sum, {"column": "s", "bounds": (0, 1)}),
    ]
)
TARGETS: Any = st.one_of(
    st.fixed_dictionaries({"epsilon": mostly(st.floats(1e-12, 2), NUMBERS)}),
    st.fixed_dictionaries({"alpha": mostly(st.floats(1, 1e6), NUMBERS), "beta": mostly(st.just(0.05), NUMBERS)}),
    st.fixed_dictionaries({"epsilon": st.floats(1e-3, 2), "beta": mostly(st.floats(1e-300, 0.9), NUMBERS)}),
)


def check(answer: Answer) -> None:
    document = json.loads(answer.to_json())
    assert Answer.from_dict(document) == answer
    assert answer.statement()
    assert all(math.isfinite(document[name]) for name in ("tau", "scale", "alpha", "epsilon", "epsilon_total"))


HALF = settings(max_examples=settings().max_examples // 2)


@HALF
@given(st.sampled_from(MODELS), st.lists(st.tuples(QUESTIONS, TARGETS), min_size=1, max_size=4))
def test_any_question_is_answered_and_charged_or_refused_free(
    model: bdp.Model, asked: list[tuple[tuple[Callable[..., bdp.Query], dict[str, Any]], dict[str, Any]]]
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "b.db"
        with bdp.Session(TABLE, model, epsilon=5.0, ledger=path, dataset="d", public=["room", "on"]) as session:
            for (kind, entries), target in asked:
                before, answered = session.leaked, len(session.history)
                try:
                    query = kind(**entries)
                    session.preview(query, **target)
                except BayesDPError:
                    assert (session.leaked, len(session.history)) == (before, answered)
                    continue
                try:
                    answer = session.release(query, **target)
                except BayesDPError:
                    assert (session.leaked, len(session.history)) == (before, answered)
                    continue
                check(answer)
                assert answer.reused == (len(session.history) == answered)
                assert session.release(query, **target) == answer
                assert before <= session.leaked <= session.budget
                assert session.leaked <= max(before, answer.epsilon_total)
        with Ledger(path) as ledger:
            assert ledger.verify().ok


@HALF
@given(st.sampled_from(MODELS), st.lists(QUESTIONS, max_size=4) | st.lists(SOUND, max_size=3), TARGETS)
def test_questions_asked_together_are_all_answered_or_none(
    model: bdp.Model, asked: list[tuple[Callable[..., bdp.Query], dict[str, Any]]], target: dict[str, Any]
) -> None:
    with (
        TemporaryDirectory() as folder,
        bdp.Session(TABLE, model, epsilon=5.0, ledger=Path(folder) / "b.db", dataset="d") as session,
    ):
        try:
            queries = [kind(**entries) for kind, entries in asked]
            answers = session.release_all(queries, **target)
        except BayesDPError:
            assert (session.leaked, session.history) == (0, ())
            return
        for answer in answers:
            check(answer)
        assert session.history == answers
        spent = session.leaked
        assert session.release_all(queries, **target) == answers
        assert session.leaked == spent <= 5.0
