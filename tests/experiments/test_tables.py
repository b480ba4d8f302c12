import re
from collections.abc import Callable
from fractions import Fraction

import pytest

from bayesdp.experiments import Report
from bayesdp.experiments.studies import Study
from bayesdp.experiments.tables import agrees, least_epsilon
from bayesdp.theorems.gaussian.paper import paper_factor
from bayesdp.theorems.gaussian.tight import tight_factor


@pytest.mark.parametrize("size", [2, 3, 6, 7, 24])
def test_the_gaussian_bound_wins_at_the_order_of_the_paper(size: int) -> None:
    wins = paper_factor(size, Fraction(1, size)) <= size
    assert wins == (size < 7)
    assert tight_factor(size, Fraction(1, size)) < size


def test_printed_numbers_are_rounded_or_cut_off() -> None:
    assert agrees("8.54", 8.542) == "match"
    assert agrees("731", 731) == "match"
    assert agrees("6.9", 6.965) == "match, cut off instead of rounded"
    assert agrees("4.7", 6.952) is None


LEAST = {"activity": 8.060, "electricity-70": 6.952, "electricity-80": 6.021, "electricity-90": 8.542}


@pytest.mark.parametrize(("name", "least"), LEAST.items())
def test_the_smallest_epsilon_of_the_reference(
    name: str, least: float, full: Report, twin_of: Callable[[str], Study]
) -> None:
    found = twin_of(name)
    assert least_epsilon("markov-paper", found) == pytest.approx(least, abs=5e-4)
    mixing = least_epsilon("markov-mixing", found)
    assert mixing is not None
    assert mixing < 1e-6
    (row,) = [row for row in full.table("least-epsilon").rows if row[0] == found.label]
    assert row[2:5] == (f"{least:.3f}", "any ε > 0", "any ε > 0")


def verdict(full: Report, about: str, what: str) -> list[str]:
    table = full.table("paper-vs-ours")
    return [row[-1] for row in table.rows if row[0].startswith(about) and row[1].startswith(what)]


def test_verdicts_on_the_papers_numbers(full: Report) -> None:
    assert "197 trios" in verdict(full, "Galton", "records")[0]
    assert verdict(full, "FamilyIQ", "records") == ["match"]
    assert "1.610" in verdict(full, "FamilyIQ", "factor")[0]
    assert "2,304 missing" in verdict(full, "Activity, number", "records")[0]
    assert "0.850/0.149 = 5.70" in verdict(full, "Electricity, days above 70", "γ")[0]
    assert [text[:5] for text in verdict(full, "Electricity", "γ")] == ["contr", "match", "match"]
    assert verdict(full, "SyntheticIQ", "factor") == ["match"]
    assert "below n" in verdict(full, "Activity, number", "error of general")[0]
    assert "10.75" in verdict(full, "Theory", "γ from which")[0]
    assert all(row[-1] not in ("", "differs") for row in full.table("paper-vs-ours").rows)


def test_an_unreachable_smallest_epsilon_is_explained(full: Report) -> None:
    equation, text = verdict(full, "Electricity, days above 80", "smallest")
    assert "printed γ = 4.49 gives 6.0074" in equation
    assert "give 5.9980 to 6.0249" in equation
    assert "rounded up, 6.0213 would be 6.03" in equation
    assert "the equation has 4.7 for “Electricity, days above 70 kWh”" in text
    equation, text, results = verdict(full, "Electricity, days above 90", "smallest")
    assert equation.startswith("match")
    assert "8.54 with two digits swapped" in text
    assert results == text
    equation, text, results = verdict(full, "Electricity, days above 70", "smallest")
    assert equation.startswith("wrong, because its γ is")
    assert text.startswith("match, cut off")
    assert "γ would have to be 3.40" in results


def test_every_verdict_is_a_match_or_gives_a_reason(full: Report) -> None:
    for row in full.table("paper-vs-ours").rows:
        word, _, reason = (
            re.split("(:|, but )", row[-1], maxsplit=1) if re.search(":|, but ", row[-1]) else (row[-1], "", "")
        )
        assert word.split(",")[0] in ("match", "holds", "holds for every ε tried") or len(reason) > 20, row


def test_claims_beyond_the_papers_own_checks(full: Report) -> None:
    general = verdict(full, "", "MAPE of general")
    ends = [re.findall(r"holds, for ε up to (\d+): the mean error is n/ε records", text) for text in general]
    assert ends == [["3"], ["3"], ["1"], ["3"], ["5"]]
    (gaussian,) = verdict(full, "Theory", "ρ up to which")
    assert gaussian.startswith("holds only for m below 7")
    (similar,) = verdict(full, "Theory", "h close to 1")
    assert similar.startswith(
        "holds as a necessary condition, but is not sufficient: at ε = 6, γ = 4 the error is 13.2"
    )
