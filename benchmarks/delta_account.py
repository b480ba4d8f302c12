"""What k counts cost in an account that promises (1, 1e-6) at odds 17.12, as ratios in one run; and how long one takes.

Each count takes 1/k of the limit. Its Gaussian noise stands beside the Laplace noise of an account that promises ε = 1
alone, and beside Laplace noise by its ρ.

python benchmarks/delta_account.py
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import polars

from bayesdp import Count, OddsChain, Session
from bayesdp.models import ChainLayout
from bayesdp.session.accounting import Accountant
from bayesdp.session.approximate_accounting import ApproximateAccountant
from shared.reporting import heading, report

EPSILON, DELTA, ODDS = 1.0, 1e-6, 17.12
COUNTS = (1, 10, 50, 100, 1000)
TARGETS = {100: 0.33, 1000: 0.105}
"""Gaussian noise must be at most this many times as wide as pure Laplace noise."""

SLOWER = 1.2
"""A release with Gaussian noise takes at most this many times as long as one with Laplace noise."""

RELEASES = 60

CHAIN, COUNT = OddsChain(ODDS, column="on", layout=ChainLayout("t")), Count("on", equals=1)


def deviations(number: int) -> tuple[float, float, float]:
    """Return the standard deviations of a count: Gaussian noise, Laplace noise by its ρ, and in a pure account."""
    account = ApproximateAccountant(CHAIN, DELTA)
    costs = account.offers((COUNT,), epsilon=None, share=1 / number, noise=None, spent=(), budget=EPSILON)
    laplace, gaussian = (cost.loss for cost in costs)
    pure = Accountant(CHAIN).affordable((COUNT,) * number, epsilon=EPSILON, spent=(), budget=EPSILON)
    return (1 / (2 * gaussian.rho)) ** 0.5, 2**0.5 / laplace.tau, 2**0.5 / pure.tau  # type: ignore[attr-defined]


def times(folder: Path, **request: Any) -> Iterator[float]:
    """Yield how long each release takes, of as many different questions."""
    frame = polars.DataFrame({"t": range(2000), "on": [t % 2 for t in range(2000)]})
    promise: dict[str, Any] = {"epsilon": EPSILON, **({} if "share" not in request else {"delta": DELTA})}
    name = "-".join(map(str, request.values()))
    with Session(frame, CHAIN, dataset=name, ledger=folder / f"{name}.db", public=["t"], **promise) as session:
        for number in range(RELEASES):
            begin = time.perf_counter()
            session.release(Count("on", equals=1, where=f"t >= {number}", public_filter=True), **request)
            yield time.perf_counter() - begin


def main() -> None:
    print(heading())
    for number in COUNTS:
        gaussian, by_rho, pure = deviations(number)
        name = f"{number:,} count{'s' * (number > 1)}"
        report(name, gaussian, "σ", baseline=pure, beside="Laplace, pure", ratio_at_most=TARGETS.get(number))
        report(f"{name}, again", gaussian, "σ", baseline=by_rho, beside="Laplace, by ρ")
    with TemporaryDirectory() as folder:
        for _ in range(2):  # the first round warms up
            place, taken = Path(folder), {}
            for noise in ("laplace", "gaussian"):
                taken[noise] = median(times(place, share=0.01, noise=noise))
                (place / f"0.01-{noise}.db").unlink()
        alone = median(times(place, epsilon=0.01))
    report("a release, Gaussian", taken["gaussian"], baseline=taken["laplace"], beside="Laplace", ratio_at_most=SLOWER)
    report("a release, Gaussian, again", taken["gaussian"], baseline=alone, beside="in an account of ε alone")


if __name__ == "__main__":
    main()
