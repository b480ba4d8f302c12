"""What starting costs, as a ratio to starting Python itself in the same run."""

import subprocess
import sys
import time
from statistics import median


def seconds(*arguments: str) -> float:
    def once() -> float:
        begin = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin

    once()
    return median(once() for _ in range(15))


def main() -> None:
    baseline = seconds("-c", "pass")
    print(f"{'what':34} {'seconds':>8}  ratio to `python -c pass`")
    for name, arguments in {
        "python -c pass": ("-c", "pass"),
        "python -c 'import typer'": ("-c", "import typer"),
        "python -c 'import numpy'": ("-c", "import numpy"),
        "python -c 'import bayesdp'": ("-c", "import bayesdp"),
        "bayesdp --help": ("-m", "bayesdp", "--help"),
    }.items():
        taken = seconds(*arguments)
        print(f"{name:34} {taken:8.3f}  {taken / baseline:.1f}")


if __name__ == "__main__":
    main()
