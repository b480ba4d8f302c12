"""Which theorem covers which query under which model, and which engine is tested for what: docs/what-is-covered.md.

    python tools/docs/tables.py     # write the page again

The page is generated: its models are the examples of docs/models.md, its queries and theorems are the registered ones,
and its engines are those of the tests. A test compares the page with the output of this module.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bayesdp import Model, Query, Theorem
from bayesdp.errors import BayesDPError
from bayesdp.theorems.registry import theorems
from bayesdp.theorems.spend import Release

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "what-is-covered.md"
_MODEL_ROW = re.compile(r'^\| `([^`]*)` \| ([^|]*) \| `(\{"type".*\})` \|$', flags=re.MULTILINE)

_OPENING = """\
# What is covered: models, queries, theorems, engines

Use this page to look up which theorem proves a bound for your question under your model. [Models](models.md) explains
what each model assumes, and [theory](theory/README.md) what each theorem proves. Your own model may differ from the
example on this page: `bdp.leakage(model, query, tau=1)` prints the bound of every theorem, or the reason why it does
not apply.

(`python tools/docs/tables.py` generates this page.)
"""

_COVERED = """
## Which theorem covers which query

bayesdp tries every theorem that applies and names the best one. "Every query" includes releases [made
elsewhere](with-other-libraries.md), for which only τ is known.
"""

_THEOREMS = """
## What else theorems cover

A theorem that covers several releases converts all releases on one data set together. A larger unit is one set with
`unit=`: several records of a chain, or a whole group. One adversary is the subject of `leakage(..., target=, known=)`.
The last column numbers the attackers, which are described below the table.
"""

_ENGINES = """
## Which engine is tested for what

Every engine computes every query of bayesdp, to the same integer ([tables and engines](frames.md)). The columns are
tests, which run on the engines with a mark; `make test` runs the fast ones, `make test-all` all.
"""

_NEXT = """
## Next step

[Models and their JSON](models.md) explains the models of the first table. If none of them covers your data, [add one of
your own](extending.md).
"""


@dataclasses.dataclass(frozen=True)
class Example:
    """A form of model as docs/models.md shows it: how to write it, and one example, with numbers for states."""

    typed: str
    model: Model


def examples(page: str) -> list[Example]:
    """Return the models in the table of docs/models.md, in its order."""
    documents = [(typed, json.loads(document)) for typed, _, document in _MODEL_ROW.findall(page)]
    return [
        Example(typed, Model.from_dict({name: value for name, value in document.items() if name != "states"}))
        for typed, document in documents
    ]


def queries() -> list[Query]:
    """Return one query of every built-in kind, about numbers."""
    given: dict[str, Any] = {
        "equals": 1,
        "bounds": (0, 1),
        "size": 100,
        "cells": (0, 1),
        "candidates": (0, 1, 2),
    }
    one_of_each = []
    for cls in Query.kinds().values():
        if cls.__module__.startswith("bayesdp."):
            own = {field.name for field in dataclasses.fields(cls) if field.init}
            fields = {name: value for name, value in given.items() if name in own}
            if "at" in own and cls.kind != "median":
                fields["at"] = (0.25, 0.75)
            one_of_each.append(cls(**fields))
    return one_of_each


def covered(model: Model, queries: Sequence[Query]) -> Iterator[tuple[Theorem, tuple[Query, ...]]]:
    """Yield the theorems that cover some of the queries under a model, each with those it covers."""
    for theorem in theorems():
        found = tuple(query for query in queries if all(_covers(theorem, member, query) for member in model.members))
        if found:
            yield theorem, found


def _covers(theorem: Theorem, model: Model, query: Query) -> bool:
    try:
        model.check_queries((query,))
    except BayesDPError:
        return False
    return theorem.objection(model, (Release(query, 1.0),)) is None


def engines(tests: Path) -> dict[str, dict[str, str]]:
    """Return, for each engine of the tests, the names of its test files with the first line of their docstrings."""
    files: dict[str, dict[str, str]] = {}
    every = _listed(_parsed(tests / "conftest.py"))
    for path in sorted(tests.glob("test_*.py")):
        tree = _parsed(path)
        purpose = (ast.get_docstring(tree) or "").partition("\n")[0]
        for name in (*_engines_of(tree), *(() if _listed(tree) or not _takes_engines(tree) else every)):
            files.setdefault(name, {})[path.stem] = purpose
    return files


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _listed(tree: ast.Module) -> Sequence[str]:
    """Return the engines that a file lists in ENGINES."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ENGINES":
            return tuple(ast.literal_eval(node.value))
    return ()


def _takes_engines(tree: ast.Module) -> bool:
    """Tell whether a test has the parameter `engine` and lists no values for it: those of conftest.py are then used."""
    tests = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"))
    return any(
        "engine" in [argument.arg for argument in test.args.args]
        and not any("parametrize('engine'" in ast.unparse(mark) for mark in test.decorator_list)
        for test in tests
    )


def _engines_of(tree: ast.Module) -> Iterator[str]:
    """Yield the engines that a test file lists in ENGINES, and those it names when it creates a frame."""
    yield from _listed(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "frame_of":
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value


def page() -> str:
    """Return the expected content of docs/what-is-covered.md."""
    every = queries()
    return "".join(
        [
            _OPENING,
            _COVERED,
            _table(("model", "theorem", "queries"), _covered_rows(every)),
            _THEOREMS,
            _theorem_table(),
            _ENGINES,
            _engine_table(),
            _NEXT,
        ]
    )


def _covered_rows(queries: Sequence[Query]) -> Iterator[tuple[str, ...]]:
    for example in examples((ROOT / "docs" / "models.md").read_text(encoding="utf-8")):
        typed = f"`{example.typed}`"
        for theorem, proven in covered(example.model, queries):
            names = "every query" if len(proven) == len(queries) else ", ".join(f"`{query.kind}`" for query in proven)
            yield typed, _linked(theorem), names
            typed = ""


def _theorem_table() -> str:
    attackers = list(dict.fromkeys(theorem.against for theorem in theorems()))
    rows = [
        (
            _linked(theorem),
            _mark(theorem.composes),
            _mark(theorem.larger_units),
            _mark(type(theorem).bound_for is not Theorem.bound_for),
            str(attackers.index(theorem.against) + 1),
        )
        for theorem in theorems()
    ]
    head = ("theorem", "several releases", "larger units", "one adversary", "protects against")
    notes = [f"{place}. {words.removeprefix('and ')}" for place, words in enumerate(attackers, start=1)]
    return _table(head, rows) + "\n" + "\n".join(notes) + "\n"


def _engine_table() -> str:
    files = engines(ROOT / "tests" / "frames")
    purposes = {name: purpose for tests in files.values() for name, purpose in tests.items()}
    head = ("engine", *(f"`{name}`" for name in sorted(purposes)))
    rows = [(f"`{engine}`", *(_mark(name in tests) for name in sorted(purposes))) for engine, tests in files.items()]
    notes = [f"- `{name}`: {purpose}" for name, purpose in sorted(purposes.items())]
    return _table(head, rows) + "\n" + "\n".join(notes) + "\n"


def _linked(theorem: Theorem) -> str:
    return f"[{theorem.name}]({theorem.proof.removeprefix('docs/')})"


def _mark(holds: bool) -> str:
    return "✓" if holds else "–"


def _table(head: Sequence[str], rows: Iterator[tuple[str, ...]] | Sequence[tuple[str, ...]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
