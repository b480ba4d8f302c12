"""The line of an entry, whatever stands around it."""

import tomllib

import pytest

from bayesdp.server.toml_lines import line_of

TEXT = '''\
# a comment = 1
"quoted key" = 1

a.b.c = 2  # dotted
text = """
[no.table]
key = 'nothing'
"""
list = [
  "one]", # = 3
  { x = 1 },
]
[table]
inline = { inner = { deep = true }, other = "a = b" }

[table."with dots.inside"]
last = 1
[[rows]]
value = 1
[[rows]]

value = 2
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("quoted key",), 2),
        (("a",), 4),
        (("a", "b", "c"), 4),
        (("text",), 5),
        (("list",), 9),
        (("list", 1, "x"), 9),
        (("table",), 13),
        (("table", "inline", "inner", "deep"), 14),
        (("table", "with dots.inside"), 16),
        (("table", "with dots.inside", "last"), 17),
        (("rows", 0, "value"), 19),
        (("rows", 1, "value"), 22),
    ],
)
def test_an_entry_is_found_on_its_line(path: tuple[str | int, ...], line: int) -> None:
    assert line_of(TEXT, path) == line
    tomllib.loads(TEXT)


def test_a_missing_entry_has_the_line_of_its_table() -> None:
    assert line_of(TEXT, ("table", "inline", "nothing")) == 14
    assert line_of(TEXT, ("rows", 1, "nothing", "at", "all")) == 20
    assert line_of(TEXT, ("nothing",)) == 1
    assert line_of("", ()) == 1
