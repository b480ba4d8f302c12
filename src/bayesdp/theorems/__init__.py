"""Theorems, one in each module, and `ask`, which evaluates all of them.

The module is callable: `bayesdp.theorems()` returns every theorem, those of this package first.
"""

from __future__ import annotations

import sys
from types import ModuleType

from bayesdp.theorems.registry import Theorems, register, theorem_named, theorems, unregister
from bayesdp.theorems.theorem import Theorem

__all__ = ["Theorem", "Theorems", "register", "theorem_named", "theorems", "unregister"]


class _Callable(ModuleType):
    """A module that can be called."""

    def __call__(self) -> Theorems:
        return theorems()


sys.modules[__name__].__class__ = _Callable
