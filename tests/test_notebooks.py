"""What a notebook shows of everything that prints: the words of the text, as HTML that is safe on any page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars
import pytest

import bayesdp as bdp
from bayesdp import Advice
from bayesdp.advice.next_steps import NextSteps
from bayesdp.advice.priced_assumption import PricedAssumption
from bayesdp.advice.sensitivity_to_assumption import Sensitivity
from bayesdp.models import ChainLayout
from bayesdp.models.diagnosis import Diagnosis, Finding, Verdict
from bayesdp.session.session import Session
from bayesdp.session.statement import statement
from bayesdp.theorems.registry import theorems

EVIL = "<script>alert(1)</script>"
"""A column, a state, a part and a data set may be called so."""

LAYOUT = ChainLayout("hour", "meter", 1)
CHAIN = bdp.OddsChain(6, states=(EVIL, "off"), column=EVIL, layout=LAYOUT)
ON = bdp.Count(EVIL, equals=EVIL)


class Page(HTMLParser):
    """The words and the tags of a page; fails on tags that are not closed as they were opened."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words = ""
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._open.append(tag)
        self.tags.append(tag)
        self.attributes += [f"{name}={value}" for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += f" {data} "


def words(text: str) -> set[str]:
    """Return the words of a text, without the rules of its tables."""
    return {word for word in text.split() if set(word) != {"-"}}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    place = tmp_path_factory.mktemp("notebook") / "budget.db"
    with Session(table(), CHAIN, dataset=EVIL, epsilon=20.0, ledger=place, by=EVIL, public=["district"]) as opened:
        yield opened


def table(on: str = EVIL) -> polars.DataFrame:
    rows = [(meter, f"{EVIL}{meter % 2}", hour, on if hour % 3 else "off") for meter in range(4) for hour in range(30)]
    return polars.DataFrame(rows, schema=["meter", "district", "hour", EVIL], orient="row")


@pytest.fixture(scope="module")
def printed(session: Session) -> dict[str, Any]:
    finding = Finding(EVIL, EVIL, EVIL, Verdict.VIOLATED, EVIL, EVIL)
    diagnosis = Diagnosis(EVIL, (finding,), 3, EVIL, (EVIL,), table_name=EVIL)
    foreseen = session.preview_fit(tau=0.5)
    learnt = session.fit(tau=0.5, anyway=True)
    answers = session.release_all([ON, bdp.Histogram(EVIL, cells=(EVIL, "off"))], epsilon=0.5)
    by = bdp.Count(EVIL, equals=EVIL, by="district", by_cells=[f"{EVIL}0", f"{EVIL}1"])
    return {
        "leakage": bdp.leakage(CHAIN.with_diagnosis(diagnosis), ON, tau=1.0),
        "calibration": bdp.calibrate(CHAIN, ON, epsilon=1.0),
        "comparison": bdp.compare(CHAIN, ON, epsilons=[1.0, 2.0]),
        "diagnosis": diagnosis,
        "fit": learnt,
        "answer": answers[0],
        "answers": answers,
        "answers by parts": session.release_by(by, epsilon=0.5),
        "recorded": session.record(tau=0.1, neighbours="replace", what=EVIL),
        "randomized": session.randomize(epsilon=0.5),
        "preview of a fit": foreseen,
        "preview": session.preview(ON, epsilon=1.0),
        "history": session.history,
        "statement": statement(answers[0]),
        "session": session,
        "theorems": theorems(),
        "worst case": bdp.audit.worst_case(CHAIN, ON, tau=1.0),
        "beliefs": bdp.audit.belief(CHAIN, ON, epsilon=1.0),
        "attack": bdp.audit.attack(CHAIN, ON, epsilon=1.0, runs=200),
        "lower bound": bdp.audit.lower_bound(len, CHAIN, ON, runs=100),
        "audit": bdp.audit.audited(CHAIN, ON, epsilon=1.0, runs=200),
    }


NAMES = (
    *("leakage", "calibration", "comparison", "diagnosis", "fit", "answer", "answers", "answers by parts", "recorded"),
    *("randomized", "preview", "preview of a fit", "history", "statement", "session", "theorems"),
    *("worst case", "beliefs", "attack", "lower bound", "audit"),
)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_the_printed_text_escaped(printed: dict[str, Any], name: str) -> None:
    shown = printed[name]._repr_html_()
    page = Page(shown)
    assert not {"script", "img", "link", "iframe", "style"} & set(page.tags)
    assert not re.search(r"(?<![a-z])(?:color|background|src|href|url\()", " ".join(page.attributes))
    if name not in ("theorems", "comparison", "beliefs", "preview of a fit"):  # which print no names but of theorems
        assert EVIL in " ".join(page.words.split())
    if name != "statement":  # which prints as Markdown
        assert words(str(printed[name])) <= words(page.words)


def test_answers_by_parts_and_releases_are_shown_as_tables(printed: dict[str, Any]) -> None:
    assert printed["answers by parts"]._repr_html_().count("<tr>") == 3
    history = printed["history"]
    assert history._repr_html_().count("<tr>") == len(history) + 1
    assert isinstance(history, tuple)
    assert {"made elsewhere", "not kept"} <= {release.outcome for release in history}


def test_an_advice_shows_its_assumptions_and_its_code() -> None:
    leaks = (Sensitivity(EVIL, 1.0, 2.0), Sensitivity(EVIL, 1.0, None))
    assumptions = [
        PricedAssumption(EVIL, EVIL, EVIL, Verdict.VIOLATED, EVIL, reason=EVIL),
        PricedAssumption(
            "bounded odds", "x", EVIL, Verdict.FINE, EVIL, CHAIN, "", bdp.calibrate(CHAIN, ON, epsilon=1.0), leaks
        ),
    ]
    next_steps = NextSteps(f"{EVIL}.csv", {"state": EVIL, "order_by": ["hour"]}, 0.95)
    advice = Advice(ON, 1.0, 0.05, tuple(assumptions), assumptions[1], EVIL, EVIL, next_steps)
    page = Page(advice._repr_html_())
    assert words(str(advice)) <= words(page.words)
    assert page.tags.count("pre") == 2
    assert "script" not in page.tags


def test_a_session_shows_nothing_of_the_values(tmp_path: Path) -> None:
    """Two tables of one size, one question each: the noise differs, and what the session says does not."""
    shown = set()
    for number, on in enumerate((EVIL, "off")):
        place = tmp_path / str(number) / "budget.db"
        place.parent.mkdir()
        with Session(table(on), CHAIN, dataset="meters", epsilon=2.0, ledger=place) as opened:
            opened.release(ON, epsilon=0.5)
            for text in (str(opened), repr(opened), opened._repr_html_()):
                shown.add(text.replace(str(place), "budget.db"))
    assert len(shown) == 3
    assert not any("120" in text for text in shown)  # nor how many records there are


def test_a_session_that_is_closed_can_still_be_looked_at(tmp_path: Path) -> None:
    with Session(table(), CHAIN, dataset="meters", epsilon=2.0, ledger=tmp_path / "budget.db") as opened:
        pass
    assert repr(opened) == "<Session on 'meters', model of type 'odds-chain'>"
    assert "the ledger is closed" in opened._repr_html_()
