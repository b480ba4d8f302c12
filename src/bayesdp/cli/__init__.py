"""The command line: parse, call, print.

Exit status 0: success; 2: invalid input; 3: the budget does not allow it. Errors are one line on stderr.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import typer

from bayesdp._support.validation import escaped
from bayesdp.cli.app import app
from bayesdp.cli.completion import check_shell
from bayesdp.cli.fitting import naming
from bayesdp.cli.native import without_reports
from bayesdp.cli.wording import nearest, options_of, worded
from bayesdp.errors import BayesDPError, BudgetError

__all__ = ["main", "run"]

WRONG_INPUT = 2
NO_BUDGET = 3
INTERRUPTED = 130


def main() -> None:
    """Run the command line on the process's arguments and exit with its status."""
    if sys.stdout is None:  # closed by the caller
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.exit(without_reports(lambda: run(sys.argv[1:]), refusals=(WRONG_INPUT, NO_BUDGET)))


def run(arguments: Sequence[str]) -> int:
    """Run the command line on `arguments` and return its exit status."""
    given = list(arguments)
    with naming(given):
        root = _with_plain_arguments(typer.main.get_command(app))
    words, command = _chosen(root, given)
    if given == words and hasattr(command, "commands"):
        given.append("--help")
    try:
        check_shell(given)
        status = root.main(given, prog_name="bayesdp", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        usage = _usage(error, command, given[len(words) :])
        return _refused(f"{usage.removesuffix('.')}; see {' '.join(['bayesdp', *words])} --help")
    except BayesDPError as error:
        status = NO_BUDGET if isinstance(error, BudgetError) else WRONG_INPUT
        return _refused(worded(error.message, options_of(command)), status)
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        return _without_output(0)
    except OSError as error:
        return _without_output(_refused(f"cannot write the output: {error.strerror}"))
    return status if isinstance(status, int) else 0


class _PlainArgument(typer.core.TyperArgument):
    """An argument that help shows by its name alone: `DATA`, not `{DATA}` and `DATA <str>`."""

    def _usage_display_name(self) -> str:
        return self.display_name_raw if self.required else super()._usage_display_name()

    def display_type_rich(self, ctx: Any) -> str:
        return ""


def _with_plain_arguments(command: Any) -> Any:
    """Return a command whose arguments, and those of its subcommands, are shown by their names alone."""
    for parameter in command.params:
        if isinstance(parameter, typer.core.TyperArgument):
            parameter.__class__ = _PlainArgument
    for subcommand in getattr(command, "commands", {}).values():
        _with_plain_arguments(subcommand)
    return command


def _chosen(group: Any, arguments: Sequence[str]) -> tuple[list[str], Any]:
    """Return the words that name a command, and the command: `budget show` of `budget show --json`."""
    word = arguments[0] if arguments else None
    command = getattr(group, "commands", {}).get(word)
    if command is None:
        return [], group
    words, chosen = _chosen(command, arguments[1:])
    return [str(word), *words], chosen


def _usage(error: Any, command: Any, rest: Sequence[str]) -> str:
    """Return a usage error, with a suggestion for an unknown option or command."""
    option, known = getattr(error, "option_name", ""), getattr(error, "possibilities", None)
    if known is None:
        known = getattr(command, "commands", {}) if error.message.startswith("No such command") else ()
        option = rest[0] if known and rest else ""
    meant = nearest(option, known)
    message = error.message if error.message and known else error.format_message()
    return f"{message.removesuffix('.')} (did you mean {meant}?)" if meant else message


def _without_output(status: int) -> int:
    """Close standard output, so that Python does not flush it again on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


def _refused(message: str, status: int = WRONG_INPUT) -> int:
    print("bayesdp: " + escaped(" ".join(message.split())), file=sys.stderr)
    return status
