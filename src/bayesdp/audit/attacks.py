"""Simulate the Bayes-optimal attacker: how often he guesses a record, after plain DP and after a calibrated release.

Nothing is trained. The attacker knows the model and some records. The likelihood of every output is known, and he
guesses the most probable value. A run draws an attack model, the secret, the exact answer and the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp._support import validation
from bayesdp._support.display import Displayed, PrintedTable, Section, Words, lines
from bayesdp._support.documents import Document
from bayesdp._support.messages import name_of, param, params
from bayesdp._support.validation import Scalar, brief
from bayesdp.audit.attack_models import AttackModel
from bayesdp.audit.beliefs import promise_of
from bayesdp.audit.chain_attack_models import UnknownStretch, adding, chain_attack_model
from bayesdp.audit.real_records import RealRecord, real_record
from bayesdp.audit.testers import clopper_pearson
from bayesdp.audit.worst_cases import SCHEMA, Setting, settings
from bayesdp.calibration.calibrate import calibrate
from bayesdp.errors import InvalidInputError
from bayesdp.mechanisms import DiscreteLaplaceMechanism
from bayesdp.models import MarkovChain, Model
from bayesdp.queries import Query
from bayesdp.rounding import shown_above, shown_below
from bayesdp.theorems.markov.sides import Ending

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AttackReport", "Outcome", "attack"]

_QUANTILES = (0.5, 0.9, 0.99)
_LONGEST = 2000
"""The largest number of unknown records around a target."""

HOLDER = "This report was computed from private records. It is for the holder of the data; do not publish it."


@dataclass(frozen=True)
class Outcome(Displayed, Document):
    """How well an attacker does against one release.

    success:  the share of runs in which his guess was right; interval: its Clopper–Pearson interval.
    believed: the probability he gave to the true value afterwards, on average.
    moved:    ln of the factor by which the odds between two values changed: 50, 90 and 99 % quantiles, and maximum.
    """

    tau: float
    runs: int
    success: float
    interval: tuple[float, float]
    believed: float
    moved: tuple[float, float, float, float]

    def _printed(self) -> list[Section]:
        text = (
            f"right in {self._share} of {self.runs} runs ({self._between}); the odds changed by a factor of up to "
            f"e^{self.moved[0]:.3g} in half of the runs, and of at most e^{self.moved[3]:.3g}"
        )
        return [lines(text)]

    def row(self, name: str) -> list[str]:
        """Return the outcome as a row of a table."""
        moved = [f"e^{exponent:.3g}" for exponent in (self.moved[0], self.moved[3])]
        return [name, shown_below(self.tau), self._share, self._between, *moved, ""]

    @property
    def _share(self) -> str:
        return f"{100 * self.success:.2f} %"

    @property
    def _between(self) -> str:
        low, high = self.interval
        return f"{100 * low:.2f} to {100 * high:.2f} %"

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as a JSON object."""
        median, ninety, ninety_nine, largest = self.moved
        return {
            "tau": self.tau,
            "runs": self.runs,
            "success": self.success,
            "interval": list(self.interval),
            "believed": self.believed,
            "moved": {"50 %": median, "90 %": ninety, "99 %": ninety_nine, "largest": largest},
        }


@dataclass(frozen=True)
class AttackReport(Displayed, Document):
    """The same attacker against plain DP and against the release that keeps the promise.

    promise:    the ε that both claim.
    prior:      how often his best guess is right without any release.
    believed:   the probability he gives to the true value before any release, on average.
    who:        what he knows.
    holder:     whether real records were attacked. Then the report reveals information about them.
    """

    promise: float
    release: str
    who: str
    prior: float
    believed: float
    plain: Outcome
    calibrated: Outcome
    confidence: float
    holder: bool = False

    def _printed(self) -> list[Section]:
        text = (
            f"Released: {self.release}. {self.who} Without a release, his best guess is right in "
            f"{100 * self.prior:.2f} % of cases. After a release, in {self.plain.runs} runs each:"
        )
        usual, most = "change of the odds: median", "largest"
        header = ["", "tau", "right", f"{100 * self.confidence:.6g} % interval", usual, most, ""]
        rows = [self.plain.row("plain DP"), self.calibrated.row(f"bayesdp, keeping ε = {shown_above(self.promise)}")]
        return [[Words(text, filled=True)], [PrintedTable(header, rows)], lines(HOLDER) if self.holder else []]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "kind": "attack",
            "schema": SCHEMA,
            "promise": self.promise,
            "release": self.release,
            "who": self.who,
            "prior": self.prior,
            "believed": self.believed,
            "plain": self.plain.to_dict(),
            "calibrated": self.calibrated.to_dict(),
            "confidence": self.confidence,
            "for_the_holder_only": self.holder,
        }


def attack(
    model: Model,
    query: Query,
    mechanism: DiscreteLaplaceMechanism | None = None,
    *,
    tau: float | None = None,
    epsilon: float | None = None,
    runs: int = 10_000,
    unknown: tuple[int, int] | str = "worst",
    frame: object = None,
    record: int | None = None,
    entity: Scalar | Sequence[Scalar] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> AttackReport:
    """Run the optimal attack on one record, after plain DP and after noise that keeps the promise.

    mechanism:    the noise of plain DP, as a release draws it; or instead give the promise:
    tau, epsilon: the promise; give one of them. Plain DP uses τ = ε.
    runs:         the number of simulations; each draws the secret, the unknown records and the noise anew.
    unknown:      for chains: how many records before and after the target the attacker does not know, as a pair; he
                  knows all others. "worst": as many as for the worst attacker; "all": he knows no record of a chain of
                  `length` records.
    frame:        attack a real record of this table, which follows the model. Only the noise is then drawn. The report
                  reveals information about private records: it is for the holder of the data.
    record:       the position of the record in the chain, from 0; entity: the chain, if there are several.
    confidence:   the confidence of the intervals.

    Returns an AttackReport. Raises as `calibrate` does, and InvalidInputError for a model that cannot be simulated, a
    query that is not one number, or another mechanism; `lower_bound` accepts any mechanism.

    >>> from bayesdp import Count, MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], length=1000)
    >>> report = attack(chain, Count(equals=1), epsilon=1.0)
    >>> report.plain.moved[-1] > 2, report.calibrated.moved[-1] <= 1
    (True, True)
    """
    promise = promise_of(tau, epsilon) if mechanism is None else _promised(mechanism, tau, epsilon)
    runs = validation.natural("runs", runs)
    confidence = validation.probability("confidence", confidence)
    chosen = calibrate(model, query, epsilon=promise).tau
    if query.by_cell or query.thresholds or query.made_elsewhere:
        raise InvalidInputError(
            f"an attack needs one noisy number, and {query.description} is not one; lower_bound accepts any mechanism"
        )
    if frame is None and record is not None:
        raise InvalidInputError(params("{record} needs {frame}, the table that holds the record; give both or neither"))
    faced = (
        _drawn(model, query, promise, unknown)
        if frame is None
        else _real(query, promise, unknown, real_record(model, frame, record, entity))
    )
    generator = np.random.default_rng(validation.natural("seed", seed, least=0))
    plain, calibrated = (_attacked(faced, release, runs, confidence, generator) for release in (promise, chosen))
    return AttackReport(
        promise,
        query.description,
        faced.who,
        faced.prior,
        faced.believed,
        plain,
        calibrated,
        confidence,
        holder=frame is not None,
    )


def _promised(mechanism: object, tau: float | None, epsilon: float | None) -> float:
    """Return the promise of a mechanism; only the likelihoods of discrete Laplace noise are implemented."""
    if not isinstance(mechanism, DiscreteLaplaceMechanism):
        raise InvalidInputError(
            name_of("mechanism")
            + f" must be a DiscreteLaplaceMechanism, not {brief(mechanism)}; lower_bound accepts any mechanism"
        )
    if tau is not None or epsilon is not None:
        raise InvalidInputError(params("the mechanism already has a tau; leave {tau} and {epsilon} out"))
    return mechanism.tau


@dataclass(frozen=True, eq=False)
class _Faced:
    """Possible attack models with their weights; for a real record also the true secret and the exact answer."""

    attack_models: Sequence[AttackModel]
    weights: NDArray[np.float64]
    who: str
    secret: int | None = None
    answer: float | None = None

    @property
    def prior(self) -> float:
        """How often the most probable value is the true one without a release."""
        if self.secret is not None:
            return float(self.attack_models[0].prior.argmax() == self.secret)
        return self._average(lambda prior: prior.max())

    @property
    def believed(self) -> float:
        """The average probability of the true value without a release."""
        if self.secret is not None:
            return float(self.attack_models[0].prior[self.secret])
        return self._average(lambda prior: (prior**2).sum())

    def _average(self, of_prior: Callable[[NDArray[np.float64]], float]) -> float:
        weighted = zip(self.weights, self.attack_models, strict=True)
        return float(sum(weight * of_prior(attack_model.prior) for weight, attack_model in weighted))


def _attacked(faced: _Faced, tau: float, runs: int, confidence: float, generator: np.random.Generator) -> Outcome:
    """Run the attack against one release."""
    right, believed, moved = 0, 0.0, []
    for attack_model, times in zip(faced.attack_models, generator.multinomial(runs, faced.weights), strict=True):
        if not times:
            continue
        secrets, answers = _secrets(faced, attack_model, int(times), generator)
        outputs, back = np.unique(answers + _noise(attack_model, tau, int(times), generator), return_inverse=True)
        posterior, logs = attack_model.posterior(outputs, tau), attack_model.log_likelihood(outputs, tau)
        possible = attack_model.prior > 0
        guess = posterior.argmax(axis=0)[back]
        right += int((guess == secrets).sum())
        believed += float(posterior[secrets, back].sum())
        moved.append((logs[possible].max(axis=0) - logs[possible].min(axis=0))[back])
    shifts = np.concatenate(moved)
    quantiles = [float(value) for value in np.quantile(shifts, _QUANTILES)]
    return Outcome(
        tau,
        runs,
        right / runs,
        clopper_pearson(right, runs, confidence),
        believed / runs,
        (quantiles[0], quantiles[1], quantiles[2], float(shifts.max())),
    )


def _secrets(
    faced: _Faced, attack_model: AttackModel, times: int, generator: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return secrets and exact answers."""
    if faced.secret is not None and faced.answer is not None:
        return np.full(times, faced.secret, dtype=np.intp), np.full(times, faced.answer)
    secrets = generator.choice(len(attack_model.prior), size=times, p=attack_model.prior)
    answers = np.empty(times)
    for secret in np.unique(secrets):
        here = secrets == secret
        answers[here] = generator.choice(attack_model.answers, size=int(here.sum()), p=attack_model.laws[secret])
    return secrets, answers


def _noise(attack_model: AttackModel, tau: float, times: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return noise for simulations: discrete Laplace on whole numbers, as in a release, else continuous."""
    rate = tau / attack_model.sensitivity
    if (attack_model.answers == np.round(attack_model.answers)).all():
        stop = -np.expm1(-rate)
        first, second = generator.geometric(stop, size=(2, times))
        return np.asarray(first - second, dtype=np.float64)
    return generator.laplace(scale=1 / rate, size=times)


def _drawn(model: Model, query: Query, tau: float, unknown: tuple[int, int] | str) -> _Faced:
    """Return the attack models in data drawn from the model."""
    if unknown != "worst":
        if not isinstance(model, MarkovChain):
            raise InvalidInputError(param("unknown") + " applies to Markov chains only; leave it out for this model")
        return _in_chain(model, query, _stretch(model, unknown), free=True)
    member, setting = _worst(model, query, tau)
    if isinstance(member, MarkovChain) and setting.stretch is not None:
        return _in_chain(member, query, setting.stretch, free=True)
    return _Faced([setting.attack_model], np.ones(1), setting.who)


def _worst(model: Model, query: Query, tau: float) -> tuple[Model, Setting]:
    """Return the worst attacker of plain DP, and the possible model under which he is worst."""
    every = [(member, setting) for member in model.members for setting in settings(member, query, tau)]
    return max(every, key=lambda one: one[1].attack_model.betrayal(tau, one[1].values).epsilon)


def _stretch(chain: MarkovChain, unknown: tuple[int, int] | str) -> UnknownStretch:
    """Return the stretch of unknown records that `unknown` describes; the states at its ends are placeholders."""
    if unknown == "all":
        if chain.length is None or chain.length > _LONGEST:
            raise InvalidInputError(
                param("unknown", "all") + f" needs a chain with a length of at most {_LONGEST} records"
            )
        others = chain.length - chain.unit
        return UnknownStretch(Ending(others // 2, None), Ending(others - others // 2, None))
    if isinstance(unknown, str) or len(unknown) != 2:
        raise InvalidInputError(
            name_of("unknown") + f' must be "worst", "all" or a pair (before, after), not {brief(unknown)}'
        )
    before, after = (validation.natural("unknown", number, least=0) for number in unknown)
    if before + after > _LONGEST:
        raise InvalidInputError(param("unknown") + f" allows at most {_LONGEST} records together, not {before + after}")
    return UnknownStretch(Ending(before, 0), Ending(after, 0))


def _in_chain(chain: MarkovChain, query: Query, stretch: UnknownStretch, *, free: bool) -> _Faced:
    """Return the attack models around a record of a chain.

    free: allow all states at the known ends, weighted by how often they occur, instead of those of the stretch.
    """
    added = adding(query, chain)
    ends = [
        range(len(chain.states)) if free and ending.boundary is not None else [ending.boundary]
        for ending in (stretch.before, stretch.after)
    ]
    attack_models, weights = [], []
    for left in ends[0]:
        for right in ends[1]:
            ends_here = Ending(stretch.before.unknown, left), Ending(stretch.after.unknown, right)
            between = UnknownStretch(*ends_here, left=stretch.left, right=stretch.right)
            attack_model, likely = chain_attack_model(chain, added, between)
            if likely > 0:
                attack_models.append(attack_model)
                weights.append(likely * (1.0 if left is None or not free else _often(chain, left)))
    around = f"the target, {stretch.before.unknown} before it and {stretch.after.unknown} after it"
    knows = f"every record but {around}"
    if stretch.before.boundary is None and stretch.after.boundary is None:
        knows = f"no record of a chain of {stretch.records + chain.unit}"
    return _Faced(attack_models, np.array(weights) / sum(weights), f"The attacker knows {knows}.")


def _often(chain: MarkovChain, state: int) -> float:
    """Return how often a stationary chain is in a state; with memory k, in that state k times in a row."""
    if chain.memory == 1:
        return float(chain.stationary[state])
    from bayesdp.models.memory import stationary_law

    return float(stationary_law(chain.table)[(state,) * chain.memory])


def _real(query: Query, tau: float, unknown: tuple[int, int] | str, real: RealRecord) -> _Faced:
    """Return the attack model around a real record; only the noise will be drawn."""
    everything = len(real.states)
    if unknown == "all":
        if everything > _LONGEST:
            raise InvalidInputError(
                param("unknown", "all") + f" needs a chain of at most {_LONGEST} records, and it has {everything}"
            )
        stretch = real.within(everything, everything)
    else:
        wanted = _worst(real.chain, query, tau)[1].stretch if unknown == "worst" else _stretch(real.chain, unknown)
        stretch = real.within(*(0, 0) if wanted is None else (wanted.before.unknown, wanted.after.unknown))
    answer = float(real.answer(stretch, adding(query, real.chain).values))
    faced = _in_chain(real.chain, query, stretch, free=False)
    return replace(faced, who=f"{real.described} {faced.who}", secret=real.state, answer=answer)
