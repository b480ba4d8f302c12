"""The leakage if the assumption is wrong, in verdicts, answers and statements."""

from __future__ import annotations

import math
from pathlib import Path

import polars
import pytest

import bayesdp as bdp
from bayesdp.advice.alternatives import alternatives
from bayesdp.advice.sensitivity_to_assumption import Sensitivity, sensitivity_to_assumption, weaker_than
from bayesdp.models import ChainLayout, Model
from bayesdp.session.answer import Answer
from bayesdp.theorems.spend import as_spend

COUNT = bdp.Count(equals=1)
SUM = bdp.Sum("height", bounds=(0, 100))
LAZY = bdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=5000)

MODELS: list[tuple[Model, bdp.Query]] = [
    (bdp.Independent(), COUNT),
    (bdp.ArbitraryGroups(4), COUNT),
    (LAZY, COUNT),
    (bdp.MarkovChain([[[0.8, 0.2], [0.4, 0.6]], [[0.7, 0.3], [0.2, 0.8]]], memory=2), COUNT),
    (bdp.OddsChain(9), COUNT),
    (bdp.OddsChain(9, memory=2, unit=12, length=100), COUNT),
    (bdp.HiddenMarkov(transition_odds=9, emission_odds=4), COUNT),
    (bdp.Network(odds=1.1, degree=3), COUNT),
    (bdp.Network(edges=[(0, 1, 2.0), (1, 2, 3.0)], records=3), COUNT),
    (bdp.GaussianGroups(correlation=0.275, size=3), SUM),
    (bdp.GaussianGroups(covariance=[[1, 0.4], [0.4, 1]]), SUM),
    (bdp.GaussianSeries([0.3]), SUM),
    (bdp.AnyOf(LAZY, bdp.OddsChain(4)), COUNT),
]


@pytest.mark.parametrize(("model", "query"), MODELS, ids=lambda part: getattr(part, "kind", ""))
def test_weaker_assumptions_leak_at_least_as_much(model: Model, query: bdp.Query) -> None:
    spend = as_spend(query, 0.05)
    promised = bdp.leakage(model, query, tau=0.05).epsilon
    lines = sensitivity_to_assumption(spend, promised, weaker_than(model))
    assert lines
    assert len({line.condition for line in lines}) == len(lines)
    for line in lines:
        assert line.epsilon is not None
        assert line.epsilon >= promised
        assert str(line).startswith(f"If {line.condition}, ")
    for condition, weaker in alternatives(model):
        (line,) = (line for line in lines if line.condition == condition)
        assert line.epsilon is not None
        assert line.epsilon >= bdp.leakage(weaker, query, tau=0.05).epsilon * (1 - 1e-12)


def test_the_lines_are_the_closed_forms_of_the_theory() -> None:
    """sinh(ε/4) = √θ·sinh(kτ/4): theory, 11c and 11e; a unit of w records: w·τ + 2c, 13."""
    tau, odds = 0.2435, 17.1148

    def leaks(odds: float, tau: float) -> float:
        return 4 * math.asinh(math.sqrt(odds) * math.sinh(tau / 4))

    lines = [
        line.epsilon
        for line in sensitivity_to_assumption(as_spend(COUNT, tau), leaks(odds, tau), weaker_than(bdp.OddsChain(odds)))
    ]
    side = (leaks(odds, tau) - tau) / 2
    assert lines == pytest.approx([leaks(1.5 * odds, tau), leaks(odds, 2 * tau), 12 * tau + 2 * side])


def test_a_weaker_assumption_without_a_bound_is_reported() -> None:
    assert str(Sensitivity("anything holds", 1.0, None)) == "If anything holds, nothing is proven."
    assert Sensitivity("anything holds", 1.0, None).change is None


def test_they_stand_in_the_answer_and_in_its_statement(tmp_path: Path) -> None:
    table = polars.DataFrame({"s": [0, 1, 1, 0, 0] * 200, "t": range(1000)})
    chain = bdp.OddsChain(9, states=(0, 1), column="s", layout=ChainLayout("t"))
    question = bdp.Count("s", equals=1)
    with bdp.Session(table, chain, epsilon=2.0, ledger=tmp_path / "b.db", dataset="d") as session:
        answer = session.release(question, epsilon=1.0)
        session.release(bdp.Count("s", equals=0), epsilon=0.5)
        again = session.release(question, epsilon=1.0)
    expected = sensitivity_to_assumption(as_spend(question, answer.tau), answer.epsilon_total, weaker_than(chain))
    assert list(answer.consequences) == [str(line) for line in expected]
    for line in answer.consequences:
        assert line in str(answer)
        assert line in answer.guarantee
        assert line in answer.statement()
    assert answer.to_dict()["consequences"] == list(answer.consequences)
    assert Answer.from_dict(answer.to_dict()).consequences == answer.consequences
    assert again.consequences != answer.consequences, "they are about everything released by then"
    assert "instead of 1.5." in again.consequences[0]


def test_they_are_a_function_of_the_model_and_not_of_the_table(tmp_path: Path) -> None:
    chain = bdp.OddsChain(9, states=(0, 1), column="s")
    lines = []
    for number, values in enumerate(([0, 1] * 50, [1] * 100)):
        table = polars.DataFrame({"s": values})
        with bdp.Session(table, chain, epsilon=2.0, ledger=tmp_path / f"{number}.db", dataset="d") as session:
            lines.append(session.release(bdp.Count("s", equals=1), epsilon=1.0).consequences)
    assert lines[0] == lines[1]


def test_releases_on_different_parts_are_not_added_up(tmp_path: Path) -> None:
    table = polars.DataFrame({"s": [0, 1] * 60, "d": ["N"] * 60 + ["S"] * 60, "who": [i // 3 for i in range(120)]})
    groups = bdp.ArbitraryGroups(3, group="who")
    question = bdp.Count("s", equals=1, by="d", by_cells=["N", "S"])
    with bdp.Session(table, groups, epsilon=2.0, ledger=tmp_path / "b.db", dataset="d", public=["d"]) as session:
        answers = [*session.release_all([question], epsilon=1.0), *session.release_all([question], epsilon=1.0)]
    assert [answer.reused for answer in answers] == [False, False, True, True]
    for answer in answers:
        assert answer.consequences == ("If groups are half as large again, 1.67 instead of 1.",)


def test_what_changes_nothing_visible_is_said_so() -> None:
    assert str(Sensitivity("the hour matters", 1.0, 1.0)) == "If the hour matters, still 1."
    assert str(Sensitivity("anything may happen", 1.0, 2160.0)) == "If anything may happen, 2160 instead of 1."
