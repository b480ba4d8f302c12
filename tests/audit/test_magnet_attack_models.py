from __future__ import annotations

import pytest

from bayesdp import AnyMechanism, Count, Model, Network, OddsChain, OddsSeries, leakage
from bayesdp.audit import worst_case
from bayesdp.audit.magnet_attack_models import network_attack_model, series_attack_model
from bayesdp.audit.side_information import climb

COUNT = Count(equals=1)


def additive(odds: list[float], **given: object) -> OddsSeries:
    return OddsSeries(odds, additive=True, states=(0, 1), **given)  # type: ignore[arg-type]


TRIANGLE = [(0, 1, 4.0), (1, 2, 4.0), (0, 2, 2.0)]

ATTAINED: list[Model] = [
    additive([3.0, 1.3, 1.2]),
    additive([3.0, 1.3, 1.2], length=12),
    additive([3.0, 1.3], length=2),
    additive([6.1, 1.47], column="active"),
    additive([1.0, 1.0]),
    Network(edges=TRIANGLE, additive=True),
    Network(edges=TRIANGLE, hidden=[1], additive=True),
    Network(edges=[*TRIANGLE, (3, 4, 9.0), (4, 5, 9.0), (3, 5, 1.1)], additive=True),
]


@pytest.mark.parametrize("tau", [0.1, 1.0, 6.0])
@pytest.mark.parametrize("model", ATTAINED)
def test_the_price_of_effects_that_add_up_is_attained(model: Model, tau: float) -> None:
    assert worst_case(model, Count("active", equals=1), tau=tau).attained


def test_it_is_that_of_the_theorem() -> None:
    worst = worst_case(additive([3.0, 1.3]), COUNT, tau=1.0)
    assert worst.theorem == "odds-ising"
    assert worst.evidence[0] == (1.0, 1.0)
    assert worst.evidence[1] == pytest.approx((1.0, 0.606531), abs=1e-6)
    assert "add up" in str(worst)


@pytest.mark.parametrize("model", [OddsSeries([3.0, 1.3, 1.2]), additive([3.0, 1.3, 1.2], unit=3)])
def test_what_others_prove_is_nearly_attained(model: OddsSeries) -> None:
    worst = worst_case(model, COUNT, tau=1.0)
    assert 0.99 * worst.epsilon < worst.realised < worst.epsilon
    assert not worst.attained


@pytest.mark.parametrize("length", [1, 4, 9])
def test_with_a_reach_of_one_it_is_the_chain(length: int) -> None:
    found = series_attack_model(OddsSeries([9.0], length=length), 1.0).betrayal(1.0).epsilon
    assert found == pytest.approx(leakage(OddsChain(9.0, length=length), COUNT, tau=1.0).epsilon, rel=1e-9)


def test_networks_of_many_connected_records_have_no_such_attack() -> None:
    many = Network(edges=[(i, i + 1, 2.0) for i in range(20)], additive=True)
    assert network_attack_model(many, 1.0) is None
    assert worst_case(many, AnyMechanism(), tau=1.0).attained


def test_effects_that_may_not_add_up_keep_the_attack_on_a_tree() -> None:
    loop = Network(edges=TRIANGLE)
    assert worst_case(loop, COUNT, tau=1.0).realised < worst_case(ATTAINED[5], COUNT, tau=1.0).realised


@pytest.mark.parametrize("tau", [1e-9, 50.0, 2000.0])
def test_any_tau_has_an_attack_below_what_is_proven(tau: float) -> None:
    for model in (additive([300.0, 40.0]), additive([3.0, 1.3], unit=12), additive([1e300])):
        worst = worst_case(model, COUNT, tau=tau)
        assert 0.9 * tau <= worst.realised <= worst.epsilon


def test_no_climb_finds_more() -> None:
    import numpy as np

    spins = 2.0 * np.indices((2, 2, 2)) - 1
    weights = np.exp(sum(np.log(odds) / 4 * spins[i] * spins[j] for i, j, odds in TRIANGLE))
    model = network_attack_model(Network(edges=TRIANGLE, additive=True), 1.0)
    assert model is not None
    found = max(climb(weights / weights.sum(), 1.0, target=target).epsilon for target in range(3))
    assert found == pytest.approx(model.betrayal(1.0).epsilon, rel=1e-9)
