import builtins
from pathlib import Path
from typing import Any

import pytest

from bayesdp import AnyOf, ArbitraryGroups, Count, GaussianGroups, MarkovChain, Sum, compare
from bayesdp.errors import InvalidInputError, MissingDependencyError
from bayesdp.theorems import theorems

COUNT = Count(equals=1)
CHAIN = MarkovChain([[0.882, 0.118], [0.305, 0.695]], length=15264)
EPSILONS = [1.0, 10.0]


def test_one_row_per_theorem_and_epsilon() -> None:
    found = compare(CHAIN, COUNT, epsilons=EPSILONS)
    assert len(found.rows) == len(theorems()) * len(EPSILONS)
    rows = {(row.theorem, row.epsilon): row for row in found.rows}
    assert rows["general", 1.0].alpha == pytest.approx(45727, abs=1)
    assert rows["markov-paper", 1.0].tau is None
    assert rows["markov-paper", 1.0].covered
    assert rows["markov-paper", 10.0].alpha == pytest.approx(1.5332, abs=1e-4)
    assert not rows["gaussian-paper", 10.0].covered


def test_it_prints_as_a_table_with_each_reason_once() -> None:
    text = str(compare(CHAIN, COUNT, epsilons=EPSILONS))
    assert text.count("gaussian-paper: it is about normal groups") == 1
    assert "it proves no ε below 8.04" in text
    assert "(plain-dp): unprotected" in text


def test_json_rows_are_guarantees_only() -> None:
    document = compare(GaussianGroups(correlation=0.2, size=3), Sum(bounds=(0, 1)), epsilons=EPSILONS).to_dict()
    assert all({"theorem", "epsilon", "tau", "alpha"} <= row.keys() for row in document["rows"])
    assert {each["method"] for each in document["published"]} == {"plain-dp", "yang-2015"}


def test_prior_art_is_shown_only_where_every_model_is_covered() -> None:
    lazy = MarkovChain([[0.8, 0.2], [0.2, 0.8]], length=100)
    unsure = compare(AnyOf(lazy, CHAIN), COUNT, epsilons=[10.0])
    assert "any-of" in str(unsure)
    assert {each.method for each in unsure.published} == {"plain-dp"}


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_it_plots_itself(tmp_path: Path, ending: str) -> None:
    written = compare(CHAIN, COUNT, epsilons=EPSILONS).plot(tmp_path / f"picture{ending}")
    assert written.stat().st_size > 2000


def test_pictures_that_cannot_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = compare(ArbitraryGroups(2), COUNT, epsilons=[1.0])
    with pytest.raises(InvalidInputError, match=r"\.png, \.svg or \.pdf"):
        found.plot(tmp_path / "picture.doc")
    with pytest.raises(InvalidInputError, match="cannot write"):
        found.plot("/nonexistent/picture.png")
    with pytest.raises(InvalidInputError, match="path of a picture"):
        found.plot(None)  # type: ignore[arg-type]
    original = builtins.__import__

    def without_matplotlib(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(MissingDependencyError, match=r'pip install "bayesdp\[plot\]"'):
        found.plot(tmp_path / "picture.png")


@pytest.mark.parametrize("epsilons", [[], [0.0], [1.0, float("nan")], 3.0, "12"])
def test_bad_epsilons_are_refused(epsilons: Any) -> None:
    with pytest.raises(InvalidInputError, match="epsilons"):
        compare(CHAIN, COUNT, epsilons=epsilons)


def test_bad_queries_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="expected a query"):
        compare(CHAIN, "count", epsilons=[1.0])  # type: ignore[arg-type]


def test_the_impossibility_under_arbitrary_correlation_is_stated() -> None:
    shown = str(compare(ArbitraryGroups(500), COUNT, epsilons=[1.0]))
    assert "for ε below 2.944 no mechanism at all is 95 % sure to within 250, half of what 500 correlated" in shown
    total = str(compare(ArbitraryGroups(4), Sum(bounds=(0, 10)), epsilons=[2.0, 5.0], beta=0.1))
    assert "for ε below 2.197 no mechanism at all is 90 % sure to within 20," in total
    assert "no mechanism at all" not in str(compare(ArbitraryGroups(500), COUNT, epsilons=[3.0]))
    assert "no mechanism at all" not in str(compare(CHAIN, COUNT, epsilons=[1.0]))


def test_the_impossibility_agrees_with_the_noise_of_the_theorem() -> None:
    for epsilon in (0.1, 1.0, 2.9):
        (general,) = [
            row for row in compare(ArbitraryGroups(6), COUNT, epsilons=[epsilon]).rows if row.theorem == "general"
        ]
        assert general.alpha is not None
        assert general.alpha > 3
