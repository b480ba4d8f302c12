"""The words of messages on the command line: options in place of parameters, and suggestions for mistyped names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from bayesdp._support.messages import Message, Parameter, Wordings

__all__ = ["Options", "nearest", "options_of", "worded"]

Options = Mapping[str, str]
"""The options of a command by parameter, each with its placeholder: "--size N"."""

_OTHER_NAMES = {"accept": "accept_violated", "cells": "states", "epsilons": "epsilon", "tau": "private_tau"}
"""Parameters in Python whose option has another name, in commands without an option of the same name."""

_CLOSE = 0.75
"""The least similarity of two words, by difflib's ratio: all but a letter or two."""

_ABBREVIATION = 3
"""The fewest letters that can be an abbreviation."""


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


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the option or command that was probably meant: the only one with this prefix, or a similar one.

    The hyphens before an option do not count: all options share them.

    >>> known = ["--states", "--size", "--epsilon"]
    >>> nearest("--state", known), nearest("--eps", known), nearest("--sizes", known), nearest("--seed", known)
    ('--states', '--epsilon', '--size', None)
    """
    letters, by_letters = word.lstrip("-"), {name.lstrip("-"): name for name in known}
    longer = [name for name in by_letters if name.startswith(letters)] if len(letters) >= _ABBREVIATION else []
    close = longer if len(longer) == 1 else get_close_matches(letters, by_letters, n=1, cutoff=_CLOSE)
    return by_letters[close[0]] if close else None
