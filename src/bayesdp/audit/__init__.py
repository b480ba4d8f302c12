"""Check what is proven: the exhaustive oracle, the worst attacker, simulated attacks, lower bounds on the leakage."""

from bayesdp.audit.approximate_audits import ApproximateAudit
from bayesdp.audit.attacks import AttackReport, Outcome, attack
from bayesdp.audit.audits import Audit, audited
from bayesdp.audit.beliefs import Belief, Beliefs, belief
from bayesdp.audit.lower_bounds import LowerBound, lower_bound
from bayesdp.audit.worst_cases import WorstCase, worst_case

__all__ = [
    "ApproximateAudit",
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
