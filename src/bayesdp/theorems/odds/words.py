"""The adversary that bounded odds protect against, in words (docs/theory/side-information.md)."""

__all__ = ["SIDE_INFORMATION"]

SIDE_INFORMATION = (
    "and an attacker who knows how the records depend on one another, knows any of them exactly and has any noisy "
    "observation of each of the others by itself"
)
