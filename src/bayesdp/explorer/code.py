"""Python code and commands that compute the numbers of a screen, and those that make its release."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from bayesdp.advice.next_steps import built_in_python, built_in_shell, query_in_python, query_in_shell, released_by
from bayesdp.explorer.assumed import ASSUMPTIONS
from bayesdp.explorer.choices import EPSILONS, Choices
from bayesdp.explorer.explored_file import ExploredFile
from bayesdp.explorer.priced_assumptions import PricedAssumptions
from bayesdp.models import Model
from bayesdp.queries import Query

if TYPE_CHECKING:
    from bayesdp.advice.next_steps import NextSteps
    from bayesdp.explorer.release import ReleaseOrder

__all__ = ["notebook", "python", "release_command", "release_script", "shell"]

_MODEL = "MODEL.json"


def python(
    explored: ExploredFile, choices: Choices, query: Query, priced_assumptions: PricedAssumptions | None = None
) -> str:
    """Return Python code that computes what the screen shows."""
    promise = f"{choices.start}={_given(choices)}, beta={choices.beta}"
    lines = [
        "import bayesdp as bdp",
        "",
        _model_in_python(explored, choices, priced_assumptions),
        f"question = {query_in_python(query)}",
        f"ours = bdp.calibrate(model, question, {promise})",
        f"plain = bdp.leakage(model, question, tau={_plain(choices)})",
        f"every = bdp.compare(model, question, epsilons=[{', '.join(EPSILONS)}], beta={choices.beta})",
        'print(ours, plain, every, sep="\\n\\n")',
    ]
    return "\n".join(lines)


def shell(
    explored: ExploredFile, choices: Choices, query: Query, priced_assumptions: PricedAssumptions | None = None
) -> str:
    """Return commands that compute what the screen shows."""
    model = shlex.quote(explored.path) if explored.kind == "model" else _MODEL
    options = query_in_shell(query)
    lines = [
        *_model_in_shell(explored, choices, priced_assumptions),
        f"bayesdp calibrate {model} {options} --{choices.start} {_given(choices)} --beta {choices.beta}",
        *([] if choices.start == "alpha" else [f"bayesdp leakage {model} {options} --tau {_plain(choices)}"]),
        f"bayesdp compare {model} {options} --epsilon {','.join(EPSILONS)} --beta {choices.beta}",
    ]
    return "\n".join(lines)


def _given(choices: Choices) -> str:
    """Return the promise or the error as a number for Python and the shell."""
    target = choices.target
    return repr(target.epsilon if target.alpha is None else target.alpha).removesuffix(".0")


def _plain(choices: Choices) -> str:
    """Return the τ of plain DP: the promise; if an error was given, the τ of the calibration."""
    return "ours.tau" if choices.start == "alpha" else _given(choices)


def _chosen(choices: Choices, priced_assumptions: PricedAssumptions | None) -> Model:
    assumption = None if priced_assumptions is None else priced_assumptions.chosen(choices)
    assert assumption is not None
    assert assumption.model is not None
    return assumption.model


def _model_in_python(explored: ExploredFile, choices: Choices, priced_assumptions: PricedAssumptions | None) -> str:
    if explored.kind == "model":
        return f"model = bdp.Model.load({explored.path!r})"
    if explored.kind == "nothing":
        assumption = ASSUMPTIONS[choices.assumed]
        return f"model = {built_in_python(assumption.model, assumption.arguments(choices))}"
    assert priced_assumptions is not None
    return priced_assumptions.advice.next_steps.model_in_python(_chosen(choices, priced_assumptions))


def _model_in_shell(
    explored: ExploredFile, choices: Choices, priced_assumptions: PricedAssumptions | None
) -> list[str]:
    if explored.kind == "model":
        return []
    if explored.kind == "nothing":
        return [built_in_shell(ASSUMPTIONS[choices.assumed].built(choices))]
    assert priced_assumptions is not None
    return [priced_assumptions.advice.next_steps.model_in_shell(_chosen(choices, priced_assumptions))]


def release_script(order: ReleaseOrder, steps: NextSteps) -> str:
    """Return the script of a release; run again, it prints the answer that the ledger has."""
    account = ",\n    ".join(f"{name}={value!r}" for name, value in order.account.items())
    promised = ", ".join(f"{name}={value!r}" for name, value in order.promised.items())
    return "\n".join(
        [
            "import bayesdp as bdp",
            "",
            steps.model_in_python(order.model),
            f"question = {query_in_python(order.query)}",
            f"with bdp.Session(\n    table,\n    model,\n    {account},\n) as session:",
            f"    print(session.{released_by(order.query)}(question, {promised}))",
            "",
        ]
    )


def release_command(order: ReleaseOrder, steps: NextSteps) -> str:
    """Return the commands of a release."""
    named = {"dataset": "dataset", "epsilon": "budget", "delta": "budget-delta"}
    account = {named.get(name, name): value for name, value in order.account.items()}
    flags = " ".join(f"--{name} {_word(value)}" for name, value in {**order.promised, **account}.items())
    release = f"bayesdp release {shlex.quote(order.path)} --model {_MODEL} {query_in_shell(order.query)} {flags}"
    return f"{steps.model_in_shell(order.model)}\n{release}\n"


def _word(value: Any) -> str:
    text = ",".join(value) if isinstance(value, list) else value
    return shlex.quote(text if isinstance(text, str) else repr(text))


def notebook(title: str, script: str) -> str:
    """Return a Jupyter notebook of a script.

    >>> json.loads(notebook("Release", "print(1)"))["nbformat"]
    4
    """
    cells = [
        {"cell_type": "markdown", "id": "title", "metadata": {}, "source": [f"# {title}"]},
        {
            "cell_type": "code",
            "id": "release",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "source": script.splitlines(keepends=True),
        },
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
