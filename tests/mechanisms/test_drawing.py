"""Where OpenDP is called: its failures are ours, and an environment that redirects its generator stops everything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from opendp.mod import OpenDPException, UnknownTypeException

from bayesdp import Count, Independent, OddsChain, Session
from bayesdp.cli import run
from bayesdp.errors import NoiseError
from bayesdp.ledger import Ledger
from bayesdp.mechanisms import DiscreteLaplaceMechanism, NoisyMaxMechanism, RandomizedResponseMechanism, require_private
from bayesdp.mechanisms.drawing import by_opendp, require_untouched_generator

REDIRECTING = ["OPENSSL_CONF", "OPENSSL_CONF_INCLUDE"]

BROKEN = """openssl_conf = settings
[settings]
random = generator
[generator]
random = TEST-RAND
"""
"""A configuration of OpenSSL that selects the generator of its own tests, which draws nothing by itself."""


@pytest.fixture(autouse=True)
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in REDIRECTING:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"BAYESDP_ALLOWED_{name}", raising=False)


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (OpenDPException("FailedFunction", "value 7231 is private"), "FailedFunction"),
        (UnknownTypeException("7231"), "UnknownTypeException"),
    ],
)
def test_a_failure_of_opendp_is_ours_and_shows_no_value(failure: Exception, kind: str) -> None:
    def fails() -> None:
        raise failure

    with pytest.raises(NoiseError, match=rf"OpenDP failed \({kind}\): no noise was drawn") as caught:
        by_opendp(fails)
    assert "7231" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_no_other_exception_is_touched() -> None:
    with pytest.raises(ZeroDivisionError):
        by_opendp(lambda: 1 // 0)


@pytest.mark.parametrize("name", REDIRECTING)
def test_nothing_is_drawn_while_the_generator_may_be_another(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    noise, flips = DiscreteLaplaceMechanism(1, 1.0), RandomizedResponseMechanism(1.0)
    selection = NoisyMaxMechanism(1.0, 2)
    monkeypatch.setenv(name, "/etc/other.cnf")
    for draw in (
        lambda: noise.release([1]),
        lambda: flips.release([True]),
        lambda: selection.release([[0, 1]]),
        lambda: require_private(noise),
    ):
        with pytest.raises(NoiseError, match=rf"cannot draw noise while {name} is set to '/etc/other.cnf'"):
            draw()


@pytest.mark.parametrize("name", REDIRECTING)
def test_the_holder_allows_a_setting_by_its_value(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "/etc/other.cnf")
    for wrong in ("1", "", "/etc/OTHER.cnf"):
        monkeypatch.setenv(f"BAYESDP_ALLOWED_{name}", wrong)
        with pytest.raises(NoiseError, match=f"by setting BAYESDP_ALLOWED_{name} to it"):
            require_untouched_generator()
    monkeypatch.setenv(f"BAYESDP_ALLOWED_{name}", "/etc/other.cnf")
    require_untouched_generator()


def test_an_empty_setting_redirects_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENSSL_CONF", "")
    require_untouched_generator()


def test_it_is_refused_before_anything_is_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, table = tmp_path / "budget.db", pl.DataFrame({"t": [1, 2, 3, 4], "s": [0, 1, 0, 1]})
    chain = OddsChain(9, column="s", states=(0, 1)).located(order_by=["t"])
    with Session(table, chain, epsilon=1.0, ledger=ledger, dataset="chain") as session:
        monkeypatch.setenv("OPENSSL_CONF", "/etc/other.cnf")
        for ask in (
            lambda: session.release(Count(equals=1), epsilon=0.1),
            lambda: session.fit(tau=0.1, anyway=True),
            lambda: session.randomize(epsilon=0.1),
        ):
            with pytest.raises(NoiseError, match="cannot draw noise while OPENSSL_CONF is set"):
                ask()
    with Ledger(ledger, create=False) as entries:
        assert "charge" not in [entry.kind for entry in entries.entries()]


def command(tmp_path: Path) -> list[str]:
    """Return a command that releases a count."""
    table = tmp_path / "ill.csv"
    table.write_text("ill\n1\n0\n1\n", encoding="utf-8")
    model = tmp_path / "model.json"
    Independent().save(model)
    question = ["--query", "count", "--column", "ill", "--states", "1", "--dataset", "ill", "--model", str(model)]
    options = [*question, "--epsilon", "0.5", "--budget", "1", "--ledger", str(tmp_path / "budget.db")]
    return ["bayesdp", "release", str(table), *options]


def charged(tmp_path: Path) -> list[str]:
    """Return the kinds of entries of the ledger."""
    if not (tmp_path / "budget.db").exists():
        return []
    with Ledger(tmp_path / "budget.db", create=False) as entries:
        return [entry.kind for entry in entries.entries()]


def release(tmp_path: Path, **environment: str) -> tuple[int, str, list[str]]:
    """Release a count in a process of its own; return the status, stderr and the kinds of entries of the ledger."""
    done = subprocess.run(
        [sys.executable, "-m", *command(tmp_path)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr, charged(tmp_path)


def test_the_command_line_refuses_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENSSL_CONF", "/etc/other.cnf")
    assert run(command(tmp_path)[1:]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "cannot draw noise while OPENSSL_CONF is set" in said
    assert "charge" not in charged(tmp_path)


def test_a_failing_generator_gives_no_answer_but_stays_charged(tmp_path: Path) -> None:
    settings = tmp_path / "openssl.cnf"
    settings.write_text(BROKEN, encoding="utf-8")
    allowed = {"OPENSSL_CONF": str(settings), "BAYESDP_ALLOWED_OPENSSL_CONF": str(settings)}
    status, said, kinds = release(tmp_path, **allowed)
    assert (status, said.count("\n")) == (2, 1)
    assert "OpenDP failed (FailedFunction): no noise was drawn and no answer given" in said
    assert "Traceback" not in said
    assert kinds.count("charge") == 1
    assert "answer" not in kinds


@pytest.mark.slow
def test_a_configuration_that_keeps_the_generator_answers(tmp_path: Path) -> None:
    settings = tmp_path / "openssl.cnf"
    settings.write_text("", encoding="utf-8")
    allowed = {"OPENSSL_CONF": str(settings), "BAYESDP_ALLOWED_OPENSSL_CONF": str(settings)}
    status, said, kinds = release(tmp_path, **allowed)
    assert (status, said) == (0, "")
    assert kinds.count("answer") == 1
