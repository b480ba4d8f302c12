"""After any sequence of operations, a ledger is valid and equals a simple model in Python."""

import itertools
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.ledger import Account, Charge, Ledger, Receipt, State
from bayesdp.rounding import float_above

KEYS = ["count", "sum", "'"]
AMOUNTS = st.floats(min_value=5e-324, max_value=1e300, allow_subnormal=True)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("charge"), st.lists(st.tuples(st.sampled_from(KEYS), AMOUNTS), min_size=1, max_size=3)),
        st.tuples(st.just("answer"), st.integers(0, 9)),
        st.tuples(st.just("budget"), AMOUNTS),
        st.tuples(st.just("fail"), st.none()),
    ),
    max_size=15,
)


class Expected:
    """What a ledger's account should say."""

    def __init__(self, budget: float) -> None:
        self.budget = budget
        self.totals: dict[str, Fraction] = {}
        self.answers: dict[str, list[Any]] = {key: [] for key in KEYS}
        self.open: list[tuple[str, Receipt]] = []
        self.receipts: list[Receipt] = []

    def check(self, state: State) -> None:
        assert state.budget == self.budget
        assert {total.key: total.tau for total in state.totals} == {
            key: float_above(tau) for key, tau in self.totals.items()
        }
        assert [total.key for total in state.totals] == list(self.totals)
        assert state.charges == len(self.receipts)
        for key in KEYS:
            assert state.answers(key) == tuple(self.answers[key][-1:]), "of equal ones the newest is the best"


def step(account: Account, ledger: Ledger, expected: Expected, name: str, argument: Any) -> None:
    if name == "charge":
        charges = tuple(Charge(key, key, {"key": key}, tau) for key, tau in argument)
        receipts = account.charge(KEYS, lambda state: charges)
        for charge, receipt in zip(charges, receipts, strict=True):
            expected.totals[charge.key] = expected.totals.get(charge.key, Fraction(0)) + Fraction(charge.tau or 0.0)
            expected.open.append((charge.key, receipt))
            expected.receipts.append(receipt)
    elif name == "answer" and expected.open:
        key, receipt = expected.open.pop(argument % len(expected.open))
        assert account.answer(receipt, {"value": receipt.entry}) == account.state().head
        expected.answers[key].append({"value": receipt.entry})
        with pytest.raises(LedgerError):
            account.answer(receipt, {})
    elif name == "budget" and argument != expected.budget:
        if argument < expected.budget:
            with pytest.raises(InvalidInputError):
                ledger.raise_budget(account.dataset, argument, reason="r")
            ledger.lower(account.dataset, argument)
        else:
            with pytest.raises(InvalidInputError):
                ledger.lower(account.dataset, argument)
            ledger.raise_budget(account.dataset, argument, reason="r")
        expected.budget = argument
    elif name == "fail":
        with pytest.raises(ZeroDivisionError):
            account.charge((), lambda state: (Charge("count", "count", {"key": "count"}, 1 / 0),))


def interleave(ledger: Ledger, names: list[str], steps: list[tuple[int, tuple[str, Any]]]) -> None:
    accounts = [ledger.account(name, model={}, description={"name": name}, budget=1.0) for name in names]
    expected = [Expected(1.0) for _ in names]
    for place, (name, argument) in steps:
        step(accounts[place], ledger, expected[place], name, argument)
        expected[place].check(accounts[place].state(*KEYS))
    for account, model in zip(accounts, expected, strict=True):
        model.check(account.state(*KEYS))
    heads = [(receipt.entry, receipt.head) for model in expected for receipt in model.receipts]
    assert ledger.verify(heads).problems == ()


TWO_ACCOUNTS = STEPS.flatmap(
    lambda steps: st.tuples(*(st.tuples(st.integers(0, 1), st.just(step)) for step in steps)).map(list)
)


@settings(max_examples=settings().max_examples // 4)
@given(TWO_ACCOUNTS)
def test_any_interleaving_keeps_the_ledger_right(steps: list[tuple[int, tuple[str, Any]]]) -> None:
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "budget.db") as ledger:
        interleave(ledger, ["steps", "heights"], steps)


@pytest.mark.slow
def test_any_interleaving_keeps_a_postgresql_ledger_right(request: pytest.FixtureRequest) -> None:
    numbers = itertools.count()
    with Ledger(request.getfixturevalue("new_database")()) as ledger:

        @settings(max_examples=10)
        @given(TWO_ACCOUNTS)
        def run(steps: list[tuple[int, tuple[str, Any]]]) -> None:
            number = next(numbers)
            interleave(ledger, [f"steps {number}", f"heights {number}"], steps)

        run()
