"""What a mechanism is, and which mechanisms may protect people."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

from bayesdp.accuracy import NoiseLaw
from bayesdp.errors import InvalidInputError
from bayesdp.mechanisms.drawing import require_untouched_generator

__all__ = ["Mechanism", "Noise", "require_private"]

Number = TypeVar("Number", int, float)

_PROVEN = {
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
