"""Neighbouring tables behind a server: previews and refusals about both are the same bytes."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from threading import Thread
from typing import Any

import polars as pl
import uvicorn

import bayesdp as bdp
from attacks.neighbours import DIVIDED, MODELS, REFUSED, Pair, masked
from bayesdp.errors import BayesDPError
from bayesdp.server.application import application
from bayesdp.server.configuration import read_configuration
from bayesdp.server.observation import Journal
from bayesdp.server.running import open_service
from bayesdp.server.tokens import TokenFile
from shared.serving import A_LOT, toml
from shared.wire import Said, Sent, Wire, bearer

__all__ = ["NOISY", "over_http", "without_noise"]

NOISY = ("release", "running", "answers", "continues")
"""The kinds of documents with noisy numbers, or with a hash of them."""


def over_http(pair: Pair, table: Mapping[str, Sequence[Any]], folder: Path) -> list[tuple[str, str]]:
    """Ask everything that an analyst can ask about a table; return the answers, in bytes where no noise is in them."""
    said: list[tuple[str, str]] = []
    log = StringIO()
    try:
        with _serving(_configuration(pair, table, folder), log) as url, Wire(url) as wire:
            said.append(("start", ""))
            token = TokenFile(folder / "tokens.json").add("ada").token
            for what, sent in _requests(pair, token):
                said.append((what, repr(without_noise(wire.ask(sent)))))
    except BayesDPError as error:
        kind = REFUSED if "the table is refused" in str(error) else type(error).__name__
        said.append(("start", f"{kind}: {error}"))
    said.append(("log", "\n".join(_untimed(line) for line in log.getvalue().splitlines())))
    return said


def without_noise(said: Said) -> Said:
    """Return an answer without the numbers that depend on noise or time, and without their length."""
    document = said.document
    if said.status != 200 or not isinstance(document, Mapping) or document.get("kind") not in NOISY:
        return said
    headers = tuple(header for header in said.headers if header[0] != "content-length")
    return Said(said.status, headers, json.dumps(masked(document), sort_keys=True).encode())


def _configuration(pair: Pair, table: Mapping[str, Sequence[Any]], folder: Path) -> Path:
    """Write a table, its model and what an analyst may ask of it."""
    frame = pl.DataFrame(table, schema={"t": pl.Int64, "g": pl.Int64, "x": pl.Float64}, strict=False)
    data = "table.csv" if pair.engine == "csv" else "table.parquet"
    (frame.write_csv if pair.engine == "csv" else frame.write_parquet)(folder / data)
    MODELS[pair.model]().save(folder / "model.json")
    given = {"missing": pair.missing, "delta": pair.delta}
    dataset = {"data": data, "model": "model.json", "epsilon": 5.0, "public": ["t", "g"]}
    document = {
        "ledger": "ledger.db",
        "limits": A_LOT,
        "datasets": {"d": dataset | {name: value for name, value in given.items() if value is not None}},
        "analysts": {"ada": {"datasets": ["d"], "epsilon_total": 4.0}},
    }
    place = folder / "serve.toml"
    place.write_text(toml(document), encoding="utf-8")
    return place


@contextmanager
def _serving(configuration: Path, log: StringIO) -> Iterator[str]:
    """Serve a configuration from a thread of this process; yield its address."""
    read = read_configuration(configuration)
    with open_service(read) as (service, jobs), socket.create_server(("127.0.0.1", 0)) as listening:
        api = application(service, journal=Journal(log), until_stopped=jobs)
        server = uvicorn.Server(uvicorn.Config(api, log_config=None, access_log=False, server_header=False, ws="none"))
        thread = Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def _requests(pair: Pair, token: str) -> Iterator[tuple[str, Sent]]:
    """Yield everything that is asked, with a name."""
    shown = bearer(token)

    def get(what: str, path: str) -> tuple[str, Sent]:
        return what, Sent(b"GET", f"/v1/datasets{path}".encode(), (shown,))

    def post(what: str, path: str, query: bdp.Query, **target: Any) -> tuple[str, Sent]:
        return what, Sent.post(f"/v1/datasets/d/{path}", {"query": query.to_dict(), **target}, shown)

    yield get("data sets", "")
    yield get("description", "/d")
    yield post("preview", "preview", pair.query, epsilon=0.5)
    yield post("preview of accuracy", "preview", pair.query, alpha=1.0)
    yield post("release", "release", pair.query, epsilon=0.5)
    yield post("release of accuracy", "release", pair.query, alpha=1.0)
    yield post("beyond the allowance", "release", pair.query, epsilon=4.5)
    yield post("too much", "release", pair.query, epsilon=50.0)
    for what, query in DIVIDED.items():
        yield post(what, "release-by", query, epsilon=0.25)
    yield post("running", "running", pair.query, epsilon=0.25, every=3, horizon=4)
    yield get("description afterwards", "/d")
    yield get("answers", "/d/answers")
    yield get("heads", "/d/heads?entry=1&hash=" + "0" * 64)


def _untimed(line: str) -> str:
    """Return a line of the log without times and the request's id."""
    entries = json.loads(line)
    return json.dumps({name: value for name, value in entries.items() if name not in ("time", "seconds", "request")})
