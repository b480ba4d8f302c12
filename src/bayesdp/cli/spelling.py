"""The library's messages name Python's parameters; on the command line the same thing is an option, or a JSON entry."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from typing import Any

__all__ = ["Options", "nearest", "options_of", "spelled", "spelling"]

Options = Mapping[str, str]
"""By Python's names: the options of a command as they are typed, with what is to be given ("--size N")."""

_running: ContextVar[tuple[Options, Options]] = ContextVar("_running")

_VALUE = r"""(?P<value>"[a-z]+"|True|False|n\b|value\b|\.\.\.|\(low,\ high\)|\[value,\ \.\.\.\])"""
_PARAMETER = re.compile(rf"(?P<name>\b[a-z]+(?:_[a-z]+)*)=(?:{_VALUE}|(?=[\s,;:.)]|$))", re.VERBOSE)
_BARE = re.compile(r"(?P<name>\b[a-z]+(?:_[a-z]+)+\b)(?![=(/]|\.\w)")
_MUST = re.compile(r"(?:^|(?<=, so ))(?P<name>[a-z_]+)(?= must )")

_QUOTED = re.compile(
    r"""(?:(?<=[\s\[{])|(?<=\s\()|^)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?=[\s,;:.)\]]|$)|[^\s'"]*/\S*"""
)
"""What a message quotes (a text in quotes, as repr writes it) and paths: they stay as they are."""

_CLOSE = 0.75
"""How alike two words must be, by difflib's ratio, for one to be a slip of the other: all but a letter or two."""

_ABBREVIATION = 3
"""Letters: words that are shorter are not taken for the beginning of another."""

_ALIASES = {"equals": "states", "isin": "states", "cells": "states", "epsilons": "epsilon"}
_TYPE = re.compile(r"\b(?:[A-Z][a-z]+){2,}\b(?!\()|(?<=\()[A-Z][a-z]+(?=[,)])|\b[A-Z][a-z]+\(\)")
"""The name of a class, which is that of a model if some model has it: it is written as the model's type.

A name of one word is one only where no ordinary word would stand: "(Network)", "Independent()".
"""

_ENTRIES = frozenset(
    {"column", "entity", "group", "order_by", "record", "role", "size", "start", "state", "step", "value"}
)
"""Options of some commands; where others run, the entries of the model."""

_PHRASES: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(r"[a-z_]+=[^,;()]*, (?=--[a-z])"), ""),  # says both: "size=n, --size n"
    (re.compile(r"""[a-z_]+=(?:"[a-z]+"|\w*) \((--[a-z][^)]*)\)"""), r"\1"),  # or 'missing="drop" (--missing drop)'
    (re.compile(r" \((?:\w+, )*from_\w+(?:, from_\w+)*\)"), ""),
    (re.compile(r"\b[A-Z][a-z]+\('column', \.\.\.\)"), "--column NAME"),
    (re.compile(r"\bArbitraryGroups\(size=(\w+)\)"), r'{"type": "arbitrary", "size": \1}'),
    (_TYPE, lambda name: _type_named(name[0])),
    (re.compile(r", or read it with [^;]*? and pass the frame"), ""),
    (re.compile(r"\band pass the frame, or save"), "and save"),
]


def _type_named(name: str) -> str:
    """Return a model's type in quotes for the name of its class; another name as it stands."""
    from bayesdp.models import Model

    known = {model.__name__: f'"{kind}"' for kind, model in Model.types().items()}
    return known.get(name.removesuffix("()"), name)


def options_of(command: Any) -> Options:
    """Return the options of a command; those of all its commands, for a group."""
    given: dict[str, str] = {}
    for part in getattr(command, "commands", {}).values():
        given.update(options_of(part))
    for parameter in command.params:
        option = max(parameter.opts, key=len)
        if option.startswith("--"):
            metavar = None if getattr(parameter, "is_flag", False) else parameter.metavar
            given[parameter.name] = option if metavar is None else f"{option} {metavar}"
    return given


@contextmanager
def spelling(command: Any, group: Any) -> Iterator[None]:
    """Spell parameters as the options of a command, or else of a command of the group, while it runs."""
    token = _running.set((options_of(command), options_of(group)))
    try:
        yield
    finally:
        _running.reset(token)


def spelled(message: str, options: Options | None = None) -> str:
    """Return a message with options, or entries of the model's JSON, in place of Python's parameters.

    options: those of the command that runs, by default; none for what is said about a JSON file.

    >>> spelled('say missing="drop" (--missing drop), gaps=True or leave step= out', {"step": "--step STEP"})
    'say --missing drop, "gaps": true or leave --step out'
    """
    if options is None:
        mine, others = _running.get(({}, {}))
        options = {name: option for name, option in others.items() if name not in _ENTRIES} | dict(mine)
    parts, end = [], 0
    for quoted in _QUOTED.finditer(message):
        parts += [_spelled(message[end : quoted.start()], options), quoted[0]]
        end = quoted.end()
    return "".join([*parts, _spelled(message[end:], options)])


def _spelled(text: str, options: Options) -> str:
    for phrase, instead in _PHRASES:
        text = phrase.sub(instead, text)

    def typed(match: re.Match[str]) -> str:
        name = _ALIASES.get(match["name"], match["name"])
        value = match.groupdict().get("value")
        if name in options:
            option, _, metavar = options[name].partition(" ")
            given = value.strip('"') if value is not None and value.startswith('"') else metavar if value else ""
            return f"{option} {given}".strip()
        if match.re is not _PARAMETER and not (match.re is _BARE and name in _ENTRIES):
            return match[0]
        entry = {"True": ": true", "False": ": false"}.get(value or "", f": {value}" if value and '"' in value else "")
        return f'"{name}"{entry}'

    for pattern in (_PARAMETER, _BARE, _MUST):
        text = pattern.sub(typed, text)
    return text


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known option or command that was probably meant: the only one that begins so, or one that is close.

    The hyphens before an option do not count: all options share them.

    >>> known = ["--states", "--size", "--epsilon"]
    >>> nearest("--state", known), nearest("--eps", known), nearest("--sizes", known), nearest("--seed", known)
    ('--states', '--epsilon', '--size', None)
    """
    letters, by_letters = word.lstrip("-"), {name.lstrip("-"): name for name in known}
    longer = [name for name in by_letters if name.startswith(letters)] if len(letters) >= _ABBREVIATION else []
    close = longer if len(longer) == 1 else get_close_matches(letters, by_letters, n=1, cutoff=_CLOSE)
    return by_letters[close[0]] if close else None
