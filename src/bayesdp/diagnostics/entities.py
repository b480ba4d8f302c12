"""Tests of several chains under one model: equal probabilities, independence of each other, stationary first states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bayesdp._support.validation import Scalar, Values
from bayesdp.diagnostics.power import Power, scaled_chi_square
from bayesdp.diagnostics.ratio import ENOUGH, LikelihoodRatio, homogeneity
from bayesdp.diagnostics.report import Outcome, SingleTest, UntestableError, check, judged
from bayesdp.diagnostics.samples import ChainStatistics
from bayesdp.models import MarkovChain

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["begin_stationary", "between_entities", "independent_entities", "independent_entities_within"]

_DISPERSION = 1.2
"""A variance of the number of entities in a state that is off by this factor matters."""

_MOST_STATES = 20
"""The test of independent entities covers at most this many states, the most frequent ones."""


@check(
    "same for all entities",
    "Do all entities have the same transition probabilities? (Likelihood ratio of scipy.stats.chi2_contingency for "
    "each current state, over the entities with enough transitions.)",
)
def between_entities(statistics: ChainStatistics) -> Outcome:
    """Compare the transition probabilities of the entities with most records."""
    if statistics.entities is None:
        raise UntestableError("The transitions of each entity were not counted.")
    tables, compared = _comparable(statistics.entities)
    if compared < 2:
        raise UntestableError(
            f"Fewer than two entities are long enough to expect their more frequent transitions {ENOUGH} times each."
        )
    outcome = homogeneity(tables, sum(int(table.sum()) for table in tables)).outcome(
        "One chain describes all entities, as the model assumes.",
        "Entities differ. The guarantee is computed for an average chain; an entity whose records depend more strongly "
        "on each other leaks more than ε.",
        "Fit each entity, or each kind of entity, separately and combine them in an any-of model.",
        f"; {compared:,} of {statistics.entities_total:,} entities were long enough to compare",
    )
    return replace(outcome, values={**outcome.values, "entities_compared": compared})


def _comparable(entities: NDArray[np.int64]) -> tuple[list[NDArray[np.int64]], int]:
    """Return for each current state a table entities × next states fit for a test, and how many entities are in one.

    In a short chain, how often a state is left depends on the states that follow, so a test with given row sums is
    wrong. Entities too short to expect five of the second most frequent transition are left out, and rarer transitions
    are joined into one.
    """
    lengths = entities.sum(axis=(1, 2))
    tables, compared = [], np.zeros(len(entities), dtype=bool)
    for state in range(entities.shape[1]):
        share = entities[:, state].sum(axis=0) / max(int(lengths.sum()), 1)
        long = lengths * np.sort(share)[-2:][0] >= ENOUGH
        if long.sum() > 1:
            frequent = share * lengths[long].min() >= ENOUGH
            table = entities[long, state]
            tables.append(np.column_stack([table[:, frequent], table[:, ~frequent].sum(axis=1)]))
            compared |= long
    return tables, int(compared.sum())


@check(
    "independent entities",
    "Are entities independent of each other at the same time, given their own last records? (The variance of the "
    "number of entities in a state, beside that of independent entities; Holm's correction.)",
)
def independent_entities(statistics: ChainStatistics) -> Outcome:
    """Compare the variance of the number of entities in a state with that of independent entities.

    At each time the residual Z = Σ (1{next state} − its probability given the last) has variance V = Σ p(1 − p) if
    entities are independent. ΣZ² over times is then about a scaled chi-square variable with mean ΣV and its variance.
    """
    together = np.zeros((0, 1, 1)) if statistics.together is None else statistics.together
    shared = together[together.sum(axis=(1, 2)) > 1]
    if not len(shared):
        raise UntestableError(
            "No two entities have records at the same time, so the table cannot show whether they move together.",
            "Round the times of the order column, so that entities share times.",
        )
    return _moving_together(statistics.states, shared, np.broadcast_to(_laws(statistics.counts), shared.shape))


@check(
    "independent entities",
    "Are entities independent of each other at the same time, given their own last records and the stratum? (The "
    "variance of the number of entities in a state, beside that of independent entities; Holm's correction.)",
)
def independent_entities_within(states: Values, kinds: Sequence[NDArray[np.int64]]) -> Outcome:
    """Do the same with the transition probabilities of each stratum.

    kinds: for each stratum, the counts at each of its times, (times, states, states).
    """
    held = [kind for kind in kinds if len(kind)]
    laws = [np.broadcast_to(_laws(kind.sum(axis=0)), kind.shape) for kind in held]
    if not held:
        raise UntestableError("No two entities have records at the same time.")
    shared, expected = np.concatenate(held), np.concatenate(laws)
    several = shared.sum(axis=(1, 2)) > 1
    return _moving_together(states, shared[several], expected[several])


def _laws(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    laws: NDArray[np.float64] = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return laws


def _moving_together(states: Values, shared: NDArray[np.int64], laws: NDArray[np.float64]) -> Outcome:
    """Test the counts at each time, given the transition probabilities at each time."""
    arrivals = shared.sum(axis=(0, 1))
    frequent = np.argsort(-arrivals, kind="stable")[:_MOST_STATES]
    chosen = frequent[:1] if len(arrivals) == 2 else frequent
    tests = [test for state in chosen if (test := _dispersion(states[state], shared, laws[:, :, state], int(state)))]
    if not tests:
        raise UntestableError("There is nothing to compare: too few different transitions were seen.")
    return judged(
        tests,
        "Entities with records at the same time look independent, as the model assumes.",
        "Entities move together: their states at one time depend on each other, or all follow one clock. The guarantee "
        "assumes independent entities; records of other entities then reveal something that ε does not count.",
        "If the weather, the calendar or an event moves all of them, make one chain of their joint state, or use "
        "arbitrary groups over entities.",
        f"; {len(shared):,} times with records of several entities",
    )


def _dispersion(name: Scalar, shared: NDArray[np.int64], chances: NDArray[np.float64], state: int) -> SingleTest | None:
    """Compare the variance of the number of entities that enter a state; None if that number cannot vary.

    chances: its probabilities after each state, at each time.
    """
    from scipy.stats import chi2

    entities = shared.sum(axis=2)
    single = chances * (1 - chances)
    residuals = shared[:, :, state].sum(axis=1) - (entities * chances).sum(axis=1)
    variances = (entities * single).sum(axis=1)
    expected = float(variances.sum())
    spread = float(2 * (variances**2).sum() + (entities * single * (1 - 6 * single)).sum())
    if expected <= 0 or spread <= 0:
        return None
    freedom, unit = 2 * expected**2 / spread, spread / (2 * expected)
    dispersion = float((residuals**2).sum()) / expected
    statistic = dispersion * expected / unit
    p_value = min(2 * float(min(chi2.sf(statistic, freedom), chi2.cdf(statistic, freedom))), 1.0)

    def curve(times: float, level: float) -> float:
        return scaled_chi_square(freedom * times / len(shared), _DISPERSION, level / 2)

    return SingleTest(
        f"state {name}",
        f"variance ratio {dispersion:.3g}",
        p_value,
        "1 for independent entities",
        not 1 / _DISPERSION < dispersion < _DISPERSION,
        {"statistic": statistic, "degrees_of_freedom": freedom, "variance_ratio": dispersion},
        Power(curve, len(shared), "times", f"a variance {_DISPERSION:g} times that of independent entities"),
    )


@check(
    "start",
    "Do chains start in the stationary law of the model? (Goodness of fit of the entities' first states by "
    "scipy.stats.power_divergence.)",
)
def begin_stationary(statistics: ChainStatistics, model: MarkovChain) -> Outcome:
    """Compare the first states of the entities with the stationary law."""
    if statistics.starts is None or not statistics.starts.any():
        raise UntestableError("The first records of entities were not counted.")
    if not model.is_irreducible:
        raise UntestableError("The chain has no unique stationary law.")
    starts = statistics.starts[None]
    expected = starts.sum() * model.stationary[None]
    return LikelihoodRatio.of([(starts, expected, starts.size - 1)], int(starts.sum()), "entities").outcome(
        "The first records follow the stationary law, as the model assumes.",
        "The first records do not follow the stationary law that the model assumes, so the computed leakage between "
        "them is wrong.",
        'Fit or give the model with "any" as its start.',
    )
