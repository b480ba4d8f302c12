"""What the holder of the data decides, read from one TOML file. Whatever is wrong is refused by file and line."""

from __future__ import annotations

import ipaddress
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from bayesdp._support import documents, validation
from bayesdp._support.validation import Missing, Scalar, brief, checked_missing
from bayesdp._support.words import listed
from bayesdp.errors import BayesDPError, InvalidInputError
from bayesdp.frames.databases import is_database
from bayesdp.ledger.dataset_names import dataset_name
from bayesdp.models import Model
from bayesdp.models.layout import column_names
from bayesdp.queries import Query
from bayesdp.server.toml_lines import line_of

__all__ = [
    "Analyst",
    "Configuration",
    "DatasetEntry",
    "Limits",
    "Listening",
    "OpenIdConnect",
    "Permission",
    "read_configuration",
]

T = TypeVar("T")
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""The asymmetric algorithms of JSON web tokens: with any other, who can check a token could also make one."""

_LARGEST_FILE = 1024 * 1024


@dataclass(frozen=True)
class DatasetEntry:
    """One data set: where it is, what is assumed about it, what may be spent, and what is public.

    public: the public columns, each with the values that questions may name; None if they may name any.
    checks: the largest number of different checks of its table that questions may lead to; None for the ledger's limit.
    workers: how many questions are answered at a time; each worker opens the table once.
    place:  the file and line where it stands.

    The other fields are those of a `Session`.
    """

    name: str
    data: str | tuple[str, ...] = field(repr=False)
    model: Model
    epsilon: float | None
    delta: float | None
    engine: Literal["polars", "spark"] = "polars"
    master: str | None = None
    missing: Missing | None = None
    accept: str | None = None
    credibility: float | None = None
    growing: bool = False
    separate_because: str | None = None
    public: Mapping[str, tuple[Scalar, ...] | None] = field(default_factory=dict)
    checks: int | None = None
    workers: int = 2
    place: str = field(default="", compare=False)


@dataclass(frozen=True)
class Permission:
    """How much ε may be posted in an analyst's name on a data set, on a day (UTC) and in all; None without a limit."""

    day: float | None = None
    total: float | None = None


@dataclass(frozen=True)
class Analyst:
    """Which data sets an analyst may ask, and which kinds of questions; None for all kinds."""

    name: str
    datasets: Mapping[str, Permission]
    queries: frozenset[str] | None = None

    def may_ask(self, kind: str) -> bool:
        """Tell whether the analyst may ask questions of a kind."""
        return self.queries is None or kind in self.queries


@dataclass(frozen=True)
class Limits:
    """How much anybody may ask of the server.

    requests_per_minute: of one analyst, also in a burst.       body: bytes of a request.
    values:        that one request may list: cells, parts, candidates and questions together.
    concurrency:   requests that are answered at a time.        jobs: releases that one analyst may wait for at a time.
    wait:          seconds after which a release becomes a job. seconds: after which a release is no longer charged.
    read_seconds:  the longest time that reading a request may take.
    """

    requests_per_minute: int = 120
    body: int = 1_000_000
    values: int = 1000
    concurrency: int = 64
    jobs: int = 16
    wait: float = 20.0
    seconds: float = 3600.0
    read_seconds: float = 10.0


@dataclass(frozen=True)
class Listening:
    """Where the server listens, and who may read its health and metrics without a token (`monitoring`)."""

    host: str = "127.0.0.1"
    port: int = 8470
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False
    cors: tuple[str, ...] = ()
    monitoring: tuple[Network, ...] = ()


@dataclass(frozen=True)
class OpenIdConnect:
    """Which JSON web tokens are accepted, and which of their claims is the analyst's name.

    keys: a file with a JSON web key set, or the URL of one.
    """

    issuer: str
    audience: str
    keys: str
    claim: str = "sub"
    algorithms: tuple[str, ...] = ("RS256", "ES256")


@dataclass(frozen=True)
class Configuration:
    """All that the holder of the data decides.

    ledger: the URL of the ledger, with its password.     tokens: the file of the hashes of tokens.
    """

    file: str
    ledger: str = field(repr=False)
    tokens: Path
    datasets: Mapping[str, DatasetEntry]
    analysts: Mapping[str, Analyst]
    limits: Limits
    listening: Listening
    openid: OpenIdConnect | None


def read_configuration(path: str | Path) -> Configuration:
    """Read a configuration; InvalidInputError names the file and the line of what is wrong.

    Paths in it are relative to its folder. Neither tables nor the ledger are opened.
    """
    file = _File.of(path)
    top = _Table(file, (), file.document)
    configuration = Configuration(
        file=str(path),
        ledger=_with_password(top, "ledger", top.required("ledger", validation.line)),
        tokens=top.optional("tokens", file.place, file.folder / "tokens.json"),
        datasets={name: _dataset(name, table) for name, table in top.tables("datasets")},
        analysts={},
        limits=_limits(top.table("limits")),
        listening=_listening(top.table("server")),
        openid=_openid(top.table("openid")) if "openid" in top.entries else None,
    )
    if not configuration.datasets:
        raise top.fault("datasets", "there is no data set to serve; add a table [datasets.NAME]")
    known = configuration.datasets
    analysts = {name: _analyst(name, table, known) for name, table in top.tables("analysts")}
    top.refuse_others()
    return Configuration(**{**vars(configuration), "analysts": analysts})


def _dataset(name: str, table: _Table) -> DatasetEntry:
    checked = table.checked((), lambda: dataset_name(name))
    entry = DatasetEntry(
        name=checked,
        data=table.required("data", lambda key, value: _data(table, key, value)),
        model=table.required("model", lambda key, value: _model(table, value)),
        epsilon=table.optional("epsilon", validation.positive, None),
        delta=table.optional("delta", validation.probability, None),
        engine=table.optional("engine", _one_of("polars", "spark"), "polars"),
        master=table.optional("master", validation.line, None),
        missing=table.optional("missing", lambda key, value: checked_missing(value), None),
        accept=table.optional("accept", validation.line, None),
        credibility=table.optional("credibility", validation.probability, None),
        growing=table.optional("growing", _truth, False),
        separate_because=table.optional("separate_because", validation.line, None),
        public=table.optional("public", _public, {}),
        checks=table.optional("checks", validation.natural, None),
        workers=table.optional("workers", validation.natural, 1 if table.entries.get("engine") == "spark" else 2),
        place=table.place,
    )
    if entry.master is not None and entry.engine != "spark":
        raise table.fault("master", '"master" requires "engine" = "spark"')
    table.refuse_others()
    return entry


def _data(table: _Table, key: str, value: object) -> str | tuple[str, ...]:
    """Return the address of a table in a database, or paths."""
    if isinstance(value, str) and "://" in value:
        written, mark, rest = validation.line(key, value).partition("#")
        return _with_password(table, key, written) + mark + rest if is_database(value) else value
    paths = [value] if isinstance(value, str) else validation.items(key, value)
    if not paths:
        raise InvalidInputError(f'"{key}" is empty; name the files of the table')
    places = tuple(str(table.file.place(key, path)) for path in paths)
    return places[0] if isinstance(value, str) else places


def _model(table: _Table, value: object) -> Model:
    """Return the model of a file, or of an inline table or JSON text."""
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        return Model.load(table.file.place("model", value))
    return Model.from_dict(documents.parse(value, "the model") if isinstance(value, str) else _mapping("model", value))


def _public(key: str, value: object) -> dict[str, tuple[Scalar, ...] | None]:
    """Return public columns: a list of them, or a table with the values of each, `true` for any."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(column_names(key, _items(key, value)))
    column_names(key, list(value))
    return {
        column: None if values is True else tuple(validation.scalar(column, each) for each in _items(column, values))
        for column, values in value.items()
    }


def _analyst(name: str, table: _Table, known: Mapping[str, DatasetEntry]) -> Analyst:
    table.checked((), lambda: validation.line("the name of an analyst", name))
    common = _permission(table)
    datasets: dict[str, Permission] = {}
    if isinstance(table.entries.get("datasets"), Mapping):
        for dataset, inner in table.tables("datasets"):
            own = _permission(inner)
            inner.refuse_others()
            datasets[dataset] = Permission(
                common.day if own.day is None else own.day, common.total if own.total is None else own.total
            )
    else:
        datasets = dict.fromkeys(table.required("datasets", _items), common)
    for dataset in datasets:
        if dataset not in known:
            raise table.fault("datasets", f"there is no data set {brief(dataset)}; there is {listed(list(known))}")
    queries = table.optional("queries", _kinds, None)
    table.refuse_others()
    return Analyst(name, datasets, queries)


def _permission(table: _Table) -> Permission:
    day = table.optional("epsilon_per_day", validation.not_negative, None)
    return Permission(day, table.optional("epsilon_total", validation.not_negative, None))


def _kinds(key: str, value: object) -> frozenset[str]:
    kinds = sorted(kind for kind, query in Query.kinds().items() if not query.made_elsewhere)
    for kind in _items(key, value):
        if kind not in kinds:
            raise InvalidInputError(f'"{key}" may name {", ".join(kinds)}, not {brief(kind)}')
    return frozenset(_items(key, value))


def _limits(table: _Table) -> Limits:
    default = Limits()
    limits = Limits(
        **{
            name: table.optional(name, validation.natural, getattr(default, name))
            for name in ("requests_per_minute", "body", "values", "concurrency", "jobs")
        },
        **{
            name: table.optional(name, validation.positive, getattr(default, name))
            for name in ("wait", "seconds", "read_seconds")
        },
    )
    table.refuse_others()
    return limits


def _listening(table: _Table) -> Listening:
    def port(key: str, value: object) -> int:
        number = validation.natural(key, value, least=0)
        if number > 65535:
            raise InvalidInputError(f'"{key}" must be at most 65535, not {number}')
        return number

    file = table.file
    listening = Listening(
        host=table.optional("host", validation.line, "127.0.0.1"),
        port=table.optional("port", port, 8470),
        tls_certificate=table.optional("tls_certificate", file.existing, None),
        tls_key=table.optional("tls_key", file.existing, None),
        behind_proxy=table.optional("behind_proxy", _truth, False),
        cors=table.optional("cors", _origins, ()),
        monitoring=table.optional("monitoring", _networks, _networks("monitoring", ["127.0.0.0/8", "::1/128"])),
    )
    if (listening.tls_certificate is None) != (listening.tls_key is None):
        raise table.fault("tls_certificate", '"tls_certificate" and "tls_key" go together; give both or neither')
    if not (_is_loopback(listening.host) or listening.tls_certificate or listening.behind_proxy):
        raise table.fault(
            "host",
            f"{brief(listening.host)} can be reached from other machines, and tokens must not travel in the clear: "
            'give "tls_certificate" and "tls_key", or "behind_proxy" = true if a proxy on this address encrypts',
        )
    table.refuse_others()
    return listening


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _networks(key: str, value: object) -> tuple[Network, ...]:
    try:
        return tuple(ipaddress.ip_network(str(network)) for network in _items(key, value))
    except ValueError as error:
        raise InvalidInputError(f'"{key}" must list networks such as "10.0.0.0/8": {error}') from None


def _origins(key: str, value: object) -> tuple[str, ...]:
    origins = tuple(_items(key, value))
    for origin in origins:
        scheme, _, host = origin.partition("://")
        if scheme not in ("http", "https") or not host or "/" in host or "*" in host:
            raise InvalidInputError(f'"{key}" must list origins such as "https://lab.example", not {brief(origin)}')
    return origins


def _openid(table: _Table) -> OpenIdConnect:
    def keys(key: str, value: object) -> str:
        address = validation.line(key, value)
        if address.startswith("https://"):
            return address
        if "://" in address:
            raise InvalidInputError(f'"{key}" must be a file or begin with https://, not {brief(address)}')
        return str(table.file.existing(key, address))

    def algorithms(key: str, value: object) -> tuple[str, ...]:
        named = tuple(_items(key, value))
        if not named or not set(named) <= set(ALGORITHMS):
            raise InvalidInputError(f'"{key}" must be some of {", ".join(ALGORITHMS)}, not {brief(list(named))}')
        return named

    openid = OpenIdConnect(
        issuer=table.required("issuer", validation.line),
        audience=table.required("audience", validation.line),
        keys=table.required("keys", keys),
        claim=table.optional("claim", validation.line, "sub"),
        algorithms=table.optional("algorithms", algorithms, ("RS256", "ES256")),
    )
    table.refuse_others()
    return openid


def _with_password(table: _Table, key: str, address: str) -> str:
    """Return the address of a database with the password of `KEY_password`, which is in the environment or a file."""
    name = "password" if key == "data" else f"{key}_password"
    password = table.optional(name, table.file.secret, None)
    if "://" not in address:
        if password is not None:
            raise table.fault(name, f'"{key}" is a file, which has no password')
        return str(table.file.place(key, address))
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise table.fault(key, f'"{key}" is not the address of a database that can be read') from None
    if url.password is not None or "password" in url.query:
        raise table.fault(
            key, f'"{key}" holds a password; take it out, and give "{name}" = {{ env = "NAME" }} or {{ file = "PATH" }}'
        )
    if url.get_backend_name() in ("sqlite", "duckdb") and url.database:
        url = url.set(database=str(table.file.place(key, url.database)))
    return (url if password is None else url.set(password=password)).render_as_string(hide_password=False)


def _items(key: str, value: object) -> list[Any]:
    if not isinstance(value, list) or not all(validation.is_scalar(item) for item in value):
        raise InvalidInputError(f'"{key}" must be a list, not {brief(value)}')
    return value


def _truth(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidInputError(f'"{key}" must be true or false, not {brief(value)}')
    return value


def _one_of(*names: str) -> Callable[[str, object], Any]:
    def check(key: str, value: object) -> object:
        if value not in names:
            raise InvalidInputError(f'"{key}" must be {" or ".join(names)}, not {brief(value)}')
        return value

    return check


@dataclass(frozen=True)
class _File:
    """The file of a configuration: its name, text and content."""

    name: str
    text: str
    document: Mapping[str, Any]
    folder: Path

    @classmethod
    def of(cls, path: str | Path) -> _File:
        name = str(path)
        try:
            with Path(path).open("rb") as file:
                content = file.read(_LARGEST_FILE + 1)
            if len(content) > _LARGEST_FILE:
                raise InvalidInputError(f"{name} is larger than 1 MiB; expected the configuration of a server")
            text = content.decode()
        except UnicodeDecodeError:
            raise InvalidInputError(f"{name} is not UTF-8 text; expected the configuration of a server") from None
        except OSError as error:
            raise InvalidInputError(f"cannot read {name}: {error.strerror or error}") from None
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InvalidInputError(f"{name}: this is not TOML: {error}") from None
        return cls(name, text, document, Path(path).resolve().parent)

    def place(self, key: str, path: object) -> Path:
        """Return a path, relative to the folder of the configuration."""
        return self.folder / validation.line(key, path)

    def existing(self, key: str, path: object) -> Path:
        """Return the path of a file that is there."""
        place = self.place(key, path)
        if not place.is_file():
            raise InvalidInputError(f'"{key}": there is no file {brief(str(path))}')
        return place

    def secret(self, key: str, value: object) -> str:
        """Return a secret from the environment or from a file; messages name where it should be, and never itself."""
        if not isinstance(value, Mapping) or set(value) not in ({"env"}, {"file"}):
            raise InvalidInputError(f'"{key}" must be {{ env = "NAME" }} or {{ file = "PATH" }}')
        if "file" in value:
            secret = self.existing(key, value["file"]).read_text(encoding="utf-8").strip()
        else:
            secret = os.environ.get(validation.line(key, value["env"]), "")
        if not secret:
            raise InvalidInputError(f'"{key}": {" ".join(map(str, value.values()))} is empty or not set')
        return secret


@dataclass(frozen=True)
class _Table:
    """A table of the configuration, whose entries are taken one by one; what is left over is refused."""

    file: _File
    path: tuple[str, ...]
    entries: Mapping[str, Any]
    _taken: set[str] = field(default_factory=set)

    @property
    def place(self) -> str:
        """The file and the line where the table begins."""
        return f"{self.file.name}:{line_of(self.file.text, self.path)}"

    def fault(self, key: str, problem: str) -> InvalidInputError:
        """Return the error about an entry."""
        return InvalidInputError(f"{self.file.name}:{line_of(self.file.text, (*self.path, key))}: {problem}")

    def checked(self, keys: tuple[str, ...], check: Callable[[], T]) -> T:
        """Return what a check returns; what it refuses is refused by file and line."""
        try:
            return check()
        except BayesDPError as error:
            if str(error).startswith(f"{self.file.name}:"):
                raise
            line = line_of(self.file.text, (*self.path, *keys))
            raise InvalidInputError(f"{self.file.name}:{line}: {error}") from None

    def optional(self, key: str, check: Callable[[str, Any], T], default: T) -> T:
        """Return a checked entry, or the default."""
        self._taken.add(key)
        return self.required(key, check) if key in self.entries else default

    def required(self, key: str, check: Callable[[str, Any], T]) -> T:
        """Return a checked entry that must be given."""
        self._taken.add(key)
        if key not in self.entries:
            where = "this file" if not self.path else f"[{'.'.join(self.path)}]"
            raise self.fault(key, f'{where} needs "{key}"')
        value = self.entries[key]
        return self.checked((key,), lambda: check(key, value))

    def table(self, key: str) -> _Table:
        """Return a table inside of this one, empty if it is not given."""
        inner: Mapping[str, Any] = self.optional(key, _mapping, dict[str, Any]())
        return _Table(self.file, (*self.path, key), inner)

    def tables(self, key: str) -> Iterator[tuple[str, _Table]]:
        """Yield the tables inside of a table, with their names."""
        outer = self.table(key)
        for name in outer.entries:
            yield name, outer.table(name)

    def refuse_others(self) -> None:
        """Refuse the entries that were not taken."""
        for key in self.entries:
            if key not in self._taken:
                known = ", ".join(sorted(self._taken))
                raise self.fault(key, f'"{key}" is unknown here; known are {known}')


def _mapping(key: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInputError(f'"{key}" must be a table, not {brief(value)}')
    return value
