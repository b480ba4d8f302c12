"""The startup time of the explorer and the response time of a slider, beside a bare Shiny page in the same run.

Needs the extra dev and a Chromium. Starting: from the command until the page shows something. Answering: from a key on
the slider until the new words are there, median of many. The issue asks for 3 s and 200 ms.

python benchmarks/explorer.py          # all
python benchmarks/explorer.py short    # one start, one slider
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page, sync_playwright

import bayesdp as bdp
from shared.reporting import heading, report

BARE = """
import socket, sys
import uvicorn
from shiny import App, render, ui
from htmltools import tags

page = tags.div(tags.input(type="text", id="typed", class_="shiny-input-text"), ui.output_ui("answer"))

def server(input, output, session):
    @render.ui
    def answer():
        return tags.div(tags.p("You typed " + input.typed(), class_="words"), class_="bar")

opened = socket.socket()
opened.bind(("127.0.0.1", 0))

class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print(f"http://127.0.0.1:{opened.getsockname()[1]}/", flush=True)

Server(uvicorn.Config(App(page, server), log_level="error")).run([opened])
"""

KEYS = 24
"""The measured moves of the slider: between two positions, back and forth."""


@contextmanager
def served(arguments: Sequence[str]) -> Iterator[str]:
    """Start a page in its own process and yield its address."""
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        yield line[line.index("http") :].split()[0]
    finally:
        process.terminate()
        process.wait()


def started(browser: Browser, arguments: Sequence[str]) -> float:
    """Return the seconds from the command until the page shows text."""

    def once() -> float:
        begin = time.perf_counter()
        with served(arguments) as address:
            page = browser.new_page()
            page.goto(address)
            page.wait_for_selector(".bar .words")
            taken = time.perf_counter() - begin
            page.close()
            return taken

    once()
    return median(once() for _ in range(3))


def answered(page: Page, act: Callable[[int], None]) -> float:
    """Return the median of the seconds from an action until the last text of the page has changed."""
    times = []
    for number in range(KEYS):
        words = "Array.from(document.querySelectorAll('.bar .words')).map(e => e.textContent).join()"
        before = page.evaluate(words)
        begin = time.perf_counter()
        act(number)
        page.wait_for_function(f"before => {words} !== before", arg=before, polling=5)
        times.append(time.perf_counter() - begin)
    return median(times)


def slider(browser: Browser, address: str) -> float:
    """Return the response time of the slider of ε while the slower theorems run."""
    page = browser.new_page()
    page.goto(address)
    page.wait_for_selector(".bar .words")
    page.focus("#epsilon")
    taken = answered(page, lambda number: page.keyboard.press("ArrowRight" if number // 6 % 2 == 0 else "ArrowLeft"))
    page.close()
    return taken


def typed(browser: Browser, address: str) -> float:
    """Return the response time of the bare page to a key, without Shiny's pause after typing."""
    page = browser.new_page()
    page.goto(address)
    page.wait_for_selector(".bar .words")
    taken = answered(page, lambda number: page.evaluate(f"Shiny.setInputValue('typed', '{number}')"))
    page.close()
    return taken


def main(short: bool) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("explorer: there is no Chromium on this machine, nothing was measured")
        return
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    chain = bdp.MarkovChain([[0.96, 0.04], [0.22, 0.78]], states=[False, True], length=15264)
    explore = ["-m", "bayesdp", "explore", "--no-browser"]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        model = Path(folder) / "model.json"
        model.write_text(chain.to_json(), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        print(heading())
        bare = started(browser, ["-c", BARE])
        starts = {"the explorer starts": [], "the explorer starts with a model": [str(model)]}
        for name, path in list(starts.items())[: 1 if short else 2]:
            taken = started(browser, [*explore, *path])
            report(name, taken, baseline=bare, beside="a bare Shiny page", at_most=3)
        with served(["-c", BARE]) as address:
            echo = typed(browser, address)
        queries = {
            "ε, two states, 1,000 records": ("", []),
            "ε, bounded odds": ("?assumed=odds", []),
            "ε, normal groups": ("?assumed=normal&kind=sum", []),
            "ε, a step counter": ("", [str(model)]),
        }
        for name, (query, path) in list(queries.items())[: 1 if short else None]:
            with served([*explore, *path]) as address:
                taken = slider(browser, address + query)
            report(f"a slider answers: {name}", taken, baseline=echo, beside="a bare Shiny page", at_most=0.2)
        browser.close()


if __name__ == "__main__":
    main("short" in sys.argv[1:])
