"""Names of a package that load when they are first used (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bayesdp._support.hooks import load

__all__ = ["lazily"]


def lazily(package: str, homes: Mapping[str, str], namespace: dict[str, Any]) -> Callable[[str], Any]:
    """Return a package's `__getattr__`: it loads a name from its home module and keeps it in the package's namespace.

    homes: the module of each name, inside the package; empty for a name that is itself a module.

    >>> lazily("json", {"JSONDecoder": "decoder"}, {})("JSONDecoder").__name__
    'JSONDecoder'
    """

    def loaded(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        namespace[name] = load(f"{package}.{homes[name]}:{name}" if homes[name] else f"{package}.{name}")
        return namespace[name]

    return loaded
