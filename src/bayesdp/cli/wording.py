"""Replace the parameters in a message by options of the running command, or by entries of a JSON document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bayesdp._support.messages import Message, Parameter, Wordings

__all__ = ["Options", "options_of", "worded"]

Options = Mapping[str, str]
"""The options of a command by parameter, each with its placeholder: "--size N"."""

_OTHER_NAMES = {"accept": "accept_violated", "cells": "states", "epsilons": "epsilon", "tau": "private_tau"}
"""Parameters in Python whose option has another name, in commands without an option of the same name."""


def options_of(command: Any) -> Options:
    """Return the options of a command, without its arguments."""
    given: dict[str, str] = {}
    for parameter in command.params:
        option = max(parameter.opts, key=len)
        if option.startswith("--"):
            flag = getattr(parameter, "is_flag", False) or parameter.metavar is None
            given[parameter.name] = option if flag else f"{option} {parameter.metavar}"
    return given


def worded(message: Message, options: Options) -> str:
    """Return a message in the words of a command with these options; without any, in those of a JSON document.

    >>> from bayesdp._support.messages import param
    >>> message = "say " + param("missing", "drop") + ", or leave " + param("step") + " out"
    >>> print(worded(message, {"step": "--step STEP"}))
    say "missing": "drop", or leave --step out
    """
    return "".join(_worded(part, options) for part in message.parts)


def _worded(part: str | Parameter | Wordings, options: Options) -> str:
    if isinstance(part, Parameter):
        name = part.name if part.name in options else _OTHER_NAMES.get(part.name, part.name)
        return _as_option(part, options[name]) if name in options else _as_entry(part)
    if isinstance(part, Wordings):
        return worded(Message(part.elsewhere), options)
    return part


def _as_option(parameter: Parameter, typed: str) -> str:
    option, _, metavar = typed.partition(" ")
    value = metavar if parameter.like else parameter.value
    return option if value in (None, "", True) else f"{option} {value}"


def _as_entry(parameter: Parameter) -> str:
    value = "" if parameter.value is None else f": {json.dumps(parameter.value)}"
    return f'"{parameter.name}"{value}'
