"""Startup times, as ratios to starting Python itself in the same run."""

import subprocess
import sys
import time
from statistics import median

from shared.reporting import heading, report


def seconds(*arguments: str) -> float:
    def once() -> float:
        begin = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin

    once()
    return median(once() for _ in range(15))


def main() -> None:
    baseline = seconds("-c", "pass")
    print(heading())
    for name, limit, arguments in (
        ("python -c 'import typer'", None, ("-c", "import typer")),
        ("python -c 'import numpy'", None, ("-c", "import numpy")),
        ("python -c 'import bayesdp'", 0.3, ("-c", "import bayesdp")),
        ("python -c 'import bayesdp.client'", None, ("-c", "import bayesdp.client")),
        ("bayesdp --help", None, ("-m", "bayesdp", "--help")),
    ):
        report(name, seconds(*arguments), baseline=baseline, beside="python -c pass", at_most=limit)


if __name__ == "__main__":
    main()
