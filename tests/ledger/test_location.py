"""The ledger that is used when none is named."""

import stat
from pathlib import Path

import platformdirs
import polars
import pytest

import bayesdp as bdp
from bayesdp.errors import LedgerError
from bayesdp.ledger import Ledger, default_ledger
from bayesdp.ledger.database import to_be_created


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without a ledger, whose data live in a folder that is not there yet."""
    folder = tmp_path / "share" / "bayesdp"
    monkeypatch.delenv("BAYESDP_LEDGER")
    monkeypatch.setattr(platformdirs, "user_data_path", lambda *arguments, **options: folder)
    return folder


def test_the_variable_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAYESDP_LEDGER", "postgresql://team@host/ledger")
    assert default_ledger() == "postgresql://team@host/ledger"
    for nothing in ("", "  "):
        monkeypatch.setenv("BAYESDP_LEDGER", nothing)
        assert default_ledger() == platformdirs.user_data_path("bayesdp", appauthor=False) / "ledger.db"


def test_no_test_uses_the_ledger_of_a_real_user() -> None:
    assert isinstance(default_ledger(), str)


def test_the_users_ledger_is_made_for_the_user_alone(home: Path) -> None:
    assert default_ledger() == home / "ledger.db"
    assert to_be_created(default_ledger())
    with pytest.raises(LedgerError, match="there is no ledger at"):
        Ledger(default_ledger(), create=False)
    assert not home.exists()
    Ledger(default_ledger()).close()
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "ledger.db").stat().st_mode) == 0o600


def test_no_other_folder_is_made(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAYESDP_LEDGER", str(tmp_path / "mistyped" / "ledger.db"))
    with pytest.raises(LedgerError, match="there is no directory"):
        Ledger(default_ledger())
    assert not home.exists()


def test_a_folder_that_cannot_be_made_is_an_error_of_ours(home: Path) -> None:
    home.parent.write_text("a file where a folder should be")
    with pytest.raises(LedgerError, match="cannot open the ledger"):
        Ledger(default_ledger())


def test_a_session_has_one_account_in_every_folder(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = polars.DataFrame({"s": [0, 1, 1, 0]})
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        with bdp.Session(table, bdp.Independent(), dataset="steps", epsilon=1.0) as session:
            answer = session.release(bdp.Count("s", equals=1), epsilon=0.75)
            assert answer.reused == (folder == "second")
        assert list((tmp_path / folder).iterdir()) == []
    assert (home / "ledger.db").exists()
