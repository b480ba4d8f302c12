"""The API reference: what is public is on it, and is documented."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import pytest

import bayesdp
from bayesdp import errors
from bayesdp.errors import FrameError
from tools.docs import documented, reference
from tools.docs.navigation import ROOT
from tools.docs.outputs import parted

PAGES = ROOT / "docs" / "api"


def test_everything_public_is_documented() -> None:
    assert list(documented.undocumented()) == []


def test_everything_that_people_type_is_on_a_page_once() -> None:
    listed = reference.listed(PAGES)
    assert len(set(listed)) == len(listed)
    for name in bayesdp.__all__:
        if not inspect.ismodule(getattr(bayesdp, name)):  # the names of a module are there
            assert f"bayesdp.{name}" in listed, f"name {name} on a page in docs/api/"
    assert {name for name in errors.__all__ if f"bayesdp.errors.{name}" not in listed} == {"BayesDPError"}
    for address in listed:
        assert reference.resolved(address) is not None


def test_every_excuse_for_having_no_example_is_needed() -> None:
    assert documented.NO_EXAMPLE.keys() <= set(bayesdp.__all__)
    for name in documented.NO_EXAMPLE:
        assert ">>>" not in (getattr(bayesdp, name).__doc__ or ""), name


def bare(frame: object, tau: float, reach: int) -> None:
    """Look at a table with that τ."""
    raise FrameError("never")


class Described:
    """A class with a `size`."""

    def __init__(self, size: int, width: int) -> None:
        self.size, self.width = size, width

    def grown(self, size: int, by: int) -> int:
        """Return a larger one; FrameError if there is none."""
        raise FrameError("never")

    @classmethod
    def made(cls, width: int, *others: int, **options: int) -> None:
        """Make one."""


@pytest.mark.parametrize(
    ("member", "said"),
    [
        (bare, ["m: does not say what reach is", "m: does not say when it raises FrameError"]),
        (
            Described,
            [
                "m: does not say what width is",
                "m.grown: does not say what by is",
                "m.made: does not say what width is",
            ],
        ),
    ],
)
def test_what_a_docstring_lacks_is_named(member: object, said: Sequence[str]) -> None:
    assert list(documented.incomplete("m", member)) == said


@pytest.mark.parametrize(
    ("lines", "rest"),
    [
        (["Say `x_` to x_ and *y*, |z|."], ["Say ``x_`` to x\\_ and \\*y\\*, \\|z\\|.", ""]),
        (["`Count`s."], ["``Count``\\ s.", ""]),
        (
            ["tau: how private,", "     in all.", "*rest: others."],
            [":param tau: how private, in all.", ":param *rest: others.", ""],
        ),
        (["entry, head: of the ledger."], [":param entry: of the ledger.", ":param head: of the ledger.", ""]),
        (["Note: this is", "prose."], ["Note: this is prose.", ""]),
        (["- one", "  and more", "- two"], ["- one", "  and more", "- two", ""]),
        (["    import this"], ["::", "", "    import this", ""]),
        ([">>> 1 + 1", "2"], [">>> 1 + 1", "2", ""]),
        (["Raises FrameError."], ["Raises :py:exc:`~bayesdp.errors.FrameError`.", ""]),
        (["Raises BayesDPError or OSError."], ["Raises :py:exc:`~bayesdp.BayesDPError` or OSError.", ""]),
    ],
)
def test_a_docstring_becomes_what_sphinx_reads(lines: list[str], rest: list[str]) -> None:
    assert reference.as_rest(lines) == rest


def test_a_backtick_that_is_left_open_is_refused() -> None:
    with pytest.raises(ValueError, match="a backtick is open: Say `x"):
        reference.as_rest(["Say `x."])


def test_sentences_beside_a_table_of_text_are_a_piece_of_their_own() -> None:
    table = "day         total  off by\n----------  -----  ------\n2026-01-01     24      28"
    after = "Of 20 totals, that after 20 days has the largest error."
    assert parted(f"So far:\n{table}\n{after}\n") == [(False, "So far:"), (True, table), (False, after)]
    assert parted(f"$ show\n\n{table}\n$ other") == [(False, "$ show"), (True, table), (False, "$ other")]
    assert parted("no\n---\ntable\n") == [(False, "no\n---\ntable\n")]
