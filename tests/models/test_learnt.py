"""Noisy transition counts, and the odds ratio they teach."""

import math
from itertools import product
from typing import Any

import numpy as np
import polars
import pytest

from bayesdp import Model, OddsChain
from bayesdp.errors import ModelError
from bayesdp.frames.transitions import transitions
from bayesdp.models.layout import ChainLayout
from bayesdp.models.learnt import Learnt, _true_counts, sensitivity
from bayesdp.models.strata import credible_log_odds

TABLE = (((8830, 880), (880, 2950)),)
CHAIN = OddsChain(1000, states=["off", "on"], column="s")


def learnt(tau: float = 1.0, credibility: float = 0.95, counts: Any = TABLE, ceiling: float = 1e6) -> Learnt:
    return Learnt(ceiling, tau, credibility, counts)


def counts_of(values: tuple[int, ...], memory: int, **columns: Any) -> dict[tuple[Any, ...], int]:
    """Return the transition counts of one sequence by stratum and cell."""
    frame = polars.DataFrame({"t": range(len(values)), "s": values, **columns})
    within = ["w"] if "w" in columns else []
    layout = ChainLayout("t", "e" if "e" in columns else ())
    seen = transitions(frame, "s", layout, memory=memory, within=within)
    tables = {stratum.values[0]: stratum.counts for stratum in seen.strata} or {(): seen.counts}
    return {
        (values, *(seen.states[place] for place in cell)): int(count)
        for values, table in tables.items()
        for cell, count in np.ndenumerate(np.array(table))
    }


@pytest.mark.parametrize(
    "columns", [{}, {"w": [0, 1, 0, 0, 1, 1, 0]}, {"e": [0, 0, 0, 0, 1, 1, 1]}], ids=["", "w", "e"]
)
@pytest.mark.parametrize("memory", [1, 2, 3])
def test_a_replaced_record_moves_the_counts_by_the_sensitivity(memory: int, columns: Any) -> None:
    every = {
        values: counts_of(values, memory, **columns) for values in product((0, 1), repeat=7) if len(set(values)) > 1
    }
    moved = 0
    for values, counts in every.items():
        for place in range(7):
            other = every.get((*values[:place], 1 - values[place], *values[place + 1 :]))
            if other is not None:
                cells = counts.keys() | other.keys()
                moved = max(moved, sum(abs(counts.get(cell, 0) - other.get(cell, 0)) for cell in cells))
    assert moved <= sensitivity(memory)
    if not columns:
        assert moved == sensitivity(memory)


def test_with_little_noise_it_is_the_posterior_of_the_counts() -> None:
    exact, _ = credible_log_odds(TABLE, 0.95)
    assert math.log(learnt(tau=1e4).odds) == pytest.approx(exact, abs=0.01)


def test_true_counts_are_drawn_from_their_posterior() -> None:
    """The share of each count is that of the noise times Jeffreys's prior, added up by hand."""
    for noisy, scale in ((3, 2.0), (-6, 3.0), (40, 4.0)):
        weights = np.array(
            [math.exp(-abs(n - noisy) / scale) * math.gamma(n + 0.5) / math.gamma(n + 1) for n in range(150)]
        )
        drawn = _true_counts(noisy, scale, 40_000, np.random.default_rng(0))
        shares = np.bincount(drawn.astype(int), minlength=150) / 40_000
        assert np.abs(np.cumsum(shares) - np.cumsum(weights / weights.sum())).max() < 0.012


def test_more_noise_or_credibility_raises_odds_up_to_the_ceiling() -> None:
    by_tau = [learnt(tau=tau).odds for tau in (1.0, 0.1, 0.03, 0.01)]
    by_share = [learnt(tau=0.1, credibility=share).odds for share in (0.5, 0.9, 0.99)]
    assert by_tau == sorted(set(by_tau))
    assert by_share == sorted(set(by_share))
    assert learnt(tau=0.001, ceiling=30).odds == 30


def test_negative_counts_say_that_a_cell_may_be_empty() -> None:
    assert learnt(counts=(((8830, -3), (880, 2950)),), ceiling=1e9).odds > 1000


def test_an_empty_stratum_leaves_everything_possible() -> None:
    two = Learnt(1e9, 1.0, 0.95, (*TABLE, ((0, 0), (0, 0))), ("hour",), ((1,), (2,)))
    assert two.odds > 1e4 > learnt().odds


def test_a_memory_of_two_has_the_odds_of_blocks() -> None:
    counts = ([[[8828, 879], [491, 804]], [[879, 416], [804, 2151]]],)
    two = learnt(tau=1e4, counts=counts)
    assert (two.memory, two.scale) == (2, 6 / 1e4)
    assert math.exp(3.742651) < two.odds < 1.2 * math.exp(3.742651)


def test_the_same_table_teaches_the_same_and_travels() -> None:
    model = CHAIN.with_learnt(Learnt(1000, 0.5, 0.9, (*TABLE, *TABLE), ("hour",), ((1,), (2,))))
    again = Model.from_json(model.to_json())
    assert again == model
    assert hash(again) == hash(model)
    assert isinstance(again, OddsChain)
    assert again.learnt is not None
    assert again.odds == Learnt.from_dict(again.learnt.to_dict()).odds
    assert model.opened_as == CHAIN
    assert not model.estimated
    assert "learnt by a private release" in model.summary()
    assert "2 strata by hour" in model.summary()


@pytest.mark.parametrize(
    "change",
    [
        {"ceiling": 0.5},
        {"tau": 0},
        {"tau": 1e-6},
        {"tau": float("nan")},
        {"credibility": 1},
        {"credibility": 0},
        {"counts": [[[1, 2], [3]]]},
        {"counts": [[1, 2], [3, 4]]},
        {"counts": [[[1, 2.5], [3, 4]]]},
        {"counts": [[[1, True], [3, 4]]]},
        {"counts": [[[1, 2**70], [3, 4]]]},
        {"counts": []},
        {"counts": [[[1, 2], [3, 4]]] * 2},
        {"counts": "many"},
        {"within": ["hour"]},
        {"strata": [[1]]},
        {"strata": [[], []]},
        {"unknown": 1},
    ],
)
def test_documents_that_hold_no_private_fit_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ModelError):
        Learnt.from_dict({**learnt().to_dict(), **change})
    with pytest.raises(ModelError):
        Learnt.from_dict({"tau": 1})


def test_models_refuse_what_does_not_go_with_what_was_learnt() -> None:
    from_table = learnt(ceiling=1000)
    changes: list[dict[str, Any]] = [{"odds": 2000}, {"memory": 2}, {"states": ["a", "b", "c"]}, {"learnt": "somehow"}]
    for change in changes:
        entries: dict[str, Any] = {"odds": 20, "learnt": from_table, **change}
        with pytest.raises(ModelError):
            OddsChain(**entries)


@pytest.mark.parametrize("tau", [0.05, 0.2, 1.0])
@pytest.mark.parametrize("matrix", [((0.9, 0.1), (0.35, 0.65)), ((0.97, 0.03), (0.2, 0.8))])
def test_credible_odds_cover_the_true_ones_as_often_as_stated(matrix: Any, tau: float) -> None:
    """A small version of benchmarks/coverage.py: 100 chains of 3,000 records, within three standard errors."""
    generator, chains, rows = np.random.default_rng(1), 100, np.array(matrix)
    counts, state = np.zeros((chains, 2, 2), dtype=np.int64), np.zeros(chains, dtype=np.int64)
    for _ in range(3000):
        following = (generator.random(chains) < rows[state, 1]).astype(np.int64)
        counts[np.arange(chains), state, following] += 1
        state = following
    kept = 1 - math.exp(-tau / 4)
    noisy = counts + generator.geometric(kept, counts.shape) - generator.geometric(kept, counts.shape)
    true = rows[0, 0] * rows[1, 1] / (rows[0, 1] * rows[1, 0])
    covered = np.mean([learnt(tau, counts=[table.tolist()]).odds >= true for table in noisy])
    assert covered >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / chains)
