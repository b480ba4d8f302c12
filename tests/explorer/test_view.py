"""The numbers: the same as the library's, quick ones first, and never less noise than is proven."""

import pytest

from bayesdp import (
    ArbitraryGroups,
    Count,
    GaussianGroups,
    MarkovChain,
    Model,
    OddsChain,
    Query,
    Sum,
    calibrate,
    leakage,
)
from bayesdp.errors import BayesDPError
from bayesdp.explorer.choices import Target
from bayesdp.explorer.view import GRID, Findings, Wanted, done, figure, next_job, rows, sides, together

CHAIN = MarkovChain([[0.7, 0.3], [0.4, 0.6]], states=[False, True], length=20)
QUICK = [
    (ArbitraryGroups(4), Count(equals=1)),
    (OddsChain(5, length=100), Count(equals=1)),
    (GaussianGroups(correlation=0.3, size=3), Sum(bounds=(0, 100))),
]


@pytest.mark.parametrize(("model", "query"), QUICK)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.0])
def test_a_promise_is_calibrated_as_the_library_does(model: Model, query: Query, epsilon: float) -> None:
    shown = sides(Wanted(model, query, Target(epsilon, None, 0.05)), settled=True)
    chosen, leaked = calibrate(model, query, epsilon=epsilon), leakage(model, query, tau=epsilon)
    assert shown.ours.belief.tau == chosen.tau
    assert shown.ours.alpha == chosen.accuracy(0.05)
    assert shown.plain.belief.epsilon == leaked.epsilon
    assert shown.plain.belief.tau == epsilon


@pytest.mark.parametrize(("model", "query"), QUICK)
def test_an_error_is_converted_as_the_library_does(model: Model, query: Query) -> None:
    shown = sides(Wanted(model, query, Target(None, 25.0, 0.1)), settled=True)
    chosen = calibrate(model, query, alpha=25.0, beta=0.1)
    assert (shown.ours.belief.tau, shown.ours.belief.epsilon) == (chosen.tau, chosen.epsilon)
    assert shown.plain.claimed == chosen.tau


def test_quick_theorems_never_take_less_noise() -> None:
    wanted = Wanted(CHAIN, Count(equals=True), Target(1.0, None, 0.05))
    quick, settled = sides(wanted, settled=False), sides(wanted, settled=True)
    assert quick.ours.belief.tau <= settled.ours.belief.tau
    assert quick.plain.belief.epsilon >= settled.plain.belief.epsilon
    assert settled.ours.belief.epsilon <= 1.0


def test_jobs_come_to_an_end_and_what_is_asked_comes_first() -> None:
    wanted = Wanted(CHAIN, Count(equals=True), Target(2.0, None, 0.05))
    findings, steps = Findings.about(wanted), []
    while (job := next_job(findings, wanted)) is not None:
        steps.append((job.step, job.epsilon))
        if job.step == "full" and len(steps) > 4:
            findings = together(
                findings, Findings(CHAIN, wanted.query, 0.05, full=dict.fromkeys(GRID, findings.full[2.0]))
            )
        else:
            findings = together(findings, done(job))
    assert steps[:3] == [("quick", None), ("settle", None), ("full", 2.0)]
    assert findings.complete


def test_without_slow_theorems_the_chart_is_complete_at_once() -> None:
    wanted = Wanted(ArbitraryGroups(3), Count(equals=1), Target(1.0, None, 0.05))
    findings = done(next_job(Findings.about(wanted), wanted) or pytest.fail("nothing to do"))
    assert findings.complete
    assert findings.comparison == findings.quick
    assert findings.chart is not None


def test_what_is_known_is_used_and_the_same() -> None:
    wanted = Wanted(OddsChain(5, length=100), Count(equals=1), Target(1.0, None, 0.05))
    findings = done(next_job(Findings.about(wanted), wanted) or pytest.fail("nothing to do"))
    assert findings.sides(wanted).ours.alpha == pytest.approx(sides(wanted, settled=True).ours.alpha, rel=1e-6)
    assert findings.sides(wanted).ours.belief.epsilon <= 1.0


def test_rows_say_the_error_or_the_leakage() -> None:
    wanted = Wanted(OddsChain(5, length=100), Count(equals=1), Target(1.0, None, 0.05))
    findings = done(next_job(Findings.about(wanted), wanted) or pytest.fail("nothing to do"))
    reported = {row.theorem: row for row in rows(findings.sides(wanted), findings, wanted.target)}
    assert reported["odds-chain"].best
    assert reported["odds-chain"].figure == figure(calibrate(wanted.model, wanted.query, epsilon=1.0).accuracy())
    assert "gaussian-tight" not in reported  # it is about other models
    by_error = Wanted(wanted.model, wanted.query, Target(None, 25.0, 0.05))
    shown = sides(by_error, settled=True)
    best = next(row for row in rows(shown, findings, by_error.target) if row.best)
    assert best.figure == figure(calibrate(wanted.model, wanted.query, alpha=25.0).epsilon)


def test_a_promise_out_of_reach_is_refused() -> None:
    stuck = MarkovChain([[1.0, 0.0], [0.0, 1.0]], states=[False, True], start="any")
    with pytest.raises(BayesDPError, match="theorem"):
        sides(Wanted(stuck, Count(equals=True), Target(1.0, None, 0.05)), settled=True)


def test_the_price_is_said() -> None:
    target = Target(1.0, None, 0.05)
    assert "3 times" in sides(Wanted(ArbitraryGroups(3), Count(equals=1), target), settled=True).price
    assert "no more noise" in sides(Wanted(ArbitraryGroups(1), Count(equals=1), target), settled=True).price
