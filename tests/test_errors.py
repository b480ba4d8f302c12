"""One family of exceptions: who may catch what, and what each message says and keeps to itself."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bayesdp import errors
from bayesdp._support.messages import Message, param
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
    assert "the reason is withheld" in str(RefusedError()).lower()
    assert 'missing="drop" leaves such records out' in str(RefusedError())
    assert "bayesdp check" in str(RefusedError())
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


def test_a_broken_delta_never_states_more_than_was_shown() -> None:
    broken = PromiseBrokenError(1.0, 1.3, 0.999, claimed_delta=1.55e-17, lower_delta=0.0091999)
    assert "δ = 1.55e-17 at ε = 1 is claimed, but it is at least 0.00919 (" in str(broken)
    assert (broken.claimed_delta, broken.lower_delta) == (1.55e-17, 0.0091999)


def test_a_budget_says_what_is_missing() -> None:
    short = BudgetError(requested=2.0, remaining=0.5)
    assert short.difference == 1.5
    assert "short by 1.5" in str(short)


@pytest.mark.parametrize(
    "error",
    [
        InvalidInputError("no"),
        InvalidInputError("leave " + param("step") + " out"),
        NoColumnError("there are a and b", "no such column"),
        RefusedError(),
        DoesNotApplyError("general", "no limit"),
        NoTheoremAppliesError([("general", "no limit")]),
        PromiseBrokenError(1.0, 2.5, 0.95),
        PromiseBrokenError(1.0, 2.5, 0.95, claimed_delta=1e-6, lower_delta=0.01),
        BudgetError(1.0, 0.25),
        MissingDependencyError("pip install it"),
        UncertainError("gone"),
    ],
)
def test_they_pass_from_one_process_to_another(error: BayesDPError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))
    assert again.message.parts == error.message.parts


def test_an_error_keeps_the_parameters_that_its_text_names() -> None:
    error = InvalidInputError("leave " + param("step") + " out")
    assert str(error) == "leave step= out"
    assert type(str(error)) is str
    assert error.message.parts == ("leave ", *param("step").parts, " out")


@pytest.mark.parametrize(
    "error", [InvalidInputError("say a=1"), BudgetError(1.0, 0.25), BayesDPError(), RefusedError()]
)
def test_the_message_of_an_error_without_parts_is_its_text(error: BayesDPError) -> None:
    assert error.message == str(error)
    assert "".join(map(str, error.message.parts)) == str(error)


def test_an_error_with_a_text_of_its_own_has_it_as_its_message() -> None:
    class StrangeError(BayesDPError):
        def __str__(self) -> str:
            return "in my own words"

    assert StrangeError(Message("leave ", param("step"))).message.parts == ("in my own words",)


SOURCES = [path for path in Path(errors.__file__).parent.rglob("*.py") if "cli" not in path.parts]
WORDED = {"in_python", "name_of", "param", "params"}


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the texts in code with their lines, but for docstrings and what is given to the makers of messages."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        documents = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not documents and not (isinstance(node, ast.Call) and getattr(node.func, "id", None) in WORDED):
            yield from texts(node)


def test_only_the_command_line_names_options_in_messages() -> None:
    found = [(path.name, *text) for path in SOURCES for text in texts(ast.parse(path.read_text("utf-8")))]
    assert len(found) > 1000
    assert [place for place in found if "(--" in place[2]] == []


def test_no_error_names_a_parameter_in_plain_text() -> None:
    """The command line can word only the parameters that are data; a plain `step=` would stay Python there."""
    plain = re.compile(
        r"""(?<![\w.])[a-z]+(_[a-z]+)*=(?:"[a-z]+"|True|False|\w\b)?(?=[\s,;:.)]|$)|^[a-z]+(_[a-z]+)* must """
    )
    named = [
        (path.name, *text)
        for path in SOURCES
        if not {"experiments", "explorer", "testing"} & set(path.parts)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Raise)
        for text in texts(node)
        if plain.search(text[1])
    ]
    assert named == []
