"""One family of exceptions: who may catch what, and what each message says and keeps to itself."""

from __future__ import annotations

import inspect
import pickle

import pytest

from bayesdp import errors
from bayesdp.errors import (
    BayesDPError,
    BudgetError,
    DoesNotApplyError,
    FrameError,
    InvalidInputError,
    LedgerError,
    MissingDependencyError,
    NoColumnError,
    NoTheoremAppliesError,
    PromiseBrokenError,
    RecordsError,
    RefusedError,
)
from bayesdp.ledger.database import UncertainError


def test_every_exception_is_offered_and_of_the_family() -> None:
    classes = {
        name: each for name, each in inspect.getmembers(errors, inspect.isclass) if each.__module__ == errors.__name__
    }
    assert set(classes) == set(errors.__all__)
    assert all(issubclass(each, BayesDPError) and each.__doc__ for each in classes.values())


def test_wrong_values_and_missing_packages_are_python_errors_too() -> None:
    assert issubclass(InvalidInputError, ValueError)
    assert issubclass(MissingDependencyError, ImportError)
    for other in (BudgetError, LedgerError, PromiseBrokenError, NoTheoremAppliesError):
        assert not issubclass(other, ValueError)


def test_a_refusal_of_a_session_has_one_fixed_message() -> None:
    assert str(RefusedError()) == str(RefusedError())
    assert "why is not said here" in str(RefusedError()).lower()
    with pytest.raises(TypeError):
        RefusedError("row 7 is null")  # type: ignore[call-arg]


def test_what_depends_on_values_is_not_caught_as_a_refusal() -> None:
    assert issubclass(RecordsError, FrameError)
    assert not issubclass(RecordsError, RefusedError)
    assert not issubclass(NoColumnError, RecordsError)


def test_a_missing_column_has_a_message_for_sessions() -> None:
    assert NoColumnError("there are a and b").discreet == "there are a and b"
    quiet = NoColumnError("there are a and b", "no such column")
    assert (str(quiet), quiet.discreet) == ("there are a and b", "no such column")
    assert NoColumnError("there are a and b", "").discreet == ""


def test_theorems_about_other_models_are_named_only_if_alone() -> None:
    far = ("a", "it is about chains")
    assert str(NoTheoremAppliesError([far, ("b", "no limit")])).endswith("(b: no limit)")
    assert str(NoTheoremAppliesError([far])).endswith("(a: it is about chains)")
    refused = NoTheoremAppliesError(iter([far, ("b", "no limit")]))
    assert refused.reasons == (far, ("b", "no limit"))


def test_one_theorem_says_which_and_why() -> None:
    refused = DoesNotApplyError("markov", "a zero")
    assert (refused.theorem, refused.reason, str(refused)) == ("markov", "a zero", "markov does not apply: a zero")


def test_a_broken_promise_never_states_more_than_was_shown() -> None:
    broken = PromiseBrokenError(claimed=1.0, lower_bound=1.99999, confidence=0.95, evidence="audit")
    assert "at least 1.999 leaks" in str(broken)
    assert (broken.claimed, broken.lower_bound, broken.confidence, broken.evidence) == (1.0, 1.99999, 0.95, "audit")


def test_a_budget_says_what_is_missing() -> None:
    short = BudgetError(requested=2.0, remaining=0.5)
    assert short.difference == 1.5
    assert "short by 1.5" in str(short)


@pytest.mark.parametrize(
    "error",
    [
        InvalidInputError("no"),
        NoColumnError("there are a and b", "no such column"),
        RefusedError(),
        DoesNotApplyError("general", "no limit"),
        NoTheoremAppliesError([("general", "no limit")]),
        PromiseBrokenError(1.0, 2.5, 0.95),
        BudgetError(1.0, 0.25),
        MissingDependencyError("pip install it"),
        UncertainError("gone"),
    ],
)
def test_they_pass_from_one_process_to_another(error: BayesDPError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))
