"""The API reference: the names on its pages, and the conversion of docstrings to reStructuredText.

A page in docs/api/ has blocks ```{api} with one name on each line: a class or function, or a module for all of them in
its `__all__`. Constants and type aliases are left out. A name that two lines list appears once.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_origin

import bayesdp
from bayesdp import errors

if TYPE_CHECKING:
    from docutils.nodes import Node
    from sphinx.application import Sphinx

_BLOCK = re.compile(r"```\{api\}\n(.*?)```", flags=re.DOTALL)
_ENTRY = re.compile(r"(\*{0,2}[a-z_]\w*(?:, [a-z_]\w*)*): +(\S.*)")
_SPECIAL = re.compile(r"([*|\\]|_(?!\w))")
_ERROR = re.compile(r"\b([A-Z]\w*Error)\b")


def listed(folder: Path) -> tuple[str, ...]:
    """Return the address of every object that the pages in `folder` document."""
    blocks = [block for page in sorted(folder.glob("*.md")) for block in _BLOCK.findall(page.read_text("utf-8"))]
    return tuple(address for block in blocks for address in addresses(block.split()))


def addresses(names: Sequence[str]) -> list[str]:
    """Return the addresses of the names in a block; for a module, the names of `bayesdp` itself come first."""
    return list(dict.fromkeys(address for name in names for address in _addresses(name)))


def _addresses(name: str) -> list[str]:
    try:
        module = import_module(name)
    except ModuleNotFoundError:
        return [_shortest(name)]
    members = [_shortest(f"{name}.{member}") for member in getattr(module, "__all__", ())]
    shown = [address for address in members if callable(resolved(address)) and not get_origin(resolved(address))]
    return sorted(shown, key=lambda address: address.count("."))


def resolved(address: str) -> Any:
    """Return the object at an address; raises AttributeError if there is none."""
    module, _, name = address.rpartition(".")
    return getattr(import_module(module), name)


def _shortest(address: str) -> str:
    """Return the shortest address of an object: `bayesdp.Count`, not `bayesdp.queries.Count`, if the former exists."""
    name = address.rpartition(".")[2]
    return f"bayesdp.{name}" if name in bayesdp.__all__ and getattr(bayesdp, name) is resolved(address) else address


def directive(address: str) -> list[str]:
    """Return the reStructuredText that documents one object, with its own members if it is a class."""
    member = resolved(address)
    if inspect.isclass(member):
        return [f".. autoclass:: {address}", "   :members:", "   :show-inheritance:", ""]
    return [f".. autofunction:: {address}", ""]


def as_rest(lines: list[str]) -> list[str]:
    """Return a docstring as reStructuredText: its paragraphs, lists of names, programs and examples.

    >>> as_rest(["Say `x` to 2*y.", "", "tau: how private,", "     in all.", "", "    import this"])
    ['Say ``x`` to 2\\\\*y.', '', ':param tau: how private, in all.', '', '::', '', '    import this', '']
    """
    rest: list[str] = []
    for block in _blocks(lines):
        entries = _entries(block)
        if block[0].startswith(">>>"):
            rest += block
        elif all(line.startswith("    ") or not line for line in block):
            rest += ["::", "", *block]
        elif entries:
            rest += [f":param {name}: {_inline(text)}" for names, text in entries for name in names.split(", ")]
        elif block[0].startswith(("- ", "1. ")):
            rest += _inline("\n".join(block)).split("\n")
        else:
            rest.append(_inline(" ".join(line.strip() for line in block)))
        rest.append("")
    return rest


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Yield the paragraphs of a docstring."""
    block: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line.rstrip())
        elif block:
            yield block
            block = []


def _entries(block: list[str]) -> list[tuple[str, str]]:
    """Return the names that a paragraph explains (`name: explanation`), with the explanations; none if it is prose."""
    entries: list[tuple[str, str]] = []
    for line in block:
        match = _ENTRY.match(line)
        if match:
            entries.append((match[1], match[2]))
        elif entries and line.startswith(" "):
            entries[-1] = (entries[-1][0], f"{entries[-1][1]} {line.strip()}")
        else:
            return []
    return entries


def _inline(text: str) -> str:
    """Convert Markdown's `code` to that of reStructuredText, and escape all other special characters."""
    parts = text.split("`")
    plain = [_ERROR.sub(_linked, _SPECIAL.sub(r"\\\1", part)) for part in parts[::2]]
    code = [f"``{part}``" for part in parts[1::2]]
    if len(parts) % 2 == 0:
        raise ValueError(f"a backtick is open: {text}")
    joined = plain[0]
    for inner, after in zip(code, plain[1:], strict=True):
        joined += inner + (r"\ " if after[:1].isalnum() else "") + after
    return joined


def _linked(error: re.Match[str]) -> str:
    """Return the name of an exception of bayesdp as a link to its documentation."""
    return f":py:exc:`~{_shortest(f'bayesdp.errors.{error[1]}')}`" if error[1] in errors.__all__ else error[1]


def _rewrite(app: Sphinx, what: str, name: str, member: Any, options: Any, lines: list[str]) -> None:
    lines[:] = as_rest(lines)


def setup(app: Sphinx) -> None:
    """Register the block `{api}` and the conversion of docstrings with Sphinx."""
    from sphinx.util.docutils import SphinxDirective

    class Api(SphinxDirective):
        """The documentation of the objects in the block."""

        has_content = True

        def run(self) -> list[Node]:
            names = [line.strip() for line in self.content if line.strip()]
            rest = [line for address in addresses(names) for line in directive(address)]
            return self.parse_text_to_nodes("\n".join(["```{eval-rst}", *rest, "```"]))

    app.add_directive("api", Api)
    app.connect("autodoc-process-docstring", _rewrite)
