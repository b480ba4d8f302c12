"""The page in a real Chromium: by keyboard, on a desk and on a telephone, on light and on dark, with tables."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars
import pytest

from bayesdp import MarkovChain

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("explorer")]

Served = Callable[..., str]


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


class Visit:
    """A page, and what its browser asked for and complained of."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.page = browser.new_page(**options)
        self.page.set_default_timeout(120_000)
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
        reported = "[...document.querySelectorAll('.bar .words')].map(e => e.innerText.split(/\\s+/).join(' '))"
        self.page.wait_for_function(f"before => JSON.stringify({reported}) !== JSON.stringify(before)", arg=before)
        return self.words()

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
    visit.page.wait_for_selector(".bar .words")
    assert visit.page.get_attribute("#epsilon", "aria-valuetext") == "1.5"
    assert visit.words() == second
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
    assert [name for name in reached if name][:6] == ["kind", "values", "start", "epsilon", "beta", "assumed"]
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
    assert "Then look at the table" in visit.page.inner_text(".problem")
    assert "The 50 columns" in visit.page.inner_text("form")
    visit.tab_to("column")
    visit.page.keyboard.type("room")
    visit.tab_to("values")
    visit.page.keyboard.type("hall")
    visit.tab_to("order_by")
    visit.page.keyboard.type("hour")
    visit.tab_to("look")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector("#assumption input:checked")
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


def test_who_does_not_know_the_token_sees_nothing(browser: Any, served: Served) -> None:
    address = served()
    page = browser.new_page()
    begun = address.split("/")
    for wrong in ("/".join(begun[:3]) + "/", address[:-2] + "/", "/".join(begun[:3]) + "/style.css"):
        answer = page.goto(wrong)
        assert answer.status == 403
        assert "bayesdp explorer" not in page.content()
    page.close()
