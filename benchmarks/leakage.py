"""The time of each theorem, and its ratio to a plain reference implementation measured in the same run.

References are what one would write first: one linear program a step, one loop an adversary, one output at a time.
Where the reference would take too long it is run on a smaller problem, named in the last column.

python benchmarks/leakage.py          # all
python benchmarks/leakage.py short    # chains of up to 26 states
"""

from __future__ import annotations

import itertools
import math
import sys
import time
import tracemalloc
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog, minimize_scalar

from bayesdp import Count, GaussianGroups, GaussianSeries, MarkovChain, Network, OddsChain, Sum, Theorem, calibrate
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.theorems.gaussian.covariance import covariance_factor
from bayesdp.theorems.gaussian.tight import tight_factor
from bayesdp.theorems.gaussian.walk import GaussianWalk
from bayesdp.theorems.markov.count import MarkovCount
from bayesdp.theorems.markov.memory import MarkovMemory
from bayesdp.theorems.markov.mixing import MarkovMixing, mixing_epsilons
from bayesdp.theorems.markov.quilt import MarkovQuilt
from bayesdp.theorems.odds.chain import OddsChainTheorem
from bayesdp.theorems.odds.network import OddsNetwork
from bayesdp.theorems.odds.sides import leakage_of_any_length
from bayesdp.theorems.odds.tree import OddsTree
from bayesdp.theorems.odds.walks import walks as walks_of
from bayesdp.theorems.spend import as_spend
from shared.activities import activities
from shared.reporting import heading, peak_megabytes, report

COUNT = Count(equals=1)
ACTIVITY = [[9713 / 11008, 1295 / 11008], [1295 / 4250, 2955 / 4250]]
REMEMBERED = [[[8828, 879], [491, 804]], [[879, 416], [804, 2151]]]


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


def plain_memory(table: NDArray[np.float64], tau: float, depth: int) -> float:
    """Every two pasts on the right side, one minimisation after the other, without later evidence."""
    values = np.zeros((2, 2, 2, 2))
    for _ in range(depth):
        new = np.zeros_like(values)
        for a, b, c, d in np.ndindex(2, 2, 2, 2):
            kappa = table[a, b, 0] * table[c, d, 1] / (table[a, b, 1] * table[c, d, 0])
            gains = np.exp(tau * (1 - np.eye(2)) + values[b, :, d, :])
            for y in gains[:, 0] / gains[:, 1]:
                h = np.minimum(gains[:, 0], gains[:, 1] * y)

                def missed(log: float, h: NDArray[np.float64] = h, y: float = y, kappa: float = kappa) -> float:
                    weight = math.exp(log)
                    above = (h[0] + h[1] * weight) * (1 + kappa * weight)
                    return -float(above / ((1 + weight) * (1 + kappa * y * weight)))

                reached = math.log(-float(minimize_scalar(missed).fun))
                new[a, b, c, d] = max(float(new[a, b, c, d]), reached)
        values = new
    return float(values.max())


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


def plain_walks(edges: NDArray[np.float64], size: int) -> float:
    """The sums of walks by a dense inverse, one target after the other."""
    step = np.zeros((size, size))
    for i, j, odds in edges:
        step[int(i), int(j)] = step[int(j), int(i)] = math.tanh(math.log(odds) / 4)
    inverse = np.linalg.inv(np.eye(size) - step)
    return max(float(sum(inverse[:, target]) / inverse[target, target]) for target in range(size))


def plain_tree(edges: NDArray[np.float64], size: int, tau: float) -> float:
    """The recursion of a tree, rooted at one record after the other."""
    neighbours: list[list[tuple[int, float]]] = [[] for _ in range(size)]
    for i, j, odds in edges:
        neighbours[int(i)].append((int(j), math.log(odds)))
        neighbours[int(j)].append((int(i), math.log(odds)))

    def held(vertex: int, parent: int) -> float:
        passed = (math.tanh(held(w, vertex) / 4) * math.tanh(d / 4) for w, d in neighbours[vertex] if w != parent)
        return tau + sum(4 * math.atanh(share) for share in passed)

    return max(held(target, -1) for target in range(size))


def four_neighbours(size: int) -> NDArray[np.float64]:
    """Return the edges of two random rings through all records."""
    rings = [np.random.default_rng(seed).permutation(size) for seed in (0, 1)]
    pairs = np.concatenate([np.sort(np.stack([ring, np.roll(ring, 1)], axis=1), axis=1) for ring in rings])
    pairs = np.unique(pairs, axis=0)
    return np.column_stack([pairs, np.full(len(pairs), 1.5)])


def random_tree(size: int) -> NDArray[np.float64]:
    generator = np.random.default_rng(size)
    parents = [int(generator.integers(0, child)) for child in range(1, size)]
    return np.column_stack([parents, np.arange(1, size), generator.choice([1.5, 4.0, 9.0], size - 1)])


def peak(function: Callable[[], object]) -> float:
    tracemalloc.start()
    function()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / 2**20


def random_covariance(size: int) -> tuple[tuple[float, ...], ...]:
    factors = np.random.default_rng(size).normal(size=(size, 2 * size))
    matrix = factors @ factors.T / size
    return tuple(map(tuple, ((matrix + matrix.T) / 2).tolist()))


def row(name: str, limit: float, ours: float, reference: float, note: str = "", unit: str = "s") -> None:
    report(name, ours, unit, baseline=reference, beside=f"plain: {note}" if note else "plain", at_most=limit)


def networks() -> None:
    """All targets of 10⁵ records: the model, the theorem, one τ."""
    small_network, small_tree = four_neighbours(2000), random_tree(2000)
    for theorem, limit, edges, reference in (
        (OddsNetwork(), 2, four_neighbours(10**5), lambda: plain_walks(small_network, 2000)),
        (OddsTree(), 5, random_tree(10**5), lambda: plain_tree(small_tree, 2000, 1.0)),
    ):

        def all_targets(theorem: Theorem = theorem, edges: NDArray[np.float64] = edges) -> float:
            return theorem.epsilon(Network(edges=edges, records=10**5), as_spend(COUNT, 1.0))

        report(f"{theorem.name}, 10⁵ records, all targets: memory", peak(all_targets), "MB", at_most=500)
        walks_of.cache_clear()
        row(f"{theorem.name}, 10⁵ records, all targets", limit, timed(all_targets), timed(reference), "2,000 records")


def main(short: bool) -> None:
    generator = np.random.default_rng(0)
    mixing, quilt = MarkovMixing(), MarkovQuilt()

    def calibrated(theorem: object, chain: MarkovChain, epsilons: list[float]) -> float:
        return timed(lambda: largest_taus(theorem, chain, COUNT, epsilons))  # type: ignore[arg-type]

    timed(lambda: mixing_epsilons(MarkovChain([[0.6, 0.4], [0.3, 0.7]]), [1.0]))
    print(heading())
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
    many_states(generator, short)
    ten = generator.dirichlet(np.ones(10), 10)
    reference = timed(lambda: plain_quilt(ten, 0.12, 16))
    row(
        "markov-quilt, 10 states, any length",
        0.02,
        calibrated(quilt, MarkovChain(ten), [1.0]),
        reference,
        "one τ, 16 deep",
    )
    for memory_length in (None, 15264):
        remembering = MarkovChain.from_counts(REMEMBERED, memory=2, length=memory_length)
        reference = timed(lambda remembering=remembering: plain_memory(remembering.table, 0.14, 10))  # type: ignore[misc]
        extent = "any length" if memory_length is None else "15,264 records"
        ours = calibrated(MarkovMemory(), remembering, [1.0])
        row(f"markov-memory, Activity, {extent}, calibration", 0.5, ours, reference, "one τ, one side, 10 deep")
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
    if not short:
        ours = timed(lambda: covariance_factor(random_covariance(20)))
        row("gaussian-covariance, m = 20", 30, ours, reference, "m = 12")
    for size, limit in ((1000, 2), (1500, 5)):
        steps = np.arange(size)
        covariance = tuple(map(tuple, (0.5 ** np.abs(steps[:, None] - steps)).tolist()))
        ours = timed(lambda covariance=covariance: covariance_factor(covariance))  # type: ignore[misc]
        row(f"gaussian-covariance, sign-MTP2, m = {size}", limit, ours, reference, "m = 12")
    known = Fraction(1, 10**6 + 5)
    reference = timed(lambda: plain_tight(10**4, known))
    row("gaussian-tight, groups of 10⁹", 0.01, timed(lambda: tight_factor(10**9, known / 1000)), reference, "m = 10⁴")
    walks()
    networks()
    odds_chains()


def many_states(generator: np.random.Generator, short: bool) -> None:
    """Calibrations of chains of 26 to 300 states, and how much memory they take."""
    chains: list[tuple[str, Callable[[], MarkovChain], float]] = [
        ("26 activities, any length", lambda: activities(26, 1), 5),
        ("26 states, any length", lambda: MarkovChain(generator.dirichlet(np.ones(26), 26)), 5),
        ("51 activities, any length", lambda: activities(51, 0), 20),
        ("51 states, any length", lambda: MarkovChain(generator.dirichlet(np.ones(51), 51)), 20),
        ("100 states, any length", lambda: MarkovChain(generator.dirichlet(np.ones(100), 100)), 60),
    ]
    for name, chain_of, limit in chains[: 2 if short else None]:
        many = chain_of()
        reference = timed(lambda many=many: plain_relaxation(many.matrix, math.exp(0.25)))  # type: ignore[misc]
        ours = timed(lambda many=many: largest_taus(MarkovMixing(), many, COUNT, [1.0]))  # type: ignore[misc]
        row(f"markov-mixing, {name}", limit, ours, reference, "one τ, 1 deep, 1 ending")
    if short:
        return
    huge = MarkovChain(generator.dirichlet(np.ones(300), 300))
    reference = timed(lambda: plain_relaxation(huge.matrix[:50], math.exp(0.25)))
    row("300 states: refused, the quilt", 120, timed(lambda: calibrate(huge, COUNT, epsilon=1.0)), reference, "50 rows")
    report("300 states: memory, with all before", peak_megabytes(), "MB", at_most=2048)


def odds_chains() -> None:
    """The closed form: one call of the whole theorem, and 10⁵ values of τ at once."""
    spend, chain, theorem = as_spend(COUNT, 0.25), OddsChain(17.1148), OddsChainTheorem()
    theorem.epsilon(chain, spend)
    repeats = 2000
    ours = timed(lambda: [theorem.epsilon(chain, spend) for _ in range(repeats)]) / repeats
    reference = timed(lambda: [plain_chain(17.1148, 0.25, 200) for _ in range(200)]) / 200
    row(
        "odds-chain, any length, one τ",
        50,
        1e6 * ours,
        1e6 * reference,
        "recursion, 200 records a side",
        "µs",
    )
    taus = np.linspace(0.001, 5, 10**5)
    ours = timed(lambda: leakage_of_any_length(taus, chain.log_odds))
    reference = timed(lambda: [plain_chain(17.1148, tau, 200) for tau in taus[:500]]) * len(taus) / 500
    row("odds-chain, 10⁵ τ at once", 0.02, ours, reference, "recursion, 500 of them, scaled up")
    long = OddsChain(17.1148, length=15264)
    ours = timed(lambda: largest_taus(theorem, long, COUNT, [1.0]))
    row("odds-chain, 15,264 records, calibration", 0.1, ours, reference / len(taus), "one τ, 200 records a side")


def plain_chain(odds: float, tau: float, records: int) -> float:
    """The contraction, record by record."""
    passed, share = 0.0, math.tanh(math.log(odds) / 4)
    for _ in range(records):
        passed = 4 * math.atanh(share * math.tanh((tau + passed) / 4))
    return tau + 2 * passed


def series_precision(coefficients: tuple[float, ...], size: int) -> sp.csr_array:
    """The precision of an autoregressive series, as a sparse matrix."""
    filtered = np.concatenate([[1.0], -np.array(coefficients)])
    order = len(coefficients)
    lags = [float(filtered[: order + 1 - lag] @ filtered[lag:]) for lag in range(order + 1)]
    offsets = list(range(-order, order + 1))
    return sp.diags_array([lags[abs(lag)] for lag in offsets], offsets=offsets, shape=(size, size), dtype=float).tocsr()


def plain_walk(precision: sp.csr_array) -> float:
    """Every column of the inverse of the comparison matrix, dense."""
    dense = -np.abs(precision.toarray())
    np.fill_diagonal(dense, precision.diagonal())
    inverse = np.linalg.inv(dense)
    return float((inverse / np.diag(inverse)).sum(axis=0).max())


def walks() -> None:
    """A series of order 3 with a million records: by its coefficients, and by its precision."""
    coefficients, query = (0.3, 0.2, 0.1), Sum(bounds=(0, 100))
    timed(lambda: plain_walk(series_precision(coefficients, 100)))
    reference = timed(lambda: plain_walk(series_precision(coefficients, 1000)))
    series = GaussianSeries(coefficients, length=10**6)
    ours = timed(lambda: GaussianWalk().epsilon(series, as_spend(query, 1.0)))
    row("gaussian-walk, AR(3), 10⁶ records", 2, ours, reference, "dense, 10³ records")
    million = series_precision(coefficients, 10**6)
    ours = timed(lambda: GaussianWalk().epsilon(GaussianGroups(precision=million), as_spend(query, 1.0)))
    row("gaussian-walk, sparse precision, 10⁶ records", 10, ours, reference, "dense, 10³ records")


if __name__ == "__main__":
    main("short" in sys.argv[1:])
