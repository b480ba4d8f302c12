"""Do imports point down only? Checks every import of the package, also those inside functions (docs/architecture.md).

Run by `make lint`. Imports for type checkers only (`if TYPE_CHECKING:`) do not count: they bind nothing.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "bayesdp"

LAYERS = (
    {"errors", "_support", "rounding"},
    {"queries", "models", "losses", "accuracy"},
    {"theorems"},
    {"calibration", "mechanisms"},
    {"frames", "diagnostics", "advice"},
    {"ledger"},
    {"session"},
    {"audit", "plotting", "experiments", "testing"},
    {"explorer", "cli"},
    {"__main__"},
)
"""From the ground up. A room may use those of its own layer and of the layers below it."""

LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}


def room_of(module: str) -> str | None:
    """Return the room a dotted name inside the package belongs to; None for the package itself and others' modules."""
    parts = module.split(".")
    return parts[1] if parts[0] == "bayesdp" and len(parts) > 1 else None


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of every import that is carried out when the code runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "bayesdp":
            yield from ((node.lineno, f"bayesdp.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module
        else:
            yield from imported(node)


def upward(package: Path = PACKAGE) -> Iterator[str]:
    """Yield a line for every import that points up, and for every room that has no place in the layers."""
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        room = place.parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        if room not in LEVEL:
            yield f"{place}: the room {room!r} stands in no layer; give it one in tools/layers.py"
            continue
        for line, module in imported(ast.parse(path.read_text(encoding="utf-8"))):
            used = room_of(module)
            if used in LEVEL and LEVEL[used] > LEVEL[room]:
                yield f"{place}:{line}: {room} uses {used}, which stands above it"


if __name__ == "__main__":
    problems = list(upward())
    print("\n".join(problems) or "All imports point down.")
    sys.exit(bool(problems))
