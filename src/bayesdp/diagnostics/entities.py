"""Several chains under one model: are they alike, independent of each other, and do they begin where they should?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bayesdp._support.validation import Scalar
from bayesdp.diagnostics.cases import SingleTest, judged
from bayesdp.diagnostics.power import Power, scaled_chi_square
from bayesdp.diagnostics.ratio import ENOUGH, LikelihoodRatio, homogeneity
from bayesdp.diagnostics.report import Outcome, UntestableError, check
from bayesdp.diagnostics.samples import ChainStatistics
from bayesdp.models import MarkovChain

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["begin_stationary", "between_entities", "independent_entities"]

_DISPERSION = 1.2
"""A count of entities in one state whose variance is off by this factor is not one of independent entities."""

_MOST_CASES = 20
"""The test of independent entities looks at so many states, the most frequent ones."""


@check(
    "same for all entities",
    "Do all entities have the same transition probabilities? (Likelihood ratio of scipy.stats.chi2_contingency for "
    "each current state, over the entities with enough transitions.)",
)
def between_entities(statistics: ChainStatistics) -> Outcome:
    """Compare the transition probabilities of the entities with most records."""
    if statistics.entities is None:
        raise UntestableError("The transitions of single entities were not counted.")
    tables, compared = _comparable(statistics.entities)
    if compared < 2:
        raise UntestableError(
            f"Fewer than two entities are long enough to expect their more frequent transitions {ENOUGH} times each."
        )
    outcome = homogeneity(tables, sum(int(table.sum()) for table in tables)).reported(
        "One chain describes all entities, as the model assumes.",
        "Entities differ. The guarantee is computed for an average chain; an entity whose records depend more strongly "
        "on each other leaks more.",
        "Fit each entity, or each kind of entity, by itself and combine them with AnyOf.",
        f"; {compared:,} of {statistics.entities_total:,} entities were long enough to compare",
    )
    return replace(outcome, values={**outcome.values, "entities_compared": compared})


def _comparable(entities: NDArray[np.int64]) -> tuple[list[NDArray[np.int64]], int]:
    """Return for each current state a table entities × next states fit for a test, and how many entities are in one.

    In a short chain, how often a state is left depends on where it goes, and a test with given row sums is wrong. So
    entities stay out whose length makes them expect fewer than five of even the second most frequent transition, and
    transitions rarer than that are joined into one.
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
    """Compare how much the number of entities in a state varies with what independent entities would do.

    At each time the residual Z = Σ (1{next state} − its probability given the last) has variance V = Σ p(1 − p) if
    entities are independent. ΣZ² over times is then about a scaled chi-square variable with mean ΣV and its variance.
    """
    together = np.zeros((0, 1, 1)) if statistics.together is None else statistics.together
    shared = together[together.sum(axis=(1, 2)) > 1]
    if not len(shared):
        raise UntestableError(
            "No two entities have records at the same time, so whether they move together cannot be seen.",
            "Round the times of the order column, so that entities share them.",
        )
    left = statistics.counts.sum(axis=1, keepdims=True)
    laws = statistics.counts / np.maximum(left, 1)
    arrivals = statistics.counts.sum(axis=0)
    frequent = np.argsort(-arrivals, kind="stable")[:_MOST_CASES]
    chosen = frequent[:1] if len(arrivals) == 2 else frequent
    cases = [case for state in chosen if (case := _dispersion(statistics.states[state], shared, laws, int(state)))]
    if not cases:
        raise UntestableError("There is nothing to compare: too few different transitions were seen.")
    return judged(
        cases,
        "Entities that are seen at the same time look independent, as the model takes them to be.",
        "Entities move together: their states at one time depend on each other, or all follow one clock. The guarantee "
        "takes entities for independent; records of others then tell about a record, too, and ε does not count this.",
        "If one weather, one calendar or one event moves all of them, make one chain of their joint state, or use "
        "ArbitraryGroups over entities.",
        f"; {len(shared):,} times at which several entities are seen",
    )


def _dispersion(name: Scalar, shared: NDArray[np.int64], laws: NDArray[np.float64], state: int) -> SingleTest | None:
    """Compare the variance of the number of entities that come into a state, or return None if it cannot vary."""
    from scipy.stats import chi2

    entities, chances = shared.sum(axis=2), laws[:, state]
    single = chances * (1 - chances)
    residuals = shared[:, :, state].sum(axis=1) - entities @ chances
    expected = float((entities @ single).sum())
    spread = float(2 * ((entities @ single) ** 2).sum() + (entities @ (single * (1 - 6 * single))).sum())
    if expected <= 0 or spread <= 0:
        return None
    freedom, unit = 2 * expected**2 / spread, spread / (2 * expected)
    dispersion = float((residuals**2).sum()) / expected
    statistic = dispersion * expected / unit
    p_value = min(2 * float(min(chi2.sf(statistic, freedom), chi2.cdf(statistic, freedom))), 1.0)

    def power(level: float) -> Power:
        def curve(times: float) -> float:
            return scaled_chi_square(freedom * times / len(shared), _DISPERSION, level / 2)

        return Power(curve, len(shared), "times", f"a variance {_DISPERSION:g} times that of independent entities")

    return SingleTest(
        f"state {name}",
        f"variance ratio {dispersion:.3g}",
        p_value,
        "1 for independent entities",
        not 1 / _DISPERSION < dispersion < _DISPERSION,
        {"statistic": statistic, "degrees_of_freedom": freedom, "variance_ratio": dispersion},
        power,
    )


@check(
    "start",
    "Do chains begin in the stationary law of the model? (Goodness of fit of the entities' first states by "
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
    return LikelihoodRatio.of([(starts, expected, starts.size - 1)], int(starts.sum()), "entities").reported(
        "Entities begin as the stationary law says.",
        "Entities do not begin in the stationary law, as the model says: what the first records tell about each other "
        "is computed wrongly.",
        'Fit or give the model with start="any".',
    )
