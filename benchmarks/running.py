"""The worst standard deviation of a running total within a horizon, as a ratio to separate totals of the same privacy.

Separate totals share τ (or ρ) equally. Beside our trees stand trees of fixed arities with one node for each digit of a
total, without least squares, and mechanisms that keep noise secret between totals, which ours do not: for Laplace noise
trees whose digits may be negative (Andersson, Pagh, Steiner and Torkamani, FORC 2025), and for Gaussian noise the
square-root factorisation (Fichtenberger, Henzinger and Upadhyay, ICML 2023) and the smallest value that any
factorisation can have, up to o(1) (Henzinger, Kalinin and Upadhyay 2025).

python benchmarks/running.py
"""

from __future__ import annotations

import math
from itertools import accumulate, pairwise
from operator import mul

from bayesdp.window_trees import TreeNoise, WindowTree
from shared.reporting import heading, report

HORIZONS = (31, 365, 3650)
TARGET = {"laplace": 0.04, "gaussian": None}
"""How large the worst error may be at a horizon of 365, as a ratio to separate totals."""

ARITIES = {"binary": (2,) * 9, "8·8·6": (8, 8, 6), "20·19": (20, 19)}
"""Trees of fixed arities with 365 leaves at least, from the leaves up."""


def separate(noise: TreeNoise, horizon: int) -> float:
    """Return the standard deviation of each of so many totals, in units of one answer that takes the whole loss."""
    return float(horizon if noise == "laplace" else math.sqrt(horizon))


def fixed(noise: TreeNoise, arities: tuple[int, ...], horizon: int) -> float:
    """Return the worst standard deviation of totals that are sums of the nodes of a tree of fixed arities."""
    levels = len(arities)
    widths: list[int] = [1, *accumulate(arities, mul)]

    def nodes(periods: int) -> int:
        return periods // widths[-1] + sum(periods % wide // width for width, wide in pairwise(widths))

    most = max(map(nodes, range(1, horizon + 1)))
    return math.sqrt(most * levels ** (2 if noise == "laplace" else 1))


def signed(horizon: int) -> float:
    """Return the same of the best tree with digits from −(k − 1)/2 to (k − 1)/2, for Laplace noise."""
    trees = ((levels, k) for levels in range(1, 9) for k in range(3, 2 * horizon + 2, 2))
    nodes = ((levels, levels * (k - 1) // 2) for levels, k in trees if (k**levels - 1) // 2 >= horizon)
    return min(math.sqrt(most) * levels for levels, most in nodes)


def square_root(horizon: int) -> float:
    """Return the standard deviation of totals by the square-root factorisation: the sum of squared coefficients.

    Rows and columns of the factors have the same norm; its square is 1.07 + ln(n)/π at most.
    """
    coefficients = accumulate(((2 * k - 1) / (2 * k) for k in range(1, horizon)), mul, initial=1.0)
    return math.fsum(coefficient**2 for coefficient in coefficients)


def main() -> None:
    print(heading())
    kinds: tuple[TreeNoise, ...] = ("laplace", "gaussian")
    for noise in kinds:
        for horizon in HORIZONS:
            base = separate(noise, horizon)
            ours = math.sqrt(WindowTree(horizon, noise).worst())
            target = TARGET[noise] if horizon == 365 else None
            report(f"{horizon} totals, {noise}", ours, "σ", baseline=base, beside="separate", ratio_at_most=target)
            never_ending = math.sqrt(WindowTree(None, noise).worst(horizon))
            report("  without a horizon", never_ending, "σ", baseline=base, beside="separate")
            if horizon == 365:
                for name, arities in ARITIES.items():
                    report(f"  {name}", fixed(noise, arities, horizon), "σ", baseline=base, beside="separate")
            if noise == "laplace":
                report("  signed digits, secret", signed(horizon), "σ", baseline=base, beside="separate")
            else:
                report("  square root, secret", square_root(horizon), "σ", baseline=base, beside="separate")
                least = 0.701 + math.log(horizon) / math.pi
                report("  no factorisation is below", least, "σ", baseline=base, beside="separate")


if __name__ == "__main__":
    main()
