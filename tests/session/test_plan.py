"""What a session decides before it charges: the tau of a target, and which answers are stored already."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars
import pytest

import bayesdp as bdp
from bayesdp.accuracy import DiscreteLaplace
from bayesdp.errors import InvalidInputError
from bayesdp.session.plan import Target, tau_for
from bayesdp.session.prepared_query import PreparedQuery
from bayesdp.session.session import Session

ACTIVE = bdp.Count("steps > 0", equals=True)


@pytest.mark.parametrize("alpha", [25.0, 12.0, 6.0])
def test_from_the_accuracy(session: Session, alpha: float) -> None:
    foretold = session.preview(ACTIVE, alpha=alpha, beta=0.1)
    assert foretold.alpha is not None
    assert foretold.alpha <= alpha
    assert foretold.tau is not None
    assert DiscreteLaplace(1 / (foretold.tau * 0.999)).alpha(0.1) > alpha
    if foretold.epsilon_total <= 2:
        assert session.release(ACTIVE, alpha=alpha, beta=0.1).accuracy(0.1) <= alpha


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_questions_asked_together_again_are_free(tmp_path: Path, epsilon: float) -> None:
    table = polars.DataFrame({"b": [True, False, False] * 1000})
    chain = bdp.MarkovChain([[0.88, 0.12], [0.3, 0.7]], states=[False, True], column="b", length=3000)
    pair = [bdp.Count("b", equals=True), bdp.Count("b", equals=False)]
    third = bdp.Histogram("b", cells=[False, True])
    with Session(table, chain, epsilon=20.0, ledger=tmp_path / "b.db", dataset="d") as session:
        first = session.release_all(pair, epsilon=epsilon)
        spent = session.leaked
        assert session.release_all(pair[::-1], epsilon=epsilon) == first[::-1]
        assert session.release_all(pair, epsilon=epsilon / 2) == first
        assert session.leaked == spent
        three = session.release_all([*pair, third], epsilon=epsilon)
        assert three[:2] == first
        assert spent < session.leaked <= spent + epsilon
        spent = session.leaked
        assert session.release_all([third, *pair], epsilon=epsilon) == (three[2], *first)
        assert session.leaked == spent


@pytest.mark.parametrize(
    ("epsilon", "alpha", "beta", "message"),
    [
        (None, None, 0.05, "give either epsilon="),
        (1.0, 5.0, 0.05, "give either epsilon="),
        (0.0, None, 0.05, "epsilon must be greater than 0"),
        (None, math.inf, 0.05, "alpha must be a finite number"),
        (1.0, None, 1.0, "beta"),
    ],
)
def test_a_target_is_a_cost_or_an_accuracy(epsilon: Any, alpha: Any, beta: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Target.of(epsilon, alpha, beta)


@pytest.mark.parametrize(
    ("request_", "questions", "covered"),
    [
        ({"epsilon": 1.0}, ["q"], True),
        ({"epsilon": 0.9}, ["q"], False),
        ({"epsilon": 1.0, "questions": ["q", "r"]}, ["q", "r"], True),
        ({"epsilon": 1.0, "questions": ["q", "r"]}, ["q"], False),
        ({"epsilon": 1.0, "questions": ["q"]}, ["q", "r"], True),
        ({"alpha": 5.0, "beta": 0.05}, ["q"], False),
        (None, ["q"], False),
    ],
)
def test_an_epsilon_is_shared_by_the_questions_it_was_asked_for(
    request_: object, questions: list[str], covered: bool
) -> None:
    """The same ε for fewer questions is more for each: an answer asked for beside others does not cover it."""
    assert Target.of(1.0, None, 0.05).covered_by(request_, questions) == covered


def test_a_better_accuracy_at_the_same_beta_covers_another() -> None:
    target = Target.of(None, 5.0, 0.05)
    for request, covered in (
        ({"alpha": 4.0, "beta": 0.05}, True),
        ({"alpha": 6.0, "beta": 0.05}, False),
        ({"alpha": 4.0, "beta": 0.1}, False),
        ({"epsilon": 9.0}, False),
    ):
        assert target.covered_by(request, ["q"]) == covered


COUNT = bdp.Count("s", equals=1)


def asked(query: bdp.Query = COUNT, sensitivity: int = 1) -> PreparedQuery:
    return PreparedQuery.about(query, "q", None, sensitivity, records=100)


@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-9])
@pytest.mark.parametrize("alpha", [1.0, 2.0, 7.5, 1e6])
def test_the_smallest_tau_whose_noise_is_accurate_enough(alpha: float, beta: float) -> None:
    tau = tau_for(asked(), Target.of(None, alpha, beta))
    assert DiscreteLaplace(1 / tau).alpha(beta) <= alpha
    less = tau * (1 - (2 / alpha if alpha > 1e5 else 1e-9))  # a large α moves by whole records only
    assert DiscreteLaplace(1 / less).alpha(beta) > math.floor(alpha)
    assert tau_for(asked(sensitivity=2), Target.of(None, alpha, beta)) == pytest.approx(2 * tau, rel=1e-9)


def test_an_accuracy_that_no_noise_has_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"alpha = 0\.5 cannot be reached; the least error .* can state is 1"):
        tau_for(asked(), Target.of(None, 0.5, 0.05))
    share = asked(bdp.Proportion("s", equals=1, size=100))
    assert share.worth(100) == Fraction(1, 100)
    assert tau_for(share, Target.of(None, 0.05, 0.05)) == tau_for(asked(), Target.of(None, 5.0, 0.05))
