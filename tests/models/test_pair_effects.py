"""Fitted effects: how sure they are, and which odds cover them."""

import numpy as np
import pytest

from bayesdp.errors import ModelError
from bayesdp.models.pair_effects import PairEffects, credible_odds, log_odds_of, small_price

SURE = PairEffects([[1.8], [0.2], [0.4]], (np.eye(3) * 1e-8).tolist(), 10_000)
UNSURE = PairEffects([[1.8], [0.2], [0.4]], (np.eye(3) * 0.01).tolist(), 10_000)


@pytest.mark.parametrize(
    ("log_odds", "tau", "leaks"),
    [
        ((np.log(9),), 1.0, 2.797620),
        ((1.1, 0.26, 0.18), 0.01, 0.024826),
        ((1.1, 0.26, 0.18), 1.0, 2.3263),
        ((1.1, 0.5, 0.3, 0.2), 0.01, 0.044321),
        ((1.1, 0.5, 0.3, 0.2), 1.0, 3.5330),
    ],
)
def test_draws_are_ranked_by_the_exact_price(log_odds: tuple[float, ...], tau: float, leaks: float) -> None:
    """The values of THEORY §20, which are those of odds-ising."""
    assert small_price(np.array([log_odds]), tau)[0] == pytest.approx(leaks, rel=1e-4)


def test_odds_are_the_largest_cross_ratio() -> None:
    assert log_odds_of(np.array([[-0.7], [0.2]])).tolist() == [0.7, 0.2]
    table = np.array([[0, 0, 0], [0, 1.2, -0.3], [0, 0.1, 0.9]])
    brute = max(
        table[a, b] + table[c, d] - table[a, d] - table[c, b]
        for a in range(3)
        for b in range(3)
        for c in range(3)
        for d in range(3)
    )
    assert log_odds_of(np.array([1.2, -0.3, 0.1, 0.9])) == pytest.approx(brute)


def test_certain_effects_are_their_own_odds() -> None:
    for additive in (False, True):
        assert np.log(credible_odds(SURE, 0.95, additive)) == pytest.approx([1.8, 0.2, 0.4], abs=2e-3)


@pytest.mark.slow
def test_the_share_of_draws_that_leak_less_is_the_credibility() -> None:
    for credibility in (0.8, 0.95):
        bound = np.log([credible_odds(UNSURE, credibility, additive=False)])
        draws = UNSURE.drawn(20_000, np.random.default_rng(8), additive=False)
        less = (small_price(draws, 0.2) <= small_price(bound, 0.2)[0]).mean()
        assert credibility <= less <= credibility + 0.03
    assert credible_odds(UNSURE, 0.99, additive=False) > credible_odds(UNSURE, 0.9, additive=False)


def test_additive_effects_are_drawn_with_their_signs() -> None:
    either = PairEffects([[1.0], [0.02]], [[0.01, 0], [0, 0.01]], 1000)
    generator = np.random.default_rng(1)
    assert (either.drawn(500, generator, additive=True) >= 0).all()
    turning = PairEffects([[-1.0], [0.3], [-0.1]], (np.eye(3) * 0.01).tolist(), 1000)
    assert turning.signs.tolist() == [-1, 1, -1]
    assert np.log(credible_odds(turning, 0.5, additive=True)) == pytest.approx([1.0, 0.3, 0.1], abs=0.15)
    against = PairEffects([[1.0], [-0.9]], [[0.001, 0], [0, 0.001]], 1000)
    with pytest.raises(ModelError, match="do not push the same way"):
        credible_odds(against, 0.95, additive=True)
    assert credible_odds(against, 0.95, additive=False)[1] > 2.4


def test_json_goes_there_and_back() -> None:
    fitted = PairEffects([[1.8]], [[0.01]], 900, 12, ("hour",), [(3,), (2,)])
    assert PairEffects.from_dict(fitted.to_dict()) == fitted
    assert fitted.merged == ((2,), (3,))
    assert "12 records without all of them left out" in fitted.called()
    assert "merged into one: hour 2, 3" in fitted.called()


@pytest.mark.parametrize(
    "given",
    [
        {"effects": []},
        {"effects": [[1.0, 2.0]]},
        {"effects": [[1.0], [1.0]]},
        {"effects": [[np.nan]]},
        {"covariance": [[-1.0]]},
        {"covariance": [[1.0, 0.0]]},
        {"covariance": "none"},
        {"records": 0},
    ],
)
def test_what_are_no_effects_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(ModelError):
        PairEffects.from_dict({"effects": [[1.0]], "covariance": [[0.1]], "records": 9, "left_out": 0, **given})


def test_incomplete_documents_are_refused() -> None:
    for document in (None, {}, {"effects": [[1.0]]}):
        with pytest.raises(ModelError, match="must be an object"):
            PairEffects.from_dict(document)
