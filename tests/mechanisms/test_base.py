import subprocess
import sys

import numpy as np
import pytest

from bayesdp.errors import InvalidInputError
from bayesdp.mechanisms import (
    DiscreteLaplaceMechanism,
    Mechanism,
    RandomizedResponseMechanism,
    SimulatedLaplace,
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
