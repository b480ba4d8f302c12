"""NumPy noise for simulations: seeded, fast, in bulk, and never private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayesdp._support import validation
from bayesdp._support.messages import name_of
from bayesdp.accuracy import Laplace
from bayesdp.errors import InvalidInputError
from bayesdp.mechanisms.base import Noise

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SimulatedLaplace"]


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
        import numpy as np

        if not isinstance(self.generator, np.random.Generator):
            raise InvalidInputError(
                name_of("generator") + " must be a numpy.random.Generator, for example numpy.random.default_rng(7)"
            )

    @property
    def law(self) -> Laplace:
        return Laplace(self.scale)

    def draw(self, size: int | tuple[int, ...]) -> NDArray[np.float64]:
        """Return an array of independent noise."""
        return self.generator.laplace(scale=self.scale, size=size)

    def release(self, values: Sequence[float]) -> tuple[float, ...]:
        return tuple((values + self.draw(len(values))).tolist())
