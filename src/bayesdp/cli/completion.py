"""Completions for shells: names, looked up on request. On error, offer no completions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import typer

from bayesdp.errors import InvalidInputError

__all__ = ["check_shell", "datasets", "engines", "fitted_models", "proofs", "query_kinds", "reproducible"]

_COMPLETION = {"--install-completion", "--show-completion"}
_SHELLS = {"bash", "zsh", "fish", "powershell", "pwsh"}

Names = Callable[[typer.Context], Iterable[str]]
Completer = Callable[[typer.Context, str], list[str]]


def check_shell(arguments: Sequence[str]) -> None:
    """Raise an error for a shell without completion; Typer itself would exit with another status."""
    if not _COMPLETION & set(arguments[:1]):
        return
    import shellingham  # type: ignore[import-untyped]

    try:
        shell, _ = shellingham.detect_shell()
    except shellingham.ShellDetectionFailure:
        shell = "this one"
    if shell not in _SHELLS:
        raise InvalidInputError(f"completion is for bash, zsh, fish and PowerShell, not for {shell}; run it from there")


def _completing(names: Names) -> Completer:
    """Return a completer that offers the names with the typed prefix, and no names on error."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        try:
            return [name for name in names(context) if name.startswith(incomplete)]
        except Exception:
            return []

    complete.__doc__ = names.__doc__
    return complete


@_completing
def engines(context: typer.Context) -> Iterable[str]:
    """Name the engines that read tables."""
    return "polars", "spark"


@_completing
def query_kinds(context: typer.Context) -> Iterable[str]:
    """Name the kinds of queries."""
    from bayesdp.queries import Query

    return Query.kinds()


@_completing
def proofs(context: typer.Context) -> Iterable[str]:
    """Name the theorems, and the other pages of proofs."""
    from bayesdp.session.proofs import proof_names

    return proof_names()


@_completing
def fitted_models(context: typer.Context) -> Iterable[str]:
    """Name the types of models that can be fitted."""
    from bayesdp.models import Model

    return [kind for kind, model in Model.types().items() if model.fit_options]


@_completing
def reproducible(context: typer.Context) -> Iterable[str]:
    """Name the figures and data sets of the paper."""
    from bayesdp.experiments import catalogue

    return catalogue()


@_completing
def datasets(context: typer.Context) -> Iterable[str]:
    """Name the data sets of the ledger if it is an existing file; completion does not query a server."""
    from bayesdp.ledger import Ledger, default_ledger

    place = str(context.params.get("ledger") or default_ledger()).removeprefix("sqlite:///")
    if not Path(place).is_file():
        return []
    with Ledger(place, create=False) as ledger:
        return ledger.datasets()
