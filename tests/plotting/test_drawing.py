import sys

import pytest

from bayesdp.errors import MissingDependencyError
from bayesdp.plotting.charts import Chart, Line, Panel
from bayesdp.plotting.drawing import draw


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"bayesdp\[plot\]"):
        draw(Chart("x", "x", "x", "x", (Panel((Line("a", ((0, 0), (1, 1)), "#000000"),)),)))


def test_a_short_range_has_more_ticks_than_powers_of_ten() -> None:
    def ticks(top: float) -> int:
        chart = Chart("x", "x", "x", "x", (Panel((Line("a", ((1, 1), (2, top)), "#000000"),)),), log="y")
        return draw(chart)[0].count(b'id="ytick_')

    assert ticks(90) >= 5
    assert 4 <= ticks(9e5) <= 8


def test_no_two_names_overlap() -> None:
    from bayesdp.plotting.drawing import _spread

    sizes = [0.1, 0.2, 0.1, 0.1]
    places = _spread([0.0, 0.02, 0.5, 0.99], sizes)
    for (low, first), (high, second) in zip(
        zip(places, sizes, strict=True), list(zip(places, sizes, strict=True))[1:], strict=False
    ):
        assert low + first / 2 <= high - second / 2 + 1e-9
    assert places[0] - sizes[0] / 2 >= -1e-9
