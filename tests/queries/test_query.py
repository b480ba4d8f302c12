from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars
import pytest

from bayesdp import ArbitraryGroups, Count, Histogram, MarkovChain, Mean, Query, Session, Sum, leakage
from bayesdp.errors import QueryError
from bayesdp.queries import query_from_dict


class _Anything:
    def __getitem__(self, value: Any) -> Any:
        return value


ANYTHING = _Anything()
"""Hides a value's type from the type checker, for calls that are wrong on purpose."""

NUMPY_THREE: Any = np.int64(3)


@pytest.mark.parametrize(
    ("query", "metric"),
    [
        (Sum("x", bounds=(0, 1)), True),
        (Mean("x", bounds=(0, 1)), True),
        (Sum("x", bounds=(0, 1), where="position < 10", public_filter=True), True),
        (Sum("x", bounds=(0, 1), where="x > 0.5"), False),
        (Count("x", equals=1), False),
        (Histogram("x", cells=[1, 2]), False),
    ],
)
def test_only_unfiltered_or_publicly_filtered_sums_are_metric(query: Query, metric: bool) -> None:
    assert (query.not_metric is None) == metric
    assert (query.width is not None) == metric


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Count("s"), "equals=value or isin="),
        (lambda: Count("s", equals=1, isin=[1]), "equals=value or isin="),
        (lambda: Count("s", isin=[]), "isin is empty"),
        (lambda: Count("s", isin="abc"), "isin must be a list"),
        (lambda: Count("s", isin=[1, 1]), r"isin\[1\] is 1, a duplicate"),
        (lambda: Count("s", equals=float("nan")), "equals must be a finite number"),
        (lambda: Count("", equals=1), "column must be a non-empty text"),
        (lambda: Count("s", equals=1, public_filter=True), "there is none"),
        (lambda: Count("s", equals=ANYTHING[np.array([1, 2])]), "equals must be a text, a number"),
        (lambda: Count("s", equals=ANYTHING[np.int64]), "equals must be a text, a number"),
        (lambda: Count("s", equals=10**5000), "more than 300 digits"),
        (lambda: Count("s", isin=b"ab"), "isin must be a list"),
        (lambda: Count("s", equals=ANYTHING[["x" * 10**6]]), r"…$"),
        (lambda: Sum("x"), "bounds="),
        (lambda: Sum("x", bounds=(1, 0)), "low < high"),
        (lambda: Sum("x", bounds=(1, 1)), "low < high"),
        (lambda: Sum("x", bounds=(0, float("inf"))), r"bounds\[1\] must be a finite number, not inf"),
        (lambda: Sum("x", bounds=ANYTHING[0, 1, 2]), "pair"),
        (lambda: Sum("x", bounds=ANYTHING["0", 1]), r"bounds\[0\] must be a number"),
        (lambda: Mean("x", bounds=(0, 1), size=0), "size must be at least 1"),
        (lambda: Mean("x", bounds=(0, 1), where="x > 0"), "Sum and a Count"),
        (lambda: Histogram("s"), "cells is empty"),
        (lambda: Histogram("s", cells=["a", "a"]), "distinct"),
    ],
)
def test_ill_formed_queries_are_refused_with_the_reason(build: Any, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        build()


def test_queries_are_hashable_and_take_numpy_values() -> None:
    assert hash(Count("s", isin=np.array([1, 2]))) == hash(Count("s", isin=[1, 2]))
    assert Count("s", equals=NUMPY_THREE) == Count("s", equals=3)


def test_queries_describe_themselves() -> None:
    assert Count("active", equals=True).description == "the number of records with active = True"
    assert Count("steps > 0", equals=True).description == "the number of records with (steps > 0) = True"
    assert Count(isin=["a", "b"]).description == "the number of records in state 'a', 'b'"
    assert Sum("x", bounds=(0, 9), where="t > 1").description == "the sum of x, clipped to 0–9 where t > 1"
    asserted = Sum("x", bounds=(0, 9), where="t > 1", public_filter=True)
    assert asserted.description == "the sum of x, clipped to 0–9 where t > 1 (filter asserted public)"
    assert Histogram("s", cells=[1, 2]).description == "the histogram of s over 2 cells"
    assert Count("s", equals=False).to_dict() == {"query": "count", "column": "s", "equals": False}
    assert Sum("x", bounds=(0, 9)).to_dict() == {"query": "sum", "column": "x", "bounds": [0.0, 9.0]}


@pytest.mark.parametrize("name", ["kind", "sensitivity", "width", "__class__"])
def test_a_query_has_no_entries_but_its_fields(name: str) -> None:
    known = "by, by_cells, column, equals, isin, public_filter, since, until, where"
    with pytest.raises(QueryError, match=f'has no "{name}"; it takes {known}$'):
        query_from_dict({"query": "count", "equals": 1, name: "x"})


def test_an_entry_without_a_default_is_asked_for(registry: None) -> None:
    @dataclass(frozen=True)
    class Needy(Count):
        more: int = field(kw_only=True)

        kind: ClassVar[str] = "needy"

    assert query_from_dict({"query": "needy", "equals": 1, "more": 2}) == Needy(equals=1, more=2)
    with pytest.raises(QueryError, match='a needy needs "more"'):
        query_from_dict({"query": "needy", "equals": 1})


def test_kinds_are_registered_once() -> None:
    assert list(Query.kinds())[:4] == ["count", "sum", "mean", "histogram"]
    with pytest.raises(QueryError, match=r'there is a query of kind "count" already, bayesdp\.queries\.count\.Count'):

        class Other(Query):
            kind = "count"

    assert Query.kinds()["count"] is Count


@dataclass(frozen=True)
class _Strange(Query):
    """A question about which nothing is said but how it is called and how far it moves."""

    @property
    def sensitivity(self) -> float:
        return 1.0

    @property
    def description(self) -> str:
        return "something strange"


def test_a_query_that_does_not_say_how_it_is_computed_is_refused(
    registry: None, refused: Callable[[Query, str], None]
) -> None:
    @dataclass(frozen=True)
    class Strange(_Strange):
        kind: ClassVar[str] = "strange"

    refused(Strange("s"), "cannot compute something strange")
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], length=20)
    reasons = {each.theorem: each.reason for each in leakage(chain, Strange(), tau=1.0).assessments}
    assert reasons["markov-count"] == "the number that a state adds to a strange is unknown"


def test_a_query_without_a_kind_of_its_own_is_refused(refused: Callable[[Query, str], None]) -> None:
    @dataclass(frozen=True)
    class Twice(Count):
        def worth(self, amount: Fraction, records: int) -> Fraction:
            return 2 * amount

    refused(Twice("s", equals=1), 'Twice has no kind of its own, and would be taken for "count"')


@pytest.mark.parametrize("factor", [Fraction(1, 2), Fraction(0), Fraction(-1), Fraction(10) ** 300])
def test_a_query_that_cannot_be_assembled_is_refused_uncharged(
    registry: None, refused: Callable[[Query, str], None], factor: Fraction
) -> None:
    @dataclass(frozen=True)
    class Scaled(Count):
        kind: ClassVar[str] = "scaled"

        def worth(self, amount: Fraction, records: int) -> Fraction:
            return factor * amount

    refused(Scaled("s", equals=1), "value must be whole|each worth something|largest floating-point number")


def test_an_answer_is_not_made_with_a_private_number_of_records(registry: None) -> None:
    """Three of four records pass the filter; the query gets the count of all four."""
    reported = []

    @dataclass(frozen=True)
    class Curious(Count):
        kind: ClassVar[str] = "curious"

        def worth(self, amount: Fraction, records: int) -> Fraction:
            reported.append(records)
            return amount

    table = polars.DataFrame({"s": [1, 2, 3, 1]})
    with Session(table, ArbitraryGroups(2), epsilon=1.0, dataset="d") as session:
        assert session.release(Curious("s", equals=1, where="s < 3"), epsilon=0.5).records == 4
    assert set(reported) - {1} == {4}
