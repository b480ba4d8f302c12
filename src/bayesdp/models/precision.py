"""A sparse precision matrix, the inverse of a covariance: 0 between records that are independent given all others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp._support import validation
from bayesdp._support.arrays import Floats, Integers
from bayesdp._support.messages import name_of
from bayesdp._support.validation import brief
from bayesdp.errors import ModelError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["UNIT", "Dominance", "Precision", "dominance_of", "exact_inverse"]

UNIT = 2.0**-53
"""The largest relative error of one floating-point operation."""

_SYMMETRY = 1e-12
_CONDITION = 1e-12
_LARGEST_DENSE = 2000
"""The most connected records for which positive definiteness is checked by an eigenvalue."""

_AT_ONCE = 2**22
_WIDEST_BAND = 64
_STEPS = 2000
_SOLVED = 1e-14


@dataclass(frozen=True)
class Dominance:
    """A certificate that a comparison matrix C is a nonsingular M-matrix: weights w > 0 with C·w ≥ left > 0."""

    weights: Floats
    left: Floats


@dataclass(frozen=True, eq=False)
class Precision:
    """A symmetric positive definite matrix by its entries on and above the diagonal that are not 0.

    >>> Precision.of({"records": 3, "entries": [[0, 0, 1], [1, 1, 1], [2, 2, 1], [1, 0, -0.4]]})
    Precision(records=3, entries=4)
    """

    records: int
    rows: Integers
    columns: Integers
    values: Floats

    def __post_init__(self) -> None:
        self._check_entries()
        for array in (self.rows, self.columns, self.values):
            array.setflags(write=False)
        if self.dominance is None:
            self._check_definite()

    @classmethod
    def of(cls, value: object) -> Precision:
        """Read a precision from {"records": n, "entries": [[i, j, value], …]}, a SciPy sparse matrix, or all its rows.

        An entry beside the diagonal may be given once or, with the same value, on both sides of it.
        Raises ModelError for a matrix that is not symmetric and positive definite.
        """
        if isinstance(value, Precision):
            return value
        if isinstance(value, Mapping):
            return cls(*_from_document(value))
        if hasattr(value, "tocoo"):
            return cls(*_from_sparse(value))
        from scipy.sparse import csr_array

        return cls(*_from_sparse(csr_array(np.array(validation.square("precision", value, ModelError)))))

    def _check_entries(self) -> None:
        finite = np.isfinite(self.values)
        if not finite.all():
            place = int(np.argmin(finite))
            raise ModelError(f"precision, row {self.rows[place]}, column {self.columns[place]} must be a finite number")
        diagonal = self.diagonal
        if not (diagonal > 0).all():
            place = int(np.argmin(diagonal))
            raise ModelError(
                f"precision: the diagonal in row {place} must be greater than 0, not {diagonal[place]:g}; it is 1 over "
                "the variance of a record given all others"
            )

    def _check_definite(self) -> None:
        if self.group_size > _LARGEST_DENSE:
            raise ModelError(
                f"precision: {self.group_size} records are connected, too many to check whether a matrix that is not "
                "walk-summable (its entries outweigh the diagonal) is positive definite; arbitrary groups cover it"
            )
        for blocks in self.blocks():
            scale = 1 / np.sqrt(np.einsum("nii->ni", blocks))
            scaled = blocks * scale[:, :, None] * scale[:, None, :]
            smallest = float(np.linalg.eigvalsh(scaled)[:, 0].min())
            if not smallest >= _CONDITION * blocks.shape[1]:
                raise ModelError(
                    f"precision is not positive definite (scaled to a unit diagonal it has the eigenvalue "
                    f"{smallest:.3g}); no normal law has it"
                )

    @cached_property
    def diagonal(self) -> Floats:
        """The diagonal."""
        diagonal, on = np.zeros(self.records), self.rows == self.columns
        diagonal[self.rows[on]] = self.values[on]
        return diagonal

    @cached_property
    def links(self) -> tuple[Integers, Integers, Floats]:
        """The entries above the diagonal: rows, columns, absolute values."""
        above = self.rows != self.columns
        return self.rows[above], self.columns[above], np.abs(self.values[above])

    @cached_property
    def strengths(self) -> csr_array:
        """The absolute values beside the diagonal, sparse."""
        from scipy.sparse import csr_array

        rows, columns, values = self.links
        above = csr_array((values, (rows, columns)), shape=(self.records, self.records))
        return (above + above.T).tocsr()

    @cached_property
    def dominance(self) -> Dominance | None:
        """The certificate that the matrix is walk-summable, and with it positive definite; None if it was not found."""
        weights = self._solved()
        if weights is None:
            return None
        rows, columns, values = self.links
        size = self.records
        taken = np.zeros(size)
        for here, there in ((rows, columns), (columns, rows)):
            taken += np.bincount(here, values * weights[there], size)
        terms = int((np.bincount(rows, minlength=size) + np.bincount(columns, minlength=size)).max())
        return dominance_of(self.diagonal * weights, taken, weights, terms)

    def _solved(self) -> Floats | None:
        """Return w with C·w ≈ 1, or None if that could not be computed: C scaled to a unit diagonal, and back."""
        scale = 1 / np.sqrt(self.diagonal)
        rows, columns, values = self.links
        scaled = values * scale[rows] * scale[columns]
        width = int((columns - rows).max(initial=0))
        try:
            with np.errstate(over="ignore"):  # no certificate has infinite weights
                if width <= _WIDEST_BAND and width < self.records:
                    return _solved_in_band(rows, columns, scaled, scale) * scale
                if self.records <= _LARGEST_DENSE:
                    dense = np.eye(self.records)
                    dense[rows, columns] = dense[columns, rows] = -scaled
                    return np.asarray(np.linalg.solve(dense, scale) * scale)
        except np.linalg.LinAlgError:
            return None
        from scipy.sparse.linalg import LinearOperator, cg

        strengths = self.strengths

        def times(vector: Floats) -> Floats:
            return np.asarray(vector - scale * (strengths @ (scale * vector)))

        operator = LinearOperator(strengths.shape, matvec=times, dtype=np.float64)
        with np.errstate(all="ignore"):
            solution, _ = cg(operator, scale, rtol=_SOLVED, maxiter=_STEPS)
        return np.asarray(solution * scale)

    @cached_property
    def components(self) -> Integers:
        """The group of each record, as a number; groups are independent of one another."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        rows, columns, values = self.links
        above = csr_array((values, (rows, columns)), shape=(self.records, self.records))
        return np.asarray(connected_components(above, directed=False)[1], dtype=np.int64)

    @cached_property
    def group_size(self) -> int:
        """The most records that are connected."""
        return int(np.bincount(self.components).max())

    def blocks(self, largest: int = _LARGEST_DENSE) -> Iterator[Floats]:
        """Yield the different precisions of groups of at most `largest` records, those of one size together."""
        sizes = np.bincount(self.components)
        order = np.argsort(self.components, kind="stable")
        begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        place = np.empty(self.records, dtype=np.int64)
        place[order] = np.arange(self.records) - np.repeat(begins, sizes)
        group = self.components[self.rows]
        for size in np.unique(sizes[sizes <= largest]):
            same = np.flatnonzero(sizes == size)
            for groups in np.array_split(same, -(-len(same) * int(size) ** 2 // _AT_ONCE)):
                number = np.full(len(sizes), -1)
                number[groups] = np.arange(len(groups))
                here = number[group] >= 0
                blocks = np.zeros((len(groups), size, size))
                which, row, column = number[group[here]], place[self.rows[here]], place[self.columns[here]]
                blocks[which, row, column] = blocks[which, column, row] = self.values[here]
                yield blocks if len(blocks) == 1 else np.unique(blocks, axis=0)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object: the number of records, and every entry on and above the diagonal."""
        entries = zip(self.rows.tolist(), self.columns.tolist(), self.values.tolist(), strict=True)
        return {"records": self.records, "entries": [list(entry) for entry in entries]}

    @cached_property
    def _key(self) -> tuple[int, bytes, bytes, bytes]:
        return self.records, self.rows.tobytes(), self.columns.tobytes(), self.values.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Precision) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"Precision(records={self.records}, entries={len(self.values)})"


Entries = tuple[int, Integers, Integers, Floats]


def _from_document(document: Mapping[str, Any]) -> Entries:
    if set(document) != {"records", "entries"}:
        raise ModelError('"precision" must be an object with "records" and "entries", a list of [row, column, value]')
    records = validation.natural("records", document["records"], ModelError)
    given: Sequence[Any] = validation.items("entries", document["entries"], ModelError)
    try:
        table = np.array(given)
    except (TypeError, ValueError):
        table = np.zeros(0)
    plain = table.shape[1:] == (3,) and table.dtype.kind in "iuf"
    if not plain or any(bool in map(type, entry) for entry in given):
        raise ModelError('"entries" must be a list of [row, column, value], each three numbers')
    if records > len(table):
        raise ModelError(
            f"precision: the diagonal of each of {records} records must be given, and be greater than 0, but there are "
            f"{len(table)} entries in all"
        )
    table = table.astype(np.float64)
    places = table[:, :2]
    wrong = ~((places >= 0) & (places < records) & (places == np.floor(places))).all(axis=1)
    if wrong.any():
        entry = given[int(np.argmax(wrong))]
        raise ModelError(f"the entry {brief(entry)} is not in a row and a column from 0 to {records - 1}")
    return _merged(records, places[:, 0].astype(np.int64), places[:, 1].astype(np.int64), table[:, 2])


def _from_sparse(matrix: Any) -> Entries:
    """Return the entries of a full matrix, which must be symmetric."""
    from scipy.sparse import csr_array, triu

    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.shape[0]:
        raise ModelError(name_of("precision") + f" must be square, not of shape {matrix.shape}")
    if matrix.dtype.kind not in "iuf":
        raise ModelError(name_of("precision") + " must hold real numbers")
    whole = csr_array(matrix, dtype=np.float64)
    apart = abs(whole - whole.T).tocoo()
    sides = np.abs(_entries_at(whole, apart.row, apart.col)) if apart.nnz else np.zeros(0)
    differ = ~(apart.data <= _SYMMETRY * sides)
    if (differ & (apart.data != 0)).any():
        place = int(np.argmax(differ & (apart.data != 0)))
        row, column = int(apart.row[place]), int(apart.col[place])
        raise ModelError(
            name_of("precision")
            + f" must be symmetric: row {row}, column {column} is {whole[row, column]:g}, but row {column}, "
            f"column {row} is {whole[column, row]:g}"
        )
    upper = triu(whole, format="csr")
    upper.eliminate_zeros()
    upper.sort_indices()
    entries = upper.tocoo()
    return int(matrix.shape[0]), entries.row.astype(np.int64), entries.col.astype(np.int64), entries.data


def _entries_at(matrix: csr_array, rows: Integers, columns: Integers) -> Floats:
    return np.asarray(matrix[rows, columns]).ravel()


def _merged(records: int, rows: Integers, columns: Integers, values: Floats) -> Entries:
    """Return the entries on and above the diagonal, in order, without zeros; duplicates must agree."""
    upper, lower = np.minimum(rows, columns), np.maximum(rows, columns)
    order = np.lexsort((lower, upper))
    upper, lower, values = upper[order], lower[order], values[order]
    again = (upper[1:] == upper[:-1]) & (lower[1:] == lower[:-1])
    differ = again & (values[1:] != values[:-1])
    if differ.any():
        place = int(np.argmax(differ))
        raise ModelError(
            name_of("precision")
            + f" must be symmetric: row {upper[place]}, column {lower[place]} is given as {values[place]:g} and "
            f"as {values[place + 1]:g}"
        )
    kept = np.append(True, ~again) & (values != 0)
    return records, upper[kept], lower[kept], values[kept]


def dominance_of(own: Floats, taken: Floats, weights: Floats, terms: int) -> Dominance | None:
    """Return the certificate of these weights, or None if they are none.

    own, taken: for each row the diagonal's share of C·w, and what the entries beside it take away, at most `terms`.

    C·w is computed in floats: a row of e entries errs by at most (e + 3)·2⁻⁵³ of the sum of its absolute terms.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        left = own - taken - 1.01 * (terms + 3) * UNIT * (own + taken)
    certain = bool((weights > 0).all() and np.isfinite(weights).all() and (left > 0).all())
    return Dominance(weights, left) if certain else None


def _solved_in_band(rows: Integers, columns: Integers, values: Floats, right: Floats) -> Floats:
    """Return the solution of a banded system with a unit diagonal; LinAlgError if it is not positive definite."""
    from scipy.linalg import solveh_banded

    apart = columns - rows
    band = np.zeros((int(apart.max(initial=0)) + 1, len(right)))
    band[0] = 1.0
    band[apart, rows] = -values
    return np.asarray(solveh_banded(band, right, lower=True, overwrite_ab=True, check_finite=False))


def exact_inverse(matrix: Floats) -> tuple[tuple[float, ...], ...]:
    """Return the inverse of a small matrix, each entry rounded to the nearest float, by elimination without fractions.

    Raises OverflowError if an entry is beyond floats.

    >>> exact_inverse(np.array([[2.0, 1.0], [1.0, 1.0]]))
    ((1.0, -1.0), (-1.0, 2.0))
    """
    size = len(matrix)
    exact = [[Fraction(float(entry)) for entry in row] for row in matrix]
    scale = lcm(*(entry.denominator for row in exact for entry in row))
    work = [[int(entry * scale) for entry in row] + [int(i == j) for j in range(size)] for i, row in enumerate(exact)]
    previous = 1
    for pivot in range(size):
        head = work[pivot][pivot]
        for row in range(size):
            if row != pivot:
                factor = work[row][pivot]
                work[row] = [(head * a - factor * b) // previous for a, b in zip(work[row], work[pivot], strict=True)]
        previous = head
    return tuple(
        tuple(float(Fraction(row[size + j] * scale, row[i])) for j in range(size)) for i, row in enumerate(work)
    )
