import math

import pytest

from bayesdp.experiments.curves import oracle_leak, tightness


@pytest.mark.parametrize(("r", "tau"), [(2, 1.0), (10, 0.5), (1000, 2.0)])
def test_the_tightness_example_is_the_papers(r: int, tau: float) -> None:
    grown = math.exp(tau)
    ratio = (grown**2 * r / (r + 1) + grown / (r + 1)) / (
        grown * (r * r - r) / (r**3 - r - 1) + (r**3 - r * r - 1) / (r**3 - r - 1)
    )
    leak, rho = tightness(r, tau)
    assert math.log(ratio) <= leak + 1e-12
    assert leak <= 2 * tau
    assert rho == pytest.approx((r * r - r - 1) / math.sqrt((r - 1) * (r**4 + r**3 - r * r - 2 * r - 1)))


def test_the_oracle_on_randomized_response() -> None:
    assert oracle_leak(0.2, 13, 5) == pytest.approx(14.06, abs=0.005)
