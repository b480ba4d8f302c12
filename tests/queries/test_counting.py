"""Queries that count records by their values, in cells that do not overlap: counts and histograms."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars
import pytest

from bayesdp import Count, Histogram, Independent, Query, Session
from bayesdp._support.validation import Scalar
from bayesdp.errors import QueryError
from bayesdp.queries import Counting
from bayesdp.queries.counting import named_once


@dataclass(frozen=True)
class _Described(Counting):
    """Counts in cells that a test names."""

    @property
    def description(self) -> str:
        return "something strange"

    @classmethod
    def entries_for(cls, values: Sequence[Scalar]) -> dict[str, Any]:
        return {}


def test_cells_that_overlap_are_refused(registry: None, refused: Callable[[Query, str], None]) -> None:
    """A record in both would move the counts by more than the noise is for."""

    @dataclass(frozen=True)
    class Overlapping(_Described):
        kind: ClassVar[str] = "overlapping"
        by_cell: ClassVar[bool] = True

        def cells_asked(self) -> tuple[tuple[Scalar, ...], ...]:
            return (1, 2), (2, 3)

    refused(Overlapping("s"), "2 and 2 are the same value of 's'; name it once")


def test_cells_of_several_values_are_released_with_their_names(registry: None) -> None:
    @dataclass(frozen=True)
    class Pairs(_Described):
        kind: ClassVar[str] = "pairs"
        by_cell: ClassVar[bool] = True

        def cells_asked(self) -> tuple[tuple[Scalar, ...], ...]:
            return (1, 2), (3,)

    table = polars.DataFrame({"s": [1, 2, 3, 1]})
    with Session(table, Independent(), epsilon=1e6, dataset="d") as session:
        answer = session.release(Pairs("s"), epsilon=1e5)
    assert (answer.value, answer.shown()) == ((3, 1), "1 or 2: 3, 3: 1")
    assert Pairs("s").parts_sensitivity == 2


def test_a_state_adds_what_it_counts_for_above_the_least() -> None:
    assert Count("s", equals="a").state_values(["a", "b", "c"]) == (1, 0, 0)
    assert Count("s", isin=["a", "b"]).state_values(["a", "b"]) == (0, 0), "a count of everything tells nothing"
    assert Histogram("s", cells=["a", "b"]).sensitivity == 2 * Count("s", equals="a").sensitivity


@pytest.mark.parametrize("values", [[], (1, 1), (1, True), "ab", None])
def test_values_are_named_and_named_once(values: object) -> None:
    assert named_once("cells", ["1", 1, 2]) == ("1", 1, 2)
    with pytest.raises(QueryError, match="cells"):
        named_once("cells", values)


def test_a_histogram_has_sensitivity_two_or_one_for_one_cell() -> None:
    assert Histogram("s", cells=["a", "b"]).sensitivity == 2
    assert Histogram("s", cells=["a"]).sensitivity == 1
    assert Histogram("s", cells=["a", "b", "c"]).dimension == 3


def test_a_histogram_is_a_list_even_of_one_cell() -> None:
    query = Histogram("s", cells=["a"])
    assert query.assembled([-3], None, 10) == (-3,)
