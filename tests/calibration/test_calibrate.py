import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, localcontext
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import (
    AnyMechanism,
    AnyOf,
    ArbitraryGroups,
    Count,
    GaussianGroups,
    HiddenMarkov,
    Histogram,
    Independent,
    MarkovChain,
    Mean,
    Model,
    Network,
    OddsChain,
    Query,
    Sum,
    Theorem,
    calibrate,
    leakage,
)
from bayesdp.calibration.calibrate import largest_tau, largest_taus
from bayesdp.calibration.search import LARGEST_TAU
from bayesdp.errors import CalibrationError, InvalidInputError, NoTheoremAppliesError, QueryError
from bayesdp.theorems.ask import ApplicableTheorems
from bayesdp.theorems.spend import Release, Spend, total_tau

wrongly: Any = calibrate
"""For calls that a type checker would refuse."""

COUNT = Count(equals=1)
CHAIN = MarkovChain([[0.9, 0.1], [0.4, 0.6]], length=100)
FAMILY, HEIGHT = GaussianGroups(correlation=0.275, size=3), Sum("height", bounds=(0, 100))


class Curve(Theorem):
    """A theorem without a closed form: any non-decreasing function of the total τ."""

    name: ClassVar[str] = "curve"
    proof: ClassVar[str] = "nowhere"

    def __init__(self, function: Any) -> None:
        self.function = function
        self.batches: list[int] = []

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        return None

    def bound(self, model: Model, spend: Spend) -> float:
        return float(self.function(total_tau(spend)))

    def bounds(self, model: Model, spends: Any) -> list[float]:
        self.batches.append(len(spends))
        return [self.bound(model, spend) for spend in spends]


CURVES = {
    "linear": lambda tau: 15264 * tau,
    "identity": lambda tau: tau,
    "root": lambda tau: math.sqrt(tau),
    "square": lambda tau: tau**2,
    "exponential": lambda tau: math.expm1(min(tau, 600)),
    "saturating": lambda tau: 3 * tau / (1 + tau),
    "steps": lambda tau: math.ceil(10 * tau) / 10,
    "kink": lambda tau: tau if tau < 0.3 else 0.3 + 40 * (tau - 0.3),
    "offset": lambda tau: 2 + tau,
    "logarithmic": lambda tau: math.log1p(1e6 * tau),
}


@pytest.mark.parametrize("name", CURVES)
@given(epsilon=st.floats(1e-6, 500))
def test_the_search_finds_the_largest_tau_of_monotone_theorems(name: str, epsilon: float) -> None:
    curve = Curve(CURVES[name])
    (tau,) = largest_taus(curve, Independent(), COUNT, [epsilon])
    if tau is None:
        assert curve.function(1e-17 * epsilon) > epsilon
        return
    assert curve.function(tau) <= epsilon
    assert tau >= max(epsilon, LARGEST_TAU) or curve.function(tau * (1 + 1e-11)) > epsilon


def test_a_grid_of_epsilons_is_searched_together() -> None:
    curve = Curve(CURVES["exponential"])
    grid = list(np.linspace(0.5, 20, 20))
    found = largest_taus(curve, Independent(), COUNT, grid)
    assert [math.log1p(epsilon) for epsilon in grid] == pytest.approx(found, rel=1e-11)
    assert len(curve.batches) < 20
    assert max(curve.batches) >= 20


def test_a_theorem_that_proves_no_leakage_is_capped() -> None:
    (tau,) = largest_taus(Curve(lambda _: 0.0), Independent(), COUNT, [1.0])
    assert tau == LARGEST_TAU


def test_a_closed_form_that_is_wrong_is_not_believed() -> None:
    class Optimist(Curve):
        def closed_form(self, model: Model, query: Query, epsilon: float, spent: Spend) -> float:
            return 10 * epsilon

    (tau,) = largest_taus(Optimist(CURVES["identity"]), Independent(), COUNT, [1.0])
    assert tau == pytest.approx(1, rel=1e-11)
    assert tau is not None
    assert tau <= 1


@given(st.integers(1, 10**6), st.floats(1e-6, 1e3))
def test_round_trips_never_exceed_epsilon(size: int, epsilon: float) -> None:
    chosen = calibrate(ArbitraryGroups(size), COUNT, epsilon=epsilon)
    assert leakage(ArbitraryGroups(size), COUNT, tau=chosen.tau).epsilon <= epsilon
    assert leakage(ArbitraryGroups(size), COUNT, tau=math.nextafter(chosen.tau, 9e9)).epsilon > epsilon


def test_the_best_theorem_is_chosen_and_all_are_reported() -> None:
    chosen = calibrate(FAMILY, HEIGHT, epsilon=1.0)
    assert chosen.theorem == "gaussian-tight"
    assert chosen.tau == pytest.approx(1 / 1.55, abs=1e-6)
    assert chosen.scale == pytest.approx(155, abs=1e-3)
    assert chosen.accuracy(beta=0.05) == pytest.approx(155 * math.log(20), abs=1e-2)
    by_name = {option.theorem: option for option in chosen.options}
    assert by_name["general"].tau == pytest.approx(1 / 3)
    assert by_name["gaussian-paper"].tau == pytest.approx(0.539535, abs=1e-6)
    assert by_name["markov-paper"].tau is None
    assert by_name["markov-paper"].reason


def test_from_the_accuracy_wanted() -> None:
    chosen = calibrate(FAMILY, HEIGHT, alpha=300.0, beta=0.05)
    assert chosen.accuracy(0.05) <= 300
    assert chosen.accuracy(0.05) == pytest.approx(300)
    assert chosen.epsilon == leakage(FAMILY, HEIGHT, tau=chosen.tau).epsilon
    assert chosen.epsilon == pytest.approx(100 * math.log(20) / 300 * 1.55, rel=1e-6)


def test_several_epsilons_at_once_are_the_same_as_one_by_one() -> None:
    several = calibrate(FAMILY, HEIGHT, epsilon=[0.5, 1.0, 2.0])
    assert several == tuple(calibrate(FAMILY, HEIGHT, epsilon=epsilon) for epsilon in (0.5, 1.0, 2.0))
    assert wrongly(FAMILY, HEIGHT, epsilon=np.array([0.5])) == several[:1]


def test_any_of_takes_the_smallest_tau() -> None:
    unsure = AnyOf(ArbitraryGroups(2), CHAIN)
    chosen = calibrate(unsure, COUNT, epsilon=10.0)
    alone = [calibrate(model, COUNT, epsilon=10.0).tau for model in unsure.models]
    assert chosen.tau == min(alone)
    assert chosen.leakage.epsilon <= 10
    rows = {option.theorem: option for option in chosen.options}
    assert rows["general"].tau == pytest.approx(0.1)
    assert "under model 1" in (rows["markov-paper"].reason or "")
    assert rows["any-of"].tau == chosen.tau


def test_histograms_are_accurate_as_a_whole_or_per_cell() -> None:
    chosen = calibrate(ArbitraryGroups(2), Histogram(cells=["a", "b", "c"]), epsilon=1.0)
    assert chosen.scale == 4
    assert chosen.accuracy(0.05, simultaneous=False) == pytest.approx(4 * math.log(20))
    assert chosen.accuracy(0.05) > chosen.accuracy(0.05, simultaneous=False)


def test_what_was_spent_is_counted() -> None:
    groups = ArbitraryGroups(2)
    chosen = calibrate(groups, COUNT, epsilon=2.0, spent=[(COUNT, 0.25), (COUNT, 0.25)])
    assert chosen.tau == 0.5
    assert chosen.leakage.epsilon == 2
    document = chosen.to_dict()
    assert (document["tau"], document["tau_total"], document["scale"]) == (0.5, 1.0, 2.0)
    with pytest.raises(CalibrationError, match="earlier releases leak 1"):
        calibrate(groups, COUNT, epsilon=1.0, spent=[(COUNT, 0.5)])


def test_it_reads_as_a_sentence_a_table_and_json() -> None:
    chosen = calibrate(FAMILY, HEIGHT, epsilon=1.0)
    sentence = str(chosen)
    for part in (
        "Laplace noise of scale 155",
        "the sum of height, clipped to 0–100",
        "leaks at most ε = 1 about one record, not the person behind several",
        "an attacker who starts at 50 : 50 ends at most at 73.2 : 26.8",
        "theorem gaussian-tight, docs/theory/gaussian-tight.md",
        "at most 100 apart",
    ):
        assert part in sentence
    assert "best" in chosen.table()
    document = json.loads(chosen.to_json())
    assert {"epsilon", "tau", "scale", "alpha", "beta", "theorem", "scope", "theorems"} <= document.keys()
    assert document["epsilon"] == 1.0
    assert document["tau"] == chosen.tau
    for row in document["theorems"]:
        expected = (
            {"theorem", "applies", "epsilon", "tau", "alpha"} if row["applies"] else {"theorem", "applies", "reason"}
        )
        assert row.keys() == expected


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: wrongly(CHAIN, COUNT), InvalidInputError, "either epsilon= "),
        (lambda: wrongly(CHAIN, COUNT, epsilon=1, alpha=2), InvalidInputError, "either epsilon= "),
        (lambda: wrongly(CHAIN, COUNT, epsilon=0), InvalidInputError, "epsilon must be greater than 0"),
        (lambda: wrongly(CHAIN, COUNT, epsilon=-1), InvalidInputError, "epsilon must be greater than 0"),
        (lambda: wrongly(CHAIN, COUNT, epsilon=float("nan")), InvalidInputError, "epsilon must be a finite"),
        (lambda: wrongly(CHAIN, COUNT, epsilon=float("inf")), InvalidInputError, "epsilon must be a finite"),
        (lambda: wrongly(CHAIN, COUNT, epsilon="1"), InvalidInputError, "epsilon must be a number"),
        (lambda: wrongly(CHAIN, COUNT, epsilon=[]), InvalidInputError, "epsilon is empty"),
        (lambda: wrongly(CHAIN, COUNT, epsilon=[1, -1]), InvalidInputError, "epsilon must be greater than 0"),
        (lambda: wrongly(CHAIN, COUNT, alpha=-3), InvalidInputError, "alpha must be greater than 0"),
        (lambda: wrongly(CHAIN, COUNT, epsilon=1, beta=1), InvalidInputError, "beta must lie"),
        (lambda: wrongly(CHAIN, "count", epsilon=1), InvalidInputError, "expected a query"),
        (lambda: wrongly(COUNT, CHAIN, epsilon=1), InvalidInputError, "expected a query"),
        (lambda: wrongly(None, COUNT, epsilon=1), InvalidInputError, "expected a model"),
        (lambda: wrongly(CHAIN, Count(equals="x"), epsilon=1), QueryError, "'x' is not a state"),
        (lambda: wrongly(FAMILY, Mean(bounds=(0, 1)), epsilon=1), QueryError, "size=n"),
        (
            lambda: wrongly(MarkovChain([[1, 0], [0, 1]], start="any"), COUNT, epsilon=1),
            NoTheoremAppliesError,
            "general: the number of correlated records is unlimited",
        ),
        (lambda: wrongly(CHAIN, COUNT, epsilon=1, spent=[(COUNT, 9.0)]), CalibrationError, "leaves nothing of ε = 1"),
        (lambda: ArbitraryGroups(10**400), InvalidInputError, "at most 10\\^18"),
        (lambda: leakage(ArbitraryGroups(10**9), COUNT, tau=1e300), NoTheoremAppliesError, "too large"),
        (lambda: wrongly(CHAIN, COUNT, epsilon=b"1"), InvalidInputError, "epsilon must be a"),
        (lambda: wrongly(FAMILY, Sum(bounds=(0, 1e-320)), alpha=1e-323), InvalidInputError, "alpha"),
        (lambda: wrongly(FAMILY, Sum(bounds=(0, 1e-300)), alpha=1e300), InvalidInputError, "another alpha"),
        (
            lambda: calibrate(AnyOf(Independent(), ArbitraryGroups(9)), COUNT, epsilon=1, spent=[(COUNT, 0.5)]),
            CalibrationError,
            "under model 2, general: earlier releases leak 4.5",
        ),
    ],
)
def test_mistakes_are_refused_with_a_message_that_helps(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0])
@pytest.mark.parametrize("order", [1, -1])
def test_the_theorem_that_allows_most_counts_in_any_order(epsilon: float, order: int) -> None:
    spent = (Release(COUNT, 0.001),)
    panel = ApplicableTheorems.about(CHAIN, (*spent, Release(COUNT, 1.0)), composing=True)
    (row,) = panel.rows
    largest = [
        largest_taus(theorem, CHAIN, COUNT, [epsilon], spent)[0] or 0.0 for theorem, reason in row if reason is None
    ]
    assert len(largest) > 3
    turned = replace(panel, rows=(row[::order],))
    assert largest_tau(turned, (COUNT,), epsilon, spent) == max(largest)


LARGE_ODDS = [math.exp(10), math.exp(80), math.exp(90), math.exp(300), math.exp(700), 1e308, sys.float_info.max]


def exact_contraction(c: Decimal, d: Decimal) -> Decimal:
    return 2 * (((c + d) / 4).exp() + (-(c + d) / 4).exp()).ln() - 2 * (((c - d) / 4).exp() + (-(c - d) / 4).exp()).ln()


def exact_chain(tau: Decimal, odds: float) -> Decimal:
    """Return 4·arsinh(√θ·sinh(τ/4))."""
    y = Decimal(odds).sqrt() * ((tau / 4).exp() - (-tau / 4).exp()) / 2
    return 4 * (y + (y * y + 1).sqrt()).ln()


def exact_hidden(tau: Decimal, odds: float, emission: float) -> Decimal:
    held = exact_contraction(tau, Decimal(emission).ln())
    return tau + exact_contraction(exact_chain(held, odds) - held, Decimal(emission).ln())


FAR_ENDS: dict[str, tuple[Callable[[float], Model], Callable[[Decimal, float], Decimal]]] = {
    "chain": (OddsChain, exact_chain),
    "unit": (lambda odds: OddsChain(odds, unit=2), lambda tau, odds: tau + exact_chain(tau, odds)),
    "memory": (lambda odds: OddsChain(odds, memory=3), lambda tau, odds: exact_chain(3 * tau, odds)),
    "length": (
        lambda odds: OddsChain(odds, length=2),
        lambda tau, odds: tau + exact_contraction(tau, Decimal(odds).ln()),
    ),
    "pair": (
        lambda odds: Network(odds=odds, degree=1, forest=True),
        lambda tau, odds: tau + exact_contraction(tau, Decimal(odds).ln()),
    ),
    "path": (lambda odds: Network(odds=odds, degree=2, forest=True), exact_chain),
    "hidden": (
        lambda odds: HiddenMarkov(transition_odds=odds, emission_odds=odds),
        lambda tau, odds: exact_hidden(tau, odds, odds),
    ),
    "hidden chain": (
        lambda odds: HiddenMarkov(transition_odds=odds, emission_odds=9.0),
        lambda tau, odds: exact_hidden(tau, odds, 9.0),
    ),
}


@pytest.mark.parametrize("name", FAR_ENDS)
@pytest.mark.parametrize("odds", LARGE_ODDS)
def test_every_promise_is_reached_at_any_odds(name: str, odds: float) -> None:
    """Four hundred digits decide: what is returned keeps the promise, and hardly more would not."""
    make, exact = FAR_ENDS[name]
    for query, promise in ((AnyMechanism(), 1e-6), (Count(equals=1), 1.0), (AnyMechanism(), 40.0)):
        tau = calibrate(make(odds), query, epsilon=promise).tau
        with localcontext() as context:
            context.prec = 400
            assert exact(Decimal(tau), odds) <= Decimal(promise)
            assert exact(Decimal(tau) * (1 + Decimal("1e-9")), odds) > Decimal(promise)


def test_what_is_left_at_large_odds_can_still_be_spent() -> None:
    chain = OddsChain(math.exp(300))
    half = calibrate(chain, AnyMechanism(), epsilon=1.0).tau / 2
    rest = calibrate(chain, AnyMechanism(), epsilon=1.0, spent=[(AnyMechanism(), half)]).tau
    assert rest == pytest.approx(half, rel=1e-9)


def test_a_tree_whose_leakage_never_vanishes_is_still_refused() -> None:
    with pytest.raises(CalibrationError, match="odds-tree: it does not reach ε = 1: it proves no ε below 270"):
        calibrate(Network(odds=math.exp(90), degree=3, forest=True), AnyMechanism(), epsilon=1.0)
