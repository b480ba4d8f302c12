"""Plan, charge, draw, store: a crash at any step leaves at most one charge, which is completed once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import polars
import pytest

import bayesdp as bdp
from bayesdp import Count, Sum
from bayesdp.ledger import Account, Ledger
from bayesdp.mechanisms import DiscreteLaplaceMechanism, RandomizedResponseMechanism
from bayesdp.models import ChainLayout
from bayesdp.session import retries
from bayesdp.session.session import Session

FRAME = polars.DataFrame({"t": range(60), "s": [0, 1, 1] * 20})
CHAIN = bdp.MarkovChain([[0.7, 0.3], [0.4, 0.6]], column="s", length=60, layout=ChainLayout("t", step=1))
ODDS = bdp.OddsChain(50, column="s", states=[0, 1], layout=ChainLayout("t", step=1))

Use = Callable[[Session], Any]
KINDS: dict[str, tuple[bdp.Model, Use]] = {
    "release": (CHAIN, lambda session: session.release(Count("s", equals=1), epsilon=0.5)),
    "alpha": (CHAIN, lambda session: session.release(Count("s", equals=1), alpha=40.0)),
    "several": (
        CHAIN,
        lambda session: session.release_all([Count("s", equals=1), Sum("s", bounds=(0, 1))], epsilon=0.5),
    ),
    "fit": (ODDS, lambda session: session.fit(tau=0.05, anyway=True)),
    "randomize": (CHAIN, lambda session: session.randomize(epsilon=0.5)),
    "record": (CHAIN, lambda session: session.record(tau=0.1, what="made elsewhere", neighbours="replace")),
}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no other process: those of these tests are dead."""
    monkeypatch.setattr(retries, "PATIENCE", 0.0)


def opened(folder: Path, model: bdp.Model) -> Session:
    return Session(FRAME, model, dataset="d", epsilon=9.0, ledger=folder / "budget.db")


class Crash(BaseException):
    """An exception that ends a process at once and that no handler catches."""


def crash(*_: object, **__: object) -> Any:
    raise Crash


STEPS: dict[str, list[tuple[type, str]]] = {
    "before the charge": [(Account, "charge_for")],
    "before the draw": [(DiscreteLaplaceMechanism, "release"), (RandomizedResponseMechanism, "release_column")],
    "before the answer is stored": [(Account, "answer")],
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", KINDS)
def test_after_a_crash_the_same_is_charged_once(
    kind: str, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, use = KINDS[kind]
    if (kind, step) == ("record", "before the draw"):
        pytest.skip("nothing is drawn of what was made elsewhere")
    with monkeypatch.context() as patched:
        for owner, name in STEPS[step]:
            patched.setattr(owner, name, crash)
        with opened(tmp_path, model) as session, pytest.raises(Crash):
            use(session)
    with Ledger(tmp_path / "budget.db") as ledger:
        charged = len(ledger.entries(kind="charge"))
        assert charged == (0 if step == "before the charge" else 2 if kind == "several" else 1)
        assert not ledger.entries(kind="answer")
    with opened(tmp_path, model) as session:
        before = session.leaked
        use(session)
        if charged and kind != "fit":  # after a fit, all is converted with what was learnt
            assert session.leaked == before
    with Ledger(tmp_path / "budget.db") as ledger:
        assert (
            len(ledger.entries(kind="charge")) == len(ledger.entries(kind="answer")) == (2 if kind == "several" else 1)
        )
        assert ledger.verify().ok


def test_of_several_answers_those_that_are_missing_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, use = KINDS["several"]
    plain, calls = Account.answer, []

    def second_is_lost(self: Account, *reported: Any) -> str:
        calls.append(reported)
        return plain(self, *reported) if len(calls) == 1 else crash()

    with monkeypatch.context() as patched:
        patched.setattr(Account, "answer", second_is_lost)
        with opened(tmp_path, model) as session, pytest.raises(Crash):
            use(session)
    with opened(tmp_path, model) as session:
        first, second = use(session)
    assert (first.reused, second.reused) == (True, False)
    assert first.tau == second.tau
    with Ledger(tmp_path / "budget.db") as ledger:
        assert [entry.charge for entry in ledger.entries(kind="answer")] == [
            entry.number for entry in ledger.entries(kind="charge")
        ]


@pytest.mark.parametrize(
    "use",
    [
        lambda session: session.release(Count("s", equals=1), epsilon=0.6),
        lambda session: session.release(Count("s", equals=0), epsilon=0.5),
        lambda session: session.release(Sum("s", bounds=(0, 1)), epsilon=0.5),
    ],
)
def test_other_terms_are_charged_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Use) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Account, "answer", crash)
        with opened(tmp_path, CHAIN) as session, pytest.raises(Crash):
            session.release(Count("s", equals=1), epsilon=0.5)
    with opened(tmp_path, CHAIN) as session:
        use(session)
    with Ledger(tmp_path / "budget.db") as ledger:
        assert len(ledger.entries(kind="charge")) == 2


def test_a_budget_that_is_used_up_lets_a_lost_answer_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Account, "answer", crash)
        with opened(tmp_path, CHAIN) as session, pytest.raises(Crash):
            session.release(Count("s", equals=1), epsilon=9.0)
    with opened(tmp_path, CHAIN) as session:
        answer = session.release(Count("s", equals=1), epsilon=9.0)
        assert answer.epsilon_total == pytest.approx(9.0)
        assert session.remaining == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("kind", ["release", "fit", "record"])
def test_one_process_stores_and_the_other_draws_in_vain(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both draw for one charge at the same time; both return what was stored first, and the other draw is not shown."""
    model, use = KINDS[kind]
    with monkeypatch.context() as patched:
        patched.setattr(Account, "answer", crash)
        with opened(tmp_path, model) as session, pytest.raises(Crash):
            use(session)
    both, plain = Barrier(2), Account.answer

    def together(self: Account, *reported: Any) -> str:
        both.wait(60)
        return plain(self, *reported)

    monkeypatch.setattr(Account, "answer", together)

    def complete(_: int) -> Any:
        with opened(tmp_path, model) as session:
            return use(session)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(complete, range(2))
    assert first.to_dict() == second.to_dict()
    with Ledger(tmp_path / "budget.db") as ledger:
        assert len(ledger.entries(kind="charge")) == len(ledger.entries(kind="answer")) == 1


def test_a_process_that_was_slow_returns_what_another_one_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Account.answer
    others: list[Any] = []

    def late(self: Account, *reported: Any) -> str:
        if not others:
            others.append(None)
            with opened(tmp_path, CHAIN) as session:
                others.append(session.release(Count("s", equals=1), epsilon=0.5))
        return plain(self, *reported)

    monkeypatch.setattr(Account, "answer", late)
    with opened(tmp_path, CHAIN) as session:
        assert session.release(Count("s", equals=1), epsilon=0.5) == others[1]


@pytest.mark.parametrize("kind", ["record", "randomize"])
def test_a_second_release_is_charged_while_the_first_is_stored(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each record and each column is a release of its own: one in the making is waited for, and not taken over."""
    model, use = KINDS[kind]
    monkeypatch.setattr(retries, "PATIENCE", 60.0)
    plain, charged = Account.answer, Event()

    def slowly(self: Account, *reported: Any) -> str:
        charged.set()
        time.sleep(0.2)
        return plain(self, *reported)

    monkeypatch.setattr(Account, "answer", slowly)

    def once(number: int) -> Any:
        if number:
            assert charged.wait(60)
        with opened(tmp_path, model) as session:
            return use(session)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(once, range(2))
    assert first.entry != second.entry
    with Ledger(tmp_path / "budget.db") as ledger:
        assert len(ledger.entries(kind="charge")) == len(ledger.entries(kind="answer")) == 2


KILLED = """
import os, signal, sys
sys.path[:0] = {paths!r}
from pathlib import Path
import test_charging as charging
from bayesdp.session import retries

retries.PATIENCE = 0.0
model, use = charging.KINDS[{kind!r}]


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


for owner, name in charging.STEPS[{step!r}]:
    setattr(owner, name, die)
with charging.opened(Path({folder!r}), model) as session:
    use(session)
"""


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", ["release", "several", "fit", "randomize"])
def test_a_killed_process_leaves_what_the_next_one_completes(kind: str, step: str, tmp_path: Path) -> None:
    paths = [str(Path(__file__).parent), *sys.path]
    program = KILLED.format(paths=paths, kind=kind, step=step, folder=str(tmp_path))
    died = subprocess.run([sys.executable, "-c", program], env=dict(os.environ), check=False, capture_output=True)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    model, use = KINDS[kind]
    with opened(tmp_path, model) as session:
        use(session)
    number = 2 if kind == "several" else 1
    with Ledger(tmp_path / "budget.db") as ledger:
        assert len(ledger.entries(kind="charge")) == len(ledger.entries(kind="answer")) == number
        assert ledger.verify().ok
