"""Randomized response: each record's bit is flipped at random, independently, before it is released."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, final

from bayesdp._support import validation
from bayesdp._support.messages import name_of
from bayesdp.errors import InvalidInputError
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.drawing import by_opendp, require_untouched_generator
from bayesdp.rounding import float_above

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["RandomizedResponseMechanism"]

_LARGEST_TAU = 700.0
"""For larger τ, e^(−τ) is below the normal floats; the flips of τ = 700 are used, which protect more."""

_EXACT = Context(prec=40)
"""Decimal digits of e^τ: more than twice those of a float, so that one rounding down is safe."""


@final
@dataclass(frozen=True)
class RandomizedResponseMechanism(Mechanism):
    """Keep each bit with probability e^τ/(1 + e^τ), flip it otherwise: τ-DP for each record on its own.

    tau:              the privacy of one record's bit, above 0.
    flip_probability: f, exactly: the smallest float that is proven to be at least 1/(1 + e^τ).

    Why this is at most τ-DP: the probabilities of an output under the two inputs are f and 1 − f, so the claim is
    (1 − f)/f ≤ e^τ. `Decimal.exp` is correctly rounded, so one step below it is a number L < e^τ, and f ≥ 1/(1 + L) as
    exact fractions gives (1 − f)/f ≤ L. OpenDP's bit-vector sampler takes 2f, halves it (both exact in binary) and
    draws every flip from Bernoulli(f) without error, independently of the bits.

    Raises InvalidInputError for a τ below about 2e-16, at which f is one half and answers carry no information.

    >>> mechanism = RandomizedResponseMechanism(tau=1.0)
    >>> round(float(mechanism.flip_probability), 4)
    0.2689
    >>> mechanism.release([True, False, True]).shape
    (3,)
    """

    tau: float
    flip_probability: Fraction = field(init=False)

    private: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", validation.positive("tau", self.tau))
        odds = Fraction(_EXACT.exp(Decimal(min(self.tau, _LARGEST_TAU))).next_minus(_EXACT))
        flip = Fraction(float_above(1 / (1 + odds)))
        if flip >= Fraction(1, 2):
            raise InvalidInputError(
                f"tau = {self.tau:g} flips half of the bits, which leaves no information; choose a larger tau"
            )
        object.__setattr__(self, "flip_probability", flip)

    def release(self, bits: ArrayLike) -> NDArray[np.bool_]:
        """Return the bits with fresh flips; only the operating system seeds the generator.

        Raises InvalidInputError unless `bits` is a one-dimensional array of truth values, and NoiseError if the flips
        cannot be drawn. A million bits take half a second.
        """
        import numpy as np

        given = np.asarray(bits)
        if given.dtype != np.bool_ or given.ndim != 1:
            raise InvalidInputError(
                name_of("bits") + f" must be a list of True and False, not of type {given.dtype}, {given.ndim}-d"
            )
        if not given.size:
            return given.copy()
        require_untouched_generator()
        flipped = by_opendp(lambda: self._measurement(given.size)(np.packbits(given).tobytes()))
        packed = np.frombuffer(flipped, dtype=np.uint8)
        return np.unpackbits(packed, count=given.size).astype(np.bool_)

    def _measurement(self, bits: int) -> Any:
        """Return OpenDP's mechanism on this number of bits."""
        from opendp.domains import bitvector_domain
        from opendp.measurements import make_randomized_response_bitvec
        from opendp.metrics import discrete_distance
        from opendp.mod import enable_features

        enable_features("contrib")
        return make_randomized_response_bitvec(
            bitvector_domain(max_weight=bits), discrete_distance(), f=2 * float(self.flip_probability)
        )

    def release_column(self, frame: Any, name: str) -> Any:
        """Return the randomized bits of a column as a column (series) of the same engine.

        frame: a pandas, Polars or PyArrow table, or anything else Narwhals reads eagerly.
        name:  a column of truth values, none of them missing.

        Raises `InvalidInputError` otherwise, and for lazy frames.

        >>> import polars
        >>> table = polars.DataFrame({"active": [True, False, False]})
        >>> RandomizedResponseMechanism(tau=1.0).release_column(table, "active").dtype
        Boolean
        """
        import narwhals as nw

        try:
            table = nw.from_native(frame)
        except TypeError:
            raise InvalidInputError(
                name_of("frame") + f" must be a data frame, not of type {type(frame).__name__}"
            ) from None
        if isinstance(table, nw.LazyFrame):
            raise InvalidInputError(
                f"the frame is lazy ({table.implementation.name.lower()}), and a lazy engine may evaluate a column "
                "twice, but randomness must be drawn once for each record; collect the column first and give the "
                "pandas, Polars or PyArrow table"
            )
        if name not in table.columns:
            raise InvalidInputError(f"the frame has no column {validation.brief(name)}")
        column = table[name]
        if column.dtype != nw.Boolean:
            raise InvalidInputError(
                f"column {name!r} must hold truth values, not {column.dtype}; derive a Boolean column from it"
            )
        if column.null_count():
            raise InvalidInputError(f"column {name!r} has missing values; fill or drop them first")
        bits = self.release(column.to_numpy().astype("bool"))
        released = nw.new_series(name, bits, nw.Boolean, backend=table.implementation)
        return table.with_columns(released)[name].to_native()
