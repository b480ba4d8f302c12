"""A data set on a server gives what a session gives: the same results, the same refusals, charged once."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import httpx
import pytest
from holding import URL, Holder  # type: ignore[import-not-found]

import bayesdp as bdp
from bayesdp.client import Remote, RemoteDataset
from bayesdp.errors import (
    AccessError,
    BudgetError,
    InvalidInputError,
    LedgerError,
    MissingDependencyError,
    NoColumnError,
    RemoteError,
)

ON = bdp.Count("on", equals=1)
METHODS = ("preview", "release", "release_by", "release_all", "running")


@pytest.mark.parametrize("name", METHODS)
def test_the_signatures_are_those_of_a_session(name: str) -> None:
    session, remote = signature(getattr(bdp.Session, name)), signature(getattr(RemoteDataset, name))
    kept = {known: (each.kind, each.default) for known, each in session.parameters.items() if known != "accept"}
    assert {known: (each.kind, each.default) for known, each in remote.parameters.items()} == kept
    assert remote.return_annotation == session.return_annotation


def test_an_answer_is_that_of_the_session(switch: RemoteDataset, holder: Holder) -> None:
    answer = switch.release(ON, epsilon=0.5)
    assert isinstance(answer, bdp.Answer)
    stored = holder.session.history[-1]
    assert answer == stored
    assert answer.interval(0.9) == stored.interval(0.9)
    again = switch.release(ON, epsilon=0.5)
    assert (again.value, again.reused) == (answer.value, True)
    assert list(switch.answers) == [answer]
    assert "Released before" in str(again)


def test_several_questions_and_windows_have_an_answer_each(switch: RemoteDataset, holder: Holder) -> None:
    both = switch.release_all([ON, bdp.Count("on", equals=0)], epsilon=0.5)
    assert [answer.query.description for answer in both] == [answer.about for answer in holder.session.history]
    by_hour = switch.release_by(bdp.Count("on", equals=1, by="hour"), epsilon=0.5)
    assert by_hour.parts == tuple(range(24))
    assert by_hour[7] == holder.session.release_by(bdp.Count("on", equals=1, by="hour"), epsilon=0.5)[7]


def test_a_preview_charges_nothing(switch: RemoteDataset, holder: Holder) -> None:
    assert switch.preview(ON, epsilon=0.5) == holder.session.preview(ON, epsilon=0.5)
    assert str(switch.preview(ON, alpha=20)) == str(holder.session.preview(ON, alpha=20))
    assert holder.session.leaked == 0
    assert "Idempotency-Key" not in holder.requests[0].headers


def test_running_totals_are_those_of_the_session(switch: RemoteDataset, holder: Holder) -> None:
    sent: list[dict[str, Any]] = []
    holder.altered = sent.append
    totals = switch.running(ON, every="day", horizon=30, epsilon=2.0)
    assert json.loads(totals.to_json()) == {**sent[0], "head": totals.posting.head}
    ours = holder.session.running(ON, every="day", horizon=30, epsilon=2.0)
    assert (totals.values, len(totals)) == (ours.values, 4)
    assert totals["2024-01-03"].interval(0.9) == ours["2024-01-03"].interval(0.9)
    assert str(switch.running(ON, every="day", horizon=30, epsilon=2.0)) == str(ours)


def test_the_description_says_what_may_be_known(switch: RemoteDataset, remote: Remote) -> None:
    about = switch.describe()
    assert (about.budget, about.delta, about.public["hour"]) == (9.0, None, (7, 8))
    assert type(about).from_dict(about.to_dict()) == about
    for words in ("my/switch", "independent of one another", "your ε today", "7, 8", "Int64"):
        assert words in str(switch)
    assert (remote.datasets, list(remote)) == (("my/switch",), ["my/switch"])
    assert "my/switch" in str(remote)


@pytest.mark.parametrize(("form", "accept"), [("markdown", "text/markdown"), ("html", "text/html")])
def test_the_statement_is_that_of_the_server(switch: RemoteDataset, form: Any, accept: str) -> None:
    answer = switch.release(ON, epsilon=0.5)
    assert switch.statement(answer, form) == f"The statement on entry {answer.entry} as {accept}"
    assert switch.statement(answer.entry, form) == switch.statement(answer, form)
    with pytest.raises(InvalidInputError, match="form must be markdown or html"):
        switch.statement(answer, "pdf")  # type: ignore[arg-type]


def test_refusals_are_those_of_the_session(switch: RemoteDataset, holder: Holder) -> None:
    with pytest.raises(BudgetError) as refused:
        switch.release(ON, epsilon=50.0)
    with pytest.raises(BudgetError) as ours:
        holder.session.release(ON, epsilon=50.0)
    assert (str(refused.value), vars(refused.value)) == (str(ours.value), vars(ours.value))
    with pytest.raises(NoColumnError, match="nosuch"):
        switch.release(bdp.Count("nosuch", equals=1), epsilon=0.1)


def test_what_is_no_such_question_is_not_sent(switch: RemoteDataset, holder: Holder) -> None:
    wrong: list[tuple[Callable[..., Any], Any]] = [
        (switch.release, bdp.Count("on", equals=1, by="hour")),
        (switch.release_by, ON),
        (switch.preview, 3),
        (switch.release_all, ON),
        (partial(switch.running, every="day"), "count"),
    ]
    for ask, query in wrong:
        with pytest.raises(InvalidInputError):
            ask(query, epsilon=0.1)
    assert not holder.requests


def test_an_infinite_number_is_not_sent(switch: RemoteDataset, holder: Holder) -> None:
    with pytest.raises(InvalidInputError, match="cannot be written as JSON"):
        switch.release(ON, epsilon=float("inf"))
    assert not holder.requests


def test_another_token_is_refused(holder: Holder) -> None:
    with bdp.connect(URL, "wrong", transport=httpx.MockTransport(holder)) as remote:
        with pytest.raises(AccessError, match=r"^access denied$"):
            remote["my/switch"].describe()
        assert str(remote["my/switch"]) == "access denied"
        assert str(remote) == "access denied"
    assert "is closed; connect again" in str(remote)


def test_a_lost_answer_is_charged_once(switch: RemoteDataset, holder: Holder) -> None:
    holder.lost = 2
    answer = switch.release(ON, epsilon=0.5)
    assert len(set(holder.keys)) == 1
    assert len(holder.keys) == 3
    assert list(holder.session.history) == [answer]
    switch.release(ON, epsilon=0.6)
    assert len(set(holder.keys)) == 2, "another release has another key"


def test_the_key_stays_until_there_is_an_outcome(switch: RemoteDataset, holder: Holder) -> None:
    holder.lost = 100
    with pytest.raises(RemoteError, match="asking the same again costs nothing"):
        switch.release(ON, epsilon=0.5)
    holder.lost = 0
    asked = len(holder.keys)
    answer = switch.release(ON, epsilon=0.5)
    assert len(set(holder.keys)) == 1
    assert asked == 6
    assert not answer.reused
    with pytest.raises(BudgetError):
        switch.release(ON, epsilon=50.0)
    with pytest.raises(BudgetError):
        switch.release(ON, epsilon=50.0)
    assert len(set(holder.keys)) == 3, "a refusal is an outcome"


def test_an_answer_continues_the_ledger_seen_last(switch: RemoteDataset, holder: Holder) -> None:
    switch.release(ON, epsilon=0.5)
    assert not any("heads" in str(request.url) for request in holder.requests), "there is nothing to compare with"
    holder.session.release(ON, epsilon=0.7)  # by somebody else
    switch.release(ON, epsilon=0.9)
    assert "heads?entry=" in str(holder.requests[-1].url)
    asked = len(holder.requests)
    switch.release(ON, epsilon=0.9)  # nothing new
    assert len(holder.requests) == asked + 1


CHAINS = {
    "rewritten": lambda said: said.update(continues=False),
    "shorter": lambda said: said["head"].update(entry=1),
    "another last entry": lambda said: said["head"].update(hash="0" * 64),
    "not said": lambda said: said.pop("continues"),
    "truthy": lambda said: said.update(continues="yes"),
}


def test_another_ledger_is_noticed(switch: RemoteDataset, holder: Holder) -> None:
    switch.release(ON, epsilon=0.5)
    for number, changed in enumerate(CHAINS.values()):
        holder.altered = lambda said, changed=changed: changed(said) if said["kind"] == "continues" else None
        epsilon = 0.6 + number / 10
        with pytest.raises(LedgerError, match="does not continue the one that was seen last"):
            switch.release(ON, epsilon=epsilon)
        holder.altered = lambda document: None
        assert switch.release(ON, epsilon=epsilon).reused, "what was charged is stored"


def test_another_ledger_of_the_same_length_is_noticed(switch: RemoteDataset, holder: Holder) -> None:
    switch.release(ON, epsilon=0.5)
    holder.altered = lambda document: document["head"].update(hash="0" * 64)
    with pytest.raises(LedgerError):
        switch.release(ON, epsilon=0.5)


def test_an_answer_that_comes_late_is_no_other_ledger(switch: RemoteDataset, holder: Holder) -> None:
    early = dict(holder.head)
    switch.release(ON, epsilon=0.5)
    holder.altered = lambda document: document.update(head=early) if document["kind"] == "release" else None
    assert switch.release(ON, epsilon=0.5).reused


def test_a_file_keeps_what_was_seen(holder: Holder, tmp_path: Path) -> None:
    heads = tmp_path / "heads.json"

    def release(epsilon: float) -> bdp.Answer:
        with bdp.connect(URL, "secret", heads=heads, transport=httpx.MockTransport(holder)) as remote:
            return remote["my/switch"].release(ON, epsilon=epsilon)

    release(0.5)
    release(0.7)
    assert json.loads(heads.read_text())["heads"] == {URL: {"my/switch": holder.head}}
    holder.altered = lambda document: document.update(continues=False)
    with pytest.raises(LedgerError):
        release(0.9)


def last(document: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = document["answers"][-1]
    return answer


TAMPERED = {
    "another accuracy": lambda said: last(said).update(alpha=1.0),
    "a narrower interval": lambda said: last(said).update(interval=[3.0, 4.0]),
    "a value that is none": lambda said: last(said).update(value="many"),
    "no noise": lambda said: last(said).pop("noise"),
    "a newer schema": lambda said: last(said).update(schema=9),
    "no answer": lambda said: said.update(answers=[]),
    "two answers": lambda said: said.update(answers=said["answers"] * 2),
    "no list": lambda said: said.update(answers="none"),
    "no head": lambda said: said.pop("head"),
    "another kind": lambda said: said.update(kind="answers"),
}


def test_what_is_not_consistent_is_no_answer(switch: RemoteDataset, holder: Holder) -> None:
    for what, changed in TAMPERED.items():
        holder.altered = changed
        with pytest.raises(RemoteError):
            pytest.fail(f"{what}: {switch.release(ON, epsilon=0.5)}")


STREAMS = {
    "another latest": lambda said: said["totals"][-1].update(value=10**6),
    "a total without noise": lambda said: said["totals"][0].pop("noises"),
    "no errors": lambda said: said.update(errors=[]),
    "another period": lambda said: said.update(every="year"),
}


def test_totals_that_are_not_consistent_are_none(switch: RemoteDataset, holder: Holder) -> None:
    for what, changed in STREAMS.items():
        holder.altered = changed
        with pytest.raises(RemoteError):
            pytest.fail(f"{what}: {switch.running(ON, every='day', horizon=4, epsilon=2.0)}")


def test_without_numpy_nothing_is_charged_for_totals(
    switch: RemoteDataset, holder: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bayesdp.client.remote.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="pip install numpy"):
        switch.running(ON, every="day", epsilon=2.0)
    assert not holder.requests
    assert [switch.release(ON, epsilon=0.5)] == list(holder.session.history)
    holder.altered = lambda document: document.update(delta=1e-6)
    with pytest.raises(MissingDependencyError, match="Gaussian"):
        switch.release(ON, epsilon=0.7)
    assert len(holder.session.history) == 1
    assert [*switch.answers, switch.release(ON, epsilon=0.7, noise="laplace")] == list(holder.session.history)
