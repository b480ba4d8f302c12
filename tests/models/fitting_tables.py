"""The tables that the tests fit models to."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bayesdp import MarkovChain
from bayesdp.experiments.data import load

FILES = Path(__file__).parents[3] / "shared" / "data"
FOLDER = FILES if FILES.is_dir() else None
"""Without the original files beside the repository, their built-in twins will do: they have the same moments."""


def activity(**options: Any) -> MarkovChain:
    frame = load("activity", FOLDER).frame
    return MarkovChain.fit(frame, state="steps > 0", order_by=["date", "interval"], missing="drop", **options)


def litters(seed: int = 1, groups: int = 40) -> pl.DataFrame:
    """Return whole numbers in groups of one to six: nothing is rounded on the grid."""
    draw = np.random.default_rng(seed)
    rows = [
        (group, round(100 + common + draw.normal(0, 20)))
        for group in range(groups)
        for common in [draw.normal(0, 15)]
        for _ in range(draw.integers(1, 7))
    ]
    return pl.DataFrame(rows, schema=["litter", "weight"], orient="row").sample(fraction=1, shuffle=True, seed=seed)


PEOPLE = pl.DataFrame(
    {
        "who": [1, 1, 1, 2, 2, 2],
        "role": ["a", "b", "c", "a", "b", "c"],
        "t": [1, 2, 3, 1, 2, 3],
        "state": ["x", "y", "x", "y", "y", "x"],
        "v": [1.0, 2.0, 4.0, 8.0, 5.0, 7.0],
    }
)


def meters(coefficients: list[float], records: int = 3000, seed: int = 1, homes: int = 3) -> pl.DataFrame:
    """Return readings of several homes around a mean that follows the hour."""
    generator = np.random.default_rng(seed)
    order, rows = len(coefficients), []
    for home in range(homes):
        around = [0.0] * order
        for _ in range(records + 200):
            around.append(float(np.dot(coefficients, around[: -order - 1 : -1]) + generator.normal()))
        rows += [(home, t, t % 24, 10 * np.sin(t % 24 / 4) + x) for t, x in enumerate(around[-records:])]
    return pl.DataFrame(rows, schema=["home", "t", "clock", "x"], orient="row")
