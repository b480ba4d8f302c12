"""The properties that every theorem must have, as test classes to inherit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bayesdp.audit.any_event import worst_event
from bayesdp.audit.side_information import Attack, climb, knowing, worst_output
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.calibration.search import LARGEST_TAU
from bayesdp.errors import DoesNotApplyError
from bayesdp.models import Model
from bayesdp.queries import AnyMechanism, Query
from bayesdp.testing.cases import Case
from bayesdp.testing.laws import Law, side_information
from bayesdp.theorems.attackers import SIDE_INFORMATION
from bayesdp.theorems.lift import lifted_delta
from bayesdp.theorems.spend import Release
from bayesdp.theorems.theorem import Theorem

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ApproximateContract", "SideInformationContract", "TheoremContract"]

ROUNDING = 1e-9
"""The relative rounding error of the oracle, which computes in floating point."""

_inherited = settings(
    suppress_health_check=[
        HealthCheck.differing_executors,
        HealthCheck.filter_too_much,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ]
)
"""Every subclass runs the same test functions, and drawing and discarding models takes time."""

_few = settings(_inherited, max_examples=max(settings().max_examples // 2, 20))
"""The number of slow examples; with fewer than twenty, a false theorem might pass."""

_TAUS = st.floats(0.01, 6, allow_nan=False)
_MODERATE = st.floats(0.01, 3, allow_nan=False)
_EPSILONS = st.floats(0.05, 12, allow_nan=False)

_LIFTED_TAUS = st.sampled_from([0.01, 0.05, 0.2, 0.5, 1.0, 2.0])
_DELTAS = st.sampled_from([1e-4, 1e-3, 1e-2, 0.1])
"""The δ's of the tests. A false lift shows only where δ is small compared with τ."""

_SOLVED = 1e-8
"""The tolerance of the solver."""


class TheoremContract:
    """Inherit from this class and set three attributes; pytest then checks the theorem against the exhaustive oracle.

    theorem: the theorem under test.
    cases:   a strategy of random cases (see bayesdp.testing.cases); cases that the theorem refuses are skipped.
    refused: pairs of a model and a query that the theorem must refuse.
    """

    theorem: ClassVar[Theorem]
    cases: ClassVar[st.SearchStrategy[Case]]
    refused: ClassVar[Sequence[tuple[Model, Query]]]

    def _covered(self, case: Case, releases: int = 1) -> None:
        assume(self.theorem.refusal(case.model, (case.query,) * releases) is None)

    @_inherited
    @given(data=st.data(), tau=_TAUS)
    def test_never_below_the_oracle(self, data: st.DataObject, tau: float) -> None:
        case = data.draw(self.cases)
        self._covered(case)
        proven = self.theorem.epsilon(case.model, (Release(case.query, tau),))
        assert case.measure([tau]) <= proven * (1 + ROUNDING) + ROUNDING

    @_inherited
    @given(data=st.data(), taus=st.tuples(_TAUS, _TAUS))
    def test_covers_several_releases_together(self, data: st.DataObject, taus: tuple[float, float]) -> None:
        case = data.draw(self.cases)
        if not self.theorem.composes:
            assert self.theorem.refusal(case.model, (case.query, case.query)) is not None
            return
        self._covered(case, releases=2)
        proven = self.theorem.epsilon(case.model, tuple(Release(case.query, tau) for tau in taus))
        assert case.measure(taus) <= proven * (1 + ROUNDING) + ROUNDING

    @_inherited
    @given(data=st.data(), epsilon=_EPSILONS)
    def test_what_is_calibrated_keeps_its_promise(self, data: st.DataObject, epsilon: float) -> None:
        case = data.draw(self.cases)
        self._covered(case)
        (tau,) = largest_taus(self.theorem, case.model, case.query, [epsilon])
        assume(tau is not None)
        assert tau is not None
        assert self.theorem.epsilon(case.model, (Release(case.query, tau),)) <= epsilon
        assert case.measure([tau]) <= epsilon * (1 + ROUNDING) + ROUNDING

    @_inherited
    @given(data=st.data(), epsilon=_EPSILONS)
    def test_calibration_wastes_nothing(self, data: st.DataObject, epsilon: float) -> None:
        case = data.draw(self.cases)
        self._covered(case)
        (tau,) = largest_taus(self.theorem, case.model, case.query, [epsilon])
        slightly_more = (tau or 1e-9) * (1 + max(1e-9, 4 * self.theorem.tolerance_for(case.model)))
        if tau is None or tau < LARGEST_TAU:
            assert self.theorem.epsilon(case.model, (Release(case.query, slightly_more),)) > epsilon

    @_inherited
    @given(data=st.data(), taus=st.tuples(_TAUS, _TAUS))
    def test_more_tau_never_leaks_less(self, data: st.DataObject, taus: tuple[float, float]) -> None:
        case = data.draw(self.cases)
        self._covered(case)
        less, more = (self.theorem.epsilon(case.model, (Release(case.query, tau),)) for tau in sorted(taus))
        assert less <= more

    @_inherited
    @given(data=st.data())
    def test_says_what_it_covers(self, data: st.DataObject) -> None:
        case = data.draw(self.cases)
        self._covered(case)
        assert self.theorem.scope(case.model, (case.query,)).strip()

    def test_has_a_name_and_a_proof(self) -> None:
        assert self.theorem.name.strip()
        assert self.theorem.proof.strip()

    def test_refuses_what_its_hypotheses_exclude(self) -> None:
        assert self.refused, "name at least one model and query that the theorem must refuse"
        for model, query in self.refused:
            reason = self.theorem.refusal(model, (query,))
            assert reason, f"{self.theorem.name} must have a reason not to cover {query!r} under {model!r}"
            with pytest.raises(DoesNotApplyError):
                self.theorem.epsilon(model, (Release(query, 1.0),))


class SideInformationContract:
    """Inherit from this class and set two attributes; pytest then attacks the theorem with side information.

    theorem: the theorem under test.
    laws:    a strategy of joint laws, each with the model under test (see bayesdp.testing.laws); laws that the theorem
             refuses are skipped.

    For each law, a target (one `unit` of consecutive records), and likelihoods of every value of every vertex, a linear
    program finds the τ-DP mechanism that leaks most. It must not leak more than the theorem proves. The adversaries of
    Bayesian differential privacy know a record exactly or not at all. A theorem that covers only them passes the first
    test and may fail the others; state this in its scope.
    """

    theorem: ClassVar[Theorem]
    laws: ClassVar[st.SearchStrategy[Law]]

    def _proven(self, law: Law, tau: float) -> float:
        assume(self.theorem.refusal(law.model, (law.query,)) is None)
        return self.theorem.epsilon(law.model, (Release(law.query, tau),))

    def _at_most(self, proven: float, attack: Attack) -> None:
        assert attack.epsilon <= proven * (1 + ROUNDING) + ROUNDING, f"{self.theorem.name} proves {proven}; {attack}"

    @_inherited
    @given(data=st.data(), tau=_MODERATE)
    def test_never_below_someone_who_knows_records_exactly(self, data: st.DataObject, tau: float) -> None:
        law = data.draw(self.laws)
        proven = self._proven(law, tau)
        target = data.draw(st.sampled_from(law.targets))
        known = {
            record: data.draw(st.integers(0, law.joint.shape[record] - 1))
            for record in law.records
            if record not in target and data.draw(st.booleans())
        }
        evidence = knowing(law.joint.shape, known)
        self._at_most(proven, worst_output(law.joint, tau, target=target, evidence=evidence, hidden=law.hidden))

    @_inherited
    @given(data=st.data(), tau=_MODERATE)
    def test_never_below_someone_with_side_information(self, data: st.DataObject, tau: float) -> None:
        law = data.draw(self.laws)
        proven = self._proven(law, tau)
        target = data.draw(st.sampled_from(law.targets))
        evidence = data.draw(side_information(law.joint.shape))
        self._at_most(proven, worst_output(law.joint, tau, target=target, evidence=evidence, hidden=law.hidden))

    @_few
    @given(data=st.data(), tau=_MODERATE, seed=st.integers(0, 2**32 - 1))
    def test_never_below_the_worst_side_information_found(self, data: st.DataObject, tau: float, seed: int) -> None:
        law = data.draw(self.laws)
        proven = self._proven(law, tau)
        target = data.draw(st.sampled_from(law.targets))
        self._at_most(proven, climb(law.joint, tau, target=target, hidden=law.hidden, restarts=1, seed=seed))


class ApproximateContract:
    """Inherit from this class and set two attributes; pytest then attacks the lift of the theorem to (ε, δ).

    theorem: the theorem under test, with `covers_every_mechanism`.
    laws:    a strategy of joint laws, each with the model under test (see bayesdp.testing.laws); laws that the theorem
             refuses are skipped.
    lift:    from δ, ε and τ to the δ of the guarantee; the library's own by default.

    For each law, target and side information, a linear program over *all* (τ, δ)-DP mechanisms finds the event that
    reveals most. It must not exceed the lifted (ε, δ).
    """

    theorem: ClassVar[Theorem]
    laws: ClassVar[st.SearchStrategy[Law]]
    lift: ClassVar[Callable[[float, float, float], float]] = staticmethod(lifted_delta)

    def test_it_declares_that_it_covers_every_mechanism(self) -> None:
        assert self.theorem.covers_every_mechanism

    @_inherited
    @given(data=st.data(), tau=_LIFTED_TAUS, delta=_DELTAS)
    def test_never_below_any_event(self, data: st.DataObject, tau: float, delta: float) -> None:
        law = data.draw(self.laws)
        assume(self.theorem.refusal(law.model, (AnyMechanism(),)) is None)
        assume(self.theorem.larger_units or not law.model.protects_several)
        target = data.draw(st.sampled_from(law.targets))
        known = {
            record: data.draw(st.integers(0, law.joint.shape[record] - 1))
            for record in law.records
            if record not in target and data.draw(st.booleans())
        }
        evidence = knowing(law.joint.shape, known)
        if self.theorem.against == SIDE_INFORMATION and data.draw(st.booleans()):
            evidence = tuple(data.draw(side_information(law.joint.shape)))
        self._attack(law, tau, delta, target, evidence)

    @_inherited
    @given(data=st.data(), tau=_LIFTED_TAUS, delta=_DELTAS)
    def test_never_below_any_event_if_nothing_is_known(self, data: st.DataObject, tau: float, delta: float) -> None:
        law = data.draw(self.laws)
        assume(self.theorem.refusal(law.model, (AnyMechanism(),)) is None)
        assume(self.theorem.larger_units or not law.model.protects_several)
        for target in law.targets:
            self._attack(law, tau, delta, target, None)

    def _attack(
        self, law: Law, tau: float, delta: float, target: tuple[int, ...], evidence: Sequence[NDArray[Any]] | None
    ) -> None:
        epsilon = self.theorem.epsilon(law.model, (Release(AnyMechanism(), tau),))
        promised = type(self).lift(delta, epsilon, tau)
        if promised < 1:
            reported = worst_event(law.joint, tau, delta, epsilon, target=target, evidence=evidence, hidden=law.hidden)
            assert reported <= promised * (1 + _SOLVED) + _SOLVED * math.exp(epsilon), f"{reported} > {promised}"
