import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import AnyOf, Count, GaussianGroups, Independent, MarkovChain, Query, Sum, compare, leakage
from bayesdp.audit import oracle
from bayesdp.calibration.prior_art import Chakrabarti2022, ProvenResponse, Yang2015, chakrabarti_flip
from bayesdp.errors import DoesNotApplyError

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
def test_chakrabarti_needs_a_symmetric_lazy_binary_chain(model: MarkovChain, query: Query, reason: str) -> None:
    with pytest.raises(DoesNotApplyError, match=reason):
        Chakrabarti2022().results(model, query, [1.0], 0.05)


def test_chakrabarti_switch_outside_its_range() -> None:
    with pytest.raises(DoesNotApplyError, match="switching probability"):
        chakrabarti_flip(0.5, 1)


def test_chakrabarti_accuracy_falls_with_epsilon() -> None:
    alphas = [found.alpha for found in Chakrabarti2022().results(LAZY, COUNT, [1, 2, 4, 8], 0.05)]
    assert alphas == sorted(alphas, reverse=True)


def test_yang_is_the_general_bound_of_a_group() -> None:
    family, total = GaussianGroups(correlation=0.275, size=3), Sum(bounds=(0, 100))
    (result,) = Yang2015().results(family, total, [3.0], 0.05)
    assert result.tau == pytest.approx(1)
    assert Yang2015().refusal(family, COUNT) is not None
    assert Yang2015().refusal(LAZY, COUNT) is not None


def test_yang_is_shown_as_valid() -> None:
    shown = compare(GaussianGroups(correlation=0.275, size=3), Sum(bounds=(0, 100)), epsilons=[3.0])
    yang = next(each for each in shown.published if each.method == "yang-2015")
    general = next(row for row in shown.rows if row.theorem == "general")
    assert yang.proven
    assert yang.alpha == pytest.approx(general.alpha)
    (line,) = [line for line in str(shown).splitlines() if line.startswith("(yang-2015) ")]
    assert "valid" in line
    assert "no guarantee" not in line


@pytest.mark.parametrize("length", [500, 501])
def test_no_error_is_written_as_none_not_as_the_smallest_float(length: int) -> None:
    chain = MarkovChain([[0.8, 0.2], [0.2, 0.8]], length=length)
    shown = compare(chain, COUNT, epsilons=[25.0, 5000.0])
    alphas = {each.alpha for each in shown.published if each.method in ("chakrabarti-2022", "randomized-response")}
    assert alphas == {0.0}
    assert "e-3" not in str(shown)
    assert "α = 0: the count is right, to less than a millionth, in 95 % of cases or more" in str(shown)


def test_an_error_of_none_is_what_the_law_says() -> None:
    law = Chakrabarti2022.noise(LAZY, 25.0)
    assert law.beta(1e-300) < 0.05
    assert 1 - law.beta(1e-300) == pytest.approx((1 - law.flip) ** 500, rel=1e-6)


def test_a_picture_leaves_out_what_has_no_error(tmp_path: Path) -> None:
    assert compare(LAZY, COUNT, epsilons=[1.0, 25.0]).plot(tmp_path / "picture.svg").stat().st_size > 2000


@pytest.mark.parametrize(("switch", "epsilon"), [(0.2, 13.0), (0.2, 1.0), (0.4, 5.0)])
def test_the_proven_response_keeps_what_the_published_one_breaks(switch: float, epsilon: float) -> None:
    chain = MarkovChain([[1 - switch, switch], [switch, 1 - switch]], length=5)
    (found,) = ProvenResponse().results(chain, COUNT, [epsilon], 0.05)
    assert found.proven
    assert found.tau is not None
    law = ProvenResponse.noise(chain, found.tau)
    leak = oracle.bdpl(oracle.chain_joint(chain, 5), oracle.randomized_response(law.flip, 5)).epsilon
    assert leak <= epsilon
    assert leak > 0.8 * epsilon
    assert found.alpha == law.alpha(0.05)
    assert leakage(chain, COUNT, tau=found.tau).epsilon <= epsilon


def test_the_proven_response_is_shown_for_one_model_only() -> None:
    other = MarkovChain([[0.7, 0.3], [0.3, 0.7]], length=300)
    methods = {each.method for each in compare(AnyOf(LAZY, other), COUNT, epsilons=[1.0]).published}
    assert methods == {"plain-dp", "chakrabarti-2022"}


@pytest.mark.parametrize("epsilons", [[1.0, 1.0, 3.0], [1e-30]])
def test_repeated_and_tiny_promises(epsilons: list[float]) -> None:
    shown = compare(LAZY, COUNT, epsilons=epsilons)
    assert [each.epsilon for each in shown.published if each.method == "plain-dp"] == epsilons
    assert any(each.method == "randomized-response" for each in shown.published) == (epsilons[0] == 1)


def test_prior_art_is_shown_beside_the_theorems() -> None:
    shown = compare(LAZY, COUNT, epsilons=[10.0])
    proven = {each.method: each.proven for each in shown.published}
    assert proven == {"plain-dp": False, "chakrabarti-2022": False, "randomized-response": True}
    assert {row.theorem for row in shown.rows}.isdisjoint({each.method for each in shown.published})
    assert "not ε-BDP" in str(shown)
    assert "(chakrabarti-2022)" in str(shown)
    document = shown.to_dict()
    assert {row["theorem"] for row in document["rows"]} == {row.theorem for row in shown.rows}
    assert all("note" in each for each in document["published"])
    assert {each["method"]: each["proven"] for each in document["published"]} == proven
