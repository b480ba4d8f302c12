"""Statements: what the page says, how it is written, and where the proof it names is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from answers import DIAGNOSIS, DOCUMENT  # type: ignore[import-not-found]
from reader import Reader  # type: ignore[import-not-found]

import bayesdp as bdp
from bayesdp.cli import run
from bayesdp.errors import InvalidInputError
from bayesdp.session.answer import Answer
from bayesdp.session.statement import TITLE, statement, write

CHAIN = bdp.MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["idle", "active"])

CHAINED: dict[str, Any] = {
    **DOCUMENT,
    "theorem": "markov-mixing",
    "proof": "docs/theory/markov-mixing.md",
    "assumption": CHAIN.assumption,
}
EVERYTHING: dict[str, Any] = {
    **CHAINED,
    "query": {"query": "count", "column": "s", "equals": 1, "where": "district == 3", "public_filter": True},
    "diagnosis": DIAGNOSIS,
    "accepted": "the board agreed",
    "by": "Ada Lovelace",
    "version": "1.2.3",
    "ledger": "postgresql://dp@db/ledger",
    "parameters": CHAIN.parameters,
}
HOSTILE = "<script>alert(1)</script> | [x](http://evil) `` ` \n## forged & \"q' \\| <img src=x>"


def answer(**changes: Any) -> Answer:
    return Answer.from_dict({**CHAINED, **changes})


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_the_page_says_everything_a_reader_must_know(form: str) -> None:
    page = statement(Answer.from_dict(EVERYTHING))
    text = page.markdown() if form == "markdown" else Reader(page.html()).text
    for part in (
        "4250",
        "4248 (rounding what is released costs no privacy)",
        "off by less than 310 (unrounded 301) in 95 % of cases",
        "an attacker who starts at 50 : 50 ends at most at 73.2 : 26.8",
        "violated by the data; released anyway because: the board agreed",
        "on steps.csv (500 rows, 2026-11-01) says: violated",
        "order: violated",
        "same over time: fine",
        "was asserted to be public by Ada Lovelace",
        "district == 3",
        "idle          0.9000  0.1000",
        "Odds ratio of neighbouring records: at most 13.5.",
        "by Ada Lovelace",
        "postgresql://dp@db/ledger, entry 2",
        "bayesdp 1.2.3",
        "bayesdp proof markov-mixing",
        "Warning: The data contradict the assumption",
        "c" * 64,
    ):
        assert part in text, part


def test_a_bare_answer_says_what_it_lacks() -> None:
    page = answer().statement()
    assert "| Verdict on the model | never diagnosed on a table |" in page
    assert "This model was never diagnosed on a table. `bayesdp diagnose`" in page
    assert "by (responsible person not named)" in page
    assert "asserted to be public" not in page
    assert "If the assumption is wrong" not in page
    assert "Warning" not in page
    private = answer(query={"query": "count", "column": "s", "equals": 1, "where": "s > 0"})
    assert "asserted" not in private.statement()


def test_the_statement_has_the_independence_of_chains() -> None:
    from bayesdp.models.layout import ChainLayout

    meters = bdp.MarkovChain([[0.9, 0.1], [0.4, 0.6]], layout=ChainLayout("time", "meter"))
    page = answer(assumption=meters.assumption).statement()
    assert "one chain for each meter, and these chains are independent of one another." in page


def test_the_html_needs_nothing_from_elsewhere_and_runs_nothing() -> None:
    page = Reader(statement(Answer.from_dict(EVERYTHING)).html())
    assert not {"script", "link", "img", "iframe", "object", "a"} & set(page.tags)
    assert {name for name, _ in page.attributes} <= {"lang", "charset", "name", "content", "class"}
    assert "url(" not in page.text
    assert "@import" not in page.text
    assert "@page" in page.text
    assert page.tags.count("h1") == 1


def rendered(page: str) -> Reader:
    """Return what a reader of Markdown with tables makes of a page."""
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return Reader(markdown.render(page))


WORDS = ["dataset", "accepted", "by", "ledger", "version", "assumption", "protects", "proof", "theorem", "parameters"]


@pytest.mark.parametrize("name", WORDS)
def test_words_of_others_stay_words(name: str) -> None:
    hostile, plain = (Answer.from_dict({**EVERYTHING, name: words}) for words in (HOSTILE, "plain"))
    for read, expected in (
        (Reader(statement(hostile).html()), Reader(statement(plain).html())),
        (rendered(hostile.statement()), rendered(plain.statement())),
    ):
        assert read.tags == expected.tags
        assert read.attributes == expected.attributes
        assert " ".join(HOSTILE.split()) in " ".join(read.text.split())


@pytest.mark.parametrize("part", ["column", "where", "equals"])
def test_the_words_of_a_question_stay_words(part: str) -> None:
    def asked(words: str) -> Answer:
        return Answer.from_dict({**EVERYTHING, "query": {**EVERYTHING["query"], part: words}})

    hostile, plain = ("`<script>` == 1", "`plain` == 1") if part == "where" else (HOSTILE, "plain")
    for read, expected in (
        (Reader(statement(asked(hostile)).html()), Reader(statement(asked(plain)).html())),
        (rendered(asked(hostile).statement()), rendered(asked(plain).statement())),
    ):
        assert read.tags == expected.tags
        assert "<script>" in read.text


def test_it_is_written_by_the_ending_of_its_file(tmp_path: Path) -> None:
    for name, opening in (("s.html", "<!DOCTYPE html>"), ("s.md", f"# {TITLE}"), ("S.HTML", "<!DOCTYPE html>")):
        write(answer(), tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(opening)
    for name in ("s.txt", "s.pdf", "s", "html", "s.html.bak"):
        with pytest.raises(InvalidInputError, match=r"a \.html or an \.md file"):
            write(answer(), tmp_path / name)
        assert not (tmp_path / name).exists()
    with pytest.raises(InvalidInputError, match="cannot write"):
        write(answer(), tmp_path / "no" / "s.html")


def test_only_an_older_statement_is_replaced(tmp_path: Path) -> None:
    for name in ("s.html", "s.md"):
        write(answer(), tmp_path / name)
        write(answer(value=1111), tmp_path / name)
        assert "1110" in (tmp_path / name).read_text(encoding="utf-8")
        for other in ("<!DOCTYPE html>\n<p>mine", "# Notes", ""):
            (tmp_path / name).write_text(other, encoding="utf-8")
            with pytest.raises(InvalidInputError, match="exists and is not a statement"):
                write(answer(), tmp_path / name)
            assert (tmp_path / name).read_text(encoding="utf-8") == other
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(InvalidInputError, match="exists and is not a statement"):
        write(answer(), tmp_path / "folder.md")


def test_the_command_writes_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("answer.json").write_text(json.dumps({**EVERYTHING, "by": "a\x1b[2Jb"}), encoding="utf-8")
    assert run(["statement", "answer.json", "-o", "page.html"]) == 0
    assert capsys.readouterr().out == "The statement is in page.html.\n"
    page = Path("page.html").read_text(encoding="utf-8")
    assert "\x1b" not in page
    assert "a\\u001b[2Jb" in page
    assert run(["statement", "answer.json", "-o", "page.md", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rounded"] == 4250
    assert Path("page.md").exists()
    assert run(["statement", "answer.json", "-o", "answer.json"]) == 2
    assert "is an input" in capsys.readouterr().err
    assert run(["statement", "answer.json", "-o", "page.pdf"]) == 2
    assert capsys.readouterr().err == "bayesdp: page.pdf: a statement is written to a .html or an .md file\n"


def test_a_proof_from_elsewhere_is_named_without_a_command() -> None:
    for proof in ("my-proof.pdf", "elsewhere/general.md"):
        page = answer(theorem="mine", proof=proof).statement()
        assert f"Theorem `mine`, proven in `{proof}`." in page
        assert "bayesdp proof" not in page
