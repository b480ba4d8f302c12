"""A private fit of a series by distance: what test_private_fit.py says of chains, and what is its own."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from bayesdp import Count, Model, OddsSeries, Session, leakage
from bayesdp.cli import run
from bayesdp.errors import BudgetError, InvalidInputError, LedgerError, ModelError, RefusedError
from bayesdp.ledger import Ledger
from bayesdp.mechanisms import DiscreteLaplaceMechanism
from bayesdp.models.learnt_series import LearntSeries
from bayesdp.models.pair_regression import _simulated
from bayesdp.theorems.leakage import ESTIMATED

pytestmark = pytest.mark.usefixtures("seeded_noise")  # what is learnt depends on it

CEILING = [12.0, 3.0]
DRAWN = _simulated(np.array([[-1.6]]), np.array([1.5, 0.3]).reshape(2, 1, 1), 24, np.random.default_rng(5)).ravel()
FRAME = polars.DataFrame(
    {
        "at": polars.datetime_range(
            polars.datetime(2026, 1, 1),
            polars.datetime(2026, 1, 1) + polars.duration(minutes=10 * (len(DRAWN) - 1)),
            "10m",
            eager=True,
        ),
        "s": ["on" if value else "off" for value in DRAWN.tolist()],
        "place": ["north"] * (len(DRAWN) // 2) + ["south"] * (len(DRAWN) // 2),
    }
)
SERIES = OddsSeries(CEILING, states=["off", "on"], additive=True).located(state="s", order_by="at")
ON = Count("s", equals="on")


def opened(folder: Path, model: Model = SERIES, frame: Any = FRAME, **reported: Any) -> Session:
    reported = {"epsilon": 60.0, "public": ["place"], **reported}
    return Session(frame, model, dataset="switch", ledger=folder / "budget.db", **reported)


def charges(folder: Path) -> int:
    with Ledger(folder / "budget.db") as ledger:
        return len(ledger.entries(kind="charge"))


def proven(model: Model, tau: float) -> float:
    return leakage(model, ON, tau=tau).epsilon


@pytest.mark.slow
def test_all_spends_are_converted_with_what_was_learnt(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        fit = session.fit(OddsSeries, tau=1.0, odds_ceiling=CEILING)
        assert fit.epsilon == pytest.approx(proven(SERIES, 1.0), rel=1e-6)
        assert isinstance(fit.bound, tuple)
        assert (3, 1) < fit.bound < tuple(CEILING)
        assert session.model == fit.model
        assert session.leaked == pytest.approx(proven(fit.model, 1.0), rel=1e-6)
        answer = session.release(ON, epsilon=0.5)
        assert session.leaked == pytest.approx(proven(fit.model, 1.0 + answer.tau), rel=1e-6)
        statement = answer.statement()
        assert ESTIMATED not in statement
        assert "learnt by a private release of this account" in statement
        assert "odds ratios of records by their distance are at most" in str(fit)
        assert fit in session.history
        assert session.fit(tau=1.0) == fit
        for other in ({"tau": 2.0}, {"tau": 1.0, "credibility": 0.9}, {"tau": 1.0, "within": "hour"}):
            with pytest.raises(LedgerError, match="were learnt already"):
                session.fit(**other, anyway=True)
    assert charges(tmp_path) == 2
    fit.model.save(tmp_path / "model.json")
    for model in (SERIES, Model.load(tmp_path / "model.json")):
        with opened(tmp_path, model) as session:
            assert session.model == fit.model
    with Ledger(tmp_path / "budget.db") as ledger:
        assert ledger.verify().ok
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(LedgerError, match="does not know"):
        opened(tmp_path / "elsewhere", fit.model)


def test_noise_is_drawn_after_the_charge_on_every_sum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = DiscreteLaplaceMechanism.release
    seen: list[tuple[int, list[int], float]] = []

    def watched(self: DiscreteLaplaceMechanism, values: Sequence[int]) -> tuple[int, ...]:
        seen.append((charges(tmp_path), list(values), self.scale))
        return plain(self, values)

    monkeypatch.setattr(DiscreteLaplaceMechanism, "release", watched)
    with opened(tmp_path) as session:
        session.fit(tau=0.8, within={"place": ["north", "south", "west"]}, anyway=True)
    half = len(DRAWN) // 2
    totals = [4 * int(DRAWN[:half].sum()), 4 * int(DRAWN[half:].sum()), 0]
    products = [int(DRAWN[back:] @ DRAWN[:-back]) for back in (1, 2)]
    assert seen == [(1, [*totals, *products], 8 / 0.8)]


def test_the_model_depends_on_the_noisy_sums_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tables that differ in a record, and the same noisy sums: the same model."""
    sums = [4 * int(DRAWN.sum()), *(int(DRAWN[back:] @ DRAWN[:-back]) for back in (1, 2))]
    monkeypatch.setattr(DiscreteLaplaceMechanism, "release", lambda self, values: tuple(sums))
    other = FRAME.with_columns(
        s=polars.when(polars.int_range(polars.len()) == 99).then(polars.lit("on")).otherwise("s")
    )
    models = []
    for name, frame in (("one", FRAME), ("two", other)):
        (tmp_path / name).mkdir()
        with opened(tmp_path / name, frame=frame) as session:
            models.append(session.fit(tau=1.0).model)
    assert models[0] == models[1]
    assert isinstance(models[0].learnt, LearntSeries)
    assert models[0].learnt.sums == tuple(sums)


def test_the_budget_and_what_is_expected_are_asked_first(tmp_path: Path) -> None:
    with opened(tmp_path, epsilon=1.0) as session:
        with pytest.raises(BudgetError):
            session.fit(tau=0.8)
        with pytest.raises(InvalidInputError) as refused:
            session.fit(tau=0.02)
        assert "would hide the odds ratios in" in str(refused.value)
        assert "the ceiling of 12 and 3 would stand" in str(refused.value)
        preview = session.preview_fit(tau=0.05)
        assert preview.epsilon == pytest.approx(proven(SERIES, 0.05), rel=1e-6)
        assert preview.to_dict()["ceiling"] == CEILING
        assert session.leaked == 0
        fit = session.fit(tau=0.01, anyway=True)
        assert fit.bound == tuple(CEILING)
        assert "the ceiling stands" in str(fit)
    assert charges(tmp_path) == 1


@pytest.mark.parametrize(
    ("model", "asked", "refused"),
    [
        (OddsSeries(CEILING, column="s"), {}, ModelError),
        (OddsSeries(CEILING).located(state="s", order_by="at"), {}, ModelError),
        (OddsSeries(CEILING, states=["off", "on", "sleep"]).located(state="s", order_by="at"), {}, ModelError),
        (OddsSeries([2.0] * 9, states=["off", "on"]).located(state="s", order_by="at"), {}, ModelError),
        (OddsSeries.fit(FRAME, state="s", order_by="at", reach=1, diagnose=False), {}, ModelError),
        (SERIES, {"odds_ceiling": 12}, ModelError),
        (SERIES, {"odds_ceiling": [12, 2]}, ModelError),
        (SERIES, {"bounds": (0, 1)}, InvalidInputError),
        (SERIES, {"tau": 0}, InvalidInputError),
        (SERIES, {"tau": 1e-9}, ModelError),
        (SERIES, {"within": "place"}, InvalidInputError),
        (SERIES, {"within": {"place": ["north"]}, "anyway": True}, RefusedError),
        (SERIES, {"within": {"s": ["off", "on"]}}, InvalidInputError),
    ],
)
def test_what_is_refused_is_refused_before_any_charge(
    tmp_path: Path, model: Model, asked: Mapping[str, Any], refused: type[Exception]
) -> None:
    with opened(tmp_path, model) as session:
        with pytest.raises(refused):
            session.fit(**{"tau": 1.0, **asked})
        assert session.leaked == 0
    assert charges(tmp_path) == 0


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    FRAME.write_csv(tmp_path / "switch.csv")
    place = ["--ledger", f"{tmp_path}/budget.db", "--dataset", "switch"]
    fit = ["fit", f"{tmp_path}/switch.csv", "--model", "odds-series", "--state", "s", "--order-by", "at"]
    private = [
        *fit,
        "--states",
        "off,on",
        "--private-tau",
        "1",
        "--odds-ceiling",
        "12,3",
        "--additive",
        "--budget",
        "30",
        *place,
    ]
    assert run([*private, "--dry-run"]) == 0
    assert "A preview of a private fit of the odds ratios" in capsys.readouterr().out
    assert run([*private, "-o", f"{tmp_path}/model.json"]) == 0
    assert "with a credibility of 95 %" in capsys.readouterr().out
    assert run([*private, "--json"]) == 0
    assert Model.from_json(capsys.readouterr().out) == Model.load(tmp_path / "model.json")
    for wrong, said in (
        ([*fit, "--odds-ceiling", "12,3"], "--odds-ceiling goes with --private-tau"),
        ([*private, "--reach", "3"], "leave --reach out"),
        ([*private, "--size", "3"], "--size does not go with"),
        ([each if each != "12,3" else "12,many" for each in private], "--odds-ceiling must be a number"),
    ):
        assert run(wrong) == 2
        assert said in capsys.readouterr().err
