"""Sessions on accounts that promise (ε, δ): what is charged, drawn, stored, said and refused."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import bayesdp as bdp
from bayesdp import Answer, Count, Histogram, Independent, Mean, Median, Session
from bayesdp.cli import run
from bayesdp.errors import (
    BudgetError,
    CalibrationError,
    InvalidInputError,
    LedgerError,
    NoiseError,
    QueryError,
)
from bayesdp.ledger import Ledger
from bayesdp.losses import ApproximateLoss, ConcentratedLoss, PrivacyProfile, PureLoss
from bayesdp.mechanisms import DiscreteGaussianMechanism
from bayesdp.models import ChainLayout, Model
from bayesdp.session.accounting import PureTotal, spend_of
from bayesdp.session.approximate_accounting import ApproximateAccountant
from bayesdp.session.overview import overview

FRAME = polars.DataFrame(
    {
        "t": range(4000),
        "s": np.where(np.random.default_rng(3).random(4000) < 0.3, "on", "off"),
        "x": np.random.default_rng(4).random(4000),
    }
)
CHAIN = bdp.OddsChain(9.0, states=["off", "on"]).located(state="s", order_by="t")
ON, OFF = Count("s", equals="on"), Count("s", equals="off")
DELTA = 1e-6


def opened(folder: Path, model: Model = CHAIN, **reported: Any) -> Session:
    reported = {"epsilon": 2.0, "delta": DELTA, "ledger": folder / "budget.db", **reported}
    return Session(FRAME, model, dataset="switch", **reported)


def charged_rho(place: Path | str) -> Fraction:
    """Return the sum of what every charge says that it cost, without the library's own accounts."""
    with Ledger(place if isinstance(place, str) else place / "budget.db") as ledger:
        return sum((Fraction(entry.content()["loss"]["rho"]) for entry in ledger.entries(kind="charge")), Fraction(0))


def test_gaussian_noise_is_drawn_charged_stored_and_given_again(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        expected = session.preview(ON, share=0.01)
        answer = session.release(ON, share=0.01)
        again = session.release(ON, share=0.005)
    assert (answer.noise_kind, answer.delta, answer.loss) == (
        "gaussian",
        DELTA,
        {"definition": "concentrated", "rho": answer.rho},
    )
    assert answer.rho == pytest.approx(0.01 * ApproximateAccountant(CHAIN, DELTA).limits(2.0).rho)
    assert answer.noise == DiscreteGaussianMechanism(1, answer.rho or 0.0).scale
    assert (again, again.reused, again.further_answers) == (answer, True, None)
    assert (expected.rho, expected.scale, expected.alpha) == (answer.rho, answer.scale, answer.accuracy())
    assert (expected.epsilon, expected.further_answers) == (answer.epsilon, answer.further_answers)
    assert answer.further_answers == 99
    assert isinstance(answer.value, int)
    assert abs(answer.value - int((FRAME["s"] == "on").sum())) <= answer.accuracy(1e-9)
    read = Answer.from_dict(json.loads(answer.to_json()))
    assert (read, read.to_dict()) == (answer, answer.to_dict())
    with pytest.raises(InvalidInputError, match="has no tau"):
        _ = answer.tau
    (tmp_path / "answer.json").write_text(answer.to_json())
    for arguments in (["budget", "verify", "--ledger", str(tmp_path / "budget.db"), "--answer"], ["statement"]):
        assert run([*arguments, str(tmp_path / "answer.json")]) == 0


def test_an_answer_whose_noise_is_said_to_be_another_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        document = session.release(ON, share=0.01).to_dict()
    for change in (
        {"noise_kind": "laplace"},
        {"noise_kind": "uniform"},
        {"delta": 2.0},
        {"delta": None},
        {"rho": -1.0},
    ):
        with pytest.raises(InvalidInputError):
            Answer.from_dict(document | change)


def test_what_delta_means_stands_beside_every_answer(tmp_path: Path) -> None:
    with opened(tmp_path, delta=1e-3) as session:
        answer = session.release(ON, epsilon=0.2, noise="gaussian")
        shown = (str(session), str(overview(tmp_path / "budget.db", None)), answer.guarantee, answer.statement())
    for text in shown:
        assert "δ is not the probability that the promise fails" in text
    for text in (str(answer), answer.statement()):
        assert "ε = 2 with δ = 0.001" in text
        assert "more than one in the 4,000 records" in text
        assert "Gaussian" in answer.statement()
    assert "discrete Gaussian sampler" in answer.statement()
    (account,) = overview(tmp_path / "budget.db", None).datasets
    assert (account["delta"], account["further_answers"]) == (1e-3, answer.further_answers)
    assert account["epsilon_total"] == pytest.approx(answer.epsilon_total, rel=1e-9)


def test_the_noise_that_errs_less_is_the_default(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        assert session.preview(ON, epsilon=0.1).noise_kind == "laplace"  # alone, a count needs no δ
        assert session.preview(ON, share=0.1).noise_kind == "gaussian"
        either = [session.preview(ON, share=0.1, noise=noise).alpha for noise in (None, "laplace", "gaussian")]
        assert either[0] == either[2] < either[1]  # type: ignore[operator]
        cells = Histogram("s", cells=["off", "on"])
        one, two = (session.preview(query, share=0.1).scale for query in (ON, cells))
        assert two == pytest.approx(2**0.5 * (one or 0.0))
        assert session.preview(ON, alpha=50).noise_kind == "laplace"
        first = session.release(ON, epsilon=0.1)
        assert (first.noise_kind, first.loss, first.tau) == ("laplace", None, first.tau)
        assert session.release(ON, epsilon=0.1).reused
        assert not session.release(ON, epsilon=1.0, noise="gaussian").reused
        assert session.release(ON, epsilon=0.9, noise="gaussian").reused


def test_an_accuracy_takes_the_noise_that_costs_less(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        session.release(OFF, share=0.2)
        answer = session.release(ON, alpha=200)
        assert answer.accuracy() <= 200
        assert answer.noise_kind == "gaussian"
        laplace = session.preview(ON, alpha=100, noise="laplace")
        gaussian = session.preview(ON, alpha=100, noise="gaussian")
        assert gaussian.epsilon < laplace.epsilon


def test_selections_cost_a_tau_in_such_an_account(tmp_path: Path) -> None:
    with opened(tmp_path, Independent(), epsilon=3.0) as session:
        median = Median("x", candidates=[0.25, 0.5, 0.75])
        answer = session.release(median, epsilon=0.5)
        assert (answer.loss, answer.noise_kind) == (None, None)
        assert answer.rho == pytest.approx(answer.tau**2 / 2)
        assert session.release(median, epsilon=0.5).reused
        assert Answer.from_dict(answer.to_dict()) == answer
        with pytest.raises(QueryError, match="take no Gaussian noise"):
            session.release(Median("x", candidates=[0.1, 0.9]), epsilon=0.5, noise="gaussian")
        mean = session.release(Mean("x", bounds=(0, 1)), share=0.1)
        assert mean.noise_kind == "gaussian"
        assert abs(mean.value - FRAME["x"].mean()) <= mean.accuracy(1e-9)  # type: ignore[operator]


def test_any_sequence_of_requests_keeps_the_promise(tmp_path: Path) -> None:
    """Random requests sixty of them: the charges, added up by themselves, stay within the limit."""
    choice = random.Random(7)
    with opened(tmp_path) as session:
        limits = ApproximateAccountant(CHAIN, DELTA).limits(2.0)
        session.release(ON, share=0.01)
        for number in range(60):
            sizes = {"share": (0.001, 0.1), "epsilon": (0.001, 0.3), "alpha": (20, 900)}
            name = choice.choice(list(sizes))
            asked = {name: choice.uniform(*sizes[name])}
            noise = choice.choice([None, None, "laplace", "gaussian"])
            query = Count("s", equals="on", where=f"t >= {number}", public_filter=True)
            try:
                before = session.leaked
                answer = session.release(query, noise=noise, **asked)  # type: ignore[arg-type]
                assert before - 1e-9 <= answer.epsilon_total <= 2.0
                if "epsilon" in asked and not answer.reused:
                    assert answer.epsilon <= asked["epsilon"]
            except (BudgetError, CalibrationError):
                continue
            state = session._account.state()
            spent = spend_of(state)
            rhos = [release.loss.rho for release in spent if isinstance(release.loss, PureTotal | ConcentratedLoss)]
            assert len(rhos) == len(spent)
            assert sum(map(Fraction, rhos), Fraction(0)) <= limits.rho
        assert session.leaked <= 2.0
    assert charged_rho(tmp_path) <= limits.rho


def test_releases_made_elsewhere_enter_as_their_rho(tmp_path: Path) -> None:
    with opened(tmp_path, Independent(), delta=1e-3) as session:
        recorded = session.record(loss=ApproximateLoss(0.1, 1e-6), neighbours="add-remove", what="DP-SGD")
        assert recorded.loss == {
            "definition": "concentrated",
            "rho": pytest.approx(0.2**2 / 2),
            "delta": pytest.approx((1 + np.exp(0.1)) * 1e-6),
        }
        assert (recorded.tau, recorded.stated_tau) == (None, None)
        assert recorded.stated == {"definition": "approximate", "tau": 0.1, "delta": 1e-6}
        assert "tau = 0.1, delta = 1e-06" in str(recorded)
        gaussian = session.record(loss=ConcentratedLoss(0.001), neighbours="add-remove", what="a Gaussian count")
        assert gaussian.loss == {"definition": "concentrated", "rho": 0.004}
        pure = session.record(loss=PureLoss(0.1), neighbours="replace", what="a Laplace count")
        assert (pure.tau, pure.stated, pure.loss) == (0.1, None, None)
        assert session.history[:3] == (recorded, gaussian, pure)
        assert str(session.history)
    assert charged_rho(tmp_path) == Fraction(recorded.loss["rho"]) + Fraction(0.004) + Fraction(0.005000000000000001)
    assert str(overview(tmp_path / "budget.db", None))


def test_too_large_a_recorded_delta_is_refused_unless_published(tmp_path: Path) -> None:
    with opened(tmp_path, Independent()) as session:
        loss = ApproximateLoss(0.1, 1e-5)
        with pytest.raises(BudgetError):
            session.record(loss=loss, neighbours="replace", what="a model")
        assert session.leaked == 0.0
        broken = session.record(loss=loss, neighbours="replace", what="a model", published=True)
        assert broken.epsilon_remaining == 0.0
        assert str(broken)
        for asked in ({"share": 1e-3}, {"epsilon": 1e-3}, {"alpha": 1000}):
            with pytest.raises(BudgetError):
                session.release(ON, **asked)
    assert str(overview(tmp_path / "budget.db", None))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"loss": ApproximateLoss(0.1, 1e-9)}, "needs neighbours="),
        ({"loss": PureLoss(0.1)}, "needs neighbours="),
        ({"loss": ConcentratedLoss(0.1), "tau": 0.1, "neighbours": "replace"}, "give either tau= or loss="),
        ({"neighbours": "replace"}, "give either tau= or loss="),
        ({"loss": ConcentratedLoss(0.0), "neighbours": "replace"}, "rho must be"),
        ({"loss": 0.1, "neighbours": "replace"}, "loss must be a PureLoss"),
        ({"loss": PrivacyProfile(lambda tau: 0.0, neighbours="replace"), "neighbours": "replace"}, "loss must be"),
        ({"loss": ApproximateLoss(9.0, 0.1), "neighbours": "add-remove"}, "guarantees nothing"),
        ({"loss": ConcentratedLoss(0.1, 1e-9), "neighbours": "add-remove"}, "no conversion"),
    ],
)
def test_losses_that_cannot_be_recorded_are_refused(tmp_path: Path, asked: dict[str, Any], message: str) -> None:
    with opened(tmp_path) as session:
        with pytest.raises(InvalidInputError, match=message):
            session.record(what="something", **asked)
        assert session.history == ()


def test_a_tau_alone_is_for_replacing_with_a_warning(tmp_path: Path) -> None:
    with opened(tmp_path) as session, pytest.warns(DeprecationWarning, match="add-remove"):
        assert session.record(tau=0.1, what="a count").neighbours == "replace"


def test_a_pure_account_takes_no_delta(tmp_path: Path) -> None:
    with opened(tmp_path, delta=None) as session:
        assert session.delta is None
        for loss in (ApproximateLoss(0.1, 1e-9), ConcentratedLoss(0.1)):
            with pytest.raises(InvalidInputError, match="promises epsilon alone"):
                session.record(loss=loss, neighbours="replace", what="something")
        for asked in ({"share": 0.1}, {"epsilon": 0.1, "noise": "gaussian"}):
            with pytest.raises(InvalidInputError, match="promises epsilon alone"):
                session.release(ON, **asked)
        answer = session.release(ON, epsilon=0.5, noise="laplace")
        assert not {"delta", "rho", "noise_kind", "epsilon_promised", "further_answers"} & set(answer.to_dict())
        assert not {"delta", "rho", "noise_kind"} & set(session.preview(OFF, epsilon=0.5).to_dict())
    with pytest.raises(LedgerError, match="opened with no delta"):
        opened(tmp_path)
    with Ledger(tmp_path / "budget.db") as ledger:
        assert len(ledger.entries(kind="charge")) == 1


def test_laplace_noise_that_takes_the_limit_says_so(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        small, large = (session.preview(ON, epsilon=epsilon) for epsilon in (0.1, 1.5))
        gaussian = session.preview(ON, share=0.9)
        assert (small.limit_share or 1.0) < 0.5 < 1.0 < (large.limit_share or 0.0)
        assert gaussian.limit_share == pytest.approx(0.9)
        said = "This Laplace noise takes the whole limit of the account"
        assert [any(said in warning for warning in one.warnings) for one in (small, large, gaussian)] == [0, 1, 0]
        answer = session.release(ON, epsilon=1.5)
        assert any(said in note for note in answer.notes)
        assert Answer.from_dict(answer.to_dict()) == answer


def test_shares_are_refused_once_pure_releases_passed_the_limit(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        session.release(ON, epsilon=1.5)
        for asked in ({"share": 0.001}, {"epsilon": 0.1, "noise": "gaussian"}):
            with pytest.raises(CalibrationError, match="passed the limit"):
                session.release(OFF, **asked)
        assert session.release(OFF, epsilon=session.remaining).noise_kind == "laplace"
        assert session.leaked <= 2.0


def test_delta_is_fixed_for_the_life_of_an_account(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        session.release(ON, share=0.01)
    with opened(tmp_path, delta=None, epsilon=None) as session:
        assert session.delta == DELTA
        assert session.release(OFF, share=0.01).delta == DELTA
    with pytest.raises(LedgerError, match="opened with delta = 1e-06, not with delta = 1e-05"):
        opened(tmp_path, delta=1e-5)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-6, 2.0, float("nan"), float("inf"), "1e-6", True])
def test_what_is_no_delta_is_refused_in_one_line(tmp_path: Path, delta: Any) -> None:
    with pytest.raises(InvalidInputError, match="delta") as refused:
        opened(tmp_path, delta=delta)
    assert "\n" not in str(refused.value)
    with Ledger(tmp_path / "budget.db") as ledger:
        assert ledger.datasets() == ()


@pytest.mark.parametrize(
    "asked",
    [
        {"share": 0.0},
        {"share": 1.5},
        {"share": float("nan")},
        {"share": 0.1, "epsilon": 0.1},
        {"share": 0.1, "alpha": 9.0},
        {"share": 0.1, "noise": "cauchy"},
        {"noise": "gaussian"},
    ],
)
def test_requests_that_make_no_sense_charge_nothing(tmp_path: Path, asked: dict[str, Any]) -> None:
    with opened(tmp_path) as session:
        with pytest.raises(InvalidInputError):
            session.release(ON, **asked)
        assert session.leaked == 0.0


def test_a_credibility_has_no_delta(tmp_path: Path) -> None:
    fitted = bdp.MarkovChain.fit(FRAME, state="s", order_by="t")
    with pytest.raises(InvalidInputError, match="Leave one of the two out"):
        opened(tmp_path, fitted, credibility=0.9)


@pytest.mark.usefixtures("seeded_noise")
def test_a_private_fit_never_raises_the_limit(tmp_path: Path) -> None:
    ceiling = bdp.OddsChain(50.0, states=["off", "on"]).located(state="s", order_by="t")
    with opened(tmp_path, ceiling, epsilon=5.0) as session:
        first = session.preview(ON, share=0.01).rho
        assumed = session.model
        fit = session.fit(tau=0.1)
        assert fit.bound < 50.0
        assert session.model == assumed
        assert session.preview(ON, share=0.01).rho == first
        assert fit.epsilon_total == session.leaked
        assert "used" in str(fit)
        assert session.fit(tau=0.1).reused
        answer = session.release(ON, share=0.01)
    with opened(tmp_path, fit.model, epsilon=None, delta=None) as session:
        assert session.preview(OFF, share=0.01).rho == first
        assert session.release(ON, share=0.01) == answer


def test_randomized_columns_cost_a_tau(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        column = session.randomize(epsilon=0.3)
        assert column.epsilon_total == session.leaked <= 0.3
        assert "δ = 1e-06" in str(column)
    assert charged_rho(tmp_path) >= Fraction(column.tau) ** 2 / 2


def test_parts_have_the_limit_each(tmp_path: Path) -> None:
    frame = polars.DataFrame(
        {
            "home": [number // 50 for number in range(400)],
            "district": ["NS"[number // 50 % 2] for number in range(400)],
            "t": [number % 50 for number in range(400)],
            "on": [number % 3 == 0 for number in range(400)],
        }
    )
    chain = bdp.OddsChain(9.0, column="on", layout=ChainLayout("t", "home", 1), states=[False, True])
    by = Count("on", equals=True, by="district", by_cells=["N", "S"])
    with Session(
        frame, chain, dataset="homes", epsilon=1.0, delta=1e-5, ledger=tmp_path / "b.db", public=["district"]
    ) as session:
        answers = session.release_by(by, share=0.5)
        assert "δ is not the probability" in str(answers)
        assert {answer.rho for answer in answers} == {session.preview(Count("on", equals=True), share=0.5).rho}
        session.release(Count("on", equals=True), share=0.5)
        with pytest.raises(BudgetError):
            session.release_by(Count("on", equals=False, by="district", by_cells=["N", "S"]), share=0.01)
        assert session.leaked <= 1.0


def test_growing_tables_go_on_in_the_same_account(tmp_path: Path) -> None:
    terms: dict[str, Any] = {"dataset": "switch", "ledger": tmp_path / "b.db", "growing": True}
    with Session(FRAME.head(2000), CHAIN, epsilon=1.0, delta=DELTA, **terms) as session:
        first = session.release(ON, share=0.5)
    with Session(FRAME, CHAIN, **terms) as session:
        second = session.release(ON, share=0.5)
        assert (second.reused, second.rho) == (False, first.rho)
        with pytest.raises(BudgetError):
            session.release(OFF, share=0.01)


def test_lowering_and_raising_the_budget_moves_the_limit(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        session.release(ON, share=0.5)
        used = session.leaked
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.lower("switch", used / 2)
    with opened(tmp_path, epsilon=None) as session:
        assert session.remaining == 0.0
        with pytest.raises(BudgetError):
            session.release(OFF, epsilon=0.01)
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.raise_budget("switch", 2.0, reason="a mistake")
    with opened(tmp_path) as session:
        assert session.release(OFF, share=0.4).epsilon_promised == 2.0


def test_the_limit_of_deltas_made_elsewhere_stays(tmp_path: Path) -> None:
    """A lower budget would have a larger one, which the promise of the higher budget does not allow."""
    with opened(tmp_path) as session:
        session.release(ON, share=0.01)
    limit = ApproximateAccountant(CHAIN, DELTA).limits(2.0).delta
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.lower("switch", 0.5)
    anew = ApproximateAccountant(CHAIN, DELTA).limits(0.5)
    kept = ApproximateAccountant(CHAIN, DELTA, reserved=limit).limits(0.5)
    assert kept.delta == limit < 0.9 * anew.delta
    assert kept.rho > anew.rho
    with opened(tmp_path, epsilon=None) as session:
        with pytest.raises(BudgetError):
            session.record(loss=ApproximateLoss(1e-4, 1.01 * limit), neighbours="replace", what="a model")
        session.record(loss=ApproximateLoss(1e-4, 0.99 * limit), neighbours="replace", what="a model")


def test_a_budget_lowered_to_almost_nothing_allows_no_release(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        session.release(ON, share=0.1)
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.lower("switch", 1e-300)
    assert str(overview(tmp_path / "budget.db", None))
    with opened(tmp_path, epsilon=None) as session:
        assert session.remaining == 0.0
        for asked in ({"share": 0.5}, {"epsilon": 1e-9}, {"alpha": 1e4}):
            with pytest.raises((BudgetError, CalibrationError)):
                session.release(OFF, **asked)  # type: ignore[arg-type]


def test_a_promise_that_no_release_can_keep_opens_no_account(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match="no theorem that holds for every mechanism"):
        opened(tmp_path, epsilon=1e-300, delta=1e-300)
    with Ledger(tmp_path / "budget.db") as ledger:
        assert ledger.datasets() == ()


def test_a_lost_gaussian_charge_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bayesdp.session import retries

    monkeypatch.setattr(retries, "PATIENCE", 0.0)

    def fails(*_: object) -> None:
        raise NoiseError("the generator is gone")

    with opened(tmp_path) as session:
        with monkeypatch.context() as broken:
            broken.setattr(DiscreteGaussianMechanism, "release", fails)
            with pytest.raises(NoiseError):
                session.release(ON, share=0.01)
        charged = charged_rho(tmp_path)
        answer = session.release(ON, share=0.01)
    assert (answer.noise_kind, Fraction(answer.rho or 0.0)) == ("gaussian", charged)
    assert charged_rho(tmp_path) == charged


PROGRAM = """
import os, signal, sys
sys.path[:0] = {paths!r}
from pathlib import Path
import test_with_delta as told
from bayesdp import Count
from bayesdp.errors import BudgetError
from bayesdp.session import retries

retries.PATIENCE = 0.0
with told.opened(Path("."), ledger={ledger!r}) as session:
    for number in range({number}):
        try:
            query = Count("s", equals="on", where="t >= " + str({worker} * 1000 + number), public_filter=True)
            session.release(query, share={share})
        except BudgetError:
            break
"""


LONG = 1200.0
"""Seconds: longer than anything takes, however slow the machine is."""


def started(ledger: str, worker: int, number: int, share: float) -> subprocess.Popen[bytes]:
    paths = [str(Path(__file__).parent), *sys.path]
    program = PROGRAM.format(paths=paths, ledger=ledger, worker=worker, number=number, share=share)
    return subprocess.Popen([sys.executable, "-c", program], env=dict(os.environ), stderr=subprocess.PIPE)


@pytest.mark.slow
def test_sixteen_processes_at_once_never_overspend(url: str) -> None:
    """They ask for 80 answers of a fortieth of the limit: 40 fit, each charged once (16 × 50: tests/ledger)."""
    workers = [started(url, worker, 5, 1 / 40) for worker in range(16)]
    for worker in workers:
        _, errors = worker.communicate(timeout=LONG)
        assert worker.returncode == 0, errors.decode()
    with Ledger(url) as ledger:
        assert len(ledger.entries(kind="charge")) == len(ledger.entries(kind="answer")) == 40
        assert ledger.verify().ok
    assert charged_rho(url) <= ApproximateAccountant(CHAIN, DELTA).limits(2.0).rho


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        with suppress(LedgerError):
            if holds():
                return
        time.sleep(0.05)
    raise AssertionError("it never came to that")


@pytest.mark.slow
def test_killed_processes_never_overspend(url: str) -> None:
    limit = ApproximateAccountant(CHAIN, DELTA).limits(2.0).rho
    chance = random.Random(11)
    for round_ in range(3):
        before = charged_rho(url) if round_ else Fraction(0)
        workers = [started(url, 4 * round_ + worker, 40, 1 / 60) for worker in range(4)]
        wait_until(lambda before=before: charged_rho(url) > before)  # type: ignore[misc]
        time.sleep(chance.uniform(0.0, 0.5))
        for worker in workers:
            worker.kill()
            _, errors = worker.communicate(timeout=LONG)
            assert worker.returncode in (0, -signal.SIGKILL), errors.decode()
        assert charged_rho(url) <= limit
    with Ledger(url) as ledger:
        assert ledger.verify().ok
        charges = len(ledger.entries(kind="charge"))
    assert 0 < charges <= 60
    with opened(Path(), ledger=url) as session:
        assert session.leaked <= 2.0
