"""Two tables that differ in one private value: sessions and the command line must print the same about both.

cd benchmarks && python -m attacks.neighbours           # 4,000 pairs in Python, 400 on the command line
cd benchmarks && python -m attacks.neighbours --short   # 50 and 6

Everything is asked of both tables, each with a new ledger: sessions are opened, questions previewed, released, fitted,
randomized and recorded. What is compared is every message, the whole text of every exception with its causes and
attributes, every preview, exit statuses, stderr, and of released answers all but the noisy number and what follows
from it. One thing may differ: that one of the two tables is refused, which SECURITY.md counts as one bit.
"""

from __future__ import annotations

import json
import math
import random
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl

import bayesdp as bdp
from attacks.common import Finding, main, opened
from bayesdp.cli import run
from bayesdp.errors import BayesDPError, RefusedError
from bayesdp.models.layout import ChainLayout, GroupLayout

__all__ = ["attack", "compared", "masked"]

ROWS = 12
REFUSED = RefusedError.__name__

NOISY = {
    "value", "rounded", "interval", "ends", "accuracy", "alpha", "warnings", "timestamp", "head", "column", "text",
    "odds", "model", "learnt", "bound", "statement", "epsilon_total", "epsilon_remaining", "correlation", "printed",
}  # fmt: skip
"""Fields that depend on a noisy number or on the time."""

MODELS: dict[str, Callable[[], bdp.Model]] = {
    "independent": bdp.Independent,
    "chain": lambda: bdp.MarkovChain(
        [[0.7, 0.3], [0.4, 0.6]], column="x", length=ROWS, layout=ChainLayout("t", step=1)
    ),
    "chains": lambda: bdp.MarkovChain([[0.7, 0.3], [0.4, 0.6]], column="x", length=ROWS, layout=ChainLayout("t", "g")),
    "odds": lambda: bdp.OddsChain(9, column="x", states=(0, 1)).located(order_by=["t"]),
    "odds by entity": lambda: bdp.OddsChain(4, column="x", states=(0, 1)).located(order_by=["t"], entity=["g"]),
    "odds by distance": lambda: bdp.OddsSeries([3, 2], additive=True, column="x", states=(0, 1)).located(
        order_by=["t"]
    ),
    "groups": lambda: bdp.ArbitraryGroups(ROWS),
    "kept records": lambda: bdp.ArbitraryGroups(ROWS, group="g", keep=2, order_by="t"),
    "normal groups": lambda: bdp.GaussianGroups(
        correlation=0.3, size=ROWS, column="x", layout=GroupLayout("x", "g", dropped=True)
    ),
}

DROPPED = "normal groups"
"""A model whose fit dropped missing values."""

QUERIES: tuple[bdp.Query, ...] = (
    bdp.Count("x", equals=1),
    bdp.Count("x", isin=[0, 7]),
    bdp.Count("x", equals=1, where="x > 0"),
    bdp.Count("x", equals=1, where="t < 6", public_filter=True),
    bdp.Sum("x", bounds=(0, 10)),
    bdp.Mean("x", bounds=(0, 1)),
    bdp.Mean("x", bounds=(0, 1), where="g = 1", public_filter=True, size=6),
    bdp.Histogram("x", cells=[0, 1]),
    bdp.Proportion("x", equals=1),
    bdp.Variance("x", bounds=(0, 10)),
    bdp.Quantile("x", at=0.5, candidates=range(5)),
    bdp.Count("absent", equals=1),
    bdp.Count("x", equals="text"),
    bdp.Sum("x", bounds=(0, 1e300)),
    bdp.Count("x", equals=1, since=2, until=7),
    bdp.Mean("x", bounds=(0, 1), since=3),
    bdp.Count("x", equals=1, since="2012-10-01"),
    bdp.Histogram("x", cells=[0, 1], until=5, where="g = 1", public_filter=True),
)

DIVIDED: Mapping[str, bdp.Query] = {
    "by parts": bdp.Count("x", equals=1, by="g", by_cells=[0, 1]),
    "by windows": bdp.Mean("x", bounds=(0, 1), by="g", by_cells=[0, 1, 2], since=1),
    "by a private column": bdp.Count("t", equals=1, by="x", by_cells=[0, 1]),
    "by hour": bdp.Count("x", equals=1, by="hour"),
}

ODD_VALUES = (7, -1, None, math.inf, -math.inf, math.nan, 1e300, 0.5, 2**40)
"""Private values besides 0 and 1."""


@dataclass(frozen=True)
class Pair:
    """Two tables that differ in one private value, and the queries on them."""

    first: Mapping[str, Sequence[Any]]
    second: Mapping[str, Sequence[Any]]
    model: str
    query: bdp.Query
    missing: str | None
    engine: str
    delta: float | None


def attack(short: bool, pairs: int | None = None, lines: int | None = None) -> Iterator[Finding]:
    """Draw pairs of tables, and compare all outputs about both."""
    yield compared("sessions", pairs or (50 if short else 4000), _in_sessions)
    yield compared("command line", lines or (6 if short else 400), _typed)


Said = list[tuple[str, str]]
"""The outputs in order: each action with its complete result."""


def compared(name: str, pairs: int, ask: Callable[[Pair, Mapping[str, Sequence[Any]], Path], Said]) -> Finding:
    """Query this many pairs; a difference is a violation, unless it is the refusal of one table."""
    draw = random.Random(pairs)
    finding, bits, refused = Finding(name), 0, 0
    for _ in range(pairs):
        pair = _drawn(draw)
        first, second = (_said(pair, table, ask) for table in (pair.first, pair.second))
        finding.tried += 1
        refused += any(REFUSED in said for _, said in first)
        for one, other in zip(first, second, strict=False):
            if one == other:
                continue
            if (REFUSED in one[1]) != (REFUSED in other[1]):
                bits += 1
            else:
                finding.broken.append(f"{pair}\n--- first\n{one[0]}: {one[1]}\n--- second\n{other[0]}: {other[1]}")
            break
    finding.note = f"{refused} refused in some question; {bits} where only one table was"
    return finding


def _drawn(draw: random.Random) -> Pair:
    """Draw a pair. If missing values are dropped, their places are public and the same in both tables."""
    model, missing = draw.choice(list(MODELS)), draw.choice((None, None, "drop"))
    values: list[Any] = [draw.choice((0, 1)) for _ in range(ROWS)]
    if draw.random() < 0.4:
        values[draw.randrange(ROWS)] = draw.choice(ODD_VALUES)
    place = draw.randrange(ROWS)
    possible = [0, 1, draw.choice(ODD_VALUES), draw.choice(ODD_VALUES)]
    if missing == "drop" or model == DROPPED:
        possible = [value for value in possible if _is_missing(value) == _is_missing(values[place])]
    other = list(values)
    other[place] = draw.choice([value for value in possible if value != values[place]] or [values[place]])
    public = {"t": list(range(ROWS)), "g": [row * 2 // ROWS for row in range(ROWS)]}
    engine = draw.choice(("polars", "lazy", "pandas", "csv", "parquet"))
    tables = ({**public, "x": values}, {**public, "x": other})
    return Pair(*tables, model, draw.choice(QUERIES), missing, engine, draw.choice((None, None, 1e-6)))


def _is_missing(value: Any) -> bool:
    return value is None or math.isnan(value)


def _said(
    pair: Pair, table: Mapping[str, Sequence[Any]], ask: Callable[[Pair, Mapping[str, Sequence[Any]], Path], Said]
) -> Said:
    """Return the outputs about one table, in its own folder, whose name is removed from them."""
    with tempfile.TemporaryDirectory() as folder:
        return [
            (what, re.sub(r" at 0x[0-9a-f]+", "", said.replace(folder, "FOLDER")))
            for what, said in ask(pair, table, Path(folder))
        ]


def _frame(pair: Pair, table: Mapping[str, Sequence[Any]], folder: Path) -> Any:
    """Return the table in the engine of the pair. The type of a column is public, and the same in both."""
    frame = pl.DataFrame(table, schema={"t": pl.Int64, "g": pl.Int64, "x": pl.Float64}, strict=False)
    if pair.engine == "lazy":
        return frame.lazy()
    if pair.engine == "pandas":
        return frame.to_pandas()
    if pair.engine == "csv":
        frame.write_csv(folder / "table.csv")
        return str(folder / "table.csv")
    if pair.engine == "parquet":
        frame.write_parquet(folder / "table.parquet")
        return str(folder / "table.parquet")
    return frame


def _in_sessions(pair: Pair, table: Mapping[str, Sequence[Any]], folder: Path) -> Said:
    """Run every action of a session on the table."""
    said: Said = []

    def tell(what: str, ask: Callable[[], Any]) -> Any:
        """Run one action, and record its result."""
        try:
            done = ask()
        except BayesDPError as error:
            said.append((what, _exception(error)))
            return None
        said.append((what, "" if what == "open" else _document(done)))
        return done

    def open_session() -> bdp.Session:
        optional = {"missing": pair.missing, "delta": pair.delta}
        options = {name: value for name, value in optional.items() if value is not None}
        ledger = folder / "budget.db"
        frame = _frame(pair, table, folder)
        return opened(frame, MODELS[pair.model](), ["t", "g"], dataset="d", epsilon=5.0, ledger=ledger, **options)

    session = tell("open", open_session)
    if session is None:
        return said
    with session:
        said.append(("repr", repr(session)))
        tell("preview", lambda: session.preview(pair.query, epsilon=0.5))
        tell("release", lambda: session.release(pair.query, epsilon=0.5))
        tell("release of accuracy", lambda: session.release(pair.query, alpha=1.0))
        tell("too much", lambda: session.release(pair.query, epsilon=50.0))
        for what, query in DIVIDED.items():
            tell(what, partial(session.release_by, query, epsilon=0.25))
        tell("randomize", lambda: session.randomize(epsilon=0.25))
        tell("record", lambda: session.record(tau=0.01, what="made elsewhere", neighbours="replace"))
        tell("preview of a fit", lambda: session.preview_fit(tau=0.01))
        tell("fit", lambda: session.fit(tau=0.01, anyway=True))
    return said


def _typed(pair: Pair, table: Mapping[str, Sequence[Any]], folder: Path) -> Said:
    """Run commands of the command line."""
    data, model, ledger = folder / "table.csv", folder / "model.json", folder / "budget.db"
    pl.DataFrame(table, schema={"t": pl.Int64, "g": pl.Int64, "x": pl.Float64}, strict=False).write_csv(data)
    MODELS[pair.model]().save(model)
    where = ["--model", str(model), "--dataset", "d", "--ledger", str(ledger)]
    about = ["--query", "sum", "--column", "x", "--bounds", "0", "10"]
    if isinstance(pair.query, bdp.Count):
        about = ["--query", "count", "--column", pair.query.column or "x", "--states", "1"]
    dropped = [] if pair.missing is None else ["--missing", pair.missing]
    command = ["release", str(data), *where, *about, *dropped, "--budget", "5", "--epsilon", "0.5"]
    said: Said = []
    for what, line in (
        ("dry run", [*command, "--dry-run", "--json"]),
        ("release", [*command, "--json"]),
        ("too much", [*command[:-1], "50"]),
        ("record", ["budget", "record", str(data), *where, *dropped, "--tau", "0.01", "--what", "elsewhere"]),
        ("verify", ["budget", "verify", "--ledger", str(ledger)]),
    ):
        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            status = run(line)
        printed = masked(json.loads(out.getvalue())) if "--json" in line and status == 0 else ""
        refused = REFUSED if "the table is refused" in err.getvalue() else ""
        said.append((what, f"{status} {err.getvalue()} {printed} {refused}"))
    return said


def _document(done: Any) -> str:
    """Return a result without the fields that depend on noise."""
    many = done if isinstance(done, tuple | list) else [done]
    shown = [masked(each.to_dict()) if hasattr(each, "to_dict") else type(each).__name__ for each in many]
    return json.dumps(shown, default=repr, sort_keys=True)


def masked(document: Any) -> Any:
    """Return a document without the fields that depend on noise or on the time."""
    if isinstance(document, Mapping):
        return {name: "…" if name in NOISY else masked(value) for name, value in document.items()}
    if isinstance(document, list | tuple):
        return [masked(value) for value in document]
    return document


def _exception(error: BaseException) -> str:
    """Return the texts and all attributes of an exception and its causes."""
    shown = [type(error).__name__, "".join(traceback.format_exception(error))]
    seen: set[int] = set()
    waiting: list[Any] = [error]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, BaseException):
            shown.append(f"{type(thing).__name__}{thing.args!r}")
            waiting += [thing.__cause__, thing.__context__, vars(thing), *thing.args]
        elif isinstance(thing, Mapping):
            waiting += [*thing.keys(), *thing.values()]
        elif isinstance(thing, list | tuple | set | frozenset):
            waiting += list(thing)
        elif hasattr(thing, "__dict__") and not isinstance(thing, type):
            shown.append(repr(thing))
            waiting.append(vars(thing))
        elif thing is not None:
            shown.append(repr(thing))
    return "\n".join(shown)


if __name__ == "__main__":
    sys.exit(main(attack))
