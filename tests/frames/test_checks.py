"""What diagnoses count in a table: against plain Python, and without quoting a record."""

import datetime as dt
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import polars
import polars as pl
import pytest

from bayesdp import GaussianGroups, MarkovChain
from bayesdp.diagnostics import Diagnosis
from bayesdp.errors import FrameError
from bayesdp.frames import checks
from bayesdp.frames.groups import group_moments
from bayesdp.models.layout import GroupLayout


def test_states_before_missing_values_or_rows_are_counted() -> None:
    """The finding "missing at random", against a contingency table counted in plain Python."""
    stats = pytest.importorskip("scipy.stats")
    draw = random.Random(5)
    states: list[int | None] = [0]
    times = [0]
    for _ in range(12_000):
        absent = draw.random() < (0.25 if states[-1] else 0.1)
        states.append(None if draw.random() < 0.05 else int(draw.random() < 0.4))
        times.append(times[-1] + (2 if absent else 1))
    rows = list(zip(times, states, strict=True))
    gaps, follow = Counter[int](), Counter[int]()
    for (then, before), (now, state) in pairwise(rows):
        if before is not None:
            (gaps if state is None or now > then + 1 else follow)[before] += 1
    table = [[gaps[0], gaps[1]], [follow[0], follow[1]]]
    frame = polars.DataFrame({"t": times, "s": states}).sample(fraction=1, shuffle=True, seed=1)
    diagnosis = MarkovChain.fit(frame, state="s", order_by="t", step=1, missing="drop").diagnosis
    assert diagnosis is not None
    finding = next(each for each in diagnosis.findings if each.name == "missing at random")
    expected = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
    assert finding.values["statistic"] == pytest.approx(expected.statistic)
    assert finding.verdict == "violated"


def test_refusals_do_not_quote_what_a_model_does_not_know() -> None:
    chain = MarkovChain.fit(pl.DataFrame({"a": list("xyxxy"), "k": range(5)}), state="a", order_by="k")
    with pytest.raises(FrameError, match="the table holds a value of 'a' that is not a state of the model") as refused:
        chain.diagnose(pl.DataFrame({"a": ["x", "y", "secret-4711"], "k": [1, 2, 3]}))
    assert "4711" not in str(refused.value)
    far = pl.DataFrame({"v": [4.711e307, -1.7e308], "g": [1, 1]})
    with pytest.raises(FrameError, match="the values of column 'v' of the table are too far apart") as refused:
        group_moments(far, GroupLayout("v", "g"))
    assert "4.711" not in str(refused.value)


def test_a_diagnosis_names_the_table_but_not_where_it_lies(tmp_path: Path) -> None:
    path = tmp_path / "secret folder" / "steps.csv"
    path.parent.mkdir()
    frame = polars.DataFrame({"k": range(40), "a": [(k * k // 3) % 2 for k in range(40)]})
    frame.write_csv(path)
    diagnosis = MarkovChain.fit(path, state="a", order_by="k").diagnosis
    assert diagnosis is not None
    assert (diagnosis.table_name, diagnosis.rows) == ("steps.csv", 40)
    assert "secret" not in diagnosis.to_json()
    dt.date.fromisoformat(diagnosis.date)


@pytest.mark.parametrize("name", ["MOST_TRIPLES", "MOST_AT_ONCE"])
def test_many_states_are_counted_differently_with_equal_results(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond so many states triples are not counted, and clocks one by one; pairs and clocks are what they were."""
    draw = random.Random(3)
    moments = [dt.datetime(2024, 1, 1) + dt.timedelta(hours=k) for k in range(600)]
    frame = polars.DataFrame({"t": moments, "s": [draw.choice("abc") for _ in moments]})
    chain = MarkovChain.fit(frame, state="s", order_by="t", step="1h", diagnose=False)
    before = {finding.name: finding for finding in chain.diagnose(frame).findings}
    monkeypatch.setattr(checks, name, 2)
    after = {finding.name: finding for finding in chain.diagnose(frame).findings}
    changed = {finding for finding in before | after if before.get(finding) != after.get(finding)}
    assert changed == ({"order"} if name == "MOST_TRIPLES" else set())


def verdicts(diagnosis: Diagnosis) -> dict[str, str]:
    return {finding.name: finding.verdict for finding in diagnosis.findings}


def test_only_the_first_groups_are_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Odd values in the last groups are not looked at, and the diagnosis says what it takes on trust."""
    draw = random.Random(4)
    rows = [(group, member, draw.gauss(0, 1)) for group in range(400) for member in "ab"]
    odd = [(group, member, value + 40 * (group >= 350)) for group, member, value in rows]
    tables = [polars.DataFrame(each, schema=["g", "r", "v"], orient="row") for each in (rows, odd)]
    monkeypatch.setattr(checks, "MOST_GROUPS", 350)
    groups = GaussianGroups(correlation=0.9, size=2)
    regular, irregular = (groups.diagnose(table, value="v", group="g", role="r") for table in tables)
    assert (regular.records, regular.rows) == (irregular.records, irregular.rows) == (700, 800)
    assert "The groups outside the sample are like those in it." in regular.trusted
    monkeypatch.setattr(checks, "MOST_GROUPS", 400)
    everything = groups.diagnose(tables[1], value="v", group="g", role="r")
    assert verdicts(regular) == verdicts(irregular)
    assert "violated" not in verdicts(irregular).values()
    assert verdicts(everything)["normal groups"] == "violated"
