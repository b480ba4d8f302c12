"""How often the 95 % point of a posterior correlation lies above the true one: the tables of docs/uncertainty.md.

python benchmarks/coverage.py [DATA SETS]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice

import numpy as np
import polars as pl

from bayesdp import GaussianGroups
from bayesdp.frames.groups import group_moments
from bayesdp.models.layout import GroupLayout
from bayesdp.models.moments import AnovaMoments

LEVEL = 0.95
DRAWS = 400

MEMBERS: list[tuple[dict[int, int], float]] = [
    ({3: 50}, 0.0),
    ({3: 50}, 0.3),
    ({2: 20}, 0.9),
    ({1: 20, 2: 20, 5: 10}, 0.5),
    ({1: 40, 20: 5}, 0.3),
    ({1: 40, 20: 5}, 0.7),
    ({2: 50, 100: 2}, 0.5),
]
"""How many groups there are of each size, and the true correlation."""

PAIRS = [(40, 0, 0.6), (20, 600, 0.3), (20, 600, 0.6), (20, 600, 0.8)]
"""Complete pairs, halves of pairs, and the true correlation."""


def groups(generator: np.random.Generator, sizes: Sequence[int], correlation: float) -> pl.DataFrame:
    """Draw groups of these sizes: a record a row, with its group and its role."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    common = generator.standard_normal(len(sizes))[group]
    value = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * generator.standard_normal(len(group))
    role = np.concatenate([np.arange(size) for size in sizes])
    return pl.DataFrame({"group": group, "role": role.astype(str), "value": value})


def members_below(generator: np.random.Generator, sizes: dict[int, int], truth: float) -> float:
    """Return the posterior share of correlations below the true one: exchangeable members.

    The moments are taken as they are: a fit refuses those whose correlation is too negative for the largest group.
    """
    each = [size for size, number in sizes.items() for _ in range(number)]
    moments = group_moments(groups(generator, each, truth), GroupLayout("value", "group"))
    assert isinstance(moments, AnovaMoments)
    points, shares = moments.posterior()
    return float(shares[points < truth].sum())


def pairs_below(generator: np.random.Generator, complete: int, halves: int, truth: float) -> float:
    """Return the same for two roles, of which many groups have one only; estimated by draws."""
    frame = groups(generator, [2] * (complete + halves), truth)
    lost = (pl.col("group") >= complete) & (pl.col("role") == (pl.col("group") % 2).cast(pl.String))
    model = GaussianGroups.fit(frame.filter(~lost), value="value", group="group", role="role")
    drawn = [each.matrices[0] for each in islice(model.draws(generator), DRAWS)]
    return float(np.mean([each[0, 1] / np.sqrt(each[0, 0] * each[1, 1]) < truth for each in drawn]))


def report(name: str, truth: float, below: list[float]) -> None:
    covered = np.mean(np.array(below) < LEVEL)
    error = np.sqrt(covered * (1 - covered) / len(below))
    print(f"{name:32} ρ = {truth:g}: {100 * covered:.1f} % (± {100 * error:.1f})", flush=True)


def main() -> None:
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    for sizes, truth in MEMBERS:
        generator = np.random.default_rng(0)
        found = [members_below(generator, sizes, truth) for _ in range(sets)]
        report(", ".join(f"{number} of {size}" for size, number in sizes.items()), truth, found)
    for complete, halves, truth in PAIRS:
        generator = np.random.default_rng(0)
        found = [pairs_below(generator, complete, halves, truth) for _ in range(sets)]
        report(f"{complete} pairs, {halves} halves", truth, found)


if __name__ == "__main__":
    main()
