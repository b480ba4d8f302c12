"""The worst output of any τ-DP mechanism for attackers with side information about every record.

Side information is a likelihood e_j(x_j) ≥ 0 for each record: an independent noisy observation of it. It multiplies the
joint law by Π e_j. A record with one possible value left is known exactly, so the adversaries of Bayesian differential
privacy are a special case. docs/theory/side-information.md states which attackers are covered.

Finite laws are a joint table with one axis for each vertex. Vertices may be hidden: they have no record and mechanisms
do not read them, but the law and the side information may involve them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from bayesdp._support import validation
from bayesdp._support.messages import name_of
from bayesdp.audit.any_mechanism import array, enumerable_tau, joint_table, log_ratio, most_telling
from bayesdp.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Attack", "climb", "knowing", "odds_ratios", "worst_output"]

_LARGEST_TABLE = 2**12
_LARGEST_PROGRAM = 3**5

_ROUNDS = 25
"""The largest number of rounds that improve the output and the side information in turn."""

_SWEEPS = 40
"""The largest number of passes over all vertices that improve the side information for one output."""

_GAIN = 1e-11
"""Smaller improvements end the search."""

_STARTS = (-4.0, 0.0)
"""The range of the logarithms of random initial likelihoods."""

Likelihoods = tuple["NDArray[np.float64]", ...]


@dataclass(frozen=True, eq=False)
class Attack:
    """The worst attack: the leakage, the target records, the two values it distinguishes, and the side information.

    evidence:       the likelihood of each value of each vertex, including the target and hidden vertices.
    log_likelihood: ln of the probability of the most telling output, up to a constant, for each data set of the
                    vertices that have records.
    """

    epsilon: float
    target: tuple[int, ...]
    values: tuple[tuple[int, ...], tuple[int, ...]]
    evidence: Likelihoods
    log_likelihood: NDArray[np.float64]

    def __str__(self) -> str:
        more, less = (", ".join(map(str, values)) for values in self.values)
        held = "; ".join(
            f"{index}: {', '.join(f'{value:.3g}' for value in likelihood)}"
            for index, likelihood in enumerate(self.evidence)
        )
        return (
            f"leaks {self.epsilon:.6f}: an output is e^{self.epsilon:.4f} times likelier if record "
            f"{', '.join(map(str, self.target))} is {more} than if it is {less}, for an attacker with the likelihoods "
            f"{held}"
        )


def knowing(shape: Sequence[int], known: Mapping[int, int]) -> Likelihoods:
    """Return the side information of an attacker who knows some records exactly and nothing about the others.

    >>> [likelihood.tolist() for likelihood in knowing((2, 3), {1: 2})]
    [[1.0, 1.0], [0.0, 0.0, 1.0]]
    """
    return tuple(
        (np.arange(states) == known[index]).astype(np.float64) if index in known else np.ones(states)
        for index, states in enumerate(shape)
    )


def odds_ratios(joint: ArrayLike) -> NDArray[np.float64]:
    """Return the odds ratio of every two vertices, by its definition: over all their values and all values of the rest.

    Every ratio is infinite unless all combinations of each vertex's possible values are possible: some ratios would
    be 0/0.

    >>> odds_ratios([[0.4, 0.1], [0.1, 0.4]]).round(9).tolist()
    [[1.0, 16.0], [16.0, 1.0]]
    """
    law = joint_table(joint, _LARGEST_TABLE)
    axes = range(law.ndim)
    possible = [np.flatnonzero(law.sum(axis=tuple(other for other in axes if other != axis)) > 0) for axis in axes]
    law = law[np.ix_(*possible)]
    if not (law > 0).all():
        return np.where(np.eye(law.ndim, dtype=bool), 1.0, np.inf)
    ratios = np.ones((law.ndim, law.ndim))
    for first, second in itertools.combinations(axes, 2):
        table = np.log(np.moveaxis(law, (first, second), (0, 1)))
        steps = table[:, None] - table[None, :]
        largest = (steps[:, :, :, None] - steps[:, :, None, :]).max()
        ratios[first, second] = ratios[second, first] = math.exp(largest)
    return ratios


def worst_output(
    joint: ArrayLike,
    tau: float,
    *,
    target: int | Sequence[int],
    evidence: Sequence[ArrayLike] | None = None,
    hidden: Iterable[int] = (),
) -> Attack:
    """Return the largest leakage about one record of any output of any τ-DP mechanism, given side information.

    joint:    probabilities, one axis for each vertex.
    target:   the record that is attacked, or several that form one secret.
    evidence: one likelihood for each vertex; none by default.
    hidden:   the vertices without a record.

    The linear program of `any_mechanism` is solved for every two values of the target, over the other records only: for
    any values of these, the most telling output is e^τ times likelier at one value of the target than at the other (for
    several records: for each that differs). Some mechanism attains the result. It is 0 if only one value of the target
    is possible.

    >>> round(worst_output([[0.4, 0.1], [0.1, 0.4]], tau=1.0, target=0).epsilon, 6)
    1.569445
    """
    search = _Search.checked(joint, tau, target, hidden)
    return search.worst(_likelihoods(search.shape, evidence))


def climb(
    joint: ArrayLike,
    tau: float,
    *,
    target: int | Sequence[int],
    hidden: Iterable[int] = (),
    restarts: int = 4,
    seed: int = 0,
) -> Attack:
    """Search for the side information under which a τ-DP mechanism leaks most about the target; return the best found.

    The search starts from no side information and from `restarts` random ones. For every two values of the target, two
    steps alternate: the worst output given the side information, by linear programming; and for each vertex the best
    likelihood given the output and all other likelihoods. For the latter, two values of the vertex suffice, and their
    weights are the root of a quadratic (docs/theory/side-information.md). The result is attained; it may be below the
    supremum.

    >>> round(climb([[0.4, 0.1], [0.1, 0.4]], tau=1.0, target=0).epsilon, 6)
    1.592092
    """
    search = _Search.checked(joint, tau, target, hidden)
    generator = np.random.default_rng(seed)
    nothing = knowing(search.shape, {})
    starts = [nothing] + [
        tuple(np.exp(generator.uniform(*_STARTS, size=states)) for states in search.shape)
        for _ in range(validation.natural("restarts", restarts, least=0))
    ]
    best = search.worst(nothing)
    for likelihoods in starts:
        for pair in itertools.permutations(search.given(likelihoods), 2):
            best = max(best, search.climbed(likelihoods, pair), key=_leaked)
    return best


_leaked = attrgetter("epsilon")


@dataclass(frozen=True, eq=False)
class _Search:
    """An attack to optimise: the law, τ, the target and the other vertices.

    law: the joint table with the target in front: first one axis for its values, then one for each other vertex.
    """

    shape: tuple[int, ...]
    law: NDArray[np.float64]
    tau: float
    target: tuple[int, ...]
    others: tuple[int, ...]
    hidden: tuple[int, ...]

    @classmethod
    def checked(cls, joint: ArrayLike, tau: float, target: int | Sequence[int], hidden: Iterable[int]) -> _Search:
        law = joint_table(joint, _LARGEST_TABLE)
        tau = enumerable_tau(tau, law.ndim)
        targets = (target,) if isinstance(target, int) else tuple(target)
        attacked, unrecorded = (
            tuple(sorted({validation.natural(name, vertex, least=0) for vertex in vertices}))
            for name, vertices in (("target", targets), ("hidden", hidden))
        )
        if unrecorded and unrecorded[-1] >= law.ndim:
            raise InvalidInputError(f"vertex {unrecorded[-1]} does not exist; vertices are numbered from 0")
        for vertex in attacked or (law.ndim,):
            if vertex >= law.ndim or vertex in unrecorded:
                raise InvalidInputError(f"the target must be a record, and vertex {vertex} has none")
        others = tuple(vertex for vertex in range(law.ndim) if vertex not in attacked)
        size = math.prod(law.shape[vertex] for vertex in others if vertex not in unrecorded)
        if size > _LARGEST_PROGRAM:
            raise InvalidInputError(f"linear programs are solved for at most {_LARGEST_PROGRAM} data sets, not {size}")
        front = law.transpose(*attacked, *others).reshape(-1, *(law.shape[vertex] for vertex in others))
        return cls(law.shape, front, tau, attacked, others, unrecorded)

    @property
    def _hidden_axes(self) -> tuple[int, ...]:
        """The axes of hidden vertices in `law`."""
        return tuple(1 + self.others.index(vertex) for vertex in self.hidden)

    def _weighted(self, likelihoods: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        own = _product([likelihoods[vertex] for vertex in self.target]).ravel()
        return self.law * np.multiply.outer(own, _product([likelihoods[vertex] for vertex in self.others]))

    def given(self, likelihoods: Likelihoods) -> dict[int, NDArray[np.float64]]:
        """Return the law of the other records for each possible value of the target."""
        laws = self._weighted(likelihoods).sum(axis=self._hidden_axes)
        return {value: law / law.sum() for value, law in enumerate(laws) if law.sum() > 0}

    def worst(self, likelihoods: Likelihoods) -> Attack:
        """Return the worst output over all pairs of values."""
        given = self.given(likelihoods)
        attacks = [self.attack(given, pair, likelihoods) for pair in itertools.permutations(given, 2)]
        certain = next(iter(given), 0)
        nothing = self._attack(
            0.0, (certain, certain), likelihoods, np.zeros(self.law.sum(axis=self._hidden_axes).shape)
        )
        return max(attacks, key=_leaked, default=nothing)

    def attack(
        self, given: Mapping[int, NDArray[np.float64]], pair: tuple[int, int], likelihoods: Likelihoods
    ) -> Attack:
        """Return the worst output for one pair of values."""
        more, less = (given[value] for value in pair)
        others = most_telling(more, less, self.tau)
        changed = self._changed(pair[0])
        leaked = self.tau * float(changed[pair[1]]) + log_ratio(more, less, others)
        return self._attack(leaked, pair, likelihoods, np.add.outer(-self.tau * changed, others))

    def _changed(self, value: int) -> NDArray[np.intp]:
        """Return in how many records each value of the target differs from the given one."""
        values = np.indices([self.shape[vertex] for vertex in self.target]).reshape(len(self.target), -1)
        return np.asarray((values != values[:, [value]]).sum(axis=0))

    def _attack(
        self, leaked: float, pair: tuple[int, int], likelihoods: Likelihoods, output: NDArray[np.float64]
    ) -> Attack:
        """Return an attack in the order of the records; `output` has the target in front."""
        own = tuple(self.shape[vertex] for vertex in self.target)
        first, second = (tuple(int(index) for index in np.unravel_index(value, own)) for value in pair)
        order = np.argsort([*self.target, *(vertex for vertex in self.others if vertex not in self.hidden)])
        log_likelihood = output.reshape(*own, *output.shape[1:]).transpose(order)
        return Attack(leaked, self.target, (first, second), likelihoods, log_likelihood)

    def climbed(self, likelihoods: Likelihoods, pair: tuple[int, int]) -> Attack:
        """Improve the output and the side information in turn, for one pair of values."""
        best = self.attack(self.given(likelihoods), pair, likelihoods)
        for _ in range(_ROUNDS):
            likelihoods = self.sharpened(best, pair)
            attack = self.attack(self.given(likelihoods), pair, likelihoods)
            if attack.epsilon <= best.epsilon + _GAIN:
                break
            best = attack
        return best

    def sharpened(self, attack: Attack, pair: tuple[int, int]) -> Likelihoods:
        """Improve the side information for the attack's output, vertex by vertex, until the gain is negligible."""
        recorded = [vertex for vertex in range(len(self.shape)) if vertex not in self.hidden]
        order = [recorded.index(vertex) for vertex in (*self.target, *self.others) if vertex in recorded]
        output = np.exp(attack.log_likelihood - attack.log_likelihood.max()).transpose(order)
        visible = [1 if vertex in self.hidden else self.shape[vertex] for vertex in self.others]
        output = output.reshape(-1, *visible)
        likelihoods, reached = list(attack.evidence), 0.0
        more, less = pair
        for _ in range(_SWEEPS):
            before = reached
            for axis, vertex in enumerate(self.others, start=1):
                held, likelihoods[vertex] = likelihoods[vertex], np.ones_like(likelihoods[vertex])
                weighted = self._weighted(likelihoods)
                mass, reported = (_over_the_rest(table, axis) for table in (weighted, weighted * output))
                likelihoods[vertex], reached = _best_weights(
                    reported[more], mass[less], mass[more], reported[less], held
                )
            if reached <= before * (1 + _GAIN):
                break
        return tuple(likelihoods)


def _best_weights(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    c: NDArray[np.float64],
    d: NDArray[np.float64],
    held: NDArray[np.float64],
) -> tuple[NDArray[np.float64], float]:
    """Return weights m ≥ 0, at most two of them positive, that maximise (m·a)(m·b) / ((m·c)(m·d)); or `held`."""
    candidates = [held]
    for pair in itertools.combinations(range(len(held)), 2):
        two = list(pair)
        for share in (0.0, 1.0, *_turning_points(a[two], b[two], c[two], d[two])):
            weights = np.zeros(len(held))
            weights[two] = 1 - share, share
            candidates.append(weights)
    weights = np.array(candidates)
    above, below = (weights @ a) * (weights @ b), (weights @ c) * (weights @ d)
    gains = np.divide(above, below, out=np.zeros_like(above), where=(below > 0) & (above > 0))
    best = int(gains.argmax())
    return weights[best], float(gains[best])


def _turning_points(
    a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64], d: NDArray[np.float64]
) -> list[float]:
    """Return the shares of the second value that may maximise (m·a)(m·b) / ((m·c)(m·d)): roots of a quadratic."""
    above, below = np.convolve(a, b), np.convolve(c, d)
    constant = float(above[1] * below[0] - above[0] * below[1])
    half = float(above[2] * below[0] - above[0] * below[2])
    square = float(above[2] * below[1] - above[1] * below[2])
    inside = half * half - square * constant
    if inside < 0:
        return []
    stable = -(half + math.copysign(math.sqrt(inside), half))
    pairs = ((stable, square), (constant, stable))
    return [abs(over) / (abs(over) + abs(under)) for over, under in pairs if over * under > 0]


def _product(likelihoods: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    product: NDArray[np.float64] = np.ones(())
    for likelihood in likelihoods:
        product = np.multiply.outer(product, likelihood)
    return product


def _over_the_rest(table: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Return the sums of a table over all axes but the first and one other."""
    front = np.moveaxis(table, axis, 1)
    return np.asarray(front.reshape(*front.shape[:2], -1).sum(axis=2))


def _likelihoods(shape: tuple[int, ...], evidence: Sequence[ArrayLike] | None) -> Likelihoods:
    if evidence is None:
        return knowing(shape, {})
    likelihoods = tuple(array("side information", likelihood) for likelihood in evidence)
    if [likelihood.shape for likelihood in likelihoods] != [(states,) for states in shape]:
        raise InvalidInputError("side information is one likelihood for each vertex, with an entry for each value")
    if not all(np.isfinite(likelihood).all() and (likelihood >= 0).all() for likelihood in likelihoods):
        raise InvalidInputError(name_of("likelihoods") + " must be finite and at least 0")
    return likelihoods
