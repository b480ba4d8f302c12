"""Every block of code in the documentation is run by a test, or stands here with the reason why not.

Fenced blocks are run by tools/pages.py. Commands that are indented are run here, page by page, on tables of the
names that the page uses.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from bayesdp import GaussianGroups, MarkovChain
from bayesdp.cli import run
from bayesdp.experiments.data import load
from tools.docs.navigation import ROOT, all_pages

COMMANDS = ("bayesdp ", "echo ")

ELSEWHERE = {"python": "tools/pages.py", "console": "tools/pages.py", "text": "tools/pages.py"}
"""What runs a fenced block, by its language; a text is what the block before it prints."""

NOT_RUN = {
    "README.md": {
        "pip install .": "tests/test_distribution.py installs what is built of it",
        "make demo": "CI runs it",
    },
    "CONTRIBUTING.md": {"make test": "CI runs it"},
    "docs/advise.md": {"assumption ": "printed about the original file; tests/advice/test_advise.py compares it"},
    "docs/extending.md": {"from bayesdp.testing": "tests/extension runs this suite in a package of its own"},
    "docs/fitting.md": {"steps > 0": "conditions; tests/frames/test_expressions.py reads them"},
    "docs/frames.md": {"place(x)": "a formula", "|place(x)": "a formula", "min( d/W": "a formula"},
    "docs/journeys/spark-cluster.md": {"export BAYESDP_LEDGER": "tests/docs/test_spark_journey.py has a real server"},
    "docs/models.md": {
        '{"type"': "tests/models/test_base.py reads it",
        '{"groups"': "tests/models/test_base.py reads it",
        '{"order_by"': "tests/models/test_base.py reads it",
    },
    "docs/performance.md": {
        "make bench": "some of them take minutes",
        "python benchmarks/peers.py": "it takes minutes, and installs other libraries",
    },
    "docs/serve.md": {
        "[openid]": "tests/examples/test_serve.py reads it",
        "docker compose": "tests/examples/test_serve.py reads the file",
    },
    "docs/team.md": {
        "CREATE ROLE": "tests/ledger/test_team.py runs it on a real server",
        "python -c": "tests/ledger/test_team.py runs it on a real server",
        "SET ROLE": "tests/ledger/test_team.py runs it on a real server",
        "export BAYESDP_LEDGER": "tests/ledger/test_team.py does the same on a real server",
    },
    "docs/uncertainty.md": {
        "markov-mixing": "two lines of a table that the example above prints",
        "P(": "a formula",
        "Θ = ": "a formula",
        "|Σ|": "a formula",
        "Σ | data": "a formula",
        "σ^": "a formula",
        "L(θ)": "a formula",
    },
}
"""Blocks that nothing runs, by how they begin."""

TOO_LONG = ("bayesdp reproduce --out", "bayesdp explore")
"""Commands that take a minute, or serve until they are stopped; tests/cli/test_reproduce.py, tests/experiments and
tests/explorer/test_page.py run the same with less."""

ON_A_CLUSTER = ("bayesdp release hdfs://",)
"""Commands for a cluster of the reader's; tests/cli/test_spark.py runs the same on executors of its own."""


def blocks(page: str) -> Iterator[Token]:
    """Yield the blocks of code on a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    yield from (token for token in MarkdownIt("commonmark").parse(text) if token.type in ("fence", "code_block"))


def commands(page: str) -> list[str]:
    """Return the indented commands of a page, in order, each on one line and without its comment."""
    joined = [
        block.content.replace("\\\n", " ")
        for block in blocks(page)
        if block.type == "code_block" and block.content.startswith(COMMANDS)
    ]
    return [line for text in joined for line in text.splitlines() if line.strip()]


def left_out(page: str, block: Token) -> bool:
    """Whether no test runs a block, without a stated reason."""
    language = block.info.partition(" ")[0]
    if block.type == "fence" and language in ELSEWHERE:
        return not (ROOT / ELSEWHERE[language]).exists()
    if block.info == "{api}" or block.content.startswith(COMMANDS):
        return False
    return not any(block.content.strip().startswith(begun) for begun in NOT_RUN.get(page, {}))


@pytest.mark.parametrize("page", all_pages())
def test_every_block_of_code_is_run_or_excused(page: str) -> None:
    assert [block.content for block in blocks(page) if left_out(page, block)] == []


def test_every_excuse_has_a_block() -> None:
    for page, excuses in NOT_RUN.items():
        for begun in excuses:
            assert any(block.content.strip().startswith(begun) for block in blocks(page)), (page, begun)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the tables and the model that pages name."""
    steps = pl.DataFrame(load("activity").frame)
    for name in ("activity.csv", "steps.csv"):
        steps.write_csv(tmp_path / name)
    source = np.random.default_rng(0)
    families = np.repeat(np.arange(20_000), 3)
    relatives = {"family": families, "role": ["child", "father", "mother"] * 20_000}
    heights = source.normal(172, 7, len(families)) + source.normal(0, 5, 20_000)[families]
    pl.DataFrame(relatives | {"height": heights}).write_csv(tmp_path / "heights.csv")
    hours = pl.datetime_range(
        pl.datetime(2026, 1, 1), pl.datetime(2026, 1, 1) + pl.duration(hours=239), "1h", eager=True
    )
    meters = {"t": [*hours] * 4, "meter": np.repeat(np.arange(4), 240), "load": source.normal(2, 0.5, 960)}
    pl.DataFrame(meters).write_csv(tmp_path / "loads.csv")
    used = np.repeat(source.integers(0, 2, 9000), source.integers(1, 4, 9000))
    pl.DataFrame({"t": np.arange(len(used)), "used": used}).write_csv(tmp_path / "rooms.csv")
    chain = MarkovChain.fit(steps, state="steps > 0", order_by=["date", "interval"], missing="drop")
    chain.save(tmp_path / "chain-of-steps.json")
    GaussianGroups(correlation=0.275, size=3, column="height").save(tmp_path / "family-of-three.json")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BAYESDP_LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    return tmp_path


def run_line(line: str, capsys: pytest.CaptureFixture[str]) -> int:
    """Run one command as a shell would: its output may go to a file."""
    words = shlex.split(line, comments=True)
    *words, target = words if ">" in words else (*words, "")
    words = [word for word in words if word != ">"]
    status, printed = (0, f"{words[1]}\n") if words[0] == "echo" else (run(words[1:]), capsys.readouterr().out)
    if target:
        Path(target).write_text(printed, encoding="utf-8")
    return status


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in all_pages() if commands(page)])
def test_commands_run(page: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line in commands(page):
        if not line.startswith(TOO_LONG + ON_A_CLUSTER):
            assert run_line(line, capsys) == 0, f"{line}\n{capsys.readouterr().err}"
