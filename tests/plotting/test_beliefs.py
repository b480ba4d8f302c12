"""What an attacker can come to believe, as a picture: the curves are the odds that leak, and nothing crosses them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import bayesdp as bdp
from bayesdp.audit import audited
from bayesdp.errors import InvalidInputError
from bayesdp.plotting.beliefs import beliefs_chart, plot_audit
from bayesdp.plotting.palette import PLAIN

CHAIN = bdp.MarkovChain([[0.9, 0.1], [0.3, 0.7]], length=60)
COUNT = bdp.Count(equals=1)


def test_a_curve_is_the_posterior_that_the_leakage_allows() -> None:
    reported = bdp.audit.belief(CHAIN, COUNT, epsilon=1.0, prior=0.2)
    (panel,) = beliefs_chart(reported, source="a chain").panels
    curves = {line.name: line.points for line in panel.lines}
    for name, leaks in (("bayesdp", reported.calibrated), (PLAIN, reported.plain)):
        assert (curves[name][0], curves[name][-1]) == ((0.0, 0.0), (1.0, 1.0))
        for before, after in curves[name][1:-1]:
            gained = math.log(after / (1 - after)) - math.log(before / (1 - before))
            assert gained == pytest.approx(leaks.epsilon)
        assert dict(curves[name])[0.2] == pytest.approx(leaks.posterior)
    assert curves["nothing"] == ((0.0, 0.0), (1.0, 1.0))


def test_an_attacker_who_is_known_is_a_dot_on_or_below_the_curve() -> None:
    reported = bdp.audit.belief(CHAIN, COUNT, epsilon=1.0, attained=True)
    (panel,) = beliefs_chart(reported, source="a chain").panels
    dots = {line.name: line.points for line in panel.lines if line.style == "o"}
    assert dots == {
        PLAIN: ((reported.plain.prior, reported.plain.attained),),
        "bayesdp": ((reported.calibrated.prior, reported.calibrated.attained),),
    }
    bare = beliefs_chart(bdp.audit.belief(CHAIN, COUNT, epsilon=1.0), source="a chain").panels[0]
    assert not [line for line in bare.lines if line.style == "o"]


def test_without_correlation_the_two_curves_are_drawn_in_turns() -> None:
    (panel,) = beliefs_chart(bdp.audit.belief(bdp.Independent(), COUNT, epsilon=1.0), source="").panels
    assert [line.turns for line in panel.lines if line.name in ("bayesdp", PLAIN)] == [(0, 2), (1, 2)]


def test_what_is_nearly_certain_is_said_in_words() -> None:
    reported = bdp.audit.belief(bdp.ArbitraryGroups(60), COUNT, epsilon=1.0)
    labels = [line.label for line in beliefs_chart(reported, source="").panels[0].lines]
    assert any("50 : 50 → nearly certain" in label for label in labels)


def test_an_audit_is_written_with_its_assumption(tmp_path: Path) -> None:
    audit = audited(CHAIN, COUNT, epsilon=1.0, runs=200)
    written = plot_audit(audit, tmp_path / "audit.svg").read_text()
    assert "model markov, up to n = 60 records together" in " ".join(written.split())
    with pytest.raises(InvalidInputError, match=r"audit\.doc"):
        plot_audit(audit, tmp_path / "audit.doc")
