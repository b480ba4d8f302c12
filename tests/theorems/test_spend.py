import pickle
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

from bayesdp import ArbitraryGroups, Count, leakage
from bayesdp.errors import InvalidInputError
from bayesdp.losses import PureLoss
from bayesdp.theorems.spend import Release, as_spend, exact_total, queries_of, spend_with, total_tau

COUNT = Count(equals=1)


def test_a_query_and_its_tau_are_a_spend() -> None:
    assert as_spend(COUNT, 0.5) == (Release(COUNT, PureLoss(0.5)),)
    assert total_tau(as_spend([(COUNT, 0.1)] * 10)) >= 1


@dataclass(frozen=True)
class TiltedLoss(PureLoss):
    """Not τ-DP, though it inherits from what is."""

    delta: float = 0.1

    kind = "tilted privacy (tau, delta)"


def test_a_release_with_a_pure_loss_is_a_query_and_its_tau() -> None:
    release = Release(COUNT, 0.5)
    query, tau = release
    assert (query, tau, release.loss, release.pure) == (COUNT, 0.5, PureLoss(0.5), True)
    assert release == Release(COUNT, PureLoss(0.5)) == pickle.loads(pickle.dumps(release))
    assert as_spend([release, (COUNT, PureLoss(0.5)), (COUNT, 0.5)]) == (release,) * 3
    assert spend_with((release,), [COUNT, COUNT], 0.25) == as_spend([(COUNT, 0.5), (COUNT, 0.25), (COUNT, 0.25)])
    assert exact_total(as_spend([(COUNT, 0.1), (COUNT, 0.2)])) == Fraction(0.1) + Fraction(0.2)


def test_a_release_with_another_loss_has_no_tau() -> None:
    spend = as_spend([(COUNT, TiltedLoss(0.5))])
    assert queries_of(spend) == (COUNT,)
    for look in (lambda: spend[0].tau, lambda: tuple(spend[0]), lambda: total_tau(spend), lambda: exact_total(spend)):
        with pytest.raises(InvalidInputError, match=r"has no tau: only pure .* not tilted privacy"):
            look()


@pytest.mark.parametrize(
    ("releases", "tau", "message"),
    [
        (COUNT, None, "tau="),
        (COUNT, 0, "tau must be greater than 0, not 0"),
        (COUNT, -1, "tau must be greater than 0"),
        (COUNT, float("nan"), "tau must be a finite number"),
        (COUNT, float("inf"), "tau must be a finite number"),
        (COUNT, "1", "tau must be a number, not '1'"),
        (COUNT, True, "tau must be a number"),
        ([], None, "nothing is released"),
        ([(COUNT, 1.0)], 1.0, "without tau="),
        ([(COUNT, PureLoss(0.0))], None, "tau must be greater than 0"),
        ([COUNT], None, "release 0 must be a pair"),
        ([(1.0, COUNT)], None, "release 0 must begin with a query"),
        ("count", None, "expected a query"),
        (3, None, "expected a query"),
    ],
)
def test_bad_spends_are_refused(releases: Any, tau: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        leakage(ArbitraryGroups(2), releases, tau=tau)
