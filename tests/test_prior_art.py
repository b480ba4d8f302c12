import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import Count, GaussianGroups, Independent, MarkovChain, Query, Sum, compare
from bayesdp.errors import DoesNotApplyError
from bayesdp.prior_art import Chakrabarti2022, Yang2015, chakrabarti_flip

COUNT = Count(equals=1)
LAZY = MarkovChain([[0.8, 0.2], [0.2, 0.8]], length=500)


@pytest.mark.parametrize(("switch", "epsilon", "flip"), [(0.2, 2, 0.40717), (0.4, 4, 0.09175)])
def test_reference_flips(switch: float, epsilon: float, flip: float) -> None:
    assert chakrabarti_flip(switch, epsilon) == pytest.approx(flip, abs=5e-6)


@given(st.floats(0.01, 0.49), st.floats(0.01, 12))
def test_the_stable_form_is_the_printed_one(r: float, epsilon: float) -> None:
    grown = math.exp(epsilon)
    root = math.sqrt(r * r * grown * (4 + r * (r * grown - 4)))
    printed = (4 + r * (r * grown - 2) - root) / (8 + 2 * r * (r * grown + r - 4))
    assert chakrabarti_flip(r, epsilon) == pytest.approx(printed, rel=1e-6)


def test_flips_at_the_extremes() -> None:
    assert 0.499 < chakrabarti_flip(0.2, 1e-6) < 0.5
    assert 0 <= chakrabarti_flip(0.2, 5000) < 1e-300
    assert chakrabarti_flip(0.2, 703.2) == pytest.approx(chakrabarti_flip(0.2, 703.3) * math.exp(0.1), rel=1e-6)


@pytest.mark.parametrize(
    ("model", "query", "reason"),
    [
        (Independent(), COUNT, "two states"),
        (MarkovChain([[0.8, 0.2], [0.3, 0.7]], length=9), COUNT, "symmetric"),
        (MarkovChain([[0.2, 0.8], [0.8, 0.2]], length=9), COUNT, "lazy"),
        (MarkovChain([[0.5, 0.5], [0.5, 0.5]], length=9), COUNT, "lazy"),
        (MarkovChain([[0.8, 0.2], [0.2, 0.8]], length=9, start="any"), COUNT, "stationary"),
        (MarkovChain([[0.8, 0.2], [0.2, 0.8]]), COUNT, "length"),
        (MarkovChain([[0.8, 0.2], [0.2, 0.8]], length=10**12), COUNT, "at most a million"),
        (LAZY, Sum(bounds=(0, 1)), "count of one"),
        (LAZY, Count(isin=[0, 1]), "count of one"),
        (LAZY, Count(equals=1, where="t > 3"), "unfiltered"),
        (MarkovChain([[1.0]], length=9), Count(equals=0), "two states"),
    ],
)
def test_chakrabarti_is_refused_outside_symmetric_lazy_binary_chains(
    model: MarkovChain, query: Query, reason: str
) -> None:
    with pytest.raises(DoesNotApplyError, match=reason):
        Chakrabarti2022().result(model, query, 1.0, 0.05)


def test_chakrabarti_switch_outside_its_range() -> None:
    with pytest.raises(DoesNotApplyError, match="switching probability"):
        chakrabarti_flip(0.5, 1)


def test_chakrabarti_accuracy_falls_with_epsilon() -> None:
    alphas = [Chakrabarti2022().result(LAZY, COUNT, epsilon, 0.05).alpha for epsilon in (1, 2, 4, 8)]
    assert alphas == sorted(alphas, reverse=True)


def test_yang_is_the_general_bound_of_a_group() -> None:
    family, total = GaussianGroups(correlation=0.275, size=3), Sum(bounds=(0, 100))
    result = Yang2015().result(family, total, 3.0, 0.05)
    assert result.tau == pytest.approx(1)
    assert Yang2015().refusal(family, COUNT) is not None
    assert Yang2015().refusal(LAZY, COUNT) is not None


def test_prior_art_is_shown_and_never_a_guarantee() -> None:
    shown = compare(LAZY, COUNT, epsilons=[10.0])
    assert {each.method for each in shown.published} == {"plain-dp", "chakrabarti-2022"}
    assert {row.theorem for row in shown.rows}.isdisjoint({each.method for each in shown.published})
    assert "not ε-BDP" in str(shown)
    assert "(chakrabarti-2022)" in str(shown)
    document = shown.to_dict()
    assert {row["theorem"] for row in document["rows"]} == {row.theorem for row in shown.rows}
    assert all("note" in each for each in document["published"])
