"""Names of a package that load when they are first used (PEP 562), and former names."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from bayesdp._support.hooks import load

__all__ = ["lazily", "renamed", "warn_renamed"]


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


def renamed(old: str, new: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module under its former name: it loads from the new module, with a warning.

    names: the present name of each former one.
    """

    def loaded(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        warn_renamed(f"{old}.{name}", f"{new}.{names[name]}", stacklevel=3)
        return load(f"{new}:{names[name]}")

    return loaded


def warn_renamed(old: str, new: str, *, stacklevel: int) -> None:
    """Warn that a name changed; the former one works for one version."""
    warnings.warn(f"{old} is now {new}; the old name goes with the next version", DeprecationWarning, stacklevel)
