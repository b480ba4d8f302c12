"""Several chains: alike, independent of each other, stationary from the start."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from bayesdp import MarkovChain
from bayesdp.diagnostics import ChainStatistics, Diagnosis, Finding, diagnose_chain

TRANSITION = np.array([[0.85, 0.15], [0.3, 0.7]])
CHAIN = MarkovChain(TRANSITION)


def paths(seed: int, entities: int, times: int, weather: float = 0.0, day: float = 0.0) -> NDArray[np.int64]:
    """Draw chains; weather moves all of them at a time, day moves them by the time of day (24 steps)."""
    rng = np.random.default_rng(seed)
    states = np.zeros((entities, times), dtype=int)
    states[:, 0] = rng.random(entities) < 1 / 3
    for t in range(1, times):
        common = weather * rng.standard_normal() + day * np.sin(2 * np.pi * (t - 1) / 24)
        odds = np.log(TRANSITION[states[:, t - 1], 1] / TRANSITION[states[:, t - 1], 0]) + common
        states[:, t] = rng.random(entities) < 1 / (1 + np.exp(-odds))
    return states


def counted(states: NDArray[np.int64], *, starts: bool = False) -> ChainStatistics:
    before, after = states[:, :-1], states[:, 1:]

    def tables(*groups: Any) -> NDArray[np.int64]:
        table = np.zeros((len(groups), 2, 2), dtype=int)
        for index, (x, y) in enumerate(groups):
            np.add.at(table[index], (x.ravel(), y.ravel()), 1)
        return table

    by_entity = tables(*zip(before, after, strict=True))
    half = before.shape[1] // 2
    return ChainStatistics(
        [0, 1],
        by_entity.sum(axis=0),
        np.stack(
            [tables((states[:, 1:-1][states[:, :-2] == x], states[:, 2:][states[:, :-2] == x]))[0] for x in (0, 1)]
        ),
        tables((before[:, :half], after[:, :half]), (before[:, half:], after[:, half:])),
        by_entity,
        len(states),
        states.size,
        clocks={"time of day": tables(*((before[:, hour::24], after[:, hour::24]) for hour in range(24)))},
        together=tables(*zip(before.T, after.T, strict=True)),
        starts=np.bincount(states[:, 0], minlength=2) if starts else None,
    )


def named(diagnosis: Diagnosis, name: str) -> Finding:
    return next(finding for finding in diagnosis.findings if finding.name == name)


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_stated() -> None:
    """In 100 diagnoses of right models about one finding of a hundred is doubtful, none violated, none untested."""
    verdicts: dict[str, list[str]] = {}
    for seed in range(100):
        diagnosis = diagnose_chain(counted(paths(seed, 12, 1500), starts=False), CHAIN)
        for finding in diagnosis.findings:
            verdicts.setdefault(finding.name, []).append(finding.verdict)
    assert {"order", "same over time", "time of day", "same for all entities", "independent entities"} <= set(verdicts)
    for name, found in verdicts.items():
        assert found.count("doubtful") <= 5, name
        assert set(found) <= {"fine", "doubtful"}, name


@pytest.mark.parametrize("entities", [2, 5, 100])
def test_entities_under_one_weather_are_a_violation(entities: int) -> None:
    states = paths(1, entities, 3000, weather=2.0 if entities == 2 else 1.0)
    diagnosis = diagnose_chain(counted(states), CHAIN)
    found = named(diagnosis, "independent entities")
    assert found.verdict == "violated"
    assert found.values["state 0: variance_ratio"] > 1.2
    assert "move together" in found.meaning
    assert diagnosis.verdict == "violated"


def test_weather_is_not_seen_in_a_few_days() -> None:
    found = named(diagnose_chain(counted(paths(2, 5, 100)), CHAIN), "independent entities")
    assert found.verdict == "not tested"
    assert "times are needed" in found.meaning


@pytest.mark.slow
def test_the_power_stated_for_dependent_entities_is_right() -> None:
    """Of 20 entities two are copies of others: the variance is 1.2 times that of independent ones."""
    seen, powers = [], []
    for seed in range(150):
        states = paths(seed, 18, 501)
        found = named(diagnose_chain(counted(np.concatenate([states, states[:2]])), CHAIN), "independent entities")
        seen.append(found.values["p_value"] < 0.01)
        powers.append(found.values["power"])
    assert np.mean(powers) == pytest.approx(np.mean(seen), abs=0.12)
    assert 0.5 < np.mean(powers) < 0.9


def test_entities_without_a_common_time_are_not_tested() -> None:
    states = paths(3, 4, 2000)
    alone = counted(states)
    for together in (None, np.zeros((0, 2, 2), dtype=int), np.array([[[1, 0], [0, 0]]] * 50)):
        given = ChainStatistics(
            [0, 1], alone.counts, alone.triples, alone.halves, alone.entities, 4, states.size, together=together
        )
        diagnosis = diagnose_chain(given, CHAIN)
        assert named(diagnosis, "independent entities").verdict == "not tested"
        assert diagnosis.verdict == "not tested"


def test_one_entity_has_no_findings_about_several() -> None:
    diagnosis = diagnose_chain(counted(paths(4, 1, 9000)), CHAIN)
    assert not {"same for all entities", "independent entities", "start"} & {each.name for each in diagnosis.findings}
    assert diagnosis.verdict == "fine"
    assert not any("independent of each other" in sentence for sentence in diagnosis.trusted)


def test_that_entities_are_taken_as_independent_is_always_said() -> None:
    diagnosis = diagnose_chain(counted(paths(5, 12, 1500)), CHAIN)
    assert any("Entities are assumed to be independent of each other" in sentence for sentence in diagnosis.trusted)
    assert "Entities are assumed to be independent of each other" in str(diagnosis)
    assert diagnosis.to_dict()["trusted"] == list(diagnosis.trusted)


def test_where_chains_begin() -> None:
    def of(states: NDArray[np.int64], chain: MarkovChain = CHAIN) -> Diagnosis:
        return diagnose_chain(counted(states, starts=True), chain)

    right = paths(6, 1500, 30)
    assert named(of(right), "start").verdict == "fine"
    wrong = right.copy()
    wrong[:, 0] = 0
    assert named(of(wrong), "start").verdict == "violated"
    few = of(right[:50])
    assert "start" not in {finding.name for finding in few.findings}
    assert any("stationary law: there are too few entities" in sentence for sentence in few.trusted)
    anywhere = of(wrong, MarkovChain(TRANSITION, start="any"))
    assert "start" not in {finding.name for finding in anywhere.findings}
    assert not any("stationary" in sentence for sentence in anywhere.trusted)


def table(states: NDArray[np.int64], **clock: Any) -> pl.DataFrame:
    entities, times = states.shape
    return pl.DataFrame(
        {
            "meter": np.repeat(np.arange(entities), times),
            "t": np.tile(np.arange(times), entities),
            "s": states.ravel(),
            **{name: np.tile(values, entities) for name, values in clock.items()},
        }
    )


def test_a_table_of_meters() -> None:
    """The same from a table: pairs at a common time are those whose later records have it."""
    for weather, verdict in ((0.0, "fine"), (1.0, "violated")):
        states = paths(7, 10, 1500, weather=weather)
        frame = table(states)
        chain = MarkovChain.fit(frame, state="s", order_by="t", entity="meter", step=1)
        diagnosis = chain.diagnose(frame.sample(fraction=1.0, shuffle=True, seed=1))
        found, expected = named(diagnosis, "independent entities"), diagnose_chain(counted(states), chain)
        assert found.verdict == verdict
        assert found.values == pytest.approx(named(expected, "independent entities").values)
        assert (diagnosis.table_name, diagnosis.rows, diagnosis.records) == ("the table", 15_000, 15_000)


def test_only_the_first_times_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayesdp.frames.checks.MOST_TIMES", 500)
    frame = table(paths(8, 10, 1500))
    chain = MarkovChain.fit(frame, state="s", order_by="t", entity="meter", step=1)
    found = named(chain.diagnose(frame), "independent entities")
    assert found.verdict == "not tested"
    assert "times with records of several entities" in found.figure
