"""A PostgreSQL of one's own: it starts, keeps its data while it is stopped, and leaves nothing behind."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from shared import postgresql
from shared.postgresql import PostgreSQL


def test_where_there_is_none_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "_binaries", lambda: None)
    with pytest.raises(FileNotFoundError, match="PostgreSQL is not installed"):
        PostgreSQL()


def test_the_programs_are_found_beside_initdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("initdb", "postgres"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert postgresql._binaries() == tmp_path
    (tmp_path / "postgres").unlink()
    assert postgresql._binaries() != tmp_path


@pytest.mark.slow
def test_data_survives_stop_and_crash_and_only_a_socket_listens() -> None:
    psycopg = pytest.importorskip("psycopg")
    try:
        server = PostgreSQL()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    folder = server.folder
    with server:
        with psycopg.connect(server.url) as connection:
            connection.execute("create table kept (number int)")
            assert connection.execute("show listen_addresses").fetchone() == ("",)
        for number, how in enumerate((signal.SIGINT, signal.SIGQUIT), 1):
            with psycopg.connect(server.url) as connection:
                connection.execute(f"insert into kept values ({number})")
            server.stop(how)
            with pytest.raises(psycopg.OperationalError):
                psycopg.connect(server.url)
            server.start()
        with psycopg.connect(server.url) as connection:
            assert connection.execute("select count(*) from kept").fetchone() == (2,)
    assert not folder.exists()
