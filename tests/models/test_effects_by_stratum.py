"""Effects that differ by stratum: the fit, the draws, and what a series of the largest ones leaks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from bayesdp.errors import ModelError
from bayesdp.frames.patterns import Patterns
from bayesdp.models import pair_regression as module
from bayesdp.models.effects_by_stratum import EffectsByStratum
from bayesdp.models.pair_effects import PairEffects, credible_odds
from bayesdp.models.pair_regression import effects_by_stratum, fitted_effects


def several(spread: float, strata: int = 12, error: float = 0.1) -> EffectsByStratum:
    effects = [[1.5 + spread * value] for value in np.linspace(-1, 1, strata)]
    covariance = (error**2 * np.eye(strata + 1)).tolist()
    return EffectsByStratum(["hour"], 1, [[(hour,)] for hour in range(strata)], effects, [[0.3]], covariance)


def drawn(fitted: EffectsByStratum, draws: int = 4000) -> tuple[Any, Any]:
    return fitted.drawn(draws, np.random.default_rng(5))


def test_strata_that_look_alike_are_drawn_together() -> None:
    alike, apart = drawn(several(0.0))[0], drawn(several(1.0))[0]
    assert alike.shape == (4000, 12, 1)
    assert alike.std(axis=0).mean() < 0.06
    assert apart.std(axis=0).mean() == pytest.approx(0.1, rel=0.1)
    assert apart.mean(axis=0)[:, 0] == pytest.approx(np.linspace(0.5, 2.5, 12), abs=0.05)


def test_few_strata_do_not_spread_without_limit() -> None:
    near, far = drawn(several(0.2, strata=2))
    assert np.quantile(near, 0.99) < 2.1
    assert far.mean() == pytest.approx(0.3, abs=0.01)


def test_merged_strata_may_differ_as_much_as_the_others() -> None:
    """The last two hours have one estimate. Each of the two is drawn around it, as far as other hours are apart."""
    hours: list[list[tuple[Any, ...]]] = [[(hour,)] for hour in range(11)]
    merged = replace(several(0.5), strata=[*hours, [(11,), (12,)]])
    near, _ = drawn(merged)
    assert near.shape == (4000, 13, 1)
    apart = (near[:, 11] - near[:, 12]).std()
    assert 0.32 * np.sqrt(2) * 0.9 < apart < 0.32 * np.sqrt(2) * 1.5
    assert "hour 11, 12" in merged.called()


def pooled(by_stratum: EffectsByStratum | None) -> PairEffects:
    return PairEffects([[1.5], [0.3]], (0.001 * np.eye(2)).tolist(), 9000, by_stratum=by_stratum)


def test_the_odds_are_those_of_the_largest_effects() -> None:
    without, alike, apart = (credible_odds(pooled(each), 0.95, True) for each in (None, several(0.0), several(0.5)))
    assert without[0] < alike[0] < apart[0]
    assert apart[0] == pytest.approx(np.exp(2.0), rel=0.3)


def test_effects_that_push_both_ways_do_not_add_up() -> None:
    with pytest.raises(ModelError, match="same way"):
        credible_odds(pooled(several(3.0)), 0.95, True)
    assert credible_odds(pooled(several(3.0)), 0.95, False)[0] > 50


def test_they_come_back_from_json() -> None:
    fitted = pooled(several(0.5))
    assert PairEffects.from_dict(fitted.to_dict()) == fitted
    assert "by_stratum" not in pooled(None).to_dict()
    assert "may differ by hour" in fitted.called()


@pytest.mark.parametrize(
    "given",
    [
        {"apart": 0},
        {"strata": [[(0,)]]},
        {"effects": [[1.0, 2.0], [1.0]] * 6},
        {"covariance": [[1.0]]},
        {"common": [["a"]]},
    ],
)
def test_what_does_not_fit_together_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ModelError):
        replace(several(0.1), **given)


def test_they_belong_to_the_effects_of_all_strata() -> None:
    with pytest.raises(ModelError, match="same distances"):
        PairEffects([[1.5]], [[0.01]], 9000, by_stratum=several(0.1))
    document = pooled(several(0.1)).to_dict()
    with pytest.raises(ModelError, match="by_stratum"):
        PairEffects.from_dict({**document, "by_stratum": {"within": ["hour"]}})


def alternating(effects: list[list[float]], records: int, block: int = 40) -> Patterns:
    """Count a series whose strata come in turn, in blocks; a pair has the effects of the earlier record's stratum."""
    generator, reach, strata = np.random.default_rng(3), len(effects[0]), len(effects)
    stratum = np.arange(records) // block % strata
    table, values = np.array(effects), np.zeros(records, dtype=np.int64)
    for _ in range(30):  # Gibbs's sampler, record by record in turn: those more than the reach apart together
        for start in range(reach + 1):
            place = np.arange(start, records, reach + 1)
            logit = np.full(len(place), -1.6)
            for apart in range(1, reach + 1):
                before, after = place - apart, np.minimum(place + apart, records - 1)
                there = before >= 0
                logit += np.where(there, table[stratum[before], apart - 1] * values[before], 0)
                logit += np.where(place + apart < records, table[stratum[place], apart - 1] * values[after], 0)
            values[place] = generator.random(len(place)) < 1 / (1 + np.exp(-logit))
    middle = np.arange(reach, records - reach)
    code = sum(values[middle + step] * 2 ** (reach - step) for step in range(-reach, reach + 1))
    keys = np.column_stack([stratum[middle], code, *(stratum[middle - back] for back in range(reach + 1))])
    rows, counts = np.unique(keys, axis=0, return_counts=True)
    names = tuple((number,) for number in range(strata))
    return Patterns(
        (0, 1), reach, names, rows[:, 0], rows[:, 1], counts, records, records, False, kinds=names, kind=rows[:, 2:]
    )


@pytest.mark.parametrize("apart", [1, 2])
def test_derivatives_are_those_of_the_likelihood(apart: int) -> None:
    seen = alternating([[1.0, 0.2], [2.0, 0.2]], 400, block=3)
    rows = module._rows(seen, np.arange(2), 2, fold=False, kind=seen.kind)
    rows = replace(rows, features=partial(module._by_kind, states=2, used=2, apart=apart, kinds=2))
    point = np.linspace(-0.5, 0.5, 4 + apart)
    _, gradient, information = module._likelihood(rows, 2, 1, point)
    for place, unit in enumerate(1e-5 * np.eye(len(point))):
        above, below = (module._likelihood(rows, 2, 1, point + sign * unit) for sign in (1, -1))
        assert (above[0] - below[0]) / 2e-5 == pytest.approx(gradient[place], rel=1e-5, abs=1e-4)
        assert (below[1] - above[1]) / 2e-5 == pytest.approx(information[place], rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("block", [1, 40])
def test_pairs_belong_to_the_stratum_of_the_earlier_record(block: int) -> None:
    """Also where the stratum changes at every record, and so inside every pair. The seed of the records is fixed."""
    seen = alternating([[0.6, 0.3], [2.0, 0.3]], 12_000, block)
    found = effects_by_stratum(seen, ["half"], 1, simulated=2**14)
    errors = np.sqrt(np.diag(found.covariance))
    truth = np.array([0.6, 2.0, 0.3])
    estimates = np.concatenate([np.ravel(found.effects), np.ravel(found.common)])
    assert (np.abs(estimates - truth) < 5 * errors).all()
    assert errors.max() < 0.15


def test_rare_pairs_are_merged_or_refused() -> None:
    seen = alternating([[1.0], [1.2], [1.1]], 3000)
    rare = replace(seen, count=np.where(seen.kind[:, 1] == 2, np.minimum(seen.count, 3), seen.count))
    assert [len(values) for values in effects_by_stratum(rare, ["third"], 1, simulated=2**12).strata] == [1, 2]
    with pytest.raises(ModelError, match="too rarely"):
        effects_by_stratum(alternating([[1.0], [1.2]], 250), ["half"], 1)


def test_strata_alike_are_fitted_as_all_records_together() -> None:
    seen = alternating([[1.5], [1.5]], 6000)
    found, together = effects_by_stratum(seen, ["half"], 1, simulated=2**13), fitted_effects(seen, (), simulated=2**13)
    assert np.mean(found.effects) == pytest.approx(together.effects[0][0], abs=0.1)
    assert np.array(found.covariance).sum() / 4 == pytest.approx(together.covariance[0][0], rel=0.15)
