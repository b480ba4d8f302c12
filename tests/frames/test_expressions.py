import string
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesdp import Count, Sum
from bayesdp.errors import BayesDPError, ExpressionError, FrameError, QueryError
from bayesdp.frames.aggregates import tally
from bayesdp.frames.expressions import Column, Comparison, Condition, Membership, _Every, _Not, parse

FRAME = pl.DataFrame(
    {
        "steps": [0, 7, 12, -3],
        "x": [0.5, -0.0, 2.0, 1e9],
        "room": ["hall", "kitchen", "été", 'a "b"'],
        "open": [True, False, True, False],
        "größe": [1, 2, 3, 4],
        "two words": [1, 1, 2, 2],
        "and": [5, 5, 6, 6],
        "day": ["2024-02-29", "2024-03-01", "2024-03-02", "2024-03-03"],
    }
).with_columns(pl.col("day").str.to_date())


def truths(text: str) -> list[bool]:
    """Return of which records a condition is true: each record alone, so that counts are truths."""
    return [tally(FRAME[i], [Count(text, equals=True)])[0].counts == (1,) for i in range(FRAME.height)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("steps > 0", "FTTF"),
        ("steps>0", "FTTF"),
        ("  steps\n>\t0 ", "FTTF"),
        ("0 < steps", "FTTF"),
        ("7 >= steps", "TTFT"),
        ("steps >= 7", "FTTF"),
        ("steps = 7", "FTFF"),
        ("steps == 7", "FTFF"),
        ("steps != 7", "TFTT"),
        ("steps <> 7", "TFTT"),
        ("steps == +7", "FTFF"),
        ("steps == -3", "FFFT"),
        ("steps == 7.0", "FTFF"),
        ("steps == 7.5", "FFFF"),
        ("x == .5", "TFFF"),
        ("x == 5e-1", "TFFF"),
        ("x == 0", "FTFF"),
        ("x == 1E9", "FFFT"),
        ("-4 < steps < 8", "TTFT"),
        ("0 <= steps < 12 != größe", "TTFF"),
        ("steps > x", "FTTF"),
        ("steps < größe", "TFFT"),
        # and binds tighter than or, not tighter than both
        ("open or steps > 0 and steps > 10", "TFTF"),
        ("(open or steps > 0) and steps > 10", "FFTF"),
        ("not open or open", "TTTT"),
        ("not (open or steps > 0)", "FFFT"),
        ("not open and steps > 0", "FTFF"),
        ("not not open", "TFTF"),
        ("NOT open OR False == open", "FTFT"),
        ("((open))", "TFTF"),
        ("open == true", "TFTF"),
        ("open != TRUE", "FTFT"),
        ("open == 0", "FTFT"),
        ("room == 'hall'", "TFFF"),
        ('room == "hall"', "TFFF"),
        ("room == 'été'", "FFTF"),
        (r'room == "a \"b\""', "FFFT"),
        ("room == 'a \"b\"'", "FFFT"),
        ("room in ['hall', \"été\"]", "TFTF"),
        ("room in ('hall')", "TFFF"),
        ("room not in ['hall', 'été']", "FTFT"),
        ("not room in ['hall']", "FTTT"),
        ("not room not in ['hall']", "TFFF"),
        ("steps in [0, 12.0, 3.5]", "TFTF"),
        ("open in [true]", "TFTF"),
        ("open in [true, false]", "TTTT"),
        ("room > 'h'", "TTTF"),
        ("größe < 3", "TTFF"),
        ("`größe` < 3", "TTFF"),
        ("`two words` == 2", "FFTT"),
        ("`and` == 6", "FFTT"),
        ("day >= '2024-03-01'", "FTTT"),
        ("day in ['2024-02-29', '2024-03-03']", "TFFT"),
    ],
)
def test_what_a_condition_means(text: str, expected: str) -> None:
    assert truths(text) == [letter == "T" for letter in expected]


def test_columns_are_those_named() -> None:
    assert parse("a > 0 and (`b c` < d or not e in ['f', \"g\"])").columns == {"a", "b c", "d", "e"}
    assert parse("1 < a < 2").columns == {"a"}


HOSTILE = [
    ("__import__('os')", r'expected the end after "__import__", found "\("'),
    ("__import__('os').system('ls')", "is not part of a condition"),
    ("steps > 0; drop table x", "'; drop table x' is not part of a condition"),
    ("steps > 0 -- comment", "is not part of a condition"),
    ("a.b > 0", "'.b > 0' is not part of a condition"),
    ("f(x) > 0", 'after "f", found "\\("'),
    ("lambda x: x", "': x' is not part of a condition"),
    ("lambda x", 'after "lambda", found "x"'),
    ("f'{x}' == 'y'", "after \"f\", found \"'"),
    ("f'{x}'", "after \"f\", found \"'"),
    ("[x for x in y]", 'a column or a value, found "\\["'),
    ("{'a': 1}", "is not part of a condition"),
    ("a if b else c", 'found "if"'),
    ("a := 1", "is not part of a condition"),
    ("a + 1 > 0", "is not part of a condition"),
    ("a - 1 > 0", "is not part of a condition"),
    ("a -1 > 0", 'found "-1"'),
    ("a * b", "is not part of a condition"),
    ("a[0] > 1", 'found "\\["'),
    ("a & b", "is not part of a condition"),
    ("a > 0 and", "a column or a value after .* found the end"),
    ("and a > 0", 'found "and"'),
    ("(a > 0", 'expected "\\)" after "\\(a > 0", found the end'),
    ("a > 0)", 'expected the end after "a > 0", found "\\)"'),
    ("()", 'found "\\)"'),
    (")", 'found "\\)"'),
    ("a >", "a column or a value"),
    ("> a", "a column or a value"),
    ("a > > b", "a column or a value"),
    ("a => b", "a column or a value"),
    ("a === b", "a column or a value"),
    ("a < ", "a column or a value"),
    ("not", "a column or a value"),
    ("a not > 3", '"in"'),
    ("a not", '"in"'),
    ("a in", r'expected "\["'),
    ("a in []", "a value"),
    ("a in [1,]", "a value"),
    ("a in [1 2]", r'"," or "\]"'),
    ("a in [1", r'"," or "\]"'),
    ("a in [1)", r'"," or "\]"'),
    ("a in (1]", r'"," or "\]"'),
    ("a in [b]", "a value"),
    ("a in 'abc'", r'expected "\["'),
    ("3 in [3]", "a comparison sign"),
    ("3", "a comparison sign"),
    ("'a'", "a comparison sign"),
    ("true", "a comparison sign"),
    ("1 < 2", "compares no column"),
    ("1 < 2 < a", "compares no column"),
    ("'a' == 'b'", "compares no column"),
    ("a == 'b", "is not part of a condition"),
    ('a == "b\\"', "is not part of a condition"),
    ("a == `b", "is not part of a condition"),
    ("`` > 0", "is not part of a condition"),
    ("a > 1e999", "too large a number"),
    ("a > 9223372036854775808", "does not fit into 64 bits"),
    ("a > " + "9" * 4000, "64 bits|too large"),
    ("a > 1_000", "is not part of a condition"),
    ("a > 0x10", "is not part of a condition"),
    ("a > 1.2.3", "is not part of a condition"),
    ("a > 5m", "is not part of a condition"),
    ("a > nan or", "a column or a value"),
    ("a \x00", "is not part of a condition"),
    ("a > 0 # b", "is not part of a condition"),
    ("a > 0 \\", "is not part of a condition"),
    ("", "must be a text such as 'steps > 0'"),
    ("   ", "must be a text such as 'steps > 0'"),
    ("a" * 20_000, "20000 characters is too long; the limit is 10000"),
    ("(" * 4000 + "a" + ")" * 4000, "nested more than 50 deep"),
    ("not (" * 1500 + "a" + ")" * 1500, "nested more than 50 deep"),
    ("(" * 9999, "nested more than 50 deep"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), HOSTILE, ids=[text[:20] for text, _ in HOSTILE])
def test_what_is_no_condition(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message) as refused:
        parse(text)
    assert len(str(refused.value)) < 400
    if text.strip():
        with pytest.raises(ExpressionError):
            tally(FRAME, [Count("steps", equals=1, where=text)])


@pytest.mark.parametrize("text", [None, 3, b"a > 0", ["a > 0"]])
def test_a_condition_is_a_text(text: Any) -> None:
    with pytest.raises(ExpressionError, match="must be a text"):
        parse(text)


@pytest.mark.parametrize("frame", [FRAME, FRAME.lazy()], ids=["eager", "lazy"])
def test_long_conditions_take_no_time(frame: Any) -> None:
    """Two thousand terms one after the other: a tree as deep as that is beyond some engines, and a trap for others."""
    for word, holds in ((" or ", "open"), (" and ", "steps<99")):
        text = word.join([holds] * ((10_000 + len(word)) // len(word + holds)))
        assert tally(frame, [Count(text, equals=True)])[0].counts == ((2,) if word == " or " else (4,))
    nots = "not " * 2001 + "open"
    assert tally(frame, [Count(nots, equals=True)])[0].counts == (2,)


def test_long_conditions_in_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    text = " or ".join(["open"] * 1200)
    assert tally(pandas.DataFrame({"open": [True, False]}), [Count(text, equals=True)])[0].counts == (1,)


# --- the way back -----------------------------------------------------------------------------------------------------

NAMES = st.one_of(
    st.sampled_from(
        ["a", "steps", "größe", "日本", "_", "x1", "and", "In", "NOT", "true", "False", "two words", "a.b"]
    ),
    st.text(min_size=1, max_size=6).filter(lambda name: "`" not in name),
)
COLUMNS = st.builds(Column, NAMES)
LITERALS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.text(string.punctuation + " \n", max_size=8),
)
SIGNS = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
SIMPLE: st.SearchStrategy[Condition] = st.one_of(
    COLUMNS,
    st.builds(Comparison, COLUMNS, SIGNS, COLUMNS | LITERALS),
    st.builds(Comparison, LITERALS, SIGNS, COLUMNS),
    st.builds(Membership, COLUMNS, st.lists(LITERALS, min_size=1, max_size=4).map(tuple)),
)
CONDITIONS: st.SearchStrategy[Condition] = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.builds(_Not, inner),
        st.builds(_Every, st.lists(inner, min_size=2, max_size=4).map(tuple), st.sampled_from(["and", "or"])),
    ),
    max_leaves=12,
)


@given(CONDITIONS)
def test_a_condition_can_be_read_as_it_is_shown(condition: Condition) -> None:
    again = parse(str(condition))
    assert (again, repr(again)) == (condition, repr(condition))
    assert str(again) == str(condition)
    assert again.columns == condition.columns


@given(st.text(max_size=30) | st.text("ab01 '\"`()[]<>=!,.not and or in true\\", max_size=40))
def test_any_text_is_a_condition_or_refused(text: str) -> None:
    try:
        condition = parse(text)
    except ExpressionError:
        return
    assert parse(str(condition)) == condition


@given(st.text("ab01 '\"`()[]<>=!,.notandorinTrue", max_size=40))
def test_any_filter_is_answered_or_refused(text: str) -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": [True, False], "0": ["x", "y"]})
    try:
        tally(frame, [Count("a", equals=1, where=text or None), Count(text or "a", equals=True)])
    except BayesDPError:
        return


# --- what does not go together ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("steps > 'x'", QueryError, "column 'steps' of the table holds whole numbers, which 'x' is not"),
        ("x == 'y'", QueryError, "column 'x' of the table holds numbers, which 'y' is not"),
        ("room == 3", QueryError, "column 'room' of the table holds texts, which 3 is not"),
        ("room in ['hall', 3]", QueryError, "holds texts, which 3 is not"),
        ("room == true", QueryError, "holds texts, which True is not"),
        ("open == 'true'", QueryError, "holds true and false, which 'true' is not"),
        ("open == 2", QueryError, "holds true and false, which 2 is not"),
        ("open in [true, 'x']", QueryError, "holds true and false, which 'x' is not"),
        ("day == 3", QueryError, "holds times, which 3 is not"),
        ("day == 'tomorrow'", QueryError, "holds times; write them like 2012-10-01 .* not 'tomorrow'"),
        ("day == '2024-02-30'", QueryError, "not '2024-02-30'"),
        ("steps > room", FrameError, "'steps' holds whole numbers and column 'room' texts; they cannot be compared"),
        ("open == steps", FrameError, "cannot be compared"),
        ("day > room", FrameError, "cannot be compared"),
        ("steps", QueryError, "'steps' of the table holds whole numbers|neither"),
        (
            "not steps",
            FrameError,
            "column 'steps' of the table holds whole numbers, so it is not a condition by itself",
        ),
        ("room and open", FrameError, "column 'room' of the table holds texts, so it is not a condition by itself"),
        ("nowhere > 0", FrameError, "the table has no column 'nowhere'; it has 'steps', 'x', 'room'"),
        ("Steps > 0", FrameError, "the table has no column 'Steps'"),
    ],
)
def test_what_cannot_be_compared(text: str, error: type[BayesDPError], message: str) -> None:
    if text != "steps":
        with pytest.raises(error, match=message):
            tally(FRAME, [Count(text, equals=True)])
    with pytest.raises(BayesDPError):
        tally(FRAME, [Sum("steps", bounds=(0, 1), where=text)])


def test_a_condition_is_true_or_false() -> None:
    assert tally(FRAME, [Count("steps > 0", isin=[1, 0.0])])[0].counts == (4,)
    assert tally(FRAME, [Count("steps > 0", isin=["true", "False"])])[0].counts == (4,)
    for value in ("yes", 2, 0.5):
        with pytest.raises(QueryError, match=f"the values of 'steps > 0' are true and false, not {value!r}"):
            tally(FRAME, [Count("steps > 0", equals=value)])
    with pytest.raises(QueryError, match="cannot sum 'steps > 0': it is not numeric"):
        tally(FRAME, [Sum("steps > 0", bounds=(0, 1))])


def test_a_column_comes_before_a_condition_of_the_same_name() -> None:
    frame = pl.DataFrame({"a > 0": [5, 5, 7], "a": [1, -1, 1]})
    assert tally(frame, [Count("a > 0", equals=5)])[0].counts == (2,)
    assert tally(frame, [Count("a", equals=1, where="a > 0")])[0].counts == (2,)
