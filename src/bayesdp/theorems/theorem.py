"""The interface of a theorem: when it applies, and what ε it proves for a spend.

A theorem is a class with a `name`, the path of its `proof`, `refusal` (its hypotheses) and `bound` (its ε).
`bayesdp.register(MyTheorem())` registers it, and `bayesdp.testing.TheoremContract` checks it against the exhaustive
oracle. docs/extending.md has an example.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from bayesdp.errors import DoesNotApplyError, TheoremError
from bayesdp.losses import Loss, PureLoss
from bayesdp.theorems.attackers import EXACT_KNOWLEDGE
from bayesdp.theorems.spend import losses_of, queries_of

if TYPE_CHECKING:
    from bayesdp.models import Model
    from bayesdp.queries import Query
    from bayesdp.theorems.adversary import Adversary, WorstInChain, WorstInGroup
    from bayesdp.theorems.spend import Spend

__all__ = ["Theorem"]

_AT_ONCE = "it bounds all adversaries at once"
_ONE_RECORD = "one adversary asks about one record, but the model protects several at once"


class Theorem(ABC):
    """A proven conversion from losses, such as ordinary τ's, to Bayesian ε.

    name:       what people type and read.
    proof:      where the proof is, as a path in the repository.
    composes:   whether it covers several releases together, by their τ's and clipping widths alone: a ledger adds up
                the τ's of releases of the same width. One that does not must refuse several.
    tolerance:  how closely calibration approaches the largest τ, relative to it; raise it if `bound` is expensive.
    vectorised: whether `bounds` computes several spends hardly slower than one.
    against:    the attacker it protects against, in words; by default one who knows records exactly or not at all.
    larger_units: whether it covers a model that protects several records at once (`unit=`); others are not evaluated.
    losses:     the kinds of losses it covers; it is not evaluated for any other. A subclass of a kind is
                another kind.
    covers_every_mechanism: whether `bound` of one AnyMechanism and a τ holds for every τ-DP mechanism whatsoever.
                Such a theorem lifts to (ε, δ), for losses of every kind (`bayesdp.theorems.lift`). One about a certain
                noise, or certain queries only, must leave this False.

    Implement `refusal` and `bound`, and call `epsilon`, which checks `refusal` before it uses `bound`.
    """

    name: ClassVar[str]
    proof: ClassVar[str]
    composes: ClassVar[bool] = True
    tolerance: ClassVar[float] = 1e-12
    vectorised: ClassVar[bool] = False
    against: ClassVar[str] = EXACT_KNOWLEDGE
    larger_units: ClassVar[bool] = False
    losses: ClassVar[tuple[type[Loss], ...]] = (PureLoss,)
    covers_every_mechanism: ClassVar[bool] = False

    @abstractmethod
    def refusal(self, model: Model, queries: tuple[Query, ...]) -> str | None:
        """Return why the theorem does not cover `queries` on data that follow `model`, or None if it does."""

    def refusal_of(self, model: Model, spend: Spend) -> str | None:
        """Return why the theorem does not cover `spend`, or None if it does; by default its `refusal`.

        Override it if the kinds of the losses matter. It is called only with kinds in `losses`, and must not depend on
        the size of a loss.
        """
        return self.refusal(model, queries_of(spend))

    def objection(self, model: Model, spend: Spend) -> str | None:
        """Return why the theorem cannot be used for `spend`: another kind of loss, its refusal, or a larger unit."""
        reason = self._uncovered(spend) or self.refusal_of(model, spend)
        if reason is None and not self.larger_units and model.protects_several:
            return f"it protects one record only, not {model.protects.partition(',')[0]}"
        return reason

    def _uncovered(self, spend: Spend) -> str | None:
        """Return the reason if the theorem does not cover a kind of loss in `spend`, else None."""
        unknown = [kind for kind in dict.fromkeys(losses_of(spend)) if kind not in self.losses]
        if not unknown:
            return None
        covered = " and ".join(kind.kind for kind in self.losses)
        return f"it covers {covered} only, not {', '.join(getattr(kind, 'kind', kind.__name__) for kind in unknown)}"

    @abstractmethod
    def bound(self, model: Model, spend: Spend) -> float:
        """Return an upper bound on the leakage of the whole `spend`, rounded up, where `refusal` is None.

        It must never fall as a τ of the spend rises, and accept any positive finite τ.
        """

    def bounds(self, model: Model, spends: Sequence[Spend]) -> Sequence[float]:
        """Return `bound` for each of several spends on the same queries; override it to compute them at once."""
        return [self.bound(model, spend) for spend in spends]

    def bounds_under(self, models: Sequence[Model], spend: Spend) -> Sequence[float]:
        """Return `bound` for one spend under each of several models; override it to compute them at once."""
        return [self.bound(model, spend) for model in models]

    def closed_form(self, model: Model, query: Query, epsilon: float, spent: Spend) -> float | None:
        """Return the largest τ for `query` after `spent` from a formula, or None if there is none.

        Calibration checks the result against `bound`, so it need not be rounded down.
        """
        return None

    def tolerance_for(self, model: Model) -> float:
        """Return how far, relatively, calibration may stay below the largest τ under this model."""
        return self.tolerance

    def starts(self, model: Model, query: Query, epsilon: float, spent: Spend) -> Sequence[float]:
        """Return values of τ for `query`, in addition to `spent`, from which a search for the largest τ starts.

        For a theorem without a formula.
        """
        return ()

    def refusal_for(self, model: Model, queries: tuple[Query, ...], adversary: Adversary) -> str | None:
        """Return why `bound_for` does not cover `queries` and one adversary, or None if it does."""
        return self.refusal(model, queries) or _AT_ONCE

    def bound_for(self, model: Model, spend: Spend, adversary: Adversary) -> float:
        """Return an upper bound on the leakage of `spend` to one adversary, rounded up and at most `bound`.

        Raises DoesNotApplyError if the theorem bounds all adversaries at once only.
        """
        raise DoesNotApplyError(self.name, _AT_ONCE)

    def quick(self, epsilon: float) -> Theorem:
        """Return a faster version of this theorem, if any, whose ε is larger by at most a thousandth.

        It is used for hundreds of models at once, and must be valid like the theorem itself.
        """
        return self

    def scope(self, model: Model, queries: tuple[Query, ...]) -> str:
        """Return the target values, mechanisms and attackers that a guarantee about `queries` covers, in words."""
        return f"every pair of target values, any mechanism with that tau, {self.against}"

    def concentrated(self, model: Model, spend: Spend) -> float | None:
        """Return a ρ for the answers of `spend`, rounded up, or None if the theorem knows none.

        Given two values of a target, and whatever an adversary knows, the Rényi divergence of order α between the laws
        of all answers must be at most α·ρ. It is called where `refusal` is None, with losses that are a τ or a ρ. The
        noise of queries that have a `width` is then Laplace or Gaussian noise of the loss given.
        """
        return None

    def approximate_scope(self, model: Model, queries: tuple[Query, ...]) -> str:
        """Return what a guarantee in (ε, δ) covers, in the words of `scope`."""
        return f"every pair of target values, any mechanism with that loss, {self.against}"

    def worst_case(self, model: Model, spend: Spend) -> str | None:
        """Return the case in which the bound on `spend` is reached, in words; None if it is unknown."""
        return None

    def worst_adversary(self, model: Model, spend: Spend) -> WorstInChain | WorstInGroup | None:
        """Return the adversary that `worst_case` describes for `spend`, as data; None if it is unknown."""
        return None

    def epsilon(self, model: Model, spend: Spend) -> float:
        """Return the proven ε of `spend`.

        Raises DoesNotApplyError with the reason if the hypotheses do not hold, and TheoremError if `bound` returns a
        value that is not a leakage.
        """
        return self.epsilons(model, [spend])[0]

    def epsilons(self, model: Model, spends: Sequence[Spend]) -> list[float]:
        """Return the proven ε of each of several spends on the same queries; raises as `epsilon` does."""
        if not spends:
            return []
        reasons = (self.objection(model, spends[0]), *(self._uncovered(spend) for spend in spends[1:]))
        for reason in filter(None, reasons):
            raise DoesNotApplyError(self.name, reason)
        leakages = list(self.bounds(model, spends))
        if len(leakages) != len(spends):
            raise TheoremError(f"{self.name} returned {len(leakages)} leakages for {len(spends)} spends")
        return [self._leakage(value, spend) for spend, value in zip(spends, leakages, strict=True)]

    def epsilons_under(self, models: Sequence[Model], spend: Spend) -> list[float]:
        """Return the proven ε of one spend under each of several models; raises as `epsilon` does."""
        for model in models:
            reason = self.objection(model, spend)
            if reason is not None:
                raise DoesNotApplyError(self.name, reason)
        leakages = list(self.bounds_under(models, spend))
        if len(leakages) != len(models):
            raise TheoremError(f"{self.name} returned {len(leakages)} leakages for {len(models)} models")
        return [self._leakage(value, spend) for value in leakages]

    def epsilon_for(self, model: Model, spend: Spend, adversary: Adversary) -> float:
        """Return the proven ε of `spend` against one adversary; raises as `epsilon` does."""
        reason = _ONE_RECORD if model.protects_several else None
        reason = reason or self._uncovered(spend) or self.refusal_for(model, queries_of(spend), adversary)
        if reason is not None:
            raise DoesNotApplyError(self.name, reason)
        return self._leakage(self.bound_for(model, spend, adversary), spend)

    def _leakage(self, value: float, spend: Spend) -> float:
        if not isinstance(value, int | float) or not (math.isfinite(value) and value >= 0):
            losses = ", ".join(release.loss.description for release in spend)
            raise TheoremError(f"{self.name} returned {value} for {losses}, which is not a leakage")
        return value
