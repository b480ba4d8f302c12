"""Where a command asks: a table that it opens with the holder's options, or a server that has it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from bayesdp._support.validation import escaped
from bayesdp.cli import options
from bayesdp.cli.parameters import (
    Accept,
    Authority,
    BudgetDelta,
    Credibility,
    Dataset,
    FirstBudget,
    Growing,
    HeadsFile,
    LedgerUrl,
    Master,
    Missing,
    Public,
    Responsible,
    Separate,
    ServerUrl,
    SomeData,
    SomeEngine,
    SomeModel,
    TokenFile,
    text_of,
)
from bayesdp.errors import InvalidInputError

if TYPE_CHECKING:
    from bayesdp.client import Remote
    from bayesdp.models import Model

__all__ = ["Opening", "Server", "described", "opening"]


@dataclass(frozen=True)
class Server:
    """The options that name a server: its address, and files with the token, an authority and the last heads."""

    url: str
    token_file: str | None = None
    ca: str | None = None
    heads: str | None = None

    @contextmanager
    def connected(self) -> Iterator[Remote]:
        """Connect to the server; what was seen of its ledgers is kept, by default beside the user's own ledger."""
        from bayesdp.client import connect
        from bayesdp.ledger.location import user_ledger

        token = None if self.token_file is None else _token(self.token_file)
        if self.heads is None:
            heads = user_ledger().with_name("heads.json")
            heads.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        else:
            heads = Path(self.heads)
        with connect(self.url, token, ca=self.ca, heads=heads) as remote:
            yield remote


@dataclass(frozen=True, kw_only=True)
class Opening:
    """The options that say where a data set is: DATA with those of its holder, or a server.

    Each is as it was typed; `dataset` is the name of the data set, in the ledger or on the server.
    """

    data: SomeData = None
    model: SomeModel = None
    dataset: Dataset
    server: ServerUrl = None
    token_file: TokenFile = None
    ca: Authority = None
    heads: HeadsFile = None
    ledger: LedgerUrl = None
    budget: FirstBudget = None
    budget_delta: BudgetDelta = None
    missing: Missing = None
    accept_violated: Accept = None
    by: Responsible = None
    separate_because: Separate = None
    credibility: Credibility = None
    growing: Growing = False
    public: Public = None
    engine: SomeEngine = None
    master: Master = None

    def __post_init__(self) -> None:
        if self.server is None:
            for name in sorted(_REMOTE):
                if getattr(self, name) is not None:
                    raise InvalidInputError(f"{_option(name)} goes with --server")
            if not self.data:
                raise InvalidInputError("DATA is missing, or --server URL to ask a server that has it")
            if self.model is None:
                raise InvalidInputError("--model MODEL.json is missing; only with --server it is not needed")
            return
        kept = {"dataset", "server", *_REMOTE}
        held = [item.name for item in fields(self) if item.name not in kept and getattr(self, item.name)]
        if held:
            raise InvalidInputError(
                f"{', '.join(map(_option, held))} cannot be given with --server: that is for the holder of the data"
            )

    @property
    def inputs(self) -> list[str | Path]:
        """The files that are read, which nothing may overwrite."""
        if not self.data or self.model is None:
            return [path for path in (self.token_file, self.ca, self.heads) if path is not None]
        return [*options.files(*self.data), self.model, options.ledger(self.ledger)]

    def assumed(self) -> Model | None:
        """Return the model; None if the server has it."""
        return None if self.model is None else options.model(self.model)

    @contextmanager
    def opened(self, assumed: Model | None) -> Iterator[Any]:
        """Open a session, or the data set of a server, which has the same methods for an analyst."""
        if self.server is not None:
            with Server(self.server, self.token_file, self.ca, self.heads).connected() as remote:
                yield remote[self.dataset]
            return
        from bayesdp.cli import releasing

        assert self.data is not None
        assert assumed is not None
        limit = None if self.budget is None else options.positive("--budget", self.budget)
        reported: dict[str, Any] = {"missing": self.missing, "accept": self.accept_violated, "by": self.by}
        reported |= {"growing": self.growing, "public": options.columns("--public", self.public)}
        reported |= {"separate_because": self.separate_because}
        reported |= {"credibility": options.credibility(self.credibility)} | options.promised(self.budget_delta)
        place = options.ledger(self.ledger)
        with (
            options.table(self.data, self.engine or "polars", self.master) as table,
            releasing.session(table, assumed, place, self.dataset, limit, **reported) as session,
        ):
            yield session


def opening(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose parameter `place` is replaced by the options of an `Opening`."""
    hints = get_type_hints(Opening, include_extras=True)
    own = [
        Parameter(
            item.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if item.default is MISSING else item.default,
            annotation=hints[item.name],
        )
        for item in fields(Opening)
    ]

    def called(**given: Any) -> None:
        command(place=Opening(**{option.name: given.pop(option.name) for option in own}), **given)

    taken = signature(command, eval_str=True).parameters.values()
    update_wrapper(called, command)
    every = [option for each in taken for option in (own if each.name == "place" else [each])]
    called.__signature__ = Signature([option.replace(kind=Parameter.KEYWORD_ONLY) for option in every])  # type: ignore[attr-defined]
    return called


def described(server: Server, dataset: str | None, answers: bool, as_json: bool) -> str:
    """Return what a server says of its data sets, of one of them, or the answers that it has given about one."""
    if answers and dataset is None:
        raise InvalidInputError("--answers requires --dataset, the data set that they are about")
    with server.connected() as remote:
        if dataset is None:
            names = [{"dataset": name} for name in remote.datasets] if as_json else []
            return escaped(_json({"kind": "datasets", "datasets": names}) if as_json else str(remote))
        if not answers:
            return text_of(remote[dataset].describe(), as_json)
        given = remote[dataset].answers
        listed = [answer.to_dict() for answer in given] if as_json else []
        return escaped(_json({"kind": "answers-so-far", "answers": listed}) if as_json else str(given))


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


_REMOTE = {"token_file", "ca", "heads"}
"""What goes with --server alone."""


def _option(name: str) -> str:
    return "DATA" if name == "data" else f"--{name.replace('_', '-')}"


def _token(path: str) -> str:
    """Return the token in a file; no message shows it."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InvalidInputError(f"cannot read the token in {path}: {reason}") from None
