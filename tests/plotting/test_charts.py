"""Charts: their lines, colours and captions."""

import re
from itertools import combinations

import pytest

import bayesdp as bdp
from bayesdp.models import Model
from bayesdp.models.diagnosis import Diagnosis, Verdict
from bayesdp.plotting.charts import Chart, Line, Panel, caption, distinguished, line, steps, titled
from bayesdp.plotting.palette import COLOURS, PALETTE, PLAIN, colour_of, verdict_colour
from bayesdp.theorems.registry import theorems


def test_a_line_has_its_mechanisms_colour_and_style() -> None:
    assert line("general", ()).colour == COLOURS["general"]
    assert (line("plain-dp", ()).style, line("chakrabarti-2022", ()).style, line("general", ()).style) == (
        "--",
        ":",
        "-",
    )


def test_the_numbers_read_back_as_they_were() -> None:
    third = 1 / 3
    chart = Chart("x", "x", "ε", "α", (Panel((line("general", ((third, 0.1),)),), "left"),))
    assert chart.csv().splitlines() == ["panel,series,kind,ε,α", f"left,general,line,{third!r},0.1"]


def drawn(name: str, *heights: float) -> Line:
    return Line(name, tuple((float(x), y) for x, y in enumerate(heights, start=1)), "#000000", label=name)


def test_a_line_is_drawn_in_turns_only_where_it_lies_on_another() -> None:
    pieces = distinguished([drawn("a", 1, 2, 3, 4), drawn("b", 1, 2, 9, 9), drawn("c", 5, 6, 7, 8)])
    assert [(piece.name, piece.turns, len(piece.points), piece.label) for piece in pieces] == [
        ("a", (0, 2), 2, ""),
        ("a", (0, 1), 3, "a"),
        ("b", (1, 2), 2, ""),
        ("b", (0, 1), 3, "b"),
        ("c", (0, 1), 4, "c"),
    ]


def test_a_line_that_lies_on_another_all_the_way_says_which() -> None:
    pieces = distinguished([drawn("a, proven", 1, 2), drawn("b", 1.0001, 2), drawn("c", 1, 2), drawn("d", 1)])
    assert [piece.label for piece in pieces] == ["a, proven", "b\n(same as a)", "c\n(same as a)", "d"]
    assert [piece.turns for piece in pieces] == [(0, 3), (1, 3), (2, 3), (0, 1)]


def test_stairs_hold_each_height_until_the_next() -> None:
    assert steps(((0, 1.0), (2, 3.0), (5, 2.0))) == ((0, 1.0), (2, 1.0), (2, 3.0), (5, 3.0), (5, 2.0))
    assert steps(()) == ()


def test_every_theorem_of_ours_has_a_colour_of_its_own_choice() -> None:
    assert {theorem.name for theorem in theorems()} <= set(COLOURS)
    assert all(re.fullmatch("#[0-9A-F]{6}", colour) for colour in (*COLOURS.values(), *PALETTE))


@pytest.mark.parametrize("family", ["markov", "gaussian", "odds"])
def test_theorems_about_one_model_have_different_colours(family: str) -> None:
    names = [name for name in COLOURS if name.startswith(family)] + [PLAIN, "general"]
    assert len(names) > 3
    for one, other in combinations(names, 2):
        assert colour_of(one) != colour_of(other), (one, other)


def test_what_is_said_of_a_line_does_not_change_its_colour() -> None:
    assert colour_of("general, unprotected") == colour_of("general") == COLOURS["general"]
    assert colour_of("mine, proven") == colour_of("mine") in PALETTE


def test_every_verdict_has_its_colour_and_no_other_word_has() -> None:
    assert len({verdict_colour(verdict) for verdict in Verdict}) == len(Verdict) > 3
    with pytest.raises(KeyError):
        verdict_colour("perhaps")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (bdp.Independent(), "model independent"),
        (bdp.OddsChain(9), "model odds-chain, any number of records"),
        (bdp.ArbitraryGroups(1200), "model arbitrary, up to n = 1,200 records together"),
    ],
)
def test_a_model_says_how_many_records_belong_together(model: Model, said: str) -> None:
    assert caption(model) == said


def test_a_model_that_was_diagnosed_names_its_table() -> None:
    seen = bdp.OddsChain(9).with_diagnosis(
        Diagnosis("records follow a chain", (), 7, "all records", table_name="meters.csv")
    )
    assert caption(seen) == "meters.csv, n = 7, model odds-chain"


def test_a_title_is_one_line_whatever_a_table_is_called() -> None:
    title = titled("a\n\tb\x1b[2J", None, "model markov")
    assert "\n" not in title
    assert "\x1b" not in title
    assert title.startswith("a b")
    assert title.endswith(", model markov")
    assert titled("a", 0) == "a, n = 0"
