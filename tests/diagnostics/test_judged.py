"""Several tests of one kind: Holm's correction, the worst verdict, and what was left out."""

from __future__ import annotations

import numpy as np
import pytest

from bayesdp.diagnostics.power import Power
from bayesdp.diagnostics.report import SingleTest, holm, judged


def single(name: str, p_value: float, *, large: bool = True, chance: float = 0.9) -> SingleTest:
    power = Power(lambda size, level: chance if size < 200 else 1.0, 100, "groups", "what matters")
    return SingleTest(name, "x = 1", p_value, "a little", large, {"statistic": 1.0}, power)


@pytest.mark.slow
def test_the_correction_is_that_of_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    for p_values in np.random.default_rng(0).random((20, 7)):
        assert holm(p_values.tolist()) == pytest.approx(multitest.multipletests(p_values, method="holm")[1])


def test_corrected_p_values_keep_their_order_and_stay_below_one() -> None:
    p_values = [0.2, 0.001, 0.002, 0.9, 0.5]
    corrected = holm(p_values)
    assert corrected == pytest.approx([0.6, 0.005, 0.008, 1.0, 1.0])
    assert holm([]) == []
    assert holm([0.3]) == [0.3]


def test_one_small_p_value_of_many_is_corrected_for_their_number() -> None:
    others = [single(f"other {number}", 0.5) for number in range(9)]
    assert judged([single("one", 0.0005)], "", "", "").verdict == "violated"
    found = judged([single("one", 0.0005), *others], "fine.", "flagged.", "advice.")
    assert found.verdict == "doubtful"
    assert found.values["one: p_value"] == found.values["p_value"] == pytest.approx(0.005)
    assert found.figure.startswith("one: x = 1, p = 0.005, a little; ")
    assert "7 more with larger p" in found.figure
    assert "significant, but small or not certain" in found.meaning
    assert found.advice == "advice."


def test_a_certain_deviation_that_does_not_matter_is_doubtful() -> None:
    assert judged([single("one", 1e-12, large=False)], "", "", "").verdict == "doubtful"


def test_seeing_nothing_is_fine_only_with_power_everywhere() -> None:
    assert judged([single("a", 0.5), single("b", 0.5)], "fine.", "", "").meaning == "fine."
    weak = judged([single("a", 0.5), single("b", 0.5, chance=0.3)], "fine.", "", "")
    assert weak.verdict == "not tested"
    assert weak.values["power"] == 0.3
    assert "about 200 groups are needed" in weak.meaning


def test_an_untested_case_is_not_fine_and_hides_no_violation() -> None:
    found = judged([single("a", 0.5)], "fine.", "", "", untested=["b", "c"])
    assert found.verdict == "not tested"
    assert found.meaning == "Too few values, or all equal: b, c."
    assert "too few or constant: b, c" in found.figure
    assert judged([single("a", 1e-9)], "", "", "", untested=["b"]).verdict == "violated"
