"""How much an analyst may spend, over HTTP and however many servers there are."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from served import CONFIGURATION, COUNT, Served, Serving  # type: ignore[import-not-found]

from bayesdp.ledger import Ledger
from bayesdp.ledger.postings import exact


def parts(number: int) -> list[dict[str, object]]:
    """Different questions that read the same records."""
    return [{**COUNT, "where": f"t >= {row}", "public_filter": True} for row in range(number)]


def test_what_is_used_up_is_said_with_its_numbers(served: Served) -> None:
    assert served.release(0.75).status_code == 200
    refused = served.release(0.5, query={**COUNT, "equals": 0})
    said = refused.json()
    assert (refused.status_code, said["error"]) == (409, "AllowanceError")
    assert said["remaining"] == pytest.approx(0.25, abs=1e-6)
    assert (said["by"], said["when"]) == ("ada", "today")
    assert served.release(0.5, "bob", query={**COUNT, "equals": 0}).status_code == 200, "others have their own"


def test_a_stream_is_charged_once_to_who_started_it(serving: Serving) -> None:
    text = CONFIGURATION.replace('column = "s" }', 'column = "s", layout = { order_by = ["t"] } }', 1)
    served = serving(text=text)
    body = {"query": COUNT, "epsilon": 0.5, "every": 10, "horizon": 10}
    first, again = served.post("running", body), served.post("running", body, "bob")
    assert (first.status_code, again.status_code) == (200, 200), first.json()
    assert first.json()["kind"] == "running"
    totals = [[total["value"] for total in answer.json()["totals"]] for answer in (first, again)]
    assert totals[0] == totals[1]
    assert len(totals[0]) == 5  # the last of six periods is not complete
    session = served.service._datasets["steps"].session
    assert (session.posted("bob"), session.posted("ada")[1] <= 0.5) == ((0.0, 0.0), True)


@pytest.mark.slow
def test_two_servers_let_nobody_overspend(serving: Serving) -> None:
    servers = [serving(), serving()]
    for served in servers:
        served.token("ada")
    questions = parts(16)

    def ask(place: int) -> int:
        served = servers[place % 2]
        answer = served.release(0.25, query=questions[place])
        return int(answer.status_code)

    with ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(ask, range(16)))
    assert sorted(set(statuses)) == [200, 409]
    with Ledger(servers[0].folder / "budget.db", create=False) as ledger:
        posted = [exact(entry.content()["details"]["posted"]) for entry in ledger.entries("steps", "charge")]
        assert ledger.verify().ok
    assert len(posted) == statuses.count(200) >= 4
    assert sum(posted) <= 1


def test_checks_of_a_table_are_limited(serving: Serving) -> None:
    text = CONFIGURATION.replace('"independent", column = "s" }', '"independent" }\nchecks = 2')
    served = serving(text=text)
    (served.folder / "other.csv").write_text("s,x,y\n0,1,1\n1,0,0\n")
    served = serving(text=text)

    def asked(column: str) -> str:
        body = {"query": {"query": "count", "column": column, "equals": 1}, "epsilon": 0.1}
        return str(served.post("release", body, dataset="other").json().get("message"))

    assert asked("x") == "None"
    assert "this table was checked under 2 different models or columns, and 2 are allowed" in asked("y")
