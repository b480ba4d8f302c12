from typing import Any

import pytest

from bayesdp import ArbitraryGroups, Count, leakage
from bayesdp.errors import InvalidInputError
from bayesdp.theorems.spend import as_spend, total_tau

COUNT = Count(equals=1)


def test_a_query_and_its_tau_are_a_spend() -> None:
    assert as_spend(COUNT, 0.5) == ((COUNT, 0.5),)
    assert total_tau(as_spend([(COUNT, 0.1)] * 10)) >= 1


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
        ([COUNT], None, "release 0 must be a pair"),
        ([(1.0, COUNT)], None, "release 0 must begin with a query"),
        ("count", None, "expected a query"),
        (3, None, "expected a query"),
    ],
)
def test_bad_spends_are_refused(releases: Any, tau: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        leakage(ArbitraryGroups(2), releases, tau=tau)
