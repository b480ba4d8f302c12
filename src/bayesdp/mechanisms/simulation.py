"""NumPy noise for experiments: seeded, fast, in bulk, and never private."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayesdp._support import validation
from bayesdp.accuracy import DiscreteLaplace, Laplace, RandomizedResponse
from bayesdp.errors import InvalidInputError
from bayesdp.mechanisms.base import Mechanism, Noise
from bayesdp.mechanisms.discrete_laplace import LARGEST_SCALE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SimulatedDiscreteLaplace", "SimulatedLaplace", "SimulatedRandomizedResponse"]

Size = int | tuple[int, ...]


@dataclass(frozen=True)
class SimulatedLaplace(Noise[float]):
    """Continuous Laplace noise of a given scale, for simulations only.

    generator: a `numpy.random.Generator`, for example `numpy.random.default_rng(7)`.

    >>> import numpy
    >>> SimulatedLaplace(scale=2.0, generator=numpy.random.default_rng(7)).draw(3).shape
    (3,)
    """

    scale: float
    generator: np.random.Generator

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", validation.positive("scale", self.scale))
        _check(self.generator)

    @property
    def law(self) -> Laplace:
        return Laplace(self.scale)

    def draw(self, size: Size) -> NDArray[np.float64]:
        """Return an array of independent noise."""
        return self.generator.laplace(scale=self.scale, size=size)

    def release(self, values: Sequence[float]) -> tuple[float, ...]:
        return tuple((values + self.draw(len(values))).tolist())


@dataclass(frozen=True)
class SimulatedDiscreteLaplace(Noise[int]):
    """Two-sided geometric noise of a given scale, for simulations only: the difference of two geometric numbers.

    generator: a `numpy.random.Generator`.

    >>> import numpy
    >>> noise = SimulatedDiscreteLaplace(scale=2.0, generator=numpy.random.default_rng(7))
    >>> noise.draw((2, 3)).shape, len(noise.release([1, 2]))
    ((2, 3), 2)
    """

    scale: float
    generator: np.random.Generator

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", validation.positive("scale", self.scale))
        if self.scale > LARGEST_SCALE:
            raise InvalidInputError(f"scale must be at most 2^56, not {self.scale:g}")
        _check(self.generator)

    @property
    def law(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.scale)

    def draw(self, size: Size) -> NDArray[np.int64]:
        """Return an array of independent noise."""
        success = -math.expm1(-1 / self.scale)
        return self.generator.geometric(success, size) - self.generator.geometric(success, size)

    def release(self, values: Sequence[int]) -> tuple[int, ...]:
        return tuple((values + self.draw(len(values))).tolist())


@dataclass(frozen=True)
class SimulatedRandomizedResponse(Mechanism):
    """How many ones randomized response reports, for simulations only.

    flip:      the probability that a bit is flipped, in [0, 0.5).
    generator: a `numpy.random.Generator`.

    >>> import numpy
    >>> SimulatedRandomizedResponse(0.0, numpy.random.default_rng(7)).draw(records=10, ones=3, size=2).tolist()
    [3, 3]
    """

    flip: float
    generator: np.random.Generator

    def __post_init__(self) -> None:
        object.__setattr__(self, "flip", RandomizedResponse(self.flip, records=1, ones=0).flip)
        _check(self.generator)

    def draw(self, records: int, ones: int, size: Size) -> NDArray[np.int64]:
        """Return an array of independent numbers of ones reported, of `records` bits of which `ones` are 1."""
        kept = self.generator.binomial(ones, 1 - self.flip, size)
        return kept + self.generator.binomial(records - ones, self.flip, size)


def _check(generator: object) -> None:
    import numpy as np

    if not isinstance(generator, np.random.Generator):
        raise InvalidInputError("generator must be a numpy.random.Generator, for example numpy.random.default_rng(7)")
