"""The models that can be fitted from the command line, and the options each takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from bayesdp._support.validation import brief
from bayesdp.cli import options
from bayesdp.diagnostics import Diagnosis
from bayesdp.errors import InvalidInputError
from bayesdp.models import GaussianGroups, MarkovChain, Model

__all__ = ["Choice", "diagnosis", "fitted"]


@dataclass(frozen=True)
class Choice:
    """What the options of `bayesdp fit` say."""

    state: str | None
    order_by: list[str]
    entity: list[str]
    step: str | None
    smoothing: float
    start: str
    value: list[str]
    group: list[str]
    role: str | None
    missing: str
    record: str


def fitted(data: str, kind: str, chosen: Choice) -> MarkovChain | GaussianGroups:
    """Fit the model the options describe; options of the other kind are refused."""
    common: dict[str, Any] = {"missing": chosen.missing, "record": chosen.record}
    if kind == "markov":
        options.only_for(kind, {"--value": chosen.value, "--group": chosen.group, "--role": chosen.role})
        if chosen.state is None or not chosen.order_by:
            raise InvalidInputError(
                "a markov model needs --state and --order-by, such as --state 'steps > 0' --order-by time"
            )
        return MarkovChain.fit(
            data,
            state=chosen.state,
            order_by=chosen.order_by,
            entity=chosen.entity,
            step=chosen.step,
            smoothing=chosen.smoothing,
            start=cast("Any", chosen.start),
            **common,
        )
    if kind == "gaussian":
        markov = {
            "--state": chosen.state,
            "--order-by": chosen.order_by,
            "--entity": chosen.entity,
            "--step": chosen.step,
        }
        options.only_for(kind, {**markov, "--smoothing": chosen.smoothing, "--start": chosen.start != "stationary"})
        if not chosen.value:
            raise InvalidInputError("a gaussian model needs --value, such as --value height --group family")
        return GaussianGroups.fit(data, value=chosen.value, group=chosen.group, role=chosen.role, **common)
    raise InvalidInputError(f"--model must be markov or gaussian, not {brief(kind)}; other models are written by hand")


_COLUMNS = {"markov": ("state", "order_by", "entity", "step"), "gaussian": ("value", "group", "role")}


def diagnosis(model: Model, data: str, missing: str | None, named: Mapping[str, Any]) -> Diagnosis:
    """Diagnose a model on a table, in the columns it was fitted on or in those named."""
    given = {name: value for name, value in named.items() if value}
    for name in given:
        if name not in _COLUMNS.get(model.kind, given):
            raise InvalidInputError(f"--{name.replace('_', '-')} does not go with a {model.kind} model")
    return model.diagnose(data, missing=missing, **given)
