"""A session answers nothing for free: its refusals are one bit, whatever the private values are."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars
import pytest

import bayesdp as bdp
from bayesdp.cli import run
from bayesdp.errors import BayesDPError, LedgerError, NoColumnError, QueryError, RecordsError, RefusedError
from bayesdp.ledger import Ledger, default_ledger
from bayesdp.models.layout import ChainLayout, GroupLayout
from bayesdp.session.discretion import discreetly

Case = tuple[bdp.Model, bdp.Query, dict[str, Any], dict[str, Any], dict[str, Any]]

CHAIN = bdp.MarkovChain([[0.7, 0.3], [0.4, 0.6]], column="x", length=4)
ORDERED = bdp.MarkovChain([[0.7, 0.3], [0.4, 0.6]], column="x", length=4, layout=ChainLayout("t", step=1))
BY_PERSON = bdp.MarkovChain([[0.7, 0.3], [0.4, 0.6]], column="x", length=1, layout=ChainLayout("t", "who"))
ROLES = bdp.GaussianGroups(
    covariance=[[2.0, 1.0], [1.0, 2.0]], column="x", layout=GroupLayout("x", "family", "role", dropped=True)
)
COUNT = bdp.Count("x", equals=1)
SUM = bdp.Sum("x", bounds=(0, 10))
BY_PLACE = bdp.Mean("x", bounds=(0, 10), where="g = 1", public_filter=True, size=1)

CASES: dict[str, Case] = {
    "other states": (CHAIN, COUNT, {"x": [0, 1, 7, 1]}, {"x": [0, 7, 7, 1]}, {}),
    "states asked about": (bdp.MarkovChain(CHAIN.transition), COUNT, {"x": [0, 1, 7]}, {"x": [0, 7, 7]}, {}),
    "missing": (CHAIN, COUNT, {"x": [0, 1, None, 1]}, {"x": [0, None, None, 1]}, {}),
    "missing numbers": (bdp.Independent(), SUM, {"x": [0.5, None, 2.0]}, {"x": [None, None, 2.0]}, {}),
    "infinite": (bdp.Independent(), SUM, {"x": [0.5, float("inf"), 2.0]}, {"x": [float("inf")] * 2 + [2.0]}, {}),
    "longest chain": (
        BY_PERSON,
        COUNT,
        {"x": [0, 1, 1, None], "t": [1, 2, 3, 4], "who": ["a"] * 4},
        {"x": [0, 1, None, None], "t": [1, 2, 3, 4], "who": ["a"] * 4},
        {"missing": "drop"},
    ),
    "largest group": (
        ROLES,
        SUM,
        {"x": [1.0, 2.0, 3.0, 4.0], "family": [1] * 4, "role": ["a", "b", "c", "d"]},
        {"x": [1.0, 2.0, 3.0, None], "family": [1] * 4, "role": ["a", "b", "c", "d"]},
        {},
    ),
    "roles": (
        ROLES,
        SUM,
        {"x": [1.0, 2.0, 3.0, 4.0], "family": [1, 1, 2, 2], "role": ["a", "a", "b", "b"]},
        {"x": [1.0, 2.0, 3.0, None], "family": [1, 1, 2, 2], "role": ["a", "a", "b", "b"]},
        {},
    ),
    "ties": (ORDERED, COUNT, {"x": [0, 1, 1], "t": [1, 1, 2]}, {"x": [0, 1, 1], "t": [1, 1, 1]}, {}),
    "no order": (ORDERED, COUNT, {"x": [0, 1, 1], "t": [1, None, 2]}, {"x": [0, 1, 1], "t": [1, None, None]}, {}),
    "the records of a mean": (
        bdp.Independent(),
        BY_PLACE,
        {"x": [1.0, 2.0, 3.0], "g": [1, 1, 2]},
        {"x": [1.0, 2.0, 3.0], "g": [1, 1, 1]},
        {"public": ["g"]},
    ),
    "no record of a mean": (
        bdp.Independent(),
        BY_PLACE,
        {"x": [1.0, 2.0, 3.0], "g": [2, 2, 2]},
        {"x": [1.0, 2.0, 3.0], "g": [2, 2, 3]},
        {"public": ["g"]},
    ),
}


def attributes(error: BaseException | None) -> Iterator[str]:
    """Yield all that an exception carries, and the exceptions that it is linked to, but for its frames."""
    if error is not None:
        yield f"{type(error).__name__} {error.args!r} {vars(error)!r}"
        yield from attributes(error.__context__)
        yield from attributes(error.__cause__)


def reported(error: BaseException) -> str:
    """Return all that a notebook, a log or another process may show of an exception."""
    assert error.__context__ is None
    assert error.__cause__ is None
    passed_on = pickle.loads(pickle.dumps(error))
    printed = [line for line in traceback.format_exception(error) if not line.startswith("  File")]
    return "\n".join([*printed, *attributes(error), *attributes(passed_on)])


def refusal(frame: object, model: bdp.Model, query: bdp.Query, **more: Any) -> str:
    """Return what a session says of a table it refuses; nothing may have been charged."""

    def ask() -> None:
        reported = {"epsilon": 1.0, "dataset": "d", "separate_because": "a test", **more}
        with bdp.Session(frame, model, **reported) as session:
            session.release(query, epsilon=0.5)

    with pytest.raises(BayesDPError) as raised:
        ask()
    with Ledger(default_ledger()) as ledger:
        assert {entry.kind for entry in ledger.entries()} <= {"check", "refusal"}
        assert ledger.entries(kind="refusal")
    assert type(raised.value) is RefusedError
    return reported(raised.value)


@pytest.mark.parametrize("name", CASES)
def test_neighbouring_tables_are_refused_in_the_same_words(name: str) -> None:
    model, query, one, other, more = CASES[name]
    messages = {refusal(polars.DataFrame(columns), model, query, **more) for columns in (one, other)}
    assert len(messages) == 1
    for columns in (one, other):
        with pytest.raises(RecordsError):
            bdp.check_table(polars.DataFrame(columns), model, query, **more)


CSV: dict[str, tuple[bdp.Model, bdp.Query, str, str]] = {
    "texts among numbers": (bdp.Independent(), SUM, "x\n1\nabc\n3\n", "x\n1\nabc\n12x\n"),
    "a text among states": (CHAIN, COUNT, "x\n0\n1\nabc\n", "x\n0\nabc\n2012-10-01\n"),
    "no value at all": (bdp.Independent(), SUM, "x,y\n,1\n,2\n", "x,y\n,1\nabc,2\n"),
    "too many fields": (bdp.Independent(), SUM, "x\n1\n2,5\n3\n", "x\n1\n2,5,7\n3\n"),
    "an open quote": (bdp.Independent(), SUM, 'x\n1\n"2\n3\n', 'x\n1\n2\n"3\n'),
    "a filter": (
        bdp.Independent(),
        bdp.Count("x", equals=1, where="y > 3", public_filter=True),
        "x,y\n1,2\n1,abc\n",
        "x,y\n1,2\n1,true\n",
    ),
    "missing": (bdp.Independent(), SUM, "x\n1\nNA\n3\n", "x\n1\nNA\nNA\n"),
    "times of day": (
        bdp.Independent(),
        bdp.Count("x > 5", equals=True),
        "x,y\n12:30:00,1\n12:30:01,2\n",
        "x,y\n12:30:00,1\nhello,2\n",
    ),
}


@pytest.mark.parametrize("name", CSV)
def test_what_a_csv_file_was_found_to_hold_is_not_said(name: str, tmp_path: Path) -> None:
    model, query, one, other = CSV[name]
    messages = set()
    for text in (one, other):
        path = tmp_path / "table.csv"
        path.write_text(text)
        messages.add(refusal(path, model, query, **({"public": ["y"]} if query.public_filter else {})))
    assert len(messages) == 1


def test_the_first_record_of_a_file_without_header_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("Alice,42\nBob,43\n")
    session = bdp.Session(path, bdp.Independent(), epsilon=1.0, dataset="d")
    with session, pytest.raises(NoColumnError) as raised:
        session.release(bdp.Sum("age", bounds=(0, 100)), epsilon=0.5)
    assert "Alice" not in reported(raised.value)
    with pytest.raises(NoColumnError, match="Alice"):
        bdp.check_table(path, bdp.Independent(), bdp.Sum("age", bounds=(0, 100)))


def test_a_wrong_question_is_not_a_refusal(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("x\n1\n2\n3\n")
    session = bdp.Session(path, bdp.Independent(), epsilon=1.0, dataset="d")
    with session, pytest.raises(QueryError, match="is a condition"):
        session.release(bdp.Sum("x > 1", bounds=(0, 1)), epsilon=0.5)
    with Ledger(default_ledger()) as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["check"]


def test_what_pandas_objects_were_found_to_hold_is_not_said() -> None:
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame({"x": values}, dtype=object) for values in ([1, "a", 2], [1, 2, 3], [True, False, True])]
    assert len({refusal(frame, bdp.Independent(), SUM) for frame in frames}) == 1


def command_line(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = run(arguments)
    return status, capsys.readouterr().err


def test_the_command_line_says_no_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, table = tmp_path / "chain.json", tmp_path / "table.csv"
    model.write_text(CHAIN.to_json())
    said = set()
    for text in ("x\n0\n7\n1\n", "x\n7\n7\n1\n", "x\n0\nNA\n1\n", "x\n0\nabc\n1\n", "x\n0\n1\n1\n0\n1\n"):
        table.write_text(text)
        release = ("release", str(table), "--model", str(model), "--query", "count", "--states", "1")
        said.add(command_line(capsys, *release, "--epsilon", "0.5", "--dataset", "d", "--budget", "1"))
    ((status, line),) = said
    assert status == 2
    assert line.count("\n") == 1
    assert "the table is refused" in line


def test_every_refusal_is_in_the_ledger() -> None:
    frame = polars.DataFrame({"x": [0, 1, 7, 1]})
    for _ in range(3):
        with pytest.raises(RefusedError):
            bdp.Session(frame, CHAIN, epsilon=1.0, dataset="d")
    with Ledger(default_ledger()) as ledger:
        assert [entry.kind for entry in ledger.entries("d")] == ["check"] + ["refusal"] * 3
        assert "7" not in "".join(entry.body for entry in ledger.entries("d"))
        assert ledger.verify().ok
    with bdp.Session(polars.DataFrame({"x": [0, 1, 0, 1]}), CHAIN, epsilon=1.0, dataset="d") as session:
        session.release(COUNT, epsilon=0.5)


class _Unread:
    """A table that must not be read."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the data were read: {name}")


@pytest.mark.parametrize(
    "open_it",
    [
        lambda: bdp.Session(_Unread(), bdp.ArbitraryGroups(4), dataset="d"),
        lambda: bdp.Session(_Unread(), CHAIN, dataset="new"),
    ],
)
def test_model_and_account_are_compared_before_data_are_read(open_it: Callable[[], object]) -> None:
    with bdp.Session(polars.DataFrame({"x": [0, 1, 0, 1]}), CHAIN, epsilon=1.0, dataset="d") as session:
        session.release(COUNT, epsilon=0.5)
    with pytest.raises((LedgerError, ValueError), match=r"model|budget"):
        open_it()


LEARNER = bdp.OddsChain(9, column="x", states=[0, 1], layout=ChainLayout("t"))
STEPS: dict[str, tuple[bdp.Model, Callable[[bdp.Session], object]]] = {
    "release": (bdp.MarkovChain(CHAIN.transition), lambda session: session.release(COUNT, epsilon=0.5)),
    "release_all": (bdp.MarkovChain(CHAIN.transition), lambda session: session.release_all([COUNT], epsilon=0.5)),
    "fit": (LEARNER, lambda session: session.fit(tau=0.1, within={"g": [1]}, anyway=True)),
    "randomize": (bdp.MarkovChain(CHAIN.transition, column="x"), lambda session: session.randomize(epsilon=0.5)),
    "record": (bdp.Independent(), lambda session: session.record(tau=50.0, neighbours="replace", what="a mean")),
}


def open_and(take: Callable[[bdp.Session], object], frame: object, model: bdp.Model) -> None:
    reported: dict[str, Any] = {"epsilon": 1.0, "dataset": "d", "separate_because": "a test"}
    with bdp.Session(frame, model, public=["g"], **reported) as session:
        take(session)


@pytest.mark.parametrize("step", STEPS)
def test_no_step_of_a_session_links_its_refusal_to_what_it_found(step: str) -> None:
    model, take = STEPS[step]
    said = set()
    for values in ([0, 1, 7, 1], [0, 7, 7, 1]):
        frame = polars.DataFrame({"x": values, "t": [1, 2, 3, 4], "g": values})
        with pytest.raises(BayesDPError) as raised:
            open_and(take, frame, model)
        said.add(reported(raised.value))
    assert len(said) == 1


def test_an_error_of_a_session_has_no_context_or_cause() -> None:
    def work() -> None:
        try:
            int("Alice")
        except ValueError:
            raise QueryError("the question is wrong") from None

    with pytest.raises(QueryError, match="the question is wrong") as raised:
        discreetly(work)
    assert "Alice" not in reported(raised.value)
