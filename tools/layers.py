"""Do imports point down only? Checks every import of the package, also those inside functions (docs/architecture.md).

Run by `make lint`. Imports for type checkers only (`if TYPE_CHECKING:`) do not count: they bind nothing. A string that
names a module counts as an import. Only `_support/hooks.py` imports modules of the package by such names, and
`bayesdp/__init__.py` says which. All other modules call hooks.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "bayesdp"

LAYERS = (
    {"errors", "_support", "rounding"},
    {"queries", "model_notes", "models", "losses", "concentrated", "accuracy", "noise_sums", "window_trees"},
    {"theorems"},
    {"calibration", "mechanisms"},
    {"frames", "diagnostics", "advice"},
    {"ledger"},
    {"session", "client"},
    {"audit", "plotting", "experiments", "testing"},
    {"explorer", "server", "cli"},
    {"__main__"},
)
"""From the bottom up. A part may use those of its own layer and of the layers below it."""

LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}

LOADERS = {"__init__.py", "_support/hooks.py"}
"""The modules that may import others by their names, and name any of them in a string."""

HOOKS = {"call", "resolve"}
"""What all modules may use of `_support/hooks.py`; the rest is for `_support` and `bayesdp/__init__.py`."""

_ADDRESS = re.compile(r"bayesdp(\.\w+)+(:\w+)?")


def part_of(module: str) -> str | None:
    """Return the part a dotted name inside the package belongs to; None for the package itself and others' modules."""
    names = module.split(".")
    return names[1] if names[0] == "bayesdp" and len(names) > 1 else None


def carried_out(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield every import that is carried out when the code runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        else:
            yield from carried_out(node)


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of every import that is carried out when the code runs."""
    for node in carried_out(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif node.module == "bayesdp":
            yield from ((node.lineno, f"bayesdp.{alias.name}") for alias in node.names)
        elif node.module:
            yield node.lineno, node.module


def public(package: Path) -> dict[str, str]:
    """Return the module of each name that the package itself offers, such as bayesdp.Session."""
    place = package / "__init__.py"
    for node in ast.parse(place.read_text(encoding="utf-8")).body if place.is_file() else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES":
            return {f"bayesdp.{name}": f"bayesdp.{home or name}" for name, home in ast.literal_eval(node.value).items()}
    return {}


def named(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of every string that is the name of a module: it could be imported by it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _ADDRESS.fullmatch(node.value):
            yield node.lineno, node.value.partition(":")[0]


def by_name(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and complaint for whatever could import a module of the package without an import statement."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _last_name(node.func) in ("import_module", "__import__"):
            if not _is_foreign(node):
                yield node.lineno, "an import by name must begin with the name of another package; call a hook instead"
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield node.lineno, "a relative import hides its layer; write the full name"
        elif isinstance(node, ast.Import) and any(alias.name == "bayesdp" for alias in node.names):
            yield node.lineno, "the package offers names of all layers; import from the module that has them"
        elif isinstance(node, ast.alias) and node.name == "import_module" and node.asname:
            yield node.lineno, "import_module must keep its name"


def beyond_hooks(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and complaint for every use of hooks that is not a call of one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "bayesdp._support.hooks":
            yield node.lineno, "import the module hooks, and call one"
        elif isinstance(node, ast.Attribute) and _last_name(node.value) == "hooks" and node.attr not in HOOKS:
            yield node.lineno, f"hooks.{node.attr} is not for this module, which may only call hooks"


def _last_name(node: ast.AST) -> str | None:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def _is_foreign(call: ast.Call) -> bool:
    """Tell whether an import by name is certainly of another package: its name begins with that package's."""
    name = call.args[0] if call.args else None
    if isinstance(name, ast.JoinedStr):
        name = name.values[0]
    begins = name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""
    return begins[:1].isidentifier() and begins.partition(".")[0] != "bayesdp"


def upward(package: Path = PACKAGE) -> Iterator[str]:
    """Yield a line for every import that points up or hides where it points, and for every part without a layer."""
    homes = public(package)
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        part = place.parts[0].removesuffix(".py")
        loads = place.as_posix() in LOADERS
        yield from () if loads else (f"{place}:{line}: {complaint}" for line, complaint in by_name(tree))
        if part == "__init__":
            continue
        if part not in LEVEL:
            yield f"{place}: {part!r} stands in no layer; give it one in tools/layers.py"
            continue
        if part != "_support":
            yield from (f"{place}:{line}: {complaint}" for line, complaint in beyond_hooks(tree))
        for line, module in (*imported(tree), *(() if loads else named(tree))):
            used = part_of(homes.get(module, module))
            if used in LEVEL and LEVEL[used] > LEVEL[part]:
                yield f"{place}:{line}: {part} uses {used}, which stands above it"


if __name__ == "__main__":
    problems = list(upward())
    print("\n".join(problems) or "All imports point down.")
    sys.exit(bool(problems))
