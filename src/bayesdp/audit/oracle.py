"""Exhaustive leakage of small models: every adversary, every known value, every output. Simple and slow.

A finite model is a joint table `joint[x1, …, xn]`. A mechanism is a kernel `kernel[x1, …, xn, output]` with the
likelihood of each output, or, for densities, of outputs that attain the supremum. The oracle uses none of the theorems
that it checks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesdp._support import validation
from bayesdp.audit.any_mechanism import array, enumerable_tau, joint_table, log_ratio, most_telling
from bayesdp.errors import InvalidInputError
from bayesdp.models.memory import joint_law, stationary_law

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bayesdp.models import MarkovChain

__all__ = [
    "Finding",
    "GaussianFinding",
    "bdpl",
    "chain_joint",
    "gaussian_lemma",
    "generalized_randomized_response",
    "joint_release",
    "laplace_sum",
    "randomized_response",
    "record_channel",
    "worst_mechanism",
]

_LARGEST_TABLE = 3**5
"""Five records of three states: the adversaries and what they may know grow exponentially."""

_LARGEST_GROUP = 6
"""Six normal records have 192 adversaries, each with its own conditional law."""

_LARGEST_PROGRAM = 27
"""Three records of three states: a linear program with a variable for each data set and one for each output."""


@dataclass(frozen=True)
class Finding:
    """The worst adversary: the leakage, its target, what it knows, and the values and the output that attain it.

    Records are numbered from 0, values by their position in the table, outputs by their position in the kernel.
    """

    epsilon: float
    target: int
    known: tuple[tuple[int, int], ...]
    values: tuple[int, int]
    output: int

    def __str__(self) -> str:
        knows = ", ".join(f"record {record} = {value}" for record, value in self.known) or "nothing"
        more, less = self.values
        return (
            f"leaks {self.epsilon:.6f}: output {self.output} is e^{self.epsilon:.4f} times likelier if record "
            f"{self.target} is {more} than if it is {less}, for an adversary who knows {knows}"
        )


def bdpl(joint: ArrayLike, kernel: ArrayLike, *, adversary: tuple[int, tuple[int, ...]] | None = None) -> Finding:
    """Return the Bayesian differential privacy leakage of a mechanism under a finite joint law, and its adversary.

    joint:     probabilities of shape (s1, …, sn), at most 243 entries.
    kernel:    likelihoods of shape (s1, …, sn, outputs).
    adversary: a target and the known records: compute the leakage to this adversary only, over all known values.

    Conditional laws are taken on the support of `joint` only. Raises InvalidInputError for other tables.

    >>> pair = [[0.4, 0.1], [0.1, 0.4]]
    >>> round(bdpl(pair, laplace_sum([0, 1], records=2, tau=1.0)).epsilon, 6)
    1.569445
    """
    law, likelihood = _checked(joint, kernel)
    records = law.ndim
    weighted = law[..., None] * likelihood
    worst: Finding | None = None
    for target, known in _adversaries(records) if adversary is None else [adversary]:
        unknown = tuple(record for record in range(records) if record != target and record not in known)
        mass = law.sum(axis=unknown, keepdims=True)
        output = weighted.sum(axis=unknown, keepdims=True)
        for values in itertools.product(*(range(law.shape[record]) for record in known)):
            knowledge = dict(zip(known, values, strict=True))
            where = tuple(slice(None) if record == target else knowledge.get(record, 0) for record in range(records))
            pair = _worst_pair(mass[where], output[where])
            if pair is not None and (worst is None or pair[0] > worst.epsilon):
                epsilon, more, less, index = pair
                worst = Finding(epsilon, target, tuple(knowledge.items()), (more, less), index)
    if worst is None:
        return Finding(0.0, 0, (), (0, 0), 0)
    return worst


def worst_mechanism(joint: ArrayLike, tau: float, *, adversary: tuple[int, tuple[int, ...]] | None = None) -> float:
    """Return the largest leakage of *any* τ-DP mechanism under a finite joint law, by linear programming.

    adversary: a target and the known records: compute the leakage to this adversary only.

    `any_mechanism` finds the worst output for every adversary and pair of values; some mechanism attains the result.

    >>> round(worst_mechanism([[0.4, 0.1], [0.1, 0.4]], tau=1.0), 6)
    1.569445
    """
    law = _checked(joint, np.ones((*np.shape(joint), 1)))[0]
    if law.size > _LARGEST_PROGRAM:
        raise InvalidInputError(f"linear programs are solved for at most {_LARGEST_PROGRAM} data sets, not {law.size}")
    tau = enumerable_tau(tau, law.ndim)
    worst = 0.0
    for target, known in _adversaries(law.ndim) if adversary is None else [adversary]:
        for values in itertools.product(*(range(law.shape[record]) for record in known)):
            fixed = dict(zip(known, values, strict=True))
            laws = [_given(law, fixed | {target: value}) for value in range(law.shape[target])]
            for more, less in itertools.permutations([law for law in laws if law is not None], 2):
                worst = max(worst, log_ratio(more, less, most_telling(more, less, tau)))
    return worst


def _given(law: NDArray[np.float64], fixed: dict[int, int]) -> NDArray[np.float64] | None:
    """Return the law of the data set given some records; None if they cannot occur."""
    kept = np.zeros_like(law)
    where = tuple(fixed.get(record, slice(None)) for record in range(law.ndim))
    kept[where] = law[where]
    return kept / kept.sum() if kept.sum() > 0 else None


def _worst_pair(mass: NDArray[np.float64], output: NDArray[np.float64]) -> tuple[float, int, int, int] | None:
    """Return the largest log ratio over outputs and pairs of possible target values, and where it occurs."""
    possible = np.flatnonzero(mass > 0)
    if len(possible) < 2:
        return None
    given = output[possible] / mass[possible, None]
    reachable = given.max(axis=0) > 0
    with np.errstate(divide="ignore"):
        ratio = np.log(given.max(axis=0)[reachable]) - np.log(given.min(axis=0)[reachable])
    best = int(np.argmax(ratio))
    index = int(np.flatnonzero(reachable)[best])
    more, less = possible[given[:, index].argmax()], possible[given[:, index].argmin()]
    return float(ratio[best]), int(more), int(less), index


def _adversaries(records: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield every target with every set of other records."""
    for target in range(records):
        others = [record for record in range(records) if record != target]
        for size in range(len(others) + 1):
            for known in itertools.combinations(others, size):
                yield target, known


def _checked(joint: ArrayLike, kernel: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    law, likelihood = joint_table(joint, _LARGEST_TABLE), array("the kernel", kernel)
    if likelihood.shape[:-1] != law.shape or likelihood.shape[-1] == 0:
        raise InvalidInputError(f"the kernel must have the shape {law.shape} and one more axis, its outputs")
    if not (np.isfinite(likelihood).all() and (likelihood >= 0).all()):
        raise InvalidInputError("the kernel must hold finite likelihoods of at least 0")
    return law, likelihood


def chain_joint(chain: MarkovChain, records: int, start: ArrayLike | None = None) -> NDArray[np.float64]:
    """Return the joint table of the chain's first records, from its stationary law or from `start`.

    start: the law of the first record; with memory k, the joint law of the first k records.
    """
    records = validation.natural("records", records)
    size = len(chain.transition)
    if size**records > _LARGEST_TABLE:
        raise InvalidInputError(f"{records} records of {size} states are too many to enumerate")
    if chain.memory > 1:
        first = stationary_law(chain.table) if start is None else array("the start", start)
        return joint_law(chain.table, first, records)
    joint: NDArray[np.float64] = np.array(chain.stationary if start is None else start, dtype=np.float64)
    for _ in range(records - 1):
        joint = joint[..., None] * chain.matrix
    return joint


def laplace_sum(
    values: Sequence[float],
    records: int,
    tau: float,
    *,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
) -> NDArray[np.float64]:
    """Return the kernel of Laplace noise on the sum of state values, τ-DP.

    bounds: values are clipped to these, and the noise covers their width; by default values are not clipped.
    step:   clipped values are rounded to low + step·(a whole number), halves up, before they are added.

    Given any records, the output density is a mixture of Laplace densities centred at possible sums. Between two
    neighbouring sums every mixture is A·e^(−cy) + B·e^(cy), the ratio of two of them is monotone in y, and outside all
    sums it is constant. The supremum over outputs is therefore a maximum over the possible sums: the outputs returned.
    """
    numbers = np.array([validation.number("value", value) for value in values])
    low, high = bounds if bounds is not None else (numbers.min(), numbers.max())
    numbers, spread = np.clip(numbers, low, high), high - low
    if step is not None:
        numbers, spread = np.floor((numbers - low) / step + 0.5), np.floor((high - low) / step + 0.5)
    sums = np.zeros(())
    for _ in range(validation.natural("records", records)):
        sums = sums[..., None] + numbers
    if (numbers == numbers[0]).all():
        return np.ones((*sums.shape, 1))
    tau = enumerable_tau(tau, records)
    points = np.unique(sums)
    return np.array(np.exp(-tau / spread * np.abs(points - sums[..., None])))


def record_channel(channel: ArrayLike, records: int) -> NDArray[np.float64]:
    """Return the kernel that sends every record independently through the same channel[value, report]."""
    single = np.asarray(channel, dtype=np.float64)
    kernel = np.ones(())
    for _ in range(validation.natural("records", records)):
        kernel = np.multiply.outer(kernel, single)
    axes = (*range(0, 2 * records, 2), *range(1, 2 * records, 2))
    return kernel.transpose(axes).reshape((single.shape[0],) * records + (-1,))


def randomized_response(flip: float, records: int) -> NDArray[np.float64]:
    """Return the kernel that flips every bit with probability `flip`."""
    return record_channel([[1 - flip, flip], [flip, 1 - flip]], records)


def generalized_randomized_response(tau: float, states: int, records: int) -> NDArray[np.float64]:
    """Return the kernel that keeps every record with odds e^τ to 1 against each other value: τ-DP."""
    channel = np.ones((states, states)) + (math.exp(enumerable_tau(tau, records)) - 1) * np.eye(states)
    return record_channel(channel / channel.sum(axis=1, keepdims=True), records)


def joint_release(*kernels: ArrayLike) -> NDArray[np.float64]:
    """Return the kernel of several independent releases together.

    For Laplace kernels the outputs are the tuples of possible sums. They suffice in each coordinate: with the other
    outputs fixed, the density is again a mixture of Laplace densities at possible sums.
    """
    arrays = [np.asarray(kernel, dtype=np.float64) for kernel in kernels]
    together = arrays[0]
    for other in arrays[1:]:
        together = (together[..., :, None] * other[..., None, :]).reshape((*together.shape[:-1], -1))
    return together


@dataclass(frozen=True)
class GaussianFinding:
    """The worst adversary of a normal group: the factor on τ, its target and the records it knows."""

    factor: float
    target: int
    known: tuple[int, ...]


def gaussian_lemma(
    covariance: ArrayLike,
    *,
    reach: float = 1.0,
    capped: bool = True,
    adversary: tuple[int, tuple[int, ...]] | None = None,
) -> GaussianFinding:
    """Return the largest factor the Gaussian lemma gives over all adversaries of one group of at most six.

    reach:     D/M, how far apart target values may be, in clipping widths.
    capped:    whether to use that no record moves more than M after clipping.
    adversary: a target and the known records: compute the factor for this adversary only.

    >>> galton = [[1, 0.275, 0.202], [0.275, 1, 0.074], [0.202, 0.074, 1]]
    >>> round(gaussian_lemma(galton).factor, 3)
    1.477
    """
    matrix = array("the covariance", covariance)
    size = len(matrix) if matrix.ndim else 0
    if matrix.shape != (size, size) or not 1 <= size <= _LARGEST_GROUP or not np.isfinite(matrix).all():
        raise InvalidInputError(f"the oracle enumerates square covariances of 1 to {_LARGEST_GROUP} records")
    worst = GaussianFinding(0.0, 0, ())
    for target, known in _adversaries(size) if adversary is None else [adversary]:
        given = [*known, target]
        unknown = [record for record in range(size) if record not in given]
        inverse = np.linalg.pinv(matrix[np.ix_(given, given)], hermitian=True)
        if known and _determined(matrix, target, known):
            continue
        moves = np.abs(matrix[np.ix_(unknown, given)] @ inverse[:, -1]) * reach
        shifts = np.append(moves, reach)
        factor = float((np.minimum(shifts, 1.0) if capped else shifts).sum())
        if factor > worst.factor:
            worst = GaussianFinding(factor, target, known)
    return worst


def _determined(matrix: NDArray[np.float64], target: int, known: tuple[int, ...]) -> bool:
    """Whether the known records determine the target, so that it has no two possible values."""
    cross = matrix[np.ix_(known, [target])]
    left = (
        matrix[target, target] - (cross.T @ np.linalg.pinv(matrix[np.ix_(known, known)], hermitian=True) @ cross)[0, 0]
    )
    return bool(left <= 1e-12 * matrix[target, target])
