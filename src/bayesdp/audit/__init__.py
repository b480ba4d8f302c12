"""Is it true? The exhaustive oracle, the worst attacker, attacks that are run, and lower bounds on what leaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesdp._support.lazy import lazily

if TYPE_CHECKING:
    from bayesdp.audit.attacks import AttackReport, Outcome, attack
    from bayesdp.audit.audits import Audit, audited
    from bayesdp.audit.beliefs import Belief, Beliefs, belief
    from bayesdp.audit.lower_bounds import LowerBound, lower_bound
    from bayesdp.audit.worst_cases import WorstCase, worst_case

__all__ = [
    "AttackReport",
    "Audit",
    "Belief",
    "Beliefs",
    "LowerBound",
    "Outcome",
    "WorstCase",
    "attack",
    "audited",
    "belief",
    "lower_bound",
    "worst_case",
]

_HOMES = {
    "AttackReport": "attacks",
    "Audit": "audits",
    "Belief": "beliefs",
    "Beliefs": "beliefs",
    "LowerBound": "lower_bounds",
    "Outcome": "attacks",
    "WorstCase": "worst_cases",
    "attack": "attacks",
    "audited": "audits",
    "belief": "beliefs",
    "lower_bound": "lower_bounds",
    "worst_case": "worst_cases",
}

__getattr__ = lazily(__name__, _HOMES, globals())


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
