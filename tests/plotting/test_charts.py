from bayesdp.plotting.charts import Chart, Line, Panel, line, steps, told_apart
from bayesdp.plotting.palette import COLOURS


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
    pieces = told_apart([drawn("a", 1, 2, 3, 4), drawn("b", 1, 2, 9, 9), drawn("c", 5, 6, 7, 8)])
    assert [(piece.name, piece.turns, len(piece.points), piece.label) for piece in pieces] == [
        ("a", (0, 2), 2, ""),
        ("a", (0, 1), 3, "a"),
        ("b", (1, 2), 2, ""),
        ("b", (0, 1), 3, "b"),
        ("c", (0, 1), 4, "c"),
    ]


def test_a_line_that_lies_on_another_all_the_way_says_which() -> None:
    pieces = told_apart([drawn("a, proven", 1, 2), drawn("b", 1.0001, 2), drawn("c", 1, 2), drawn("d", 1)])
    assert [piece.label for piece in pieces] == ["a, proven", "b\n(same as a)", "c\n(same as a)", "d"]
    assert [piece.turns for piece in pieces] == [(0, 3), (1, 3), (2, 3), (0, 1)]


def test_stairs_hold_each_height_until_the_next() -> None:
    assert steps(((0, 1.0), (2, 3.0), (5, 2.0))) == ((0, 1.0), (2, 1.0), (2, 3.0), (5, 3.0), (5, 2.0))
    assert steps(()) == ()
