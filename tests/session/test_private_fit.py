"""A fit that is a release: charged before the noise, one for each account, and all spends converted with it."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from bayesdp import Answer, AnyOf, Count, Independent, MarkovChain, Model, OddsChain, Session
from bayesdp.cli import run
from bayesdp.errors import (
    BudgetError,
    InvalidInputError,
    LedgerError,
    ModelError,
    QueryError,
    RefusedError,
)
from bayesdp.ledger import Ledger
from bayesdp.mechanisms import DiscreteLaplaceMechanism
from bayesdp.models.learnt import Learnt
from bayesdp.session.overview import overview
from bayesdp.session.private_fit import Fit
from bayesdp.theorems.leakage import ESTIMATED, leakage
from bayesdp.theorems.odds.sides import leakage_of_any_length

pytestmark = pytest.mark.usefixtures("seeded_noise")  # what is learnt depends on it

CEILING = 500.0


def sequence(records: int, seed: int = 1) -> list[str]:
    generator, state, values = np.random.default_rng(seed), 0, []
    for chance in generator.random(records):
        state = int(chance < (0.7 if state else 0.1))
        values.append("on" if state else "off")
    return values


FRAME = polars.DataFrame(
    {
        "t": range(4000),
        "s": sequence(4000),
        "place": ["north", "south"] * 2000,
        "at": polars.datetime_range(
            polars.datetime(2026, 1, 1), polars.datetime(2026, 1, 1) + polars.duration(hours=3999), "1h", eager=True
        ),
    }
)
CHAIN = OddsChain(CEILING, states=["off", "on"]).located(state="s", order_by="t")
ON, OFF = Count("s", equals="on"), Count("s", equals="off")


def opened(folder: Path, model: Model = CHAIN, frame: Any = FRAME, **reported: Any) -> Session:
    reported = {"epsilon": 30.0, "public": ["place"], **reported}
    return Session(frame, model, dataset="switch", ledger=folder / "budget.db", **reported)


def charges(folder: Path) -> int:
    with Ledger(folder / "budget.db") as ledger:
        return len(ledger.entries(kind="charge"))


def chain_of(fit: Fit) -> OddsChain:
    assert isinstance(fit.model, OddsChain)
    return fit.model


def counts_of(fit: Fit) -> Learnt:
    assert isinstance(fit.learnt, Learnt)
    return fit.learnt


def proven(odds: float, tau: float) -> float:
    """Return the closed form of odds-chain."""
    return 4 * math.asinh(math.sqrt(odds) * math.sinh(tau / 4))


def test_all_spends_are_converted_with_what_was_learnt(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        first = session.release(ON, epsilon=0.3)
        assert first.epsilon_total == pytest.approx(proven(CEILING, first.tau), rel=1e-6)
        fit = session.fit(OddsChain, tau=0.2, odds_ceiling=CEILING)
        assert fit.epsilon == pytest.approx(proven(CEILING, first.tau + 0.2) - first.epsilon_total, rel=1e-6)
        assert 10 < fit.bound < 100
        assert session.model == fit.model
        assert session.leaked == fit.epsilon_total
        assert session.leaked == pytest.approx(proven(fit.bound, first.tau + 0.2), rel=1e-6)
        assert session.remaining == fit.epsilon_remaining
        second = session.release(OFF, epsilon=0.5)
        together = first.tau + 0.2 + second.tau
        assert second.epsilon_total == pytest.approx(proven(fit.bound, together), rel=1e-6)
        assert session.leaked == pytest.approx(second.epsilon_total, rel=1e-12)
        assert session.release(ON, epsilon=0.3).reused
        assert [type(each) for each in session.history] == [Answer, Fit, Answer]
        assert session.history[1] == fit
    shown = overview(tmp_path / "budget.db", None).datasets[0]
    assert shown["epsilon_total"] == pytest.approx(second.epsilon_total, rel=1e-12)
    with Ledger(tmp_path / "budget.db") as ledger:
        assert ledger.verify().ok


def test_an_earlier_answer_is_given_again_under_the_fitted_model(tmp_path: Path) -> None:
    """What it cost under the ceiling is more than all that leaked by what was learnt: no reason to lose a charge."""
    with opened(tmp_path, epsilon=60.0) as session:
        first = session.release(ON, epsilon=20.0)
        fit = session.fit(tau=0.2)
        assert fit.epsilon_total < first.epsilon
        again, fresh = session.release_all([ON, OFF], epsilon=1.0)
        assert charges(tmp_path) == len(session.history) == 3
    assert (again.reused, again.value, again.epsilon) == (True, first.value, first.epsilon)
    assert again.epsilon_total == fresh.epsilon_total < first.epsilon
    assert (again.assumption, again.model_fingerprint) == (fresh.assumption, fresh.model_fingerprint)
    assert fit.model.assumption == again.assumption != first.assumption
    assert "by what was assumed before the model was learnt" in again.guarantee
    kept = tmp_path / "again.json"
    kept.write_text(json.dumps(again.to_dict()))
    assert run(["budget", "verify", "--ledger", str(tmp_path / "budget.db"), "--answer", str(kept)]) == 0
    kept.write_text(json.dumps({**again.to_dict(), "model_fingerprint": "0" * 64}))
    assert run(["budget", "verify", "--ledger", str(tmp_path / "budget.db"), "--answer", str(kept)]) == 2


def test_the_model_depends_on_the_noisy_table_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        fit = session.fit(tau=0.2)
    again = Learnt(CEILING, 0.2, 0.95, counts_of(fit).counts)
    assert fit.model == replace(CHAIN.with_learnt(again), gaps=chain_of(fit).gaps)


def test_the_same_again_is_free_and_anything_else_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        fit = session.fit(tau=0.2)
        for again in (session.fit(tau=0.2), session.fit(tau=0.1)):
            assert again == fit
            assert again.reused
        for other in ({"tau": 0.3}, {"tau": 0.2, "credibility": 0.9}, {"tau": 0.2, "within": "hour"}):
            with pytest.raises(LedgerError, match="learnt already"):
                session.fit(**other)
    assert charges(tmp_path) == 1


def test_later_sessions_go_on_with_it(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        fit = session.fit(tau=0.2)
    fit.model.save(tmp_path / "model.json")
    for model in (CHAIN, Model.load(tmp_path / "model.json")):
        with opened(tmp_path, model) as session:
            assert session.model == fit.model
            assert session.leaked == fit.epsilon_total


def test_an_older_session_keeps_the_ceiling_and_fits_only_once(tmp_path: Path) -> None:
    with opened(tmp_path) as one, opened(tmp_path) as other:
        fit = one.fit(tau=0.1)
        assert other.leaked == pytest.approx(proven(CEILING, 0.1), rel=1e-6)
        assert other.leaked > one.leaked
        assert other.fit(tau=0.1) == fit
        assert other.leaked == one.leaked
    assert charges(tmp_path) == 1


def test_a_model_that_was_learnt_elsewhere_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        fit = session.fit(tau=0.2)
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(LedgerError, match="does not know"):
        opened(tmp_path / "elsewhere", fit.model)
    with pytest.raises(LedgerError, match="does not know"):
        opened(tmp_path, replace(chain_of(fit), odds=2.0))
    with pytest.raises(ModelError, match="stands alone"):
        opened(tmp_path / "elsewhere", AnyOf(fit.model, Independent()))


def test_a_charge_without_an_answer_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: Any) -> Any:
        raise OSError("the machine stops")

    with monkeypatch.context() as patched:
        patched.setattr(DiscreteLaplaceMechanism, "release", lost)
        with opened(tmp_path) as session, pytest.raises(OSError, match="stops"):
            session.fit(tau=0.1)
    assert charges(tmp_path) == 1
    monkeypatch.setattr("bayesdp.session.retries.PATIENCE", 0.0)
    with opened(tmp_path) as session:
        assert session.model.opened_as is session.model
        assert session.leaked == pytest.approx(proven(CEILING, 0.1), rel=1e-6)
        fit = session.fit(tau=0.1)
        assert session.leaked == pytest.approx(proven(fit.bound, 0.1), rel=1e-6)
    assert charges(tmp_path) == 1, "the charge that was there has its answer now"


def test_noise_is_drawn_after_the_charge_on_every_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = DiscreteLaplaceMechanism.release
    seen: list[tuple[int, int, float]] = []

    def watched(self: DiscreteLaplaceMechanism, values: Sequence[int]) -> tuple[int, ...]:
        seen.append((charges(tmp_path), len(values), self.scale))
        assert sum(values) == 3999
        return plain(self, values)

    monkeypatch.setattr(DiscreteLaplaceMechanism, "release", watched)
    with opened(tmp_path) as session:
        session.fit(tau=0.5)
    assert seen == [(1, 4, 8.0)]


def test_the_budget_must_allow_it_under_the_ceiling(tmp_path: Path) -> None:
    with opened(tmp_path, epsilon=1.0) as session:
        with pytest.raises(BudgetError):
            session.fit(tau=0.2)
        assert session.leaked == 0
    (shown,) = overview(tmp_path / "budget.db", None).datasets
    assert (shown["budget"], shown["releases"], shown["checks"]) == (None, [], 1)


def test_the_ceiling_stands_where_noise_hides_everything(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        fit = session.fit(tau=0.0005, anyway=True)
    assert fit.bound == CEILING
    assert "the ceiling stands" in str(fit)


def test_strata_are_public_and_all_of_them_are_noised(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        fit = session.fit(tau=1.0, within={"place": ["north", "south", "west"]}, anyway=True)
    assert np.shape(counts_of(fit).counts) == (3, 2, 2)
    assert math.prod(np.shape(counts_of(fit).counts[2])) == 4, "the west has no records"
    (tmp_path / "hours").mkdir()
    hourly = replace(CHAIN, layout=replace(CHAIN.layout, order_by="at")) if CHAIN.layout else CHAIN
    with opened(tmp_path / "hours", hourly) as session:
        fit = session.fit(tau=1.0, within="hour", anyway=True)
    assert np.shape(counts_of(fit).counts) == (24, 2, 2)
    assert abs(int(np.sum(counts_of(fit).counts)) - 3999) < 600


def test_a_memory_of_two(tmp_path: Path) -> None:
    with opened(tmp_path, replace(CHAIN, memory=2)) as session:
        fit = session.fit(tau=0.3)
        assert np.shape(counts_of(fit).counts) == (1, 2, 2, 2)
        assert counts_of(fit).scale == pytest.approx(6 / 0.3)
        assert session.leaked == pytest.approx(proven(fit.bound, 2 * 0.3), rel=1e-6)


def test_a_condition_needs_no_states(tmp_path: Path) -> None:
    frame = FRAME.with_columns(n=(polars.col("s") == "on").cast(polars.Int64))
    condition = OddsChain(CEILING).located(state="n > 0", order_by="t")
    with opened(tmp_path, condition, frame) as session:
        assert 10 < session.fit(tau=0.5).bound < 100
        session.release(Count(equals=True), epsilon=0.2)


@pytest.mark.parametrize(
    ("model", "asked", "refused"),
    [
        (OddsChain(CEILING, column="s"), {}, ModelError),
        (OddsChain(CEILING).located(state="s", order_by="t"), {}, ModelError),
        (OddsChain(CEILING, states=["off", "on"], column="s"), {}, ModelError),
        (MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["off", "on"], column="s"), {}, ModelError),
        (OddsChain.fit(FRAME, state="s", order_by="t"), {}, ModelError),
        (CHAIN, {"odds_ceiling": 7}, ModelError),
        (CHAIN, {"kind": MarkovChain}, ModelError),
        (CHAIN, {"tau": 0}, InvalidInputError),
        (CHAIN, {"tau": math.inf}, InvalidInputError),
        (CHAIN, {"tau": 1e-9}, ModelError),
        (CHAIN, {"credibility": 1}, InvalidInputError),
        (CHAIN, {"credibility": 1 - 1e-12}, InvalidInputError),
        (CHAIN, {"within": "place"}, InvalidInputError),
        (CHAIN, {"within": {"place": []}}, InvalidInputError),
        (CHAIN, {"within": {"place": ["north"]}}, RefusedError),
        (CHAIN, {"within": {"s": ["off", "on"]}}, InvalidInputError),
        (CHAIN, {"within": {"nowhere": [1]}}, InvalidInputError),
        (CHAIN, {"within": {"place": list(range(5000))}}, InvalidInputError),
        (replace(CHAIN, memory=13), {}, ModelError),
    ],
)
def test_what_is_refused_is_refused_before_any_charge(
    tmp_path: Path, model: Model, asked: Mapping[str, Any], refused: type[Exception]
) -> None:
    with opened(tmp_path, model) as session:
        with pytest.raises(refused):
            session.fit(**{"tau": 0.2, **asked})
        assert session.leaked == 0
    assert charges(tmp_path) == 0


def test_the_statement_says_how_it_was_learnt_and_has_no_caveat(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        session.fit(tau=0.2)
        statement = session.release(ON, epsilon=0.3).statement()
    assert ESTIMATED not in statement
    assert "learnt by a private release of this account" in statement
    assert "noise of scale 20" in statement
    estimated = OddsChain.fit(FRAME, state="s", order_by="t")
    assert ESTIMATED in leakage(estimated, ON, tau=0.1).notes


def test_a_question_of_another_column_is_still_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        session.fit(tau=0.2)
        with pytest.raises(QueryError):
            session.release(Count("place", equals="north"), epsilon=0.1)


def joint_leakage(weights: np.ndarray[Any, Any], law: np.ndarray[Any, Any]) -> float:
    """Return the largest ln of a ratio E[g | target, known] over all targets, known records and values."""
    records, worst = law.ndim, 0.0
    for target in range(records):
        others = [place for place in range(records) if place != target]
        for known in (set(some) for size in range(records) for some in combinations(others, size)):
            unknown = tuple(place for place in others if place not in known)
            means = (law * weights).sum(axis=unknown) / law.sum(axis=unknown)
            axis = sorted({target, *known}).index(target)
            worst = max(worst, float(np.abs(np.diff(np.log(means), axis=axis)).max()))
    return worst


@pytest.mark.parametrize("odds", [2.0, 9.0, 60.0])
def test_every_transcript_leaks_at_most_what_the_account_says(odds: float) -> None:
    """Two releases, the second with a τ that depends on what the first taught, on every sequence of five records.

    g is the probability of a transcript: noisy counts, then a noisy count whose τ spends all of the budget.
    """
    budget, tau, generator = 3.0, 0.1, np.random.default_rng(0)
    root = math.sqrt(odds)
    rows = np.array([[root, 1], [1, root]]) / (1 + root)
    law = np.zeros((2,) * 5)
    for values in product((0, 1), repeat=5):
        law[values] = 0.5 * math.prod(rows[a, b] for a, b in pairwise(values))
    seen = 0
    for _ in range(80):
        noisy = generator.integers(-40, 2000, (2, 2))
        chain = OddsChain(1000.0).with_learnt(Learnt(1000.0, tau, 0.9, [noisy.tolist()]))
        if chain.odds < odds:
            continue
        total = 4 * math.asinh(math.sinh(budget / 4) / math.sqrt(chain.odds))
        if total <= tau:
            continue
        seen += 1
        reported = int(generator.integers(-3, 9))
        weights = np.zeros_like(law)
        for values in product((0, 1), repeat=5):
            counts = np.zeros((2, 2))
            np.add.at(counts, (values[:-1], values[1:]), 1)
            weights[values] = math.exp(
                -np.abs(noisy - counts).sum() * tau / 4 - abs(reported - sum(values)) * (total - tau)
            )
        weights /= weights.max()
        assert joint_leakage(weights, law) <= budget * (1 + 1e-9)
        assert float(leakage_of_any_length(np.array([total]), chain.log_odds)[0]) == pytest.approx(budget)
    assert seen > 5


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    FRAME.drop("at").write_csv(tmp_path / "switch.csv")
    place = ["--ledger", f"{tmp_path}/budget.db", "--dataset", "switch"]
    fit = ["fit", f"{tmp_path}/switch.csv", "--model", "odds-chain", "--state", "s", "--order-by", "t"]
    private = [*fit, "--states", "off,on", "--private-tau", "0.2", "--odds-ceiling", "500", *place]
    assert run([*private, "--budget", "6", "-o", f"{tmp_path}/model.json"]) == 0
    assert "with a credibility of 95 %" in capsys.readouterr().out
    assert run([*private, "--json"]) == 0
    assert Model.from_json(capsys.readouterr().out) == Model.load(tmp_path / "model.json")
    release = ["release", f"{tmp_path}/switch.csv", "--model", f"{tmp_path}/model.json", "--query", "count"]
    release += ["--states", "on", "--epsilon", "0.3", "--json", *place]
    for name in ("one.json", "two.json"):
        assert run(release) == 0
        (tmp_path / name).write_text(capsys.readouterr().out)
    answers = [f"--answer={tmp_path}/one.json", f"--answer={tmp_path}/two.json"]
    assert run(["budget", "verify", "--ledger", f"{tmp_path}/budget.db", *answers]) == 0
    assert run(["budget", "show", "--ledger", f"{tmp_path}/budget.db"]) == 0
    assert "the transitions of s, to learn their odds ratio" in capsys.readouterr().out
    for wrong, said in (
        ([*fit, "--odds-ceiling", "500"], "--odds-ceiling goes with --private-tau"),
        ([*private, "--merge", "20"], "--merge depends on the counts"),
        ([*fit, "--private-tau", "0.2", "--dataset", "switch"], "needs --odds-ceiling and --dataset"),
        ([*[each if each != "odds-chain" else "markov" for each in private]], "--private-tau goes with"),
    ):
        assert run(wrong) == 2
        assert said in capsys.readouterr().err


def test_a_fit_touches_every_part(tmp_path: Path) -> None:
    by_place = OddsChain(CEILING, states=["off", "on"]).located(state="s", order_by="t", entity="place")
    with opened(tmp_path, by_place) as session:
        fit = session.fit(tau=0.2)
        before = session.leaked
        first, second = session.release_by(
            Count("s", equals="on", by="place", by_cells=["north", "south"]), epsilon=0.5
        )
        assert first.tau == second.tau
        assert session.leaked == pytest.approx(proven(fit.bound, 0.2 + first.tau), rel=1e-6)
        assert session.leaked <= before + 0.5 * (1 + 1e-9)


def test_growing_data_go_on_with_what_was_learnt(tmp_path: Path) -> None:
    with opened(tmp_path, frame=FRAME.head(3000), growing=True) as session:
        fit = session.fit(tau=0.2)
        first = session.release(ON, epsilon=0.3)
    with opened(tmp_path, growing=True) as session:
        assert session.model == fit.model
        assert session.fit(tau=0.2) == fit
        second = session.release(ON, epsilon=0.3)
        assert not second.reused
        assert session.leaked == pytest.approx(proven(fit.bound, 0.2 + first.tau + second.tau), rel=1e-6)
    with pytest.raises(LedgerError, match="does not continue"):
        opened(tmp_path, frame=FRAME.tail(3000), growing=True)


def test_a_fit_that_would_teach_nothing_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        with pytest.raises(InvalidInputError) as refused:
            session.fit(tau=0.002)
        assert "with 4000 records and tau = 0.002 the noise would hide the odds ratio in 10 of 10" in str(refused.value)
        assert "the ceiling of 500 would stand" in str(refused.value)
        assert "anyway=True" in str(refused.value)
        foreseen = session.preview_fit(tau=0.2)
        assert foreseen.expected.bounds[0] < 5
        assert not foreseen.expected.hopeless
        assert session.preview_fit(tau=0.002).expected.hopeless
        assert (session.leaked, charges(tmp_path)) == (0, 0)
        fit = session.fit(tau=0.2)
        assert foreseen.epsilon == fit.epsilon
        again = session.preview_fit(tau=0.1)
        assert (again.stored, again.epsilon, again.epsilon_total) == (True, 0, session.leaked)
        assert session.fit(tau=0.002).reused, "it is given again at no cost"


def test_what_is_expected_depends_on_public_numbers_alone(tmp_path: Path) -> None:
    shown: list[object] = []
    for name, frame in (("one", FRAME), ("other", FRAME.with_columns(s=polars.lit("off")))):
        (tmp_path / name).mkdir()
        with opened(tmp_path / name, frame=frame) as session:
            shown.append(session.preview_fit(tau=0.1, within={"place": ["north", "south"]}))
            with pytest.raises(InvalidInputError) as refused:
                session.fit(tau=0.001)
            shown.append((str(refused.value), vars(refused.value)))
    assert shown[:2] == shown[2:]


def test_a_dry_run_charges_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    FRAME.drop("at").write_csv(tmp_path / "switch.csv")
    fit = ["fit", f"{tmp_path}/switch.csv", "--model", "odds-chain", "--state", "s", "--order-by", "t"]
    fit += ["--states", "off,on", "--odds-ceiling", "500", "--ledger", f"{tmp_path}/budget.db", "--dataset", "switch"]
    fit += ["--budget", "6", "--private-tau"]
    assert run([*fit, "0.2", "--dry-run"]) == 0
    assert "It would cost ε = " in capsys.readouterr().out
    assert run([*fit, "0.002", "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hidden"] == 10
    assert run([*fit, "0.002"]) == 2
    assert "say --anyway" in capsys.readouterr().err
    assert charges(tmp_path) == 0
    assert run([*fit, "0.002", "--anyway"]) == 0
    assert charges(tmp_path) == 1
