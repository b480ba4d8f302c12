import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.internal.conjecture import engine
from numpy.typing import NDArray
from shaped_networks import complete, grid  # type: ignore[import-not-found]

from bayesdp import Count, Independent, Model, Network, Theorem, leakage
from bayesdp.testing import Law, SideInformationContract, TheoremContract, network_laws, release_cases, tree_laws
from bayesdp.theorems.odds import eliminated, merging, sweeps
from bayesdp.theorems.odds.elimination import OddsElimination
from bayesdp.theorems.odds.merging import merged, merged_along
from bayesdp.theorems.odds.network import OddsNetwork
from bayesdp.theorems.odds.sweeps import changes_of_sets, changes_of_singles
from bayesdp.theorems.odds.tree import OddsTree
from bayesdp.theorems.odds.walks import Walks, walks
from bayesdp.theorems.spend import Spend, as_spend, total_tau

COUNT = Count(equals=1)
SMALL = 1e-6

Floats = NDArray[np.float64]


def proven(model: Network, tau: float) -> float:
    return OddsElimination().epsilon(model, as_spend(COUNT, tau))


def network_of(odds: Floats, hidden: tuple[int, ...]) -> Network:
    """Return the network that a law with these odds ratios is, up to what their computation was off."""
    pairs = itertools.combinations(range(len(odds)), 2)
    edges = [(i, j, odds[i, j] * (1 + 1e-12)) for i, j in pairs if odds[i, j] > 1 + 1e-9]
    return Network(edges=edges, records=len(odds), hidden=hidden)


LAWS = network_laws(network_of, hidden=True) | tree_laws(network_of, hidden=True)


class TestUnderSideInformation(SideInformationContract):
    theorem = OddsElimination()
    laws = LAWS


class TestOddsElimination(TheoremContract):
    theorem = OddsElimination()
    cases = release_cases(LAWS)
    refused = (
        (Independent(), COUNT),
        (Network(odds=1.5, degree=2), COUNT),
        (Network(odds=1.5, degree=2, records=3), COUNT),
        (complete(160, 1.01), COUNT),
        (Network(edges=[(i, i + 1, 1.5) for i in range(2000)]), COUNT),
    )


@st.composite
def networks(draw: st.DrawFn, forest: bool = False, largest: int = 30) -> Network:
    """Draw a network of up to thirty positions, some of them hidden, with one large odds ratio now and then."""
    size = draw(st.integers(2, largest))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pairs = {(int(random.integers(0, last)), last) for last in range(1, size)}
    if not forest:
        more = random.integers(0, size, size=(draw(st.integers(0, largest + 10)), 2))
        pairs |= {(int(min(pair)), int(max(pair))) for pair in more if pair[0] != pair[1]}
    kept = sorted(pair for pair in pairs if random.random() < 0.9) or [(0, 1)]
    strength = draw(st.sampled_from([0.05, 0.3, 2.0]))
    edges = [(i, j, float(np.exp(random.exponential(strength)))) for i, j in kept]
    hidden = random.choice(size, int(random.integers(0, size // 2)), replace=False).tolist()
    return Network(edges=edges, records=size, hidden=hidden)


TAUS = st.floats(1e-3, 20)


@given(networks(forest=True), TAUS)
def test_on_forests_it_is_the_tree_bound(forest: Network, tau: float) -> None:
    assert proven(forest, tau) == pytest.approx(OddsTree().epsilon(forest, as_spend(COUNT, tau)), rel=1e-11)


@given(networks(), TAUS)
def test_it_is_never_above_the_sum_over_walks(network: Network, tau: float) -> None:
    if OddsNetwork().refusal(network, (COUNT,)) is None:
        assert proven(network, tau) <= OddsNetwork().epsilon(network, as_spend(COUNT, tau)) * (1 + 1e-11)


Way = Callable[[eliminated.Part, Floats], Sequence[Floats]]
"""From a part and the values of τ to bounds on the leakage of its targets, one table (targets, τ) for each order."""


def by_singles(part: eliminated.Part, taus: Floats) -> Sequence[Floats]:
    return [in_order(part, {t: c[-1] for t, c in changes_of_singles(steps, taus).items()}) for steps in part.orders]


def by_sets(part: eliminated.Part, taus: Floats) -> Sequence[Floats]:
    return [in_order(part, {t: c[-1] for t, c in changes_of_sets(steps, taus).items()}) for steps in part.orders]


def by_roles(part: eliminated.Part, taus: Floats) -> Sequence[Floats]:
    return [in_order(part, merged_along(steps, taus)) for steps in part.orders]


def by_best_order(part: eliminated.Part, taus: Floats) -> Sequence[Floats]:
    if not part.near:
        return by_singles(part, taus)
    left = in_order(part, changes_of_singles(part.near, taus))
    return [merged(left, np.array([each.odds for each in part.near]))]


def in_order(part: eliminated.Part, found: dict[int, Floats]) -> Floats:
    return np.array([found[target] for target in part.targets])


def parts_of(model: Model) -> tuple[eliminated.Part, ...]:
    assert isinstance(model, Network)
    prepared = eliminated.parts(model)
    assert not isinstance(prepared, str)
    return prepared


class Alone(OddsElimination):
    """The theorem with one of its bounds alone."""

    def __init__(self, way: Way) -> None:
        self.way = way

    def bounds(self, model: Model, spends: Sequence[Spend]) -> Sequence[float]:
        taus = np.array([total_tau(spend) for spend in spends])
        found = [np.minimum.reduce(self.way(part, taus)).max(axis=0) for part in parts_of(model)]
        bounds: list[float] = np.maximum.reduce([taus, *found]).tolist()
        return bounds


def attacked(theorem: Theorem, laws: st.SearchStrategy[Law]) -> None:
    contract = type("Contract", (SideInformationContract,), {"theorem": theorem, "laws": laws})()
    assert isinstance(contract, SideInformationContract)
    contract.test_never_below_the_worst_side_information_found()


@pytest.mark.parametrize("way", [by_singles, by_sets, by_roles, by_best_order])
@pytest.mark.slow
def test_each_bound_alone_is_never_below_an_attack(way: Way) -> None:
    attacked(Alone(way), LAWS)


@given(networks(), TAUS)
def test_roles_are_below_sets_and_sets_below_singles(network: Network, tau: float) -> None:
    sums = None if OddsNetwork().refusal(network, (COUNT,)) else walks(network)
    for part in parts_of(network):
        narrow = tuple(steps for steps in part.orders if max(len(each.step.positions) for each in steps) <= 8)
        few = replace(part, orders=narrow)
        taus = np.array([tau])
        for roles, sets, singles in zip(by_roles(few, taus), by_sets(few, taus), by_singles(few, taus), strict=True):
            assert (roles <= sets * (1 + 1e-11)).all()
            assert (sets <= singles * (1 + 1e-11)).all()
        if isinstance(sums, Walks):
            for singles in by_singles(part, taus):
                assert (singles <= (1 + sums.beyond) * tau * (1 + 1e-11)).all()


REFERENCES = [(3, 1.5, 1.2234, 1.2231), (5, 1.5, 1.5641, 1.5612), (10, 1.2, 1.6339, 1.6327), (4, 2, 1.7406, 1.7300)]


@pytest.mark.parametrize(("size", "odds", "singles", "sets"), REFERENCES)
def test_reference_values_of_complete_graphs(size: int, odds: float, singles: float, sets: float) -> None:
    model, small = complete(size, odds), np.array([SMALL])
    (part,) = parts_of(model)
    for found in by_singles(part, small):
        assert found.max() / SMALL == pytest.approx(singles, abs=5e-5)
    for found in by_sets(part, small):
        assert found.max() / SMALL == pytest.approx(sets, abs=5e-5)
    assert proven(model, SMALL) / SMALL <= sets + 5e-5


SERIES = [
    ((1.1, 0.26, 0.18), 0.01, 2.541, 2.538),
    ((1.1, 0.26, 0.18), 1.0, 2.411, 2.345),
    ((1.1, 0.5, 0.3, 0.2), 1.0, 4.186, 3.585),
    ((2.76, 1.558), 1.0, 10.36, 8.070),
]


@pytest.mark.parametrize(("logs", "tau", "sets", "roles"), SERIES)
def test_reference_values_of_long_series(logs: tuple[float, ...], tau: float, sets: float, roles: float) -> None:
    """The values are for any length, from other orders; by then a hundred records have come within a thousandth."""
    edges = [(i, i + lag, np.exp(log)) for lag, log in enumerate(logs, 1) for i in range(100 - lag)]
    model = Network(edges=edges)
    (part,) = parts_of(model)
    (found,) = by_sets(part, np.array([tau]))
    assert found.max() / tau == pytest.approx(sets, rel=1e-3)
    assert proven(model, tau) / tau == pytest.approx(roles, rel=1e-3)


def attained(network: Network, tau: float) -> float:
    """Return what some attacker learns from a count if the records are bits that attract one another.

    It is 2·L, L the log odds of the target with the couplings d/4 and the field τ/4 at every record: a count tilts the
    fields of all records by τ/2, and side information balances them before and after (docs/theory/side-information.md).
    """
    ties = network.ties
    signs = np.array(list(itertools.product((-1, 1), repeat=ties.size)))
    energy = tau / 4 * signs[:, ties.visible].sum(axis=1)
    energy += (signs[:, ties.first] * signs[:, ties.second]) @ ties.log_odds / 4
    weights = np.exp(energy - energy.max())
    up = weights @ (signs == 1)
    return float(2 * np.log(up / (weights.sum() - up))[ties.visible].max(initial=tau / 2))


@given(networks(largest=11), TAUS)
def test_no_bound_is_below_what_attractive_bits_leak(network: Network, tau: float) -> None:
    for way in (by_singles, by_sets, by_roles, by_best_order):
        assert attained(network, tau) <= Alone(way).epsilon(network, as_spend(COUNT, tau)) * (1 + 1e-9)


@given(st.integers(2, 6), st.floats(0.05, 4), st.floats(0.01, 5))
def test_complete_networks_nearly_attain_it(size: int, log_odds: float, tau: float) -> None:
    network = complete(size, np.exp(log_odds))
    assert attained(network, tau) * (1 - 1e-9) <= proven(network, tau) <= attained(network, tau) * 1.06


def test_it_needs_no_weak_dependence() -> None:
    assert OddsNetwork().refusal(complete(6, 9), (COUNT,)) is not None
    assert proven(complete(6, 9), 0.01) < 0.06
    assert proven(complete(20, 9), 30.0) < 30 + 19 * np.log(9) + 1e-9


def test_a_grid_is_below_its_sum_over_walks() -> None:
    network = grid(20, 1.5)
    assert proven(network, SMALL) / SMALL == pytest.approx(1.597358, abs=1e-6)
    assert proven(network, SMALL) < OddsNetwork().epsilon(network, as_spend(COUNT, SMALL))


def test_parts_do_not_add_up() -> None:
    triangle = [(0, 1, 1.5), (1, 2, 1.5), (0, 2, 1.5)]
    strong = [(i + 3, j + 3, odds * 2) for i, j, odds in triangle]
    alone = Network(edges=[(i, j, odds * 2) for i, j, odds in triangle])
    assert proven(Network(edges=triangle + strong, records=9), 0.5) == proven(alone, 0.5)
    copies = Network(edges=[(3 * k + i, 3 * k + j, odds) for k in range(50) for i, j, odds in triangle])
    assert len(eliminated.parts(copies)) == 1


def test_why_it_refuses() -> None:
    refusal = OddsElimination().refusal
    assert "does not state which depend" in (refusal(Network(odds=1.5, degree=2), (COUNT,)) or "")
    assert "too many records depend on one another" in (refusal(complete(160, 1.01), (COUNT,)) or "")
    assert "at most 2,000 positions" in (refusal(Network(edges=[(i, i + 1, 2) for i in range(2000)]), (COUNT,)) or "")


def test_a_part_without_records_leaks_nothing() -> None:
    model = Network(edges=[(0, 1, 9), (2, 3, 2), (3, 4, 2), (2, 4, 2)], records=5, hidden=[2, 3, 4])
    assert proven(model, 0.5) == pytest.approx(OddsTree().epsilon(Network(edges=[(0, 1, 9)]), as_spend(COUNT, 0.5)))
    assert proven(Network(edges=[(0, 1, 1)], records=3), 0.5) == 0.5


def test_it_is_named_where_it_is_smallest() -> None:
    found = leakage(complete(4, 2), COUNT, tau=0.1)
    assert found.theorem == "odds-elimination"
    assert "any noisy observation of each of the others" in found.scope


def attractive(size: int, log_odds: float, loop: bool) -> Law:
    """Return bits that all attract one another, or those that are next to one another in a loop."""
    signs = np.array(list(itertools.product((-1, 1), repeat=size)))
    pairs = [(i, (i + 1) % size) for i in range(size)] if loop else list(itertools.combinations(range(size), 2))
    weights = np.exp(log_odds / 4 * sum(signs[:, i] * signs[:, j] for i, j in pairs))
    network = Network(edges=[(i, j, np.exp(log_odds) * (1 + 1e-12)) for i, j in pairs], records=size)
    return Law(network, (weights / weights.sum()).reshape((2,) * size))


ATTRACTIVE = st.builds(attractive, st.integers(4, 6), st.sampled_from([1.0, 4.0]), st.booleans())


def half_of_the_weaker(odds: Floats, weight: Floats) -> Floats:
    """False: what a record passes on between two others is half of the weaker of its dependences on them."""
    return odds + np.minimum(weight[:, None], weight) / 2


def strongest_member(weight: Floats) -> Floats:
    """False: a set of records moves another as far as its strongest member alone."""
    largest = np.zeros(1)
    for each in weight:
        largest = np.concatenate([largest, np.maximum(largest, each)])
    return largest


def half_of_the_smaller(without: Floats, target: Floats, answer: Floats) -> Floats:
    """False: J + min(A − J, C − J)/2."""
    return without + np.maximum(np.minimum(target - without, answer - without), 0) / 2


def without_odds(changes: Floats, odds: Floats, leaves: Callable[..., Floats] = merging.leaves) -> Floats:
    """False: what is merged into the target and what is merged into the answer do not depend on one another."""
    return leaves(changes, np.zeros_like(odds))


@pytest.fixture
def forgotten() -> Iterator[None]:
    eliminated.parts.cache_clear()
    yield
    eliminated.parts.cache_clear()


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize(
    ("theorem", "module", "rule", "false"),
    [
        (Alone(by_sets), sweeps, "odds_without", half_of_the_weaker),
        (Alone(by_sets), sweeps, "odds_of_sets", strongest_member),
        (OddsElimination(), merging, "combined", half_of_the_smaller),
        (OddsElimination(), merging, "leaves", without_odds),
    ],
)
def test_a_false_rule_fails(
    theorem: Theorem, module: object, rule: str, false: Callable[..., Floats], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "MAX_SHRINKS", 0)  # any counterexample will do
    monkeypatch.setattr(module, rule, false)
    with pytest.raises(AssertionError, match="odds-elimination proves"):
        attacked(theorem, ATTRACTIVE)


@pytest.mark.parametrize("theorem", [Alone(by_sets), OddsElimination()])
def test_the_true_rules_pass_where_false_ones_fail(theorem: Theorem) -> None:
    attacked(theorem, ATTRACTIVE)
