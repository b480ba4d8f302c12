"""Records whose effects add up: attacked by linear programs, attained by evidence, and equal to what was published."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bayesdp import (
    AnyMechanism,
    Count,
    Independent,
    MarkovChain,
    Model,
    Network,
    OddsChain,
    OddsSeries,
    calibrate,
    leakage,
)
from bayesdp.audit.side_information import climb, odds_ratios, worst_output
from bayesdp.testing import Law, SideInformationContract, TheoremContract, additive_laws, release_cases
from bayesdp.theorems.odds import magnets
from bayesdp.theorems.odds.elimination import OddsElimination
from bayesdp.theorems.odds.ising import OddsIsing
from bayesdp.theorems.odds.magnets import BEYOND_MAGNETS, Magnets
from bayesdp.theorems.odds.series import OddsSeriesTheorem
from bayesdp.theorems.spend import Spend, as_spend, total_tau

COUNT = Count(equals=1)
ANY = AnyMechanism()

Floats = NDArray[np.float64]

ISING = OddsIsing()


def proven(model: Model, tau: float) -> float:
    return ISING.epsilon(model, as_spend(COUNT, tau))


def by_distance(odds: Floats) -> list[float]:
    """Return the largest odds ratio at every distance, up to what their computation was off."""
    return [float(np.diagonal(odds, apart).max()) * (1 + 1e-12) for apart in range(1, len(odds))] or [1.0]


def without_end(odds: Floats, hidden: tuple[int, ...]) -> OddsSeries:
    return OddsSeries(by_distance(odds), additive=True, states=(0, 1), gaps=bool(hidden))


def of_this_length(odds: Floats, hidden: tuple[int, ...]) -> OddsSeries:
    return replace(without_end(odds, hidden), length=len(odds) - len(hidden))


def in_pairs(odds: Floats, hidden: tuple[int, ...]) -> OddsSeries:
    return replace(without_end(odds, hidden), unit=2)


def network_of(odds: Floats, hidden: tuple[int, ...]) -> Network:
    pairs = itertools.combinations(range(len(odds)), 2)
    edges = [(i, j, odds[i, j] * (1 + 1e-12)) for i, j in pairs if odds[i, j] > 1 + 1e-9]
    return Network(edges=edges, records=len(odds), hidden=hidden, additive=True)


NETWORKS = additive_laws(network_of, hidden=True)
SERIES = (
    additive_laws(without_end, series=True, hidden=True)
    | additive_laws(of_this_length, series=True, hidden=True)
    | additive_laws(of_this_length)
)


class TestUnderSideInformation(SideInformationContract):
    theorem = ISING
    laws = NETWORKS | SERIES


@pytest.mark.slow
class TestUnits(SideInformationContract):
    theorem = ISING
    laws = additive_laws(in_pairs, series=True) | additive_laws(in_pairs, series=True, hidden=True)


class TestOddsIsing(TheoremContract):
    theorem = ISING
    cases = release_cases(NETWORKS | SERIES)
    refused = (
        (Independent(), COUNT),
        (OddsChain(9), COUNT),
        (MarkovChain([[0.9, 0.1], [0.4, 0.6]]), COUNT),
        (OddsSeries([2, 1.5], states=(0, 1)), COUNT),
        (OddsSeries([1.1] * 11, additive=True, states=(0, 1)), COUNT),
        (OddsSeries([1.1] * 11, additive=True, states=(0, 1), length=21), COUNT),
        (Network(edges=[(0, 1, 9)]), COUNT),
        (Network(odds=1.5, degree=2), COUNT),
        (Network(edges=[(a, b, 1.1) for a, b in itertools.combinations(range(21), 2)], additive=True), COUNT),
    )


def attacked(theorem: OddsIsing, laws: st.SearchStrategy[Law]) -> None:
    contract = type("Contract", (SideInformationContract,), {"theorem": theorem, "laws": laws})()
    assert isinstance(contract, SideInformationContract)
    contract.test_never_below_the_worst_side_information_found()


class WeakerField(OddsIsing):
    """False: the target itself is in no field."""

    def bounds(self, model: Model, spends: Sequence[Spend]) -> Sequence[float]:
        return [
            max(total_tau(spend), epsilon - total_tau(spend) / 8)
            for epsilon, spend in zip(super().bounds(model, spends), spends, strict=True)
        ]


class WeakerCouplings(OddsIsing):
    """False: couplings of a fifth instead of a quarter of the log odds."""

    def bounds(self, model: Model, spends: Sequence[Spend]) -> Sequence[float]:
        assert isinstance(model, Network)
        edges = [(i, j, odds**0.8) for i, j, odds in model.edges or ()]
        return super().bounds(replace(model, edges=edges), spends)


@pytest.mark.parametrize("theorem", [WeakerField(), WeakerCouplings()], ids=["field", "couplings"])
def test_false_versions_are_found(theorem: OddsIsing) -> None:
    with pytest.raises(AssertionError, match="odds-ising proves"):
        attacked(theorem, additive_laws(network_of))


def test_effects_of_three_are_outside() -> None:
    """An even number of ones is ten times as likely as an odd one: no two of three records depend on each other."""
    parity = 1.0 - np.indices((2, 2, 2)).sum(axis=0) % 2 * 0.9
    pairs = parity.sum(axis=2)
    assert np.allclose(pairs, pairs[0, 0])
    assert proven(Network(records=3, edges=[(0, 1, 1)], additive=True), 1.0) == pytest.approx(1.0)
    assert climb(parity / parity.sum(), 1.0, target=0).epsilon == pytest.approx(1.8125, abs=1e-4)


def test_signs_that_no_swaps_make_equal_are_outside() -> None:
    """Where one of three pairs pushes the other way, the output in which all records are up is not the worst."""
    spins = 2.0 * np.indices((2, 2, 2)) - 1
    weights = np.exp(0.4 * (spins[0] * spins[1] + spins[1] * spins[2] - spins[0] * spins[2]))
    law = weights / weights.sum()
    up = np.exp(spins.sum(axis=0) / 2)
    ratios = [np.log((law * up)[1].sum() / law[1].sum() * law[0].sum() / (law * up)[0].sum())]
    assert climb(law, 1.0, target=0).epsilon > ratios[0] + 0.1
    bound = proven(network_of(odds_ratios(law), ()), 1.0)
    assert climb(law, 1.0, target=0).epsilon <= bound


@st.composite
def spin_laws(draw: st.DrawFn) -> tuple[Floats, Floats, Floats]:
    """Draw the couplings, the fields and the signs of two to six records."""
    size, largest = draw(st.integers(2, 6)), draw(st.sampled_from([0.05, 0.5, 3.0]))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    couplings = np.triu(generator.uniform(0, largest, (size, size)), 1)
    return couplings, generator.normal(scale=2, size=size), generator.choice([-1.0, 1.0], size)


@given(spin_laws(), st.floats(0.01, 5))
def test_attained_by_evidence_and_one_output(magnet: tuple[Floats, Floats, Floats], tau: float) -> None:
    """Evidence brings every field to −τ/4. The output of randomized response in which all records are up attains it."""
    couplings, fields, signs = magnet
    size = len(couplings)
    rows = 2.0 * np.indices((2,) * size).reshape(size, -1) - 1
    spins = signs[:, None] * rows
    weights = np.exp(np.einsum("ar,ab,br->r", spins, couplings, spins) + fields @ spins)
    joint = (weights / weights.sum()).reshape((2,) * size)
    bound = proven(network_of(odds_ratios(joint), ()), tau)
    evidence = [
        np.exp(-(field + tau / 4) * sign * np.array([-1.0, 1.0])) for field, sign in zip(fields, signs, strict=True)
    ]
    held = np.prod([likelihood[(row > 0).astype(int)] for likelihood, row in zip(evidence, rows, strict=True)], axis=0)
    tilted = np.exp(tau * (spins > 0).sum(axis=0))
    ratios = []
    for record in range(size):
        up = spins[record] > 0
        given_up, given_down = (np.average(tilted[way], weights=(weights * held)[way]) for way in (up, ~up))
        ratios.append(np.log(given_up / given_down))
    assert max(ratios) == pytest.approx(bound, rel=1e-9)
    target = int(np.argmax(ratios))
    worst = worst_output(joint, tau, target=target, evidence=evidence).epsilon
    assert bound * (1 - 1e-9) <= worst <= bound * (1 + 1e-9)


def logs(*values: float) -> list[float]:
    return [float(odds) for odds in np.exp(values)]


def additive(odds: Sequence[float], **given: object) -> OddsSeries:
    return OddsSeries(odds, additive=True, states=(0, 1), **given)  # type: ignore[arg-type]


REFERENCES = [
    (logs(1.1, 0.26, 0.18), 2.4826, 2.3263),
    (logs(1.1, 0.5, 0.3, 0.2), 4.4321, 3.5330),
    (logs(2.76, 1.558), 17.791, 8.0324),
]
"""Odds; ε/τ at τ = 0.01 and at 1."""


@pytest.mark.parametrize(("odds", "small", "large"), REFERENCES)
def test_reference_values(odds: list[float], small: float, large: float) -> None:
    found = leakage(additive(odds), ANY, tau=0.01, neighbours="replace")
    assert found.theorem == "odds-ising"
    assert found.epsilon * 100 == pytest.approx(small, abs=5e-4)
    assert leakage(additive(odds), ANY, tau=1.0, neighbours="replace").epsilon == pytest.approx(large, abs=5e-5)
    assert leakage(replace(additive(odds), additive=False), ANY, tau=1.0, neighbours="replace").theorem == "odds-series"


ACTIVITY = [
    ([7.44], 2.70),
    ([6.10, 1.47], 3.39),
    ([5.84, 1.25, 1.44], 4.34),
    ([5.68, 1.23, 1.28, 1.32], 5.38),
    ([5.59, 1.21, 1.26, 1.21, 1.24], 6.47),
    ([5.51, 1.20, 1.25, 1.20, 1.14, 1.24], 8.12),
]


@pytest.mark.parametrize(("odds", "multiple"), ACTIVITY)
def test_multiples_of_the_activity_series(odds: list[float], multiple: float) -> None:
    found = calibrate(additive(odds), COUNT, epsilon=1.0)
    assert found.theorem == "odds-ising"
    assert 1 / found.tau == pytest.approx(multiple, abs=0.005)


def test_the_values_of_two_lengths_by_free_and_fixed_ends() -> None:
    """With ln θ = (2.76, 1.558) and τ = 0.01, sides of 50 records leave 17.72 to 20.83, of 400 nothing."""
    taus = np.array([0.01])
    lower, upper = Magnets(np.array([2.76, 1.558])).between(taus)
    assert lower[0] <= upper[0] <= lower[0] * (1 + 1e-8)
    coarse = Magnets(np.array([2.76, 1.558]), agreement=0.2).between(taus)
    assert coarse[0][0] < lower[0] < upper[0] < coarse[1][0]


@pytest.mark.parametrize("log_odds", [[2.76, 1.558], [1.1, 0.5, 0.3, 0.2], [0.3] * 6])
def test_squaring_the_matrix_is_the_same(log_odds: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    taus = np.array([1e-3, 0.1, 1.0, 20.0])
    lower, upper = Magnets(np.array(log_odds)).between(taus)
    monkeypatch.setattr(magnets, "_ONE_BY_ONE", 16)
    squared = Magnets(np.array(log_odds)).between(taus)
    assert (squared[0] <= upper).all()
    assert (lower <= squared[1]).all()
    assert squared[1] == pytest.approx(upper, rel=1e-7)


def test_strong_dependence_needs_long_stretches() -> None:
    """With ln θ = (6, 6) and τ = 0.001, two thousand records on a side are too few for the values to agree."""
    (lower,), (upper,) = Magnets(np.array([6.0, 6.0])).between(np.array([1e-3]))
    assert 5.811 < lower <= upper < lower * (1 + 1e-7)


ODDS = st.lists(st.floats(1.001, 6), min_size=2, max_size=4)
TAUS = st.floats(1e-3, 20)


@given(st.floats(0, 5), st.floats(1e-2, 100))
def test_reach_one_is_the_closed_form(log_odds: float, tau: float) -> None:
    (found,) = Magnets(np.array([log_odds])).largest(np.array([tau]))
    exact = 4 * np.arcsinh(np.exp(log_odds / 2) * np.sinh(tau / 4))
    assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-8)


@given(st.floats(1, 50), st.floats(0.001, 3), st.none() | st.integers(1, 30), st.integers(1, 4), st.booleans())
def test_a_series_of_reach_one_is_the_odds_chain(
    odds: float, tau: float, length: int | None, unit: int, gaps: bool
) -> None:
    chain = OddsChain(odds, length=length, unit=unit, gaps=gaps, states=(0, 1))
    expected = leakage(chain, COUNT, tau=tau).epsilon
    assert proven(additive([odds], length=length, unit=unit, gaps=gaps), tau) == pytest.approx(expected, rel=1e-12)


@given(ODDS, TAUS, st.integers(2, 18))
def test_a_short_series_is_the_network_it_is(odds: list[float], tau: float, length: int) -> None:
    edges = [(a, a + d, odds[d - 1]) for d in range(1, len(odds) + 1) for a in range(length - d)]
    network = Network(edges=edges, records=length, additive=True)
    assert proven(additive(odds, length=length), tau) == pytest.approx(proven(network, tau), rel=1e-9)


@given(ODDS, TAUS, st.integers(1, 40))
def test_a_limit_on_the_length_never_costs(odds: list[float], tau: float, length: int) -> None:
    short, longer, without = (proven(additive(odds, length=n), tau) for n in (length, length + 1, None))
    assert tau <= short <= longer * (1 + 1e-9)
    assert longer <= min(without, (length + 1) * tau) * (1 + 1e-9)
    assert proven(additive(odds, length=length, gaps=True), tau) >= short * (1 - 1e-9)


def test_a_long_series_comes_close_to_one_without_end() -> None:
    odds = logs(1.1, 0.5, 0.3, 0.2)
    lengths = [proven(additive(odds, length=n), 0.05) for n in (50, 512, 513)]
    without = proven(additive(odds), 0.05)
    assert lengths[0] < lengths[1] * (1 - 1e-4)
    assert lengths[1:] == pytest.approx([without, without], rel=1e-8)


@given(ODDS, TAUS)
def test_never_above_what_holds_for_every_law(odds: list[float], tau: float) -> None:
    every_law = OddsSeriesTheorem().epsilon(OddsSeries(odds), as_spend(COUNT, tau))
    assert proven(additive(odds), tau) <= every_law * (1 + 1e-8)


@given(ODDS, TAUS, st.lists(st.integers(0, 5), max_size=3, unique=True))
def test_networks_are_never_above_summing_out(odds: list[float], tau: float, hidden: list[int]) -> None:
    edges = [(a, a + d, odds[d - 1]) for d in range(1, len(odds) + 1) for a in range(6 - d)]
    network = Network(edges=edges, records=6, hidden=hidden, additive=True)
    every_law = OddsElimination().epsilon(network, as_spend(COUNT, tau))
    assert proven(network, tau) <= every_law * (1 + 1e-9)


@given(ODDS, TAUS, st.integers(2, 9))
@pytest.mark.slow
def test_a_unit_costs_at_most_its_records(odds: list[float], tau: float, unit: int) -> None:
    one, whole = (proven(additive(odds, unit=size), tau) for size in (1, unit))
    assert max(one, unit * tau) <= whole * (1 + 1e-8)
    assert whole <= unit * one * (1 + 1e-8)
    assert proven(additive(odds, unit=unit, gaps=True), tau) == pytest.approx(unit * one, rel=1e-9)


def enumerated_unit(odds: Sequence[float], length: int, unit: int, tau: float) -> float:
    """Return the largest sum of both directions over the ways to split a unit in the middle, by enumeration."""
    first = (length - unit) // 2
    records = range(first, first + unit)

    def up(part: tuple[int, ...]) -> float:
        kept = [record for record in range(length) if record not in records or record in part]
        number = {record: place for place, record in enumerate(r for r in kept if r not in part)}
        spins = np.concatenate([2.0 * np.indices((2,) * len(number)).reshape(len(number), -1) - 1] * 2, axis=1)
        tied = np.repeat([1.0, -1.0], 2 ** len(number))
        value = {record: tied if record in part else spins[number[record]] for record in kept}
        heights = np.sum([tau / 4 * value[record] for record in kept], axis=0)
        for apart, ratio in enumerate(odds, 1):
            for a in kept:
                if a + apart in value:
                    heights = heights + np.log(ratio) / 4 * value[a] * value[a + apart]
        return float(np.log(np.exp(heights[tied > 0]).sum() / np.exp(heights[tied < 0]).sum())) if part else 0.0

    subsets = [part for size in range(unit + 1) for part in itertools.combinations(records, size)]
    return max(2 * up(part) + 2 * up(tuple(r for r in records if r not in part)) for part in subsets)


UNITS = [(logs(1.1, 0.26, 0.18), 4.824, 4.8839), (logs(1.1, 0.5, 0.3, 0.2), 6.904, 7.8468)]
"""Odds; ε/τ of three records together at τ = 0.05: in the middle of 15 records, and in a series of any length."""


@pytest.mark.parametrize(("odds", "of_fifteen", "of_any_length"), UNITS)
def test_reference_values_of_units(odds: list[float], of_fifteen: float, of_any_length: float) -> None:
    assert enumerated_unit(odds, 15, 3, 0.05) / 0.05 == pytest.approx(of_fifteen, abs=5e-4)
    assert proven(additive(odds, unit=3), 0.05) / 0.05 == pytest.approx(of_any_length, abs=5e-5)
    shown = (Path(__file__).parents[3] / "docs" / "theory" / "odds-ising.md").read_text(encoding="utf-8")
    assert f"{of_fifteen}·τ" in shown
    assert f"{of_any_length}·τ" in shown


@pytest.mark.parametrize(("odds", "of_fifteen", "of_any_length"), UNITS)
def test_units_in_longer_series_cost_more(odds: list[float], of_fifteen: float, of_any_length: float) -> None:
    """So the value of fifteen records is no bound for longer series."""
    costs = [enumerated_unit(odds, length, 3, 0.05) / 0.05 for length in (9, 13, 17)]
    assert costs[0] < costs[1] < of_fifteen < costs[2] < of_any_length


def test_units_are_summed_along_the_series_as_by_enumeration() -> None:
    weak = logs(0.4, 0.1)
    assert proven(additive(weak, unit=3), 0.5) == pytest.approx(enumerated_unit(weak, 17, 3, 0.5), rel=1e-5)


@pytest.mark.parametrize(
    "model",
    [
        additive([1e308] * 3),
        additive([1e308] * 3, unit=2),
        additive([1e308] * 3, length=30),
        Network(edges=[(a, b, 1e308) for a, b in itertools.combinations(range(5), 2)], additive=True),
        additive(logs(6, 6)),
    ],
)
def test_strong_dependence_and_large_tau_do_not_overflow(model: OddsSeries | Network) -> None:
    around = 2 * 3 * 2 * 710
    for tau in (1e-300, 1e-9, 1.0, 700.0, BEYOND_MAGNETS, 1e5, 1e300):
        assert tau <= proven(model, tau) <= (2 * tau + around) * (1 + 1e-9)


def test_tiny_tau_in_networks_loses_no_digits() -> None:
    network = Network(edges=[(0, 1, 4.0), (1, 2, 4.0), (0, 2, 2.0)], additive=True)
    small, smaller = (proven(network, tau) / tau for tau in (1e-6, 1e-200))
    assert small == pytest.approx(smaller, rel=1e-9)


def test_values_on_both_sides_of_a_change_of_formula_agree() -> None:
    network = Network(edges=[(0, 1, 4.0), (1, 2, 4.0), (0, 2, 2.0)], additive=True)
    weak, strong = (proven(network, 2 / 3 * (1 + step)) for step in (-1e-12, 1e-12))
    assert weak == pytest.approx(strong, rel=1e-11)


def test_the_quick_version_is_as_valid() -> None:
    model = additive(logs(2.76, 1.558))
    quick = ISING.quick(1.0).epsilon(model, as_spend(COUNT, 0.01))
    assert proven(model, 0.01) <= quick <= proven(model, 0.01) * 1.001


def test_records_with_a_vector_of_taus_pay_for_their_own() -> None:
    """A hidden position is a record that no answer is about: its τ is 0."""
    edges = [(0, 1, 5.0), (1, 2, 5.0)]
    all_three, two = (proven(Network(edges=edges, hidden=hidden, additive=True), 1.0) for hidden in ([], [1]))
    assert two < all_three
    assert two == pytest.approx(leakage(Network(edges=edges, hidden=[1]), COUNT, tau=1.0).epsilon, rel=1e-9)
