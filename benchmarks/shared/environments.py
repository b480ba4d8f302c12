"""Environments of their own for packages that cannot be installed beside ours, made with pip and kept."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["ENVIRONMENTS", "environment"]

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = ROOT / "build" / "environments"
"""Where environments are kept by default: `make clean` removes them."""

_MINUTES = 15
"""The most minutes for pip."""


def environment(
    requirements: Sequence[str],
    folder: Path = ENVIRONMENTS,
    *,
    constraints: Path | None = None,
    minutes: float = _MINUTES,
) -> str:
    """Return the Python of an environment with these packages, which is made if it is not there.

    requirements: what pip installs; `.` and `.[extra]` are this checkout, as it is.
    constraints:  a file of versions. It does not constrain packages that the requirements name.

    Raises RuntimeError with pip's reason if an environment cannot be made.
    """
    home = folder / _name(requirements, constraints)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other processes of the tests wait for it
        if not (home / "ready").exists():
            _make(home, requirements, constraints, minutes)
    return str(home / "bin" / "python")


def _make(home: Path, requirements: Sequence[str], constraints: Path | None, minutes: float) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
    limits = home / "constraints.txt"
    limits.write_text("" if constraints is None else _constraints(constraints, requirements), encoding="utf-8")
    wanted = [f"--editable={name}" if _is_ours(name) else name for name in requirements]
    install = [str(home / "bin" / "python"), "-m", "pip", "install", "--no-compile", "--quiet"]  # what is used compiles
    install += ["--disable-pip-version-check", *wanted]
    try:
        done = subprocess.run(
            install,
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            timeout=60 * minutes,
            env={**os.environ, "PIP_CONSTRAINT": str(limits), "PYTHONPATH": ""},
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"pip took more than {minutes:g} minutes for {', '.join(requirements)}") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise RuntimeError((lines or done.stderr.splitlines() or ["pip failed"])[-1])
    (home / "ready").touch()


def _name(requirements: Sequence[str], constraints: Path | None) -> str:
    """Return the name of a folder that differs where anything differs that pip reads."""
    read = [sys.version, *requirements]
    read += [] if constraints is None else [constraints.read_text(encoding="utf-8")]
    read += [(ROOT / "pyproject.toml").read_text(encoding="utf-8")] if any(map(_is_ours, requirements)) else []
    words = re.sub(r"[^\w.]+", "-", "-".join(requirements)).strip("-.")
    return f"{words}-{hashlib.sha256(repr(read).encode()).hexdigest()[:8]}"


def _is_ours(requirement: str) -> bool:
    return requirement == "." or requirement.startswith(".[")


def _constraints(file: Path, requirements: Sequence[str]) -> str:
    named = {_package(requirement) for requirement in requirements if not _is_ours(requirement)}
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if _package(line) not in named)


def _package(requirement: str) -> str:
    """Return the name of a package, as package indexes compare names.

    >>> _package("Scikit_Learn<1.7"), _package("ibis-framework[duckdb]>=10")
    ('scikit-learn', 'ibis-framework')
    """
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]).lower()
