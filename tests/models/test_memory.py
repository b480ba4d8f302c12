"""Chains with memory: which are accepted and refused, and that none is treated as a chain without memory."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import polars
import pytest

from bayesdp import Count, MarkovChain, Model, Session, calibrate, leakage
from bayesdp.audit import oracle
from bayesdp.calibration.prior_art import Chakrabarti2022, ProvenResponse
from bayesdp.errors import BayesDPError, InvalidInputError, ModelError
from bayesdp.models.memory import block_kernel, block_log_odds, joint_law, lifted, stationary_law

COUNTS = [[[8828, 879], [491, 804]], [[879, 416], [804, 2151]]]
ACTIVITY = MarkovChain.from_counts(COUNTS, memory=2, states=["idle", "active"], column="steps", length=1000)
TABLE = [[[0.9, 0.1], [0.4, 0.6]], [[0.7, 0.3], [0.2, 0.8]]]


def random_table(memory: int, states: int = 2, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(states), (states,) * memory)


def test_json_goes_round() -> None:
    document = ACTIVITY.to_dict()
    assert document["memory"] == 2
    assert document["counts"] == COUNTS
    assert Model.from_dict(document) == ACTIVITY
    assert Model.from_json(ACTIVITY.to_json()) == ACTIVITY
    assert "memory" not in MarkovChain([[0.5, 0.5], [0.5, 0.5]]).to_dict()
    assert hash(ACTIVITY) == hash(Model.from_dict(document))


def test_the_design_s_json() -> None:
    chain = Model.from_dict({"type": "markov", "transition": TABLE, "memory": 2, "length": None, "start": "any"})
    assert isinstance(chain, MarkovChain)
    assert chain.table.shape == (2, 2, 2)
    assert chain.states == (0, 1)


def test_says_what_is_assumed() -> None:
    assert "2 states, a memory of 2 records and the given transition probabilities" in ACTIVITY.assumption
    assert "idle, active" in ACTIVITY.parameters
    assert "blocks of 2 records: at most 42.21" in ACTIVITY.parameters
    assert "of 8828 + 879" in ACTIVITY.summary()


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"transition": [[0.5, 0.5], [0.5, 0.5]], "memory": 2}, r"transition\[0\]\[0\] must be a list"),
        ({"transition": TABLE}, "more levels than rows and columns; say memory="),
        ({"transition": TABLE, "memory": 0}, "memory"),
        ({"transition": TABLE, "memory": 1.5}, "memory"),
        ({"transition": [], "memory": 2}, "empty"),
        ({"transition": [TABLE[0], [[0.7, 0.3]]], "memory": 2}, r"transition\[1\] must have 2 entries"),
        ({"transition": [TABLE[0], [[0.7, 0.4], [0.2, 0.8]]], "memory": 2}, r"transition\[1\], row 0 must sum to 1"),
        ({"transition": [TABLE[0], [[1.5, -0.5], [0.2, 0.8]]], "memory": 2}, "must be a probability"),
        ({"transition": TABLE, "memory": 2, "counts": [[1, 2], [3, 4]]}, "counts"),
        ({"transition": TABLE, "memory": 2, "counts": COUNTS}, "disagree"),
        ({"transition": TABLE, "memory": 2, "counts": np.full((2, 2, 2), 0.5).tolist()}, "whole numbers"),
        ({"transition": TABLE, "memory": 2, "states": ["a", "b", "c"]}, "states"),
        (
            {"transition": [[[1, 0], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]], "memory": 2},
            "cannot turn from 0, 0 into 0, 1",
        ),
    ],
)
def test_refuses(entries: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Model.from_dict({"type": "markov"} | entries)


def test_an_empty_row_of_counts_is_refused() -> None:
    with pytest.raises(ModelError, match="row 1 is empty"):
        MarkovChain.from_counts([[[1, 1], [0, 0]], [[1, 1], [1, 1]]], memory=2)
    smoothed = MarkovChain.from_counts([[[1, 1], [0, 0]], [[1, 1], [1, 1]]], memory=2, smoothing=1)
    assert smoothed.transition[0][1] == (0.5, 0.5)


@pytest.mark.parametrize(
    "asked",
    [
        lambda chain: chain.matrix,
        lambda chain: chain.stationary,
        lambda chain: chain.gamma,
        lambda chain: chain.reversal(),
        lambda chain: chain.diagnose(polars.DataFrame({"t": [1, 2], "steps": ["idle", "active"]}), order_by="t"),
    ],
    ids=["matrix", "stationary", "gamma", "reversal", "diagnose"],
)
def test_what_is_about_one_record_of_memory_refuses(asked: Callable[[MarkovChain], object]) -> None:
    with pytest.raises(ModelError, match="memory"):
        asked(ACTIVITY)


def test_randomized_response_for_chains_refuses() -> None:
    query = Count("steps", equals="active")
    assert all(method.refusal(ACTIVITY, query) is not None for method in (Chakrabarti2022(), ProvenResponse()))


def test_one_adversary_is_bounded_by_group_privacy_only() -> None:
    chain = MarkovChain(TABLE, memory=2, length=4)
    with pytest.raises(BayesDPError):
        leakage(chain, Count(equals=1), tau=1.0, target=1, known=[0])


@pytest.mark.parametrize("memory", [2, 3, 4])
def test_stationary_law_and_blocks(memory: int) -> None:
    table = random_table(memory)
    law = stationary_law(table)
    assert law.sum() == pytest.approx(1)
    assert joint_law(table, law, memory + 1).sum(axis=0) == pytest.approx(law)
    assert lifted(table).sum(axis=1) == pytest.approx(np.ones(2**memory))
    half = (memory + 1) // 2
    kernel = block_kernel(table, half)
    assert kernel.sum(axis=-1) == pytest.approx(np.ones((2**half, 2**half)))
    joint = joint_law(table, law, 3 * half).reshape(kernel.shape)
    assert joint == pytest.approx(joint.sum(axis=-1, keepdims=True) * kernel)


@pytest.mark.parametrize("memory", [1, 2, 3])
def test_block_odds_are_those_of_the_definition(memory: int) -> None:
    table = random_table(memory, seed=3)
    law = joint_law(table, np.full((2,) * memory, 0.5**memory), 2 * memory).reshape(2**memory, 2**memory)
    largest = max(
        law[a, c] * law[b, d] / (law[a, d] * law[b, c]) for a, b, c, d in itertools.product(range(2**memory), repeat=4)
    )
    assert np.log(largest) <= block_log_odds(table) <= np.log(largest) + 1e-10


def test_block_odds_with_zeros_have_no_limit() -> None:
    assert block_log_odds(np.array([[[1, 0], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]])) == np.inf


def test_the_oracle_s_chain_has_the_model_s_transitions() -> None:
    chain = MarkovChain(TABLE, memory=2)
    joint = oracle.chain_joint(chain, 4)
    assert joint.sum() == pytest.approx(1)
    assert joint.sum(axis=0) / joint.sum(axis=(0, 3))[..., None] == pytest.approx(np.array(TABLE))
    assert oracle.chain_joint(chain, 1) == pytest.approx(joint.sum(axis=(1, 2, 3)))
    with pytest.raises(InvalidInputError):
        oracle.chain_joint(chain, 40)


def test_draws_are_chains_with_memory() -> None:
    generator = np.random.default_rng(1)
    drawn = list(itertools.islice(ACTIVITY.draws(generator), 50))
    assert {chain.memory for chain in drawn} == {2}
    assert np.mean([chain.table for chain in drawn], axis=0) == pytest.approx(ACTIVITY.table, abs=0.01)


@pytest.mark.slow
def test_a_posterior_costs_more_than_its_mode() -> None:
    careful = calibrate(ACTIVITY, Count("steps", equals="active"), epsilon=1.0, credibility=0.9)
    assert careful.tau < calibrate(ACTIVITY, Count("steps", equals="active"), epsilon=1.0).tau


def test_a_session_releases_under_it() -> None:
    frame = polars.DataFrame({"steps": ["idle", "active"] * 20})
    with Session(frame, ACTIVITY, epsilon=1.0, dataset="steps") as session:
        answer = session.release(Count("steps", equals="active"), epsilon=0.5)
    assert "markov-memory" in str(answer.guarantee)


def test_block_odds_outlive_products_that_underflow() -> None:
    """The last column of blocks, 1 and 1, has a probability below all floats after every block."""
    rare, rarer = 1e-190, 1e-200
    table = np.array([[[1.0, rarer], [1.0, rarer]], [[1.0, rarer], [1.0, rare]]])
    logs = np.log(table)
    after = (logs[:, :, :, None] + logs[None]).reshape(4, 4)
    ratios = [after[x, y] + after[z, w] - after[x, w] - after[z, y] for x, y, z, w in np.ndindex(4, 4, 4, 4)]
    assert max(ratios) <= block_log_odds(table) <= max(ratios) * (1 + 1e-9)
