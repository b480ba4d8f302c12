"""A served table: its configuration, a client, tokens, and the log that is written meanwhile."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars

from bayesdp.server.application import application
from bayesdp.server.configuration import read_configuration
from bayesdp.server.observation import Journal
from bayesdp.server.running import open_service
from bayesdp.server.service import Service
from bayesdp.server.tokens import TokenFile

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it asks for another package than the client of bayesdp uses
    from starlette.testclient import TestClient

__all__ = ["CONFIGURATION", "COUNT", "Served", "Serving", "opened", "write_tables"]

CONFIGURATION = """\
ledger = "budget.db"

[datasets.steps]
data = "steps.csv"
model = { type = "odds-chain", odds = 3.0, states = [0, 1], column = "s" }
epsilon = 5.0
public = { d = ["n", "s"], t = true }

[datasets.other]
data = "other.csv"
model = { type = "independent", column = "s" }
epsilon = 1.0

[analysts.ada]
datasets = ["steps", "other"]
epsilon_per_day = 1.0
epsilon_total = 1.5

[analysts.bob]
datasets = ["steps"]
queries = ["count", "histogram"]
"""

COUNT = {"query": "count", "column": "s", "equals": 1}


def write_tables(folder: Path) -> None:
    """Write the two tables of the configuration."""
    rows = range(60)
    polars.DataFrame(
        {"s": [int(row % 3 == 0) for row in rows], "d": ["ns"[row % 2] for row in rows], "t": list(rows)}
    ).write_csv(folder / "steps.csv")
    polars.DataFrame({"s": [0, 1, 1, 0]}).write_csv(folder / "other.csv")


@dataclass
class Served:
    """What is served: the client, and what the server knows and writes."""

    folder: Path
    client: TestClient
    service: Service
    tokens: TokenFile
    log: io.StringIO
    _issued: dict[str, str] = field(default_factory=dict)

    def token(self, name: str) -> str:
        """Return a token of an analyst, issued once."""
        if name not in self._issued:
            self._issued[name] = self.tokens.add(name).token
        return self._issued[name]

    def headers(self, name: str = "ada", **more: str) -> dict[str, str]:
        """Return the headers of an analyst's request."""
        return {"Authorization": f"Bearer {self.token(name)}", **{k.replace("_", "-"): v for k, v in more.items()}}

    def get(self, path: str, name: str = "ada", **more: str) -> Any:
        """Return the answer to a question about something."""
        return self.client.get(path, headers=self.headers(name, **more))

    def post(self, what: str, body: object, name: str = "ada", dataset: str = "steps", **more: str) -> Any:
        """Return the answer to a question about a data set."""
        content = body if isinstance(body, str | bytes) else json.dumps(body)
        return self.client.post(f"/v1/datasets/{dataset}/{what}", content=content, headers=self.headers(name, **more))

    def release(self, epsilon: float = 0.5, name: str = "ada", query: object = None, **more: str) -> Any:
        """Return the answer to a release."""
        return self.post("release", {"query": query or COUNT, "epsilon": epsilon}, name, **more)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of the log."""
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


Serving = Callable[..., Served]


@contextmanager
def opened(place: Path, text: str) -> Iterator[Served]:
    """Serve a configuration in a folder."""
    (place / "config.toml").write_text(text)
    configuration = read_configuration(place / "config.toml")
    log = io.StringIO()
    with open_service(configuration) as (service, jobs):
        app = application(service, journal=Journal(log), until_stopped=jobs)
        with TestClient(app, client=("127.0.0.1", 50000), raise_server_exceptions=False) as client:
            yield Served(place, client, service, TokenFile(configuration.tokens), log)
