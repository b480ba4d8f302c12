"""Groups whose records are jointly normal: families, repeated measurements, households."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bayesdp._support import hooks, validation
from bayesdp._support.arrays import Floats, readonly
from bayesdp._support.display import table
from bayesdp._support.lazy import warn_renamed
from bayesdp._support.messages import name_of, param, params
from bayesdp._support.validation import Matrix, brief, checked_missing
from bayesdp.errors import ModelError, RecordsError
from bayesdp.models.base import Model, check_unit, whole_group
from bayesdp.models.diagnosis import Diagnosis
from bayesdp.models.fit_option import MISSING, RECORD, FitOption
from bayesdp.models.layout import GroupLayout, column_names
from bayesdp.models.learnt_correlation import LearntCorrelation
from bayesdp.models.moments import AnovaMoments, Moments, checked_covariance, read_moments
from bayesdp.models.precision import Precision, exact_inverse
from bayesdp.models.view import TableView
from bayesdp.rounding import shown_above, shown_below

__all__ = ["GaussianGroups"]

_MOST_SHOWN = 12
"""The largest group whose correlations fit on a screen, side by side."""

_LARGEST_INVERTED = 20
_MOST_KINDS = 64
"""The covariances of a precision are computed only if its groups are at most this large."""

_AGREEMENT = 0.005
"""The tolerance, in standard deviations, between covariances and those of the moments: they may be rounded."""


@dataclass(frozen=True, kw_only=True)
class GaussianGroups(Model):
    """Records form independent groups, jointly normal within a group.

    Give either a bound: `correlation`, on |correlation| of every pair, and `size`, the largest group; all variances are
    then equal. Or give exact parameters: `covariance`, one matrix or a list of matrices for several kinds of group; or
    `precision`, the inverse of the covariance of all records: {"records": n, "entries": [[i, j, value], …]}, a SciPy
    sparse matrix, or its rows. Records that no path of entries connects are in different groups.

    distance: target values up to this far apart are protected; None means the clipping width of the query. Values
              farther apart move their relatives farther too, and leak more (docs/errata.md, 1).
    group:    the columns that identify groups, so that a session can check their size. Members are then alike; where
              they are not, `located` also names the column of their roles.
    unit:     "record" if one record is protected; "group" if all records of a group together are.
    moments:  the sample moments that the covariance was estimated from, if any; the two must agree.
    layout:   the columns of the table it was fitted on; `located` sets them for a model that was not fitted.
    learnt:   the private release (`Session.fit`) that estimated the correlation, if any: the guarantee covers it.

    >>> GaussianGroups(correlation=0.275, size=3).group_size
    3
    >>> GaussianGroups(covariance=[[1, 0.4], [0.4, 2]]).largest_correlation
    0.282842712474619
    """

    correlation: float | None = None
    size: int | None = None
    covariance: Matrix | None = None
    precision: Precision | Any | None = None
    distance: float | None = None
    group: Sequence[str] = ()
    unit: Literal["record", "group"] = "record"
    moments: Moments | AnovaMoments | None = None
    layout: GroupLayout | None = None
    learnt: LearntCorrelation | None = None

    kind: ClassVar[str] = "gaussian"
    fit_options: ClassVar[tuple[FitOption, ...]] = (
        FitOption(
            "value",
            "The column of values; several columns mean one row for each group.",
            "A,B",
            reads="columns",
            required=True,
            example="height",
            locates=True,
        ),
        FitOption(
            "group", "The columns that identify a group.", "A,B", reads="columns", example="family", locates=True
        ),
        FitOption("role", "The column of roles in a group, such as father or child.", locates=True),
        MISSING,
        RECORD,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_given()
        check_unit(self.unit)
        object.__setattr__(self, "group", column_names("group", self.group))
        if self.group and (self.precision is not None or self.layout is not None):
            other = "a precision identifies all records by position" if self.layout is None else "the layout names them"
            raise ModelError("leave " + param("group") + f" out: {other}")
        if self.distance is not None:
            object.__setattr__(self, "distance", validation.positive("distance", self.distance, ModelError))
        if self.moments is not None:
            if not isinstance(self.moments, Moments | AnovaMoments):
                raise ModelError(
                    name_of("moments") + f" must be Moments(...) or AnovaMoments(...), not {brief(self.moments)}"
                )
            if self.covariance is None:
                raise ModelError(
                    "moments are those that a covariance was estimated from; give " + param("covariance") + " too"
                )
            if [len(kind) for kind in self.kinds] != [self.moments.members]:
                raise ModelError(
                    f"the moments are those of groups of {self.moments.members}, but the covariance is one of "
                    f"{self.group_size}; they belong to different models"
                )
            self._check_moments(self.moments)
        if self.layout is not None and not isinstance(self.layout, GroupLayout):
            raise ModelError(name_of("layout") + f" must be a GroupLayout(...), not {brief(self.layout)}")
        if self.layout is not None and not self.layout.wide:
            object.__setattr__(self, "column", self.column or self.layout.value[0])
        if self.layout is not None and self.column is not None and self.column not in self.layout.value:
            raise ModelError(
                f"the model describes {self.column!r}, but its layout is about {', '.join(self.layout.value)}; name "
                "one column in both"
            )
        if self.learnt is not None:
            self._check_learnt(self.learnt)

    def _check_learnt(self, learnt: LearntCorrelation) -> None:
        if not isinstance(learnt, LearntCorrelation):
            raise ModelError(name_of("learnt") + f" must be the result of Session.fit, not {brief(learnt)}")
        if self.correlation is None or learnt.size != self.size:
            raise ModelError("the private fit was of groups of another size or kind")
        if self.correlation > learnt.ceiling:
            raise ModelError(
                f"correlation = {self.correlation:g} is above the ceiling of {learnt.ceiling:g} of the private fit"
            )

    def _check_given(self) -> None:
        if sum(given is not None for given in (self.covariance, self.correlation, self.precision)) != 1:
            raise ModelError(
                params(
                    "give either {correlation} and {size} (a bound on every pair) or {covariance} (what is known "
                    "exactly), or {precision}, its inverse"
                )
            )
        if self.correlation is not None:
            self._check_bound()
        elif self.size is not None:
            raise ModelError(params("{size} goes with {correlation}; a covariance or precision has its own size"))
        if self.covariance is not None:
            object.__setattr__(self, "covariance", _kinds(self.covariance))
        if self.precision is not None:
            object.__setattr__(self, "precision", Precision.of(self.precision))
            if self.layout is not None:
                raise ModelError("a precision identifies all records of a table by position; it takes no layout")

    def _check_moments(self, moments: Moments | AnovaMoments) -> None:
        given, estimated = self.matrices[0], np.array(moments.covariance)
        deviations = np.sqrt(np.diag(given))
        with np.errstate(all="ignore"):
            off = np.abs(given - estimated) / deviations[:, None] / deviations[None, :]
        for i, j in np.argwhere(~(off <= _AGREEMENT)):
            raise ModelError(
                f"covariance and moments disagree: row {i}, column {j} is {given[i, j]:g}, but {estimated[i, j]:g} by "
                "the moments; leave the moments out, or give their covariance"
            )

    def _check_bound(self) -> None:
        correlation = validation.number("correlation", self.correlation, ModelError)
        if not 0 <= correlation <= 1:
            raise ModelError(
                name_of("correlation")
                + f" must lie in [0, 1], not {correlation:g}; it bounds the absolute value of every pair's"
            )
        if self.size is None:
            raise ModelError(params("{correlation} needs {size}, the largest number of records in one group"))
        object.__setattr__(self, "correlation", correlation)
        object.__setattr__(self, "size", validation.natural("size", self.size, ModelError))

    @classmethod
    def from_moments(
        cls,
        mean: Sequence[float],
        covariance: Matrix,
        *,
        groups: int,
        column: str | None = None,
        record: str = "record",
        distance: float | None = None,
    ) -> Self:
        """Build the model from the sample moments of `groups` groups, their mean and covariance, and store them.

        >>> GaussianGroups.from_moments([69, 64], [[6, 1], [1, 5]], groups=197).estimated
        True
        """
        moments = Moments(groups, mean, covariance)
        return cls(covariance=moments.covariance, moments=moments, column=column, record=record, distance=distance)

    @classmethod
    def fit(
        cls,
        frame: object,
        *,
        value: str | Sequence[str],
        group: str | Sequence[str] | None = None,
        role: str | None = None,
        missing: Literal["error", "drop"] = "error",
        distance: float | None = None,
        record: str = "record",
        diagnose: bool = True,
    ) -> Self:
        """Estimate the model from a table of any engine, or from files by their path (docs/frames.md).

        Long data: `value` is a column, and `group` identifies groups. With `role` (child, father, …), fit estimates the
        covariance of the roles, each pair over the groups that have both. Without it, the members of a group are
        exchangeable: fit estimates one variance, one correlation (the intraclass correlation) and the largest size.
        Wide data: several `value` columns and one row for each group; the columns are the roles.

        fit also diagnoses the assumption on the table and stores the diagnosis in the model. diagnose=False saves the
        time; the model then states that it was never diagnosed.

        Raises FrameError for an invalid table (missing values unless missing="drop", only groups of one, two records of
        a group in one role), ModelError for a covariance that is not positive definite.

        >>> import polars
        >>> pairs = polars.DataFrame({"kid": [60, 90, 100, 80], "mother": [90, 100, 120, 85]})
        >>> round(GaussianGroups.fit(pairs, value=["kid", "mother"]).largest_correlation, 3)
        0.772
        """
        layout = GroupLayout(value, () if group is None else group, role, dropped=missing == "drop")
        table = hooks.call("table.scan", frame)
        moments = hooks.call("table.group_moments", table, layout, missing)
        groups = cls(
            covariance=moments.covariance,
            moments=moments,
            layout=layout,
            column=None if layout.wide else layout.value[0],
            distance=distance,
            record=record,
        )
        return groups.with_diagnosis(groups.diagnose(table)) if diagnose else groups

    def diagnose(
        self,
        frame: object,
        *,
        value: str | Sequence[str] | None = None,
        group: str | Sequence[str] | None = None,
        role: str | None = None,
        missing: Literal["error", "drop"] | None = None,
    ) -> Diagnosis:
        """Diagnose whether the table looks as the model assumes: normality, variances, correlation between groups.

        A fitted model has its columns (value, group, role) and the rule for missing values, which the arguments given
        replace; for any other model, name them as in fit. The rows of a covariance are then the roles in the order of
        their names, or several values in the order given.

        Raises ModelError if the columns are unknown, FrameError for an invalid table.
        """
        if self.layout is not None:
            layout = self.layout.renamed(value, group, role)
        else:
            values = self.column if value is None else value
            if not values:
                raise ModelError(
                    params(
                        "the model does not name its columns; name them as in fit, by {value} and "
                        "{group}, or by several values, one row a group"
                    )
                )
            layout = GroupLayout(values, group or self.group, role)
        if self.column is not None and self.column not in layout.value:
            raise ModelError(f"the model describes {self.column!r}, not {', '.join(layout.value)}")
        if missing is not None:
            layout = replace(layout, dropped=checked_missing(missing) == "drop")
        diagnosis: Diagnosis = hooks.call("diagnose.groups", replace(self, layout=layout, group=()), frame)
        return diagnosis

    @cached_property
    def matrices(self) -> tuple[Floats, ...]:
        """The covariance of each kind of group as a read-only array; empty when only a bound is known."""
        return tuple(readonly(np.array(kind)) for kind in self.kinds)

    @cached_property
    def kinds(self) -> tuple[Matrix, ...]:
        """The covariance of each kind of group; empty when only a bound is known, or a precision of large groups."""
        if self.precision is not None:
            return _inverses(self.precision)
        if self.covariance is None:
            return ()
        several = self.covariance if _depth(self.covariance) == 3 else (self.covariance,)
        return tuple(several)

    @property
    def group_size(self) -> int:
        if self.precision is not None:
            return int(self.precision.group_size)
        return self.size if self.size is not None else max(len(kind) for kind in self.kinds)

    @property
    def metric(self) -> bool:
        return True

    @property
    def protects(self) -> str:
        return whole_group(self.group_size, self.record) if self.protects_several else super().protects

    @property
    def protects_several(self) -> bool:
        return self.unit == "group"

    @property
    def largest_correlation(self) -> float:
        """The largest |correlation| between two records."""
        if self.correlation is not None:
            return self.correlation
        if not self.matrices:
            raise ModelError(f"groups of {self.group_size} records are too large to list their correlations")
        return max(_largest_correlation(matrix) for matrix in self.matrices)

    @property
    def assumption(self) -> str:
        groups = (
            f"records come in normal groups of at most {self.group_size} that are independent of one another, with "
        )
        if self.correlation is not None:
            bound = shown_below(self.correlation)
            return f"{groups}equal variances and every correlation at most {bound} in absolute value"
        if self.precision is not None:
            return f"{groups}the given precision"
        return f"{groups}the given covariance{'s' if len(self.kinds) > 1 else ''}"

    @property
    def parameters(self) -> str:
        """The bound, or the standard deviations and correlations of up to a dozen members, or else their range."""
        if self.correlation is not None:
            bound = shown_below(self.correlation)
            return f"All variances are equal, and every correlation is at most {bound} in absolute value."
        if isinstance(self.moments, AnovaMoments):
            return self._exchangeable
        if self._shows_members:
            return self._members
        if not self.matrices:
            assert self.precision is not None
            beside = len(self.precision.values) - self.precision.records
            return f"A precision of {self.precision.records} records, {beside} pairs of which are directly dependent."
        deviations = [deviation for matrix in self.matrices for deviation in np.sqrt(np.diag(matrix))]
        return (
            f"Standard deviations from {min(deviations):.4g} to {max(deviations):.4g}; every correlation is at most "
            f"{shown_above(self.largest_correlation, 4)} in absolute value."
        )

    def summary(self) -> str:
        """Return what is assumed, and the standard deviations and correlations of up to a dozen members."""
        summary = super().summary()
        if self.learnt is not None:
            return f"{summary} {self.learnt.origin}"
        if isinstance(self.moments, AnovaMoments):
            basis = f"Estimated from {self.moments.records} records in {self.moments.groups} groups."
            return f"{summary} {self._exchangeable} {basis}"
        return f"{summary}\n\n{self._members}" if self._shows_members else summary

    @property
    def _exchangeable(self) -> str:
        """The description of members that are all alike."""
        assert isinstance(self.moments, AnovaMoments)
        return (
            f"Members are exchangeable: standard deviation {self.matrices[0][0, 0] ** 0.5:.5g}, intraclass correlation "
            f"{self.moments.correlation:.4f}."
        )

    @property
    def _shows_members(self) -> bool:
        return len(self.kinds) == 1 and len(self.kinds[0]) <= _MOST_SHOWN

    @property
    def _members(self) -> str:
        """The standard deviations and correlations of every member, as a table."""
        matrix = self.matrices[0]
        named = self.moments.roles if isinstance(self.moments, Moments) else ()
        roles = list(named) or [str(i + 1) for i in range(len(matrix))]
        deviations = np.sqrt(np.diag(matrix))
        rows = [
            [
                role,
                f"{deviations[i]:.5g}",
                *(f"{matrix[i, j] / deviations[i] / deviations[j]:.4f}" for j in range(i)),
                "",
            ]
            + [""] * (len(roles) - i - 1)
            for i, role in enumerate(roles)
        ]
        return table(["member", "sd", *roles[:-1], ""], rows)

    @property
    def estimated(self) -> bool:
        return self.moments is not None

    @property
    def origin(self) -> str | None:
        return None if self.learnt is None else self.learnt.origin

    @property
    def opened_as(self) -> GaussianGroups:
        """The groups before the correlation was estimated: with the ceiling."""
        return self if self.learnt is None else replace(self, correlation=self.learnt.ceiling, learnt=None)

    def with_learnt(self, learnt: LearntCorrelation) -> Self:
        """Return the groups with the correlation estimated from noisy sums."""
        return replace(self, correlation=learnt.correlation, learnt=learnt)

    def learning(self, learnt: LearntCorrelation) -> Self:
        """The former name of `with_learnt`; it goes with the next version."""
        warn_renamed("GaussianGroups.learning", "GaussianGroups.with_learnt", stacklevel=3)
        return self.with_learnt(learnt)

    def located(
        self,
        *,
        value: str | Sequence[str],
        group: str | Sequence[str] | None = None,
        role: str | None = None,
        missing: Literal["error", "drop"] = "error",
    ) -> Self:
        """Return the groups with these columns, without estimates from other columns.

        `value`, `group`, `role` and `missing` are those of fit.

        >>> GaussianGroups(correlation=0.9, size=3).located(value="height", group="family").column
        'height'
        """
        dropped = checked_missing(missing) == "drop"
        layout = GroupLayout(value, () if group is None else group, role, dropped=dropped)
        column = None if layout.wide else layout.value[0]
        unlearnt = self.correlation if self.learnt is None else self.learnt.ceiling
        return replace(self, correlation=unlearnt, learnt=None, layout=layout, column=column, group=())

    @property
    def entity_columns(self) -> tuple[str, ...] | None:
        return tuple(self.group) or None if self.layout is None else tuple(self.layout.group)

    @property
    def public_columns(self) -> tuple[str, ...]:
        if self.layout is None:
            return tuple(self.group)
        return (*self.layout.group, *(() if self.layout.role is None else (self.layout.role,)))

    def at_any_length(self) -> Self:
        """Return the model, which allows more groups of the same sizes; ModelError for a precision, which does not."""
        return super().at_any_length() if self.precision is not None else self

    def check_table(self, table: TableView, subject: str | None = None) -> Self:
        """Return the model; refuses a table with a larger group, an unknown role, or a role twice in a group."""
        layout = self.layout
        if layout is None and not self.group:
            return self._check_records(table, subject)
        if (layout is None or not (layout.wide or layout.role)) and not self._alike:
            raise ModelError(
                "the covariance differs between members, but no role column identifies them; name it by located("
                + params("{value}, {group}, {role}")
                + "), or take a covariance in which all members are alike"
            )
        if layout is None:
            largest = table.largest_group(self.group)
        else:
            largest = len(layout.value) if layout.wide else table.largest_group(layout.group, layout.value[0])
        if largest > self.group_size:
            raise RecordsError(
                f"{table.name} has a group of {largest} records, but the model describes groups of at most "
                f"{self.group_size}; fit it again"
            )
        if layout is not None and layout.role is not None:
            self._check_roles(table, table.roles(layout.group, layout.role, layout.value[0]))
        return self

    def _check_records(self, table: TableView, subject: str | None) -> Self:
        """Refuse a table with more records than the precision. Their order does not matter to ε."""
        column = self.column if self.column is not None else subject
        if self.precision is not None and column is not None:
            records = table.chains(column, (), None).longest
            if records > self.precision.records:
                raise RecordsError(
                    f"{table.name} has {records} records, but the precision describes {self.precision.records}"
                )
        return self

    @property
    def _alike(self) -> bool:
        """Whether all members of a group are alike: a bound on every pair, or one variance and one covariance."""
        return all(
            len(set(np.diag(matrix))) == 1 and len(set(matrix[~np.eye(len(matrix), dtype=bool)])) <= 1
            for matrix in self.matrices
        )

    def _check_roles(self, table: TableView, roles: Mapping[str, int]) -> None:
        known = self.moments.roles if isinstance(self.moments, Moments) else ()
        strange = sorted(set(roles) - set(known)) if known else []
        if strange or len(roles) > self.group_size:
            raise RecordsError(
                f"{table.name} has roles that the model does not have: {brief(strange or sorted(roles))}; fit it again"
            )
        twice = sorted(role for role, most in roles.items() if most > 1)
        if twice:
            raise RecordsError(
                f"some group of {table.name} has more than one record in the role {twice[0]!r}; a role names one "
                "member of a group: number the roles, or fit the model without roles"
            )

    @property
    def unchecked(self) -> str | None:
        if self.layout is not None or self.group:
            return None
        if self.precision is not None:
            return "Only the number of records was checked, not that they are those of the precision."
        return (
            "No group was named: which records belong together was not checked, nor that no group has more than "
            f"{self.group_size}."
        )

    def _content(self) -> dict[str, Any]:
        content: dict[str, Any]
        if self.correlation is not None:
            content = {"correlation": self.correlation, "size": self.size}
        elif self.precision is not None:
            content = {"precision": self.precision.to_dict()}
        else:
            content = {"covariance": _as_lists(self.covariance)}
        if self.distance is not None:
            content["distance"] = self.distance
        if self.group:
            content["group"] = list(self.group)
        if self.unit != "record":
            content["unit"] = self.unit
        if self.moments is not None:
            content["moments"] = self.moments.to_dict()
        if self.layout is not None:
            content["layout"] = self.layout.to_dict()
        if self.learnt is not None:
            content["learnt"] = self.learnt.to_dict()
        return content

    @classmethod
    def _read(cls, entries: Mapping[str, Any]) -> Self:
        read = dict(entries)
        if read.get("moments") is not None:
            read["moments"] = read_moments(read["moments"])
        if read.get("layout") is not None:
            read["layout"] = GroupLayout.from_dict(read["layout"])
        if read.get("learnt") is not None:
            read["learnt"] = LearntCorrelation.from_dict(read["learnt"])
        return cls(**read)

    def draws(self, generator: np.random.Generator) -> Iterator[Self]:
        if self.moments is None:
            return super().draws(generator)
        return (replace(self, covariance=covariance, moments=None) for covariance in self.moments.draws(generator))

    @property
    def dropped(self) -> bool:
        return self.layout is not None and self.layout.dropped

    @property
    def spread(self) -> tuple[str, ...]:
        return tuple(self.layout.value) if self.layout is not None and self.layout.wide else ()

    @property
    def columns(self) -> tuple[str, ...]:
        return self.spread or super().columns


def _kinds(covariance: object) -> Any:
    """Return one checked covariance, or a tuple of them, as tuples."""
    if _depth(covariance) != 3:
        return checked_covariance("covariance", covariance)
    kinds = validation.items("covariance", covariance, ModelError)
    checked = tuple(checked_covariance(f"covariance of kind {index}", kind) for index, kind in enumerate(kinds))
    return checked[0] if len(checked) == 1 else checked


def _inverses(precision: Precision) -> tuple[Matrix, ...]:
    """Return the covariance of each kind of group, each entry to the nearest float; none if groups are too large."""
    if precision.group_size > _LARGEST_INVERTED:
        return ()
    blocks = [block for same_size in precision.blocks() for block in same_size]
    if len(blocks) > _MOST_KINDS:
        return ()
    try:
        return tuple(exact_inverse(block) for block in blocks)
    except OverflowError:
        return ()


def _largest_correlation(matrix: Floats) -> float:
    deviations = np.sqrt(np.diag(matrix))
    correlations = np.abs(matrix) / deviations[:, None] / deviations[None, :]
    np.fill_diagonal(correlations, 0.0)
    return float(correlations.max())


def _depth(value: object) -> int:
    """Return how deeply lists and arrays are nested in `value`, following first entries."""
    depth = 0
    while depth < 4:
        if isinstance(value, np.ndarray):
            return depth + value.ndim
        if not isinstance(value, Sequence) or isinstance(value, str) or not value:
            break
        value, depth = value[0], depth + 1
    return depth


def _as_lists(value: Any) -> Any:
    return [_as_lists(item) for item in value] if isinstance(value, tuple) else value
