"""Names of a package that load when they are first used (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazily"]


def lazily(package: str, homes: Mapping[str, str], namespace: dict[str, Any]) -> Callable[[str], Any]:
    """Return a package's `__getattr__`: it loads a name from its home module and keeps it in the package's namespace.

    >>> lazily("json", {"JSONDecoder": "decoder"}, {})("JSONDecoder").__name__
    'JSONDecoder'
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        namespace[name] = getattr(import_module(f"{package}.{homes[name]}"), name)
        return namespace[name]

    return load
