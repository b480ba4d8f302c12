"""Names of a package that load when they are first used (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazily", "upstairs"]


def upstairs(module: str) -> Any:
    """Return a module of a layer above by its name, for what people ask of a description: fit, diagnose, plot.

    Everything else points down (tools/layers.py).
    """
    return import_module(module)


def lazily(package: str, homes: Mapping[str, str], namespace: dict[str, Any]) -> Callable[[str], Any]:
    """Return a package's `__getattr__`: it loads a name from its home module and keeps it in the package's namespace.

    homes: the module of each name, inside the package; empty for a name that is itself a module.

    >>> lazily("json", {"JSONDecoder": "decoder"}, {})("JSONDecoder").__name__
    'JSONDecoder'
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(f"{package}.{homes[name] or name}")
        namespace[name] = getattr(home, name) if homes[name] else home
        return namespace[name]

    return load
