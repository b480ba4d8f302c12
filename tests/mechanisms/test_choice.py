from dataclasses import dataclass
from typing import ClassVar

import pytest

from bayesdp.errors import InvalidInputError
from bayesdp.losses import PureLoss
from bayesdp.mechanisms import DiscreteLaplaceMechanism, noise_for


@dataclass(frozen=True)
class OtherLoss(PureLoss):
    """Another kind of loss, though it inherits from a pure one."""

    kind: ClassVar[str] = "other privacy"


def test_a_pure_loss_takes_discrete_laplace_noise() -> None:
    assert noise_for(PureLoss) is DiscreteLaplaceMechanism
    with pytest.raises(InvalidInputError, match="no noise here costs other privacy"):
        noise_for(OtherLoss)


def test_noise_is_made_for_the_loss_it_costs_only() -> None:
    kind = noise_for(PureLoss)
    assert kind.for_loss(PureLoss(0.5), sensitivity=2, dimension=3) == DiscreteLaplaceMechanism(2, 0.5, 3)
    for call in (lambda: kind.for_loss(OtherLoss(0.5), 1, 1), lambda: kind.fits(OtherLoss(0.5), 1)):
        with pytest.raises(InvalidInputError, match="not other privacy"):
            call()
