"""The size of an installation: megabytes of bayesdp and its dependencies, largest first.

python benchmarks/size.py [EXTRA ...]

Files that Python compiles later are left out. An extra ("plot", "demo") adds what it needs.
"""

from __future__ import annotations

import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from shared.reporting import report


def needed(name: str, extras: set[str]) -> set[str]:
    """Return the names of a package and all its dependencies."""
    seen: set[tuple[str, str]] = set()
    waiting = [(name, extra) for extra in ("", *extras)]
    while waiting:
        package, extra = waiting.pop()
        if (package, extra) in seen:
            continue
        try:
            requirements = distribution(package).requires or []
        except PackageNotFoundError:
            continue
        seen.add((package, extra))
        for requirement in map(Requirement, requirements):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                waiting += [(canonicalize_name(requirement.name), wanted) for wanted in ("", *requirement.extras)]
    return {package for package, _ in seen}


def megabytes(package: Distribution) -> float:
    """Return the size of a package's files."""
    paths = (Path(str(package.locate_file(path))) for path in package.files or [] if path.suffix != ".pyc")
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def main() -> None:
    sizes = {name: megabytes(distribution(name)) for name in needed("bayesdp", set(sys.argv[1:]))}
    for name, size in sorted(sizes.items(), key=lambda pair: -pair[1]):
        print(f"{size:8.1f} MB  {size / sum(sizes.values()):4.0%}  {name}")
    report(f"{len(sizes)} packages in all", sum(sizes.values()), "MB")


if __name__ == "__main__":
    main()
