"""Shared by the attacks: the command line, the report, and opening a session."""

from __future__ import annotations

import argparse
import inspect
import multiprocessing
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerContext
from typing import Any

import polars as pl

import bayesdp as bdp
from bayesdp._support.display import table
from bayesdp.ledger import Ledger

__all__ = ["Finding", "main", "opened", "processes", "verified"]

_SHOWN = 5
"""The largest number of violations of one attack that are printed."""


@dataclass
class Finding:
    """What one attack tried, how often, and which promises it saw broken.

    note: what else is worth a line, such as how often something happened that is allowed.
    """

    name: str
    tried: int = 0
    broken: list[str] = field(default_factory=list)
    note: str = ""


def main(attack: Callable[[bool], Iterable[Finding]], arguments: Sequence[str] | None = None) -> int:
    """Run an attack, print a table of its findings, and return the exit status: 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=inspect.getdoc(inspect.getmodule(attack)))
    parser.add_argument("--short", action="store_true", help="less of everything: under 30 seconds")
    begin = time.monotonic()
    findings = list(attack(parser.parse_args(arguments).short))
    rows = [[finding.name, str(finding.tried), str(len(finding.broken)), finding.note] for finding in findings]
    print(table(["attack", "tried", "violations", ""], rows))
    print(f"{time.monotonic() - begin:.0f} s")
    for finding in findings:
        for text in finding.broken[:_SHOWN]:
            print(f"\nVIOLATION ({finding.name}): {text}")
    return int(any(finding.broken for finding in findings))


def opened(frame: object, model: bdp.Model, public: Sequence[str] = (), **options: Any) -> bdp.Session:
    """Open a session with these public columns, if this version of the library has that parameter."""
    if public and "public" in inspect.signature(bdp.Session).parameters:
        options["public"] = list(public)
    return bdp.Session(frame, model, **options)


def processes() -> ForkServerContext:
    """Return a context that starts processes quickly, as copies of one that has imported the library."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["attacks.common"])
    return context


def sample(rows: int = 200) -> pl.DataFrame:
    """Return a table of independent records, each with a public number."""
    return pl.DataFrame({"t": range(rows), "s": [row * 7 % 3 for row in range(rows)]})


def verified(url: str) -> tuple[list[str], list[Any]]:
    """Return the problems of a ledger, and its entries."""
    with Ledger(url, create=False) as ledger:
        return list(ledger.verify().problems), list(ledger.entries())
