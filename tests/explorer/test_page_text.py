"""A screen in words, and that no value of a record is in it."""

from dataclasses import replace

from screens import secrets_in, settled  # type: ignore[import-not-found]

from bayesdp import GaussianGroups, MarkovChain
from bayesdp.explorer.choices import Choices
from bayesdp.explorer.explored_file import ExploredFile
from bayesdp.explorer.page_text import PageText, page_text, wanted_of
from bayesdp.explorer.view import Job, done
from bayesdp.rounding import shown_odds

NOTHING = ExploredFile.of(None)
GROUPS = Choices(assumed="groups")


def test_beliefs_are_said_in_the_words_of_the_library() -> None:
    said, plain, ours = page_text(NOTHING, GROUPS).bars
    assert said.words == ours.words == "50 : 50 becomes at most 73.2 : 26.8"
    assert plain.words == "50 : 50 becomes at most 95.3 : 4.7"
    assert (said.tone, plain.tone, ours.tone) == ("promise", "broken", "kept")
    assert "73.2" in shown_odds(1.0)
    assert "73.2 %" in ours.says
    assert "95.3 %" in plain.says
    assert round(plain.after, 2) == 95.26


def test_the_interval_is_labelled() -> None:
    assert page_text(NOTHING, GROUPS).interval == "95 % interval: the answer ± 8.988"
    assert page_text(NOTHING, replace(GROUPS, beta="0.01")).interval.startswith("99 % interval")


def test_from_the_error_both_sides_have_the_same_noise() -> None:
    shown = page_text(NOTHING, replace(GROUPS, start="alpha", alpha="25"))
    assert shown.figures is not None
    assert shown.figures.plain.belief.tau == shown.figures.ours.belief.tau
    assert shown.interval == "95 % interval: the answer ± 25"
    assert shown.heads == ("ε at this error", "")


def test_what_is_wrong_is_said_and_nothing_else_shown() -> None:
    for wrong in (
        {"group_size": "0"},
        {"alpha": "x", "start": "alpha"},
        {"assumed": "no"},
        {"kind": "sum", "high": "0"},
    ):
        shown = page_text(NOTHING, Choices.read(wrong, GROUPS))
        assert shown.problem
        assert shown == PageText(problem=shown.problem)


def test_large_promises_are_warned_of() -> None:
    (warning,) = page_text(NOTHING, replace(GROUPS, epsilon="25")).warnings
    assert "hardly a promise" in warning


def test_findings_about_other_choices_are_not_used() -> None:
    other = done(Job("quick", wanted_of(NOTHING, GROUPS, None)))
    assert page_text(NOTHING, replace(GROUPS, group_size="5"), None, other).chart == ""
    assert page_text(NOTHING, GROUPS, None, other).chart != ""
    assert not settled(NOTHING, GROUPS).waiting


def test_fifty_columns_are_a_heat_map_and_a_choice() -> None:
    names = [f"c{number}" for number in range(50)]
    matrix = [[1.0 if i == j else 0.01 for j in range(50)] for i in range(50)]
    from bayesdp.models.layout import GroupLayout

    wide = GaussianGroups(covariance=matrix, layout=GroupLayout(value=tuple(names)))
    explored = ExploredFile("model", "wide.json", wide)
    assert explored.start.column == "c0"
    shown = page_text(explored, replace(explored.start, column="c49"))
    assert shown.problem == ""
    assert shown.pictures[0].count("<rect") == 2500


# No value of a record


def test_a_fitted_model_shows_no_state_that_was_not_typed() -> None:
    counts = [[9876543, 7], [9, 40]]
    fitted = MarkovChain.from_counts(counts, states=["SENTINELattic", "hall"], length=20)
    explored = ExploredFile("model", "m.json", fitted)
    empty = page_text(explored, explored.start)
    assert empty.problem
    shown = settled(explored, Choices(values="hall"))
    assert shown.problem == ""
    assert "value 1" in shown.pictures[0]
    assert any("value 1" in note for note in shown.notes)
    assert secrets_in(empty) == secrets_in(shown) == []
    typed = page_text(explored, Choices(values="cellar"))
    assert typed.problem
    assert secrets_in(typed) == []


def test_the_leakage_under_a_wrong_assumption_is_shown() -> None:
    odds = Choices(assumed="odds")
    (said,) = [note for note in settled(NOTHING, odds).notes if note.startswith("If the assumption is wrong")]
    assert "half as large again" in said
