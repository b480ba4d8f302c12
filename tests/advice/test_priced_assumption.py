"""The price of an assumption, its leakage if a later one is true, and which is recommended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.advice.priced_assumption import (
    NoVerdict,
    PricedAssumption,
    recommended,
    untested,
    with_price,
    with_sensitivities,
)
from bayesdp.models.diagnosis import Verdict

COUNT = bdp.Count(equals=1)


def test_a_negligible_denial_costs_nothing_more() -> None:
    """Large tables deny every model. What counts is what is lost if the table is right."""

    def assumption(name: str, odds: float, verdict: Any) -> PricedAssumption:
        return with_price(
            PricedAssumption(name, f"{name} is true", "", verdict, "", bdp.OddsChain(odds)), COUNT, 1, 0.05, 0.95
        )

    small = with_sensitivities([assumption("a", 9.0, "violated"), assumption("b", 10.0, "fine")])
    assert small[0].harm == pytest.approx(np.sqrt(10 / 9) - 1, abs=0.01)
    assert recommended(small) is small[0]
    large = with_sensitivities([assumption("a", 9.0, "violated"), assumption("b", 12.0, "fine")])
    assert recommended(large) is large[1]
    denied = with_sensitivities([assumption("a", 9.0, "violated"), assumption("b", 30.0, "violated")])
    assert recommended(denied) is denied[1]
    for doubt in ("violated", "doubtful"):  # the recommendation does not jump where the verdict does
        doubted = with_sensitivities([assumption("a", 9.0, doubt), assumption("b", 60.0, "fine")])
        assert recommended(doubted) is doubted[1]
    weakest = with_sensitivities([assumption("a", 9.0, "doubtful")])
    assert recommended(weakest) is weakest[0]
    assert recommended([]) is None


def test_an_untested_assumption_yields_to_a_tested_one() -> None:
    """The table may lack the power to deny the cheaper one; what it was tested for goes first, at a price in words."""

    def assumption(name: str, error: float, verdict: Any) -> PricedAssumption:
        return PricedAssumption(name, f"{name} is true", "", verdict, "", bdp.OddsChain(9), error=error)

    cheap, dear = assumption("a", 3.0, "not tested"), assumption("b", 12.0, "fine")
    assert recommended([cheap, dear]) is dear
    assert untested(dear, [cheap, dear]) is cheap
    assert recommended([cheap, assumption("b", 12.0, NoVerdict.NOT_DENIED)]) is cheap, "nothing was tested"
    assert recommended([assumption("a", 3.0, "fine"), dear]) is not dear
    assert untested(dear, [dear, assumption("c", 20.0, "not tested")]) is None


def test_a_chain_that_forgets_nothing_needs_no_draws() -> None:
    """Its price is that of group privacy, which every draw keeps."""
    stuck = bdp.MarkovChain.from_counts([[90_000, 1], [1, 90_000]], length=12)
    priced = with_price(PricedAssumption("a", "", "", Verdict.FINE, "", stuck), COUNT, 1.0, 0.05, 0.95)
    assert isinstance(priced.calibration, bdp.Calibration)
    assert priced.calibration.theorem == "general"
    assert priced.calibration.tau == pytest.approx(1 / 12)
    assert not priced.credible


def test_an_assumption_without_a_price_keeps_the_reason() -> None:
    nothing = PricedAssumption("a", "a is true", "", NoVerdict.NOT_POSSIBLE, "", reason="no model")
    assert with_price(nothing, COUNT, 1.0, 0.05, 0.95) is nothing
    beyond = PricedAssumption("b", "b is true", "", Verdict.FINE, "", bdp.MarkovChain([[0, 1], [1, 0]]))
    costly = with_price(beyond, COUNT, 1.0, 0.05, 0.95)
    assert costly.alpha is None
    assert costly.reason.startswith("no noise is known to be enough: ")
    assert recommended(with_sensitivities([nothing, costly])) is None


@pytest.mark.slow
def test_an_estimated_chain_is_priced_by_its_posterior_if_small() -> None:
    estimated = bdp.MarkovChain.from_counts([[60, 20], [15, 40]])
    exact = bdp.MarkovChain(estimated.transition)
    costs = [
        with_price(PricedAssumption("a", "", "", Verdict.FINE, "", model), COUNT, 1.0, 0.05, 0.9).alpha or 0
        for model in (estimated, exact)
    ]
    assert costs[0] > costs[1]
    large = bdp.MarkovChain.from_counts([[9 if row == column else 3 for column in range(5)] for row in range(5)])
    taken = with_price(PricedAssumption("a", "", "", Verdict.FINE, "", large), COUNT, 1.0, 0.05, 0.9)
    assert taken.calibration is not None
    assert taken.calibration.tau == bdp.calibrate(large, COUNT, epsilon=1.0).tau


def test_a_denial_is_priced_up_to_the_first_not_denied() -> None:
    def assumption(name: str, verdict: Any, model: bdp.Model) -> PricedAssumption:
        return with_price(PricedAssumption(name, f"{name} is true", "", verdict, "", model), COUNT, 1.0, 0.05, 0.95)

    priced_assumptions = with_sensitivities(
        [
            assumption("a", "violated", bdp.OddsChain(4)),
            assumption("b", "violated", bdp.OddsChain(5)),
            assumption("c", "fine", bdp.OddsChain(6)),
            assumption("d", "fine", bdp.OddsChain(50)),
            assumption("e", "not denied", bdp.ArbitraryGroups(40)),
        ]
    )
    assert {line.condition for line in priced_assumptions[0].consequences if line.counts} == {"b is true", "c is true"}
    assert "e is true" in {line.condition for line in priced_assumptions[0].consequences}
    assert priced_assumptions[3].harm is None
    assert not priced_assumptions[3].harmless
