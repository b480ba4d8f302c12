import json
import math
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import pytest

from bayesdp.errors import AnsweredError, BudgetError, InvalidInputError, LedgerError
from bayesdp.ledger import Account, Charge, Ledger, Receipt, State, fingerprint
from bayesdp.ledger.database import SCHEMA

MODEL = {"type": "independent"}
DESCRIPTION = {"rows": 100, "columns": ["s"]}
OTHER = {"rows": 101, "columns": ["s"]}
COUNT = {"query": "count", "states": [1]}
NOT_A_NUMBER: Any = "much"


def count(tau: float = 0.5, question: str = "q", **details: object) -> Charge:
    return Charge(question, "count", COUNT, tau, details)


def charged(account: Account, charge: Charge) -> Receipt:
    (receipt,) = account.charge((), lambda state: (charge,))
    return receipt


def seen_in_a_charge(account: Account, *questions: str) -> State:
    states: list[State] = []

    def decide(state: State) -> tuple[Charge, ...]:
        states.append(state)
        return ()

    assert account.charge(questions, decide) == ()
    return states[0]


def refusing(state: State) -> tuple[Charge, ...]:
    raise BudgetError(1.0, state.budget)


def test_a_new_account_has_its_budget_and_nothing_spent(account: Account) -> None:
    state = account.state()
    assert (state.dataset, state.budget, state.totals, state.charges, state.entries) == ("steps", 2.0, (), 0, 1)
    assert len(state.head) == 64
    assert account.dataset == "steps"
    assert "steps" in repr(account)


def test_a_charge_is_seen_by_everyone_once_its_receipt_is_there(account: Account, url: str) -> None:
    receipt = charged(account, count(0.5, epsilon=1.0))
    assert receipt.entry == 2
    assert receipt.head == receipt.state.head
    other = Ledger(url, create=False)
    assert other.state("steps") == account.state() == receipt.state
    assert other.state("steps").charges == 1
    (total,) = other.state("steps").totals
    assert (total.key, total.query, total.tau) == ("count", COUNT, 0.5)


def test_taus_of_one_key_are_added_exactly_and_rounded_up(account: Account) -> None:
    for _ in range(10):
        charged(account, count(0.1))
    charged(account, Charge("q", "sum", {"query": "sum"}, 1.0))
    counted, summed = account.state().totals
    assert counted.tau is not None
    assert Fraction(counted.tau) >= 10 * Fraction(0.1) > Fraction(math.nextafter(counted.tau, 0))
    assert (summed.key, summed.tau) == ("sum", 1.0)
    assert account.state().charges == 11


def test_a_key_stands_for_one_query(account: Account) -> None:
    charged(account, count())
    before = account.state()
    with pytest.raises(LedgerError, match="another query already"):
        charged(account, Charge("q", "count", {"query": "sum"}, 0.5))
    assert account.state() == before


def test_an_error_of_decide_passes_through_and_writes_nothing(account: Account) -> None:
    def refuse(state: State) -> tuple[Charge, ...]:
        raise BudgetError(3.0, state.budget)

    before = account.state()
    with pytest.raises(BudgetError, match="remaining 2"):
        account.charge((), refuse)
    assert account.state() == before


def test_no_charges_are_no_receipts_and_nothing_is_written(account: Account) -> None:
    before = account.state()
    assert account.charge(["q"], lambda state: ()) == ()
    assert account.state() == before


@pytest.mark.parametrize("decision", [None, {"value": 1}, ("a", "b"), 0, "stored", count(), iter([count()])])
def test_a_decision_is_a_tuple_of_charges(account: Account, decision: Any) -> None:
    before = account.state()
    with pytest.raises(InvalidInputError, match="a tuple of charges"):
        account.charge((), lambda state: decision)
    assert account.state() == before


def test_several_charges_are_made_together(account: Account) -> None:
    receipts = account.charge((), lambda state: (count(0.5, "a"), count(0.25, "b")))
    assert [receipt.entry for receipt in receipts] == [2, 3]
    assert receipts[0].state == receipts[1].state == account.state()
    assert receipts[0].head != receipts[1].head == account.state().head
    assert account.state().totals[0].tau == 0.75
    for receipt in receipts:
        account.answer(receipt, {"value": receipt.entry})
    assert account.answers("a") == ({"value": 2},)
    listed: Any = [count(0.5, "c")]
    assert [receipt.entry for receipt in account.charge((), lambda state: listed)] == [6]


def test_several_charges_are_made_all_or_none(account: Account) -> None:
    before = account.state()
    with pytest.raises(InvalidInputError, match="JSON"):
        account.charge((), lambda state: (count(), Charge("q", "k", {"value": math.nan}, 0.5)))
    mixed: Any = (count(), "an answer")
    with pytest.raises(InvalidInputError, match="a tuple of charges"):
        account.charge((), lambda state: mixed)
    assert account.state() == before


def test_answers_are_found_by_their_question_newest_first(account: Account) -> None:
    for value in (1, 2):
        account.answer(charged(account, count(question="asked")), {"value": value})
    account.answer(charged(account, count(question="else")), {"value": 3})
    assert account.answers("asked") == ({"value": 2}, {"value": 1})
    assert account.answers("never") == ()
    assert account.state("asked").answers("asked") == ({"value": 2},), "the best of them"


def test_a_decision_gets_the_answers_and_open_charges(account: Account) -> None:
    account.answer(charged(account, count(question="asked")), {"value": 1})
    charged(account, count(question="lost"))
    state = seen_in_a_charge(account, "asked", "lost", "new")
    assert state == account.state("asked", "lost", "new")
    assert {question: state.answers(question) for question in ("asked", "lost", "new")} == {
        "asked": ({"value": 1},),
        "lost": (),
        "new": (),
    }
    assert state.unanswered("lost") is not None
    assert state.unanswered("asked") is state.unanswered("new") is None


def test_a_state_knows_of_no_question_that_was_not_looked_up(account: Account) -> None:
    charged(account, count(question="asked"))
    for ask in (account.state("else").answers, account.state("else").unanswered, account.state().answers):
        with pytest.raises(InvalidInputError, match="'asked' was not among those looked up"):
            ask("asked")
    before = account.state()
    with pytest.raises(InvalidInputError, match="'asked' was not among"):
        account.charge(["else"], lambda state: () if state.answers("asked") else (count(),))
    assert account.state() == before


def test_a_state_is_plain_values_that_stay_as_they_are(account: Account) -> None:
    state = account.state("asked")
    account.answer(charged(account, count(question="asked")), {"value": 1})
    assert state.answers("asked") == ()
    for values in (state.answered, state.pending):
        with pytest.raises(TypeError):
            values["asked"] = ()  # type: ignore[index]
    assert not any(callable(value) for value in vars(state).values())


def test_answers_belong_to_their_data_set(account: Account, ledger: Ledger) -> None:
    account.answer(charged(account, count()), {"value": 1})
    other = ledger.account("other", model=MODEL, description=OTHER, budget=1.0)
    assert other.answers("q") == ()
    assert other.state().totals == ()
    assert ledger.datasets() == ("other", "steps")


def test_a_charge_has_one_answer(account: Account, ledger: Ledger) -> None:
    receipt = charged(account, count())
    head = account.answer(receipt, MappingProxyType({"value": 1, "inner": MappingProxyType({"a": (1, 2)})}))
    assert head == account.state().head
    with pytest.raises(AnsweredError, match="has its answer already"):
        account.answer(receipt, {"value": 2})
    assert account.answer_of(receipt.entry) == {"value": 1, "inner": {"a": [1, 2]}}
    assert account.answer_of(1) is None
    assert account.answers("q") == ({"value": 1, "inner": {"a": [1, 2]}},)
    assert ledger.verify([(receipt.entry, receipt.head)]).ok


def test_an_answer_needs_a_receipt_of_this_account(account: Account, ledger: Ledger) -> None:
    receipt = charged(account, count())
    other = ledger.account("other", model=MODEL, description=OTHER, budget=1.0)
    forged = [
        Receipt(1, receipt.head, receipt.state),
        Receipt(2, "0" * 64, receipt.state),
        Receipt(9, "", receipt.state),
    ]
    for wrong in forged:
        with pytest.raises(LedgerError, match="is not the charge"):
            account.answer(wrong, {})
    with pytest.raises(LedgerError, match="is not the charge on 'other'"):
        other.answer(receipt, {})


def test_reopening_keeps_the_budget_and_needs_none(account: Account, ledger: Ledger) -> None:
    again = ledger.account("steps", model=dict(MODEL), description=dict(reversed(DESCRIPTION.items())), budget=None)
    assert again.state() == account.state()
    assert ledger.account("steps", model=MODEL, description=DESCRIPTION, budget=99.0).state().budget == 2.0


def test_the_first_charge_can_open_the_account(ledger: Ledger) -> None:
    def later(**model: object) -> Account:
        return ledger.account("steps", model={**MODEL, **model}, description=DESCRIPTION, budget=2.0, at_once=False)

    first, second, other = later(), later(), later(size=2)
    assert first.state() == second.state()
    assert (first.state().budget, first.state().charges, first.answers("q")) == (2.0, 0, ())
    assert first.charge(["q"], lambda state: ()) == ()
    with pytest.raises(BudgetError):
        first.charge((), refusing)
    assert ledger.datasets() == ()
    assert ledger.entries() == ()
    assert charged(first, count()).entry == 2
    assert second.state() == first.state()
    assert charged(second, count()).entry == 3
    for use in (other.state, lambda: charged(other, count())):
        with pytest.raises(LedgerError, match="another model"):
            use()
    assert [entry.kind for entry in ledger.entries()] == ["open", "charge", "charge"]
    assert ledger.verify().ok


@pytest.mark.parametrize(
    ("model", "description", "differs"),
    [
        ({"type": "arbitrary", "size": 2}, DESCRIPTION, "another model [(]"),
        (MODEL, {"rows": 101}, "another description [(]"),
        ({"type": "arbitrary", "size": 2}, {}, "another model and another description [(]"),
    ],
)
def test_reopening_with_something_else_is_refused(
    account: Account, ledger: Ledger, model: dict[str, Any], description: dict[str, Any], differs: str
) -> None:
    with pytest.raises(LedgerError, match=differs):
        ledger.account("steps", model=model, description=description, budget=2.0)
    assert account.state().entries == 1


def test_the_first_opening_needs_a_budget(ledger: Ledger) -> None:
    with pytest.raises(InvalidInputError, match="'steps' is new to the ledger: give the budget"):
        ledger.account("steps", model=MODEL, description=DESCRIPTION, budget=None)
    for budget in (0, -1, math.nan, math.inf, NOT_A_NUMBER, True):
        with pytest.raises(InvalidInputError, match="budget must be"):
            ledger.account("steps", model=MODEL, description=DESCRIPTION, budget=budget)
    assert ledger.datasets() == ()


def test_a_budget_can_be_lowered(account: Account, ledger: Ledger) -> None:
    assert ledger.lower("steps", 0.5).budget == account.state().budget == 0.5
    assert ledger.lower("steps", 0.25, reason="less was promised").entries == 3
    for budget in (0.25, 3.0):
        with pytest.raises(InvalidInputError, match="does not lower it"):
            ledger.lower("steps", budget)
    for budget in (0.0, math.nan, NOT_A_NUMBER):
        with pytest.raises(InvalidInputError):
            ledger.lower("steps", budget)
    with pytest.raises(InvalidInputError, match="reason"):
        ledger.lower("steps", 0.1, reason=" ")


def test_a_budget_is_raised_only_for_a_reason(account: Account, ledger: Ledger) -> None:
    assert ledger.raise_budget("steps", 3.0, reason="agreed on 1 May").budget == account.state().budget == 3.0
    for budget in (3.0, 1.0):
        with pytest.raises(InvalidInputError, match="does not raise it"):
            ledger.raise_budget("steps", budget, reason="because")
    nothing: Any = None
    for reason in ("", "  ", nothing):
        with pytest.raises(InvalidInputError, match="reason must be a non-empty text"):
            ledger.raise_budget("steps", 9.0, reason=reason)
    (raised,) = (entry.content() for entry in ledger.entries("steps", "raise"))
    assert raised.pop("account")
    assert raised == {"before": 2.0, "budget": 3.0, "reason": "agreed on 1 May"}


def test_a_data_set_without_account_is_refused(ledger: Ledger) -> None:
    asked: list[Callable[[], object]] = [
        lambda: ledger.state("steps"),
        lambda: ledger.lower("steps", 1.0),
        lambda: ledger.raise_budget("steps", 1.0, reason="x"),
    ]
    for ask in asked:
        with pytest.raises(LedgerError, match="no data set 'steps'"):
            ask()


HOSTILE = [
    "'; DROP TABLE bayesdp_entries; --",
    'a"b`c\\',
    "données 数据 \U0001f600",
    "%s %(x)s ? :x {y}",
    "x" * 200,
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_may_contain_anything_that_can_be_printed(ledger: Ledger, name: str) -> None:
    account = ledger.account(name, model={name: name}, description={name: [name]}, budget=1.0)
    receipt = charged(account, Charge(name, name, {name: name}, 0.5, {name: name}))
    account.answer(receipt, {name: name})
    ledger.lower(name, 0.5, reason=name)
    assert ledger.datasets() == (name,)
    assert account.answers(name) == ({name: name},)
    assert ledger.state(name).totals[0].key == name
    assert ledger.verify().ok


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[2Jb", "a\x85b", "a\u2029b", "a\u2066b", "a\tb"])
def test_a_data_set_whose_name_cannot_be_printed_is_not_opened(ledger: Ledger, name: str) -> None:
    with pytest.raises(InvalidInputError, match="line breaks or control characters"):
        ledger.account(name, model={}, description={}, budget=1.0)
    assert ledger.datasets() == ()


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\0b", "\ud800", None, 5])
def test_names_that_cannot_be_stored_are_refused(account: Account, ledger: Ledger, name: Any) -> None:
    attempts: list[Callable[[], object]] = [
        lambda: ledger.account(name, model={}, description={}, budget=1.0),
        lambda: ledger.state(name),
        lambda: ledger.lower(name, 1.0),
        lambda: account.answers(name),
        lambda: charged(account, Charge(name, "key", {}, 0.5)),
        lambda: charged(account, Charge("question", name, {}, 0.5)),
    ]
    for attempt in attempts:
        with pytest.raises(InvalidInputError):
            attempt()
    assert ledger.state("steps").entries == 1


def large(tau: float) -> Charge:
    return Charge("q", "large", {}, tau)


def test_the_smallest_and_the_largest_tau_are_kept_exactly(account: Account, ledger: Ledger) -> None:
    charged(account, count(5e-324))
    charged(account, count(1.0))
    assert account.state().totals[0].tau == math.nextafter(1.0, 2)
    charged(account, large(sys.float_info.max))
    before = account.state()
    for tau in (5e-324, 1.0, sys.float_info.max):
        with pytest.raises(LedgerError, match="too large"):
            charged(account, large(tau))
    assert account.state() == before
    assert ledger.verify().ok


CIRCULAR: dict[str, Any] = {}
CIRCULAR["self"] = CIRCULAR


@pytest.mark.parametrize(
    "body", [{"x": math.nan}, {"x": {1, 2}}, {"x": "\ud800"}, [1], "text", None, CIRCULAR, {(): 1}]
)
def test_what_is_no_json_object_is_refused(account: Account, ledger: Ledger, body: Any) -> None:
    receipt = charged(account, count())
    attempts: list[Callable[[], object]] = [
        lambda: account.answer(receipt, body),
        lambda: charged(account, Charge("q", "other", body, 0.5)),
        lambda: charged(account, Charge("q", "count", COUNT, 0.5, body)),
        lambda: ledger.account("new", model=body, description={}, budget=1.0),
        lambda: ledger.account("new", model={}, description=body, budget=1.0),
    ]
    for attempt in attempts:
        with pytest.raises(InvalidInputError, match="JSON"):
            attempt()
    assert account.state() == receipt.state


def test_the_export_is_everything_as_json(account: Account, ledger: Ledger) -> None:
    receipt = charged(account, count(0.5, epsilon=1.0))
    account.answer(receipt, {"value": 41})
    exported = json.loads(json.dumps(ledger.export(), allow_nan=False))
    assert (exported["kind"], exported["schema"]) == ("ledger", SCHEMA)
    assert exported["head"] == ledger.state("steps").head
    assert exported["datasets"] == [
        {
            "dataset": "steps",
            "budget": 2.0,
            "public": [],
            "charges": 1,
            "totals": [{"key": "count", "query": COUNT, "tau": 0.5}],
        }
    ]
    opened, charge, answered = exported["entries"]
    seals = [entry["body"].pop("account") for entry in (opened, charge)]
    assert len(set(seals)) == 2
    assert opened["body"] == {"budget": 2.0, "description": DESCRIPTION, "model": MODEL}
    assert charge["body"] == {"details": {"epsilon": 1.0}, "key": "count", "query": COUNT, "tau": 0.5}
    assert (answered["body"], answered["charge"], answered["question"]) == ({"value": 41}, 2, "q")
    assert opened["timestamp"].endswith("+00:00")


def test_entries_can_be_chosen(account: Account, ledger: Ledger) -> None:
    ledger.account("other", model=MODEL, description=OTHER, budget=1.0)
    charged(account, count())
    assert [entry.number for entry in ledger.entries()] == [1, 2, 3]
    assert [entry.number for entry in ledger.entries("steps")] == [1, 3]
    assert [entry.dataset for entry in ledger.entries(kind="open")] == ["steps", "other"]
    assert ledger.entries("nobody") == ()


def test_a_closed_ledger_answers_nothing(account: Account, ledger: Ledger) -> None:
    ledger.close()
    ledger.close()
    for ask in (
        ledger.datasets,
        ledger.verify,
        ledger.export,
        account.state,
        lambda: charged(account, count()),
    ):
        with pytest.raises(LedgerError, match="closed"):
            ask()
    assert "closed" in repr(ledger)


def test_reading_inside_a_decision_sees_the_account_before_it(account: Account) -> None:
    def decide(state: State) -> tuple[Charge, ...]:
        assert account.state() == state
        return (count(),)

    assert len(account.charge((), decide)) == 1


def test_fingerprints_do_not_depend_on_the_order_of_keys() -> None:
    assert fingerprint({"a": 1, "b": {"c": 2, "d": 3}}) == fingerprint({"b": {"d": 3, "c": 2}, "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": "1"})


def test_importing_bayesdp_does_not_load_the_ledger() -> None:
    script = "import sys, bayesdp; print({'sqlalchemy', 'sqlite3', 'psycopg', 'bayesdp.ledger'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
