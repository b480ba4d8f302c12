import math
from fractions import Fraction
from inspect import signature
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opendp.measurements import make_randomized_response_bool
from opendp.mod import enable_features
from scipy import stats

from bayesdp.accuracy import RandomizedResponse
from bayesdp.errors import InvalidInputError
from bayesdp.mechanisms import RandomizedResponseMechanism

SIGNIFICANCE = 1e-9


def e_to_the(tau: float) -> Fraction:
    """A lower bound on e^τ by its series, whose terms are positive: off by less than a relative 1e-40."""
    x, term, total = Fraction(tau), Fraction(1), Fraction(1)
    for k in range(1, 60 + 8 * math.ceil(tau)):
        term *= x / k
        total += term
    return total


@given(st.one_of(st.floats(1e-15, 1), st.floats(1, 25), st.sampled_from([math.log(3), 2**-51, 1e-10, 0.1])))
def test_it_is_at_most_tau_private_and_no_float_does_better(tau: float) -> None:
    flip = RandomizedResponseMechanism(tau).flip_probability
    odds = e_to_the(tau)
    assert (1 - flip) / flip <= odds
    smaller = Fraction(math.nextafter(float(flip), 0))
    assert (1 - smaller) / smaller > odds


def test_the_flips_of_a_huge_tau_are_those_of_700() -> None:
    mechanism = RandomizedResponseMechanism(1e308)
    assert mechanism.flip_probability == RandomizedResponseMechanism(700).flip_probability > 0
    assert mechanism.release([True, False]).tolist() == [True, False]


@pytest.mark.parametrize("tau", [0.01, math.log(3), 1.0, 5.0, 20.0])
def test_opendp_agrees_about_tau(tau: float) -> None:
    enable_features("contrib")
    boolean: Any = make_randomized_response_bool(1 - float(RandomizedResponseMechanism(tau).flip_probability))
    assert boolean.map(1) == pytest.approx(tau, rel=1e-6)


@pytest.mark.parametrize("tau", [0, -1.0, math.nan, math.inf, True, "1", None])
def test_a_tau_that_is_none_is_refused(tau: Any) -> None:
    with pytest.raises(InvalidInputError, match="tau"):
        RandomizedResponseMechanism(tau)


@pytest.mark.parametrize("tau", [2**-52, 1e-17, 5e-324])
def test_a_tau_that_leaves_nothing_is_refused(tau: float) -> None:
    with pytest.raises(InvalidInputError, match="choose a larger tau"):
        RandomizedResponseMechanism(tau)


@pytest.mark.parametrize("tau", [0.05, 1.0, 4.0])
@pytest.mark.parametrize("bit", [False, True])
def test_bits_are_flipped_as_often_as_it_says(tau: float, bit: bool) -> None:
    draws = 300_000
    mechanism = RandomizedResponseMechanism(tau)
    released = mechanism.release(np.full(draws, bit))
    assert released.dtype == np.bool_
    flipped = int((released != bit).sum())
    assert stats.binomtest(flipped, draws, float(mechanism.flip_probability)).pvalue > SIGNIFICANCE


@pytest.mark.parametrize("size", [1, 7, 8, 9, 17])
def test_every_position_is_flipped_by_itself(size: int) -> None:
    """Sizes around the bytes that bits are packed into: no position is forgotten, none is moved."""
    draws = 500
    mechanism = RandomizedResponseMechanism(1.0)
    bits = np.arange(size) % 3 == 0
    flips = np.array([mechanism.release(bits) ^ bits for _ in range(draws)])
    for count in flips.sum(axis=0):
        assert stats.binomtest(int(count), draws, float(mechanism.flip_probability)).pvalue > SIGNIFICANCE
    if size > 1:
        together = int((flips[:, 0] & flips[:, -1]).sum())
        assert stats.binomtest(together, draws, float(mechanism.flip_probability) ** 2).pvalue > SIGNIFICANCE


@given(st.lists(st.booleans(), min_size=1, max_size=70))
def test_a_large_tau_returns_the_bits_in_their_places(bits: list[bool]) -> None:
    assert RandomizedResponseMechanism(200).release(bits).tolist() == bits


def test_a_million_records_go_in_one_call() -> None:
    assert RandomizedResponseMechanism(1.0).release(np.zeros(1_000_000, dtype=bool)).shape == (1_000_000,)


def test_no_records_no_bits() -> None:
    assert RandomizedResponseMechanism(1.0).release(np.zeros(0, dtype=bool)).shape == (0,)


@pytest.mark.parametrize("bits", [[0, 1], [1.0], [[True]], True, [None, True], "10", []])
def test_anything_but_bits_is_refused(bits: Any) -> None:
    with pytest.raises(InvalidInputError, match="bits must be a list of True and False"):
        RandomizedResponseMechanism(1.0).release(bits)


def test_no_seed_can_be_set() -> None:
    assert list(signature(RandomizedResponseMechanism).parameters) == ["tau"]
    assert list(signature(RandomizedResponseMechanism.release).parameters) == ["self", "bits"]
    mechanism, bits = RandomizedResponseMechanism(0.1), np.zeros(256, dtype=bool)
    assert (mechanism.release(bits) != mechanism.release(bits)).any()


def test_the_estimated_count_is_as_accurate_as_its_law() -> None:
    mechanism = RandomizedResponseMechanism(1.0)
    flip = float(mechanism.flip_probability)
    reported = int(mechanism.release(np.arange(1000) < 400).sum())
    estimate = (reported - 1000 * flip) / (1 - 2 * flip)
    assert abs(estimate - 400) < RandomizedResponse(flip, 1000, 400).alpha(SIGNIFICANCE)


BITS = [True, False, False, True, True]


@pytest.mark.parametrize("dtype", ["bool", "boolean", "bool[pyarrow]"])
def test_a_pandas_column_comes_back_with_its_index(dtype: str) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"s": pd.array(BITS, dtype=dtype)}, index=[5, 4, 3, 2, 2])
    column = RandomizedResponseMechanism(200).release_column(frame, "s")
    assert isinstance(column, pd.Series)
    assert column.name == "s"
    assert column.index.tolist() == [5, 4, 3, 2, 2]
    assert column.tolist() == BITS


def test_a_polars_column_comes_back() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"s": BITS, "other": range(5)})
    column = RandomizedResponseMechanism(200).release_column(frame, "s")
    assert isinstance(column, pl.Series)
    assert column.name == "s"
    assert column.to_list() == BITS


def test_a_pyarrow_column_comes_back() -> None:
    pa = pytest.importorskip("pyarrow")
    column = RandomizedResponseMechanism(200).release_column(pa.table({"s": BITS}), "s")
    assert isinstance(column, pa.ChunkedArray)
    assert column.to_pylist() == BITS


def test_a_released_column_is_randomized() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"s": [True] * 10_000})
    flipped = 10_000 - RandomizedResponseMechanism(1.0).release_column(frame, "s").sum()
    assert stats.binomtest(flipped, 10_000, 1 / (1 + math.e)).pvalue > SIGNIFICANCE
    assert frame["s"].all()


def lazy_frames() -> dict[str, Any]:
    pl = pytest.importorskip("polars")
    return {
        "polars": lambda: pl.LazyFrame({"s": BITS}),
        "duckdb": lambda: pytest.importorskip("duckdb").sql("select true as s"),
        "dask": lambda: pytest.importorskip("dask.dataframe").from_dict({"s": BITS}, npartitions=1),
        "ibis": lambda: pytest.importorskip("ibis").memtable(pl.DataFrame({"s": BITS})),
    }


@pytest.mark.parametrize("engine", ["polars", "duckdb", "dask", "ibis"])
def test_lazy_frames_are_refused_with_the_reason(engine: str) -> None:
    frame = lazy_frames()[engine]()
    with pytest.raises(InvalidInputError, match=f"lazy \\({engine}\\).*drawn once for each record.*collect"):
        RandomizedResponseMechanism(1.0).release_column(frame, "s")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"other": BITS}, "no column 's'"),
        ({"s": [1, 0, 1]}, "must hold truth values, not Int64"),
        ({"s": ["yes", "no"]}, "must hold truth values, not String"),
        ({"s": [True, None, False]}, "missing values"),
    ],
)
def test_columns_that_are_not_bits_are_refused(columns: dict[str, Any], message: str) -> None:
    pl = pytest.importorskip("polars")
    with pytest.raises(InvalidInputError, match=message):
        RandomizedResponseMechanism(1.0).release_column(pl.DataFrame(columns), "s")


@pytest.mark.parametrize("frame", [None, [True, False], {"s": BITS}, 3])
def test_what_is_no_frame_is_refused(frame: Any) -> None:
    with pytest.raises(InvalidInputError, match="must be a data frame"):
        RandomizedResponseMechanism(1.0).release_column(frame, "s")
