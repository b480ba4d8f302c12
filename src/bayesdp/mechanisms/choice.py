"""The choice of the noise mechanism for a kind of loss."""

from __future__ import annotations

from bayesdp.errors import InvalidInputError
from bayesdp.losses import ConcentratedLoss, Loss, PureLoss
from bayesdp.mechanisms.base import IntegerNoise
from bayesdp.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
from bayesdp.mechanisms.discrete_laplace import DiscreteLaplaceMechanism

__all__ = ["noise_for"]

_NOISE: dict[type[Loss], type[IntegerNoise]] = {
    PureLoss: DiscreteLaplaceMechanism,
    ConcentratedLoss: DiscreteGaussianMechanism,
}


def noise_for(loss: type[Loss]) -> type[IntegerNoise]:
    """Return the mechanism whose noise on whole numbers costs losses of this kind; InvalidInputError if there is none.

    >>> noise_for(PureLoss).norm, noise_for(ConcentratedLoss).norm
    ('l1', 'l2')
    """
    if loss not in _NOISE:
        raise InvalidInputError(f"there is no noise mechanism for {getattr(loss, 'kind', loss.__name__)}")
    return _NOISE[loss]
