"""Is it true? The exhaustive oracle, the worst attacker, attacks that are run, and lower bounds on what leaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesdp._support.lazy import lazily

if TYPE_CHECKING:
    from bayesdp.audit.beliefs import Belief, Beliefs, belief
    from bayesdp.audit.worst_cases import WorstCase, worst_case

__all__ = ["Belief", "Beliefs", "WorstCase", "belief", "worst_case"]

_HOMES = {
    "Belief": "beliefs",
    "Beliefs": "beliefs",
    "WorstCase": "worst_cases",
    "belief": "beliefs",
    "worst_case": "worst_cases",
}

__getattr__ = lazily(__name__, _HOMES, globals())


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
