"""What every theorem is asked through: objections come before bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import pytest

from bayesdp import AnyOf, ArbitraryGroups, Independent, Model, register
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.calibration.prior_art import PRIOR_ART
from bayesdp.errors import DoesNotApplyError, InvalidInputError, TheoremError
from bayesdp.models.view import TableView
from bayesdp.queries import Count, Query
from bayesdp.theorems.spend import Release, Spend, as_spend
from bayesdp.theorems.theorem import Theorem

COUNT = Count(equals=1)


@dataclass(frozen=True, kw_only=True)
class Hour(Model):
    """A model that protects an hour at once."""

    group_size: ClassVar[int] = 24
    assumption: ClassVar[str] = "hours matter"
    protects: ClassVar[str] = "an hour"
    protects_several: ClassVar[bool] = True

    def check_table(self, table: TableView, subject: str | None = None) -> Self:
        return self

    def _content(self) -> dict[str, Any]:
        return {}


class Careless(Theorem):
    """A theorem that never thought of larger units and refuses nothing."""

    name: ClassVar[str] = "careless"
    proof: ClassVar[str] = "none"

    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        return None

    def bound(self, model: Model, spend: Spend) -> float:
        return 0.0


def test_a_theorem_about_one_record_is_not_asked_about_several() -> None:
    reason = "it protects one record only, not an hour"
    for use in (
        lambda: Careless().epsilon(Hour(), as_spend(COUNT, 1.0)),
        lambda: Careless().epsilons_under([Hour()], as_spend(COUNT, 1.0)),
        lambda: largest_taus(Careless(), Hour(), COUNT, [1.0]),
    ):
        with pytest.raises(DoesNotApplyError, match=reason):
            use()
    assert Careless().epsilon(Independent(), as_spend(COUNT, 1.0)) == 0.0


def test_published_methods_are_about_one_record() -> None:
    for method in PRIOR_ART:
        with pytest.raises(DoesNotApplyError, match="not an hour"):
            method.results(Hour(), COUNT, [1.0], 0.05)


def test_models_of_any_of_protect_the_same() -> None:
    with pytest.raises(ValueError, match="protect different things: one record, not"):
        AnyOf(Independent(), Hour())
    assert AnyOf(Hour(), Hour()).protects_several
    assert AnyOf(Independent(record="meter"), Independent()).protects == "one meter, not the person behind several"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
def test_a_theorem_that_returns_nonsense_is_not_believed(value: float) -> None:
    class Broken(Careless):
        def bound(self, model: Model, spend: Spend) -> float:
            return value

    with pytest.raises(TheoremError, match="not a leakage"):
        Broken().epsilon(ArbitraryGroups(2), as_spend(COUNT, 1.0))


def test_a_theorem_that_breaks_its_interface_is_not_believed() -> None:
    class Silent(Careless):
        def bounds(self, model: Model, spends: Any) -> Any:
            return []

    class Nothing(Careless):
        def bounds(self, model: Model, spends: Any) -> Any:
            return [None]

    class Nameless(Careless):
        name = None  # type: ignore[assignment]

    for broken in (Silent(), Nothing()):
        with pytest.raises(TheoremError):
            broken.epsilon(ArbitraryGroups(2), as_spend(COUNT, 1.0))
    with pytest.raises(InvalidInputError, match="needs a name"):
        register(Nameless())


def test_a_theorem_returns_no_number_where_it_does_not_apply() -> None:
    class Pairs(Careless):
        name: ClassVar[str] = "pairs"

        def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
            return None if model.group_size == 2 else "it is about pairs"

    assert Pairs().epsilon(ArbitraryGroups(2), (Release(COUNT, 1.0),)) == 0
    with pytest.raises(DoesNotApplyError, match="pairs does not apply: it is about pairs"):
        Pairs().epsilon(Independent(), (Release(COUNT, 1.0),))
