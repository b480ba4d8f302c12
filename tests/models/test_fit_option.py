"""What the models declare of their `fit`: names, examples and where records are."""

from inspect import signature

import pytest

from bayesdp import Model
from bayesdp.models.fit_option import FitOption

FITTED = [model for model in Model.types().values() if model.fit_options and model.__module__.startswith("bayesdp.")]
DIAGNOSED = [model for model in FITTED if model.diagnose is not Model.diagnose]


def test_the_flag_is_the_keyword_with_hyphens() -> None:
    assert FitOption("order_by", "the order.").flag == "--order-by"
    assert FitOption("value", "the value.").flag == "--value"


@pytest.mark.parametrize("model", FITTED, ids=lambda model: model.kind)
def test_names_stand_once_and_what_is_required_has_an_example(model: type[Model]) -> None:
    names = [option.name for option in model.fit_options]
    assert sorted(set(names)) == sorted(names)
    for option in model.fit_options:
        assert option.name in signature(model.fit).parameters
        assert option.help.endswith(".")
        assert not (option.required and option.default is not None)
        assert option.example is not None or not option.required


@pytest.mark.parametrize("model", DIAGNOSED, ids=lambda model: model.kind)
def test_what_locates_records_is_a_keyword_of_diagnose(model: type[Model]) -> None:
    keywords = signature(model.diagnose).parameters
    assert {option.name for option in model.fit_options if option.locates} <= set(keywords)
