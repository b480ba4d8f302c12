"""Is it true? The exhaustive oracle, the worst attacker, attacks that are run, and lower bounds on what leaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesdp._support.lazy import lazily

if TYPE_CHECKING:
    from bayesdp.audit.beliefs import Belief, Beliefs, belief

__all__ = ["Belief", "Beliefs", "belief"]

_HOMES = {"Belief": "beliefs", "Beliefs": "beliefs", "belief": "beliefs"}

__getattr__ = lazily(__name__, _HOMES, globals())


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
