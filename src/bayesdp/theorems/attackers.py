"""Attackers that a theorem protects against, in words that end a sentence (docs/theory/side-information.md)."""

__all__ = ["ANYBODY", "EXACT_KNOWLEDGE", "SIDE_INFORMATION"]

EXACT_KNOWLEDGE = (
    "and an attacker who knows how the records depend on one another, and each other record exactly or not at all; one "
    "who is unsure how they depend, or has other side information, is not covered"
)
"""The adversaries of Bayesian differential privacy."""

SIDE_INFORMATION = (
    "and an attacker who knows how the records depend on one another, knows any of them exactly and has any noisy "
    "observation of each of the others by itself; one who is unsure how they depend is not covered"
)
"""The adversaries that theorems about bounded odds cover as well."""

ANYBODY = "and any attacker for whom the groups are independent of one another"
"""Group privacy holds whatever is known or believed inside a group."""
