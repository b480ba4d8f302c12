"""The time of each theorem, and its ratio to a plain reference implementation measured in the same run.

References are what one would write first: one linear program a step, one loop an adversary, one output at a time.
Where the reference would take too long it is run on a smaller problem, named in the last column.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from bayesdp import Count, MarkovChain, calibrate
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.testing.activities import activities
from bayesdp.theorems.gaussian.covariance import covariance_factor
from bayesdp.theorems.gaussian.tight import tight_factor
from bayesdp.theorems.markov.count import MarkovCount
from bayesdp.theorems.markov.mixing import MarkovMixing, mixing_epsilons
from bayesdp.theorems.markov.quilt import MarkovQuilt
from bayesdp.theorems.spend import as_spend

COUNT = Count(equals=1)
ACTIVITY = [[9713 / 11008, 1295 / 11008], [1295 / 4250, 2955 / 4250]]


def timed(function: Callable[[], object]) -> float:
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def plain_mixing(matrix: NDArray[np.float64], tau: float, depth: int) -> float:
    """One linear program for every pair, boundary and distance, on the right side only, without caps."""
    size = len(matrix)
    values = np.ones((size, size, size))
    worst = 0.0
    reached = np.eye(size)
    for _ in range(depth):
        reached = matrix @ reached
        new = np.ones_like(values)
        for u, w, r in itertools.product(range(size), repeat=3):
            if u == w:
                continue
            p, q = matrix[u] * reached[:, r], matrix[w] * reached[:, r]
            if p.sum() == 0 or q.sum() == 0:
                continue
            p, q = p / p.sum(), q / q.sum()
            rows = [
                np.eye(size)[v] - math.exp(tau) * values[v, x, r] * np.eye(size)[x]
                for v, x in itertools.permutations(range(size), 2)
            ]
            new[u, w, r] = -linprog(-p, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=[q], b_eq=[1.0]).fun
        values = new
        worst = max(worst, math.log(values.max()))
    return tau + 2 * worst


def plain_quilt(matrix: NDArray[np.float64], tau: float, depth: int) -> float:
    """Every window up to `depth`, one pair of values and one end at a time."""
    size = len(matrix)
    powers = [np.linalg.matrix_power(matrix, k) for k in range(depth + 2)]

    def psi(k: int, x: int, y: int) -> float:
        return max(math.log(powers[k][q, x] / powers[k][q, y]) for q in range(size))

    def phi(k: int, x: int, y: int) -> float:
        return max(math.log(powers[k][x, r] / powers[k][y, r]) for r in range(size))

    pairs = list(itertools.permutations(range(size), 2))
    left = [[psi(k, x, y) + psi(k + 1, y, x) for x, y in pairs] for k in range(1, depth + 1)]
    right = [[phi(k, x, y) + phi(k + 1, y, x) for x, y in pairs] for k in range(1, depth + 1)]
    return min(
        (a + b + 1) * tau + max(x + y for x, y in zip(left[a], right[b], strict=True))
        for a in range(depth)
        for b in range(depth)
    )


def plain_covariance(matrix: NDArray[np.float64]) -> float:
    """One linear system for every adversary."""
    size, worst = len(matrix), 0.0
    for target in range(size):
        others = [record for record in range(size) if record != target]
        for count in range(size):
            for known in itertools.combinations(others, count):
                given = [*known, target]
                unknown = [record for record in others if record not in known]
                slopes = matrix[np.ix_(unknown, given)] @ np.linalg.inv(matrix[np.ix_(given, given)])[:, -1]
                worst = max(worst, 1 + float(np.minimum(np.abs(slopes), 1).sum()))
    return worst


def plain_tight(size: int, correlation: Fraction) -> Fraction:
    """Every number of records the adversary may know, one by one."""
    return 1 + max((size - 1 - k) * min(correlation / (1 - k * correlation), Fraction(1)) for k in range(size - 1))


def plain_count(chain: MarkovChain, tau: float, depth: int) -> float:
    """Every interval and every output, one mixture of Laplace densities at a time."""
    matrix, reverse, worst = chain.matrix, chain.reversal().matrix, 0.0

    def law(step: NDArray[np.float64], start: int, unknown: int, end: int) -> NDArray[np.float64]:
        current = np.zeros((2, unknown + 2))
        current[start, 0] = 1.0
        for _ in range(unknown):
            moved = step.T @ current
            current = np.array([moved[0], np.roll(moved[1], 1)])
        reached: NDArray[np.float64] = (step[:, end] @ current)[: unknown + 1]
        return np.asarray(reached / reached.sum())

    for a, b, left, right in itertools.product(range(depth), range(depth), range(2), range(2)):
        laws = [np.convolve(law(reverse, x, a, left), law(matrix, x, b, right)) for x in (0, 1)]
        for output in range(a + b + 2):
            densities = [
                sum(mass * math.exp(-tau * abs(output - x - n)) for n, mass in enumerate(laws[x])) for x in (0, 1)
            ]
            worst = max(worst, abs(math.log(densities[0] / densities[1])))
    return worst


def plain_relaxation(matrix: NDArray[np.float64], gain: float) -> float:
    """The hockey-stick root of every pair by bisection, nothing known, one step."""
    worst = 1.0
    for p, q in itertools.permutations(matrix, 2):
        low, high = 1.0, gain
        while high - low > 1e-12:
            middle = (low + high) / 2
            larger = middle < 1 + (gain - 1) * np.maximum(p - middle * q, 0).sum()
            low, high = (middle, high) if larger else (low, middle)
        worst = max(worst, high)
    return worst


def random_covariance(size: int) -> tuple[tuple[float, ...], ...]:
    factors = np.random.default_rng(size).normal(size=(size, 2 * size))
    matrix = factors @ factors.T / size
    return tuple(map(tuple, ((matrix + matrix.T) / 2).tolist()))


def row(name: str, limit: float, ours: float, reference: float | None = None, note: str = "") -> None:
    ratio = "" if reference is None else f"{reference / ours:10.1f}×"
    print(f"{name:52} {ours:8.3f} s  (at most {limit:5.2f} s)  {ratio:>11}  {note}")


def main() -> None:
    generator = np.random.default_rng(0)
    mixing, quilt = MarkovMixing(), MarkovQuilt()

    def calibrated(theorem: object, chain: MarkovChain, epsilons: list[float]) -> float:
        return timed(lambda: largest_taus(theorem, chain, COUNT, epsilons))  # type: ignore[arg-type]

    timed(lambda: mixing_epsilons(MarkovChain([[0.6, 0.4], [0.3, 0.7]]), [1.0]))
    print(f"{'what':52} {'time':>10}  {'':17}  {'reference':>10}")
    reference = timed(lambda: plain_mixing(np.array(ACTIVITY), 0.25, 45))
    row(
        "markov-mixing, 2 states, calibration",
        0.1,
        calibrated(mixing, MarkovChain(ACTIVITY), [1.0]),
        reference,
        "one τ",
    )
    slow = MarkovChain([[0.99, 0.01], [0.01, 0.99]])
    deep = timed(lambda: plain_mixing(slow.matrix, 0.01, 100))
    row("markov-mixing, 2 states, eigenvalue 0.98", 0.1, calibrated(mixing, slow, [1.0]), deep, "one τ, 100 deep")
    twenty = [float(value) for value in range(1, 21)]
    ours = calibrated(mixing, MarkovChain(ACTIVITY, length=15000), twenty)
    row("markov-mixing, 2 states, twenty ε at once", 0.5, ours, reference, "one τ")
    row("markov-mixing, 2 states, 0.98, twenty ε", 0.5, calibrated(mixing, slow, twenty), deep, "one τ, 100 deep")
    five = generator.dirichlet(np.ones(5), 5)
    reference = timed(lambda: plain_mixing(five, 0.25, 4))
    row(
        "markov-mixing, 5 states, calibration",
        10,
        calibrated(mixing, MarkovChain(five), [1.0]),
        reference,
        "one τ, 4 deep",
    )
    small = 0.4 * np.eye(5) + 0.3 * np.eye(5, k=1) + 0.3 * np.eye(5, k=-1)
    small[0, 0] = small[4, 4] = 0.7
    reference = timed(lambda: plain_mixing(small, 0.25, 4))
    row(
        "markov-mixing, 5 states in small steps",
        10,
        calibrated(mixing, MarkovChain(small), [1.0]),
        reference,
        "one τ, 4 deep",
    )
    for name, many, limit in (
        ("26 activities, any length", activities(26, 1), 5),
        ("26 states, any length", MarkovChain(generator.dirichlet(np.ones(26), 26)), 5),
        ("51 activities, any length", activities(51, 0), 20),
        ("51 states, any length", MarkovChain(generator.dirichlet(np.ones(51), 51)), 20),
        ("100 states, any length", MarkovChain(generator.dirichlet(np.ones(100), 100)), 60),
    ):
        reference = timed(lambda many=many: plain_relaxation(many.matrix, math.exp(0.25)))  # type: ignore[misc]
        row(f"markov-mixing, {name}", limit, calibrated(mixing, many, [1.0]), reference, "one τ, 1 deep, 1 ending")
    huge = MarkovChain(generator.dirichlet(np.ones(300), 300))
    reference = timed(lambda: plain_relaxation(huge.matrix[:50], math.exp(0.25)))
    row("300 states: refused, the quilt", 120, timed(lambda: calibrate(huge, COUNT, epsilon=1.0)), reference, "50 rows")
    ten = generator.dirichlet(np.ones(10), 10)
    reference = timed(lambda: plain_quilt(ten, 0.12, 16))
    row(
        "markov-quilt, 10 states, any length",
        0.02,
        calibrated(quilt, MarkovChain(ten), [1.0]),
        reference,
        "one τ, 16 deep",
    )
    activity = MarkovChain(ACTIVITY, length=15264)
    reference = timed(lambda: plain_count(activity, 0.25, 12))
    row(
        "markov-count, Activity, calibration",
        1,
        calibrated(MarkovCount(), activity, [1.0]),
        reference,
        "one τ, 12 deep",
    )
    row(
        "markov-count, Activity, one τ",
        1,
        timed(lambda: MarkovCount().epsilon(activity, as_spend(COUNT, 0.3))),
        reference,
        "12 deep",
    )
    reference = timed(lambda: plain_covariance(np.array(random_covariance(12))))
    row("gaussian-covariance, m = 12", 0.1, timed(lambda: covariance_factor(random_covariance(12))), reference)
    row("gaussian-covariance, m = 16", 2, timed(lambda: covariance_factor(random_covariance(16))), reference, "m = 12")
    row("gaussian-covariance, m = 20", 30, timed(lambda: covariance_factor(random_covariance(20))), reference, "m = 12")
    for size, limit in ((1000, 2), (1500, 5)):
        steps = np.arange(size)
        covariance = tuple(map(tuple, (0.5 ** np.abs(steps[:, None] - steps)).tolist()))
        ours = timed(lambda covariance=covariance: covariance_factor(covariance))  # type: ignore[misc]
        row(f"gaussian-covariance, sign-MTP2, m = {size}", limit, ours, reference, "m = 12")
    known = Fraction(1, 10**6 + 5)
    reference = timed(lambda: plain_tight(10**4, known))
    row("gaussian-tight, groups of 10⁹", 0.01, timed(lambda: tight_factor(10**9, known / 1000)), reference, "m = 10⁴")


if __name__ == "__main__":
    main()
