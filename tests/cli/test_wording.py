"""Messages of the command line name options and JSON entries, not parameters of Python."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bayesdp
from bayesdp._support.messages import Message, in_python, name_of, param, params
from bayesdp.cli import run
from bayesdp.cli.wording import worded
from bayesdp.errors import BayesDPError, DoesNotApplyError, InvalidInputError, ModelError

CHAIN: dict[str, Any] = {
    "type": "markov",
    "states": ["idle", "active"],
    "transition": [[0.9, 0.1], [0.3, 0.7]],
    "length": 100,
}
GAUSSIAN: dict[str, Any] = {"type": "gaussian", "correlation": 0.2, "size": 3}
MODELS: dict[str, dict[str, Any]] = {
    "chain": CHAIN,
    "free": CHAIN | {"start": "any"},
    "numbered": CHAIN | {"states": [0, 1], "column": "s", "layout": {"order_by": ["t"]}},
    "gaussian": GAUSSIAN,
    "several": {"type": "any-of", "models": [CHAIN, {"type": "independent"}]},
    "independent": {"type": "independent"},
    "no-size": {"type": "gaussian", "correlation": 0.2},
    "no-correlation": {"type": "gaussian", "size": 2},
    "two-sizes": {"type": "gaussian", "covariance": [[1, 0.1], [0.1, 1]], "size": 2},
    "singular": {"type": "gaussian", "covariance": [[1, 1], [1, 1]]},
    "reducible": {"type": "markov", "transition": [[1, 0], [0, 1]]},
    "two-subjects": CHAIN | {"column": "a", "state": "b"},
    "two-orders": CHAIN | {"layout": {"order_by": ["a", "b"], "step": 1}},
    "three-orders": CHAIN | {"layout": {"order_by": ["a", "b", "c"], "step": 1}},
    "contradiction": CHAIN | {"counts": [[1, 5], [3, 2]]},
    "nothing": {"type": "any-of", "models": []},
    "grouped": GAUSSIAN | {"layout": {"value": ["a", "b"], "group": ["g"]}},
    "laid-out": CHAIN | {"layout": {"order_by": ["t"], "value": ["x"]}},
    "strong": {"type": "network", "odds": 9, "degree": 4},
    "far": {"type": "network", "records": 2, "edges": [[0, 2, 3]]},
    "no-lags": {"type": "gaussian-series", "coefficients": []},
    "text": {"type": "gaussian", "precision": {"records": 1, "entries": [[0, 0, "1"]]}},
    "truth": {"type": "gaussian", "precision": {"records": 1, "entries": [[0, 0, True]]}},
    "memory": {"type": "markov", "memory": 2, "transition": [[[0.9, 0.1], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]]},
    "hour": {"type": "odds-chain", "odds": 9, "unit": 12},
}

COUNT = "--query count --states active"
SUM = "--query sum --bounds 0 1"
FIT = "--model markov --state"
RELEASE = "--query count --states 1 --ledger l.db --dataset d --budget 2"

WRONG = {
    f"leakage no-size.json {COUNT} --tau 1": '"correlation" needs "size"',
    f"leakage no-correlation.json {COUNT} --tau 1": 'give either "correlation" and "size" (a bound on every pair)',
    f"leakage two-sizes.json {COUNT} --tau 1": '"size" goes with "correlation"',
    f"leakage singular.json {COUNT} --tau 1": 'covered by {"type": "arbitrary", "size": 2}',
    f"leakage reducible.json {COUNT} --tau 1": 'use "start": "any"',
    f"leakage two-subjects.json {COUNT} --tau 1": 'give "column" or "state", not both',
    f"leakage two-orders.json {COUNT} --tau 1": '"order_by" names two columns, .* so "step" must be a period',
    f"leakage three-orders.json {COUNT} --tau 1": '"step" is the spacing of one order column, .* "order_by" names 3',
    f"leakage contradiction.json {COUNT} --tau 1": "build the chain from them",
    f"leakage nothing.json {COUNT} --tau 1": "an any-of model needs at least one model",
    f"leakage grouped.json {COUNT} --tau 1": 'leave "group" and "role" out',
    f"leakage laid-out.json {COUNT} --tau 1": """"step", not {'order_by': ['t'], 'value': ['x']}""",
    f"leakage strong.json {COUNT} --tau 1": "^bayesdp: no theorem gives a guarantee here .*strong for it: the degree",
    f"leakage far.json {COUNT} --tau 1": r"edges\[0\] names the position 2, but the last is 1$",
    f"leakage no-lags.json {SUM} --tau 1": 'records that do not depend on one another are "independent"$',
    f"leakage text.json {SUM} --tau 1": '"entries" must be a list of .*, each three numbers$',
    f"leakage truth.json {SUM} --tau 1": '"entries" must be a list of .*, each three numbers$',
    "diagnose memory.json t.csv": "for a chain with a memory of 2 records",
    f"leakage chain.json {COUNT} --tau 0": "--tau must be greater than 0",
    "leakage gaussian.json --query mean --bounds 0 1 --where x>1 --tau 1": "say --public-filter if",
    f"leakage gaussian.json {SUM} --public-filter --tau 1": "--public-filter describes a filter, but there is none; "
    "give --where",
    "calibrate gaussian.json --query mean --bounds 0 1 --epsilon 1": "records: give it as --size N",
    f"calibrate gaussian.json {SUM} --epsilon 1 --draws 5": "--draws goes with --credibility",
    f"calibrate gaussian.json {SUM} --epsilon 1 --credibility 0.9": "leave --credibility out, or cover .* any-of",
    f"calibrate gaussian.json {SUM} --epsilon 1 --beta 2": "--beta must lie strictly",
    f"compare gaussian.json {SUM} --epsilon 1,0": "--epsilon must be greater than 0",
    f"fit gaps.csv {FIT} s --order-by t": "say --missing drop: each",
    f"fit gaps.csv {FIT} s --order-by t --missing maybe": "--missing must be",
    f"fit gaps.csv {FIT} b --order-by t": "breaks the ties to --order-by, or name the entities with --entity",
    f"fit gaps.csv {FIT} b --order-by t,x --step 1": "--order-by names two columns, .* so --step must be a period",
    f"fit gaps.csv {FIT} b --order-by t,x,b --step 1": "--step is the spacing of one .* but --order-by names 3",
    f"fit t.csv {FIT} r --order-by t --step 1": "as --step, or leave --step out",
    f"fit t.csv {FIT} r --order-by t --step 5": "leave --step out",
    f"fit t.csv {FIT} r --order-by r --order-by-text --step 5": "--step needs an order column of numbers or times",
    f"fit t.csv {FIT} r --order-by r": "'r' is text; convert it to dates, or say --order-by-text to sort it as text",
    f"fit t.csv {FIT} r --order-by t --step x": "so --step must be a number",
    f"fit t.csv {FIT} r --order-by t": "use --start any",
    f"fit t.csv {FIT} r --order-by t --start soon": '--start must be "stationary" or "any"',
    f"fit t.csv {FIT} t --order-by t": "give --smoothing, which",
    f"fit t.csv {FIT} r --order-by t --smoothing -1": "--smoothing must be at least 0",
    f"fit t.csv {FIT} size=3,step=4 --order-by t": "cannot read 'size=3,step=4'",
    "fit t.csv --model gaussian --value x": "one value column needs --group",
    "fit t.csv --model gaussian --value x,t --group g": "leave --group and --role out",
    "fit t.csv --model gaussian --value x --group g --role r": "leave --role out",
    "fit t.csv --model gaussian --value x --group g --start any": "--start does not go with --model gaussian",
    f"fit t.xls {FIT} s --order-by t": "read it with pandas.read_excel and save it as .csv or .parquet$",
    f"fit t.xlsx {FIT} s --order-by t": "open it in Excel, and save it again as .xlsx$",
    f"fit t.db {FIT} s --order-by t": "name a table in it, sqlite:///t.db#table$",
    "leakage gaussian.json --query median --tau 1": "a median needs --candidates, from 2 to",
    f"fit comma.csv {FIT} s --order-by t": "save the file with decimal points$",
    "diagnose chain.json t.csv": "by --state and --order-by$",
    "diagnose gaussian.json t.csv": "by --value and --group, or",
    "diagnose chain.json t.csv --state r --order-by t,x --step 1": "so --step must be a period",
    "diagnose numbered.json gaps.csv": "say --missing drop",
    "diagnose several.json t.csv": 'a model of type "any-of"',
    f"release gaps.csv --model numbered.json {RELEASE} --epsilon 1": ".",
    f"release t.csv --model numbered.json {RELEASE} --epsilon 1 --where x>1": ".",
    f"release t.csv --model independent.json {RELEASE} --epsilon 1": ".",
    f"release t.csv --model numbered.json {RELEASE.replace('--budget 2', '')} --epsilon 1": "--budget",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wrong")
    for name, document in MODELS.items():
        (place / f"{name}.json").write_text(json.dumps(document))
    truths = [True, False, True, True]
    gaps = {"t": [1, 2, 2, 4], "s": [0, 1, None, 1], "x": [1.0, 2.0, 3.0, 4.0], "b": truths}
    pl.DataFrame(gaps).write_csv(place / "gaps.csv")
    whole = {"t": [1, 3, 5, 8], "s": [0, 1, 0, 1], "r": list("aabb"), "x": [1.0, 2.0, 3.0, 4.0], "g": [1, 1, 1, 1]}
    pl.DataFrame(whole).write_csv(place / "t.csv")
    (place / "comma.csv").write_text("s;t\n0;1,5\n1;2\n")
    (place / "t.xlsx").write_text("")
    return place


PYTHON = re.compile(
    r"""\b\w+=|(?<!")\border_by|_filter\b|\bfrom_\w+|\b(AnyOf|MarkovChain|Network|OddsChain|\w+Groups|Session)\b|\.fit\b"""
)


@pytest.mark.parametrize(("line", "said"), WRONG.items())
def test_wrong_command_lines_are_answered_in_options(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    monkeypatch.chdir(folder)
    assert run(line.split()) == 2
    printed = capsys.readouterr().err.removesuffix("\n")
    assert re.search(said if "{" not in said and "(" not in said else re.escape(said), printed), printed
    assert "\n" not in printed
    quoted = re.sub(r"'[^']*'", "", printed)
    assert not PYTHON.search(quoted.replace('found ","', "").replace('after "size=3"', "")), printed


@pytest.mark.parametrize(
    "line",
    [
        f"leakage gaussian.json {SUM} --where x>1 --tau 1",
        f"leakage free.json {COUNT} --tau 1",
        f"leakage hour.json {COUNT} --tau 1",
        f"calibrate free.json {COUNT} --epsilon 1",
        f"compare gaussian.json {SUM} --where x>1 --epsilon 1",
        f"fit t.csv {FIT} r --order-by t --start any",
        "diagnose gaussian.json t.csv --value x,t",
    ],
)
def test_answers_are_written_in_options_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    monkeypatch.chdir(folder)
    assert run(line.split()) == 0
    printed = capsys.readouterr().out
    assert not PYTHON.search(printed), printed


OPTIONS = {
    "step": "--step STEP",
    "missing": "--missing RULE",
    "order_by": "--order-by A,B",
    "bounds": "--bounds LOW HIGH",
    "public_filter": "--public-filter",
    "accept_violated": "--accept-violated REASON",
}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (Message("leave step= out"), "leave step= out"),
        ("leave " + param("step") + " out.", "leave --step out."),
        ("give " + param("size") + " or " + param("gaps", True), 'give "size" or "gaps": true'),
        ("say " + param("start", "any"), 'say "start": "any"'),
        ("say " + param("missing", "drop"), "say --missing drop"),
        ("say " + param("public_filter", True), "say --public-filter"),
        ("give " + param("bounds", like="(low, high)"), "give --bounds LOW HIGH"),
        ("give " + param("accept", like="reason"), "give --accept-violated REASON"),
        ("so " + name_of("step") + " must be 1", "so --step must be 1"),
        (name_of("edges[0]") + " is wrong", "edges[0] is wrong"),
        ("save it" + in_python(", or pass a frame"), "save it"),
        ("by " + in_python("a Session", elsewhere=param("step")), "by --step"),
        (params("{step} goes with {order_by}"), "--step goes with --order-by"),
    ],
)
def test_only_parameters_are_worded(message: Message, expected: str) -> None:
    assert worded(message, OPTIONS) == expected


@pytest.mark.parametrize(
    ("error", "printed"),
    [
        (InvalidInputError("leave " + param("tau") + " out"), "leave --tau out"),
        (DoesNotApplyError("mine", "leave tau= out"), "mine does not apply: leave tau= out"),
        (ModelError(f"{param('tau')} is lost in an f-string"), "tau= is lost in an f-string"),
    ],
)
def test_errors_of_commands_name_options_and_plain_text_stays(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BayesDPError,
    printed: str,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.chdir(folder)
    monkeypatch.setattr(bayesdp, "leakage", refuse)
    assert run(f"leakage chain.json {COUNT} --tau 1".split()) == 2
    assert capsys.readouterr().err == f"bayesdp: {printed}\n"
