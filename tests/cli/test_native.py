"""Of a panic in an engine the command line shows one line, and nothing of what the engine reports."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bayesdp.cli.native import without_reports

WRITES = """
import os, sys
from bayesdp.cli.native import without_reports

def run():
    os.write(2, b"native\\n")
    print("Python", file=sys.stderr)
    return int(sys.argv[1])

sys.exit(without_reports(run, refusals=(2, 3)))
"""


@pytest.mark.parametrize(("status", "shown"), [(0, "Python\nnative\n"), (2, "Python\n"), (3, "Python\n")])
def test_native_messages_are_left_out_of_refusals(status: int, shown: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WRITES, str(status)], capture_output=True, text=True, check=False, env=os.environ
    )
    assert (done.returncode, done.stderr) == (status, shown)


def test_without_a_standard_error_there_is_nothing_to_hold_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert without_reports(lambda: 7, refusals=()) == 7


def test_an_exception_puts_everything_back(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with (tmp_path / "errors").open("w") as stream, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", stream)

        def run() -> int:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            without_reports(run, refusals=())
        assert sys.stderr is stream
        print("afterwards", file=stream)
    assert (tmp_path / "errors").read_text() == "afterwards\n"
