"""Networks: records that depend on a few others with bounded odds ratios, with or without loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bayesdp._support import validation
from bayesdp._support.arrays import Booleans, Floats, readonly
from bayesdp._support.display import table as text_table
from bayesdp._support.messages import name_of, param, params
from bayesdp._support.validation import brief
from bayesdp._support.words import counted
from bayesdp.errors import ModelError, RecordsError
from bayesdp.models.base import Model
from bayesdp.models.layout import column_name, column_names
from bayesdp.models.odds import checked_odds, log_odds_above
from bayesdp.models.view import TableView
from bayesdp.rounding import shown_above

__all__ = ["Network", "Ties"]

_MOST_SHOWN = 12

_MOST_POSITIONS = 2**53
"""Floats represent every whole number up to this one."""

Edge = tuple[int, int, float]


class Ties(NamedTuple):
    """The dependences of a network as arrays, over the positions that have any, numbered anew from 0.

    first, second: the two positions of each dependence; log_odds: ln of its odds ratio, above 0, rounded up.
    visible:       for each position, whether there is a record; the others are hidden.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    log_odds: Floats
    visible: Booleans

    @property
    def size(self) -> int:
        """The number of positions that depend on another."""
        return len(self.visible)

    @property
    def degrees(self) -> NDArray[np.intp]:
        """The number of others on which each position depends."""
        return np.bincount(np.concatenate([self.first, self.second]), minlength=self.size)

    @property
    def around(self) -> Floats:
        """The sum of the log odds ratios of each position, rounded up."""
        ends = np.concatenate([self.first, self.second])
        sums = np.bincount(ends, weights=np.tile(self.log_odds, 2), minlength=self.size)
        return np.asarray(sums * (1 + (int(self.degrees.max(initial=0)) + 4) * 2.0**-52))


@dataclass(frozen=True, kw_only=True)
class Network(Model):
    """Records depend on one another along the edges of a network, with bounded odds ratios.

    The odds ratio of two records is the largest π(a,b)·π(a′,b′) / (π(a,b′)·π(a′,b)) over their values, for any
    values of all others; 1 means that they are independent given the others. Give either bounds for every record:

    odds:    the odds ratio of any two records is at most this,
    degree:  the most others with which a record has an odds ratio above 1,
    forest:  whether these dependences are known to form no loop.

    Or give the network itself:

    edges:   (i, j, odds) for each two positions that depend on one another; all others are independent given the rest.
             A forest is recognised.
    records: the number of positions, numbered from 0; by default up to the last one of an edge. With odds= and degree=,
             an upper bound, if there is one.
    hidden:  positions without a record, such as a family's genes or the mood of a group.
    additive: whether each position has two values, what the others say about it adds up in the logarithm of its odds,
              and all push the same way, once the values of some positions are swapped.

    group:    the columns that identify a network; networks are independent. Without them, all records are one network.
    position: the column with the position of a record.

    >>> Network(odds=1.5, degree=4).group_size is None
    True
    >>> Network(edges=[(0, 1, 9), (1, 2, 4)], hidden=[1]).is_forest
    True
    """

    odds: float | None = None
    degree: int | None = None
    forest: bool = False
    records: int | None = None
    edges: Sequence[tuple[int, int, float]] | Any | None = None
    hidden: Sequence[int] = ()
    additive: bool = False
    group: Sequence[str] = ()
    position: str | None = None

    kind: ClassVar[str] = "network"
    _instead_of_diagnosis: ClassVar[str] = ": the table does not show which records depend on one another"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.records is not None:
            object.__setattr__(self, "records", validation.natural("records", self.records, ModelError))
        for name in ("forest", "additive"):
            if not isinstance(value := getattr(self, name), bool):
                raise ModelError(name_of(name) + f" must be true or false, not {brief(value)}")
        object.__setattr__(self, "group", column_names("group", self.group))
        if self.position is not None:
            column_name("position", self.position)
        if self.edges is None:
            self._check_bounds()
        else:
            self._check_edges()

    def _check_bounds(self) -> None:
        if self.odds is None or self.degree is None:
            raise ModelError(
                params("give either {odds} and {degree} (bounds for every record) or {edges} (the network itself)")
            )
        object.__setattr__(self, "odds", checked_odds("odds", self.odds))
        object.__setattr__(self, "degree", validation.natural("degree", self.degree, ModelError, least=0))
        for name in ("hidden", "position"):
            if getattr(self, name):
                raise ModelError(
                    param(name) + " goes with " + param("edges") + ": bounds for every record name no positions"
                )
        if self.additive:
            raise ModelError(
                param("additive") + " goes with " + param("edges") + ": effects that add up are those of known edges"
            )
        object.__setattr__(self, "hidden", ())

    def _check_edges(self) -> None:
        if self.odds is not None or self.degree is not None or self.forest:
            raise ModelError(params("{edges} is complete: leave {odds}, {degree} and {forest} out"))
        edges = _edges(self.edges, _MOST_POSITIONS if self.records is None else self.records)
        if self.records is None:
            if not edges:
                raise ModelError(
                    "a network without edges needs " + param("records") + ", the number of positions in it"
                )
            object.__setattr__(self, "records", 1 + max(last for _, last, _ in edges))
        assert self.records is not None
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "hidden", _positions(self.hidden, self.records))
        if len(self.hidden) == self.records:
            raise ModelError("every position is hidden, so there are no records; leave some out of " + param("hidden"))

    @cached_property
    def ties(self) -> Ties:
        """The dependences as arrays, without those of odds ratio 1; none if only bounds are known."""
        edges = np.array(self.edges or np.empty((0, 3)), dtype=np.float64)
        edges = edges[edges[:, 2] > 1]
        positions, ends = np.unique(edges[:, :2].astype(np.int64), return_inverse=True)
        ends = ends.reshape(-1, 2)
        visible = ~np.isin(positions, np.array(self.hidden, dtype=np.int64))
        return Ties(ends[:, 0], ends[:, 1], readonly(log_odds_above(edges[:, 2])), visible)

    @cached_property
    def _parts(self) -> NDArray[np.intp]:
        """The connected part of the network of each dependent position, as a number."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        ties = self.ties
        links = coo_array((ties.log_odds, (ties.first, ties.second)), shape=(ties.size, ties.size))
        return np.asarray(connected_components(links, directed=False)[1], dtype=np.intp)

    @cached_property
    def is_forest(self) -> bool:
        """Whether the dependences form no loop, by the edges or by assumption."""
        if self.edges is None:
            return self.forest or not self.degree or self.odds == 1
        parts = 1 + int(self._parts.max(initial=-1))
        return len(self.ties.log_odds) == self.ties.size - parts

    @cached_property
    def group_size(self) -> int | None:
        """The most records that are connected with one another; None without a limit."""
        if self.edges is None:
            return 1 if not self.degree or self.odds == 1 else self.records
        counts = np.bincount(self._parts[self.ties.visible])
        return int(max(counts.max(initial=1), 1))

    @property
    def visible(self) -> int | None:
        """The number of positions with a record; None without a limit."""
        return None if self.records is None else self.records - len(self.hidden)

    @property
    def public_columns(self) -> tuple[str, ...]:
        return (*self.group, *(() if self.position is None else (self.position,)))

    @property
    def assumption(self) -> str:
        if self.edges is None:
            assert self.odds is not None
            assumed = (
                f"each record depends directly on at most {self.degree} others, with an odds ratio of at most "
                f"{shown_above(self.odds)} with each of them"
            )
            assumed += ", and these dependences form no loop" if self.forest else ""
            assumed += "" if self.records is None else f", and at most {self.records} records are connected"
        else:
            assert self.records is not None
            hidden = f", {len(self.hidden)} of them hidden" if self.hidden else ""
            assumed = (
                f"records depend on one another along the edges of a network ({counted(self.records, 'position')}"
                f"{hidden}; {counted(len(self.edges), 'edge')}), with at most the given odds ratios"
            )
            if self.additive:
                assumed += (
                    "; each position has two values, what the others say about it adds up, and all push the same way"
                )
        apart = f"; there is one network for each {' and '.join(self.group)}, independent of the others"
        return assumed + (apart if self.group else "")

    @property
    def parameters(self) -> str | None:
        """The odds ratios of up to a dozen edges, or else their range."""
        if not self.edges:
            return None
        if len(self.edges) <= _MOST_SHOWN:
            rows = [[str(i), str(j), shown_above(odds)] for i, j, odds in self.edges]
            return text_table(["position", "position", "odds ratio, at most"], rows)
        ratios = [odds for _, _, odds in self.edges]
        return (
            f"Odds ratios of {len(self.edges)} edges between {self.records} positions: from {shown_above(min(ratios))} "
            f"to {shown_above(max(ratios))}."
        )

    def check_table(self, table: TableView, subject: str | None = None) -> Self:
        """Return the model; RecordsError for an unknown, hidden or duplicate position, and for too many records."""
        if self.position is not None:
            self._check_positions(table, table.roles(self.group, self.position))
        elif self.visible is not None:
            largest = self._largest(table, self.column if self.column is not None else subject)
            if largest > self.visible:
                raise RecordsError(
                    f"{table.name} has a network of {largest} records, but the model describes at most {self.visible}"
                )
        return self

    def _largest(self, table: TableView, subject: str | None) -> int:
        """Return the most records of one network; 0 if unknown, or if only bounds on dependences are assumed.

        Without groups, the edges are those of the whole table.
        """
        if self.group:
            return table.largest_group(self.group)
        return 0 if self.edges is None or subject is None else table.chains(subject, (), None).longest

    def _check_positions(self, table: TableView, roles: Mapping[str, int]) -> None:
        assert self.records is not None
        hidden, seen = set(self.hidden), set()
        for name, most in sorted(roles.items()):
            digits = name.removesuffix(".0")
            position = int(digits) if digits.isascii() and digits.isdigit() else -1
            if not 0 <= position < self.records or position in hidden:
                raise RecordsError(
                    f"{table.name} has a record at the position {name}, but the model has "
                    + ("none there: it is hidden" if position in hidden else f"positions 0 to {self.records - 1}")
                )
            if most > 1 or position in seen:
                raise RecordsError(f"{table.name} has several records at the position {position} of one network")
            seen.add(position)

    @property
    def unchecked(self) -> str | None:
        if self.edges is None:
            return (
                f"That no record depends directly on more than {self.degree} others was not checked: a table does not "
                "show which records depend on one another."
            )
        unchecked = []
        if self.position is None:
            unchecked.append(
                "Which record has which position in the network was not checked on the table: the model does not name "
                "the column (position)."
            )
        if self.additive:
            unchecked.append("That records have two values whose effects add up was not checked on the table.")
        return " ".join(unchecked) or None

    def _content(self) -> dict[str, Any]:
        content: dict[str, Any]
        if self.edges is None:
            content = {"odds": self.odds, "degree": self.degree}
            content |= {"forest": True} if self.forest else {}
            content |= {} if self.records is None else {"records": self.records}
        else:
            content = {"records": self.records, "edges": [list(edge) for edge in self.edges]}
            content |= {"hidden": list(self.hidden)} if self.hidden else {}
            content |= {"additive": True} if self.additive else {}
        content |= {"group": list(self.group)} if self.group else {}
        return content | ({} if self.position is None else {"position": self.position})


def _edges(value: object, records: int) -> tuple[Edge, ...]:
    """Return the edges from the smaller to the larger position, in order; the error names an invalid one."""
    table = _plain_edges(value, records)
    if table is None:
        listed = validation.items("edges", value, ModelError)
        edges = [_edge(index, edge, records) for index, edge in enumerate(listed)]
        table = np.array(edges or np.empty((0, 3)), dtype=np.float64)
    ends = np.sort(table[:, :2], axis=1).astype(np.int64)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    ends, odds = ends[order], table[order, 2]
    twice = np.flatnonzero((ends[1:] == ends[:-1]).all(axis=1))
    if len(twice):
        i, j = ends[twice[0]]
        raise ModelError(f"edges names the records {i} and {j} twice; give the larger of their odds ratios once")
    return tuple(zip(ends[:, 0].tolist(), ends[:, 1].tolist(), odds.tolist(), strict=True))


def _plain_edges(value: object, records: int) -> Floats | None:
    """Return a large table of valid edges, or None if they must be checked one by one."""
    if not isinstance(value, np.ndarray | list | tuple) or len(value) == 0:
        return None
    if not isinstance(value, np.ndarray) and not all(
        isinstance(edge, list | tuple) and bool not in map(type, edge) for edge in value
    ):
        return None
    try:
        table = np.array(value)
    except (ValueError, TypeError):
        return None
    if table.dtype.kind not in "iuf" or table.ndim != 2 or table.shape[1] != 3:
        return None
    table = table.astype(np.float64)
    ends = table[:, :2]
    good = (
        np.isfinite(table).all()
        and (ends == np.floor(ends)).all()
        and (ends >= 0).all()
        and (ends < min(records, _MOST_POSITIONS)).all()
        and (ends[:, 0] != ends[:, 1]).all()
        and (table[:, 2] >= 1).all()
    )
    return table if good else None


def _edge(index: int, edge: object, records: int) -> Edge:
    name = f"edges[{index}]"
    parts = validation.items(name, edge, ModelError)
    if len(parts) != 3:
        raise ModelError(f"{name} must be two positions and an odds ratio, not {brief(edge)}")
    i, j = (_position(name, part, records) for part in parts[:2])
    if i == j:
        raise ModelError(f"{name} connects the record {i} with itself")
    return i, j, checked_odds(f"the odds of {name}", parts[2])


def _positions(value: object, records: int) -> tuple[int, ...]:
    positions = [_position("hidden", position, records) for position in validation.items("hidden", value, ModelError)]
    if len(set(positions)) < len(positions):
        raise ModelError("hidden names a position twice")
    return tuple(sorted(positions))


def _position(name: str, value: object, records: int) -> int:
    position = validation.natural(f"a position in {name}", value, ModelError, least=0)
    if position >= records:
        raise ModelError(f"{name} names the position {position}, but the last is {records - 1}")
    return position
