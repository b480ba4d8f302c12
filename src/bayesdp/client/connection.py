"""Requests to a server: repeated where that is safe, polled while a job runs, its errors raised as our own."""

from __future__ import annotations

import os
import random
import ssl
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from bayesdp import __version__
from bayesdp._support import validation
from bayesdp._support.documents import parse
from bayesdp._support.messages import in_python, name_of, param
from bayesdp._support.progress import progress_bar
from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError, MissingDependencyError, RemoteError, received

if TYPE_CHECKING:
    import httpx

__all__ = ["TOKEN", "Connection"]

TOKEN = "BAYESDP_TOKEN"  # noqa: S105 (the name of a variable)
"""The environment variable with the token."""

_TRIES = 6
"""How often a request is sent before its failure is reported."""

_LEAST_PAUSE, _LONGEST_PAUSE = 0.2, 30.0
"""Seconds between two tries, and at most what a server may ask for."""

_POLLING = 5.0
"""Seconds between two questions about a job, at most."""

_LATER, _BETWEEN = {429, 503}, {502, 504}
"""Answers after which a request is sent again: the server cannot take it now, or what is before it could not."""

_JOB = 202

_CONNECTING = 10.0


class Connection:
    """A server at an address, asked in the name of a token. No message, `repr` or exception contains the token.

    `bayesdp.connect` describes the arguments, and what is refused.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        ca: str | Path | None,
        timeout: float,
        insecure: bool,
        transport: httpx.BaseTransport | None,
    ) -> None:
        library = _httpx()
        self.url = _checked_url(url, insecure=insecure)
        secure = self.url.startswith("https:")
        seconds = validation.positive("timeout", timeout)
        self._http: httpx.Client = library.Client(
            headers={"Authorization": f"Bearer {_checked_token(token)}", "User-Agent": f"bayesdp/{__version__}"},
            timeout=library.Timeout(seconds, connect=min(seconds, _CONNECTING)),
            verify=_trusted(ca) if secure else True,
            trust_env=secure,  # else a proxy of the environment would be told the token in the clear
            transport=transport,
        )

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def get(self, kind: str, path: str, **given: Any) -> Mapping[str, Any]:
        """Return the document at a path; `given` are the parameters of the address."""
        return self._understood(self._sent("GET", path, params=given), kind)

    def text(self, path: str, accept: str) -> str:
        """Return the page at a path, in a form such as text/html."""
        response = self._sent("GET", path, headers={"Accept": accept})
        if response.status_code != 200:
            self._understood(response, "page")
        return str(response.text)

    def post(self, kind: str, path: str, body: str, key: str | None = None) -> Mapping[str, Any]:
        """Return the server's answer to a JSON body, that of the job if it becomes one.

        key: what makes the server answer a repeated request as it did the first, and charge it once.
        """
        headers = {"Content-Type": "application/json"} | ({} if key is None else {"Idempotency-Key": key})
        for _ in range(_TRIES):
            response = self._sent("POST", path, content=body.encode(), headers=headers)
            done = self._finished(response) if response.status_code == _JOB else response
            if done is not None:
                return self._understood(done, kind)
        raise RemoteError(f"{self.url} loses the jobs that it starts; ask again later, or ask the holder of the data")

    def _sent(self, method: str, path: str, **given: Any) -> httpx.Response:
        """Return what the server says at last; RemoteError if it cannot be reached."""
        library = _httpx()
        if self._http.is_closed:
            raise InvalidInputError(f"the connection to {self.url} is closed; connect again")
        response: httpx.Response | None = None
        for tried in range(1, _TRIES + 1):
            try:
                response, failure = self._http.request(method, self.url + path, **given), ""
            except library.TransportError as error:
                response, failure = None, str(error) or type(error).__name__
            settled = response is not None and not _passing(response)
            if settled or tried == _TRIES or "CERTIFICATE_VERIFY_FAILED" in failure:
                break
            sleep(_pause(response, tried))
        if response is None:  # raised here, so that no request, which has the token, is its context
            raise _unreachable(self.url, failure)
        return response

    def _finished(self, response: httpx.Response) -> httpx.Response | None:
        """Return the outcome of a job, which may take hours; None if the server does not know the job any more."""
        job = validation.text("job", self._understood(response, "job").get("job"))
        with progress_bar(100, "the server is computing") as done:
            asked = shown = 0
            while response.status_code == _JOB:
                asked += 1
                sleep(min(_pause(response, asked), _POLLING))
                response = self._sent("GET", f"/v1/jobs/{quote(job, safe='')}")
                if response.status_code == _JOB:
                    share = self._understood(response, "job").get("progress")
                    percent = int(100 * share) if isinstance(share, int | float) and 0 <= share <= 1 else shown
                    done(max(0, percent - shown))
                    shown = max(shown, percent)
        return None if response.status_code == 404 else response

    def _understood(self, response: httpx.Response, kind: str) -> Mapping[str, Any]:
        """Return a document of this kind; raises the exception that the server tells of, or RemoteError."""
        document = _document(response)
        if document.get("kind") == "error":
            raise received(document)
        if document.get("kind") != kind or response.status_code not in (200, _JOB):
            raise RemoteError(
                f"{self.url} sent something else than bayesdp's server does (status {response.status_code}, expected "
                f"{kind}); check the address, and that both sides have the same version"
            )
        return document


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise MissingDependencyError(
            "asking a server needs one more package; try: pip install 'bayesdp[client]'"
        ) from None
    return httpx


def _document(response: httpx.Response) -> Mapping[str, Any]:
    """Return the JSON object of a response; an empty one if it has none."""
    try:
        return parse(response.text, "what the server sent")
    except InvalidInputError:
        return {}


def _passing(response: httpx.Response) -> bool:
    """Tell whether the same request may have another answer soon; a server's own 504 is its last word."""
    status = response.status_code
    return status in _LATER or (status in _BETWEEN and _document(response).get("kind") != "error")


def _unreachable(url: str, failure: str) -> RemoteError:
    if "CERTIFICATE_VERIFY_FAILED" in failure:
        return RemoteError(
            f"the certificate of {url} is not trusted ({failure}); name the certificate of its authority: "
            + param("ca", "authority.pem")
        )
    return RemoteError(
        f"{url} cannot be reached ({failure}); if a release was charged meanwhile, asking the same again costs nothing"
    )


def _pause(response: httpx.Response | None, tried: int) -> float:
    """Return how many seconds to wait: what the server asks for, or twice as long each time, and by chance."""
    asked = "" if response is None else response.headers.get("Retry-After", "")
    if asked.isascii() and asked.isdecimal():
        return min(float(asked), _LONGEST_PAUSE)
    return min(_LEAST_PAUSE * 2.0**tried, _LONGEST_PAUSE) * random.uniform(0.5, 1)  # noqa: S311 (no secret)


def _checked_url(url: object, *, insecure: bool) -> str:
    """Return the address of a server without a slash at its end; refuses one over which a token could be read."""
    text = validation.line("url", url)
    try:
        parts = urlsplit(text)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        host = None
    if host is None or parts.scheme not in ("http", "https"):
        raise InvalidInputError(name_of("url") + f" must be like https://data.example.org, not {brief(text)}")
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidInputError(name_of("url") + " must have no user name, no question mark and no number sign")
    if parts.scheme == "http" and not _is_loopback(host) and not insecure:
        raise InvalidInputError(
            f"whoever is between this machine and {host} could read the token and the answers; use https"
            + in_python(", or say insecure=True")
        )
    return text.rstrip("/")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _checked_token(token: object) -> str:
    """Return the token, from the environment if none is given; no message shows it."""
    given = os.environ.get(TOKEN) if token is None else token
    if given is None:
        raise InvalidInputError(
            f"a server needs a token: set {TOKEN}, or give it as "
            + in_python('token="…"', elsewhere=param("token_file"))
        )
    if not isinstance(given, str) or not given.strip() or not all("!" <= character <= "~" for character in given):
        raise InvalidInputError("the " + name_of("token") + " must be a text of letters, digits and signs in one line")
    return given


def _trusted(ca: str | Path | None) -> ssl.SSLContext | bool:
    """Return what certificates are checked against: those of a file, or the usual authorities."""
    if ca is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(ca))
    except (OSError, ValueError) as error:  # an ssl.SSLError is an OSError
        reason = getattr(error, "strerror", None) or "it holds no certificates"
        raise InvalidInputError(f"cannot read the certificates in {ca}: {reason}") from None
