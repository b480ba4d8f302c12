"""Which mechanisms a release may use, and which noise a loss takes."""

import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from bayesdp.accuracy import NOISE_LAWS
from bayesdp.errors import InvalidInputError
from bayesdp.losses import ConcentratedLoss, Loss, PureLoss
from bayesdp.mechanisms import (
    DiscreteLaplaceMechanism,
    Mechanism,
    RandomizedResponseMechanism,
    SimulatedLaplace,
    noise_for,
    require_private,
)

SIMULATED = SimulatedLaplace(1.0, np.random.default_rng(1))


def test_the_private_mechanisms_may_be_released_with() -> None:
    require_private(DiscreteLaplaceMechanism(sensitivity=1, tau=1.0))
    require_private(RandomizedResponseMechanism(tau=1.0))


@pytest.mark.parametrize("mechanism", [SIMULATED, None, 1.0, Mechanism(), DiscreteLaplaceMechanism])
def test_nothing_else_may(mechanism: object) -> None:
    with pytest.raises(InvalidInputError, match="cannot make a release"):
        require_private(mechanism)


@pytest.mark.parametrize("base", [Mechanism, SimulatedLaplace])
def test_no_other_class_can_claim_to_be_private(base: type) -> None:
    with pytest.raises(InvalidInputError, match="Claims cannot be private"):
        type("Claims", (base,), {"private": True})


@pytest.mark.parametrize("base", [DiscreteLaplaceMechanism, RandomizedResponseMechanism])
def test_no_subclass_inherits_the_claim(base: type) -> None:
    with pytest.raises(InvalidInputError, match="cannot be private"):
        type("DiscreteLaplaceMechanism", (base,), {})


def test_an_attribute_of_the_object_does_not_count() -> None:
    mechanism = SimulatedLaplace(1.0, np.random.default_rng(1))
    object.__setattr__(mechanism, "private", True)
    with pytest.raises(InvalidInputError):
        require_private(mechanism)


def test_importing_the_package_loads_neither_opendp_nor_numpy() -> None:
    script = "import sys, bayesdp.mechanisms; print({'numpy', 'opendp', 'narwhals'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


@dataclass(frozen=True)
class OtherLoss(PureLoss):
    """Another kind of loss, though it inherits from a pure one."""

    kind: ClassVar[str] = "other privacy"


def test_a_pure_loss_takes_discrete_laplace_noise() -> None:
    assert noise_for(PureLoss) is DiscreteLaplaceMechanism
    with pytest.raises(InvalidInputError, match="no noise mechanism for other privacy"):
        noise_for(OtherLoss)


def test_noise_is_made_for_the_loss_it_costs_only() -> None:
    kind = noise_for(PureLoss)
    assert kind.for_loss(PureLoss(0.5), sensitivity=2, dimension=3) == DiscreteLaplaceMechanism(2, 0.5, 3)
    for call in (lambda: kind.for_loss(OtherLoss(0.5), 1, 1), lambda: kind.fits(OtherLoss(0.5), 1)):
        with pytest.raises(InvalidInputError, match="not other privacy"):
            call()


def test_answers_know_the_law_of_each_kind_of_noise() -> None:
    kinds: dict[str, type[Loss]] = {"laplace": PureLoss, "gaussian": ConcentratedLoss}
    assert {kind: type(noise_for(loss).law_of(2.0)) for kind, loss in kinds.items()} == NOISE_LAWS
