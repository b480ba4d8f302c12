"""What a mechanism is, and which mechanisms may protect people."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

from bayesdp.accuracy import NoiseLaw
from bayesdp.errors import InvalidInputError
from bayesdp.losses import Loss
from bayesdp.mechanisms.drawing import require_untouched_generator

__all__ = ["IntegerNoise", "Mechanism", "Noise", "Norm", "require_private"]

Number = TypeVar("Number", int, float)

Norm = Literal["l1", "l2"]
"""How the distance between two lists of numbers is measured: absolute differences added up, or Euclidean."""

_PROVEN = {
    "bayesdp.mechanisms.discrete_gaussian.DiscreteGaussianMechanism",
    "bayesdp.mechanisms.discrete_laplace.DiscreteLaplaceMechanism",
    "bayesdp.mechanisms.noisy_max.NoisyMaxMechanism",
    "bayesdp.mechanisms.randomized_response.RandomizedResponseMechanism",
}


class Mechanism:
    """Anything that draws randomness.

    private: whether a release may be made with it. True only for the mechanisms here that draw through OpenDP;
             any other class that says True, or inherits it, is refused when it is defined.

    >>> class Mine(Mechanism):
    ...     private = True
    Traceback (most recent call last):
    ...
    bayesdp.errors.InvalidInputError: Mine cannot be private: only bayesdp's own mechanisms are proven to be
    """

    private: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.private and f"{cls.__module__}.{cls.__qualname__}" not in _PROVEN:
            raise InvalidInputError(f"{cls.__name__} cannot be private: only bayesdp's own mechanisms are proven to be")


class Noise(Mechanism, ABC, Generic[Number]):
    """Noise that is added to numbers."""

    @property
    @abstractmethod
    def law(self) -> NoiseLaw:
        """The law of the noise on one number, which turns α into β and back."""

    @abstractmethod
    def release(self, values: Sequence[Number]) -> tuple[Number, ...]:
        """Return `values`, each with fresh and independent noise."""


class IntegerNoise(Noise[int]):
    """Noise that makes a list of whole numbers private: how much it takes, and how far off it may be.

    norm:      the norm in which the sensitivity must be measured; in l2 it is given as its square, a whole number.
    dimension: how many numbers there are.
    scale:     the scale of the noise, in the units of the numbers.
    """

    norm: ClassVar[Norm]
    dimension: int
    scale: float

    @classmethod
    @abstractmethod
    def for_loss(cls, loss: Loss, sensitivity: int, dimension: int) -> Self:
        """Return the noise that costs `loss`, for numbers that one replaced record moves by at most `sensitivity`."""

    @classmethod
    @abstractmethod
    def law_of(cls, scale: float) -> NoiseLaw:
        """Return the law of noise of this kind on one number, at a scale."""

    @classmethod
    @abstractmethod
    def fits(cls, loss: Loss, sensitivity: int) -> bool:
        """Tell whether the noise that costs `loss` fits into 64 bits."""

    @classmethod
    @abstractmethod
    def for_accuracy(cls, units: int, beta: float, sensitivity: int, dimension: int) -> Loss:
        """Return the smallest loss at which all numbers at once are off by less than `units`, except with β.

        Raises InvalidInputError if there is none.
        """

    @property
    def law(self) -> NoiseLaw:
        return self.law_of(self.scale)

    def alpha(self, beta: float) -> float:
        """Return α such that every number is off by less than α at once, except with probability β."""
        return self.law.alpha(beta, cells=self.dimension)


def require_private(mechanism: object) -> None:
    """Refuse with `InvalidInputError` whatever is not one of this package's private mechanisms.

    The class is asked, not the object, so that an attribute set by accident does not count. NoiseError if the
    environment redirects the random generator: call this before anything is charged.

    >>> from bayesdp.mechanisms import DiscreteLaplaceMechanism
    >>> require_private(DiscreteLaplaceMechanism(sensitivity=1, tau=0.5))
    """
    kind = type(mechanism)
    if not (issubclass(kind, Mechanism) and kind.private):
        raise InvalidInputError(
            f"a release cannot be made with {kind.__name__}: its randomness does not protect anyone; use "
            "DiscreteLaplaceMechanism or RandomizedResponseMechanism, and keep NumPy noise for simulations"
        )
    require_untouched_generator()
