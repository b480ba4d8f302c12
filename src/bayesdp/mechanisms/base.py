"""The interfaces of mechanisms, and the check that a release uses a private one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

from bayesdp.accuracy import NoiseLaw
from bayesdp.errors import InvalidInputError
from bayesdp.losses import Loss
from bayesdp.mechanisms.drawing import by_opendp, require_untouched_generator
from bayesdp.mechanisms.integers import checked_integers

__all__ = ["IntegerNoise", "Mechanism", "Noise", "Norm", "require_private"]

Number = TypeVar("Number", int, float)

Norm = Literal["l1", "l2"]
"""The norm of the difference of two lists of numbers: the sum of absolute values, or Euclidean."""

_PROVEN = {
    "bayesdp.mechanisms.discrete_gaussian.DiscreteGaussianMechanism",
    "bayesdp.mechanisms.discrete_laplace.DiscreteLaplaceMechanism",
    "bayesdp.mechanisms.noisy_max.NoisyMaxMechanism",
    "bayesdp.mechanisms.randomized_response.RandomizedResponseMechanism",
}


class Mechanism:
    """A random procedure.

    private: whether it may make releases. True only for mechanisms of this package that draw through OpenDP; defining
             any other class with `private = True`, also by inheritance, raises InvalidInputError.

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
        """The law of the noise on one number, which converts between α and β."""

    @abstractmethod
    def release(self, values: Sequence[Number]) -> tuple[Number, ...]:
        """Return `values`, each with fresh and independent noise."""


class IntegerNoise(Noise[int]):
    """Noise that makes a list of whole numbers private, with its scale and accuracy.

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
        """Return whether the noise that costs `loss` fits into 64 bits."""

    @classmethod
    @abstractmethod
    def for_accuracy(cls, units: int, beta: float, sensitivity: int, dimension: int) -> Loss:
        """Return the smallest loss at which all errors are below `units` at once, except with probability β.

        Raises InvalidInputError if there is none.
        """

    @abstractmethod
    def _opendp(self, scale: float) -> Any:
        """Return OpenDP's measurement that adds noise of this kind, at a scale, to `dimension` whole numbers."""

    def release(self, values: Sequence[int]) -> tuple[int, ...]:
        """Return `values` with fresh noise; only the operating system seeds the generator.

        Raises InvalidInputError, whose message never shows a value, unless `values` are `dimension` whole numbers
        within ±2^62, and NoiseError if the noise cannot be drawn.
        """
        checked = checked_integers(values, self.dimension)
        require_untouched_generator()
        return tuple(by_opendp(lambda: self._opendp(self.scale)(checked)))

    @property
    def law(self) -> NoiseLaw:
        return self.law_of(self.scale)

    def alpha(self, beta: float) -> float:
        """Return α such that all errors are below α at once, except with probability β."""
        return self.law.alpha(beta, cells=self.dimension)


def require_private(mechanism: object) -> None:
    """Raise InvalidInputError unless the object is one of this package's private mechanisms.

    The class decides, not an attribute of the object. Raises NoiseError if the environment redirects the random
    generator, so call this before anything is charged.

    >>> from bayesdp.mechanisms import DiscreteLaplaceMechanism
    >>> require_private(DiscreteLaplaceMechanism(sensitivity=1, tau=0.5))
    """
    kind = type(mechanism)
    if not (issubclass(kind, Mechanism) and kind.private):
        raise InvalidInputError(
            f"{kind.__name__} cannot make a release: it is not a private mechanism; use DiscreteLaplaceMechanism or "
            "RandomizedResponseMechanism, and NumPy noise for simulations only"
        )
    require_untouched_generator()
