"""The weaker assumptions of each type of model; a model of an extension has none."""

from __future__ import annotations

import bayesdp as bdp
from bayesdp.advice.alternatives import alternatives
from bayesdp.models import ChainLayout, Model


def test_independence_has_pairs_and_groups_of_ten_beside_it() -> None:
    model, query = bdp.Independent(), bdp.Sum("x", bounds=(0, 1))
    assert [weaker for _, weaker in alternatives(model)] == [bdp.ArbitraryGroups(2), bdp.ArbitraryGroups(10)]
    assert [bdp.leakage(weaker, query, tau=0.25).epsilon for _, weaker in alternatives(model)] == [0.5, 2.5]
    assert bdp.leakage(model, query, tau=0.25).epsilon == 0.25


def test_half_as_large_again_is_rounded_up_and_keeps_the_rest() -> None:
    (alternative,) = alternatives(bdp.ArbitraryGroups(5, group="g", unit="group", record="visit"))
    assert alternative.model == bdp.ArbitraryGroups(8, group="g", unit="group", record="visit")


def test_a_stretch_of_time_is_an_hour_a_day_or_seven_days() -> None:
    stretches = {"5m": "within an hour", "1h": "within a day", "1d": "within 7 days", "30d": "within 360 days"}
    for step, words in stretches.items():
        chain = bdp.OddsChain(9, column="s", layout=ChainLayout("t", step=step))
        assert words in alternatives(chain)[-1].condition
    years = bdp.OddsChain(9, column="s", layout=ChainLayout("year", "child", step=1), record="child")
    assert "within 12 years" in alternatives(years)[-1].condition
    visits = bdp.OddsChain(9, column="s", layout=ChainLayout("visit"), record="visit")
    assert "within 12 consecutive visits" in alternatives(visits)[-1].condition
    assert bdp.OddsChain(9, length=6).window == (6, "the whole chain")
    assert bdp.OddsChain(9, unit=12).window == (24, "24 consecutive records")


def test_a_chain_of_unlimited_odds_has_none() -> None:
    assert alternatives(bdp.MarkovChain([[0.5, 0.5], [1, 0]], length=10)) == ()


def test_one_of_several_models_has_those_of_each() -> None:
    one, other = bdp.ArbitraryGroups(2), bdp.OddsChain(9)
    assert alternatives(bdp.AnyOf(one, other)) == (*alternatives(one), *alternatives(other))


def test_every_type_of_ours_has_some() -> None:
    ours = [kind for kind in Model.types().values() if kind.__module__.startswith("bayesdp.")]
    assert {kind for kind in ours if alternatives.dispatch(kind) is alternatives.dispatch(Model)} == set()
