"""Mechanisms: discrete Laplace and Gaussian noise, noisy max and randomized response by OpenDP; NumPy for simulations.

OpenDP and NumPy load when a mechanism is created or run, not when this package is imported. Only simulations take a
seed, and `require_private` keeps them out of releases.
"""

from bayesdp.mechanisms.base import IntegerNoise, Mechanism, Noise, Norm, require_private
from bayesdp.mechanisms.choice import noise_for
from bayesdp.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
from bayesdp.mechanisms.discrete_laplace import DiscreteLaplaceMechanism
from bayesdp.mechanisms.integers import LARGEST_SCALE, LARGEST_VALUE
from bayesdp.mechanisms.noisy_max import SELECTIONS, NoisyMaxMechanism
from bayesdp.mechanisms.randomized_response import RandomizedResponseMechanism
from bayesdp.mechanisms.simulation import SimulatedLaplace

__all__ = [
    "LARGEST_SCALE",
    "LARGEST_VALUE",
    "SELECTIONS",
    "DiscreteGaussianMechanism",
    "DiscreteLaplaceMechanism",
    "IntegerNoise",
    "Mechanism",
    "Noise",
    "NoisyMaxMechanism",
    "Norm",
    "RandomizedResponseMechanism",
    "SimulatedLaplace",
    "noise_for",
    "require_private",
]
