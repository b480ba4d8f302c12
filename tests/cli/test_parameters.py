"""What commands share: every shared option reads the same wherever it stands."""

from __future__ import annotations

import pytest

import bayesdp as bdp
from bayesdp.cli import run
from bayesdp.cli.parameters import text_of


def test_a_result_is_printed_in_words_or_as_json() -> None:
    leakage = bdp.leakage(bdp.Independent(), bdp.Count(equals=1), tau=1.0)
    assert text_of(leakage, False) == str(leakage)
    assert text_of(leakage, True).startswith("{")


@pytest.mark.parametrize("command", [["release"], ["budget", "open"], ["fit"]])
def test_public_columns_are_named_in_the_same_words(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command, "--help"]) == 0
    assert "--public A,B" in capsys.readouterr().out
