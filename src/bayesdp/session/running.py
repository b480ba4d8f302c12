"""Streams of running totals: one charge when a stream starts, and an answer about each window once it is complete.

The windows of a stream form a tree, and all of their answers are stored in the ledger. A total is computed from them:
nothing is kept secret between two totals, and whoever stops in the middle goes on where the ledger ends. Statement and
proof: docs/theory/running-totals.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

from bayesdp._support.documents import fingerprint
from bayesdp._support.messages import in_python, name_of, param, params
from bayesdp._support.validation import brief, natural
from bayesdp._support.words import counted
from bayesdp.errors import InvalidInputError, LedgerError, QueryError
from bayesdp.frames.aggregates import Tally
from bayesdp.frames.periods import Periods
from bayesdp.ledger import Account, State
from bayesdp.losses import ConcentratedLoss, Loss, PureLoss
from bayesdp.mechanisms import IntegerNoise
from bayesdp.noise_sums import NoiseSum
from bayesdp.queries import Query, Value, query_from_dict
from bayesdp.queries.windows import BY, checked_every
from bayesdp.rounding import float_above, float_below
from bayesdp.session.accounting import remaining
from bayesdp.session.answering import TableRelease
from bayesdp.session.approximate_accounting import NoiseKind
from bayesdp.session.charging import Charged, Decision
from bayesdp.session.measurement import Measurement
from bayesdp.session.plan import Plan, Target, begun_before, charged_loss, plan, stored_loss
from bayesdp.session.prepare import CheckedTable
from bayesdp.session.prepared_query import PreparedQuery
from bayesdp.session.running_totals import RunningError, RunningPreview, RunningTotals
from bayesdp.window_trees import MOST_PERIODS, Node, TreeNoise, WindowTree, window_tree

__all__ = ["STREAM", "RunningWork", "Stream", "on_the_same_grid", "stream_of", "stream_target"]

STREAM = "running"
"""Under which name the charge of a stream says which stream it is."""

SomeNoises = tuple[float, float, int]
"""Noises of one scale, how much each counts, and how many there are."""

Windows = tuple[Mapping[str, Any], ...]
"""What the ledger stores about the windows of a stream: the noisy whole numbers of each."""


@dataclass(frozen=True)
class Released:
    """The answers about windows of a stream, and its charge."""

    charge: Charged
    windows: Windows


FORESEEN = 365
"""Up to so many periods the error of a stream without a horizon is stated beforehand."""

_BITS = 32
"""The grid of a sum has at most 2^32 steps, so that it still fits when the table has a billion records."""

_LEAST_SHARE = Fraction(1, 64)
"""No answer of a stream without a horizon takes a smaller share: its trees have fewer levels."""

_AT_ONCE = 300
"""How many windows are counted in one scan."""


@dataclass(frozen=True)
class Noises:
    """The noise of a stream that costs `loss`: that of each window, and of each total."""

    stream: Stream
    loss: Loss

    @property
    def kind(self) -> TreeNoise:
        """The kind of noise."""
        return "laplace" if isinstance(self.loss, PureLoss) else "gaussian"

    @cached_property
    def tree(self) -> WindowTree:
        """The windows, which depend on the kind of noise."""
        return window_tree(self.stream.horizon, self.kind)

    @cached_property
    def worst(self) -> int:
        """After how many periods the total has the largest variance, within what is foreseen."""
        return max(range(1, (self.stream.horizon or FORESEEN) + 1), key=self.tree.variance)

    def of(self, share: Fraction) -> IntegerNoise:
        """Return the noise of a window that takes a share of the loss."""
        noise = PreparedQuery.mechanism(self.stream, self.loss_of(share))
        assert isinstance(noise, IntegerNoise)
        return noise

    def loss_of(self, share: Fraction) -> Loss:
        """Return a share of the loss, rounded down."""
        if isinstance(self.loss, PureLoss):
            return PureLoss(float_below(Fraction(self.loss.tau) * share))
        assert isinstance(self.loss, ConcentratedLoss)
        return ConcentratedLoss(float_below(Fraction(self.loss.rho) * share))

    def scaled(self, coefficients: Mapping[tuple[Fraction, float], int]) -> tuple[SomeNoises, ...]:
        """Return the noises that a total is a sum of, given what shares of the loss count for how much in it."""
        for share, _ in coefficients:
            if share not in self._scales:
                self._scales[share] = self.of(share).scale
        return tuple(sorted((self._scales[share], factor, number) for (share, factor), number in coefficients.items()))

    @cached_property
    def _scales(self) -> dict[Fraction, float]:
        """The scale of the noise of a window by its share of the loss, each computed once."""
        return {}

    def law(self, noises: Sequence[SomeNoises]) -> NoiseSum:
        """Return the law of the sum of noises, in whole numbers."""
        law_of = type(self.of(Fraction(1))).law_of
        return NoiseSum(tuple((law_of(scale), factor, number) for scale, factor, number in noises))  # type: ignore[misc]

    def error(self, periods: int, beta: float) -> RunningError:
        """Return how far off the total of the first periods is."""
        stream, law = self.stream, self.law(self.scaled(self.tree.coefficients(periods)))
        worth, alpha = stream.worth(stream.records), law.alpha(beta, cells=stream.dimension)
        off_by = Fraction(alpha) * worth + stream.slack(stream.records)
        return RunningError(periods, float_above(Fraction(law.deviation) * worth), float_above(off_by))

    def errors(self, beta: float) -> tuple[RunningError, ...]:
        """Return the errors of some totals, the last of those foreseen among them, and the largest variance last."""
        last = self.stream.horizon or FORESEEN
        some = sorted({n for n in (1, 7, 30, 100, 365, 1000, last) if n <= last})
        return tuple(self.error(periods, beta) for periods in (*some, self.worst))


@dataclass(frozen=True)
class Stream(PreparedQuery):
    """A question about the total so far, period after period: about all of them at once, as the account sees it.

    periods: where each period begins.      horizon: how many periods there are; None without an end.
    target:  what the stream may cost, which is part of what it is.
    """

    periods: Periods = field(kw_only=True)
    horizon: int | None = field(kw_only=True)
    target: Mapping[str, Any] = field(kw_only=True, hash=False)

    @property
    def terms(self) -> dict[str, Any]:
        """What the ledger keeps of it, beside the question."""
        return {"every": self.periods.every, "horizon": self.horizon, "start": self.periods.start, "asked": self.target}

    def fits(self, loss: Loss) -> bool:
        """Tell whether the noise of every window fits into 64 bits."""
        noises = Noises(self, loss)
        shares = {node.share for node in noises.tree.completed(self.horizon)} if self.horizon else {_LEAST_SHARE}
        return PreparedQuery.fits(self, noises.loss_of(min(shares)))

    def mechanism(self, loss: Loss | float) -> Any:
        """Return the noise of the stream."""
        return Noises(self, loss if isinstance(loss, Loss) else PureLoss(loss))

    def foreseen(self, mechanism: Noises, beta: float) -> tuple[float, float]:
        """Return the bound on the error of the total with the largest variance, and how far its interval reaches."""
        alpha = mechanism.error(mechanism.worst, beta).alpha
        return alpha, alpha

    def between(self, start: int, stop: int) -> Query:
        """Return the question about some periods."""
        return replace(self.query, since=self.periods.begin(start), until=self.periods.begin(stop))

    def slack(self, records: int) -> Fraction:
        """Return how far a total may be off besides its noise: by the grid, or because it is made whole."""
        return self.rounding(records) + (Fraction(1, 2) if self.query.whole else 0)


@dataclass(frozen=True, eq=False)
class StreamTotals:
    """The totals of a stream, computed when they are asked for, from the stored answers about windows."""

    noises: Noises
    windows: Windows
    beta: float
    _estimates: dict[tuple[int, int], tuple[Fraction, ...]] = field(default_factory=dict, init=False, repr=False)
    _counted: dict[tuple[int, int], Counter[tuple[Fraction, float]]] = field(
        default_factory=dict, init=False, repr=False
    )

    @cached_property
    def complete(self) -> int:
        """How many periods have all of their answers."""
        return max((stop for _, stop in self._stored), default=0)

    def name(self, periods: int) -> str:
        """Return the name of the last of so many periods."""
        return self.noises.stream.periods.name(periods - 1)

    def errors(self) -> tuple[RunningError, ...]:
        """Return how far off some totals are; the one with the largest variance last."""
        return self.noises.errors(self.beta)

    def value(self, periods: int) -> Value:
        """Return the total of the first periods."""
        stream, nodes = self.noises.stream, self.noises.tree.topmost(periods)
        totals = [sum(cells, Fraction(0)) for cells in zip(*map(self._estimate, nodes), strict=True)]
        whole = [round(total) for total in totals] if stream.query.whole else totals
        return stream.query.assembled(whole, stream.grid, self._sum("records", nodes))  # type: ignore[arg-type]

    def deviation(self, periods: int) -> float:
        """Return the standard deviation of the total of the first periods."""
        law = self.noises.law(self._noises(periods))
        return float_above(Fraction(law.deviation) * self.noises.stream.worth(self.noises.stream.records))

    def measurement(self, periods: int) -> Measurement:
        """Return the total of the first periods with its noise."""
        stream, nodes, noises = self.noises.stream, self.noises.tree.topmost(periods), self._noises(periods)
        records = self._sum("records", nodes)
        return Measurement(
            value=self.value(periods),
            query=stream.between(0, periods),
            records=self._sum("present", nodes),
            noise=self.noises.law(noises).deviation,
            unit=float_above(stream.worth(records)),
            rounding=float_above(stream.slack(records)),
            beta=self.beta,
            noise_kind=self.noises.kind,
            noises=noises,
        )

    @cached_property
    def _stored(self) -> Mapping[tuple[int, int], Mapping[str, Any]]:
        return {(body["window"][0], body["window"][1]): body for body in self.windows}

    def _sum(self, name: str, nodes: Sequence[Node]) -> int:
        return sum(self._stored[node.window][name] for node in nodes)

    def _noises(self, periods: int) -> tuple[SomeNoises, ...]:
        """Return the noises of a total, each with how much it counts and how many there are."""
        counted = sum((self._coefficients(node) for node in self.noises.tree.topmost(periods)), Counter())
        return self.noises.scaled(counted)

    def _estimate(self, node: Node) -> tuple[Fraction, ...]:
        """Return the estimate of each number of a complete window; as `Node.estimate`, each computed once."""
        if node.window not in self._estimates:
            below = [self._estimate(child) for child in node.children]
            weight = Fraction(node.weight)
            self._estimates[node.window] = tuple(
                weight * own + (1 - weight) * sum((estimate[cell] for estimate in below), Fraction(0))
                for cell, own in enumerate(self._stored[node.window]["counts"])
            )
        return self._estimates[node.window]

    def _coefficients(self, node: Node) -> Counter[tuple[Fraction, float]]:
        """Return what each answer counts for in the estimate of a window, with its share of the loss."""
        if node.window not in self._counted:
            counted = Counter({(node.share, node.weight): 1})
            for child in node.children:
                for (share, factor), number in self._coefficients(child).items():
                    counted[share, (1 - node.weight) * factor] += number
            self._counted[node.window] = counted
        return self._counted[node.window]


def stream_target(epsilon: float | None, beta: float, share: float | None, noise: NoiseKind | None) -> Target:
    """Return what a stream may cost: by ε, or by its share of the limit; its accuracy follows."""
    if epsilon is None and share is None:
        raise InvalidInputError(params("give {epsilon}, what the stream may cost with all of its totals"))
    return Target.of(epsilon, None, beta, share, noise)


def stream_of(
    checked_table: CheckedTable,
    query: Query,
    every: object,
    horizon: object,
    target: Target,
    bits: int,
    *,
    unread: bool = False,
) -> Stream:
    """Return the stream of a question, checked. unread: read no private value, as a preview.

    Raises QueryError for a question without running totals, InvalidInputError for what is no period or horizon.
    """
    length, most = checked_every(every), None if horizon is None else natural("horizon", horizon)
    _ = WindowTree(most, "laplace")
    _check_additive(query)
    order = checked_table.order
    if order is None:
        raise QueryError(
            "the model does not say what orders the records, so there are no periods; name the columns: "
            + in_python('layout=ChainLayout(["date", "time"])', elsewhere='"layout" with "order_by"')
        )
    periods = Periods.of(order, length, query.since, checked_table.span[0])
    until = None if most is None else periods.begin(most)
    (prepared,) = checked_table.prepared(
        [replace(query, since=periods.start, until=until)], min(bits, _BITS), unread=unread
    )
    cost = target.to_dict()
    identity = {**checked_table.identity(query, prepared.query), STREAM: {"every": length, "horizon": most} | cost}
    given = {item.name: getattr(prepared, item.name) for item in fields(prepared)}
    return Stream(**{**given, "question": fingerprint(identity)}, periods=periods, horizon=most, target=cost)


def _check_additive(query: object) -> None:
    """Refuse a question whose answers about two periods do not add up to that about both."""
    if not isinstance(query, Query):
        raise InvalidInputError(f"expected a query such as Count(...), not {brief(query)}")
    if query.made_elsewhere or query.averaged or query.thresholds:
        why = (
            "it is made elsewhere"
            if query.made_elsewhere
            else "it is divided by a number of records; ask for the running sum, or the running count"
            if query.averaged
            else "it is selected, and not added up; ask for a running histogram"
        )
        raise QueryError(f"a {query.kind} has no running totals: {why}")
    if query.until is not None:
        raise QueryError("a stream of totals has no " + name_of("until") + "; its " + param("horizon") + " ends it")
    if any(len(query.listed.get(by, ())) != 1 for by in query.by_columns):
        raise QueryError(
            "a stream has one total: list one value for each column in "
            + BY
            + " by "
            + param("by_cells")
            + ", and start a stream for each value; together they cost no more than one"
        )


def on_the_same_grid(stream: Stream, checked_table: CheckedTable, state: State) -> Stream:
    """Return a stream with the grid that it was started with: that of a table that grows gets coarser."""
    pending = state.unanswered(stream.question)
    if pending is None or stream.grid is None:
        return stream
    started = query_from_dict(pending.details["query"])
    if started.clipped is None or started.clipped.step == stream.grid.step:
        return stream
    (prepared,) = checked_table.prepared([started], _BITS)
    return replace(stream, query=prepared.query, grid=prepared.grid, sensitivity=prepared.sensitivity)


@dataclass(frozen=True)
class RunningWork(TableRelease[Released]):
    """The next totals of a stream: those of the periods that are complete."""

    account: Account = field(kw_only=True)
    _read: dict[WindowTree, list[tuple[Node, Tally]]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    @property
    def stream(self) -> Stream:
        """The stream."""
        (stream,) = self.prepared
        assert isinstance(stream, Stream)
        return stream

    def decided(self, state: State) -> Decision:
        """Return the plan for a state: the charge that started the stream counts for good, and there is no other."""
        stream = self.stream
        same = {"query": stream.query.to_dict(), "sensitivity": stream.sensitivity, STREAM: stream.terms}
        begun = begun_before(stream, state, same)
        if state.is_charged(stream.question) and not begun:
            raise LedgerError(
                "another process started this stream with another grid at the same time; ask again. Nothing was charged"
            )
        planned = (
            Plan(state, PureLoss(0.0), (), {}, None, begun=begun)
            if begun
            else plan(self.accountant, self.prepared, self.target, state)
        )
        leakage = self._leakage(planned)
        charges = planned.to_charge(self._details, self.terms)
        return Decision(planned, charges, (self._promised(planned, leakage), leakage))

    def prepare(self, decision: Decision) -> None:
        """Read the exact answers about the windows that are complete and have no answer yet."""
        _ = self._exact(self._noises(decision).tree)

    def drawn(self, decision: Decision, charged: Charged) -> Released:
        """Draw the noise of the windows that have no answer yet."""
        noises = Noises(self.stream, charged.loss)
        drawn = tuple(
            {
                "window": list(node.window),
                "counts": list(noises.of(node.share).release(tally.counts)),
                "records": tally.public_records,
                "present": tally.present,
                "rows": tally.rows,
            }
            for node, tally in self._exact(noises.tree)
        )
        return Released(charged, drawn)

    def store(self, account: Account, charge: Charged, outcome: Released) -> Released:
        """Store the answers about windows that still have none; return those about all windows."""
        new = outcome.windows
        return Released(charge, account.store_windows(charge, new) if new else account.windows(self.stream.question))

    def totals(self, decision: Decision, released: Released) -> RunningTotals:
        """Return the totals of all periods that are complete, with the account as it is now."""
        stream, planned = self.stream, decision.plan
        promise, leakage = decision.said
        posting = self._posting(released.charge, planned)
        if planned.begun:
            left = remaining(planned.state.budget, leakage.epsilon)
            posting = replace(posting, epsilon_total=leakage.epsilon, epsilon_remaining=left, reused=True)
        return RunningTotals(
            query=stream.query,
            every=stream.periods.every,
            horizon=stream.horizon,
            promise=promise,
            posting=posting,
            source=StreamTotals(self._noises(decision), released.windows, self.target.beta),
        )

    def preview(self, state: State) -> RunningPreview:
        """Return what the stream would cost in a state of the account, and how far off its totals would be."""
        decision = self.decided(state)
        planned, noises, (promise, leakage) = decision.plan, self._noises(decision), decision.said
        loss = noises.loss
        total = leakage.epsilon
        return RunningPreview(
            query=self.stream.query,
            every=self.stream.periods.every,
            horizon=self.stream.horizon,
            errors=noises.errors(self.target.beta),
            beta=self.target.beta,
            epsilon=0.0 if planned.cost is None else planned.cost.epsilon,
            epsilon_total=total,
            epsilon_remaining=remaining(state.budget, total),
            theorem=promise.theorem,
            tau=loss.tau if isinstance(loss, PureLoss) else None,
            rho=None if state.promise is None else stored_loss(loss)["rho"],
            noise_kind=noises.kind,
            started=bool(planned.begun),
        )

    def _noises(self, decision: Decision) -> Noises:
        """Return the noise of the stream as it was or will be charged."""
        begun = decision.plan.begun
        loss = charged_loss(begun[0][1]) if begun else decision.plan.loss
        assert loss is not None
        return Noises(self.stream, loss)

    def _details(self, question: PreparedQuery) -> dict[str, Any]:
        return super()._details(question) | {STREAM: self.stream.terms}

    def _exact(self, tree: WindowTree) -> list[tuple[Node, Tally]]:
        """Return the exact answers about the windows that are complete and have no answer yet; read once."""
        if tree not in self._read:
            stored = self.account.windows(self.stream.question)
            self._check_unchanged(tree, stored)
            known = {tuple(body["window"]) for body in stored}
            complete = self._complete
            nodes = [node for node in tree.completed(complete) if node.window not in known] if complete else []
            self._read[tree] = list(zip(nodes, self._tallies(nodes), strict=True))
        return self._read[tree]

    @property
    def _complete(self) -> int:
        """How many periods are complete: the table has a record after each."""
        reached, most = self.checked_table.span[1], self.stream.horizon or MOST_PERIODS
        return 0 if reached is None else self.stream.periods.complete(reached, most)

    def _check_unchanged(self, tree: WindowTree, stored: Windows) -> None:
        """Refuse a table with another number of records in the periods that were complete before."""
        if not stored:
            return
        rows = {tuple(body["window"]): body["rows"] for body in stored}
        last = max(stop for _, stop in rows)
        before = sum(rows[node.window] for node in tree.topmost(last))
        (found,) = self.checked_table.tally_windows([self.stream.between(0, last)], ())
        if found.records != before:
            raise LedgerError(
                f"{self.checked_table.name} has {counted(found.records, 'record')} before "
                f"{self.stream.periods.begin(last)}, and had {before} when the totals up to there were released; a "
                "period that is complete stays as it is: add records only after it. Nothing was released"
            )

    def _tallies(self, nodes: Sequence[Node]) -> list[Tally]:
        """Return the exact answer about each window, and in `rows` how many records it has."""
        ends = sorted({end for node in nodes for end in node.window})
        found: dict[int, Tally] = {}
        pairs = list(pairwise(ends))
        for place in range(0, len(pairs), _AT_ONCE):
            some = pairs[place : place + _AT_ONCE]
            queries = [self.stream.between(*pair) for pair in some]
            exact = self.checked_table.tally_windows(queries)
            sizes = self.checked_table.tally_windows(queries, ())
            found |= {
                start: replace(one, rows=size.records) for (start, _), one, size in zip(some, exact, sizes, strict=True)
            }
        return [
            _added([found[start] for start in ends[ends.index(node.start) : ends.index(node.stop)]]) for node in nodes
        ]


def _added(tallies: Sequence[Tally]) -> Tally:
    """Return the exact answer about disjoint windows together."""
    return replace(
        tallies[0],
        counts=tuple(map(sum, zip(*(tally.counts for tally in tallies), strict=True))),
        records=sum(tally.records for tally in tallies),
        present=sum(tally.present for tally in tallies),
        rows=sum(tally.rows for tally in tallies),
    )
