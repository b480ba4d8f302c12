from bayesdp.plotting.charts import Chart, Panel, coinciding, line
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


def test_only_curves_that_cannot_be_told_apart_are_drawn_as_one() -> None:
    curves = {
        "a": ((1.0, 10.0), (2.0, 5.0)),
        "near": ((1.0, 10.005), (2.0, 5.0)),
        "apart": ((1.0, 10.02), (2.0, 5.0)),
        "shorter": ((1.0, 10.0),),
    }
    assert coinciding(curves) == [["a", "near"], ["apart"], ["shorter"]]
