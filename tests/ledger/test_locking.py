"""Writers hold the lock one at a time, and none waits longer than its patience."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bayesdp.ledger import locking
from bayesdp.ledger.locking import write_turn

LONG = 60.0


@pytest.fixture(autouse=True)
def no_thread_outlives_its_test() -> Iterator[None]:
    """A thread that gave up still waits for the lock; it must not meet what the next test patches."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(LONG)


def test_one_at_a_time_and_all_of_them(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        for _ in range(5):
            with write_turn(tmp_path, LONG):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert most == [1] * 20


def test_who_comes_second_waits_until_the_first_leaves(tmp_path: Path) -> None:
    reached = threading.Event()

    def follow() -> None:
        with write_turn(tmp_path, LONG):
            reached.set()

    with write_turn(tmp_path, LONG):
        thread = threading.Thread(target=follow)
        thread.start()
        assert not reached.wait(0.1), "the turn is ours"
    assert reached.wait(LONG)
    thread.join(LONG)


def test_waiting_ends_and_giving_up_blocks_no_one(tmp_path: Path) -> None:
    """It is a courtesy: SQLite's own lock decides then, without any patience left."""
    with write_turn(tmp_path, LONG), write_turn(tmp_path, 0.01) as left:
        assert left == 0
    with write_turn(tmp_path, LONG) as left:
        assert left > 0


def test_an_error_gives_the_turn_on(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no"), write_turn(tmp_path, LONG):
        raise RuntimeError("no")
    with write_turn(tmp_path, LONG) as left:
        assert left > 0


@pytest.mark.parametrize("without", ["a directory", "locks"])
def test_without_locks_there_is_no_waiting(without: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path
    if without == "locks":
        monkeypatch.setattr(locking, "fcntl", None)
    else:
        place = tmp_path / "nowhere"
    with write_turn(place, LONG) as first, write_turn(place, LONG) as second:
        assert min(first, second) > 0
