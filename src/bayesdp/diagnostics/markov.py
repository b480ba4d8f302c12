"""Do the data follow a Markov chain? Likelihood ratios of the chain against what it leaves out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp import validation
from bayesdp.diagnostics.report import DOUBTFUL, Outcome, UntestableError, check, judge, shown_p
from bayesdp.errors import InvalidInputError
from bayesdp.models import MarkovChain
from bayesdp.models.diagnosis import Diagnosis, Verdict
from bayesdp.validation import Values, brief

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Part = tuple[NDArray[Any], NDArray[Any], int]

__all__ = ["ChainStatistics", "diagnose_chain"]

MOST_STATES = 50
"""Triples are counted for chains of at most this many states."""

ENOUGH = 5
"""Cochran's rule: a chi-square approximation wants expected counts of at least this."""

_SMALL_FACTOR = 1.05
"""A transition probability that is off by less than this factor hardly moves a leakage."""

_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class ChainStatistics:
    """What the tests of a chain need to know of the data, s being the number of states.

    states:         their names, in the order of the arrays.
    counts:         (s, s), how often each state was followed by each.
    triples:        (s, s, s), the same for three records in a row; None if not counted (more than 50 states).
    halves:         (2, s, s), the counts of the first and second half of each entity's time.
    entities:       (E, s, s), the counts of the E largest entities; None with a single one.
    entities_total: how many entities there are.
    records:        how many records there are.

    Raises InvalidInputError for arrays of another shape and for entries that are not counts.

    >>> pairs = [[60, 20], [20, 20]]
    >>> ChainStatistics(["idle", "active"], pairs, None, [pairs, pairs], None, 1, 121).counts.sum()
    np.int64(120)
    """

    states: Values
    counts: NDArray[np.int64] | Any
    triples: NDArray[np.int64] | Any | None
    halves: NDArray[np.int64] | Any
    entities: NDArray[np.int64] | Any | None
    entities_total: int
    records: int

    def __post_init__(self) -> None:
        states = validation.distinct("states", self.states)
        object.__setattr__(self, "states", states)
        square = (len(states),) * 2
        for name, before in {"counts": (), "triples": (len(states),), "halves": (2,), "entities": (-1,)}.items():
            value = getattr(self, name)
            if value is not None or name in ("counts", "halves"):
                object.__setattr__(self, name, _counted(name, value, (*before, *square)))
        for name in ("entities_total", "records"):
            object.__setattr__(self, name, validation.natural(name, getattr(self, name), least=0))


def diagnose_chain(statistics: ChainStatistics, model: MarkovChain) -> Diagnosis:
    """Test what the Markov theorems assume: order, homogeneity, enough data, gaps, the probabilities.

    Needs the statistics in the order of the model's states; raises InvalidInputError for other states.

    >>> pairs = [[600, 200], [200, 200]]
    >>> statistics = ChainStatistics([0, 1], pairs, None, [pairs, pairs], None, 1, 1201)
    >>> diagnosis = diagnose_chain(statistics, MarkovChain([[0.75, 0.25], [0.5, 0.5]]))
    >>> diagnosis.verdict, diagnosis.findings[2].figure.partition(',')[0]
    ('not tested', 'G² = 0.0 (Pearson 0.0) on 2 degrees of freedom')
    """
    if tuple(statistics.states) != tuple(model.states):
        raise InvalidInputError(
            f"the statistics are about the states {brief(list(statistics.states))}, "
            f"the model about {brief(list(model.states))}"
        )
    entities = statistics.entities_total
    return Diagnosis(
        model.assumption,
        (
            _dependence(statistics),
            _order(statistics),
            _over_time(statistics),
            _between_entities(statistics),
            _small_counts(statistics, model),
            _gaps(statistics, model),
            _fit(statistics, model),
        ),
        statistics.records,
        f"{statistics.records:,} records of {entities:,} {'entity' if entities == 1 else 'entities'}",
    )


@dataclass(frozen=True)
class _Ratio:
    """A larger model against a smaller: how much better it fits, and how far its probabilities are off the smaller's.

    change and factor are the largest over transitions that the smaller model expects at least five times.
    """

    likelihood: float
    pearson: float
    freedom: int
    size: int
    change: float
    factor: float

    @classmethod
    def of(cls, parts: Iterable[Part], size: int) -> _Ratio:
        """Add up tables (observed, expected, degrees of freedom), rows being laws of the next state."""
        from scipy.stats import power_divergence

        likelihood, pearson, freedom, change, factor = 0.0, 0.0, 0, 0.0, 1.0
        for observed, expected, degrees in parts:
            likelihood += float(power_divergence(observed, expected, axis=None, lambda_="log-likelihood").statistic)
            pearson += float(power_divergence(observed, expected, axis=None).statistic)
            freedom += degrees
            enough = expected >= ENOUGH
            if enough.any():
                off = np.abs(observed - expected) / observed.sum(axis=1, keepdims=True)
                change = max(change, float(off[enough].max()))
                ratios = np.log((observed[enough] + 0.5) / (expected[enough] + 0.5))
                factor = max(factor, float(np.exp(np.abs(ratios).max())))
        if not freedom:
            raise UntestableError("There is nothing to compare: too few different transitions were seen.")
        return cls(max(likelihood, 0.0), pearson, freedom, size, change, factor)

    @property
    def p_value(self) -> float:
        """The larger of the likelihood ratio's and Pearson's: with small counts either may be too small."""
        from scipy.stats import chi2

        return float(chi2.sf(min(self.likelihood, self.pearson), self.freedom))

    @property
    def bic(self) -> float:
        """The BIC of the larger model minus that of the smaller; below 0 the larger is preferred."""
        return self.freedom * math.log(self.size) - self.likelihood

    @property
    def verdict(self) -> Verdict:
        return judge(self.p_value, self.bic < 0 and self.factor >= _SMALL_FACTOR)

    @property
    def figure(self) -> str:
        degrees = f"{self.freedom} degree{'s' if self.freedom > 1 else ''} of freedom"
        return (
            f"G² = {self.likelihood:.1f} (Pearson {self.pearson:.1f}) on {degrees}, {shown_p(self.p_value)}; "
            f"a transition probability changes by at most {self.change:.2g}"
            + (f", or a factor of {self.factor:.3g}" if self.factor > 1 else "")
        )

    @property
    def values(self) -> dict[str, float]:
        return {
            "statistic": self.likelihood,
            "pearson": self.pearson,
            "degrees_of_freedom": self.freedom,
            "p_value": self.p_value,
            "bic_difference": self.bic,
            "largest_change": self.change,
            "largest_factor": self.factor,
        }

    def told(self, fine: str, flagged: str, advice: str, figure: str = "") -> Outcome:
        """Return the outcome, with what it means where the larger model is and is not needed."""
        meaning = {
            "fine": fine,
            "violated": flagged,
            "doubtful": f"{flagged} The deviation is significant, but small or not certain: the BIC prefers the "
            f"simpler model, or no probability is off by a factor of {_SMALL_FACTOR:g}, or p is not below 0.001. "
            "With many records small deviations become significant.",
        }
        verdict = self.verdict
        return Outcome(
            verdict, self.figure + figure, meaning[verdict], "" if verdict == "fine" else advice, self.values
        )


def _alike(tables: Iterable[NDArray[np.int64]], size: int) -> _Ratio:
    """Compare "every row of each table has its own law of the next state" with "all rows of a table share one"."""
    from scipy.stats import chi2_contingency

    def parts() -> Iterable[Part]:
        for table in tables:
            seen = table[table.any(axis=1)][:, table.any(axis=0)]
            if min(seen.shape) > 1:
                result = chi2_contingency(seen, correction=False)
                yield seen, result.expected_freq, int(result.dof)

    return _Ratio.of(parts(), size)


@check(
    "dependence",
    "Does the next record depend on the last at all? (Order 0 against order 1: likelihood ratio of "
    "scipy.stats.chi2_contingency.)",
)
def _dependence(statistics: ChainStatistics) -> Outcome:
    ratio = _alike([statistics.counts], int(statistics.counts.sum()))
    if ratio.p_value >= DOUBTFUL:
        meaning = "Independence is not rejected: Independent() may describe these data as well. The chain is safe."
    else:
        meaning = "It does, so independent records must not be assumed. The chain takes this into account."
    return Outcome("fine", ratio.figure, meaning, values=ratio.values)


@check(
    "order",
    "Does the next record depend on the last but one, too? (Order 1 against order 2: likelihood ratio of "
    "scipy.stats.chi2_contingency for each state in the middle, and BIC.)",
)
def _order(statistics: ChainStatistics) -> Outcome:
    if statistics.triples is None:
        raise UntestableError(
            f"The triples of consecutive records were not counted; that is done up to {MOST_STATES} states.",
            "Join states that are rare or alike.",
        )
    size = int(statistics.triples.sum())
    second = _alike(statistics.triples.swapaxes(0, 1), size)
    orders = {0: 0.0, 1: 0.0, 2: second.bic}
    try:
        orders[0] = -_alike([statistics.triples.sum(axis=0)], size).bic
    except UntestableError:
        del orders[0]
    least = min(orders, key=orders.__getitem__)
    shown = ", ".join(f"{bic:+.1f} for order {order}" for order, bic in orders.items() if order != 1)
    outcome = second.told(
        "The last record says all that is known about the next, as the Markov theorems assume.",
        "The last record does not say all about the next. An order-2 chain's leakage is not covered by this model: "
        "who knows how it depends on two records may learn more than the ε that is stated.",
        "Make states of two consecutive records (an order-2 chain is an order-1 chain of such pairs; the guarantee is "
        "then about a pair), or use ArbitraryGroups, which holds whatever the order.",
        f"; BIC against order 1: {shown}; the least is that of order {least}",
    )
    bics = {f"bic_order_{order}": bic for order, bic in orders.items()}
    values = {**outcome.values, **bics, "least_bic_order": least}
    return Outcome(outcome.verdict, outcome.figure, outcome.meaning, outcome.advice, values)


@check(
    "same over time",
    "Are the transition probabilities the same in the first and second half of the time? (Likelihood ratio of "
    "scipy.stats.chi2_contingency for each current state.)",
)
def _over_time(statistics: ChainStatistics) -> Outcome:
    return _alike(statistics.halves.swapaxes(0, 1), int(statistics.halves.sum())).told(
        "One set of transition probabilities serves the whole time, as the Markov theorems assume.",
        "The transition probabilities change over time. The guarantee is computed for an average that may hold at no "
        "time; where records depend more strongly on each other, more leaks.",
        "Fit each period by itself and combine them with AnyOf; this does not cover records close to a change.",
    )


@check(
    "same for all entities",
    "Do all entities have the same transition probabilities? (Likelihood ratio of scipy.stats.chi2_contingency, "
    "entities against next states, for each current state.)",
)
def _between_entities(statistics: ChainStatistics) -> Outcome:
    if statistics.entities is None or len(statistics.entities) < 2:
        raise UntestableError("There is only one entity.")
    tables, compared = _comparable(statistics.entities)
    if not compared:
        raise UntestableError(f"No two entities are long enough to expect different transitions {ENOUGH} times each.")
    return _alike(tables, sum(int(table.sum()) for table in tables)).told(
        "One chain describes all entities, as the model assumes.",
        "Entities differ. The guarantee is computed for an average chain; an entity whose records depend more strongly "
        "on each other leaks more.",
        "Fit each entity, or each kind of entity, by itself and combine them with AnyOf.",
        f"; {compared:,} of {statistics.entities_total:,} entities were long enough to compare",
    )


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
    "enough data",
    f"Is every transition expected at least {ENOUGH} times under the model, and every one seen? (Cochran's rule.)",
)
def _small_counts(statistics: ChainStatistics, model: MarkovChain) -> Outcome:
    left = statistics.counts.sum(axis=1)
    if not left.any():
        raise UntestableError("No transitions were counted.")
    expected = left[:, None] * model.matrix
    possible = model.matrix > 0
    few = int((expected[possible] < ENOUGH).sum())
    unseen = int((statistics.counts == 0).sum())
    rare = [state for state, visits in zip(model.states, left, strict=True) if visits < ENOUGH]
    values = {
        "expected_below_5": few,
        "possible_transitions": int(possible.sum()),
        "never_seen": unseen,
        "rare_states": len(rare),
        "smallest_expected": float(expected[possible].min()),
    }
    figure = (
        f"{few} of {values['possible_transitions']} possible transitions are expected fewer than {ENOUGH} times, "
        f"{unseen} were never seen" + (f"; rarely left: {brief(rare)}" if rare else "")
    )
    if not few and not unseen and not rare:
        meaning = "The p-values here and the estimated probabilities rest on enough transitions."
        return Outcome("fine", figure, meaning, values=values)
    return Outcome(
        "doubtful",
        figure,
        "The p-values of the other findings are approximate, and probabilities estimated from so few transitions are "
        "uncertain: γ and how fast the chain forgets, hence ε, depend most on the smallest. A transition that was "
        "never seen is impossible for a model estimated without smoothing, and may be merely rare.",
        "Fit with credibility= or smoothing=, or join rare states.",
        values,
    )


@check("gaps", "Are records missing inside the chains? (A count.)")
def _gaps(statistics: ChainStatistics, model: MarkovChain) -> Outcome:
    pairs = int(statistics.counts.sum())
    missing = max(statistics.records - statistics.entities_total - pairs, 0)
    values = {"transitions": pairs, "missing_transitions": missing}
    figure = f"{missing:,} of {missing + pairs:,} transitions between consecutive records are missing"
    if model.gaps:
        meaning = "The model says so: the theorems count records across gaps as if any number were missing."
    elif not missing:
        meaning = "Every record follows on the one before, as the model says."
    else:
        return Outcome(
            "violated",
            figure,
            "The model says that no records are missing, so distances along the chain are counted too short: what "
            "depends on the chain's length is not proven.",
            "Give the model gaps=True.",
            values,
        )
    return Outcome("fine", figure, meaning, values=values)


@check(
    "probabilities",
    "Are the transitions those of the model's transition probabilities? (Goodness of fit by "
    "scipy.stats.power_divergence for each current state.)",
)
def _fit(statistics: ChainStatistics, model: MarkovChain) -> Outcome:
    counts = statistics.counts
    impossible = np.where(model.matrix > 0, 0, counts)
    if impossible.any():
        source, target = divmod(int(impossible.argmax()), len(impossible))
        seen = int(impossible.sum())
        return Outcome(
            "violated",
            f"{seen:,} transitions have probability 0 under the model, most often {model.states[source]!r} → "
            f"{model.states[target]!r} ({int(impossible.max()):,} times)",
            "What the model calls impossible happens, so it is not the law of these data, and nothing is proven.",
            "Fit the model to these data, or give it smoothing=.",
            {"impossible_transitions": seen},
        )
    left = counts.sum(axis=1, keepdims=True)
    if not left.any():
        raise UntestableError("No transitions were counted.")
    own = np.allclose(counts, left * model.matrix, rtol=_SAME, atol=_SAME)
    if own or (model.counts is not None and np.array_equal(model.counts, counts)):
        raise UntestableError("The probabilities were estimated from these very transitions, so they agree.")

    def parts() -> Iterable[Part]:
        for row, law in zip(counts, model.matrix, strict=True):
            support = law > 0
            if row.any() and support.sum() > 1:
                observed = row[support][None]
                yield observed, observed.sum() * law[support][None], int(support.sum()) - 1

    return _Ratio.of(parts(), int(counts.sum())).told(
        "The transitions agree with the model's probabilities.",
        "The data have other transition probabilities than the model: the ε that is stated is that of another chain.",
        "Fit the model to these data, or combine both with AnyOf.",
    )


def _counted(name: str, value: object, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return an array of counts of this shape, −1 standing for any length."""
    array = np.asarray(value)
    wanted = " × ".join("E" if length < 0 else str(length) for length in shape)
    if array.ndim != len(shape) or any(length not in (-1, has) for length, has in zip(shape, array.shape, strict=True)):
        raise InvalidInputError(f"{name} must be a {wanted} array of counts, not {brief(array.shape)}")
    if array.dtype.kind not in "iuf" or not (np.isfinite(array) & (array >= 0) & (array == np.floor(array))).all():
        raise InvalidInputError(f"{name} must hold whole numbers of at least 0")
    return array.astype(np.int64)
