"""Releases about records in a network, and about what hidden states emit."""

from pathlib import Path

import polars as pl
import pytest

from bayesdp import Count, HiddenMarkov, Network, Session
from bayesdp.errors import RefusedError
from bayesdp.models import ChainLayout

ROOMS = pl.DataFrame({"seat": [0, 1, 2, 3] * 2, "room": [1] * 4 + [2] * 4, "ill": [0, 1] * 4})
SQUARE = Network(
    edges=[(0, 1, 1.5), (1, 2, 1.5), (2, 3, 1.5), (0, 3, 1.5)],
    records=4,
    group="room",
    position="seat",
    column="ill",
    record="pupil",
)
HIDDEN = HiddenMarkov(
    [[0.9, 0.1], [0.1, 0.9]], [[0.8, 0.2], [0.3, 0.7]], column="ill", layout=ChainLayout("seat", "room"), unit=2
)


@pytest.mark.parametrize(
    ("model", "theorem", "protected"),
    [(SQUARE, "odds-elimination", "one pupil"), (HIDDEN, "odds-tree", "any 2 consecutive records together")],
)
def test_a_release_names_its_theorem_and_its_adversary(
    model: Network | HiddenMarkov, theorem: str, protected: str, tmp_path: Path
) -> None:
    with Session(ROOMS, model, epsilon=2.0, ledger=f"sqlite:///{tmp_path}/budget.db", dataset="rooms") as session:
        answer = session.release(Count("ill", equals=1), epsilon=1.0)
        together = session.release(Count("ill", equals=0), epsilon=0.5)
    assert answer.theorem == theorem
    assert answer.protects.startswith(protected)
    assert "any noisy observation of each of the others" in answer.scope
    assert "unsure how they depend is not covered" in answer.scope
    assert together.epsilon_total <= 1.5 + 1e-9


def test_a_table_of_another_network_is_refused_uncharged(tmp_path: Path) -> None:
    ledger = f"sqlite:///{tmp_path}/budget.db"
    with pytest.raises(RefusedError) as refusal:
        Session(ROOMS.with_columns(seat=pl.lit(2)), SQUARE, epsilon=2.0, ledger=ledger, dataset="rooms")
    assert "position" not in str(refusal.value)
    with Session(ROOMS, SQUARE, epsilon=2.0, ledger=ledger, dataset="rooms") as session:
        assert session.release(Count("ill", equals=1), epsilon=1.0).epsilon_total <= 1.0
