"""The modules of the small package bayesdp-client: those that its roots import, also inside functions, and theirs.

Its build (packaging/client) and its tests ask here, so that no list has to be kept.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tools.layers import PACKAGE, carried_out

ROOTS = ("bayesdp", "bayesdp.client")
"""The package itself, whose names load when they are used, and the client."""


def modules(package: Path = PACKAGE) -> dict[str, Path]:
    """Return the file of each module that the roots need, by its dotted name."""
    found: dict[str, Path] = {}
    waiting = list(ROOTS)
    while waiting:
        name = waiting.pop()
        path = _file(name, package)
        if path is not None and name not in found:
            found[name] = path
            waiting += [name.rpartition(".")[0] or name, *_names(path)]
    return dict(sorted(found.items()))


def foreign(package: Path = PACKAGE) -> set[str]:
    """Return the other packages that these modules import, those of Python among them."""
    names = {name.partition(".")[0] for path in modules(package).values() for name in _names(path)}
    return names - {"bayesdp"}


@cache
def _names(path: Path) -> set[str]:
    """Return the dotted names of what a file imports; of a name from a module both, for it may be a module, too."""
    names = set()
    for node in carried_out(ast.parse(path.read_text(encoding="utf-8"))):
        origin = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        names |= {f"{origin}{alias.name}" for alias in node.names} | ({origin[:-1]} if origin else set())
    return names


def _file(name: str, package: Path) -> Path | None:
    """Return the file of a module of the package; None for any other name."""
    root, *parts = name.split(".")
    place = package.joinpath(*parts)
    files = (place / "__init__.py", place.with_suffix(".py"))
    return next((path for path in files if root == "bayesdp" and path.is_file()), None)
