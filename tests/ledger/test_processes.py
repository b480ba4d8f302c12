"""Many processes at once, some of them killed: never more is released than was promised."""

import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from bayesdp.errors import BudgetError
from bayesdp.ledger import Account, Charge, Ledger, State
from bayesdp.rounding import exact_sum

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def fork(work: Callable[[], None]) -> int:
    """Run `work` in a forked process that ends with status 0 if nothing was raised; return its id."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(status)


def all_end_well(children: list[int]) -> bool:
    return [os.waitpid(child, 0)[1] for child in children] == [0] * len(children)


PURE, WITH_DELTA = None, {"definition": "approximate", "delta": 1e-6}
each_promise = pytest.mark.parametrize("promise", [PURE, WITH_DELTA], ids=["pure", "with a delta"])
Promise = dict[str, Any] | None


def open_account(ledger: Ledger, budget: float, promise: Promise = PURE, *, at_once: bool = True) -> Account:
    model, description = {"type": "independent"}, {"rows": 9}
    return ledger.account("steps", model=model, description=description, budget=budget, at_once=at_once, loss=promise)


def charge_of(amount: float, promise: Promise) -> Charge:
    """Return a charge of a τ, or of a ρ in an account that promises (ε, δ)."""
    loss = {"definition": "concentrated", "rho": amount}
    cost: Any = {"tau": amount} if promise is PURE else {"loss": loss}
    return Charge("q", "count", {"query": "count"}, **cost)


def spent_of(state: State) -> Fraction:
    """Return the sum of the τ's and ρ's of all totals."""
    return exact_sum(total.tau or dict(total.loss or {})["rho"] for total in state.totals)


def spending(amount: float, promise: Promise = PURE) -> Callable[[State], tuple[Charge, ...]]:
    """Return a decision that charges an amount unless the sum of all would pass the budget."""

    def decide(state: State) -> tuple[Charge, ...]:
        spent = spent_of(state)
        if spent + Fraction(amount) > Fraction(state.budget):
            raise BudgetError(amount, state.budget - float(spent))
        return (charge_of(amount, promise),)

    return decide


def contend(ledger: Ledger, folder: Path, workers: int, charges: int, promise: Promise) -> None:
    """Let forked workers charge at once, twice as much as the budget admits, and look at what happened."""
    admitted = workers * charges // 2
    budget, amount = admitted / 8, 0.125
    account = open_account(ledger, budget, promise)

    def work(number: int) -> None:
        draw, heads, refused = random.Random(number), [], 0
        for _ in range(charges):
            try:
                (receipt,) = account.charge((), spending(amount, promise))
            except BudgetError:
                refused += 1
            else:
                heads.append((receipt.entry, receipt.head))
                if draw.random() < 0.5:
                    account.answer(receipt, {"value": draw.random()})
        (folder / f"{number}.json").write_text(json.dumps([refused, heads]))

    assert all_end_well([fork(lambda number=number: work(number)) for number in range(workers)])  # type: ignore[misc]
    results = [json.loads((folder / f"{number}.json").read_text()) for number in range(workers)]
    heads = [(entry, head) for _, found in results for entry, head in found]
    assert sum(refused for refused, _ in results) == workers * charges - admitted
    assert len({entry for entry, _ in heads}) == len(heads) == admitted == account.state().charges
    assert spent_of(account.state()) == budget
    assert ledger.verify(heads).problems == ()


@each_promise
def test_workers_that_contend_never_overspend(ledger: Ledger, tmp_path: Path, promise: Promise) -> None:
    contend(ledger, tmp_path, workers=4, charges=10, promise=promise)


@pytest.mark.slow
@each_promise
def test_many_workers_that_contend_never_overspend(ledger: Ledger, tmp_path: Path, promise: Promise) -> None:
    contend(ledger, tmp_path, workers=16, charges=50, promise=promise)


@pytest.mark.parametrize("at_once", [True, False])
def test_many_processes_may_create_the_same_ledger(url: str, at_once: bool) -> None:
    moment = time.time() + 0.3

    def work() -> None:
        time.sleep(max(0.0, moment - time.time()))
        with Ledger(url) as ledger:
            open_account(ledger, 2.0, at_once=at_once).charge((), spending(0.125))

    assert all_end_well([fork(work) for _ in range(16)])
    with Ledger(url, create=False) as ledger:
        assert ledger.state("steps").charges == 16
        assert ledger.verify().ok
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        assert list(path.parent.iterdir()) == [path]


def test_a_fork_shares_no_connection(ledger: Ledger) -> None:
    account = open_account(ledger, 10.0)
    account.charge((), spending(0.125))

    def work() -> None:
        for _ in range(5):
            (receipt,) = account.charge((), spending(0.125))
            account.answer(receipt, {"value": 1})

    children = [fork(work) for _ in range(3)]
    work()
    assert all_end_well(children)
    assert account.state().charges == 21
    assert ledger.verify().ok


def test_a_crash_between_charge_and_answer_leaves_the_charge(ledger: Ledger) -> None:
    account = open_account(ledger, 1.0)

    def work() -> None:
        account.charge((), spending(0.75))
        os.kill(os.getpid(), signal.SIGKILL)

    os.waitpid(fork(work), 0)
    assert account.state().totals[0].tau == 0.75
    assert account.answers("q") == ()
    with pytest.raises(BudgetError):
        account.charge((), spending(0.75))
    assert ledger.verify().ok


def test_a_crash_while_deciding_writes_nothing_and_unlocks(ledger: Ledger) -> None:
    account = open_account(ledger, 1.0)

    def decide(state: State) -> tuple[Charge, ...]:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    os.waitpid(fork(lambda: print(account.charge((), decide))), 0)
    assert account.charge((), spending(0.75))[0].entry == 2
    assert ledger.verify().ok


KILLED = 200
ALIVE = 8
AMOUNT = 2.0**-10


@pytest.mark.slow
@each_promise
def test_processes_killed_at_any_moment_never_overspend(url: str, tmp_path: Path, promise: Promise) -> None:
    """Kill processes while they create the ledger, open the account, charge and answer.

    What they would have released is written to a log that is not the ledger: after the charge, before the answer.
    """
    budget = 1.0
    released = os.open(tmp_path / "released", os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def work() -> None:
        account = open_account(Ledger(url), budget, promise)
        while True:
            try:
                (receipt,) = account.charge((), spending(AMOUNT, promise))
            except BudgetError:
                time.sleep(0.01)
                continue
            os.write(released, f"{receipt.entry} {receipt.head}\n".encode())
            account.answer(receipt, {"value": receipt.entry})

    draw = random.Random(7)
    alive: list[tuple[float, int]] = []
    for _ in range(KILLED):
        if len(alive) == ALIVE:
            kill(*alive.pop(0))
        alive.append((time.monotonic() + draw.uniform(0.0, 1.0), fork(work)))
        alive.sort()
    for moment, child in alive:
        kill(moment, child)
    os.close(released)

    lines = [line.split() for line in (tmp_path / "released").read_text().splitlines()]
    heads = [(int(entry), head) for entry, head in lines]
    with Ledger(url) as ledger:
        account = open_account(ledger, budget, promise)
        state = account.state()
        assert 0 < len(heads) <= state.charges, "a release without its charge"
        assert spent_of(state) == state.charges * AMOUNT <= budget
        assert ledger.verify(heads).problems == ()
        answers = ledger.entries("steps", "answer")
        assert {entry.charge for entry in answers} <= {number for number, _ in heads}
        print(f"{state.charges} charges, {len(heads)} released, {len(answers)} answered")
        while account.charge((), lambda state: as_much_as_fits(state, promise)):
            pass
        assert spent_of(account.state()) == budget
        assert ledger.verify(heads).ok
    stray = [path for path in tmp_path.iterdir() if path.name not in {"released", "budget.db"}]
    assert all(path.name.startswith(".bayesdp-") and path.stat().st_mode & 0o077 == 0 for path in stray)


def kill(moment: float, child: int) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL, "it ended before it was killed"


def as_much_as_fits(state: State, promise: Promise) -> tuple[Charge, ...]:
    left = state.budget - float(spent_of(state))
    return (charge_of(left, promise),) if left else ()
