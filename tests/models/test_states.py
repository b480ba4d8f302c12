"""A model has only so many states; more are refused by their number, before anything is computed."""

from typing import Any

import numpy as np
import polars
import pytest

import bayesdp as bdp
from bayesdp.errors import InvalidInputError, ModelError, RecordsError
from bayesdp.models import Model
from bayesdp.models.states import check_states

HUGE = 200_000


def uniform(*shape: int) -> Any:
    return np.full(shape, 1 / shape[-1])


class Untouched(list[Any]):
    """A list that can be measured, but of which only the first entry is read."""

    def __iter__(self) -> Any:
        raise AssertionError("an entry was read")


@pytest.mark.parametrize(
    "build",
    [
        lambda: bdp.OddsChain(2.0, states=Untouched(range(HUGE))),
        lambda: bdp.MarkovChain([[1.0]], states=Untouched(range(HUGE))),
        lambda: bdp.MarkovChain(uniform(501, 501)),
        lambda: bdp.MarkovChain(Untouched([[1.0]] * HUGE)),
        lambda: bdp.MarkovChain([[1.0]], counts=Untouched([[1]] * HUGE)),
        lambda: bdp.MarkovChain.from_counts(Untouched([[1]] * HUGE)),
        lambda: bdp.MarkovChain.from_counts(Untouched([[[1]]] * HUGE), memory=2),
        lambda: bdp.MarkovChain(Untouched([[[1.0]]] * HUGE), memory=2),
        lambda: bdp.HiddenMarkov(uniform(501, 501), uniform(501, 2)),
        lambda: bdp.HiddenMarkov(uniform(2, 2), uniform(2, 501)),
        lambda: bdp.HiddenMarkov(uniform(2, 2), [uniform(501), uniform(501)]),
        lambda: bdp.OddsChain.of([uniform(501, 501)]),
        lambda: Model.from_dict({"type": "odds-chain", "odds": 2.0, "length": None, "states": list(range(HUGE))}),
        lambda: Model.from_dict({"type": "markov", "transition": uniform(501, 501).tolist(), "length": None}),
    ],
)
def test_too_many_states_are_refused_at_once(build: Any) -> None:
    with pytest.raises(ModelError, match=r": \d+ states are too many, a model has at most 500; .* BAYESDP_MAX_STATES "):
        build()


def test_as_many_as_may_be() -> None:
    assert len(bdp.OddsChain(2.0, states=range(500)).states) == 500
    assert bdp.HiddenMarkov(uniform(2, 2), uniform(2, 500)).states == tuple(range(500))


def test_a_memory_counts_states_not_what_is_remembered() -> None:
    assert bdp.MarkovChain(uniform(30, 30, 30), memory=2).memory == 2


def test_the_variable_allows_more_or_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAYESDP_MAX_STATES", "501")
    assert len(bdp.OddsChain(2.0, states=range(501)).states) == 501
    monkeypatch.setenv("BAYESDP_MAX_STATES", "1")
    with pytest.raises(ModelError, match="transition: 2 states are too many, a model has at most 1;"):
        bdp.MarkovChain(uniform(2, 2))
    monkeypatch.setenv("BAYESDP_MAX_STATES", "many")
    with pytest.raises(InvalidInputError, match="BAYESDP_MAX_STATES must be a whole number from 1 to 1000"):
        bdp.MarkovChain(uniform(2, 2))


def test_what_is_no_list_is_left_to_others() -> None:
    check_states(states=None, transition="x" * 1000, counts=7, emission=b"y" * 1000)
    with pytest.raises(ModelError, match="transition must be a list"):
        bdp.MarkovChain("x" * 1000)


@pytest.mark.parametrize("kind", [bdp.MarkovChain, bdp.OddsChain])
def test_a_fit_finds_too_many_states_in_the_table(kind: Any) -> None:
    frame = polars.DataFrame({"t": range(20_000), "s": range(20_000)})
    with pytest.raises(
        RecordsError, match=r"'s' has 20000 different values, but a chain has at most 500 states; .*MAX"
    ):
        kind.fit(frame, state="s", order_by="t")
