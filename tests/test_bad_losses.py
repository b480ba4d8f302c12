"""Losses and promises that make no sense: one clear line at every entry point, and nothing is charged."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from pathlib import Path
from typing import Any

import polars
import pytest

import bayesdp as bdp
from bayesdp.audit import audited, lower_bound
from bayesdp.cli import run
from bayesdp.errors import InvalidInputError
from bayesdp.ledger import Ledger

CHAIN = bdp.OddsChain(9.0, states=["off", "on"], column="s").located(state="s", order_by="t")
ON = bdp.Count("s", equals="on")
ANY = bdp.AnyMechanism("s")
FRAME = polars.DataFrame({"t": range(100), "s": ["on", "off"] * 50})

NO_DELTA: list[Any] = [0.0, 1.0, -1e-6, 2.0, nan, inf, True, "1e-6"]
NO_LOSS: list[Any] = [0.0, -1.0, nan, inf, True, "1"]


def rising(tau: float) -> float:
    return min(1.0, tau / 1000)


def fails(tau: float) -> float:
    raise ZeroDivisionError


WITH_DELTA: dict[str, Callable[[Any], object]] = {
    "leakage": lambda delta: bdp.leakage(CHAIN, ON, tau=0.1, delta=delta),
    "leakage by rho": lambda delta: bdp.leakage(CHAIN, ON, rho=0.1, delta=delta),
    "leakage of several": lambda delta: bdp.leakage(CHAIN, [(ON, bdp.ConcentratedLoss(0.1))], delta=delta),
    "calibrate": lambda delta: bdp.calibrate(CHAIN, ON, epsilon=1, delta=delta),
    "calibrate for an accuracy": lambda delta: bdp.calibrate(CHAIN, ON, alpha=10, delta=delta),
    "compare": lambda delta: bdp.compare(CHAIN, ON, epsilons=[1], delta=delta),
    "audit": lambda delta: audited(CHAIN, ON, rho=0.1, delta=delta, runs=100),
    "lower bound": lambda delta: lower_bound(lambda table: 0, CHAIN, ON, claimed=1.0, delta=delta),
    "approximate loss": lambda delta: bdp.ApproximateLoss(0.1, delta),
}


@pytest.mark.parametrize("entry", WITH_DELTA)
@pytest.mark.parametrize("delta", NO_DELTA)
def test_what_is_no_delta_is_one_line(entry: str, delta: Any) -> None:
    with pytest.raises(InvalidInputError, match="delta must") as refused:
        WITH_DELTA[entry](delta)
    assert "\n" not in str(refused.value)


WITH_LOSS: dict[str, Callable[[Any], object]] = {
    "leakage": lambda tau: bdp.leakage(CHAIN, ON, tau=tau, delta=1e-6),
    "leakage by rho": lambda rho: bdp.leakage(CHAIN, ON, rho=rho, delta=1e-6),
    "leakage made elsewhere": lambda rho: bdp.leakage(CHAIN, ANY, rho=rho, delta=1e-6, neighbours="add-remove"),
    "audit": lambda rho: audited(CHAIN, ON, rho=rho, delta=1e-6, runs=100),
    "audit made elsewhere": lambda rho: audited(CHAIN, ANY, rho=rho, delta=1e-6, neighbours="add-remove", runs=100),
    "approximate loss": lambda tau: bdp.ApproximateLoss(tau, 1e-6),
}


@pytest.mark.parametrize("entry", WITH_LOSS)
@pytest.mark.parametrize("amount", NO_LOSS)
def test_what_is_no_loss_is_one_line(entry: str, amount: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"(tau|rho) must") as refused:
        WITH_LOSS[entry](amount)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tau": 0.1, "rho": 0.1, "delta": 1e-6}, "give one of them"),
        ({"tau": 0.1, "profile": bdp.PrivacyProfile(lambda tau: 0.0, neighbours="replace")}, "give one of them"),
        ({"rho": 0.1}, "needs delta="),
        ({"profile": 0.1, "delta": 1e-6}, "must be a PrivacyProfile"),
        ({"tau": 0.1, "delta": 1e-6, "neighbours": "other"}, "neighbours must be"),
    ],
)
def test_losses_that_contradict_each_other_are_one_line(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as refused:
        bdp.leakage(CHAIN, ON, **given)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("profile", [rising, fails, lambda tau: nan, lambda tau: 2.0, lambda tau: "0", 0.1])
def test_profiles_that_are_none_are_one_line(profile: Any) -> None:
    with pytest.raises(InvalidInputError, match="profile") as refused:
        bdp.PrivacyProfile(profile, neighbours="replace")
    assert "\n" not in str(refused.value)


IN_A_SESSION: list[dict[str, Any]] = [
    *({"share": share} for share in [*NO_LOSS, 1.5]),
    *({"epsilon": epsilon} for epsilon in NO_LOSS),
    {"share": 0.1, "epsilon": 0.1},
    {"epsilon": 0.1, "noise": "cauchy"},
    {},
]


def test_a_session_charges_nothing_for_bad_input(tmp_path: Path) -> None:
    with bdp.Session(FRAME, CHAIN, dataset="s", epsilon=2.0, delta=1e-6, ledger=tmp_path / "budget.db") as session:
        for asked in IN_A_SESSION:
            for called in (session.release, session.preview):
                with pytest.raises(InvalidInputError) as refused:
                    called(ON, **asked)
                assert "\n" not in str(refused.value), asked
        for loss in (0.1, bdp.PrivacyProfile(lambda tau: 0.0, neighbours="replace"), bdp.ConcentratedLoss(0.0), None):
            with pytest.raises(InvalidInputError) as refused:
                session.record(loss=loss, what="a model", neighbours="replace")  # type: ignore[arg-type]
            assert "\n" not in str(refused.value), loss
        assert session.leaked == 0
    with Ledger(tmp_path / "budget.db") as ledger:
        assert ledger.entries(kind="charge") == ()


COUNTED = ["model.json", "--query", "count", "--states", "on"]


@pytest.mark.parametrize(
    "command",
    [
        *(["leakage", *COUNTED, "--tau", "0.1", "--delta", delta] for delta in ("0", "1", "-1e-6", "nan", "inf", "x")),
        *(["leakage", *COUNTED, "--rho", rho, "--delta", "1e-6"] for rho in ("0", "-1", "nan", "inf", "x")),
        ["leakage", *COUNTED, "--tau", "0", "--delta", "1e-6"],
        ["leakage", *COUNTED, "--tau", "0.1", "--rho", "0.1", "--delta", "1e-6"],
        *(["calibrate", *COUNTED, "--epsilon", "1", "--delta", delta] for delta in ("0", "1", "nan")),
        ["calibrate", *COUNTED, "--epsilon", "1", "--delta", "1e-6", "--count", "0"],
        ["calibrate", *COUNTED, "--epsilon", "1", "--noise", "gaussian"],
        ["compare", *COUNTED, "--epsilon", "1", "--delta", "2"],
        ["compare", *COUNTED, "--epsilon", "1", "--delta", "1e-6", "--neighbours", "add-remove"],
        ["audit", *COUNTED, "--rho", "-1", "--delta", "1e-6"],
        ["audit", *COUNTED, "--epsilon", "1", "--delta", "nan"],
    ],
)
def test_commands_refuse_in_one_line(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    CHAIN.save("model.json")
    assert run(command) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert "Traceback" not in printed.err
