"""Python code and commands that compute the numbers of a screen."""

from __future__ import annotations

import shlex

from bayesdp.advice.next_steps import asked_in_python, asked_in_shell, built_in_python, built_in_shell
from bayesdp.explorer.assumed import ASSUMPTIONS
from bayesdp.explorer.choices import EPSILONS, Choices
from bayesdp.explorer.explored_file import ExploredFile
from bayesdp.explorer.priced_assumptions import PricedAssumptions
from bayesdp.models import Model
from bayesdp.queries import Query

__all__ = ["python", "shell"]

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
        f"question = {asked_in_python(query)}",
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
    asked = asked_in_shell(query)
    lines = [
        *_model_in_shell(explored, choices, priced_assumptions),
        f"bayesdp calibrate {model} {asked} --{choices.start} {_given(choices)} --beta {choices.beta}",
        *([] if choices.start == "alpha" else [f"bayesdp leakage {model} {asked} --tau {_plain(choices)}"]),
        f"bayesdp compare {model} {asked} --epsilon {','.join(EPSILONS)} --beta {choices.beta}",
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
