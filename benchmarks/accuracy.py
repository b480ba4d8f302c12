"""The exact accuracy of randomized response against a plain double loop over binomial terms, in the same run."""

import math
import time
from collections.abc import Callable

from bayesdp.accuracy import RandomizedResponse
from shared.reporting import heading, report


def plain_tail(flip: float, records: int, ones: int, alpha: float) -> float:
    """Sum the two-binomial law term by term."""

    def pmf(trials: int, chance: float, k: int) -> float:
        logarithm = math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
        return math.exp(logarithm + k * math.log(chance) + (trials - k) * math.log1p(-chance))

    kept = [pmf(ones, 1 - flip, k) for k in range(ones + 1)]
    wrong = [pmf(records - ones, flip, k) for k in range(records - ones + 1)]
    total = 0.0
    for a, first in enumerate(kept):
        for b, second in enumerate(wrong):
            if abs((a + b - records * flip) / (1 - 2 * flip) - ones) >= alpha:
                total += first * second
    return total


def timed(function: Callable[..., float], *arguments: float) -> tuple[float, float]:
    begin = time.perf_counter()
    value = function(*arguments)
    return value, time.perf_counter() - begin


def main() -> None:
    RandomizedResponse(0.2, 10, 5).alpha(0.05)  # loads NumPy
    print(heading())
    for records in (700, 2000, 10_000):
        law, alpha = RandomizedResponse(0.2, records, records // 2), 0.8 * math.sqrt(records)
        ours, fast = timed(law.tail, alpha)
        slow = None
        if records <= 2000:
            theirs, slow = timed(plain_tail, 0.2, records, records // 2, alpha)
            assert math.isclose(ours, theirs, rel_tol=1e-6)
        report(f"β from α, {records:,} records", fast, baseline=slow, beside="" if slow is None else "a double loop")
        report(f"α from β, {records:,} records", timed(law.alpha, 0.05)[1])


if __name__ == "__main__":
    main()
