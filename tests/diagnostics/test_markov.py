import json
import math
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bayesdp import MarkovChain
from bayesdp.diagnostics import ChainStatistics, Diagnosis, Finding, Verdict, diagnose_chain
from bayesdp.errors import InvalidInputError

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
    together = np.zeros((max(map(len, paths)), size, size), dtype=int)
    before_gaps = np.zeros(size, dtype=int)
    for index, path in enumerate(paths):
        known = [t for t, x in enumerate(path) if x is not None]
        middle = known[len(known) // 2]
        for t, (x, y) in enumerate(pairwise(path)):
            if x is not None and y is None:
                before_gaps[x] += 1
            if x is None or y is None:
                continue
            entities[index, x, y] += 1
            together[t, x, y] += 1
            halves[int(t + 1 > middle), x, y] += 1
            before = path[t - 1] if t else None
            if before is not None:
                triples[before, x, y] += 1
    records = sum(x is not None for path in paths for x in path)
    several = {"entities": entities, "together": together} if len(paths) > 1 else {"entities": None}
    return ChainStatistics(
        range(size),
        entities.sum(axis=0),
        triples,
        halves,
        entities_total=len(paths),
        records=records,
        before_gaps=before_gaps,
        **several,
    )


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


def test_independent_records_are_reported_and_the_chain_is_fine() -> None:
    path = walk(np.random.default_rng(3), first_order(np.full((2, 2), 0.5)), 5000)
    found = named(diagnose_chain(counted([path]), MarkovChain([[0.5, 0.5], [0.5, 0.5]])), "dependence")
    assert (found.verdict, found.word) == ("fine", "not seen")
    assert "found no dependence: a model of independent records may describe" in found.meaning


def test_dependence_is_present_not_fine() -> None:
    found = named(diagnose_chain(statistics([[60, 20], [20, 60]]), CHAIN), "dependence")
    assert str(found).startswith("✓ dependence: present. ")
    assert "do not assume independent records" in found.meaning


def test_a_sparse_table_tells_nothing() -> None:
    """111 states and 1,460 transitions, p = 1: that does not show that the records are independent."""
    rng = np.random.default_rng(0)
    counts = np.zeros((111, 111), dtype=int)
    states = rng.choice(111, 1461, p=rng.dirichlet(np.ones(111)))
    np.add.at(counts, (states[:-1], states[1:]), 1)
    diagnosis = diagnose_chain(statistics(counts), MarkovChain.from_counts(counts, smoothing=0.1))
    found = named(diagnosis, "dependence")
    assert found.values["p_value"] > 0.99
    assert str(found).startswith("– dependence: too sparse to tell. ")
    assert "Independent()" not in str(diagnosis)
    assert re.search(r"about \d+,000 transitions are needed", found.meaning)
    assert "Do not assume independent records" in found.advice
    assert diagnosis.verdict == "not tested"


def test_an_order_2_chain_is_a_violation() -> None:
    laws = np.array([[[0.1, 0.5], [0.4, 0.8]]])
    path = walk(np.random.default_rng(1), laws, 5000)
    chain = MarkovChain.from_counts(counted([path]).counts)
    found = named(diagnose_chain(counted([path]), chain), "order")
    assert found.verdict == "violated"
    assert found.values["least_bic_order"] == 2
    assert "order 2 has the least" in found.figure
    assert "does not cover" in found.meaning
    assert "pairs" in found.advice


def test_a_tiny_deviation_of_millions_of_records_is_doubtful() -> None:
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
    assert "any-of model" in found.advice


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


def test_an_impossible_transition_is_violated_without_a_p_value() -> None:
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
        assert (found.verdict, found.word, found.figure) == ("fine", "by construction", "")
        assert "estimated from these transitions" in found.meaning


def test_degrees_of_freedom_count_what_was_seen() -> None:
    rng = np.random.default_rng(0)
    chain = MarkovChain(np.full((3, 3), 1 / 3))

    def freedom(triples: NDArray[np.int64], entities: NDArray[np.int64]) -> tuple[float, ...]:
        found = diagnose_chain(
            ChainStatistics(range(3), entities.sum(axis=0), triples, entities[:2], entities, len(entities), 5000), chain
        )
        names = ("dependence", "order", "same over time", "same for all entities")
        return tuple(named(found, name).values["degrees_of_freedom"] for name in names)

    triples, entities = rng.integers(50, 60, (3, 3, 3)), rng.integers(50, 60, (4, 3, 3))
    assert freedom(triples, entities) == (4, 3 * 2 * 2, 3 * 1 * 2, 3 * 3 * 2)
    triples[:, 0, 0] = triples[1, 2, :] = 0
    entities[:, 0, 0] = 0
    assert freedom(triples, entities) == (4, 2 * 1 + 2 * 2 + 1 * 2, 1 + 2 + 2, 3 * 1 + 3 * 2 + 3 * 2)


def test_few_and_unseen_transitions_are_too_few_to_tell() -> None:
    chain = MarkovChain.from_counts([[97, 3], [3, 1]])
    found = named(diagnose_chain(statistics([[97, 3], [3, 1]]), chain), "enough data")
    assert found.verdict == "not tested"
    assert found.values["expected_below_5"] == 3
    assert "About 520 transitions are needed" in found.meaning
    assert "rarely left: [1]" in found.figure
    assert "a credibility" in found.advice
    for visits, verdict in ((160, "not tested"), (161, "fine")):
        counts = [[90, 10], [visits, 0]]
        unseen = named(diagnose_chain(statistics(counts), MarkovChain.from_counts(counts)), "enough data")
        assert (unseen.verdict, unseen.values["never_seen"]) == (verdict, 1)


def test_gaps_are_counted_and_missing_ones_must_be_declared() -> None:
    path = [0, 1, None, 0, 1, 1, None, None, 0] * 50
    without, declared = MarkovChain(TRANSITION), MarkovChain(TRANSITION, gaps=True)
    found = named(diagnose_chain(counted([path]), declared), "gaps")
    assert (found.verdict, found.values["missing_transitions"]) == ("fine", 100)
    assert named(diagnose_chain(counted([path]), without), "gaps").verdict == "violated"
    assert named(diagnose_chain(counted([[0, 1, 0, 1]]), without), "gaps").verdict == "fine"


def lossy(seed: int, length: int, chances: Sequence[float]) -> list[int | None]:
    """Draw a path of which a record after state x is missing with probability chances[x]."""
    rng = np.random.default_rng(seed)
    path = walk(rng, first_order(TRANSITION), length)
    lost = rng.random(length)
    kept: list[int | None] = path[:1]
    for t in range(1, length):
        before = path[t - 1]
        assert before is not None
        kept.append(None if lost[t] < chances[before] else path[t])
    return kept


GAPPY = MarkovChain(TRANSITION, gaps=True)


def test_records_missing_at_random_are_fine() -> None:
    finding = named(diagnose_chain(counted([lossy(1, 40_000, (0.1, 0.1))]), GAPPY), "missing at random")
    assert finding.verdict == "fine"
    assert finding.values["power"] > 0.95


def test_records_that_go_missing_after_one_state_are_a_violation() -> None:
    finding = named(diagnose_chain(counted([lossy(2, 20_000, (0.02, 0.1))]), GAPPY), "missing at random")
    assert finding.verdict == "violated"
    assert "no ε covers" in finding.meaning


def test_few_gaps_are_taken_on_trust() -> None:
    few = diagnose_chain(counted([lossy(3, 4_000, (0.05, 0.05))]), GAPPY)
    assert "missing at random" not in verdicts(few)
    assert any("too few gaps to test it" in sentence for sentence in few.trusted)
    for path in ([0, None, 1, 0], [0, None], [0, None, 1, None, 0, None]):
        assert "missing at random" not in verdicts(diagnose_chain(counted([path]), GAPPY))
    none = diagnose_chain(counted([lossy(3, 4_000, (0, 0))]), GAPPY)
    assert "missing at random" not in verdicts(none)
    assert not any("gaps" in sentence for sentence in none.trusted)


def test_the_power_of_the_gaps_is_what_is_stated() -> None:
    """At the number of gaps that is said to be needed, a deviation of w = 0.1 is seen in about 80 of 100 tables."""
    rng = np.random.default_rng(4)
    usual, records, gaps = np.array([0.75, 0.25]), 1_000_000, 1_200
    moved = usual + 0.1 * math.sqrt(usual.prod()) * np.array([-1, 1])
    seen = 0
    for _ in range(200):
        pairs = np.outer(rng.multinomial(records, usual), [1, 0])
        gappy = replace(statistics(pairs), before_gaps=rng.multinomial(gaps, moved))
        finding = named(diagnose_chain(gappy, MarkovChain([[1, 0], [1, 0]], start="any")), "missing at random")
        assert finding.values["power"] == pytest.approx(0.8, abs=0.02)
        seen += finding.values["p_value"] < 0.01
    assert 140 <= seen <= 180


def test_a_chain_longer_than_the_model_is_a_violation() -> None:
    path = walk(np.random.default_rng(1), first_order(TRANSITION), 3000)
    given = replace(counted([path]), longest=3000)
    for length, verdict in ((3000, "fine"), (2999, "violated")):
        diagnosis = diagnose_chain(given, MarkovChain(TRANSITION, length=length))
        assert verdicts(diagnosis)["length"] == verdict
    assert "length" not in verdicts(diagnose_chain(given, CHAIN))


def test_absent_rows_are_taken_on_trust_without_a_step() -> None:
    path = walk(np.random.default_rng(1), first_order(TRANSITION), 3000)
    trusted = [diagnose_chain(replace(counted([path]), spaced=spaced), CHAIN).trusted for spaced in (False, True)]
    assert ["No rows are absent" in " ".join(each) for each in trusted] == [True, False]


@pytest.mark.parametrize(("length", "verdict"), [(100, "not tested"), (5000, "fine")])
def test_fine_needs_a_test_with_power(length: int, verdict: str) -> None:
    path = walk(np.random.default_rng(8), first_order(TRANSITION), length)
    diagnosis = diagnose_chain(counted([path]), CHAIN)
    found = verdicts(diagnosis)
    assert (found["order"], found["same over time"], found["probabilities"]) == (verdict,) * 3
    assert diagnosis.verdict == verdict
    if verdict == "not tested":
        order = named(diagnosis, "order")
        assert order.values["power"] < 0.8
        assert "about 1,400 transitions are needed" in order.meaning


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
    assert len(paragraphs) == 3 + len(diagnosis.findings)
    assert "3,000 records of 1 entity. Verdict: fine." in paragraphs[0]
    assert paragraphs[1].startswith("✓ dependence: present. Does the next record")
    assert "no guarantee" not in paragraphs[0]
    assert "no guarantee covers it" in paragraphs[-1]
    assert paragraphs[-2].startswith("Taken on trust: The first record follows the stationary law")
    assert "time of day, weekday or season: " in paragraphs[-2]
    assert len(diagnosis.table().splitlines()) == 2 + len(diagnosis.findings)
    document = json.loads(diagnosis.to_json())
    assert document == diagnosis.to_dict()
    assert document["verdict"] == "fine"
    assert document["findings"][0].keys() >= {"name", "tested", "figure", "verdict", "meaning", "advice", "values"}


def test_statistics_of_other_states_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="the model has"):
        diagnose_chain(statistics([[1, 2], [3, 4]]), MarkovChain(TRANSITION, states=["a", "b"]))


def test_findings_refuse_unknown_verdicts_and_infinities() -> None:
    with pytest.raises(InvalidInputError, match="a verdict is one of"):
        Finding("a", "b", "c", "good", "d", "e")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="must be a finite number"):
        Finding("a", "b", "c", Verdict.FINE, "d", "e", {"x": math.inf})


def test_importing_is_light() -> None:
    code = "import sys, bayesdp.diagnostics; print([m for m in ('scipy.stats', 'statsmodels') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
