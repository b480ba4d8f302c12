import itertools
import json

import numpy as np
import polars
import pytest

import bayesdp as bdp
from bayesdp.audit import attack
from bayesdp.audit.attacks import _in_chain
from bayesdp.audit.chain_attack_models import UnknownStretch
from bayesdp.errors import FrameError, InvalidInputError
from bayesdp.theorems.markov.sides import Ending

ACTIVITY = bdp.MarkovChain.from_counts([[9713, 1295], [1295, 2955]], length=15264)
SHORT = bdp.MarkovChain([[0.9, 0.1], [0.4, 0.6]], length=5)
COUNT = bdp.Count(equals=1)


def _exact_success(chain: bdp.MarkovChain, records: int, target: int, tau: float) -> float:
    """Return how often the best guess of a record is right, by enumeration of all chains and of many outputs."""
    outputs = np.arange(-60, 60 + records)
    noise = (1 - np.exp(-tau)) / (1 + np.exp(-tau))
    joint = np.zeros((2, len(outputs)))
    for states in itertools.product(range(2), repeat=records):
        weight = chain.stationary[states[0]]
        for before, after in itertools.pairwise(states):
            weight *= chain.matrix[before, after]
        joint[states[target]] += weight * noise * np.exp(-tau * np.abs(outputs - sum(states)))
    return float(joint.max(axis=0).sum())


def test_he_is_as_good_as_anybody_can_be() -> None:
    """The exact success of the best guess, over all chains and outputs, lies in the interval."""
    report = attack(SHORT, COUNT, epsilon=1.0, unknown="all", runs=40_000, confidence=0.9999)
    for outcome in (report.plain, report.calibrated):
        low, high = outcome.interval
        assert low <= _exact_success(SHORT, 5, 2, outcome.tau) <= high
    assert report.prior == pytest.approx(0.8)


def test_known_ends_of_a_stretch_occur_as_often_as_in_the_chain() -> None:
    faced = _in_chain(SHORT, COUNT, UnknownStretch(Ending(2, 0), Ending(1, 0)), free=True)
    between = np.linalg.matrix_power(SHORT.matrix, 5)
    assert faced.weights == pytest.approx((SHORT.stationary[:, None] * between).ravel())
    priors = (
        weight * attack_model.prior for attack_model, weight in zip(faced.attack_models, faced.weights, strict=True)
    )
    assert sum(priors) == pytest.approx([0.8, 0.2])


def test_plain_dp_helps_the_attacker_more_than_a_calibrated_one() -> None:
    report = attack(ACTIVITY, COUNT, epsilon=1.0)
    assert report.plain.interval[0] > report.prior
    assert report.plain.interval[0] > report.calibrated.interval[1]
    assert report.plain.moved[3] > 3 > 1 >= report.calibrated.moved[3]
    assert list(report.plain.moved) == sorted(report.plain.moved)


@pytest.mark.parametrize(
    ("model", "query"),
    [
        (bdp.OddsChain(9.0), COUNT),
        (bdp.ArbitraryGroups(3), COUNT),
        (bdp.GaussianGroups(covariance=[[4, 2, 2], [2, 4, 0], [2, 0, 4]]), bdp.Sum(bounds=(0, 10))),
        (bdp.AnyOf(bdp.Independent(), ACTIVITY), COUNT),
        (bdp.MarkovChain([[[0.9, 0.1], [0.6, 0.4]], [[0.7, 0.3], [0.2, 0.8]]], memory=2), COUNT),
        (bdp.MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=[0, 5], length=40), bdp.Sum(bounds=(0, 5))),
    ],
)
def test_the_odds_never_move_farther_than_is_proven(model: bdp.Model, query: bdp.Query) -> None:
    report = attack(model, query, epsilon=1.5, runs=3000)
    assert report.calibrated.moved[3] <= 1.5 * (1 + 1e-9)
    assert report.plain.moved[3] <= bdp.leakage(model, query, tau=1.5).epsilon * (1 + 1e-9)
    assert report.prior - 0.05 <= report.calibrated.success <= report.plain.success + 0.05


def test_several_hundred_unknown_records() -> None:
    chain = bdp.MarkovChain(ACTIVITY.transition, length=400)
    report = attack(chain, COUNT, tau=1.0, unknown="all", runs=10_000)
    assert report.who == "The attacker knows no record of a chain of 400."
    assert report.plain.runs == 10_000


def _frame() -> tuple[polars.DataFrame, int]:
    generator, states = np.random.default_rng(1), [0]
    for _ in range(2000):
        states.append(int(generator.random() < ACTIVITY.matrix[states[-1], 1]))
    place = next(place for place in range(50, 1900) if sum(states[place - 6 : place + 7]) == 13)
    shuffled = generator.permutation(len(states))
    return polars.DataFrame({"t": shuffled, "s": [states[place] for place in shuffled], "who": "me"}), place


def test_a_real_record_is_named_and_the_report_is_for_the_holder() -> None:
    frame, place = _frame()
    model = bdp.MarkovChain.fit(frame, state="s", order_by="t")
    report = attack(model, bdp.Count("s", equals=1), epsilon=1.0, frame=frame, record=place)
    assert report.holder
    assert "for the holder of the data" in str(report)
    assert report.to_dict()["for_the_holder_only"] is True
    assert report.plain.success > 0.9 > 0.1 > report.calibrated.success
    assert report.plain.believed > report.calibrated.believed > report.believed
    first = attack(model, bdp.Count("s", equals=1), epsilon=1.0, frame=frame, record=0, unknown=(3, 4))
    assert "0 before it and 4 after it" in first.who
    some = frame.filter(polars.col("t") < 1000)
    model = bdp.MarkovChain.fit(some, state="s", order_by="t")
    everything = attack(model, bdp.Count("s", equals=1), epsilon=1.0, frame=some, record=500, unknown="all")
    assert "no record of a chain of 1000" in everything.who


@pytest.mark.parametrize("memory", [1, 2])
def test_a_real_record_of_a_chain_of_bounded_odds(memory: int) -> None:
    frame, place = _frame()
    model = bdp.OddsChain.fit(frame, state="s", order_by="t", memory=memory)
    report = attack(model, bdp.Count("s", equals=1), epsilon=1.0, frame=frame, record=place, runs=2000)
    assert "repeats its last state" in report.who
    assert report.holder
    assert report.calibrated.moved[-1] <= 1.0 < report.plain.moved[-1]
    assert report.plain.believed > report.calibrated.believed


def test_a_real_record_of_a_chain_with_memory() -> None:
    frame, place = _frame()
    model = bdp.MarkovChain.fit(frame, state="s", order_by="t", memory=2)
    query = bdp.Count("s", equals=1)
    for unknown in ("worst", (3, 2)):
        report = attack(model, query, epsilon=1.0, frame=frame, record=place, unknown=unknown, runs=2000)
        assert report.calibrated.moved[-1] <= 1.0
    brute = _by_enumeration(model, frame, place, 2, 1)
    report = attack(model, query, epsilon=1.0, frame=frame, record=place, unknown=(2, 1), runs=50)
    assert report.believed == pytest.approx(brute)


def _by_enumeration(model: bdp.MarkovChain, frame: polars.DataFrame, place: int, before: int, after: int) -> float:
    """Return the probability of a record's state given all but some records, by summing over all of these."""
    states = frame.sort("t")["s"].to_list()[place - before - 2 : place + after + 3]
    table, chances = model.table, np.zeros(2)
    for unknown in np.ndindex(*(2,) * (before + 1 + after)):
        path = [model.states.index(state) for state in states]
        path[2 : 2 + len(unknown)] = unknown
        chances[unknown[before]] += np.prod([table[tuple(path[i : i + 3])] for i in range(len(path) - 2)])
    return float((chances / chances.sum())[model.states.index(states[2 + before])])


def test_a_real_record_of_one_entity() -> None:
    frame, _ = _frame()
    both = polars.concat([frame, frame.with_columns(who=polars.lit("you"), s=1 - polars.col("s"))])
    model = bdp.MarkovChain.fit(both, state="s", order_by="t", entity="who")
    query = bdp.Count("s", equals=1)
    mine, yours = (attack(model, query, epsilon=1.0, frame=both, record=7, entity=who) for who in ("me", "you"))
    assert mine.believed != yours.believed
    with pytest.raises(InvalidInputError, match="entity="):
        attack(model, query, epsilon=1.0, frame=both, record=7)


def test_a_mechanism_says_what_it_promises() -> None:
    from bayesdp.mechanisms import DiscreteLaplaceMechanism, RandomizedResponseMechanism

    plain = DiscreteLaplaceMechanism(sensitivity=1, tau=0.7)
    assert attack(SHORT, COUNT, plain, runs=200) == attack(SHORT, COUNT, tau=0.7, runs=200)
    with pytest.raises(InvalidInputError, match="leave tau= and epsilon= out"):
        attack(SHORT, COUNT, plain, tau=0.7)
    with pytest.raises(InvalidInputError, match="lower_bound accepts any mechanism"):
        attack(SHORT, COUNT, RandomizedResponseMechanism(tau=1.0))  # type: ignore[arg-type]


def test_it_is_a_document() -> None:
    report = attack(SHORT, COUNT, tau=1.0, runs=200)
    document = report.to_dict()
    assert (document["kind"], document["schema"], document["plain"]["runs"]) == ("attack", 1, 200)
    json.dumps(document, allow_nan=False)
    assert str(report).startswith(
        "Released: the number of records in state 1. The attacker knows no record of a chain of"
    )


def test_the_same_seed_gives_the_same_report() -> None:
    assert attack(SHORT, COUNT, tau=1.0, runs=500) == attack(SHORT, COUNT, tau=1.0, runs=500)
    assert attack(SHORT, COUNT, tau=1.0, runs=500) != attack(SHORT, COUNT, tau=1.0, runs=500, seed=1)


def test_refusals() -> None:
    with pytest.raises(InvalidInputError, match="one noisy number"):
        attack(SHORT, bdp.Histogram(cells=[0, 1]), epsilon=1.0)
    with pytest.raises(InvalidInputError, match="Markov chains only"):
        attack(bdp.Independent(), COUNT, epsilon=1.0, unknown=(1, 1))
    with pytest.raises(InvalidInputError, match='"worst", "all" or a pair'):
        attack(SHORT, COUNT, epsilon=1.0, unknown="some")
    with pytest.raises(InvalidInputError, match="at most 2000"):
        attack(ACTIVITY, COUNT, epsilon=1.0, unknown="all")
    with pytest.raises(InvalidInputError, match="at most 2000"):
        attack(ACTIVITY, COUNT, epsilon=1.0, unknown=(2000, 1))
    with pytest.raises(InvalidInputError, match="record= needs frame="):
        attack(SHORT, COUNT, epsilon=1.0, record=3)
    frame, _ = _frame()
    model = bdp.MarkovChain.fit(frame, state="s", order_by="t")
    with pytest.raises(FrameError):
        attack(model, bdp.Count("s", equals=1), epsilon=1.0, frame=frame.drop("t"), record=0)
