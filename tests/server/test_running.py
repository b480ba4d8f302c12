"""The server as a process, on a real socket of this machine."""

from __future__ import annotations

import datetime
import ipaddress
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from served import CONFIGURATION, COUNT, opened  # type: ignore[import-not-found]

from bayesdp.errors import InvalidInputError, MissingDependencyError
from bayesdp.ledger import Ledger
from bayesdp.server.configuration import Listening, read_configuration
from bayesdp.server.running import _listening, serve
from bayesdp.server.tokens import TokenFile
from shared.postgresql import PostgreSQL

MORE = "\n[server]\nport = 0\n[limits]\nread_seconds = 0.5\nbody = 2000\n"


class Running:
    """A server in another process: its address, a client, and the process."""

    def __init__(self, process: subprocess.Popen[str], address: str, token: str, verify: Any) -> None:
        self.process, self.address, self.token = process, address, token
        headers = {"Authorization": f"Bearer {token}"}
        self.client = httpx.Client(base_url=address, headers=headers, timeout=30, verify=verify)

    def release(self, epsilon: float, **headers: str) -> Any:
        """Return the answer to a release."""
        body = {"query": COUNT, "epsilon": epsilon}
        return self.client.post("/v1/datasets/steps/release", json=body, headers=headers)

    def connected(self) -> socket.socket:
        """Return a connection."""
        host, port = self.address.removeprefix("http://").split(":")
        return socket.create_connection((host, int(port)), timeout=30)

    def stop(self) -> tuple[int, list[dict[str, Any]]]:
        """Stop the server; return its status and its log."""
        self.process.send_signal(signal.SIGTERM)
        _, log = self.process.communicate(timeout=60)
        return self.process.returncode, [json.loads(line) for line in log.splitlines()]


@contextmanager
def running(folder: Path, more: str = MORE, verify: Any = True) -> Iterator[Running]:
    (folder / "config.toml").write_text(CONFIGURATION + more)
    token = TokenFile(read_configuration(folder / "config.toml").tokens).add("ada").token
    command = [sys.executable, "-m", "bayesdp", "serve", str(folder / "config.toml"), "--json"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    try:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        server = Running(process, address, token, verify)
        with server.client:
            yield server
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


@pytest.mark.slow
def test_a_server_answers_limits_and_stops(folder: Path) -> None:
    with running(folder) as server:
        first = server.release(0.25, **{"Idempotency-Key": "k"})
        assert first.status_code == 200
        assert {"server", "x-powered-by"}.isdisjoint(first.headers)
        assert server.client.get("/health/ready").text == "ready\n"
        assert server.client.post("/v1/datasets/steps/release", content=b" " * 3000).status_code == 413

        with server.connected() as slow:  # the head of a request never ends
            slow.sendall(b"GET / HTTP/1.1\r\nHo")
            assert slow.recv(100) == b""
        with server.connected() as slow:  # its body never ends
            head = f"Authorization: Bearer {server.token}\r\nContent-Length: 100\r\n\r\n{{"
            slow.sendall(f"POST /v1/datasets/steps/release HTTP/1.1\r\nHost: x\r\n{head}".encode())
            assert slow.recv(1000).startswith(b"HTTP/1.1 408 ")
        with server.connected() as idle:  # nothing is sent at all
            assert idle.recv(100) == b""
        with server.connected() as odd:
            odd.sendall(b"\x16\x03\x01 what\r\n\r\n")
            assert b"400" in odd.recv(1000)

        assert server.release(0.25, **{"Idempotency-Key": "k"}).content == first.content
        status, log = server.stop()
    assert status == 0
    assert server.token not in json.dumps(log)
    assert {"status": 200, "path": "/v1/datasets/{dataset}/release"}.items() <= log[0].items()
    with Ledger(folder / "budget.db", create=False) as ledger:
        assert ledger.verify().ok
        assert len(ledger.entries("steps", "charge")) == 1


@pytest.mark.slow
def test_a_server_that_is_stopped_finishes_its_answers(folder: Path) -> None:
    with running(folder) as server:
        begun = server.release(0.25, Prefer="respond-async")
        assert begun.status_code == 202
        time.sleep(0.05)
        status, _ = server.stop()
    assert status == 0
    with Ledger(folder / "budget.db", create=False) as ledger:
        charges, answers = (len(ledger.entries("steps", kind)) for kind in ("charge", "answer"))
    assert charges == answers


@pytest.mark.slow
def test_a_server_with_a_certificate_encrypts(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    pem, plain = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "key.pem").write_bytes(key.private_bytes(pem, plain, serialization.NoEncryption()))
    more = MORE.replace("port = 0", 'port = 0\ntls_certificate = "cert.pem"\ntls_key = "key.pem"')
    trusting = ssl.create_default_context(cafile=str(folder / "cert.pem"))
    with running(folder, more, trusting) as server:
        assert server.address.startswith("https://")
        assert server.release(0.25).status_code == 200


@pytest.mark.slow
def test_a_server_outlives_its_ledger_s_server(folder: Path, own_server: PostgreSQL) -> None:
    text = CONFIGURATION.replace("budget.db", own_server.url)
    zero = {"query": {**COUNT, "equals": 0}, "epsilon": 0.25}
    with opened(folder, text) as first, opened(folder, text) as second:
        assert first.release(0.25, Idempotency_Key="a").status_code == 200
        own_server.stop()
        gone = [served.post("release", zero, Idempotency_Key="b") for served in (first, second)]
        assert {(answer.status_code, answer.headers["retry-after"]) for answer in gone} == {(503, "5")}
        assert first.client.get("/health/ready").status_code == 503
        own_server.start()
        assert first.client.get("/health/ready").status_code == 200
        answers = [served.post("release", zero, Idempotency_Key="b") for served in (first, second)]
        assert len({answer.json()["answers"][0]["value"] for answer in answers}) == 1
    with Ledger(own_server.url) as ledger:
        assert len(ledger.entries("steps", "charge")) == 2
        assert ledger.verify().ok


def test_a_port_in_use_is_refused_in_one_line() -> None:
    with _listening(Listening(port=0)) as opened:
        port = opened.getsockname()[1]
        refused = pytest.raises(InvalidInputError, match=f"cannot listen on 127.0.0.1, port {port}: ")
        with refused, _listening(Listening(port=port)):
            pass
    with (
        pytest.raises(InvalidInputError, match=r"cannot listen on nowhere\.invalid"),
        _listening(Listening(host="nowhere.invalid")),
    ):
        pass


def test_a_missing_package_is_named_with_its_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'bayesdp\[server\]'"):
        serve(read_configuration(folder / "config.toml"))
