"""Find public names with incomplete docstrings: no docstring, or a missing parameter, exception or example.

    python tools/docs/documented.py     # exit status 1 and one line for each problem, if there are any

A name is public if a module without a leading underscore lists it in `__all__`. The rule about parameters, exceptions
and examples applies to everything in `bayesdp.__all__`.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import bayesdp
from bayesdp import errors

NO_EXAMPLE = {
    "Advice": "is returned by `advise`, which has one",
    "Answer": "is returned by `Session.release`; docs/releases.md has one",
    "Answers": "is returned by `Session.release_by`; docs/releases.md has one",
    "Calibration": "is returned by `calibrate`, which has one",
    "Comparison": "is returned by `compare`, which has one",
    "Leakage": "is returned by `leakage`, which has one",
    "Model": "is what models inherit; docs/extending.md has one",
    "Query": "is what queries inherit; docs/extending.md has one",
    "Session": "needs a table and a ledger; docs/releases.md has one",
    "Theorem": "is what theorems inherit; docs/extending.md has one",
    **dict.fromkeys(
        ("audit", "errors", "ledger", "losses", "mechanisms", "models", "queries", "testing"),
        "is a module; its functions and classes have examples",
    ),
    "plot_tradeoff": "writes a file; docs/advise.md and docs/one-number.md show pictures",
    "register": "changes the theorems of the whole process; docs/extending.md has one",
    "theorems": "is a list; its module's docstring describes it",
    "unregister": "changes the theorems of the whole process; docs/extending.md has `register`",
}
"""Names in `bayesdp.__all__` without an example in their docstring, with the reason."""


OTHER_WORDS = {
    "beta": "β",
    "document": "JSON object",
    "epsilon": "ε",
    "frame": "table",
    "path": "file|picture",
    "queries": "questions",
    "query": "question",
    "tau": "τ",
}
"""Words that a docstring may use instead of a parameter's name."""


def modules() -> Iterator[str]:
    """Yield every public module: no part of its dotted name begins with an underscore."""
    for module in pkgutil.walk_packages(bayesdp.__path__, "bayesdp."):
        if not any(part.startswith("_") for part in module.name.split(".")):
            yield module.name


def undocumented() -> Iterator[str]:
    """Yield a line for each gap in the documentation of a public name."""
    for module in modules():
        home = import_module(module)
        if not home.__doc__:
            yield f"{module}: no docstring"
        for name in getattr(home, "__all__", ()):
            yield from _without_docstring(f"{module}.{name}", getattr(home, name))
    for name in bayesdp.__all__:
        member = getattr(bayesdp, name)
        yield from incomplete(f"bayesdp.{name}", member)
        if ">>>" not in (inspect.getdoc(member) or "") and name not in NO_EXAMPLE:
            yield f"bayesdp.{name}: no example"


def incomplete(address: str, member: Any) -> Iterator[str]:
    """Yield a line for each gap in the docstring of a function, or in those of a class and its own methods."""
    if inspect.isclass(member):
        texts = [cls.__doc__ or "" for cls in member.__mro__[:-1]]
        if not issubclass(member, Exception):
            yield from _unnamed(address, member, texts)
        for name, method in _own_methods(member):
            inherited = [getattr(cls, name).__doc__ or "" for cls in member.__mro__ if hasattr(cls, name)]
            yield from _unnamed(f"{address}.{name}", method, [*inherited, *texts])
            yield from _unmentioned(f"{address}.{name}", method, inherited)
    elif inspect.isfunction(member):
        yield from _unnamed(address, member, [member.__doc__ or ""])
        yield from _unmentioned(address, member, [member.__doc__ or ""])


def _without_docstring(address: str, member: Any) -> Iterator[str]:
    if inspect.isclass(member):
        if not member.__doc__:
            yield f"{address}: no docstring"
        for name, own in vars(member).items():
            described = inspect.isroutine(own) or isinstance(own, property | classmethod)
            if described and not name.startswith(("_", "test_")) and not inspect.getdoc(getattr(member, name)):
                yield f"{address}.{name}: no docstring"
    elif inspect.isfunction(member) and not member.__doc__:
        yield f"{address}: no docstring"


def _own_methods(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, own in vars(cls).items():
        plain = own.__func__ if isinstance(own, classmethod | staticmethod) else own
        if not name.startswith("_") and inspect.isfunction(plain):
            yield name, plain


def _unnamed(address: str, callable_: Callable[..., Any], texts: list[str]) -> Iterator[str]:
    for name, parameter in inspect.signature(callable_).parameters.items():
        words = rf"\b({name}|{OTHER_WORDS.get(name, name)})\b"
        open_ended = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if name not in ("self", "cls") and not open_ended and not any(re.search(words, text) for text in texts):
            yield f"{address}: does not say what {name} is"


def _unmentioned(address: str, function: Callable[..., Any], texts: list[str]) -> Iterator[str]:
    """Yield the exceptions of bayesdp that the function raises, if its docstrings name no exception."""
    if any(re.search(r"[Rr]aises as|\w+Error\b", text) for text in texts):
        return
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    raised = [
        node.exc.func for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
    ]
    for error in raised:
        if isinstance(error, ast.Name) and error.id in errors.__all__:
            yield f"{address}: does not say when it raises {error.id}"


if __name__ == "__main__":
    lines = list(undocumented())
    print("\n".join(lines) or "Everything public is documented.")
    sys.exit(bool(lines))
