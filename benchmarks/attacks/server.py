"""Attacks on `bayesdp serve`: what it charges under load and when it is killed, whom it answers, what refusals tell.

cd benchmarks && python -m attacks.server           # everything in full, on SQLite and PostgreSQL: a quarter of an hour
cd benchmarks && python -m attacks.server --short   # less of everything

Servers are processes of their own on ports of loopback, and are killed at the end. Whatever follows from what a record
holds is compared between two servers, whose tables differ in one private value.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from attacks.common import Finding, main
from attacks.neighbours import compared
from attacks.served_neighbours import over_http
from attacks.server_load import crowd, in_parallel, killed, outage, two_servers
from attacks.server_requests import denied, fuzzed, held_up
from shared.postgresql import PostgreSQL

__all__ = ["attack"]


def attack(short: bool) -> Iterator[Finding]:
    """Run every attack, each on servers of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        crowded = (8, 10) if short else (16, 50)
        yield crowd(folder / "crowd", *crowded)
        yield crowd(folder / "allowance", *crowded, allowance=True)
        yield in_parallel(folder / "parallel", 8, 5 if short else 50)
        yield killed(folder / "kills", 2 if short else 100)
        yield killed(folder / "stops", 1 if short else 10, gently=True)
        yield fuzzed(folder / "fuzz", 200 if short else 5000)
        yield compared("neighbouring tables", 4 if short else 400, over_http)
        yield denied(folder / "denied")
        yield held_up(folder / "slow", 20 if short else 200)
        try:
            database = PostgreSQL()
        except FileNotFoundError:
            yield Finding("two servers on PostgreSQL", note="PostgreSQL is not installed")
            return
        with database:
            yield two_servers(folder / "two", database.url, *((4, 5) if short else (16, 50)))
        yield outage(folder / "outage")


if __name__ == "__main__":
    sys.exit(main(attack))
