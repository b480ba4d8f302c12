"""What tests of queries share: kinds that are forgotten again, and a session that refuses."""

from collections.abc import Callable

import polars
import pytest

from bayesdp import Independent, Query, Session
from bayesdp.errors import BayesDPError


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test defines is forgotten afterwards."""
    monkeypatch.setattr(Query, "_kinds", dict(Query._kinds))


@pytest.fixture
def refused() -> Callable[[Query, str], None]:
    """Return a function that sees to it that a session refuses a question before anything is charged."""

    def check(query: Query, message: str) -> None:
        table = polars.DataFrame({"s": [1, 2, 3, 1]})
        with Session(table, Independent(), epsilon=1.0, dataset="d") as session:
            with pytest.raises(BayesDPError, match=message):
                session.release(query, epsilon=0.5)
            assert session.leaked == 0

    return check
