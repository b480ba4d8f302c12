"""What a release costs in ordinary differential privacy, if records were independent.

A loss says how much privacy one release takes, in the terms of its definition. Theorems turn losses into ε. Each
theorem declares the kinds of losses it covers, and is never asked about any other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from bayesdp._support import validation
from bayesdp.rounding import shown_below

__all__ = ["Loss", "PureLoss"]


@dataclass(frozen=True)
class Loss(ABC):
    """The privacy that one release takes. A subclass is a frozen dataclass with the parameters of its definition.

    kind: the definition in words, with its parameters in brackets; reasons for refusals name it.
    """

    kind: ClassVar[str]

    @property
    @abstractmethod
    def description(self) -> str:
        """The parameters with their values, as text."""


@dataclass(frozen=True)
class PureLoss(Loss):
    """τ-differential privacy: replacing one record changes the probability of any answer by a factor of at most e^τ.

    >>> PureLoss(0.5).description
    'tau = 0.5'
    """

    tau: float

    kind: ClassVar[str] = "pure differential privacy (tau)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", validation.not_negative("tau", self.tau))

    @property
    def description(self) -> str:
        """The value of τ, rounded down."""
        return f"tau = {shown_below(self.tau)}"
