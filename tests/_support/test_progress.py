import io
import sys
import time
from collections.abc import Iterator
from unittest.mock import Mock

import pytest

from bayesdp._support import progress
from bayesdp._support.progress import tracked


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that a second passes on whenever it is looked at."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def test_items_come_through_in_order_and_one_by_one() -> None:
    taken = []

    def items() -> Iterator[int]:
        for item in range(3):
            taken.append(item)
            yield item

    tracking = tracked(items(), 3, "counting")
    assert taken == []
    assert next(tracking) == 0
    assert taken == [0]
    assert list(tracking) == [1, 2]
    assert list(tracked([], 0, "nothing")) == []


def test_nothing_is_printed_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(tracked(range(100), 100, "counting")) == list(range(100))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("step", "shown"), [(1.0, True), (0.001, False)], ids=["slow", "fast"])
def test_a_terminal_shows_progress_after_two_seconds(
    step: float, shown: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(time, "monotonic", Clock(step))
    monkeypatch.setattr(progress, "Timer", lambda *_: Mock())  # it goes by another clock
    monkeypatch.setenv("TERM", "xterm")
    assert list(tracked(range(20), 20, "looking for it")) == list(range(20))
    assert ("looking for it" in terminal.getvalue()) == shown
    assert capsys.readouterr().out == ""


def test_a_first_step_that_takes_long_is_shown_too(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "_PATIENCE", 0.001)
    monkeypatch.setenv("TERM", "xterm")
    with progress.progress_bar(1, "one long step"):
        for _ in range(1000):
            if "one long step" in terminal.getvalue():
                break
            time.sleep(0.01)
        else:
            pytest.fail("no progress bar appeared")


def test_what_is_raised_on_the_way_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def items() -> Iterator[int]:
        yield 1
        raise KeyError("no more")

    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        with pytest.raises(KeyError, match="no more"):
            list(tracked(items(), 2, "counting"))


def test_a_terminal_is_left_alone_when_one_stops_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    for item in tracked(range(5), 5, "counting"):
        if item == 2:
            break
    assert list(tracked(range(2), 2, "again")) == [0, 1]
