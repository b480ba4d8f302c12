"""Pictures of promises with a δ."""

from pathlib import Path
from typing import Any

import pytest

import bayesdp as bdp
from bayesdp.audit import audited
from bayesdp.audit.approximate_audits import ApproximateAudit
from bayesdp.calibration.approximate import ApproximateCalibration
from bayesdp.errors import InvalidInputError, QueryError
from bayesdp.plotting.approximate import audit_chart, guarantees_chart, noise_chart
from bayesdp.plotting.charts import Chart, Points
from bayesdp.theorems.approximate import ApproximateLeakage

SEVEN = bdp.MarkovChain([[0.75, 0.25], [0.25, 0.75]], length=7)
ODDS = bdp.OddsChain(9.0)
COUNT, SUM = bdp.Count(equals=1), bdp.Sum(bounds=(0, 100))


def points_of(chart: Chart) -> dict[str, set[tuple[float, float]]]:
    points: dict[str, set[tuple[float, float]]] = {}
    for line in chart.panels[0].lines:
        points.setdefault(line.name, set()).update(line.points)
    return points


def leaked(model: bdp.Model, query: Any, **losses: Any) -> ApproximateLeakage:
    found = bdp.leakage(model, query, **losses)
    assert isinstance(found, ApproximateLeakage)
    return found


PROFILE = bdp.PrivacyProfile(lambda tau: 1e-7, neighbours="replace")
SUMS = [(SUM, bdp.ConcentratedLoss(0.01)), (SUM, 0.1)]


@pytest.mark.parametrize(
    ("model", "query", "losses"),
    [
        (ODDS, COUNT, {"rho": 1 / 128, "delta": 1e-4}),
        (ODDS, bdp.AnyMechanism(), {"tau": 0.3, "delta": 1e-6, "neighbours": "replace"}),
        (ODDS, [(COUNT, 0.001)] * 50, {"delta": 1e-6}),
        (bdp.AnyOf(bdp.ArbitraryGroups(2), ODDS), COUNT, {"profile": PROFILE, "delta": 1e-5}),
        (bdp.GaussianGroups(correlation=0.3, size=3), SUMS, {"delta": 1e-6}),
    ],
)
def test_every_theorem_is_drawn_through_what_it_proves(model: bdp.Model, query: Any, losses: dict[str, Any]) -> None:
    found = leaked(model, query, **losses)
    points = points_of(guarantees_chart(found))
    assert points["asked"] == {(found.epsilon, found.delta)}
    applying = [row for row in found.assessments if row.applies]
    assert set(points) == {*(row.theorem for row in applying), "asked", "plain-dp"}
    for row in applying:
        proven = pytest.approx((row.epsilon, row.delta))
        assert any(point == proven for point in points[row.theorem])


def test_plain_privacy_is_drawn_as_it_states_itself() -> None:
    plain = points_of(guarantees_chart(leaked(ODDS, COUNT, rho=1 / 128, delta=1e-4)))["plain-dp"]
    loss = bdp.ConcentratedLoss(1 / 128)
    assert len(plain) > 5
    for epsilon, delta in plain:
        assert loss.delta_at(epsilon) <= delta
        assert epsilon < 1e-6 or loss.delta_at(0.999 * epsilon) > delta


@pytest.mark.slow
def test_an_audit_is_drawn_between_what_is_attained_and_proven(tmp_path: Path) -> None:
    audit = audited(ODDS, COUNT, rho=1 / 128, delta=0.01, runs=1000)
    assert isinstance(audit, ApproximateAudit)
    assert audit.attained is not None
    points = points_of(audit_chart(audit))
    assert points["asked"] == {(audit.epsilon, audit.delta)}
    assert (audit.epsilon, audit.attained.delta) in points["known attacker"]
    proven: Points = tuple(sorted(points["proven"]))
    attained = dict(points["known attacker"])
    assert all(attained[epsilon] <= delta for epsilon, delta in proven if epsilon in attained)
    assert audit.plot(tmp_path / "audit.png").read_bytes().startswith(b"\x89PNG")
    laplace = audited(ODDS, COUNT, epsilon=1.0, delta=1e-6, noise="laplace", runs=1000)
    assert isinstance(laplace, ApproximateAudit)
    assert (
        {"proven", "plain-dp", "asked"}
        <= set(points_of(audit_chart(laplace)))
        <= {"proven", "plain-dp", "asked", "lower bound"}
    )


def calibrated(query: bdp.Query = COUNT, **asked: Any) -> ApproximateCalibration:
    chosen = bdp.calibrate(ODDS, query, epsilon=1.0, **asked)
    assert isinstance(chosen, ApproximateCalibration)
    return chosen


def test_both_kinds_of_noise_are_drawn_around_a_promise(tmp_path: Path) -> None:
    chosen = calibrated(delta=1e-6, count=100)
    points = points_of(noise_chart(chosen))
    assert points["chosen"] == {(1.0, chosen.accuracy())}
    assert {"odds-chain", "odds-chain, Gaussian"} <= set(points)
    assert (1.0, chosen.accuracy()) in points["odds-chain, Gaussian"]
    assert chosen.plot(tmp_path / "noise.svg").stat().st_size > 2000
    pure = points_of(noise_chart(calibrated(count=2)))
    assert set(pure) == {"odds-chain", "chosen"}


def test_pictures_that_cannot_be_drawn_are_refused() -> None:
    with pytest.raises(QueryError, match="cannot be computed in advance"):
        noise_chart(calibrated(bdp.AnyMechanism(), delta=1e-6))
    with pytest.raises(InvalidInputError, match="beside earlier releases"):
        noise_chart(calibrated(delta=1e-6, spent=[(COUNT, 0.01)]))


def test_the_pictures_of_leakages_are_files(tmp_path: Path) -> None:
    for name, found in {
        "rho": leaked(SEVEN, COUNT, rho=0.01, delta=1e-3),
        "tau": leaked(ODDS, COUNT, tau=0.1, delta=1e-9),
    }.items():
        assert found.plot(tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidInputError, match=r"must end in .png"):
        found.plot(tmp_path / "picture.txt")
