"""Effects of nearby records that differ by stratum: the estimates, and draws of what they may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesdp._support import validation
from bayesdp._support.arrays import Floats
from bayesdp._support.messages import name_of
from bayesdp._support.validation import Scalar, brief
from bayesdp._support.words import listed
from bayesdp.errors import ModelError
from bayesdp.models.layout import column_names

__all__ = ["EffectsByStratum", "table_of_numbers"]

_SCALE = 1.0
"""The scale of the half-Cauchy prior of the spread of an effect between strata: a factor of e in the odds ratio."""

_CHAINS = 100
_BURNT = 50
"""Chains of Gibbs's sampler that run beside one another, and the sweeps of each before the first one that is kept."""

_LEAST = 1e-8
"""The smallest variance between strata, so that its inverse is finite."""

Values = tuple[Scalar, ...]


@dataclass(frozen=True)
class EffectsByStratum:
    """The fitted effects of records up to some distance in each stratum, those beyond in common, and their covariance.

    within:     the public columns of the strata; a pair of records belongs to the stratum of the earlier one.
    apart:      the largest distance at which effects differ.
    strata:     for each stratum the values of those columns, several if sparse strata were merged.
    effects:    for each stratum and each distance the row of effects of `PairEffects`, one distance after the other.
    common:     the row of each distance beyond; it is the same in all strata.
    covariance: that of all effects, stratum by stratum, then those in common.

    >>> hourly = EffectsByStratum(["hour"], 1, [[(0,)], [(1,)]], [[1.0], [2.0]], [[0.1]], (np.eye(3) / 99).tolist())
    >>> hourly.called()
    'Effects of neighbours may differ by hour, and the largest one at each distance counts.'
    """

    within: Sequence[str]
    apart: int
    strata: Sequence[Sequence[Values]]
    effects: Sequence[Sequence[float]]
    common: Sequence[Sequence[float]]
    covariance: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "within", column_names("within", self.within))
        object.__setattr__(self, "apart", validation.natural("apart", self.apart, ModelError))
        strata = validation.items("strata", self.strata, ModelError)
        named = [[_values(row) for row in validation.items("strata", rows, ModelError)] for rows in strata]
        object.__setattr__(self, "strata", tuple(map(tuple, named)))
        for name in ("effects", "common", "covariance"):
            rows = () if name == "common" and not self.common else table_of_numbers(name, getattr(self, name))
            object.__setattr__(self, name, rows)
        size = sum(map(len, (*self.effects, *self.common)))
        if len(self.effects) != len(self.strata) or len(self.strata) < 2 or len(set(map(len, self.effects))) > 1:
            raise ModelError(name_of("effects") + " must have as many rows as there are strata, at least two")
        if np.shape(self.covariance) != (size, size):
            raise ModelError(name_of("covariance") + f" must be a table of {size} rows and columns")

    def drawn(self, draws: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw the effects of all strata and those in common: [draw][stratum][effect] and [draw][effect].

        Each effect is normal around a mean of all strata. The mean has a flat prior, the standard deviation between
        strata a half-Cauchy one. Gibbs's sampler draws from the posterior, given a normal likelihood. Strata that were
        merged differ from their common estimate as much as the others do from one another.
        """
        sizes = np.array([len(values) for values in self.strata])
        members = np.repeat(np.arange(len(sizes)), sizes)
        apart = (sizes[members] > 1)[:, None]
        strata, width = np.shape(self.effects)
        near, centre = strata * width, np.concatenate([np.ravel(self.effects), *map(np.ravel, self.common)])
        precision = np.linalg.inv(np.array(self.covariance) + _LEAST * np.eye(len(centre)))
        pulled = precision @ centre
        means = np.repeat(np.mean(self.effects, axis=0)[None], _CHAINS, axis=0)
        variances = generator.uniform(0.05, 1, (_CHAINS, width)) ** 2
        kept: list[tuple[Floats, Floats]] = []
        for sweep in range(_BURNT + -(-draws // _CHAINS)):
            own = np.zeros((_CHAINS, len(centre)))
            own[:, :near] = np.tile(1 / variances, strata)
            root = np.linalg.cholesky(precision + own[:, :, None] * np.eye(len(centre)))
            right = pulled + own * np.pad(np.tile(means, strata), ((0, 0), (0, len(centre) - near)))
            half = np.linalg.solve(root, right[..., None]) + generator.standard_normal((_CHAINS, len(centre), 1))
            effects = np.asarray(np.linalg.solve(np.swapaxes(root, 1, 2), half)[..., 0], dtype=np.float64)
            by_stratum = effects[:, :near].reshape(_CHAINS, strata, width)
            means = by_stratum.mean(axis=1) + np.sqrt(variances / strata) * generator.standard_normal((_CHAINS, width))
            mixed = (1 / _SCALE**2 + 1 / variances) / generator.standard_exponential((_CHAINS, width))
            squares = ((by_stratum - means[:, None]) ** 2).sum(axis=1) / 2 + 1 / mixed
            variances = np.maximum(squares / generator.standard_gamma((strata + 1) / 2, (_CHAINS, width)), _LEAST)
            if sweep >= _BURNT:
                moved = generator.standard_normal((_CHAINS, len(members), width)) * np.sqrt(variances)[:, None]
                kept.append((by_stratum[:, members] + apart * moved, effects[:, near:]))
        each, common = (np.concatenate(part)[:draws] for part in zip(*kept, strict=True))
        return each, common

    def called(self) -> str:
        """What was fitted, in a sentence."""
        several = [values for values in self.strata if len(values) > 1]
        names = "; ".join(", ".join(" ".join(map(str, each)) for each in values) for values in several)
        merged = (
            f" Strata with few records of some pattern were estimated together, and may differ as much as the others: "
            f"{listed(self.within)} {names}."
        )
        near = f"up to {self.apart} apart" if self.apart > 1 else "of neighbours"
        by = " and ".join(self.within)
        return (
            f"Effects {near} may differ by {by}, and the largest one at each distance counts.{merged if names else ''}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "within": list(self.within),
            "apart": self.apart,
            "strata": [[list(values) for values in rows] for rows in self.strata],
            **{name: [list(row) for row in getattr(self, name)] for name in ("effects", "common", "covariance")},
        }

    @classmethod
    def from_dict(cls, document: object) -> EffectsByStratum:
        """Read it from its JSON object; ModelError for an invalid one."""
        needed = {"within", "apart", "strata", "effects", "common", "covariance"}
        if not isinstance(document, Mapping) or set(document) != needed:
            raise ModelError(f'"by_stratum" must be an object with {", ".join(sorted(needed))}, not {brief(document)}')
        return cls(**document)


def table_of_numbers(name: str, value: object) -> tuple[tuple[float, ...], ...]:
    """Return rows of numbers; ModelError for anything else, and for none."""
    rows = [validation.items(name, row, ModelError) for row in validation.items(name, value, ModelError)]
    if not rows or not rows[0]:
        raise ModelError(name_of(name) + " must be rows of numbers")
    return tuple(tuple(validation.number(name, entry, ModelError) for entry in row) for row in rows)


def _values(row: object) -> Values:
    return tuple(
        validation.scalar("strata", entry, ModelError) for entry in validation.items("strata", row, ModelError)
    )
