"""A session that keeps its promises for a share of the models that the data leave possible."""

from pathlib import Path
from typing import Any

import polars
import pytest

from bayesdp import Answer, AnyOf, ArbitraryGroups, Count, GaussianGroups, MarkovChain, Model, Session, Sum, calibrate
from bayesdp.calibration.credibility import chosen_rank, draws_needed, posterior
from bayesdp.cli import run
from bayesdp.errors import BudgetError, InvalidInputError, LedgerError, ModelError
from bayesdp.session.accounting import Accountant
from bayesdp.session.overview import overview
from bayesdp.session.parts import merged
from bayesdp.theorems.leakage import leakage
from bayesdp.theorems.spend import Release, Spend

FRAME = polars.DataFrame(
    {
        "pair": [place // 2 for place in range(40)],
        "height": [(place * 61 % 97) / 97 + (place // 2 * 31 % 17) / 17 for place in range(40)],
        "s": ["a", "a", "b", "b"] * 10,
    }
)
PAIRS = GaussianGroups.fit(FRAME, value="height", group="pair")
WIDE, NARROW, MANY = Sum("height", bounds=(0, 2)), Sum("height", bounds=(0, 1)), Count("height", equals=1.0)
CHAIN = MarkovChain.from_counts([[90, 10], [10, 30]], states=["a", "b"], column="s", length=40)
SHARES = (None, 0.5, 0.9, 0.99)


def opened(folder: Path, model: Model = PAIRS, **reported: Any) -> Session:
    return Session(FRAME, model, dataset="forty", ledger=folder / "budget.db", **reported)


def believed(model: Model, spend: Spend, credibility: float) -> float:
    """Return the ε of the rank that the credibility needs among the models drawn, each asked by itself."""
    drawn = posterior(model, draws_needed(credibility, None))
    ascending = sorted(leakage(each, list(spend)).epsilon for each in drawn)
    return ascending[-chosen_rank(credibility, len(drawn))]


@pytest.mark.parametrize(("model", "query"), [(PAIRS, WIDE), (CHAIN, Count("s", equals="a"))], ids=["pairs", "chain"])
@pytest.mark.slow
def test_a_first_release_has_the_noise_that_calibrate_chooses(tmp_path: Path, model: Model, query: Any) -> None:
    with opened(tmp_path, model, epsilon=2.0, credibility=0.9) as session:
        answer = session.release(query, epsilon=1.0)
        chosen = calibrate(session.model, answer.query.ledger_key().query, epsilon=1.0, credibility=0.9)
    assert answer.tau == pytest.approx(chosen.tau, rel=1e-3)
    assert answer.tau < 0.97 * calibrate(model, query, epsilon=1.0).tau


@pytest.mark.slow
def test_the_whole_spend_is_converted_with_the_same_models(tmp_path: Path) -> None:
    with opened(tmp_path, epsilon=1.5, credibility=0.9) as session:
        session.release(WIDE, epsilon=0.5)
        session.release(NARROW, alpha=120.0)
        last = session.release_all(
            [MANY, Sum("height", bounds=(0, 2), where="height > 0.1")], epsilon=session.remaining
        )
        spend = [(each.query, each.tau) for each in session.history if isinstance(each, Answer)]
        assert len(spend) == 4
        assert session.leaked == last[0].epsilon_total <= 1.5
        everything = merged(tuple(Release(query.ledger_key().query, tau) for query, tau in spend))
        assert believed(PAIRS, everything, 0.9) == pytest.approx(session.leaked, rel=1e-9)
        assert session.leaked > leakage(PAIRS, list(everything)).epsilon
        with pytest.raises(BudgetError):
            session.release(Sum("height", bounds=(0, 3)), epsilon=0.1)
    shown = overview(tmp_path / "budget.db", "forty")
    assert (shown.datasets[0]["credibility"], shown.datasets[0]["epsilon_total"]) == (0.9, last[0].epsilon_total)
    assert "for 90 % of the models that the data leave possible" in str(shown)


def test_it_costs_at_least_as_much_and_grows_with_credibility() -> None:
    totals = [Accountant(PAIRS, share).cost_of((WIDE,), tau=0.3, spent=(), budget=9.0).total for share in SHARES]
    assert totals == sorted(set(totals))
    taus = [Accountant(PAIRS, share).affordable((WIDE,), epsilon=1.0, spent=(), budget=9.0).tau for share in SHARES]
    assert taus == sorted(set(taus), reverse=True)


def test_more_releases_never_leak_less_under_the_models_drawn() -> None:
    spend: Spend = ()
    before = 0.0
    for query, tau in ((WIDE, 0.01), (NARROW, 1e-9), (MANY, 0.1), (WIDE, 1e-9), (WIDE, 0.4)):
        cost = Accountant(PAIRS, 0.9).cost_of((query,), tau=tau, spent=spend, budget=99.0)
        assert cost.epsilon >= 0
        assert cost.total >= before
        spend, before = merged((*spend, Release(query.ledger_key().query, tau))), cost.total
        assert Accountant(PAIRS, 0.9).leaked(spend) == before


def test_of_several_models_the_estimated_ones_are_drawn_from() -> None:
    either = AnyOf(PAIRS, ArbitraryGroups(1, column="height"))
    one, other = (
        Accountant(model, 0.9).affordable((WIDE,), epsilon=1.0, spent=(), budget=2.0) for model in (PAIRS, either)
    )
    assert one.tau == pytest.approx(other.tau, rel=1e-9)


def test_an_account_keeps_its_credibility(tmp_path: Path) -> None:
    with opened(tmp_path, epsilon=2.0, credibility=0.9) as session:
        session.release(WIDE, epsilon=0.5)
        total = session.leaked
    with opened(tmp_path) as session:
        assert session.leaked == total
        assert session.preview(WIDE, epsilon=0.5).epsilon_total == total
        assert session.release(NARROW, epsilon=0.2).credibility == 0.9
    with opened(tmp_path, credibility=0.9) as session:
        assert session.leaked > total
    with pytest.raises(LedgerError, match=r"opened with a credibility of 0\.9, not with 0\.95"):
        opened(tmp_path, credibility=0.95)


def test_an_account_without_one_takes_none(tmp_path: Path) -> None:
    with opened(tmp_path, epsilon=2.0) as session:
        assert session.release(WIDE, epsilon=0.5).credibility is None
    with pytest.raises(LedgerError, match="opened without a credibility"):
        opened(tmp_path, credibility=0.9)


def test_the_same_table_under_another_name_is_recognised(tmp_path: Path) -> None:
    with opened(tmp_path, epsilon=2.0) as session:
        session.release(WIDE, epsilon=0.5)
    with pytest.raises(LedgerError, match="looks like 'forty'"):
        Session(FRAME, PAIRS, dataset="more", epsilon=2.0, ledger=tmp_path / "budget.db", credibility=0.9)


@pytest.mark.parametrize(
    ("model", "credibility", "refused"),
    [
        (MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["a", "b"], column="s"), 0.9, ModelError),
        (GaussianGroups(correlation=0.3, size=2), 0.9, ModelError),
        (PAIRS, 1.0, InvalidInputError),
        (PAIRS, 0.0, InvalidInputError),
        (PAIRS, "most", InvalidInputError),
        (PAIRS, 1 - 1e-12, InvalidInputError),
    ],
)
def test_what_is_refused_leaves_the_ledger_alone(
    tmp_path: Path, model: Model, credibility: Any, refused: type[Exception]
) -> None:
    with pytest.raises(refused):
        opened(tmp_path, model, epsilon=2.0, credibility=credibility)
    assert not overview(tmp_path / "budget.db", None).datasets


def test_answer_and_statement_say_so(tmp_path: Path) -> None:
    with opened(tmp_path, epsilon=2.0, credibility=0.9) as session:
        answer = session.release(WIDE, epsilon=0.5)
        again = session.release(WIDE, epsilon=0.5)
    assert Answer.from_dict(answer.to_dict()) == answer == again
    assert (answer.to_dict()["credibility"], again.credibility, again.reused) == (0.9, 0.9, True)
    assert "at least 90 % of the models keep that the data leave possible" in answer.guarantee
    assert "90 % of the models that the data leave possible" in answer.statement()
    with pytest.raises(InvalidInputError):
        Answer.from_dict({**answer.to_dict(), "credibility": 2})


@pytest.mark.slow
def test_a_column_is_randomized_with_it(tmp_path: Path) -> None:
    with opened(tmp_path, CHAIN, epsilon=2.0, credibility=0.9) as session:
        asked = (Count("s", equals="b"),)
        most = Accountant(session.model).affordable(asked, epsilon=1.0, spent=(), budget=2.0).tau
        assert session.randomize(epsilon=1.0).tau < 0.97 * most


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    FRAME.write_csv(tmp_path / "forty.csv")
    PAIRS.save(tmp_path / "pairs.json")
    release = ["release", f"{tmp_path}/forty.csv", "--model", f"{tmp_path}/pairs.json", "--query", "sum", "--bounds"]
    release += ["0", "2", "--epsilon", "0.5", "--ledger", f"{tmp_path}/budget.db", "--dataset", "forty"]
    assert run([*release, "--budget", "2", "--credibility", "0.9", "--json"]) == 0
    assert '"credibility": 0.9' in capsys.readouterr().out
    assert run([*release, "--credibility", "0.95"]) == 2
    assert "was opened with a credibility of 0.9" in capsys.readouterr().err


def test_parts_cost_the_largest_of_them_under_the_models_drawn() -> None:
    by_place = [Sum("height", bounds=(0, 2), by="place", by_cells=[part]) for part in ("north", "south")]
    one = Accountant(PAIRS, 0.9).cost_of((by_place[0],), tau=0.3, spent=(), budget=9.0)
    both = Accountant(PAIRS, 0.9).cost_of(tuple(by_place), tau=0.3, spent=(), budget=9.0)
    whole = Accountant(PAIRS, 0.9).cost_of((WIDE, NARROW), tau=0.3, spent=(), budget=9.0)
    assert one.total == both.total < whole.total
    taken = Accountant(PAIRS, 0.9).affordable(tuple(by_place), epsilon=one.total, spent=(), budget=9.0)
    assert taken.tau == pytest.approx(0.3, rel=1e-6)
    assert taken.total <= one.total


def test_what_was_made_elsewhere_is_converted_with_it(tmp_path: Path) -> None:
    with opened(tmp_path, epsilon=2.0, credibility=0.9) as session:
        session.release(WIDE, epsilon=0.5)
        recorded = session.record(tau=0.1, neighbours="replace", what="a table made elsewhere", column="height")
        assert recorded.epsilon_total == pytest.approx(session.leaked, rel=1e-12)
