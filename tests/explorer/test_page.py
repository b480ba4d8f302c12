"""The page in a real Chromium: by keyboard, on a desk and on a telephone, on light and on dark, with tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import polars
import pytest

from bayesdp import Answer, MarkovChain
from bayesdp.ledger import Ledger

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("explorer")]

Served = Callable[..., str]
LONG = 600_000.0
"""Milliseconds: longer than anything takes, however slow the machine is."""


@pytest.fixture
def served() -> Iterator[Served]:
    """Start `bayesdp explore` and return its address."""
    with ExitStack() as running:

        def serve(*arguments: object) -> str:
            command = [sys.executable, "-m", "bayesdp", "explore", "--no-browser", *map(str, arguments)]
            process = running.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            running.callback(process.terminate)
            assert process.stdout is not None
            line = process.stdout.readline()
            return line[line.index("http") :].split()[0]

        yield serve


SAID = r"[...document.querySelectorAll('.bar .words')].map(e => e.innerText.trim().split(/\s+/).join(' '))"


class Visit:
    """A page, and what its browser asked for and complained of."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.page = browser.new_page(**options)
        self.page.set_default_timeout(LONG)
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(address)
        self.page.wait_for_selector(".bar .words, .problem")

    def words(self) -> list[str]:
        """What is said of the three beliefs."""
        return [" ".join(text.split()) for text in self.page.locator(".bar .words").all_inner_texts()]

    def focused(self) -> str:
        """The name of the field that keys go to."""
        name: str = self.page.evaluate("document.activeElement.id || document.activeElement.name || ''")
        return name

    def tab_to(self, name: str) -> None:
        """Press Tab until a field is reached."""
        for _ in range(40):
            if self.focused() == name:
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"no Tab leads to {name}")

    def other_words(self, before: list[str]) -> list[str]:
        """Wait until the beliefs are others, and return them."""
        self.page.wait_for_function(f"before => JSON.stringify({SAID}) !== JSON.stringify(before)", arg=before)
        return self.words()

    def wait_for_words(self, words: list[str]) -> None:
        """Wait until the beliefs are these."""
        self.page.wait_for_function(f"words => JSON.stringify({SAID}) === JSON.stringify(words)", arg=words)

    def close(self) -> None:
        """Close the page; nothing may have come from elsewhere, and nothing gone wrong."""
        self.page.close()
        assert self.complaints == []
        assert {url.split("/")[2].split(":")[0] for url in self.asked if not url.startswith("data:")} <= {"127.0.0.1"}


def test_sliders_take_keys_and_going_back_keeps_choices(browser: Any, served: Served) -> None:
    visit = Visit(browser, served())
    said, plain, ours = first = visit.words()
    assert said == ours == "50 : 50 becomes at most 73.2 : 26.8"
    assert plain != said
    visit.tab_to("epsilon")
    visit.page.keyboard.press("ArrowRight")
    second = visit.other_words(first)
    assert second[2] == "50 : 50 becomes at most 81.8 : 18.2"
    assert visit.page.get_attribute("#epsilon", "aria-valuetext") == "1.5"
    visit.page.wait_for_function("() => location.search.includes('epsilon=1.5')")
    visit.page.focus("#assumed")
    visit.page.keyboard.press("ArrowDown")
    visit.page.wait_for_function("() => location.search.includes('assumed=')")
    visit.page.go_back()
    visit.page.wait_for_function("() => !location.search.includes('assumed=')")
    visit.wait_for_words(second)
    assert visit.page.get_attribute("#epsilon", "aria-valuetext") == "1.5"
    visit.close()


def test_every_control_is_named_and_reached_by_tab(browser: Any, served: Served) -> None:
    visit = Visit(browser, served())
    reached = []
    for _ in range(30):
        visit.page.keyboard.press("Tab")
        name = visit.focused()
        if name in reached and name in ("kind", ""):
            break
        reached.append(name)
    assert [name for name in reached if name][:7] == [
        "kind",
        "values",
        "start",
        "epsilon",
        "definition",
        "beta",
        "assumed",
    ]
    assert "python" in reached
    unnamed = """() => [...document.querySelectorAll("input, select, button")].filter(control =>
      control.offsetParent && !control.labels?.length && !control.innerText && !control.ariaLabel).map(c => c.id)"""
    assert visit.page.evaluate(unnamed) == []
    visit.close()


FAINT = """
() => {
  const numbers = colour => (colour.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, place) => sum + v * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = element => {
    for (let above = element; above; above = above.parentElement) {
      const colour = numbers(getComputedStyle(above).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll("body *")].filter(element => element.offsetParent
    && [...element.childNodes].some(node => node.nodeType == 3 && node.data.trim())).map(element => {
      const [one, other] = [light(numbers(getComputedStyle(element).color)), light(ground(element))];
      return [(Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05), element.innerText.slice(0, 40)];
    }).filter(([contrast]) => contrast < 4.5);
}
"""
"""Texts whose contrast is below what the accessibility guidelines ask for (WCAG 2, AA)."""

STICKING_OUT = """
() => [...document.querySelectorAll("body *")].filter(element => {
  const box = element.getBoundingClientRect();
  return box.width && getComputedStyle(element).visibility == "visible"
    && box.right > document.documentElement.clientWidth + 1 && !element.closest(".scroll, .columns, pre");
}).map(element => element.tagName + ": " + (element.textContent || "").slice(0, 60))
"""
"""What lies beyond the right edge of the page."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_legible(browser: Any, served: Served, tmp_path: Path, width: int, scheme: str) -> None:
    model = tmp_path / "model.json"
    MarkovChain([[0.96, 0.04], [0.22, 0.78]], states=[False, True], length=15264).save(model)
    address = served(model)
    visit = Visit(browser, address, viewport={"width": width, "height": 850}, color_scheme=scheme)
    visit.page.wait_for_selector("svg.chart")
    assert visit.page.evaluate(STICKING_OUT) == []
    assert visit.page.evaluate(FAINT) == []
    ground = visit.page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (max(ground) < 60) == (scheme == "dark")
    visit.close()


def test_fifty_columns_work_by_keyboard_and_show_no_value(browser: Any, served: Served, tmp_path: Path) -> None:
    rooms = [("SENTINELattic", "hall")[hour * hour // 7 % 2] for hour in range(400)]
    others = {f"a_rather_long_name_of_column_{number:02}": [9876543] * 400 for number in range(48)}
    polars.DataFrame({"hour": range(400), "room": rooms, **others}).write_csv(tmp_path / "house.csv")
    visit = Visit(browser, served(tmp_path / "house.csv"), viewport={"width": 390, "height": 850})
    assert visit.page.input_value("#order_by") == "hour"  # the only column whose name is that of a clock
    assert "in the order of hour may depend on each other" in visit.page.inner_text("#answer")
    visit.tab_to("column")
    visit.page.keyboard.type("room")
    visit.tab_to("condition")
    visit.page.keyboard.press("ControlOrMeta+a")
    visit.page.keyboard.press("Delete")
    visit.tab_to("values")
    visit.page.keyboard.type("hall")
    visit.page.wait_for_selector(
        "#assumption input:checked"
    )  # a small table is read as soon as the question is complete
    visit.page.wait_for_selector(".bar .words")
    visit.page.wait_for_selector("svg.chart")
    recommended = visit.page.input_value("#assumption input:checked")
    visit.tab_to("assumption")
    visit.page.keyboard.press("ArrowUp")
    visit.page.wait_for_function(f"() => document.querySelector('#assumption input:checked').value !== {recommended!r}")
    visit.page.wait_for_function("() => location.search.includes('assumption=')")
    visit.page.locator("form details").evaluate_all("all => all.forEach(each => each.open = true)")
    assert visit.page.evaluate(STICKING_OUT) == []
    assert "SENTINEL" not in visit.page.content()
    assert "9876543" not in visit.page.content()
    visit.close()


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of two columns, one of them with a sentinel, and a ledger of its own."""
    monkeypatch.setenv("BAYESDP_LEDGER", str(tmp_path / "ledger.db"))
    draw = Random(1)
    on = [draw.random() < 0.4]
    while len(on) < 500:
        on.append(on[-1] if draw.random() < 0.6 else draw.random() < 0.4)
    polars.DataFrame({"day": range(500), "on": on, "note": ["SENTINELattic"] * 500}).write_csv(tmp_path / "steps.csv")
    return tmp_path / "steps.csv"


def ready_to_sign(visit: Visit) -> None:
    """Wait for the advice of a table and fill in the form of the release."""
    visit.page.wait_for_selector("#assumption input:checked")
    visit.page.wait_for_selector("#answer .interval")
    visit.page.fill("#name", "A. Holder")
    visit.page.fill("#reason", "a rehearsal")


def test_a_holder_releases_and_keeps_the_papers(browser: Any, served: Served, steps: Path) -> None:
    visit = Visit(browser, served(steps), accept_downloads=True)
    ready_to_sign(visit)
    assert "SENTINEL" not in visit.page.content()
    assert not (steps.parent / "ledger.db").exists()  # nothing is charged, and no account opened, before the click
    visit.page.click("#preview")
    visit.page.wait_for_selector("#released p:not(.wait)")
    assert "Nothing was charged" in visit.page.inner_text("#released")
    visit.page.dblclick("#release")
    visit.page.wait_for_selector("#released svg")
    files = {}
    for label in ("The statement (HTML)", "The answer (JSON)", "The script", "The notebook", "The command"):
        with visit.page.expect_download() as download:
            visit.page.get_by_text(label, exact=True).click()
        files[download.value.suggested_filename] = Path(download.value.path()).read_text()
    answer = Answer.from_dict(json.loads(files["answer.json"]))
    assert f"{answer.value:,.6g}" in visit.page.inner_text("#released")
    assert "A. Holder" in files["statement.html"]
    assert json.loads(files["release.ipynb"])["nbformat"] == 4
    script = steps.parent / "again.py"
    script.write_text(files["release.py"])
    again = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, cwd=steps.parent)
    assert "Released before" in again.stdout
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shell = subprocess.run(
        files["release.sh"],
        shell=True,
        capture_output=True,
        text=True,
        check=True,
        cwd=steps.parent,
        env={**os.environ, "PATH": path},
    )
    assert "Released before" in shell.stdout
    with Ledger(steps.parent / "ledger.db", create=False) as ledger:
        assert len(ledger.entries("steps", "charge")) == 1
    assert visit.page.evaluate(STICKING_OUT) == []
    visit.close()


def test_answers_by_weekday_are_released_together(
    browser: Any, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAYESDP_LEDGER", str(tmp_path / "ledger.db"))
    begin, draw = datetime(2012, 10, 1), Random(2)
    at = [begin + timedelta(hours=number) for number in range(1000)]
    polars.DataFrame({"at": at, "on": [draw.random() < 0.3 for _ in at]}).write_parquet(tmp_path / "hours.parquet")
    visit = Visit(browser, served(tmp_path / "hours.parquet"), viewport={"width": 390, "height": 850})
    visit.page.select_option("#by", "weekday")
    visit.page.wait_for_function("() => document.querySelector('#answer').innerText.includes('for each weekday')")
    ready_to_sign(visit)
    assert "each answer ±" in visit.page.inner_text("#answer .interval")
    assert "average window" in visit.page.inner_text("#assumption")
    visit.page.dblclick("#release")
    visit.page.wait_for_selector("#released svg.chart")
    visit.page.click("#released summary")
    listed = visit.page.locator("#released .columns li").all_inner_texts()
    assert [text.split(":")[0] for text in listed] == [f"weekday {day}" for day in range(1, 8)]
    with visit.page.expect_download() as download:
        visit.page.get_by_text("The statement (HTML)", exact=True).click()
    filed = Path(download.value.path()).read_text()
    assert all(text in filed for text in listed)
    with Ledger(tmp_path / "ledger.db", create=False) as ledger:
        assert len(ledger.entries("hours", "charge")) == 7
    assert visit.page.evaluate(STICKING_OUT) == []
    assert visit.page.evaluate(FAINT) == []
    visit.close()


def test_two_tabs_charge_once(browser: Any, served: Served, steps: Path) -> None:
    address = served(steps)
    visits = [Visit(browser, address), Visit(browser, address)]
    for visit in visits:
        ready_to_sign(visit)
    for visit in visits:
        visit.page.click("#release", no_wait_after=True)
    values = []
    for visit in visits:
        visit.page.wait_for_selector("#released .interval")
        values.append(visit.page.inner_text("#released .interval"))
        visit.close()
    assert values[0] == values[1]
    with Ledger(steps.parent / "ledger.db", create=False) as ledger:
        assert len(ledger.entries("steps", "charge")) == 1


def test_a_release_without_a_name_is_refused(browser: Any, served: Served, steps: Path) -> None:
    visit = Visit(browser, served(steps))
    ready_to_sign(visit)
    visit.page.fill("#name", "")
    visit.page.click("#release")
    visit.page.wait_for_selector("#released .warning")
    assert visit.page.inner_text("#released") == "Enter your name"
    assert not (steps.parent / "ledger.db").exists()
    visit.close()


def test_who_does_not_know_the_token_sees_nothing(browser: Any, served: Served) -> None:
    address = served()
    page = browser.new_page()
    page.set_default_timeout(LONG)
    begun = address.split("/")
    for wrong in ("/".join(begun[:3]) + "/", address[:-2] + "/", "/".join(begun[:3]) + "/style.css"):
        answer = page.goto(wrong)
        assert answer.status == 403
        assert "bayesdp explorer" not in page.content()
    page.close()
