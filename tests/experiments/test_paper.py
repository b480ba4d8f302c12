"""What the paper prints, typed in: it agrees with itself, but for what docs/errata.md says."""

import pytest

from bayesdp.experiments import Report
from bayesdp.experiments.extra import EXTRA
from bayesdp.experiments.paper import DATA, FIGURES
from bayesdp.experiments.studies import STUDIES


def test_figures_have_the_papers_names(full: Report) -> None:
    text = full.html.read_text(encoding="utf-8")
    assert {chart.name for chart in full.charts} == set(FIGURES) - set(EXTRA)
    for name in ("Figure 1: ", "Figure 7b: Gaussian data results, FamilyIQ", "Figure 10e: MAPE, Markov, Activity"):
        assert text.count(f">{name}") == 2


@pytest.mark.parametrize("name", [name for name, printed in DATA.items() if printed.matrix is not None])
def test_printed_rows_are_probabilities_with_the_printed_gamma(name: str) -> None:
    printed = DATA[name]
    entries = [float(entry) for entry in printed.matrix or ()]
    assert entries[0] + entries[1] == pytest.approx(1, abs=1.5e-3)
    assert entries[2] + entries[3] == pytest.approx(1, abs=1.5e-3)
    gamma = max(entries) / min(entries)
    assert (abs(gamma - float(printed.gamma or 0)) < 0.01) == (name != "electricity-70")  # erratum 3


@pytest.mark.parametrize("name", ["galton", "familyiq", "syntheticiq"])
def test_printed_sensitivities_are_the_width_of_the_bounds(name: str) -> None:
    printed = DATA[name]
    assert printed.bounds is not None
    low, high = printed.bounds
    assert f"{high - low:g}" in printed.sensitivity
    assert float(printed.correlation or 0) > 0
    assert 1 < float(printed.factor or 0) < float(printed.size)


def test_every_printed_data_set_is_a_study_with_its_panels() -> None:
    assert set(DATA) == set(STUDIES)
    numbered = [title.partition(":")[0] for title in FIGURES.values() if title.startswith("Figure")]
    assert len(set(numbered)) == len(numbered)
    assert [name for name in numbered if name.startswith("Figure 8")] == [f"Figure 8{letter}" for letter in "abcde"]
