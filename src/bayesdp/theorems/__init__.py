"""What is proven: one theorem a module, and `ask`, which asks them all.

The module can be called: `bayesdp.theorems()` returns every theorem, our own first.
"""

from __future__ import annotations

import sys
from types import ModuleType

from bayesdp.theorems.registry import Theorems, register, theorem_named, theorems, unregister
from bayesdp.theorems.theorem import Theorem

__all__ = ["Theorem", "Theorems", "register", "theorem_named", "theorems", "unregister"]


class _Callable(ModuleType):
    """A module that is also the function of its name."""

    def __call__(self) -> Theorems:
        return theorems()


sys.modules[__name__].__class__ = _Callable
