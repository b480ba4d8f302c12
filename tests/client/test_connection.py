"""Requests to a server: what is repeated, what is not, what is refused before a token is sent, how jobs are polled."""

from __future__ import annotations

import shutil
import ssl
import traceback
from pathlib import Path
from typing import Any
from unittest.mock import patch

import certifi
import httpx
import pytest
from holding import URL, Holder  # type: ignore[import-not-found]

import bayesdp as bdp
from bayesdp._support.progress import listening_to_progress
from bayesdp.client import RemoteDataset
from bayesdp.errors import (
    BayesDPError,
    BudgetError,
    InvalidInputError,
    LedgerError,
    MissingDependencyError,
    NoTheoremAppliesError,
    RemoteError,
)

ON = bdp.Count("on", equals=1)
LOST = httpx.ConnectError("connection refused")


def error(status: int, name: str, message: str, **entries: Any) -> httpx.Response:
    return httpx.Response(status, json={"kind": "error", "error": name, "message": message, **entries})


def busy(status: int = 503, after: str | None = "7") -> httpx.Response:
    headers = {} if after is None else {"Retry-After": after}
    return httpx.Response(status, headers=headers, json={"kind": "error", "error": "LedgerError", "message": "wait"})


@pytest.mark.parametrize(
    "failure",
    [LOST, httpx.ReadTimeout("slow"), busy(), busy(429), httpx.Response(502, text="<html>"), httpx.Response(504)],
    ids=["refused", "slow", "503", "429", "502", "504"],
)
def test_what_may_pass_is_asked_again(switch: RemoteDataset, holder: Holder, failure: Any) -> None:
    holder.failures = [failure] * 5
    assert [switch.release(ON, epsilon=0.5)] == list(holder.session.history)
    assert len(holder.keys) == 6
    assert len(set(holder.keys)) == 1


def test_pauses_are_as_asked_or_grow(switch: RemoteDataset, holder: Holder, pauses: list[float]) -> None:
    holder.failures = [busy(), busy(after="3600"), busy(after="soon"), LOST, LOST]
    switch.describe()
    assert pauses[:2] == [7.0, 30.0]
    assert 0.8 <= pauses[2] <= 1.6
    assert 1.6 <= pauses[3] <= 3.2 <= pauses[4] <= 6.4


def test_it_gives_up_after_six_tries(switch: RemoteDataset, holder: Holder) -> None:
    holder.failures = [LOST] * 9
    with pytest.raises(RemoteError, match=r"cannot be reached \(connection refused\)"):
        switch.describe()
    assert len(holder.requests) == 6
    holder.failures = [busy()] * 9
    with pytest.raises(LedgerError, match=r"^wait$"):
        switch.describe()


def test_a_certificate_that_is_not_trusted_is_asked_once(switch: RemoteDataset, holder: Holder) -> None:
    holder.failures = [httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate")] * 2
    with pytest.raises(RemoteError, match=r"is not trusted.*ca=\"authority\.pem\""):
        switch.describe()
    assert len(holder.requests) == 1


@pytest.mark.parametrize(
    ("response", "kind", "message"),
    [
        (error(504, "TimeLimitError", "it took too long"), BayesDPError, "it took too long"),
        (error(422, "NoTheoremAppliesError", "none", reasons=[["a", "b"]]), NoTheoremAppliesError, "none"),
        (error(500, "RemoteError", "the server failed"), RemoteError, "the server failed"),
        (error(422, "received", "no exception"), RemoteError, "no exception"),
        (error(422, "Any", "nor this"), RemoteError, "nor this"),
        (error(422, "annotations", "nor that"), RemoteError, "nor that"),
        (httpx.Response(422, json={"kind": "error", "error": 3}), RemoteError, "no reason is given"),
        (httpx.Response(200, json={"kind": "other"}), RemoteError, "sent something else"),
        (httpx.Response(500, json={"kind": "dataset"}), RemoteError, "status 500, expected dataset"),
        (httpx.Response(301, headers={"Location": "https://elsewhere.example"}), RemoteError, "status 301"),
        (httpx.Response(200, text="<html>"), RemoteError, "sent something else"),
        (httpx.Response(200, text='{"kind": "dataset", "kind": "dataset"}'), RemoteError, "sent something else"),
        (httpx.Response(200, json=[1]), RemoteError, "sent something else"),
        (httpx.Response(200, json={"kind": "dataset"}), RemoteError, "cannot be right"),
    ],
)
def test_errors_are_those_of_the_server(
    switch: RemoteDataset, holder: Holder, response: httpx.Response, kind: type[Exception], message: str
) -> None:
    holder.failures = [response]
    with pytest.raises(kind, match=message) as raised:
        switch.describe()
    assert type(raised.value) is kind or kind is BayesDPError
    assert len(holder.requests) == 1


def test_public_numbers_come_with_an_error(switch: RemoteDataset, holder: Holder) -> None:
    holder.failures = [error(409, "BudgetError", "spent", requested=1.0, remaining=0.5, difference=0.5)]
    with pytest.raises(bdp.errors.BudgetError) as raised:
        switch.release(ON, epsilon=1.0)
    assert (raised.value.requested, raised.value.remaining, str(raised.value)) == (1.0, 0.5, "spent")
    holder.failures = [error(422, "NoTheoremAppliesError", "none", reasons=[["a", "b"]])]
    with pytest.raises(NoTheoremAppliesError) as refused:
        switch.release(ON, epsilon=1.0)
    assert refused.value.reasons == (("a", "b"),)


def job(progress: float | None = None, status: int = 202) -> httpx.Response:
    return httpx.Response(status, json={"kind": "job", "job": "a/b", "state": "running", "progress": progress})


def test_a_job_is_asked_about_until_it_is_done(switch: RemoteDataset, holder: Holder, pauses: list[float]) -> None:
    done = holder.session.release(ON, epsilon=0.5)
    finished = httpx.Response(200, json={"kind": "release", "answers": [done.to_dict()], "head": holder.head})
    holder.failures = [job()]
    holder.jobs["a/b"] = [job(0.25), busy(), job(None), job(0.75), job(7.0), finished]
    told: list[float] = []
    with listening_to_progress(lambda label, share: told.append(share)):
        assert switch.release(ON, epsilon=0.5) == done
    assert told == [0.0, 0.25, 0.25, 0.75, 0.75]
    assert [str(request.url) for request in holder.requests[1:]] == [f"{URL}/v1/jobs/a%2Fb"] * 6
    assert max(pause for pause in pauses if pause != 7.0) <= 5.0


def test_a_job_may_fail(switch: RemoteDataset, holder: Holder) -> None:
    holder.failures = [job()]
    holder.jobs["a/b"] = [error(409, "BudgetError", "yours is used up", requested=1.0, remaining=0.0)]
    with pytest.raises(BudgetError, match="yours is used up"):
        switch.release(ON, epsilon=0.5)


def test_a_job_lost_in_a_restart_is_asked_for_again(switch: RemoteDataset, holder: Holder) -> None:
    lost = error(404, "RemoteError", "there is no such job")
    holder.failures = [job(), lost]
    answer = switch.release(ON, epsilon=0.5)
    assert list(holder.session.history) == [answer]
    assert len(holder.keys) == 2
    assert len(set(holder.keys)) == 1
    holder.failures = [job(), lost] * 6
    with pytest.raises(RemoteError, match="loses the jobs"):
        switch.release(ON, epsilon=0.7)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://data.example.org", "could read the token"),
        ("http://10.0.0.1:8000", "could read the token"),
        ("http://localhost.example.org", "could read the token"),
        ("http://127.0.0.1.example.org", "could read the token"),
        ("data.example.org", "must be like https://"),
        ("ftp://data.example.org", "must be like https://"),
        ("https://", "must be like https://"),
        ("https://data.example.org:port", "must be like https://"),
        ("https://me:secret@data.example.org", "no user name"),
        ("https://data.example.org/?a=b", "no user name"),
        ("https://data.example.org\n", "url"),
        (3, "url"),
    ],
)
def test_an_address_that_would_tell_the_token_is_refused(url: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        bdp.connect(url, "secret")


@pytest.mark.parametrize("url", ["http://localhost:80/", "http://127.0.0.1:8000", "http://[::1]:8000", URL])
def test_this_machine_and_tls_are_enough(url: str) -> None:
    assert repr(bdp.connect(url, "secret")) == f"<Remote {url.rstrip('/')}>"
    assert "example" in repr(bdp.connect("http://data.example.org", "secret", insecure=True))


def test_no_proxy_is_told_a_token_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example.org:3128")
    monkeypatch.setenv("http_proxy", "http://proxy.example.org:3128")
    with patch("httpx.Client") as client:
        bdp.connect("http://localhost:8000", "secret")
        bdp.connect(URL, "secret")
    assert [made.kwargs["trust_env"] for made in client.call_args_list] == [False, True]


def test_the_token_may_be_in_the_environment(holder: Holder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAYESDP_TOKEN", "secret")
    assert bdp.connect(URL, transport=httpx.MockTransport(holder)).datasets == ("my/switch",)
    monkeypatch.delenv("BAYESDP_TOKEN")
    with pytest.raises(InvalidInputError, match="set BAYESDP_TOKEN"):
        bdp.connect(URL)


@pytest.mark.parametrize("token", ["", " ", "two words", "line\n", "ключ", 3])
def test_a_token_that_is_none_is_refused_and_not_shown(token: Any) -> None:
    with pytest.raises(InvalidInputError) as refused:
        bdp.connect(URL, token)
    assert "two" not in str(refused.value)


def test_no_exception_holds_the_token(switch: RemoteDataset, holder: Holder) -> None:
    holder.failures = [LOST] * 6
    with pytest.raises(RemoteError) as raised:
        switch.release(ON, epsilon=0.5)
    assert raised.value.__context__ is None
    assert "secret" not in "".join(traceback.format_exception(raised.value)) + repr(vars(raised.value)) + repr(switch)


def test_certificates_are_always_checked(tmp_path: Path) -> None:
    authority = tmp_path / "authority.pem"
    shutil.copy(certifi.where(), authority)
    with patch("httpx.Client") as client:
        bdp.connect(URL, "secret")
        bdp.connect(URL, "secret", ca=authority)
    usual, own = (made.kwargs["verify"] for made in client.call_args_list)
    assert usual is True
    assert own.verify_mode == ssl.CERT_REQUIRED
    assert own.check_hostname
    (tmp_path / "empty.pem").touch()
    for name in ("empty.pem", "missing.pem"):
        with pytest.raises(InvalidInputError, match="cannot read the certificates"):
            bdp.connect(URL, "secret", ca=tmp_path / name)


def test_without_httpx_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'bayesdp\[client\]'"):
        bdp.connect(URL, "secret")
