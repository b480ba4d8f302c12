"""Models without data: every one can be built from what the form begins with, and refuses nonsense in words."""

import pytest

from bayesdp.errors import BayesDPError
from bayesdp.explorer.assumed import ASSUMPTIONS
from bayesdp.explorer.choices import Choices


@pytest.mark.parametrize("name", ASSUMPTIONS)
def test_the_form_begins_with_a_model(name: str) -> None:
    assumption = ASSUMPTIONS[name]
    assert isinstance(assumption.built(Choices()), assumption.model)
    assert set(assumption.fields) <= set(Choices.names())


@pytest.mark.parametrize(
    ("name", "field", "text"),
    [
        ("chain", "stay_first", "1.2"),
        ("chain", "length", "0"),
        ("odds", "odds", "0.5"),
        ("normal", "correlation", "1.5"),
        ("groups", "group_size", "many"),
    ],
)
def test_nonsense_is_refused(name: str, field: str, text: str) -> None:
    with pytest.raises(BayesDPError):
        ASSUMPTIONS[name].built(Choices.read({field: text}))
