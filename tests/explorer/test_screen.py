"""A screen in words, and that no value of a record is in it."""

from dataclasses import replace
from pathlib import Path

import polars
import pytest

from bayesdp import GaussianGroups, MarkovChain
from bayesdp.errors import InvalidInputError
from bayesdp.explorer.choices import Choices
from bayesdp.explorer.ladder import Ladder, look
from bayesdp.explorer.screen import Screen, screen, wanted_of
from bayesdp.explorer.subject import Subject
from bayesdp.explorer.view import Findings, Job, done, next_job, together
from bayesdp.rounding import shown_odds

NOTHING = Subject.of(None)
GROUPS = Choices(assumed="groups")


def settled(subject: Subject, choices: Choices, ladder: Ladder | None = None, most: int = 2) -> Screen:
    """Return the screen after the first jobs: the chart of the quick theorems, and what is asked by all of them."""
    wanted = wanted_of(subject, choices, ladder)
    findings = Findings.about(wanted)
    for _ in range(most):
        job = next_job(findings, wanted)
        if job is not None:
            findings = together(findings, done(job))
    return screen(subject, choices, ladder, findings)


def test_beliefs_are_said_in_the_words_of_the_library() -> None:
    said, plain, ours = screen(NOTHING, GROUPS).bars
    assert said.words == ours.words == "50 : 50 becomes at most 73.2 : 26.8"
    assert plain.words == "50 : 50 becomes at most 95.3 : 4.7"
    assert (said.tone, plain.tone, ours.tone) == ("promise", "broken", "kept")
    assert "73.2" in shown_odds(1.0)
    assert "73.2 %" in ours.says
    assert "95.3 %" in plain.says
    assert round(plain.after, 2) == 95.26


def test_the_interval_is_labelled() -> None:
    assert screen(NOTHING, GROUPS).interval == "95 % interval: the answer ± 8.988"
    assert screen(NOTHING, replace(GROUPS, beta="0.01")).interval.startswith("99 % interval")


def test_from_the_error_both_sides_have_the_same_noise() -> None:
    shown = screen(NOTHING, replace(GROUPS, start="alpha", alpha="25"))
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
        shown = screen(NOTHING, Choices.read(wrong, GROUPS))
        assert shown.problem
        assert shown == Screen(problem=shown.problem)


def test_large_promises_are_warned_of() -> None:
    (warning,) = screen(NOTHING, replace(GROUPS, epsilon="25")).warnings
    assert "hardly a promise" in warning


def test_findings_of_another_screen_are_not_used() -> None:
    other = done(Job("quick", wanted_of(NOTHING, GROUPS, None)))
    assert screen(NOTHING, replace(GROUPS, group_size="5"), None, other).chart == ""
    assert screen(NOTHING, GROUPS, None, other).chart != ""
    assert not settled(NOTHING, GROUPS).waiting


def test_fifty_columns_are_a_heat_map_and_a_choice() -> None:
    names = [f"c{number}" for number in range(50)]
    matrix = [[1.0 if i == j else 0.01 for j in range(50)] for i in range(50)]
    from bayesdp.models.layout import GroupLayout

    wide = GaussianGroups(covariance=matrix, layout=GroupLayout(value=tuple(names)))
    subject = Subject("model", "wide.json", wide)
    assert subject.start.column == "c0"
    shown = screen(subject, replace(subject.start, column="c49"))
    assert shown.problem == ""
    assert shown.pictures[0].count("<rect") == 2500


# No value of a record


SECRETS = ("SENTINELattic", "SENTINELbob", "9876543")


def secrets_in(shown: object) -> list[str]:
    return [secret for secret in SECRETS if secret in repr(shown) or f"{9876543:,}" in repr(shown)]


def test_a_fitted_model_shows_no_state_that_was_not_typed() -> None:
    counts = [[9876543, 7], [9, 40]]
    fitted = MarkovChain.from_counts(counts, states=["SENTINELattic", "hall"], length=20)
    subject = Subject("model", "m.json", fitted)
    empty = screen(subject, subject.start)
    assert empty.problem
    shown = settled(subject, Choices(values="hall"))
    assert shown.problem == ""
    assert "value 1" in shown.pictures[0]
    assert any("value 1" in note for note in shown.notes)
    assert secrets_in(empty) == secrets_in(shown) == []
    typed = screen(subject, Choices(values="cellar"))
    assert typed.problem
    assert secrets_in(typed) == []


@pytest.fixture
def families(tmp_path: Path) -> Subject:
    path = tmp_path / "families.csv"
    heights = [9876543 + (family * 7 + child * 3) % 11 + family % 5 for family in range(60) for child in range(3)]
    people = ["SENTINELbob"] * 3 + [f"family {family}" for family in range(1, 60) for _ in range(3)]
    polars.DataFrame({"family": people, "height": heights}).write_csv(path)
    return Subject.of(path)


def test_a_ladder_of_numbers_shows_no_value(families: Subject) -> None:
    chosen = Choices(kind="sum", column="height", low="0", high="200", group="family")
    ladder = look(families, chosen)
    assert secrets_in(ladder.steps) == []
    assert len(ladder.steps) >= 3
    for step in ladder.steps:
        shown = settled(families, replace(chosen, rung=step.name), ladder)
        assert secrets_in(shown) == []
        assert step.name == "independent" or shown.problem or "height" in shown.python


@pytest.mark.slow
def test_a_ladder_of_states_shows_no_value(tmp_path: Path) -> None:
    path = tmp_path / "rooms.csv"
    rooms = [("SENTINELattic", "hall")[t * t // 7 % 2] for t in range(400)]
    people = ["SENTINELbob"] * 200 + ["eve"] * 200
    polars.DataFrame({"t": range(400), "room": rooms, "who": people}).write_csv(path)
    subject = Subject.of(path)
    chosen = Choices(column="room", values="hall", order_by="t", entity="who")
    ladder = look(subject, chosen)
    assert secrets_in(ladder.steps) == []
    for step in ladder.steps:
        assert secrets_in(screen(subject, replace(chosen, rung=step.name), ladder)) == []


# The ladder


def test_a_table_is_looked_at_when_asked_and_again_when_the_question_changes(families: Subject) -> None:
    chosen = Choices(kind="sum", column="height", low="0", high="200", group="family")
    assert "Then look at the table" in screen(families, chosen).problem
    ladder = look(families, chosen)
    assert screen(families, chosen, ladder).problem == ""
    assert "Look again" in screen(families, replace(chosen, high="300"), ladder).problem
    assert screen(families, replace(chosen, epsilon="2"), ladder).problem == ""  # another ε is another screen only


def test_one_rung_is_recommended_and_another_can_be_chosen(families: Subject) -> None:
    chosen = Choices(kind="sum", column="height", low="0", high="200", group="family")
    ladder = look(families, chosen)
    assert sum(step.recommended for step in ladder.steps) == 1
    last = ladder.steps[-1]
    assert last.name == "arbitrary groups"
    assert "groups of at most 3" in screen(families, replace(chosen, rung=last.name), ladder).assumption


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"column": ""}, "name the column"),
        ({"column": "nothing"}, "no column"),
        ({"kind": "count", "values": "1"}, "in order"),
        ({"kind": "count", "order_by": "family"}, "which values"),
        ({"kind": "count", "column": "height >", "order_by": "family", "values": "true"}, "cannot read"),
        (
            {"kind": "count", "column": "height > 3", "order_by": "family", "values": "true"},
            "may depend on single records",
        ),
        ({"group": "nobody"}, "no column 'nobody'"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_without_its_records(
    families: Subject, wrong: dict[str, str], said: str
) -> None:
    chosen = Choices.read(wrong, Choices(kind="sum", values="", column="height", high="200", group="family"))
    with pytest.raises(InvalidInputError, match=said) as refused:
        look(families, chosen)
    assert secrets_in(str(refused.value)) == []


def test_what_this_noise_would_leak_if_the_assumption_were_not_quite_right_is_said() -> None:
    odds = Choices(assumed="odds")
    (said,) = [note for note in settled(NOTHING, odds).notes if note.startswith("What if")]
    assert "half as large again" in said
