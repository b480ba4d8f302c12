"""Figures for variants that the authors' scripts contain and the paper does not use, drawn with `--extra`.

We know the variants by their names and parameters only: `markov_bounds`, `arbitrary_laplace`, the switching
probabilities 0.1 and 0.7, and random guesses. The figures show what these names describe.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from bayesdp.accuracy import Laplace
from bayesdp.experiments.curves import response_chart, symmetric
from bayesdp.experiments.simulate import PLAIN
from bayesdp.plotting.charts import Chart, Line, Panel, line
from bayesdp.plotting.palette import PALETTE
from bayesdp.queries import Count
from bayesdp.theorems.registry import theorem_named
from bayesdp.theorems.spend import as_spend

__all__ = ["EXTRA", "guess_error"]

_BETA = 0.05
_RECORDS = 1000


def markov_bounds() -> Chart:
    """Return the leakage ε over τ of a count on chains of 100 records: general, the paper's bound, ours."""
    grid = [0.05 * k for k in range(1, 61)]
    panels = []
    for gamma in (1.5, 4.0, 20.0):
        chain = symmetric(1 / (1 + gamma), 100)
        lines = []
        for name in ("general", "markov-paper", "markov-mixing"):
            theorem = theorem_named(name)
            points = tuple((tau, theorem.epsilon(chain, as_spend(Count(equals=1), tau))) for tau in grid)
            lines.append(line(name, points, f"{name} (ours)" if name == "markov-mixing" else name))
        lines.append(line(PLAIN, tuple((tau, tau) for tau in grid), "plain DP promises this,\nunprotected"))
        panels.append(Panel(tuple(lines), f"γ = {gamma:g}", "right" if gamma == 20 else ""))
    return Chart(
        "markov-bounds",
        "At small τ the paper's bound stays above 4 ln γ, while ours falls to 0 with τ.",
        "τ of the mechanism",
        "leakage ε",
        tuple(panels),
        note="Chains of two states and 100 records that switch with probability 1/(1 + γ).",
        columns=3,
        limits=(0, 20),
    )


def arbitrary_laplace() -> Chart:
    """Return the error of a count over ε if any m of 1,000 records may be correlated, and that of a random guess."""
    epsilons = [0.1 * k for k in range(1, 201)]
    lines = []
    for size, colour in zip((2, 10, 100, _RECORDS), PALETTE, strict=False):
        points = tuple((epsilon, Laplace(size / epsilon).alpha(_BETA)) for epsilon in epsilons)
        lines.append(Line(f"m = {size}", points, colour, label=f"m = {size:,}"))
    lines.append(line(PLAIN, tuple((e, Laplace(1 / e).alpha(_BETA)) for e in epsilons), "plain DP,\nunprotected"))
    guess = float(guess_error(_RECORDS, _RECORDS // 2, _BETA))
    lines.append(Line("random guess", ((0.1, guess), (20, guess)), PALETTE[4], ":", "random guess"))
    least = math.ceil(10 * _RECORDS * math.log(1 / _BETA) / guess) / 10
    return Chart(
        "arbitrary-laplace",
        f"If all 1,000 records may be correlated in any way, Laplace noise errs more than a random guess up to "
        f"ε = {least:.1f}.",
        "promised leakage ε",
        "error α at β = 5 % (records, of n = 1,000)",
        (Panel(tuple(lines)),),
        note="The guess is uniform over 0 to 1,000 and reads no data; the truth is 500.",
        log="y",
    )


def guess_error(records: int, truth: int, beta: float) -> int:
    """Return the least α with a probability of at most β that a uniform guess from 0 to `records` errs more than α.

    >>> guess_error(1000, 500, 0.05)
    475
    """
    errors = sorted(abs(guess - truth) for guess in range(records + 1))
    return errors[math.ceil((1 - beta) * len(errors)) - 1]


def response_theta() -> Chart:
    """Return α over ε as Figure 6 does, for chains that switch with probability 0.1 and 0.7."""
    return response_chart(
        "response-theta",
        (0.7, 0.1),
        "Randomized response errs most on persistent chains; chakrabarti-2022 has no form for chains that switch more "
        "often than they stay.",
    )


EXTRA: Mapping[str, tuple[Callable[[], Chart], str]] = {
    "markov-bounds": (markov_bounds, "extra: leakage over τ for Markov chains, n = 100"),
    "arbitrary-laplace": (arbitrary_laplace, "extra: error under arbitrary correlation, and of a random guess"),
    "response-theta": (response_theta, "extra: randomized response at P(switch) = 0.1 and 0.7"),
}
"""The extra figures by name, each with its function and a description."""
