import math
from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from bayesdp.errors import InvalidInputError
from bayesdp.experiments import twins
from bayesdp.experiments.twins import ACTIVITY_TRIPLES, order_statistic


def transitions(states: Sequence[bool | None]) -> list[list[int]]:
    counts = [[0, 0], [0, 0]]
    for i in range(1, len(states)):
        before, after = states[i - 1], states[i]
        if before is not None and after is not None:
            counts[int(before)][int(after)] += 1
    return counts


def active(frame: pl.DataFrame) -> list[bool | None]:
    return [None if steps is None else steps > 0 for steps in frame["steps"]]


def test_activity_has_the_counts_of_the_file() -> None:
    frame = twins.activity()
    states = active(frame)
    assert transitions(states) == [[9713, 1295], [1295, 2955]]
    assert len(states) == 17568
    assert sum(state is not None for state in states) == twins.ACTIVITY_RECORDS == 15264
    assert sum(state is True for state in states) == 4250


def test_activity_has_the_days_and_intervals_of_the_file() -> None:
    frame = twins.activity()
    assert frame.schema == {"steps": pl.Int64, "date": pl.Date, "interval": pl.Int64}
    assert frame.sort("date", "interval").equals(frame)
    assert frame["date"].unique(maintain_order=True).to_list() == [date(2012, 10, 1) + timedelta(i) for i in range(61)]
    by_day = frame.group_by("date", maintain_order=True).agg("interval", pl.col("steps").null_count())
    assert {tuple(intervals) for intervals in by_day["interval"]} == {
        tuple(100 * (i // 12) + 5 * (i % 12) for i in range(288))
    }
    missing = {day: nulls for day, _, nulls in by_day.iter_rows() if nulls}
    assert list(missing.values()) == [288] * 8
    assert " ".join(f"{day:%m-%d}" for day in missing) == "10-01 10-08 11-01 11-04 11-09 11-10 11-14 11-30"


def test_no_day_of_activity_is_without_an_active_interval() -> None:
    days = twins.activity().drop_nulls().group_by("date").agg((pl.col("steps") > 0).sum())
    assert days.height == 53
    assert 20 < days["steps"].min() <= days["steps"].max() < 200  # type: ignore[operator]


@pytest.mark.parametrize(
    ("threshold", "counts", "high"),
    [(70, [[69, 86], [86, 489]], 576), (80, [[401, 89], [89, 151]], 241), (90, [[533, 63], [64, 70]], 134)],
)
def test_electricity_has_the_counts_of_the_paper(threshold: int, counts: list[list[int]], high: int) -> None:
    frame = twins.electricity(threshold)
    assert frame.schema == {"day": pl.Date, "kwh": pl.Float64, "high": pl.Boolean}
    states = frame["high"].to_list()
    assert transitions(states) == counts
    assert (len(states), sum(states)) == (731, high)
    assert states == [kwh > threshold for kwh in frame["kwh"]]
    assert frame["kwh"].min() > 0  # type: ignore[operator]
    assert frame["day"].to_list() == [date(2012, 4, 1) + timedelta(i) for i in range(731)]


def test_electricity_knows_three_thresholds() -> None:
    with pytest.raises(InvalidInputError, match="70, 80 or 90 kWh, not 75"):
        twins.electricity(75)


def test_galton_has_the_published_moments() -> None:
    frame = twins.galton()
    assert frame.columns == ["family", "father", "mother", "sex", "height"]
    values = frame.select("father", "mother", "height").to_numpy()
    assert values.shape == (898, 3)
    assert values.mean(axis=0) == pytest.approx([69.23, 64.08, 66.76], rel=1e-12)
    assert values.var(axis=0, ddof=1) == pytest.approx([6.10, 5.32, 12.84], rel=1e-12)
    correlations = np.corrcoef(values.T)
    assert correlations[2, 0] == pytest.approx(0.2754, rel=1e-11)
    assert correlations[2, 1] == pytest.approx(0.2017, rel=1e-11)
    assert correlations[0, 1] == pytest.approx(0.0737, rel=1e-11)


def test_galton_has_families_that_share_their_parents() -> None:
    frame = twins.galton()
    assert frame.schema["family"] == pl.String
    assert frame["family"].n_unique() == 197
    assert frame.select("family", "father", "mother").n_unique() == 197
    assert frame["height"].n_unique() == 898
    assert Counter(frame["sex"]) == {"M": 465, "F": 433}


def test_family_iq_has_the_published_moments() -> None:
    frame = twins.family_iq()
    assert frame.columns == ["kid_score", "mom_iq"]
    values = frame.to_numpy()
    assert values.shape == (434, 2)
    assert values.mean(axis=0) == pytest.approx([86.80, 100.00], rel=1e-12)
    assert values.std(axis=0, ddof=1) == pytest.approx([20.41, 15.00], rel=1e-12)
    assert np.corrcoef(values.T)[0, 1] == pytest.approx(0.4483, rel=1e-11)


def test_synthetic_iq_is_drawn_from_its_law() -> None:
    values = twins.synthetic_iq().to_numpy()
    assert values.shape == (10_000, 2)
    assert values.mean(axis=0) == pytest.approx([100, 100], abs=4 * 15 / 100)
    assert values.std(axis=0) == pytest.approx([15, 15], abs=4 * 15 / 141)
    assert np.corrcoef(values.T)[0, 1] == pytest.approx(0.45, abs=4 * (1 - 0.45**2) / 100)


def test_twins_stay_the_same() -> None:
    assert_frame_equal(twins.activity(), twins.activity())
    assert_frame_equal(twins.galton(), twins.galton(), check_exact=True)
    assert twins.activity()["steps"].sum() == 534964
    assert twins.electricity(80)["kwh"].head(3).to_list() == pytest.approx([92.004, 102.552, 95.44])
    assert twins.galton()["height"].head(3).to_list() == pytest.approx([69.742666, 67.05169, 66.58866], abs=1e-5)


def test_the_order_statistic_is_that_of_a_table_of_counts() -> None:
    independent = [[[60, 40], [30, 70]], [[30, 20], [15, 35]]]
    assert order_statistic(independent) == pytest.approx(0, abs=1e-12)
    table = np.array(ACTIVITY_TRIPLES, dtype=float)
    by_hand = 2 * sum(
        count * math.log(count * table[:, now].sum() / (table[before, now].sum() * table[:, now, then].sum()))
        for (before, now, then), count in np.ndenumerate(table)
    )
    assert order_statistic(ACTIVITY_TRIPLES) == pytest.approx(by_hand)
