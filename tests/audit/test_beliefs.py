import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.audit.beliefs import posterior
from bayesdp.errors import InvalidInputError, NoTheoremAppliesError

ACTIVITY = bdp.MarkovChain.from_counts([[9713, 1295], [1295, 2955]], length=15264)
COUNT = bdp.Count(equals=1)


def test_plain_dp_breaks_its_promise_and_calibration_keeps_it() -> None:
    reported = bdp.audit.belief(ACTIVITY, COUNT, epsilon=1.0)
    assert reported.plain.tau == reported.promise == 1.0
    assert reported.plain.posterior == pytest.approx(1 / (1 + math.exp(-bdp.leakage(ACTIVITY, COUNT, tau=1.0).epsilon)))
    assert reported.calibrated.tau == bdp.calibrate(ACTIVITY, COUNT, epsilon=1.0).tau
    assert reported.calibrated.posterior <= 1 / (1 + math.exp(-1)) + 1e-12 < reported.plain.posterior


def test_the_promise_may_be_named_by_tau() -> None:
    assert bdp.audit.belief(ACTIVITY, COUNT, tau=0.5) == bdp.audit.belief(ACTIVITY, COUNT, epsilon=0.5)


def test_without_correlation_both_are_the_same() -> None:
    reported = bdp.audit.belief(bdp.Independent(), COUNT, epsilon=1.0)
    assert reported.plain == reported.calibrated


@given(st.floats(0, 50), st.floats(0.001, 0.999))
def test_odds_change_by_the_factor_that_leaks(epsilon: float, prior: float) -> None:
    after = posterior(epsilon, prior)
    assert prior <= after <= 1
    if after < 1 - 1e-9:
        assert math.log(after / (1 - after)) - math.log(prior / (1 - prior)) == pytest.approx(epsilon, abs=1e-6)


def test_what_is_attained_is_asked_for() -> None:
    reported = bdp.audit.belief(ACTIVITY, COUNT, epsilon=1.0, attained=True)
    for release in (reported.plain, reported.calibrated):
        assert release.attained is not None
        assert release.attained == pytest.approx(release.posterior, abs=1e-6)
        assert release.to_dict()["attained"] == release.attained <= release.posterior
    assert "attained" not in bdp.audit.belief(ACTIVITY, COUNT, epsilon=1.0).plain.to_dict()


def test_it_is_a_document() -> None:
    reported = bdp.audit.belief(bdp.ArbitraryGroups(2), COUNT, epsilon=1.0, prior=0.2)
    document = reported.to_dict()
    assert (document["kind"], document["schema"], document["plain"]["prior"]) == ("beliefs", 1, 0.2)
    assert reported.plain.odds[1] / reported.plain.odds[0] == pytest.approx(math.e**2)
    assert "20 : 80 becomes at most" in str(reported)


def test_refusals() -> None:
    with pytest.raises(InvalidInputError, match="either tau= "):
        bdp.audit.belief(ACTIVITY, COUNT)
    with pytest.raises(InvalidInputError, match="either tau= "):
        bdp.audit.belief(ACTIVITY, COUNT, tau=1.0, epsilon=1.0)
    with pytest.raises(InvalidInputError, match="tau must be"):
        bdp.audit.belief(ACTIVITY, COUNT, tau=-1.0)
    with pytest.raises(InvalidInputError, match="prior must lie"):
        bdp.audit.belief(ACTIVITY, COUNT, epsilon=1.0, prior=1.0)
    with pytest.raises(NoTheoremAppliesError):
        bdp.audit.belief(bdp.MarkovChain([[0, 1], [1, 0]]), COUNT, epsilon=1.0)
