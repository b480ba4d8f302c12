import csv
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bayesdp import MarkovChain
from bayesdp.diagnostics import ChainStatistics, Diagnosis, Finding, diagnose_chain
from bayesdp.errors import InvalidInputError

ACTIVITY = Path("/work/shared/data/activity.csv")
TRANSITION = np.array([[0.9, 0.1], [0.3, 0.7]])
CHAIN = MarkovChain(TRANSITION)


def walk(rng: np.random.Generator, laws: NDArray[np.float64], length: int) -> list[int | None]:
    """Draw a two-state path; laws[t, before, last] is the probability of 1 at time t (t taken modulo)."""
    path: list[int | None] = [0, 0]
    before, last = 0, 0
    for t, uniform in enumerate(rng.random(length - 2)):
        before, last = last, int(uniform < laws[t * len(laws) // length, before, last])
        path.append(last)
    return path


def first_order(transition: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.tile(transition[:, 1], (1, 2, 1))


def counted(paths: Sequence[Sequence[int | None]], size: int = 2) -> ChainStatistics:
    """Count transitions; None is a missing record."""
    entities = np.zeros((len(paths), size, size), dtype=int)
    halves = np.zeros((2, size, size), dtype=int)
    triples = np.zeros((size, size, size), dtype=int)
    for index, path in enumerate(paths):
        known = [t for t, x in enumerate(path) if x is not None]
        middle = known[len(known) // 2]
        for t, (x, y) in enumerate(pairwise(path)):
            if x is None or y is None:
                continue
            entities[index, x, y] += 1
            halves[int(t + 1 > middle), x, y] += 1
            before = path[t - 1] if t else None
            if before is not None:
                triples[before, x, y] += 1
    records = sum(x is not None for path in paths for x in path)
    several = entities if len(paths) > 1 else None
    return ChainStatistics(range(size), entities.sum(axis=0), triples, halves, several, len(paths), records)


def named(diagnosis: Diagnosis, name: str) -> Finding:
    return next(finding for finding in diagnosis.findings if finding.name == name)


def verdicts(diagnosis: Diagnosis) -> dict[str, str]:
    return {finding.name: finding.verdict for finding in diagnosis.findings}


def statistics(counts: Any, **others: Any) -> ChainStatistics:
    table = np.array(counts)
    given = {"triples": None, "halves": np.zeros((2, *table.shape), dtype=int), "entities": None} | others
    return ChainStatistics(
        range(len(table)), table, given["triples"], given["halves"], given["entities"], 1, int(table.sum()) + 1
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_chain_of_the_model_is_fine(seed: int) -> None:
    rng = np.random.default_rng(seed)
    paths = [walk(rng, first_order(TRANSITION), 2000) for _ in range(10)]
    diagnosis = diagnose_chain(counted(paths), CHAIN)
    assert set(verdicts(diagnosis).values()) == {"fine"}
    assert diagnosis.verdict == "fine"
    assert named(diagnosis, "order").values["least_bic_order"] == 1
    assert not any(finding.advice for finding in diagnosis.findings)


def test_independent_records_are_told_so_and_the_chain_stays_fine() -> None:
    path = walk(np.random.default_rng(3), first_order(np.full((2, 2), 0.5)), 5000)
    found = named(diagnose_chain(counted([path]), MarkovChain([[0.5, 0.5], [0.5, 0.5]])), "dependence")
    assert found.verdict == "fine"
    assert "Independent() may describe" in found.meaning
    assert "must not be assumed" in named(diagnose_chain(statistics([[60, 20], [20, 60]]), CHAIN), "dependence").meaning


def test_an_order_2_chain_is_a_violation() -> None:
    laws = np.array([[[0.1, 0.5], [0.4, 0.8]]])
    path = walk(np.random.default_rng(1), laws, 5000)
    chain = MarkovChain.from_counts(counted([path]).counts)
    found = named(diagnose_chain(counted([path]), chain), "order")
    assert found.verdict == "violated"
    assert found.values["least_bic_order"] == 2
    assert "the least is that of order 2" in found.figure
    assert "not covered" in found.meaning
    assert "pairs" in found.advice


def test_a_significant_but_tiny_deviation_of_millions_of_records_is_doubtful() -> None:
    table = np.array([[8_010_000, 1_990_000], [7_990_000, 2_010_000]])
    triples = np.stack([table, np.full((2, 2), 1_000_000)], axis=1)
    found = named(diagnose_chain(statistics(triples.sum(axis=0), triples=triples), CHAIN), "order")
    assert found.values["p_value"] < 1e-16
    assert found.values["bic_order_2"] < 0
    assert found.values["largest_factor"] < 1.05
    assert found.verdict == "doubtful"
    assert "small" in found.meaning


def test_a_drifting_chain_is_a_violation() -> None:
    laws = np.concatenate([first_order(TRANSITION), first_order(np.array([[0.8, 0.2], [0.3, 0.7]]))])
    found = named(diagnose_chain(counted([walk(np.random.default_rng(2), laws, 6000)]), CHAIN), "same over time")
    assert found.verdict == "violated"
    assert found.values["largest_change"] == pytest.approx(0.05, abs=0.02)
    assert "AnyOf" in found.advice


def test_a_mix_of_entities_is_a_violation() -> None:
    rng = np.random.default_rng(4)
    other = np.array([[0.7, 0.3], [0.3, 0.7]])
    paths = [walk(rng, first_order(other if index % 2 else TRANSITION), 1000) for index in range(10)]
    diagnosis = diagnose_chain(counted(paths), CHAIN)
    found = named(diagnosis, "same for all entities")
    assert found.verdict == "violated"
    assert "10 of 10 entities" in found.figure
    assert verdicts(diagnosis)["same over time"] == "fine"


def test_short_entities_are_not_compared() -> None:
    paths = [walk(np.random.default_rng(seed), first_order(TRANSITION), 12) for seed in range(50)]
    found = named(diagnose_chain(counted(paths), CHAIN), "same for all entities")
    assert (found.verdict, found.figure) == ("not tested", "")
    assert "long enough" in found.meaning


def test_another_chain_than_the_model_is_a_violation() -> None:
    path = walk(np.random.default_rng(5), first_order(TRANSITION), 5000)
    found = named(diagnose_chain(counted([path]), MarkovChain([[0.8, 0.2], [0.4, 0.6]])), "probabilities")
    assert found.verdict == "violated"
    assert found.values["degrees_of_freedom"] == 2


def test_an_impossible_transition_is_a_violation_without_a_p_value() -> None:
    chain = MarkovChain([[0.5, 0.5], [1, 0]])
    found = named(diagnose_chain(statistics([[10, 10], [10, 3]]), chain), "probabilities")
    assert found.verdict == "violated"
    assert found.values == {"impossible_transitions": 3}
    assert "1 → 1 (3 times)" in found.figure


def test_a_model_fitted_to_these_counts_agrees_by_construction() -> None:
    counts = [[60, 20], [20, 60]]
    for smoothing in (0.0, 1.0):
        chain = MarkovChain.from_counts(counts, smoothing=smoothing)
        found = named(diagnose_chain(statistics(counts), chain), "probabilities")
        assert found.verdict == "not tested"
        assert "these very transitions" in found.meaning


def test_figures_of_a_hand_example() -> None:
    found = named(diagnose_chain(statistics([[10, 20], [20, 10]]), CHAIN), "dependence")
    expected = 4 * (10 * math.log(10 / 15) + 20 * math.log(20 / 15))
    assert found.values["statistic"] == pytest.approx(expected)
    assert found.values["pearson"] == pytest.approx(4 * 25 / 15)
    assert found.values["degrees_of_freedom"] == 1
    assert found.values["bic_difference"] == pytest.approx(math.log(60) - expected)
    assert found.values["largest_change"] == pytest.approx(1 / 6)
    assert found.values["largest_factor"] == pytest.approx(15.5 / 10.5)


def test_degrees_of_freedom_count_what_was_seen() -> None:
    rng = np.random.default_rng(0)
    chain = MarkovChain(np.full((3, 3), 1 / 3))

    def freedom(triples: NDArray[np.int64], entities: NDArray[np.int64]) -> tuple[float, ...]:
        found = diagnose_chain(
            statistics(entities.sum(axis=0), triples=triples, halves=entities[:2], entities=entities), chain
        )
        names = ("dependence", "order", "same over time", "same for all entities")
        return tuple(named(found, name).values["degrees_of_freedom"] for name in names)

    triples, entities = rng.integers(50, 60, (3, 3, 3)), rng.integers(50, 60, (4, 3, 3))
    assert freedom(triples, entities) == (4, 3 * 2 * 2, 3 * 1 * 2, 3 * 3 * 2)
    triples[:, 0, 0] = triples[1, 2, :] = 0
    entities[:, 0, 0] = 0
    assert freedom(triples, entities) == (4, 2 * 1 + 2 * 2 + 1 * 2, 1 + 2 + 2, 3 * 1 + 3 * 2 + 3 * 2)


def test_few_and_unseen_transitions_are_doubtful() -> None:
    chain = MarkovChain.from_counts([[97, 3], [3, 1]])
    found = named(diagnose_chain(statistics([[97, 3], [3, 1]]), chain), "enough data")
    assert found.verdict == "doubtful"
    assert found.values["expected_below_5"] == 3
    assert "rarely left: [1]" in found.figure
    assert "credibility=" in found.advice
    unseen = MarkovChain.from_counts([[90, 10], [100, 0]])
    assert named(diagnose_chain(statistics([[90, 10], [100, 0]]), unseen), "enough data").values["never_seen"] == 1


def test_gaps_are_counted_and_missing_ones_must_be_declared() -> None:
    path = [0, 1, None, 0, 1, 1, None, None, 0] * 50
    without, declared = MarkovChain(TRANSITION), MarkovChain(TRANSITION, gaps=True)
    found = named(diagnose_chain(counted([path]), declared), "gaps")
    assert (found.verdict, found.values["missing_transitions"]) == ("fine", 100)
    assert named(diagnose_chain(counted([path]), without), "gaps").verdict == "violated"
    assert named(diagnose_chain(counted([[0, 1, 0, 1]]), without), "gaps").verdict == "fine"


def test_too_many_states_leave_the_order_untested() -> None:
    found = named(diagnose_chain(statistics([[10, 10], [10, 10]]), CHAIN), "order")
    assert found.verdict == "not tested"
    assert "50 states" in found.meaning


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_data_and_single_states_are_not_tested(size: int) -> None:
    chain = MarkovChain(np.full((size, size), 1 / size))
    zeros = np.zeros((size, size), dtype=int)
    empty = ChainStatistics(range(size), zeros, [zeros] * size, [zeros] * 2, [zeros] * 3, 0, 0)
    diagnosis = diagnose_chain(empty, chain)
    assert {name: verdict for name, verdict in verdicts(diagnosis).items() if verdict != "not tested"} == {
        "gaps": "fine"
    }
    only = zeros.copy()
    only[0, 0] = 100
    stuck = ChainStatistics(range(size), only, [only] + [zeros] * (size - 1), [only] * 2, [only] * 2, 2, 202)
    assert verdicts(diagnose_chain(stuck, chain))["order"] == "not tested"
    for each in (empty, stuck):
        json.dumps(diagnose_chain(each, chain).to_dict(), allow_nan=False)


def test_p_values_that_underflow_are_written_as_bounds() -> None:
    big = 10**12
    diagnosis = diagnose_chain(statistics([[big, 1], [1, big]]), CHAIN)
    assert named(diagnosis, "dependence").values["p_value"] == 0
    assert "p < 1e-16" in named(diagnosis, "dependence").figure
    assert "p = 0;" not in str(diagnosis)


def test_it_reads_as_paragraphs_a_table_and_json() -> None:
    path = walk(np.random.default_rng(1), first_order(TRANSITION), 3000)
    diagnosis = diagnose_chain(counted([path]), CHAIN)
    paragraphs = str(diagnosis).split("\n\n")
    assert len(paragraphs) == 2 + len(diagnosis.findings)
    assert "3,000 records of 1 entity. Verdict: not tested." in paragraphs[0]
    assert paragraphs[1].startswith("✓ dependence: fine. Does the next record")
    assert "No guarantee" not in paragraphs[0]
    assert "no guarantee covers it" in paragraphs[-1]
    assert len(diagnosis.overview().splitlines()) == 2 + len(diagnosis.findings)
    document = json.loads(diagnosis.to_json())
    assert document == diagnosis.to_dict()
    assert document["verdict"] == "not tested"
    assert document["findings"][0].keys() >= {"name", "tested", "figure", "verdict", "meaning", "advice", "values"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": [[1, 2]]}, "counts must be a 2 × 2 array"),
        ({"counts": [[1, 2], [3, -1]]}, "counts must hold whole numbers"),
        ({"counts": [[1, 2], [3, 0.5]]}, "counts must hold whole numbers"),
        ({"halves": None}, "halves must be a 2 × 2 × 2 array"),
        ({"entities": [[1, 2], [3, 4]]}, "entities must be a E × 2 × 2 array"),
        ({"records": -1}, "records must be"),
        ({"states": [0, 0]}, "states must be distinct"),
    ],
)
def test_wrong_statistics_are_refused(change: dict[str, Any], message: str) -> None:
    pairs = [[1, 2], [3, 4]]
    given: dict[str, Any] = {"states": [0, 1], "counts": pairs, "triples": None, "halves": [pairs, pairs]}
    given |= {"entities": None, "entities_total": 1, "records": 11}
    with pytest.raises(InvalidInputError, match=message):
        ChainStatistics(**(given | change))


def test_statistics_of_other_states_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="the model about"):
        diagnose_chain(statistics([[1, 2], [3, 4]]), MarkovChain(TRANSITION, states=["a", "b"]))


def test_findings_refuse_unknown_verdicts_and_infinities() -> None:
    with pytest.raises(InvalidInputError, match="a verdict is one of"):
        Finding("a", "b", "c", "good", "d", "e")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="must be a finite number"):
        Finding("a", "b", "c", "fine", "d", "e", {"x": math.inf})


def test_importing_is_light() -> None:
    code = "import sys, bayesdp.diagnostics; print([m for m in ('scipy.stats', 'statsmodels') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(not ACTIVITY.exists(), reason=f"the Activity data are not at {ACTIVITY}")
def test_activity_is_not_of_order_1() -> None:
    with ACTIVITY.open() as file:
        path = [None if row["steps"] == "NA" else int(int(row["steps"]) > 0) for row in csv.DictReader(file)]
    found = counted([path])
    assert found.counts.tolist() == [[9713, 1295], [1295, 2955]]
    diagnosis = diagnose_chain(found, MarkovChain.from_counts(found.counts, length=15264, gaps=True))
    assert verdicts(diagnosis) == {
        "dependence": "fine",
        "order": "violated",
        "same over time": "violated",
        "same for all entities": "not tested",
        "enough data": "fine",
        "gaps": "fine",
        "probabilities": "not tested",
    }
    assert named(diagnosis, "order").values["least_bic_order"] == 2
    assert named(diagnosis, "gaps").values["missing_transitions"] == 5
