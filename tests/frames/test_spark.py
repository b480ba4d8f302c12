"""Spark on executors in processes of their own: the same integers, no records on the driver, lost executors."""

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bayesdp as bdp
from bayesdp import Count, Histogram, Independent, OddsChain, Quantile, Session, Sum
from bayesdp.errors import FrameError, InvalidInputError
from bayesdp.frames import partitioned_chains
from bayesdp.frames.aggregates import tally
from bayesdp.frames.groups import group_moments
from bayesdp.frames.series import series_moments
from bayesdp.frames.spark import spark_table
from bayesdp.frames.transitions import Sequences, transitions
from bayesdp.ledger import Ledger
from bayesdp.models.layout import ChainLayout, GroupLayout

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # PySpark leaves them to Python
]

ROWS = 200_000
CHAIN = ChainLayout("t", step=1)
SURELY = 80.0
"""An ε at which noise is zero, but for once in e⁸⁰ times: the answer is the exact count."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of Parquet files, rows in no order: one long chain, or a thousand, and as many groups."""
    draw = np.random.default_rng(1)  # any seed will do
    states = draw.integers(0, 3, ROWS)
    table = pl.DataFrame({"t": range(ROWS), "s": np.where(draw.random(ROWS) < 0.2, np.roll(states, 1), states)}).select(
        "t",
        "s",
        who=pl.col("t") // 200,
        w=pl.when(pl.col("t") * 31 % 11 < 5).then(pl.lit("a")).otherwise(pl.lit("b")),
        x=((pl.col("t") * 104729) % 1009 + (pl.col("t") // 4 * 7) % 97) / 16,
        family=pl.col("t") // 4,
        filler=pl.col("t").hash(1).cast(pl.String) + pl.col("t").hash(2).cast(pl.String),
    )
    table = table.filter(pl.col("t") % 997 != 500).sample(fraction=1.0, shuffle=True, seed=3)
    folder = tmp_path_factory.mktemp("records")
    for part in range(4):
        table[part::4].write_parquet(folder / f"{part}.parquet")
    return folder


@pytest.fixture(scope="module")
def frame(cluster: Any, path: Path) -> Any:
    return cluster.read.parquet(str(path))


def test_the_same_integers_as_polars(frame: Any, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitioned_chains, "FEWEST", 10_000)
    queries = [
        Count("s", equals=1, where="x > 20"),
        Sum("x", bounds=(0, 50)),
        Histogram("s", cells=[0, 1, 2]),
        Quantile("x", at=0.25, candidates=range(0, 60, 5)),
    ]
    assert tally(frame, queries) == tally(str(path), queries)
    for layout in (CHAIN, ChainLayout("t", "who", step=1)):
        asked: dict[str, Any] = {"memory": 2, "within": ["w"]}
        assert transitions(frame, "s", layout, **asked) == transitions(str(path), "s", layout, **asked)
    assert series_moments(frame, "x", CHAIN, 2) == series_moments(str(path), "x", CHAIN, 2)
    groups = GroupLayout("x", ["family"])
    assert group_moments(frame, groups) == group_moments(str(path), groups)


def test_a_long_chain_is_not_one_partition(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitioned_chains, "FEWEST", 10_000)
    chains = Sequences.of(frame, "s", CHAIN)
    related = chains.related(chains.along.frame, {"p": chains.before("s")}).to_native()
    plan = related._jdf.queryExecution().executedPlan().toString()
    assert "Window" in plan
    assert "hashpartitioning(segment" in plan
    assert "SinglePartition" not in plan
    sizes = [count for _, count in chains.along.frame.to_native().groupBy("segment").count().collect()]
    assert len(sizes) > 8
    assert max(sizes) < ROWS / 4
    assert sum(sizes) < 1.3 * ROWS  # the overlaps


def test_no_records_on_the_driver(cluster: Any, frame: Any) -> None:
    """What the driver may fetch is set to a megabyte: less than the records, and enough for everything we ask."""
    assert cluster.conf.get("spark.driver.maxResultSize") == "1m"
    with pytest.raises(Exception, match="maxResultSize"):
        frame.collect()


@pytest.mark.usefixtures("seeded_noise")
def test_a_session_fits_and_releases(frame: Any, tmp_path: Path) -> None:
    exact = tally(frame, [Count("s", equals=1)])[0]
    chain = OddsChain(50, column="s", states=(0, 1, 2)).located(order_by=["t"], entity=["who"])
    reported: dict[str, Any] = {"ledger": tmp_path / "budget.db", "dataset": "walks", "public": ["w"]}
    with Session(frame, chain, epsilon=4 * SURELY * 50, **reported) as session:
        learnt = session.fit(tau=1.0, within={"w": ["a", "b"]})
        assert isinstance(learnt.model, OddsChain)
        assert 1 <= learnt.model.odds < 50
        value = session.release(Count(equals=1), epsilon=SURELY).value
        assert isinstance(value, int)
        assert abs(value - exact.counts[0]) < 100


def test_diagnosis_and_advice(frame: Any, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitioned_chains, "FEWEST", 10_000)
    given: dict[str, Any] = {"state": "s", "order_by": "t", "step": 1}
    here, there = (bdp.MarkovChain.fit(table, **given) for table in (str(path), frame))
    assert there.counts == here.counts
    assert there.diagnosis is not None
    assert here.diagnosis is not None
    assert there.diagnosis.findings == here.diagnosis.findings
    priced_assumptions = bdp.advise(frame, Count("s", equals=1), **given, within=["w"]).priced_assumptions
    assert [assumption.verdict for assumption in priced_assumptions] == [
        assumption.verdict
        for assumption in bdp.advise(str(path), Count("s", equals=1), **given, within=["w"]).priced_assumptions
    ]


def test_parquet_by_its_path(cluster: Any, path: Path, tmp_path: Path) -> None:
    """The session that runs already is used, and goes on."""
    question = Count("s", equals=1)
    with spark_table(f"{path}/*.parquet") as table:
        assert tally(table, [question]) == tally(str(path), [question])
        assert (table.name, table.guessed) == (f"{path}/*.parquet", False)
    parts = [str(path / f"{part}.parquet") for part in range(4)]
    with spark_table(*parts) as table:
        assert tally(table, [question])[0].counts == tally(str(path), [question])[0].counts
    with pytest.raises(FrameError, match="named twice"), spark_table(parts[0], str(path)):
        pass
    with (
        pytest.raises(InvalidInputError, match="Spark already runs in this process"),
        spark_table("x", master="local[7]"),
    ):
        pass
    with pytest.raises(FrameError, match="there is no such file"), spark_table(str(tmp_path / "absent.parquet")):
        pass
    (tmp_path / "year=2012").mkdir()
    pl.DataFrame({"s": [1, 0, 1]}).write_parquet(tmp_path / "year=2012" / "steps.parquet")
    with spark_table(str(tmp_path), master=cluster.sparkContext.master) as table:
        assert (set(table.schema), table.guessed) == ({"s", "year"}, True)
        assert tally(table, [question])[0].counts == (2,)


# --- lost executors ---------------------------------------------------------------------------------------------------


def _held(frame: Any, gate: Path) -> Any:
    """Return the table with a column whose every value waits on its executor while there is a file at `gate`."""
    functions = pytest.importorskip("pyspark.sql.functions")

    def held(value: int) -> int:  # Spark sends a nested function itself, not the name of its module
        while gate.exists():
            time.sleep(0.01)
        return value

    return frame.select("t", functions.udf(held, "bigint", useArrow=False)("s").alias("s"))


def _executors(application: str) -> set[int]:
    """Return the processes of an application's executors."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue  # it has ended meanwhile
        if "CoarseGrainedExecutorBackend" in command and application in command:
            found.add(int(process.name))
    return found


def _while_an_executor_dies(cluster: Any, gate: Path, ask: Callable[[], Any]) -> Any:
    """Ask something about a table that is held at `gate`, kill an executor that works on it, and let the table go."""
    tracker, context = cluster.sparkContext.statusTracker(), cluster.sparkContext
    before = _executors(context.applicationId)
    assert before
    gate.touch()
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(ask)
        while not asked.done():
            infos = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            if any(info is not None and info.numActiveTasks > 1 for info in infos):
                break
            time.sleep(0.05)
        lost = min(before)
        try:
            assert not asked.done(), f"nothing was held: {asked.result()}"
            os.kill(lost, signal.SIGKILL)
        finally:
            gate.unlink()
        answer = asked.result()
    assert lost not in _executors(context.applicationId)
    return answer


def test_a_lost_executor_changes_neither_answer_nor_charge(cluster: Any, path: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    frame = _held(cluster.read.parquet(str(path)).filter("t < 4000").repartition(4), gate)
    exact = tally(pl.scan_parquet(path / "*.parquet").filter(pl.col("t") < 4000), [Count("s", equals=1)])[0].counts[0]
    ledger = tmp_path / "budget.db"
    with Session(frame, Independent(), epsilon=2 * SURELY, ledger=ledger, dataset="walks") as session:
        question = Count("s", equals=1)
        answer = _while_an_executor_dies(cluster, gate, lambda: session.release(question, epsilon=SURELY))
        assert answer.value == exact
        assert session.release(question, epsilon=SURELY).reused
    with Ledger(ledger, create=False) as entries:
        kinds = [entry.kind for entry in entries.entries()]
        assert (kinds.count("charge"), kinds.count("answer"), kinds[-1]) == (1, 1, "answer")


def test_a_long_chain_survives_a_lost_executor(
    cluster: Any, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitioned_chains, "FEWEST", 500)
    gate = tmp_path / "gate"
    frame = _held(cluster.read.parquet(str(path)).filter("t < 4000").repartition(4), gate)
    found = _while_an_executor_dies(cluster, gate, lambda: transitions(frame, "s", CHAIN))
    assert found == transitions(pl.scan_parquet(path / "*.parquet").filter(pl.col("t") < 4000), "s", CHAIN)
