"""What a release would cost and how accurate it would be: foretold, and nothing charged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars
import pytest

import bayesdp as bdp
from bayesdp.errors import BayesDPError, CalibrationError, InvalidInputError
from bayesdp.session.preview import Preview
from bayesdp.session.session import Session

ACTIVE = bdp.Count("steps > 0", equals=True)


def test_preview_costs_nothing_and_foretells_the_release(session: Session) -> None:
    foretold = session.preview(ACTIVE, epsilon=0.5)
    assert session.leaked == 0
    answer = session.release(ACTIVE, epsilon=0.5)
    assert (foretold.tau, foretold.scale, foretold.epsilon_remaining) == (
        answer.tau,
        answer.scale,
        answer.epsilon_remaining,
    )
    assert foretold.alpha == answer.accuracy(0.05)
    low, high = answer.interval(0.95)
    assert foretold.interval == (low - answer.value, high - answer.value)  # type: ignore[operator]
    assert "Nothing was charged" in str(foretold)


@pytest.mark.parametrize(
    "query",
    [
        bdp.Sum("nosuch", bounds=(0, 1)),
        bdp.Sum("room", bounds=(0, 1)),
        bdp.Sum(None, bounds=(0, 1)),
        bdp.Sum("x", bounds=(0, 1), where="import os", public_filter=True),
        bdp.Sum("x", bounds=(0, 1), where="nosuch > 3", public_filter=True),
        bdp.Sum("x", bounds=(0, 1), where="room > 3", public_filter=True),
        bdp.Mean("x", bounds=(0, 1), size=10),
        bdp.Count("room", equals=True),
    ],
)
def test_a_preview_refuses_what_a_release_refuses(tmp_path: Path, query: bdp.Query) -> None:
    table = polars.DataFrame({"x": [0.5] * 30, "room": ["hall"] * 30})
    with Session(table, bdp.Independent(), epsilon=9.0, ledger=tmp_path / "b.db", dataset="d") as session:
        session.release(bdp.Mean("x", bounds=(0, 1)), epsilon=0.5)
        spent = session.leaked
        for ask in (session.preview, session.release):
            with pytest.raises(BayesDPError):
                ask(query, epsilon=0.1)
        assert session.leaked == spent


def test_a_preview_of_what_is_stored_on_a_coarser_grid(tmp_path: Path) -> None:
    table = polars.DataFrame({"x": [0.5, 1.0, 0.25]})
    query = bdp.Sum("x", bounds=(0, 1))
    with Session(table, bdp.Independent(), epsilon=2.0, ledger=tmp_path / "b.db", dataset="d") as session:
        answer = session.release(query, epsilon=1e-10)
        foretold = session.preview(query, epsilon=1e-10)
        assert foretold.stored
        assert (foretold.scale, foretold.alpha) == (answer.scale, answer.accuracy())
        for alpha in (1e100, 1e308):
            with pytest.raises(CalibrationError, match="smaller alpha"):
                session.release(bdp.Sum("x", bounds=(0, 2)), alpha=alpha)


def test_a_preview_warns_too(tmp_path: Path) -> None:
    table = polars.DataFrame({"x": [0, 1] * 50})
    with Session(table, bdp.Independent(), epsilon=50.0, ledger=tmp_path / "b.db", dataset="d") as session:
        drowned = session.preview(bdp.Count("x", equals=1), epsilon=0.01)
        assert "Warning: The noise is larger than any possible answer" in str(drowned)
        assert drowned.to_dict()["warnings"] == list(drowned.warnings)
        assert session.preview(bdp.Count("x", equals=1), epsilon=1.0).warnings == ()
        assert "hardly a promise" in str(session.preview(bdp.Count("x", equals=1), epsilon=30.0))
        assert "at most at 73.2 : 26.8" in str(session.preview(bdp.Count("x", equals=1), epsilon=1.0))


def test_a_preview_reads_its_own_json(session: Session) -> None:
    foreseen = session.preview(ACTIVE, epsilon=0.5)
    document = json.loads(foreseen.to_json())
    assert Preview.from_dict(document) == foreseen
    assert Preview.from_dict({**document, "kind": "preview", "schema": 1}) == foreseen
    wrong: list[dict[str, Any]] = [{"alpha": "far"}, {"interval": [1.0, "a"]}, {"query": {}}, {"schema": 2}]
    for changed in wrong:
        with pytest.raises(InvalidInputError):
            Preview.from_dict({**document, **changed})
    with pytest.raises(InvalidInputError, match="the preview lacks beta"):
        Preview.from_dict({name: value for name, value in document.items() if name != "beta"})
