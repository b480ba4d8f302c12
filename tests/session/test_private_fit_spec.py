"""What a fit that is a release learns of normal groups; that of chains is in test_learning.py."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars
import pytest

from bayesdp import Count, GaussianGroups, Histogram, Model, OddsChain, Session, Sum
from bayesdp.cli import run
from bayesdp.errors import BayesDPError, BudgetError, InvalidInputError, LedgerError, ModelError, RefusedError
from bayesdp.ledger import Ledger
from bayesdp.mechanisms import DiscreteLaplaceMechanism
from bayesdp.models.learnt_correlation import STEPS, LearntCorrelation
from bayesdp.theorems.leakage import ESTIMATED

pytestmark = pytest.mark.usefixtures("seeded_noise")  # what is learnt depends on it

BOUNDS = (120.0, 220.0)
HEIGHT = Sum("height", bounds=BOUNDS)


def families(number: int = 3000, correlation: float = 0.3) -> polars.DataFrame:
    generator = np.random.default_rng(2)
    common, own = generator.standard_normal((number, 1)), generator.standard_normal((number, 3))
    heights = 165 + 12 * (math.sqrt(correlation) * common + math.sqrt(1 - correlation) * own)
    family = np.repeat(np.arange(number), 3)
    return polars.DataFrame({"family": family, "role": list("abc") * number, "height": heights.ravel()})


FRAME = families()
GROUPS = GaussianGroups(correlation=0.99, size=3).located(value="height", group="family")


def opened(folder: Path, model: Model = GROUPS, frame: Any = FRAME, **reported: Any) -> Session:
    return Session(frame, model, dataset="heights", ledger=folder / "budget.db", **{"epsilon": 30.0, **reported})


def charges(folder: Path) -> int:
    with Ledger(folder / "budget.db") as ledger:
        return len(ledger.entries(kind="charge"))


def test_a_private_fit_costs_tau_for_every_member(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        fit = session.fit(GaussianGroups, tau=0.5, bounds=BOUNDS, correlation_ceiling=0.99)
        assert fit.epsilon == session.leaked == pytest.approx(3 * 0.5)
        learnt = fit.bound
        assert 0.1 < learnt < 0.6  # 0.355 on average, with a standard deviation of 0.037
        assert session.model == fit.model
        answer = session.release(HEIGHT, epsilon=1.0)
        factor = 1 + 2 * learnt if 2 * learnt <= 1 else 1 + 2 * learnt / 1
        assert answer.theorem == "gaussian-tight"
        assert session.leaked == pytest.approx(3 * 0.5 + factor * answer.tau, rel=1e-4)
        counted = session.release(Histogram("height", cells=[150.0]), epsilon=0.3)
        assert counted.tau == pytest.approx(0.1, rel=1e-3)
        assert str(fit).startswith("The correlation of any two members of a group is at most")
        assert fit in session.history
    with opened(tmp_path) as session:
        assert session.model == fit.model
    with Ledger(tmp_path / "budget.db") as ledger:
        assert ledger.verify().ok


def test_the_model_depends_on_the_noisy_sums_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        fit = session.fit(tau=0.5, bounds=BOUNDS)
    assert isinstance(fit.learnt, LearntCorrelation)
    assert fit.model == GROUPS.with_learnt(LearntCorrelation(0.99, 0.5, 0.95, BOUNDS, 3, [(3, 3000)], fit.learnt.sums))


def test_the_same_again_is_free_and_anything_else_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        fit = session.fit(tau=0.2, bounds=BOUNDS)
        for again in (session.fit(tau=0.2, bounds=BOUNDS), session.fit(tau=0.1, bounds=(120, 220))):
            assert again == fit
            assert again.reused
        for other in ({"tau": 0.3}, {"credibility": 0.9}, {"bounds": (100, 220)}):
            with pytest.raises(LedgerError, match="learnt already"):
                session.fit(**cast("Any", {"tau": 0.2, "bounds": BOUNDS, **other}))
    assert charges(tmp_path) == 1


def test_noise_is_drawn_after_the_charge_on_all_three_sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = DiscreteLaplaceMechanism.release
    seen: list[tuple[int, int, float]] = []

    def watched(self: DiscreteLaplaceMechanism, values: Sequence[int]) -> tuple[int, ...]:
        seen.append((charges(tmp_path), len(values), self.scale))
        return plain(self, values)

    monkeypatch.setattr(DiscreteLaplaceMechanism, "release", watched)
    with opened(tmp_path) as session:
        session.fit(tau=0.5, bounds=BOUNDS)
    assert seen == [(1, 3, 12 * STEPS**2 / 0.5)]


def test_the_budget_must_allow_it_under_the_ceiling(tmp_path: Path) -> None:
    with opened(tmp_path, epsilon=1.0) as session:
        with pytest.raises(BudgetError):
            session.fit(tau=0.4, bounds=BOUNDS)
        assert session.leaked == 0


def test_the_ceiling_stays_under_much_noise_or_narrow_bounds(tmp_path: Path) -> None:
    for tau, bounds in ((0.001, BOUNDS), (1.0, (160.0, 170.0)), (1.0, (0.0, 1e6))):
        folder = tmp_path / f"{bounds[0]}-{tau}"
        folder.mkdir()
        with opened(folder) as session:
            fit = session.fit(tau=tau, bounds=bounds, anyway=True)
        assert fit.bound == 0.99
        assert "the ceiling stands" in str(fit)


def test_the_statement_says_how_it_was_learnt_and_has_no_caveat(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        session.fit(tau=0.2, bounds=BOUNDS)
        statement = session.release(HEIGHT, epsilon=0.3).statement()
    assert ESTIMATED not in statement
    assert "learnt by a private release of this account" in statement
    assert "who is in which group is treated as public" in statement


@pytest.mark.parametrize(
    ("model", "asked", "refused"),
    [
        (GaussianGroups(correlation=0.9, size=3, column="height"), {}, ModelError),
        (GaussianGroups(correlation=0.9, size=3).located(value="height", group="family", role="role"), {}, ModelError),
        (GaussianGroups.fit(FRAME, value="height", group="family", diagnose=False), {}, ModelError),
        (GROUPS, {"kind": OddsChain}, ModelError),
        (GROUPS, {"correlation_ceiling": 0.5}, ModelError),
        (GROUPS, {"odds_ceiling": 0.99}, ModelError),
        (GROUPS, {"within": "hour"}, InvalidInputError),
        (GROUPS, {"bounds": None}, InvalidInputError),
        (GROUPS, {"bounds": (220, 120)}, ModelError),
        (GROUPS, {"bounds": "wide"}, BayesDPError),
        (GROUPS, {"tau": 0}, InvalidInputError),
        (GROUPS, {"tau": 1e-9}, ModelError),
        (GROUPS, {"credibility": 1}, InvalidInputError),
    ],
)
def test_what_is_refused_is_refused_before_any_charge(
    tmp_path: Path, model: Model, asked: Mapping[str, Any], refused: type[Exception]
) -> None:
    with opened(tmp_path, model, accept="a test") as session:
        with pytest.raises(refused):
            session.fit(**{"tau": 0.2, "bounds": BOUNDS, **asked})
        assert session.leaked == 0
    assert charges(tmp_path) == 0


def test_a_table_of_single_records_is_refused_without_saying_so(tmp_path: Path) -> None:
    alone = FRAME.with_columns(family=polars.int_range(polars.len()))
    with opened(tmp_path, frame=alone) as session, pytest.raises(RefusedError) as refused:
        session.fit(tau=0.2, bounds=BOUNDS)
    assert str(refused.value) == str(RefusedError()), "as any other refusal"
    assert charges(tmp_path) == 0


def test_records_that_are_left_out_make_groups_smaller(tmp_path: Path) -> None:
    lacking = FRAME.with_columns(
        height=polars.when(polars.int_range(polars.len()) % 7 == 0).then(None).otherwise(polars.col("height"))
    )
    dropping = GaussianGroups(correlation=0.99, size=3).located(value="height", group="family", missing="drop")
    with opened(tmp_path, dropping, lacking) as session:
        learnt = session.fit(tau=1.0, bounds=BOUNDS).learnt
    assert isinstance(learnt, LearntCorrelation)
    assert [size for size, _ in learnt.groups] == [2, 3]
    assert sum(size * number for size, number in learnt.groups) == lacking["height"].count()


def test_a_fit_touches_every_part(tmp_path: Path) -> None:
    frame = FRAME.with_columns(town=polars.col("family") % 2)
    with opened(tmp_path, frame=frame, public=["town"]) as session:
        session.fit(tau=0.2, bounds=BOUNDS)
        before = session.leaked
        session.release_by(replace(HEIGHT, by="town", by_cells=[0, 1]), epsilon=0.5)
        assert session.leaked <= before + 0.5 * (1 + 1e-9)
        assert before == pytest.approx(0.6)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    FRAME.write_csv(tmp_path / "heights.csv")
    place = ["--ledger", f"{tmp_path}/budget.db", "--dataset", "heights"]
    fit = ["fit", f"{tmp_path}/heights.csv", "--model", "gaussian", "--value", "height", "--group", "family"]
    private = [*fit, "--private-tau", "0.5", "--size", "3", "--bounds", "120", "220", *place]
    assert run([*private, "--budget", "6", "-o", f"{tmp_path}/model.json"]) == 0
    assert "with a credibility of 95 %" in capsys.readouterr().out
    assert run([*private, "--json"]) == 0
    assert Model.from_json(capsys.readouterr().out) == Model.load(tmp_path / "model.json")
    release = ["release", f"{tmp_path}/heights.csv", "--model", f"{tmp_path}/model.json", "--query", "sum"]
    assert run([*release, "--column", "height", "--bounds", "120", "220", "--epsilon", "0.3", *place]) == 0
    assert run(["budget", "show", "--ledger", f"{tmp_path}/budget.db"]) == 0
    assert "sums of squares and products of height, to learn its correlation" in capsys.readouterr().out
    for wrong, said in (
        ([*fit, "--bounds", "120", "220"], "--bounds goes with --private-tau"),
        ([*fit, "--private-tau", "0.5", *place], "needs --size, --bounds and --dataset"),
        ([*private, "--odds-ceiling", "9"], "--odds-ceiling does not go with --model gaussian"),
        ([*private, "--credibility", "0.5"], "learnt already"),
        ([*private, "--credibility", "most"], "--credibility must be a number"),
    ):
        assert run(wrong) == 2
        assert said in capsys.readouterr().err


def test_a_count_under_a_fitted_model_is_charged_for_all_members(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        session.fit(tau=0.2, bounds=BOUNDS)
        answer = session.release(Count("height", equals=165.0), epsilon=0.3)
    assert answer.tau == pytest.approx(0.1, rel=1e-3)
