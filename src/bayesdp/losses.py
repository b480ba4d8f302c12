"""The losses of releases: their cost in ordinary differential privacy, as if records were independent.

A loss is the cost of one release, in the parameters of its definition. Theorems convert losses to ε. Each theorem
declares the kinds of losses it covers, and is evaluated only for those; theorems about every mechanism cover all the
losses here by the lift (bayesdp.theorems.lift).

Neighbouring data sets differ in the value of one record. Many other programs add or remove a record instead:
convert their losses by `under_replacement` first.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol

from bayesdp._support import validation
from bayesdp._support.messages import name_of
from bayesdp._support.validation import brief
from bayesdp.concentrated import delta_of_rho
from bayesdp.errors import InvalidInputError
from bayesdp.rounding import down, exact_sum, float_above, shown_above, shown_below, up

__all__ = [
    "LIFT",
    "ApproximateLoss",
    "ConcentratedLoss",
    "Loss",
    "Neighbours",
    "PrivacyProfile",
    "PureLoss",
    "assumed_replacing",
    "checked_neighbours",
    "composed",
    "concentrated",
    "under_replacement",
]

LIFT = "docs/theory/approximate.md"
"""The page that proves how theorems about pure losses cover all others."""

Neighbours = Literal["replace", "add-remove"]
"""How neighbouring data sets differ: one record is replaced, or one is added or removed."""

_ULPS = 4

_PROBED = tuple(2.0 ** (exponent / 2) for exponent in range(-20, 15))
"""The τ's at which a new profile is checked, from a thousandth to a hundred."""

_SAME = 1e-9
"""The tolerance for a rise of a profile between two τ's, because of floating-point arithmetic."""


@dataclass(frozen=True)
class Loss(ABC):
    """The privacy cost of one release. A subclass is a frozen dataclass with the parameters of its definition.

    kind: the definition in words, with its parameters in brackets; reasons for refusals name it.
    """

    kind: ClassVar[str]

    @property
    @abstractmethod
    def description(self) -> str:
        """The parameters with their values, as text."""

    def delta_at(self, tau: float) -> float:
        """Return a δ for which the release is (τ, δ)-DP, rounded up; 1, which guarantees nothing, if none is proven."""
        return 1.0


@dataclass(frozen=True)
class PureLoss(Loss):
    """τ-differential privacy: replacing one record changes the probability of any answer by a factor of at most e^τ.

    >>> PureLoss(0.5).description
    'tau = 0.5'
    """

    tau: float

    kind: ClassVar[str] = "pure differential privacy (tau)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", validation.not_negative("tau", self.tau))

    @property
    def description(self) -> str:
        """The value of τ, rounded down."""
        return f"tau = {shown_below(self.tau)}"

    def delta_at(self, tau: float) -> float:
        return 0.0 if tau >= self.tau else 1.0


@dataclass(frozen=True)
class ApproximateLoss(Loss):
    """(τ, δ)-differential privacy: Pr[answer in S] ≤ e^τ·Pr′[answer in S] + δ, whichever record is replaced.

    tau must be greater than 0: for a (0, δ)-DP release, choose a small τ, at which it is (τ, δ)-DP, too.

    >>> ApproximateLoss(0.5, 1e-6).description
    'tau = 0.5, delta = 1e-06'
    """

    tau: float
    delta: float

    kind: ClassVar[str] = "approximate differential privacy (tau, delta)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", validation.positive("tau", self.tau))
        object.__setattr__(self, "delta", validation.probability("delta", self.delta))

    @property
    def description(self) -> str:
        return f"tau = {shown_below(self.tau)}, delta = {shown_above(self.delta)}"

    def delta_at(self, tau: float) -> float:
        return self.delta if tau >= self.tau else 1.0


@dataclass(frozen=True)
class ConcentratedLoss(Loss):
    """ρ-zero-concentrated differential privacy. Gaussian noise costs Δ²/(2σ²) for a sensitivity of Δ in ℓ2.

    delta: the loss is δ-approximately ρ-zCDP (Bun and Steinke 2016, §8): so are joint releases
           of which some are only (τ, δ)-DP.

    >>> ConcentratedLoss(0.01).description
    'rho = 0.01'
    """

    rho: float
    delta: float = 0.0

    kind: ClassVar[str] = "zero-concentrated differential privacy (rho)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", validation.not_negative("rho", self.rho))
        delta = validation.not_negative("delta", self.delta)
        if delta >= 1:
            raise InvalidInputError(name_of("delta") + f" must be below 1, not {delta:g}")
        object.__setattr__(self, "delta", delta)

    @property
    def description(self) -> str:
        rho = f"rho = {shown_below(self.rho)}"
        return rho if self.delta == 0 else f"{rho}, delta = {shown_above(self.delta)}"

    def delta_at(self, tau: float) -> float:
        return min(1.0, up(delta_of_rho(self.rho, tau) + self.delta)) if self.delta else delta_of_rho(self.rho, tau)


class _OpenDPProfile(Protocol):
    def delta(self, epsilon: float) -> float: ...


@dataclass(frozen=True)
class PrivacyProfile(Loss):
    """A privacy profile: for every τ, the δ at which a release is (τ, δ)-DP.

    function:   δ of τ, rounded up; it must not rise with τ, which is checked from τ = 0.001 to 100.
    neighbours: "replace" if it is for replacing a record, "add-remove" if it is for adding or removing one, as in most
                accountants. δ for replacing is then (1 + e^(τ/2))·δ(τ/2).
    name:       the release or the source of the profile, in words.

    Raises InvalidInputError if the function fails, returns something that is not in [0, 1], or rises.

    >>> from math import exp
    >>> PrivacyProfile(lambda tau: exp(-tau) / 10, neighbours="replace").delta_at(1.0) < 0.04
    True
    """

    function: Callable[[float], float]
    neighbours: Neighbours = field(kw_only=True)
    name: str = field(default="a privacy profile", kw_only=True)

    kind: ClassVar[str] = "a privacy profile (delta as a function of tau)"

    def __post_init__(self) -> None:
        checked_neighbours(self.neighbours)
        validation.line("name", self.name)
        if not callable(self.function):
            raise InvalidInputError(f"a profile must be a function from tau to delta, not {brief(self.function)}")
        deltas = [self._stated(tau) for tau in _PROBED]
        for place in range(1, len(deltas)):
            if deltas[place] > deltas[place - 1] * (1 + _SAME):
                raise InvalidInputError(
                    f"a profile must not rise with tau, but this one rises from {deltas[place - 1]:g} at tau = "
                    f"{_PROBED[place - 1]:g} to {deltas[place]:g} at tau = {_PROBED[place]:g}"
                )

    @classmethod
    def from_opendp(cls, profile: _OpenDPProfile, *, neighbours: Neighbours, name: str = "") -> PrivacyProfile:
        """Return the profile of a measurement of OpenDP: `make_zCDP_to_approxDP(measurement).map(d_in)`.

        neighbours: "add-remove" if d_in counts records that are added or removed (OpenDP's symmetric distance 1),
                    "replace" if it counts records that are changed, or is the sensitivity to replacing one.

        Raises InvalidInputError for an object without delta(epsilon), and for a profile that rises.
        """
        delta = getattr(profile, "delta", None)
        if not callable(delta):
            raise InvalidInputError(
                f"expected a profile of OpenDP, which has delta(epsilon), not {brief(profile)}; "
                "make_zCDP_to_approxDP(measurement).map(d_in) returns one"
            )
        return cls(delta, neighbours=neighbours, name=name or "a measurement of OpenDP")

    @property
    def description(self) -> str:
        return f"the privacy profile of {self.name}" if self.name != "a privacy profile" else self.name

    def delta_at(self, tau: float) -> float:
        if self.neighbours == "replace":
            return self._stated(tau)
        return min(1.0, up((1 + math.exp(tau / 2)) * self._stated(down(tau / 2)), _ULPS)) if tau < 1000 else 1.0

    def _stated(self, tau: float) -> float:
        """Return δ at τ by the function; InvalidInputError if it is not a probability."""
        try:
            stated: Any = self.function(tau)
        except Exception as error:
            raise InvalidInputError(
                f"the profile cannot be evaluated at tau = {tau:g}: it raised {type(error).__name__}"
            ) from error
        delta = validation.number(f"delta of the profile at tau = {tau:g}", stated)
        if not 0 <= delta <= 1:
            raise InvalidInputError(f"delta of the profile at tau = {tau:g} must lie in [0, 1], not {delta:g}")
        return delta


@dataclass(frozen=True)
class _Shifted(Loss):
    """A profile and (τ, δ)-DP releases together: their τ's and δ's add up (basic composition)."""

    profile: PrivacyProfile
    tau: float
    delta: float

    kind: ClassVar[str] = PrivacyProfile.kind

    @property
    def description(self) -> str:
        beside = f"tau = {shown_below(self.tau)}"
        beside = beside if self.delta == 0 else f"{beside}, delta = {shown_above(self.delta)}"
        return f"{self.profile.description} and {beside}"

    def delta_at(self, tau: float) -> float:
        rest = down(tau - self.tau)
        return min(1.0, up(self.profile.delta_at(rest) + self.delta)) if rest > 0 else 1.0


def checked_neighbours(neighbours: object) -> Neighbours:
    """Return the kind of neighbouring data sets; raise InvalidInputError for an unknown one."""
    if neighbours == "replace":
        return "replace"
    if neighbours == "add-remove":
        return "add-remove"
    raise InvalidInputError(
        name_of("neighbours")
        + f' must be "replace" or "add-remove", not {brief(neighbours)}; most libraries add or remove a record'
    )


def assumed_replacing(call: str) -> None:
    """Warn that a τ of a release made elsewhere is taken to be for replacing a record."""
    warnings.warn(
        f'{call} without neighbours= is for neighbours="replace"; say so, or "add-remove", as in most libraries: it '
        "will be required",
        DeprecationWarning,
        stacklevel=3,
    )


def under_replacement(loss: Loss, neighbours: Neighbours) -> Loss:
    """Return the loss for replacing a record, given the loss for some kind of neighbours.

    To replace a record is to remove one and to add one: τ becomes 2τ, (τ, δ) becomes (2τ, (1 + e^τ)·δ), ρ becomes 4ρ.
    A `PrivacyProfile` has its own kind of neighbours.

    >>> under_replacement(ApproximateLoss(1.0, 1e-6), "add-remove").description
    'tau = 2, delta = 3.71829e-06'
    """
    if checked_neighbours(neighbours) == "replace":
        return loss
    if type(loss) is PureLoss:
        return PureLoss(2 * loss.tau)
    if type(loss) is ApproximateLoss:
        delta = math.inf if loss.tau > 700 else up((1 + math.exp(loss.tau)) * loss.delta, _ULPS)
        if delta >= 1:
            raise InvalidInputError(
                f"{loss.description} for adding or removing a record guarantees nothing for replacing one: its delta "
                "is (1 + e^tau) times as large, which is 1 or more"
            )
        return ApproximateLoss(2 * loss.tau, delta)
    if type(loss) is ConcentratedLoss and loss.delta == 0:
        return ConcentratedLoss(4 * loss.rho)
    raise InvalidInputError(f"no conversion from adding or removing records to replacing one is proven for {loss.kind}")


def composed(losses: Sequence[Loss]) -> Loss:
    """Return the joint loss of several releases, each of which may depend on the answers to earlier ones.

    Values of τ, of (τ, δ) and of ρ add up; beside a ρ, τ counts as ρ = τ²/2 and δ is kept. InvalidInputError if
    no joint loss is known for these kinds: two profiles, or a profile and a ρ.

    >>> composed([PureLoss(0.5), ConcentratedLoss(0.01)])
    ConcentratedLoss(rho=0.135, delta=0.0)
    """
    for loss in losses:
        if type(loss) not in (PureLoss, ApproximateLoss, ConcentratedLoss, PrivacyProfile):
            raise InvalidInputError(f"nothing is proven here about a release that costs {loss.kind}")
    if len(losses) == 1:
        return losses[0]
    profiles = [loss for loss in losses if isinstance(loss, PrivacyProfile)]
    if not profiles and any(isinstance(loss, ConcentratedLoss) for loss in losses):
        together = concentrated(losses)
        assert together is not None
        return together
    if len(profiles) > 1 or (profiles and any(isinstance(loss, ConcentratedLoss) for loss in losses)):
        raise InvalidInputError(
            "nothing is proven here about a privacy profile together with another or with a rho; give the rho of each "
            "release, or one (tau, delta) of the profile"
        )
    tau = float_above(exact_sum(loss.tau for loss in losses if isinstance(loss, PureLoss | ApproximateLoss)))
    delta = _delta_of(losses)
    if profiles:
        return _Shifted(profiles[0], tau, delta)
    return PureLoss(tau) if delta == 0 else ApproximateLoss(tau, delta)


def concentrated(losses: Sequence[Loss]) -> ConcentratedLoss | None:
    """Return the joint loss of several releases as one ρ, with the δ's of those that have one; None with a profile.

    A τ-DP release is τ²/2-zCDP, and a (τ, δ)-DP release is δ-approximately so (Bun and Steinke 2016).

    >>> concentrated([PureLoss(0.1)] * 100)
    ConcentratedLoss(rho=0.5000000000000001, delta=0.0)
    """
    total = Fraction(0)
    for loss in losses:
        if type(loss) is ConcentratedLoss:
            total += Fraction(loss.rho)
        elif type(loss) is PureLoss or type(loss) is ApproximateLoss:
            total += Fraction(loss.tau) ** 2 / 2
        else:
            return None
    return ConcentratedLoss(float_above(total), _delta_of(losses))


def _delta_of(losses: Sequence[Loss]) -> float:
    """Return the sum of the δ's, rounded up; InvalidInputError if it is 1 or more."""
    deltas = [loss.delta for loss in losses if isinstance(loss, ApproximateLoss | ConcentratedLoss)]
    delta = float_above(exact_sum(deltas))
    if delta >= 1:
        raise InvalidInputError(f"these releases promise nothing together: their deltas add up to {shown_above(delta)}")
    return delta
