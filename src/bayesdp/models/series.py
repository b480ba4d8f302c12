"""Stationary normal autoregressive series."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from bayesdp._support import hooks, validation
from bayesdp._support.messages import in_python, name_of, param
from bayesdp._support.validation import brief
from bayesdp.errors import ModelError
from bayesdp.models.chain import CHAIN_OPTIONS, ORDER_BY_TEXT, Chain
from bayesdp.models.fit_option import FitOption
from bayesdp.models.layout import ChainLayout, column_names
from bayesdp.models.series_moments import CLEARLY, SeriesMoments, partial_autocorrelations

if TYPE_CHECKING:
    import numpy as np

__all__ = ["GaussianSeries"]

_AGREEMENT = 0.005
"""The tolerance between coefficients, which may be rounded, and the autocovariances they were estimated from."""

_RECORDS_PER_MEAN = 20
"""The fewest records for each mean: subtracting a mean lowers the estimated dependence by about one in that many."""

_LARGEST_ORDER = 64
"""The largest order: each lag takes a pass over the table."""


@dataclass(frozen=True)
class GaussianSeries(Chain):
    """Records are a stationary normal autoregressive series. Several entities are independent series of the same kind.

    X_t − μ_t = φ₁·(X_{t−1} − μ_{t−1}) + … + φ_p·(X_{t−p} − μ_{t−p}) + noise, the noise normal, independent and of one
    variance. The mean μ_t may change with time in any way; neither it nor the variance affects the leakage.

    coefficients: φ₁, …, φ_p, of one step of the calendar.
    distance:     target values up to this far apart are protected; None means the clipping width of the query.
    moments:      the autocovariances that the coefficients were estimated from, if any. The two must agree.

    >>> GaussianSeries([0.5]).assumption
    'the records are a stationary normal autoregressive series of order 1 with the given coefficients, of any length'
    """

    coefficients: Sequence[float]
    distance: float | None = field(default=None, kw_only=True)
    moments: SeriesMoments | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "gaussian-series"
    fit_options: ClassVar[tuple[FitOption, ...]] = (
        FitOption(
            "value", "The column of numbers.", "A,B", reads="columns", required=True, example="load", locates=True
        ),
        *(option for option in CHAIN_OPTIONS if option.name != "state"),
        ORDER_BY_TEXT,
        FitOption("order", "The number of preceding records in the regression.", "P", reads="whole", default="1"),
        FitOption(
            "within",
            "Public columns, or hour, weekday or month: subtract the mean of each of their values.",
            "A,B",
            reads="columns",
        ),
    )
    _instead_of_diagnosis: ClassVar[str] = ": whether the series is normal and stationary is not tested"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "coefficients", _coefficients(self.coefficients))
        if self.distance is not None:
            object.__setattr__(self, "distance", validation.positive("distance", self.distance, ModelError))
        if self.states or self.state is not None:
            raise ModelError("a series is one of numbers, in a column; it has no states")
        if self.moments is not None:
            self._check_moments()

    def _check_moments(self) -> None:
        if not isinstance(self.moments, SeriesMoments):
            raise ModelError(
                name_of("moments") + f" must be SeriesMoments(autocovariances, pairs), not {brief(self.moments)}"
            )
        estimated = self.moments.coefficients()
        if len(estimated) != len(self.coefficients) or any(
            abs(given - own) > _AGREEMENT for given, own in zip(self.coefficients, estimated, strict=True)
        ):
            raise ModelError(
                f"moments and coefficients disagree: the autocovariances give {brief(list(estimated))}, not "
                f"{brief(list(self.coefficients))}; leave the moments out, or fit the series again"
            )

    @classmethod
    def fit(
        cls,
        frame: object,
        *,
        value: str | Sequence[str],
        order_by: str | Sequence[str],
        entity: str | Sequence[str] | None = None,
        step: float | str | datetime.timedelta | None = None,
        order: int = 1,
        within: str | Sequence[str] | None = None,
        missing: Literal["error", "drop"] = "error",
        record: str = "record",
        distance: float | None = None,
        order_by_text: bool = False,
    ) -> Self:
        """Estimate the coefficients from a table of any engine, or from files by their path (docs/fitting.md).

        value:  the column of numbers.
        order:  the number of preceding records in the regression.
        within: public columns, or "hour", "weekday", "month" of an order of times: each of their values has its
                own mean, which is subtracted first. Without it, all records have one mean.

        Autocovariances are averages over pairs of records of one entity without a gap between them, of all entities
        together, and the coefficients those of Yule and Walker. order_by, order_by_text, entity, step and missing are
        those of MarkovChain.fit.

        Raises FrameError for an invalid table; ModelError if no stationary series has these autocovariances, or if no
        theorem covers it, with a lower order that is covered if there is one.

        >>> import polars
        >>> frame = polars.DataFrame({"t": range(24), "x": [1, 2, 3, 3, 2, 1, 1, 3] * 3})
        >>> [round(weight, 3) for weight in GaussianSeries.fit(frame, value="x", order_by="t").coefficients]
        [0.058]
        """
        order = validation.natural("order", order, ModelError)
        if order > _LARGEST_ORDER:
            raise ModelError(name_of("order") + f" must be at most {_LARGEST_ORDER}, not {order}")
        columns = column_names("value", value)
        if len(columns) != 1:
            raise ModelError("a series is one column of numbers, but " + param("value") + f" names {len(columns)}")
        layout = ChainLayout(
            order_by, () if entity is None else entity, step, dropped=missing == "drop", order_by_text=order_by_text
        )
        table = hooks.call("table.scan", frame)
        layout = hooks.call("table.spacing", table, columns[0], layout, numeric=True)
        seen = hooks.call(
            "table.series_moments", table, columns[0], layout, order, missing, column_names("within", within)
        )
        if seen.moments.pairs[0] < _RECORDS_PER_MEAN * seen.means:
            raise ModelError(
                f"{seen.moments.pairs[0]} records are too few to subtract {seen.means} means: that alone makes "
                f"records look less dependent than they are; name columns with fewer values, so that each has "
                f"{_RECORDS_PER_MEAN} records"
            )
        coefficients = seen.moments.coefficients()
        _check_covered(seen.moments, coefficients)
        return cls(
            coefficients,
            moments=seen.moments,
            length=seen.longest,
            gaps=seen.gaps,
            column=columns[0],
            record=record,
            layout=layout,
            distance=distance,
        )

    @property
    def estimated(self) -> bool:
        return self.moments is not None

    def draws(self, generator: np.random.Generator) -> Iterator[Self]:
        """Yield series from the posterior of the coefficients, given the autocovariances (docs/uncertainty.md)."""
        if self.moments is None:
            yield from super().draws(generator)
            return
        for coefficients in self.moments.draws(generator):
            yield replace(self, coefficients=coefficients, moments=None)

    @property
    def metric(self) -> bool:
        return True

    @property
    def assumption(self) -> str:
        return (
            f"the records are a stationary normal autoregressive series of order {len(self.coefficients)} with the "
            f"given coefficients, {self.extent}{self.entities}"
        )

    @property
    def parameters(self) -> str:
        """The coefficients."""
        terms = ", ".join(f"φ{lag} = {value:.6g}" for lag, value in enumerate(self.coefficients, start=1))
        return f"Coefficients: {terms}. The mean may change with time."

    def summary(self) -> str:
        """Return what is assumed, with the coefficients."""
        return f"{super().summary()} {self.parameters}"

    def _content(self) -> dict[str, Any]:
        distance = {} if self.distance is None else {"distance": self.distance}
        moments = {} if self.moments is None else {"moments": self.moments.to_dict()}
        return {"coefficients": list(self.coefficients), **super()._content(), **distance, **moments}

    @classmethod
    def _read(cls, entries: Mapping[str, Any]) -> Self:
        moments = entries.get("moments")
        read = {} if moments is None else {"moments": SeriesMoments.from_dict(moments)}
        return super()._read({**entries, **read})

    @classmethod
    def _keys(cls) -> frozenset[str]:
        return super()._keys() - {"states", "state"}

    @classmethod
    def _required(cls) -> frozenset[str]:
        return frozenset({"coefficients"})


def _check_covered(moments: SeriesMoments, coefficients: tuple[float, ...]) -> None:
    """Raise ModelError for a fitted series that no theorem covers; name the highest lower order that is covered."""
    refusal = hooks.resolve("theorem.series_refusal")
    reason = refusal(coefficients)
    if reason is None:
        return
    lower = next((p for p in range(len(coefficients) - 1, 0, -1) if refusal(moments.coefficients(p)) is None), None)
    offered = "no lower order is covered either; arbitrary groups cover series of limited length"
    if lower is not None:
        offered = f"order {lower}, with {brief(list(moments.coefficients(lower)))}, is covered"
    raise ModelError(
        f"no theorem covers the fitted series of order {len(coefficients)}, with "
        f"{brief(list(coefficients))}: {reason}; {offered}"
    )


def _coefficients(value: object) -> tuple[float, ...]:
    """Return the coefficients of a stationary series, or refuse them."""
    given = validation.items("coefficients", value, ModelError)
    numbers = tuple(
        validation.number(f"coefficients[{index}]", number, ModelError) for index, number in enumerate(given)
    )
    if not numbers:
        raise ModelError(
            "coefficients is empty; records that do not depend on one another are "
            + in_python("Independent()", elsewhere='"independent"')
        )
    partials = partial_autocorrelations(numbers)
    for place, partial in enumerate(partials):
        if abs(partial) >= CLEARLY:
            raise ModelError(
                f"a series with the coefficients {brief(list(numbers))} is not stationary (its partial autocorrelation "
                f"of lag {len(numbers) - place} is {partial:.6g}): it drifts without limit, or nearly so"
            )
    return numbers
