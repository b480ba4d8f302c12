"""The attacks on a server, with tiny numbers: each runs, finds nothing wrong, and would say so if it did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attacks import server_load, server_requests
from attacks.common import Finding
from attacks.neighbours import compared
from attacks.served import serving as serving_samples
from attacks.served_neighbours import over_http, without_noise
from shared import serving
from shared.postgresql import PostgreSQL
from shared.serving import Serving, free_port, toml
from shared.wire import Said, Sent, Wire

pytestmark = pytest.mark.xdist_group("server")


def clean(finding: Finding) -> Finding:
    assert finding.broken == []
    return finding


@pytest.mark.slow
def test_a_crowd_ends_at_the_budget(tmp_path: Path) -> None:
    assert clean(server_load.crowd(tmp_path / "crowd", clients=4, releases=3)).tried == 12


@pytest.mark.slow
def test_a_crowd_ends_at_its_allowance(tmp_path: Path) -> None:
    assert clean(server_load.crowd(tmp_path / "crowd", clients=4, releases=3, allowance=True)).tried == 12


@pytest.mark.slow
def test_data_sets_are_charged_apart(tmp_path: Path) -> None:
    assert clean(server_load.in_parallel(tmp_path / "parallel", datasets=8, releases=2)).tried == 16


@pytest.mark.slow
def test_a_killed_server_charges_once(tmp_path: Path) -> None:
    assert clean(server_load.killed(tmp_path / "kills", times=2, clients=2)).tried == 2


@pytest.mark.slow
def test_a_server_that_is_stopped_answers_its_charges(tmp_path: Path) -> None:
    assert clean(server_load.killed(tmp_path / "stops", times=1, clients=2, gently=True)).tried == 1


@pytest.mark.slow
def test_malformed_requests_are_refused_alike(tmp_path: Path) -> None:
    found = clean(server_requests.fuzzed(tmp_path / "fuzz", number=150))
    assert found.tried == 150
    assert "× 200" in found.note
    assert "× 422" in found.note


@pytest.mark.slow
def test_neighbours_behind_a_server_are_alike() -> None:
    assert clean(compared("neighbours", 6, over_http)).tried == 6


@pytest.mark.slow
def test_every_wrong_token_gets_one_answer(tmp_path: Path) -> None:
    assert clean(server_requests.denied(tmp_path / "denied")).tried > 30


@pytest.mark.slow
def test_slow_and_large_requests_hold_nobody_up(tmp_path: Path) -> None:
    clean(server_requests.held_up(tmp_path / "slow", connections=10, read_seconds=3.0))


@pytest.mark.slow
def test_two_servers_share_an_account(tmp_path: Path) -> None:
    try:
        database = PostgreSQL()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    with database:
        assert clean(server_load.two_servers(tmp_path / "two", database.url, clients=4, releases=2)).tried == 8


@pytest.mark.slow
def test_an_outage_of_the_ledger_charges_nothing(tmp_path: Path) -> None:
    try:
        found = server_load.outage(tmp_path / "outage")
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert clean(found).tried == 3


@pytest.mark.slow
def test_a_server_that_does_not_start_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="there is no data set"), Serving(tmp_path, {}):
        pytest.fail("it started")


@pytest.mark.slow
def test_a_server_stops_when_it_is_told(tmp_path: Path) -> None:
    with serving_samples(tmp_path / "one", {"race": 1.0}) as running:
        assert running.stop() == 0
        with pytest.raises(ConnectionRefusedError), Wire(running.url) as wire:
            wire.ask(Sent(b"GET", b"/health/live"))


def told(status: int, body: bytes) -> Said:
    return Said(status, (("content-type", "application/json"), ("content-length", str(len(body)))), body)


@pytest.mark.parametrize(
    "said",
    [
        told(500, b'{"kind": "error"}'),
        told(422, b'{"kind": "error", "message": "Traceback (most recent call last)"}'),
        told(422, b'{"kind": "error", "message": "see /srv/secret/ledger.db"}'),
        told(404, b"not found"),
    ],
)
def test_what_an_answer_must_not_tell_is_found(said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "free_port", lambda: 1)
    running = Serving(tmp_path, {})
    running.folder = Path("/srv/secret")
    assert list(server_requests.unseemly(said, running))
    assert not list(server_requests.unseemly(told(422, b'{"kind": "error", "message": "no"}'), running))


def test_only_noise_is_left_out_of_what_is_compared() -> None:
    def answers(**entries: Any) -> Said:
        import json

        return told(200, json.dumps({"kind": "release", "answers": [{"value": 3, "epsilon": 0.1, **entries}]}).encode())

    assert without_noise(answers(value=3)) == without_noise(answers(value=4))
    assert without_noise(answers(epsilon=0.1)) != without_noise(answers(epsilon=0.2))
    assert without_noise(told(422, b'{"value": 3}')) != without_noise(told(422, b'{"value": 4}'))


def test_a_configuration_is_written_as_toml() -> None:
    import tomllib

    document = {"ledger": 'a"b', "server": {"port": 1}, "datasets": {"d": {"public": ["t"], "epsilon": 1e6}}}
    assert tomllib.loads(toml(document)) == document


def test_ports_are_free_and_not_given_by_chance() -> None:
    assert all(10_000 <= free_port() < 32_000 for _ in range(20))
