"""A fit that is a release: noisy transition counts, charged like any answer, and the model they teach.

Proof: docs/theory/private-fit.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np

from bayesdp._support import validation
from bayesdp._support.display import Section, lines, warned
from bayesdp._support.documents import fingerprint
from bayesdp._support.validation import Scalar, brief
from bayesdp.errors import InvalidInputError, LedgerError, ModelError, RecordsError
from bayesdp.frames.clocks import SHOWN
from bayesdp.frames.grid import FINEST_BITS
from bayesdp.frames.transitions import Transitions, transitions
from bayesdp.ledger import Account, Charge, State
from bayesdp.mechanisms import DiscreteLaplaceMechanism, require_private
from bayesdp.models import Model, OddsChain
from bayesdp.models.layout import column_names
from bayesdp.models.learnt import MOST_CELLS, Learnt, sensitivity
from bayesdp.queries import Count
from bayesdp.rounding import shown_above, shown_below, shown_odds, shown_remaining
from bayesdp.session.accounting import Accountant, remaining, spend_of
from bayesdp.session.attempts import Attempt
from bayesdp.session.kept import Kept
from bayesdp.session.plan import Plan
from bayesdp.session.prepare import Inquiry

__all__ = ["QUESTION", "Fit", "Lesson", "Within", "first_fit", "learn"]

QUESTION = fingerprint({"fit": "transition counts"})
"""One question for every fit of an account: there is one model, and so one fit that counts."""

_CLOCKS: Mapping[str, Sequence[Scalar]] = dict(zip(SHOWN, (range(24), range(1, 8), range(1, 13)), strict=True))
"""What clocks can show: public, whatever the table holds."""

Within = str | Sequence[str] | Mapping[str, Sequence[Scalar]]


@dataclass(frozen=True)
class Fit(Kept):
    """A model that was learnt by a release, and what that cost. The session goes on with this model.

    model:   what was learnt; all spends of the data set are converted with it from now on.
    tau:     the privacy of the noisy counts behind it, which stand in `model.learnt`.
    epsilon: by how much the release raised the leakage under the ceiling, all that was known before it.
    epsilon_total, epsilon_remaining: the account afterwards, converted with what was learnt.
    """

    model: OddsChain
    dataset: str
    tau: float
    epsilon: float
    epsilon_total: float = field(compare=False)
    epsilon_remaining: float = field(compare=False)
    theorem: str
    entry: int
    head: str
    by: str | None = None
    reused: bool = field(default=False, compare=False)

    kind: ClassVar[str] = "fit"
    passing: ClassVar[frozenset[str]] = frozenset({"reused"})

    @classmethod
    def _read(cls, entries: dict[str, Any]) -> dict[str, Any]:
        model = Model.from_dict(entries["model"])
        if not isinstance(model, OddsChain) or model.learnt is None:
            raise ModelError("its model was not learnt")
        return {**entries, "model": model}

    @property
    def about(self) -> str:
        """What was released."""
        return f"the transitions of {self.model.subject}, to learn their odds ratio"

    @property
    def outcome(self) -> str:
        """What was learnt."""
        return f"at most {shown_above(self.model.odds)}"

    @property
    def learnt(self) -> Learnt:
        """The noisy counts, and how the odds ratio follows from them."""
        assert self.model.learnt is not None
        return self.model.learnt

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp fit --private-tau --json` prints, which the ledger keeps."""
        return {**super().to_dict(), "model": self.model.identity}

    def _printed(self) -> Sequence[Section]:
        learnt = self.learnt
        left = shown_remaining(self.epsilon_remaining, self.epsilon_total + self.epsilon_remaining)
        cost = "Learnt before; repeating it costs nothing" if self.reused else f"It cost tau = {shown_below(self.tau)}"
        said = [
            f"The odds ratio is at most {shown_above(self.model.odds)}, with a credibility of "
            f"{shown_below(100 * learnt.credibility)} %.",
            f"{cost}; with this odds ratio {self.dataset} has leaked ε = {shown_above(self.epsilon_total)} in all "
            f"({shown_odds(self.epsilon_total)}); remaining: {left}.",
            learnt.origin,
        ]
        hidden = "the noise hides the odds ratio, and the ceiling stands; a larger tau would show more."
        return [[*lines(*said), *warned([hidden] if self.model.odds >= learnt.ceiling else [])]]


@dataclass(frozen=True)
class Lesson:
    """What is to be learnt, all of it public: τ, the credibility, and the strata."""

    tau: float
    credibility: float
    within: tuple[str, ...]
    strata: tuple[tuple[Scalar, ...], ...]

    @classmethod
    def of(cls, tau: float, credibility: float, within: Within | None) -> Lesson:
        """Return a checked lesson; the strata are all that the columns named can hold, seen or not."""
        share = validation.probability("credibility", credibility)
        given = dict(within) if isinstance(within, Mapping) else dict.fromkeys(column_names("within", within))
        values = []
        for name, listed in given.items():
            cells = _CLOCKS.get(name) if listed is None else listed
            if cells is None:
                raise InvalidInputError(
                    f"which values {name!r} has must be public, and only those of {', '.join(SHOWN)} are known; a "
                    "session takes them with the column (a dictionary as within=)"
                )
            values.append(validation.distinct(f"within[{name!r}]", tuple(cells)))
        strata = tuple(product(*values))
        if not 1 <= len(strata) <= MOST_CELLS:
            raise InvalidInputError(f"within= makes {len(strata)} strata; give at least one and at most {MOST_CELLS}")
        return cls(validation.positive("tau", tau), share, tuple(given), strata)

    def covered_by(self, fit: Fit) -> bool:
        """Whether a fit learnt this, with at least this τ."""
        learnt = fit.learnt
        same = (tuple(learnt.within), set(learnt.strata)) == (self.within, set(self.strata))
        return same and learnt.credibility == self.credibility and learnt.tau >= self.tau


def first_fit(bodies: Iterable[Mapping[str, Any]]) -> Fit | None:
    """Return the fit that counts, given the answers to QUESTION, newest first: the one that was stored first."""
    fits = [fit for fit in map(Fit.stored, bodies) if fit is not None]
    return fits[-1] if fits else None


def learn(inquiry: Inquiry, account: Account, lesson: Lesson, terms: Mapping[str, Any], attempt: Attempt) -> Fit:
    """Release noisy transition counts and return the model they teach: prepare, plan, charge, draw, answer.

    Raises ModelError for a model that has no odds ratio to learn, RecordsError for a table with other states or strata
    than the public ones, LedgerError if the account has learnt something else already.
    """
    known = first_fit(account.answers(QUESTION))
    if known is not None:
        return _given_again(known, lesson, account)
    model = _learnable(inquiry.model)
    accountant = Accountant(model)
    exact = _exact(inquiry, model, lesson)
    mechanism = DiscreteLaplaceMechanism(sensitivity(model.memory), lesson.tau, exact.size)
    require_private(mechanism)
    Learnt(model.odds, lesson.tau, lesson.credibility, _zeros(exact), lesson.within, lesson.strata)
    (asked,) = inquiry.asked([Count(model.subject, equals=_states(inquiry, model)[0])], FINEST_BITS)
    asked = replace(asked, question=QUESTION, sensitivity=mechanism.sensitivity)

    def planned_in(state: State) -> Plan:
        cost = accountant.cost_of((asked.query,), tau=lesson.tau, spent=spend_of(state.totals), budget=state.budget)
        return attempt.unhurried(Plan(state, lesson.tau, (asked,), {}, cost))

    plan = planned_in(account.state(QUESTION))

    def decide(state: State) -> tuple[Charge, ...]:
        nonlocal plan
        if state.answers(QUESTION):
            return ()
        plan = plan if plan.state.same_account(state) else planned_in(state)
        request = {"asked": {"tau": lesson.tau, "credibility": lesson.credibility}}
        return plan.charges(lambda _: request, {**terms, "fit": model.subject, "memory": model.memory})

    receipts = account.charge((QUESTION,), decide)
    if receipts:
        assert plan.cost is not None
        noisy = np.array(mechanism.release(exact.ravel().tolist())).reshape(exact.shape)
        learnt = Learnt(model.odds, lesson.tau, lesson.credibility, noisy.tolist(), lesson.within, lesson.strata)
        chain, state = model.learning(learnt), receipts[0].state
        total = Accountant(chain).leaked(spend_of(state.totals))
        fit = Fit(
            model=chain,
            dataset=account.dataset,
            tau=lesson.tau,
            epsilon=plan.cost.epsilon,
            epsilon_total=total,
            epsilon_remaining=remaining(state.budget, total),
            theorem=plan.cost.leakage.theorem,
            entry=receipts[0].entry,
            head=receipts[0].head,
            by=terms.get("by"),
        )
        account.answer(receipts[0], fit.to_dict())
    first = first_fit(account.answers(QUESTION))
    assert first is not None
    return first if receipts and first.entry == receipts[0].entry else _given_again(first, lesson, account)


def _given_again(fit: Fit, lesson: Lesson, account: Account) -> Fit:
    """Return the fit of an account once more, with the account of now; refuses one that learnt something else."""
    learnt = fit.learnt
    if not lesson.covered_by(fit):
        raise LedgerError(
            f"the odds ratio of {account.dataset!r} was learnt already (entry {fit.entry}: tau = {learnt.tau:g}, "
            f"credibility {learnt.credibility:g}, within {', '.join(learnt.within) or 'nothing'}), and a second table "
            "would leave a choice between the two; go on with what was learnt"
        )
    state = account.state()
    total = Accountant(fit.model).leaked(spend_of(state.totals))
    return replace(fit, epsilon_total=total, epsilon_remaining=remaining(state.budget, total), reused=True)


def _learnable(model: Model) -> OddsChain:
    """Return a chain whose odds ratio can be learnt: it says where its records are, and has a ceiling."""
    if not isinstance(model, OddsChain) or model.estimated:
        raise ModelError(
            "what can be learnt by a release is the odds ratio of a chain: open the session with an OddsChain whose "
            f"odds ratio is the largest that is possible, not with a {model.kind} model"
            f"{' that was estimated' if model.estimated else ''}"
        )
    if model.subject is None or model.layout is None:
        raise ModelError(
            "the chain does not say which columns it is about; name them by its `located`, or by --state and --order-by"
        )
    return model


def _states(inquiry: Inquiry, model: OddsChain) -> tuple[Scalar, ...]:
    """Return the public states: those of the model, or false and true of a condition."""
    if model.states:
        return tuple(model.states)
    if model.subject in inquiry.table:
        raise ModelError(
            f"which values {model.subject!r} has must be public: list them as the states= of the chain (--states)"
        )
    return (False, True)


def _exact(inquiry: Inquiry, model: OddsChain, lesson: Lesson) -> Any:
    """Return the exact counts as an array [stratum][before]…[next], over the public states and strata."""
    assert model.subject is not None
    assert model.layout is not None
    states = _states(inquiry, model)
    shape = (len(lesson.strata), *(len(states),) * (model.memory + 1))
    if math.prod(map(float, shape)) > MOST_CELLS:
        raise ModelError(f"there are {math.prod(shape)} counts, more than the {MOST_CELLS} that are released at once")
    seen = transitions(
        inquiry.table, model.subject, model.layout, inquiry.missing, memory=model.memory, within=lesson.within
    )
    exact = np.zeros(shape, dtype=np.int64)
    for values, counts in _tables(seen):
        axes = [_place("state", states, state) for state in seen.states]
        cells = np.ix_([_place("stratum", lesson.strata, values)], *[axes] * (model.memory + 1))
        exact[cells] += np.array(counts, dtype=np.int64)[None]
    return exact


def _tables(seen: Transitions) -> list[tuple[tuple[Scalar, ...], Any]]:
    if not seen.strata:
        return [((), seen.counts)]
    return [(stratum.values[0], stratum.counts) for stratum in seen.strata]


def _place(what: str, known: Sequence[Any], value: Any) -> int:
    if value not in known:
        raise RecordsError(f"the table has a {what} {brief(value)} that is not among those that were said to be public")
    return list(known).index(value)


def _zeros(exact: Any) -> list[Any]:
    zeros: list[Any] = np.zeros_like(exact).tolist()
    return zeros
