"""Run a page of the documentation on a cluster of Spark; with --lose, kill an executor while a release counts.

python tests/docs/page_on_a_cluster.py [--lose] PAGE LEDGER
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))

SECONDS, HELD = 600, 3
"""How long to wait for a task, and how long tasks run until only that of the stopped executor is left."""


def executors(application: str) -> list[int]:
    """Return the processes of an application's executors."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue  # it has ended meanwhile
        if "CoarseGrainedExecutorBackend" in command and application in command:
            found.append(int(process.name))
    return sorted(found)


def losing_an_executor(release: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Stop one of two executors, start a release, and kill the executor once it has a task, which it cannot end."""
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context
    tracker = context.statusTracker()
    deadline = time.monotonic() + SECONDS
    while len(found := executors(context.applicationId)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)  # they do not start at the same moment
    lost, other = found
    os.kill(lost, signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(1) as threads:
            asked = threads.submit(release, *arguments, **options)
            since = time.monotonic()
            while time.monotonic() < min(since + HELD, deadline) and not asked.done():
                since = since if _running(tracker) else time.monotonic()
                time.sleep(0.05)
            assert not asked.done(), "the release ended without the executor that was stopped"
            assert _running(tracker), f"no task ran within {SECONDS} seconds"
            os.kill(lost, signal.SIGKILL)
            answer = asked.result()
    finally:
        if lost in executors(context.applicationId):
            os.kill(lost, signal.SIGKILL)
    assert other in executors(context.applicationId)
    print("an executor was lost", file=sys.stderr)
    return answer


def _running(tracker: Any) -> int:
    """Return the number of running tasks."""
    infos = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return sum(info.numActiveTasks for info in infos if info is not None)


def main(page: str, ledger: str, *, lose: bool) -> int:
    """Return the status of `tools/pages.py`: 0 if the page shows what happens."""
    from bayesdp import Session
    from tools import pages

    def release(self: Session, *arguments: Any, **options: Any) -> Any:
        Session.release = original  # type: ignore[method-assign] # only the first release loses one
        return losing_an_executor(original, self, *arguments, **options)

    original = Session.release
    if lose:
        Session.release = release  # type: ignore[method-assign]
    return pages.main(["--ledger", ledger, page])


if __name__ == "__main__":
    *options, the_page, the_ledger = sys.argv[1:]
    sys.exit(main(the_page, the_ledger, lose=options == ["--lose"]))
