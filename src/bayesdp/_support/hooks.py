"""Hooks: how a package calls a function of a package above it, such as the one that plots its result.

Each hook has a name and one provider, written "module:function". `bayesdp/__init__.py` registers all providers. A
provider's module is loaded when its hook is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from bayesdp.errors import BayesDPError, MissingDependencyError

__all__ = ["call", "load", "providers", "register", "resolve"]

_providers: dict[str, str] = {}


def register(named: Mapping[str, str]) -> None:
    """Register the providers of hooks; raises BayesDPError if a hook has another provider."""
    for hook, provider in named.items():
        if _providers.setdefault(hook, provider) != provider:
            raise BayesDPError(f"the hook {hook!r} already has the provider {_providers[hook]}")


def providers() -> dict[str, str]:
    """Return the provider of each hook."""
    return dict(_providers)


def resolve(hook: str) -> Callable[..., Any]:
    """Return the function that a hook calls; raises BayesDPError if it has no provider."""
    if hook not in _providers:
        raise BayesDPError(f"the hook {hook!r} has no provider; bayesdp/__init__.py names the providers of all hooks")
    provider: Callable[..., Any] = load(_providers[hook])
    return provider


def call(hook: str, /, *arguments: Any, **options: Any) -> Any:
    """Call the provider of a hook."""
    return resolve(hook)(*arguments, **options)


def load(address: str) -> Any:
    """Return the object "module:name", or the module if there is no name.

    Raises MissingDependencyError for a module of this package that is not installed: bayesdp-client has only some.

    >>> load("math:gcd")(12, 18)
    6
    """
    module, _, name = address.partition(":")
    try:
        loaded = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("bayesdp."):
            raise
        raise MissingDependencyError(
            f"{name or module} needs the whole bayesdp, and only bayesdp-client is installed: pip install bayesdp"
        ) from None
    return getattr(loaded, name) if name else loaded
