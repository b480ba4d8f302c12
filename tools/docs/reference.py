"""The API reference: what its pages list, and how a docstring of ours becomes a page.

A page in docs/api/ has blocks ```{api} with one name a line: an object, or a module for everything in its `__all__`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    return tuple(address for block in blocks for name in block.split() for address in addresses(name))


def addresses(name: str) -> Iterator[str]:
    """Yield where to find what a line of a page names: the object itself, or everything public in the module."""
    try:
        module = import_module(name)
    except ModuleNotFoundError:
        yield _shortest(name)
        return
    for member in getattr(module, "__all__", ()):
        yield _shortest(f"{name}.{member}")


def resolved(address: str) -> Any:
    """Return the object at an address; raises AttributeError if there is none."""
    module, _, name = address.rpartition(".")
    return getattr(import_module(module), name)


def _shortest(address: str) -> str:
    """Return the name people type: `bayesdp.Count`, not `bayesdp.queries.Count`, where there is that."""
    name = address.rpartition(".")[2]
    return f"bayesdp.{name}" if name in bayesdp.__all__ and getattr(bayesdp, name) is resolved(address) else address


def directive(address: str) -> list[str]:
    """Return the reStructuredText that documents one object, with its own members if it is a class."""
    member = resolved(address)
    if inspect.isclass(member):
        return [f".. autoclass:: {address}", "   :members:", "   :show-inheritance:", ""]
    return [f".. {'autofunction' if inspect.isroutine(member) else 'autodata'}:: {address}", ""]


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
            rest += [f":param {name}: {_inline(text)}" for name, text in entries]
        elif block[0].startswith(("- ", "1. ")):
            rest += _inline("\n".join(block)).split("\n")
        else:
            rest.append(_inline(" ".join(line.strip() for line in block)))
        rest.append("")
    return rest


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Yield the paragraphs of a docstring; a program is one, empty lines and all."""
    block: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line.rstrip())
        elif block:
            yield block
            block = []


def _entries(block: list[str]) -> list[tuple[str, str]]:
    """Return the names that a paragraph explains, `name: what it is`, with the explanations; none if it is prose."""
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
    """Return Markdown's `code` as reStructuredText's, and every other character as itself."""
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
    """Return an exception of ours as a link to what it means."""
    return f":py:exc:`~{_shortest(f'bayesdp.errors.{error[1]}')}`" if error[1] in errors.__all__ else error[1]


def _rewrite(app: Sphinx, what: str, name: str, member: Any, options: Any, lines: list[str]) -> None:
    lines[:] = as_rest(lines)


def setup(app: Sphinx) -> None:
    """Teach Sphinx the block `{api}` and the docstrings of the package."""
    from sphinx.util.docutils import SphinxDirective

    class Api(SphinxDirective):
        """The documentation of the objects that the block names."""

        has_content = True

        def run(self) -> list[Node]:
            names = [address for line in self.content if line.strip() for address in addresses(line.strip())]
            rest = [line for address in names for line in directive(address)]
            return self.parse_text_to_nodes("\n".join(["```{eval-rst}", *rest, "```"]))

    app.add_directive("api", Api)
    app.connect("autodoc-process-docstring", _rewrite)
