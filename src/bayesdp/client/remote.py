"""Data sets on a server, with the methods of a session that an analyst may call."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar
from urllib.parse import quote

from bayesdp._support import validation
from bayesdp._support.display import Displayed, PrintedTable, Section, lines
from bayesdp._support.documents import canonical
from bayesdp._support.messages import name_of
from bayesdp._support.validation import brief
from bayesdp.accuracy import BETA
from bayesdp.client.connection import Connection
from bayesdp.client.description import KIND as DATASET
from bayesdp.client.description import Description
from bayesdp.client.heads import Head, Heads
from bayesdp.errors import BayesDPError, InvalidInputError, LedgerError, MissingDependencyError, RemoteError
from bayesdp.queries import Query
from bayesdp.queries.windows import Every
from bayesdp.session.answer import Answer
from bayesdp.session.answers import Answers, check_single, divided_by
from bayesdp.session.preview import KIND as PREVIEW
from bayesdp.session.preview import Preview
from bayesdp.session.releases import Releases
from bayesdp.session.running_totals import RUNNING, RunningTotals

if TYPE_CHECKING:
    import httpx

__all__ = ["Remote", "RemoteDataset", "connect"]

T = TypeVar("T")

_FORMS = {"markdown": "text/markdown", "html": "text/html"}


def connect(
    url: str,
    token: str | None = None,
    *,
    ca: str | Path | None = None,
    timeout: float = 60.0,
    insecure: bool = False,
    heads: str | Path | None = None,
    transport: httpx.BaseTransport | None = None,
) -> Remote:
    """Return the data sets of a server (`bayesdp serve`) that this token may ask. Nothing is sent yet.

    url:       the address, such as "https://data.example.org".
    token:     the token from the holder of the data; by default the one in the environment variable BAYESDP_TOKEN.
    ca:        a file with the certificate of the authority that the server's own certificate was made by; by default
               the usual authorities are trusted. Certificates are always checked.
    timeout:   how many seconds to wait for each answer of the server; what takes longer becomes a job there, whose
               progress is shown.
    insecure:  allow an address that begins with http: and is not this machine. The token can then be read on its way.
    heads:     a file that keeps the last head of each ledger that was seen, so that the next process, too, notices a
               ledger that was replaced or restored from an old back-up. By default it is kept in memory.
    transport: how requests are carried out, as httpx has it; by default over the network.

    A lost connection is repeated a few times. Each release has a random key, so that it is charged once however often
    it is repeated. Needs httpx (`pip install 'bayesdp[client]'`, or `pip install bayesdp-client`).

    Raises InvalidInputError for an address, a token or a file that cannot be used, MissingDependencyError without
    httpx.

    >>> connect("https://data.example.org", token="k5Qw")["steps-2012"]
    <RemoteDataset 'steps-2012' at https://data.example.org>
    """
    connection = Connection(url, token, ca=ca, timeout=timeout, insecure=insecure, transport=transport)
    return Remote(connection, Heads(heads))


class Remote(Displayed):
    """A server's data sets; `remote["steps-2012"]` is one of them. `bayesdp.connect` makes it."""

    def __init__(self, connection: Connection, heads: Heads) -> None:
        self._connection = connection
        self._heads = heads
        self._known: dict[str, RemoteDataset] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of the data sets that may be asked, from the server."""
        listed = validation.items("datasets", self._connection.get("datasets", "/v1/datasets").get("datasets", ()))
        named = (validation.mapping("a data set", entry).get("dataset") for entry in listed)
        return tuple(validation.text("dataset", name) for name in named)

    def __iter__(self) -> Iterator[str]:
        return iter(self.datasets)

    def __getitem__(self, dataset: str) -> RemoteDataset:
        if dataset not in self._known:
            self._known[dataset] = RemoteDataset(self._connection, self._heads, validation.line("dataset", dataset))
        return self._known[dataset]

    def __repr__(self) -> str:
        return f"<Remote {self._connection.url}>"

    def _printed(self) -> Sequence[Section]:
        try:
            names = self.datasets
        except BayesDPError as error:
            return [lines(str(error))]
        listed = [PrintedTable(["data set"], [[name] for name in names])] if names else lines("You may ask none.")
        return [[*lines(f"Data sets at {self._connection.url}:"), *listed]]


class RemoteDataset(Displayed):
    """One data set on a server: releases as those of a `Session`, with the same arguments and results.

    What belongs to the holder of the data is not here: accepting a violated model, private fits, randomized columns
    and the record of releases made elsewhere.

    Errors of the server are raised as the exceptions that a session raises; RemoteError if it cannot be reached. Every
    release is checked to continue the ledger that was seen last: LedgerError if the ledger was replaced, rewritten or
    restored from an older back-up since. That relies on the server's word about its ledger.
    """

    def __init__(self, connection: Connection, heads: Heads, dataset: str) -> None:
        self._connection = connection
        self._heads = heads
        self._dataset = dataset
        self._path = f"/v1/datasets/{quote(dataset, safe='')}"
        self._unanswered: dict[tuple[str, str], str] = {}

    def describe(self) -> Description:
        """Return what may be known of the data set: columns, public values, the model in words, what remains."""
        return _read(Description.from_dict, self._connection.get(DATASET, self._path))

    def preview(
        self,
        query: Query,
        *,
        epsilon: float | None = None,
        alpha: float | None = None,
        beta: float = BETA,
        share: float | None = None,
        noise: str | None = None,
    ) -> Preview:
        """Return what a release would cost and how accurate it would be, as `Session.preview`. Nothing is charged."""
        body = _body(_asked(query), epsilon=epsilon, alpha=alpha, beta=beta, share=share, noise=noise)
        return _read(Preview.from_dict, self._connection.post(PREVIEW, f"{self._path}/preview", body))

    def release(
        self,
        query: Query,
        *,
        epsilon: float | None = None,
        alpha: float | None = None,
        beta: float = BETA,
        share: float | None = None,
        noise: str | None = None,
    ) -> Answer:
        """Answer a question with noise, and charge for it, as `Session.release`."""
        check_single(query)
        body = _body(_asked(query), epsilon=epsilon, alpha=alpha, beta=beta, share=share, noise=noise)
        answers = _answers(self._charged("release", "release", body, noise))
        if len(answers) != 1:
            raise RemoteError(f"the server sent {len(answers)} answers to one question")
        return answers[0]

    def release_by(
        self,
        query: Query,
        *,
        epsilon: float | None = None,
        alpha: float | None = None,
        beta: float = BETA,
        share: float | None = None,
        noise: str | None = None,
    ) -> Answers:
        """Answer a question for each of its parts or windows, as `Session.release_by`."""
        _ = divided_by(query)
        body = _body(_asked(query), epsilon=epsilon, alpha=alpha, beta=beta, share=share, noise=noise)
        return _read(_divided, self._charged("release", "release-by", body, noise))

    def release_all(
        self,
        queries: Sequence[Query],
        *,
        epsilon: float | None = None,
        alpha: float | None = None,
        beta: float = BETA,
        share: float | None = None,
        noise: str | None = None,
    ) -> Releases[Answer]:
        """Answer several questions in one charge, all or nothing, as `Session.release_all`."""
        listed = [_asked(query)["query"] for query in validation.items("queries", queries)]
        body = _body({"queries": listed}, epsilon=epsilon, alpha=alpha, beta=beta, share=share, noise=noise)
        return _answers(self._charged("release", "release", body, noise))

    def running(
        self,
        query: Query,
        *,
        every: Every,
        horizon: int | None = None,
        epsilon: float | None = None,
        beta: float = BETA,
        share: float | None = None,
        noise: str | None = None,
    ) -> RunningTotals:
        """Return the totals so far, and charge for all of them once, as `Session.running`."""
        asked = {**_asked(query), "every": every} | ({} if horizon is None else {"horizon": horizon})
        body = _body(asked, epsilon=epsilon, beta=beta, share=share, noise=noise)
        _check_numpy("running totals")
        return _read(RunningTotals.from_dict, self._charged(RUNNING, "running", body, noise))

    @property
    def answers(self) -> Releases[Answer]:
        """The answers so far that the server has stored, oldest first."""
        return _answers(self._connection.get("answers", f"{self._path}/answers"))

    def statement(self, answer: Answer | int, form: Literal["markdown", "html"] = "markdown") -> str:
        """Return the server's statement on an answer, one page for the files of a data-protection officer.

        answer: one of this data set, or the entry of the ledger that charged it.
        form:   "markdown" or "html".
        """
        if form not in _FORMS:
            raise InvalidInputError(name_of("form") + f" must be {' or '.join(_FORMS)}, not {brief(form)}")
        entry = validation.natural("answer", answer.entry if isinstance(answer, Answer) else answer, least=0)
        return self._connection.text(f"{self._path}/answers/{entry}/statement", _FORMS[form])

    def __repr__(self) -> str:
        return f"<RemoteDataset {self._dataset!r} at {self._connection.url}>"

    def _printed(self) -> Sequence[Section]:
        try:
            return self.describe()._printed()
        except BayesDPError as error:
            return [lines(str(error))]

    def _charged(self, kind: str, path: str, body: str, noise: str | None) -> Mapping[str, Any]:
        """Return the answer to a request that is charged once, whatever happens to the connection.

        The key of a request without an outcome is used again when the same is asked again.
        """
        if noise != "laplace" and find_spec("numpy") is None and self.describe().delta is not None:
            _check_numpy("answers with Gaussian noise")
        request = path, body
        key = self._unanswered.pop(request, None) or secrets.token_urlsafe(24)
        try:
            document = self._connection.post(kind, f"{self._path}/{path}", body, key)
        except BaseException as error:
            if isinstance(error, RemoteError) or not isinstance(error, BayesDPError):
                self._unanswered[request] = key
            raise
        self._check_continued(_read(Head.from_dict, document.get("head")))
        return document

    def _check_continued(self, head: Head) -> None:
        """Refuse an answer from a ledger that does not continue the one that was seen last."""
        url, name = self._connection.url, self._dataset
        seen = self._heads.last(url, name)
        if seen is not None and seen != head:
            earlier, later = sorted((seen, head), key=lambda one: one.entry)
            asked = {"entry": earlier.entry, "hash": earlier.hash}
            said = self._connection.get("continues", f"{self._path}/heads", **asked)
            now = _read(Head.from_dict, said.get("head"))
            # The answer's entry is at or before today's last one: the ledger grows meanwhile.
            follows = earlier.entry < later.entry <= now.entry and (now.entry > later.entry or now == later)
            if said.get("continues") is not True or not follows:
                raise LedgerError(
                    f"the ledger of {name} at {url} does not continue the one that was seen last, up to its entry "
                    f"{seen.entry}: it was replaced, rewritten, or restored from an older back-up, so its account may "
                    "lack releases. The answer was charged there and is not shown. Ask the holder of the data"
                    + (f"; {self._heads.path} keeps what was seen" if self._heads.path is not None else "")
                )
        self._heads.note(url, name, head)


def _asked(query: object) -> dict[str, Any]:
    if not isinstance(query, Query):
        raise InvalidInputError(f"expected a query such as Count(...), not {brief(query)}")
    return {"query": query.to_dict()}


def _body(asked: Mapping[str, Any], **target: Any) -> str:
    """Return the JSON text of a request, without what was left out; the same request has the same text."""
    return canonical("the request", {**asked, **{name: value for name, value in target.items() if value is not None}})


def _read(read: Callable[[Any], T], document: object) -> T:
    """Read what a server sent; RemoteError if it is not consistent."""
    try:
        return read(document)
    except (BayesDPError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, MissingDependencyError):
            raise
        raise RemoteError(
            f"what the server sent cannot be right: {error}. If it was charged, asking the same again costs nothing"
        ) from None


def _answers(document: Mapping[str, Any]) -> Releases[Answer]:
    return _read(lambda read: Releases(map(Answer.from_dict, validation.items("answers", read["answers"]))), document)


def _divided(document: Mapping[str, Any]) -> Answers:
    return Answers(
        document["by"],
        tuple(map(Answer.from_dict, validation.items("answers", document["answers"]))),
        cells=document.get("cells") or (),
        empty=document.get("empty") or (),
    )


def _check_numpy(what: str) -> None:
    if find_spec("numpy") is None:
        raise MissingDependencyError(f"the accuracy of {what} needs one more package; try: pip install numpy")
