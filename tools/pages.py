"""Run a page of the documentation as its reader would, and compare what it shows with what happens.

    python tools/pages.py docs/tutorial.md            # exit status 1, and a comparison, if the page is not true
    python tools/pages.py --write docs/tutorial.md    # write what happens into the page

The blocks of a page are run in order, in one Python process and one empty folder:

    ```python          is run; what it prints is shown by a ```text block right below it, if there is one
    ```console         lines after "$ " are run, by bash; below each stands what it prints
    ```python NAME     is left alone: it needs a package that may not be installed

What depends on noise is not the same twice, so it stands in a block ```text noisy or ```console noisy. Noise is drawn
from a seed here, and every number must be that of the page; only times and fingerprints stand for any other. With
--bash commands run as a reader's do, with OpenDP's noise: then numbers of noisy blocks stand for any other, too. A
command that must fail is in a block ```console fails. A command that ends with "&" runs until the page ends; a server
listens on any free port, where the page names 8470.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from shared.serving import free_port

_BLOCK = re.compile(r"^```(?P<info>[a-z][\w ]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_MOMENT = re.compile(r"\b[0-9a-f]{32,}\b|\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\+00:00)?(?!\")")
_NUMBER = re.compile(r"[-−+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
_PROMPT = "$ "
_PORT = "8470"
_STEADILY = "--steadily"
_SECONDS_TO_STOP = 30


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its language, the words after it, its text, and where that lies in the page."""

    language: str
    words: frozenset[str]
    body: str
    start: int
    end: int

    @property
    def noisy(self) -> bool:
        """Whether what it shows depends on noise."""
        return "noisy" in self.words


@dataclass(frozen=True)
class Shown:
    """What a page shows as the output of some code, what the code printed, and where the page shows it."""

    block: Block
    expected: str
    printed: str
    steady: bool

    @property
    def true(self) -> bool:
        """Whether the page shows what happened; without steady noise numbers may differ where there is some."""
        return _comparable(self.expected, self._free) == _comparable(self.printed, self._free)

    @property
    def _free(self) -> tuple[re.Pattern[str], ...]:
        return () if not self.block.noisy else (_MOMENT,) if self.steady else (_MOMENT, _NUMBER)


@dataclass(frozen=True)
class Step:
    """Code to run, the block whose text its output is compared with, and what that says of it."""

    code: Block
    command: str
    output: Block | None
    expected: str


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page that name a language.

    >>> [(block.language, block.body) for block in blocks("Text.\\n```python\\n1 + 1\\n```\\n")]
    [('python', '1 + 1\\n')]
    """
    return [
        Block(words[0], frozenset(words[1:]), match["body"], match.start("body"), match.end("body"))
        for match in _BLOCK.finditer(page)
        for words in [match["info"].split()]
    ]


def steps(page: str) -> Iterator[Step]:
    """Return what is to be run, in order; a block of text that follows no code is only text."""
    every = blocks(page)
    for block, following in zip_longest(every, every[1:]):
        if block.language == "python" and not block.words:
            shown = following if following and _shows(page, block, following) else None
            yield Step(block, block.body, shown, shown.body if shown else "")
        elif block.language == "console":
            for command, expected in _commands(block.body):
                yield Step(block, command, block, expected)


def _shows(page: str, code: Block, following: Block) -> bool:
    between = page[code.end : following.start].removeprefix("```")
    return following.language == "text" and not between[: between.rindex("```")].strip()


def _commands(body: str) -> Iterator[tuple[str, str]]:
    """Return the commands of a console, with the lines that continue them, and what it shows below each."""
    if not body.startswith(_PROMPT):
        raise ValueError(f"a console starts with a command after {_PROMPT!r}, not with {body[:40]!r}")
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        last = next(index for index, line in enumerate(lines) if not line.endswith("\\\n"))
        yield "".join(lines[: last + 1]).rstrip("\n"), "".join(lines[last + 1 :])


def run(page: Path, folder: Path, by_bash: bool) -> list[Shown]:
    """Run a page in a folder and return everything that it shows beside what happened.

    by_bash: run every command by bash; otherwise those of bayesdp run in this process, which saves starting Python.
    """
    text, shown = page.read_text(encoding="utf-8"), []
    names: dict[str, Any] = {"__name__": "__main__"}
    noise: contextlib.AbstractContextManager[Any] = contextlib.nullcontext() if by_bash else _steady_noise()
    port = str(free_port())
    with contextlib.chdir(folder), noise, contextlib.ExitStack() as running:
        for step in steps(text):
            command = step.command.replace(_PORT, port)
            if step.code.language == "python":
                printed = _python(command, names, page, text.count("\n", 0, step.code.start))
            elif command.endswith(" &"):
                printed = ""
                running.enter_context(_in_the_background(command.removesuffix("&"), by_bash))
            else:
                printed = _console(command, by_bash, fails="fails" in step.code.words)
            if step.output is not None:
                printed = printed.replace(f"{folder}/", "").replace(f"127.0.0.1:{port}", f"127.0.0.1:{_PORT}")
                shown.append(Shown(step.output, step.expected, printed, not by_bash))
    return shown


@contextlib.contextmanager
def _in_the_background(command: str, by_bash: bool) -> Iterator[None]:
    """Run a command until the block ends; its noise is from a seed, too, unless it runs by_bash."""
    if not by_bash and command.startswith("bayesdp "):
        program = shlex.join([sys.executable, str(Path(__file__).resolve()), _STEADILY])
        command = f"{program} {command.removeprefix('bayesdp ')}"
    process = subprocess.Popen(["bash", "-c", f"exec {command}"], stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(_SECONDS_TO_STOP)
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def _steady_noise() -> Iterator[None]:
    """Draw the noise of this process from seeds for a while: for pages, whose data need no protection."""
    from bayesdp.mechanisms import NoisyMaxMechanism, RandomizedResponseMechanism
    from bayesdp.mechanisms.base import IntegerNoise
    from bayesdp.mechanisms.integers import checked_integers

    laplace, others = random.Random(0), random.Random(0)

    def add(self: Any, values: Sequence[int]) -> tuple[int, ...]:
        draw = {"l1": lambda: laplace.expovariate(1) - laplace.expovariate(1), "l2": lambda: others.gauss(0, 1)}
        return tuple(
            value + round(self.scale * draw[self.norm]()) for value in checked_integers(values, self.dimension)
        )

    def select(self: Any, distances: Sequence[Sequence[int]]) -> tuple[int, ...]:
        noisy = [[distance + self.scale * others.expovariate(1) for distance in row] for row in distances]
        return tuple(row.index(min(row)) for row in noisy)

    def flip(self: Any, bits: Any) -> Any:
        return bits ^ [others.random() < self.flip_probability for _ in bits]

    with (
        mock.patch.object(IntegerNoise, "release", add),
        mock.patch.object(NoisyMaxMechanism, "release", select),
        mock.patch.object(RandomizedResponseMechanism, "release", flip),
    ):
        yield


def _python(code: str, names: dict[str, Any], page: Path, above: int) -> str:
    out = io.StringIO()
    program = compile("\n" * above + code, str(page), "exec")
    with contextlib.redirect_stdout(out):
        exec(program, names)  # the pages are ours
    return out.getvalue()


def _console(command: str, by_bash: bool, *, fails: bool) -> str:
    words = shlex.split(command.replace("\\\n", " "))
    plain = words[0] == "bayesdp" and not {"|", ";", "&&", "<", ">>"} & set(words)
    status, out = _bash(command) if by_bash or not plain else _bayesdp(words[1:])
    if fails != (status != 0):
        raise SystemExit(f"{command}\n{out}\nended with status {status}")
    return out


def _bash(command: str) -> tuple[int, str]:
    done = subprocess.run(
        ["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, done.stdout


def _bayesdp(words: Sequence[str]) -> tuple[int, str]:
    """Run a command of bayesdp in this process; its output may go to a file, after ">"."""
    from bayesdp.cli import run as command_line

    out = io.StringIO()
    *words, target = words if ">" in words else (*words, "")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = command_line([word for word in words if word != ">"])
    if target:
        Path(target).write_text(out.getvalue(), encoding="utf-8")
    return status, "" if target else out.getvalue()


def _comparable(text: str, free: Sequence[re.Pattern[str]]) -> list[str]:
    """Return the lines of an output without what may differ: blanks, also in tables, and what patterns leave free.

    An answer that is rounded already is not printed twice, which is a matter of chance, too.

    >>> _comparable("a count of 4,246 \\n-----\\n", [_NUMBER]), _comparable("4250 (unrounded 4246)", [_NUMBER])
    (['a count of #', '-'], ['#'])
    """
    lines = text.rstrip().splitlines()
    if not free:
        return [line.rstrip() for line in lines]
    for pattern in free:
        lines = [pattern.sub("#", line).replace(" (unrounded #)", "") for line in lines]
    return [re.sub(r"-+", "-", " ".join(line.split())) for line in lines]


def rewritten(page: str, shown: Sequence[Shown]) -> str:
    """Return a page that shows what happened; what is noisy and has the right words stays as it is."""
    for block in reversed(list(dict.fromkeys(item.block for item in shown))):
        body = block.body
        if block.language == "console":
            printed = iter([item for item in shown if item.block is block])
            body = "".join(f"{_PROMPT}{command}\n{_kept(next(printed))}" for command, _ in _commands(body))
        else:
            body = "".join(_kept(item) for item in shown if item.block is block)
        page = page[: block.start] + body + page[block.end :]
    return page


def _kept(item: Shown) -> str:
    text = item.expected if item.true else item.printed
    lines = [line.rstrip() for line in text.rstrip().splitlines()]
    return "".join(f"{line}\n" for line in lines)


def differences(shown: Sequence[Shown]) -> str:
    """Return how what a page shows differs from what happened; "" if it does not."""
    return "\n".join(
        "\n".join(
            difflib.unified_diff(
                item.expected.splitlines(), item.printed.splitlines(), "the page shows", "what happened", lineterm=""
            )
        )
        for item in shown
        if not item.true
    )


def main(arguments: Sequence[str]) -> int:
    """Run pages; return 1 if one of them is not true."""
    if arguments[:1] == [_STEADILY]:
        from bayesdp.cli import run as command_line

        with _steady_noise():
            return command_line(arguments[1:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true", help="write what happens into the pages")
    parser.add_argument("--bash", action="store_true", help="run every command by bash, as a reader does")
    parser.add_argument("--ledger", metavar="URL", help="the ledger of the pages; by default a new file for each")
    given = parser.parse_args(arguments)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    status = 0
    for page in given.pages:
        with tempfile.TemporaryDirectory(prefix="bayesdp-page-") as folder:
            os.environ["BAYESDP_LEDGER"] = given.ledger or f"{folder}/ledger.db"  # never the user's own
            shown = run(page.resolve(), Path(folder).resolve(), given.bash)
        if given.write:
            page.write_text(rewritten(page.read_text(encoding="utf-8"), shown), encoding="utf-8")
        elif differing := differences(shown):
            print(f"{page} is not true:\n{differing}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
