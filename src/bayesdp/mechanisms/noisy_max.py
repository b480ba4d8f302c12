"""Private selection of the place with the smallest whole-number distance, by OpenDP's noisy max; used for quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, final

from bayesdp._support import validation
from bayesdp.errors import InvalidInputError
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.drawing import by_opendp, require_untouched_generator
from bayesdp.mechanisms.integers import confirmed_scale
from bayesdp.rounding import float_above, float_below, up

__all__ = ["SELECTIONS", "NoisyMaxMechanism"]

SELECTIONS = 3
"""A quantile is selected three times: itself, and the two ends of its interval."""

_LARGEST_SCALE = 2**40


@final
@dataclass(frozen=True)
class NoisyMaxMechanism(Mechanism):
    """Several selections of a place with a small distance that are τ-DP together.

    tau:        the privacy of all selections together, above 0; each has an equal part of it.
    places:     the number of places, at least 2.
    selections: the number of selections.
    scale:      the scale of the exponential noise on each distance, the smallest float at least 2·selections/τ.

    One replaced record may move each distance by at most 1. Each selection takes the least distance after exponential
    noise (permute-and-flip; McKenna and Sheldon 2020), which is 2/scale-DP.

    >>> mechanism = NoisyMaxMechanism(tau=0.5, places=4, selections=2)
    >>> mechanism.scale, len(mechanism.release([[3, 0, 2, 9], [1, 0, 0, 5]]))
    (8.0, 2)
    """

    tau: float
    places: int
    selections: int = 1
    scale: float = field(init=False)

    private: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", validation.positive("tau", self.tau))
        object.__setattr__(self, "places", validation.natural("places", self.places, least=2))
        object.__setattr__(self, "selections", validation.natural("selections", self.selections))
        object.__setattr__(self, "scale", self._least_scale())

    def slack(self, beta: float, among: int | None = None) -> int:
        """Return s such that selected distances exceed the least by at most s, except with probability β.

        among: the number of selections for which that holds at once; by default all.

        A place whose distance is k above the least is selected only if its noise is k below that of the nearest. The
        difference of two exponentials is a Laplace variable, so the probability is at most e^(−k/scale)/2 for each of
        the places − 1 others and each selection.
        """
        wrong = (among or self.selections) * (self.places - 1) / (2 * validation.probability("beta", beta))
        return max(0, math.ceil(up(self.scale * math.log(max(wrong, 1.0)), 8)) - 1)

    def release(self, distances: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """Return one place for each list of distances, with fresh noise and no seed.

        Raises NoiseError if the noise cannot be drawn.
        """
        if len(distances) != self.selections or any(len(row) != self.places for row in distances):
            raise InvalidInputError(f"expected {self.selections} lists of {self.places} distances each")
        require_untouched_generator()
        return by_opendp(lambda: _selected(self.scale, distances))

    def _least_scale(self) -> float:
        """Return the smallest scale at which OpenDP's own map of one selection is at most its part of τ."""
        part = float_below(Fraction(self.tau) / self.selections)
        if part <= 0 or Fraction(2) / Fraction(part) > _LARGEST_SCALE:
            raise InvalidInputError(f"tau = {self.tau:g} is too small for a selection; choose a larger tau")
        return confirmed_scale(float_above(Fraction(2) / Fraction(part)), _confirmed, "tau", part)


def _confirmed(scale: float) -> float:
    return float(by_opendp(lambda: _measurement(scale).map(1)))


def _selected(scale: float, distances: Sequence[Sequence[int]]) -> tuple[int, ...]:
    select = _measurement(scale)
    return tuple(int(select([int(distance) for distance in row])) for row in distances)


def _measurement(scale: float) -> Any:
    """Return OpenDP's selection of the smallest of several 64-bit integers."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_noisy_max
    from opendp.measures import max_divergence
    from opendp.metrics import linf_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    space = vector_domain(atom_domain(T="i64")), linf_distance(T="i64")
    return make_noisy_max(*space, max_divergence(), scale=scale, negate=True)
