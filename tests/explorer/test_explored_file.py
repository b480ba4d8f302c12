"""What is explored, and which of its words may be shown: states of a fitted model are values of records."""

from pathlib import Path

import polars
import pytest

from bayesdp import AnyOf, ArbitraryGroups, Count, GaussianGroups, MarkovChain
from bayesdp.errors import FrameError, InvalidInputError
from bayesdp.explorer.choices import Target
from bayesdp.explorer.explored_file import ExploredFile, discreet, hides
from bayesdp.explorer.view import Wanted, sides

FITTED = MarkovChain.from_counts([[50, 7, 3], [9, 40, 4], [5, 6, 30]], states=["attic", "hall", "yard"], length=200)


def test_a_file_is_a_model_or_a_table(tmp_path: Path) -> None:
    assert ExploredFile.of(None).kind == "nothing"
    model = tmp_path / "m.json"
    model.write_text(ArbitraryGroups(3).to_json())
    assert ExploredFile.of(model).model == ArbitraryGroups(3)
    table = tmp_path / "t.csv"
    polars.DataFrame({f"c{number}": [1] for number in range(50)}).write_csv(table)
    explored = ExploredFile.of(table)
    assert (explored.kind, len(explored.columns), explored.name) == ("table", 50, "t.csv")


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FrameError):
        ExploredFile.of(tmp_path / "missing.csv")
    with pytest.raises(InvalidInputError):
        ExploredFile.of(tmp_path / "missing.json")


def test_fitted_states_are_hidden_unless_typed() -> None:
    shown = discreet(FITTED, ("hall",))
    assert shown.states == ("value 1", "hall", "value 3")
    target = Target(1.0, None, 0.05)
    reported = [sides(Wanted(model, Count(equals="hall"), target), settled=False) for model in (shown, FITTED)]
    assert reported[0].ours.belief == reported[1].ours.belief


def test_what_is_no_secret_is_shown() -> None:
    by_hand = MarkovChain(FITTED.transition, states=FITTED.states)
    truths = MarkovChain.from_counts([[5, 2], [2, 5]], states=[False, True])
    numbers = GaussianGroups(correlation=0.3, size=3)
    assert not any(hides(model, ()) for model in (by_hand, truths, numbers))


def test_one_and_true_are_different_states() -> None:
    fitted = MarkovChain.from_counts([[5, 2], [2, 5]], states=[0, 1])
    assert discreet(fitted, (True,)).states == ("value 1", "value 2")


def test_members_of_several_models_are_hidden_too() -> None:
    shown = discreet(AnyOf(ArbitraryGroups(3), FITTED), ())
    assert shown.members[1].states == ("value 1", "value 2", "value 3")


def test_the_form_begins_with_nothing_private() -> None:
    assert ExploredFile("model", "m.json", FITTED).start.values == ""
    by_hand = MarkovChain(FITTED.transition, states=FITTED.states)
    assert ExploredFile("model", "m.json", by_hand).start.values == '"yard"'
