"""The former name of the module of neighbouring tables."""

import pytest

from bayesdp.audit import neighbouring_tables, worlds


@pytest.mark.parametrize(
    ("old", "new"), [("Worlds", "NeighbouringTables"), ("pairs_of_worlds", "pairs_of_neighbouring_tables")]
)
def test_former_names_work_with_a_warning(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"neighbouring_tables.{new}"):
        assert getattr(worlds, old) is getattr(neighbouring_tables, new)


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="worlds"):
        _ = worlds.nothing
