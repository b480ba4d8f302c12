"""The input of the tests: counts of a chain's transitions, or a sample of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp._support import validation
from bayesdp._support.arrays import readonly
from bayesdp._support.validation import Values, brief
from bayesdp.errors import InvalidInputError
from bayesdp.models.moments import AnovaMoments, Moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CONSTANT", "DEVIATIONS", "ESTIMATED", "LEAST", "SEVERAL_KINDS", "ChainStatistics", "GroupSample"]

LEAST = 8
"""The least number of values or groups that are tested."""

DEVIATIONS = 1.1
"""Standard deviations that differ by this factor differ by enough to matter."""

CONSTANT = 1e-12
"""Scaled values that differ by no more than this are all equal."""

ESTIMATED = "The covariance was estimated from these groups, so it agrees."
SEVERAL_KINDS = "The model has several kinds of group, and the table does not show which group is of which kind."


@dataclass(frozen=True, eq=False)
class ChainStatistics:
    """The counts of a table that the tests of a chain need; s is the number of states.

    states:         their names, in the order of the arrays.
    counts:         (s, s), how often each state was followed by each.
    triples:        (s, s, s), the same for three records in a row; None if not counted (more than 50 states).
    halves:         (2, s, s), the counts of the first and second half of each entity's time.
    entities:       (E, s, s), the counts of the E largest entities; None with a single one.
    entities_total: how many entities there are.
    records:        how many records there are.
    longest:        how many records the longest chain has; None if unknown.
    spaced:         whether the order has a step, so that absent rows show.
    clocks:         (K, s, s) for each clock, such as "time of day": the counts by its reading at the earlier record.
    clockless:      why other clocks cannot be read, as a clause.
    together:       (T, s, s), the counts of each of T times that several entities share; None with a single entity.
    starts:         (s,), the states of first records; None if not counted.
    before_gaps:    (s,), the states of the last records before a gap; None if not counted.

    Raises InvalidInputError for arrays of another shape and for entries that are not counts.

    >>> pairs = [[60, 20], [20, 20]]
    >>> ChainStatistics(["idle", "active"], pairs, None, [pairs, pairs], None, 1, 121).counts.sum()
    np.int64(120)
    """

    states: Values
    counts: NDArray[np.int64] | Any
    triples: NDArray[np.int64] | Any | None
    halves: NDArray[np.int64] | Any
    entities: NDArray[np.int64] | Any | None
    entities_total: int
    records: int
    longest: int | None = None
    spaced: bool = False
    clocks: Mapping[str, NDArray[np.int64] | Any] = field(default_factory=dict)
    clockless: str = "the order may not be one of dates or times"
    together: NDArray[np.int64] | Any | None = None
    starts: NDArray[np.int64] | Any | None = None
    before_gaps: NDArray[np.int64] | Any | None = None

    def __post_init__(self) -> None:
        states = validation.distinct("states", self.states)
        object.__setattr__(self, "states", states)
        size = len(states)
        shapes = {
            "counts": (size, size),
            "triples": (size, size, size),
            "halves": (2, size, size),
            "entities": (-1, size, size),
            "together": (-1, size, size),
            "starts": (size,),
            "before_gaps": (size,),
        }
        for name, shape in shapes.items():
            value = getattr(self, name)
            if value is not None or name in ("counts", "halves"):
                object.__setattr__(self, name, _counts(name, value, shape))
        clocks = {name: _counts(name, counts, (-1, size, size)) for name, counts in self.clocks.items()}
        object.__setattr__(self, "clocks", clocks)
        for name in ("entities_total", "records"):
            object.__setattr__(self, name, validation.natural(name, getattr(self, name), least=0))
        if self.longest is not None:
            object.__setattr__(self, "longest", validation.natural("longest", self.longest, least=0))


@dataclass(frozen=True, eq=False)
class GroupSample:
    """A sample of groups, one to a row, in the order of the data.

    roles:        the names of the columns, in the order of the model's covariance.
    values:       (groups, members), NaN where a group lacks a member.
    groups_total: how many groups there are in all.
    exchangeable: whether members have no roles; the order of columns then means nothing.
    positions:    (groups, members), the same members in the order of the rows; None if rows have no order.
    largest:      how many members the largest of all groups has; that of the sample by default.
    moments:      the moments of all groups, if they were computed.

    Raises InvalidInputError for values of another shape or infinite ones.

    >>> GroupSample(["mother", "child"], [[63.0, 64.5], [66.0, float("nan")]], 2, False).records
    3
    """

    roles: Sequence[str]
    values: NDArray[np.float64] | Any
    groups_total: int
    exchangeable: bool
    positions: NDArray[np.float64] | Any | None = None
    largest: int | None = None
    moments: Moments | AnovaMoments | None = None

    def __post_init__(self) -> None:
        roles = tuple(map(str, validation.items("roles", self.roles)))
        object.__setattr__(self, "roles", roles)
        object.__setattr__(self, "values", _finite("values", self.values, len(roles)))
        if self.positions is not None:
            object.__setattr__(self, "positions", _finite("positions", self.positions, len(roles)))
        object.__setattr__(self, "groups_total", validation.natural("groups_total", self.groups_total, least=0))
        largest = int((~np.isnan(self.values)).sum(axis=1).max(initial=0))
        if self.largest is not None:
            largest = max(largest, validation.natural("largest", self.largest, least=0))
        object.__setattr__(self, "largest", largest)

    @property
    def records(self) -> int:
        """How many values there are."""
        return int((~np.isnan(self.values)).sum())

    @cached_property
    def scale(self) -> float:
        """The largest absolute value, or 1 if that is 0."""
        return float(np.nanmax(np.abs(self.values), initial=0.0)) or 1.0

    @cached_property
    def centred(self) -> NDArray[np.float64]:
        """The values divided by the scale, minus the mean of their role; constant roles are 0 exactly."""
        scaled = self.values / self.scale
        for column in scaled.T:
            present = column[~np.isnan(column)]
            if present.size:
                column -= present.mean() if np.ptp(present) > CONSTANT else column
        return readonly(scaled)

    def by_position(self, most: int) -> GroupSample | None:
        """Return the sample with positions for roles; None if members have roles or no order.

        It has the first `most` of the positions that at least half of the groups have.
        """
        if not self.exchangeable or self.positions is None:
            return None
        held = (~np.isnan(self.positions)).sum(axis=0) * 2 >= max(len(self.positions), 1)
        chosen = np.flatnonzero(held)[:most]
        roles = [f"position {i + 1}" for i in chosen]
        return GroupSample(roles, self.positions[:, chosen], self.groups_total, False)


def _finite(name: str, value: object, columns: int) -> NDArray[np.float64]:
    values = np.array(value, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != columns:
        raise InvalidInputError(f"{name} must have one column for each of {columns} roles, not {values.shape}")
    if np.isinf(values).any():
        raise InvalidInputError(f"{name} must be finite, or NaN where a member is missing")
    return readonly(values)


def _counts(name: str, value: object, shape: tuple[int, ...]) -> NDArray[np.int64]:
    array = np.asarray(value)
    wanted = " × ".join("E" if length < 0 else str(length) for length in shape)
    if array.ndim != len(shape) or any(length not in (-1, has) for length, has in zip(shape, array.shape, strict=True)):
        raise InvalidInputError(f"{name} must be a {wanted} array of counts, not {brief(array.shape)}")
    if array.dtype.kind not in "iuf" or not (np.isfinite(array) & (array >= 0) & (array == np.floor(array))).all():
        raise InvalidInputError(f"{name} must hold whole numbers of at least 0")
    return array.astype(np.int64)
