"""The question that choices ask: the same as on the command line, and never one with a value from the table."""

import pytest

from bayesdp import Count, GaussianGroups, Histogram, MarkovChain, Mean, Sum
from bayesdp.errors import BayesDPError, QueryError
from bayesdp.explorer.choices import Choices
from bayesdp.explorer.question import KINDS, model_and_query
from bayesdp.queries import Query

FITTED = MarkovChain.from_counts([[50, 7], [9, 40]], states=["attic", "hall"], length=200)
NUMBERS = GaussianGroups(correlation=0.3, size=3)


def test_every_kind_with_a_known_accuracy_can_be_asked() -> None:
    assert set(KINDS) == {kind for kind, query in Query.kinds().items() if not query.unforeseen}
    for kind in KINDS:
        assert model_and_query(Choices(kind=kind), NUMBERS)[1].kind == kind


def test_choices_become_questions() -> None:
    assert model_and_query(Choices(kind="sum", low="-1", high="2.5"), NUMBERS)[1] == Sum(bounds=(-1, 2.5))
    assert model_and_query(Choices(kind="mean", size="50"), NUMBERS)[1] == Mean(bounds=(0, 100), size=50)
    assert model_and_query(Choices(kind="histogram", values="hall, attic"), FITTED)[1] == Histogram(
        cells=["hall", "attic"]
    )
    assert model_and_query(Choices(values="1"), MarkovChain([[0.5, 0.5], [0.5, 0.5]], states=["0", "1"]))[1] == Count(
        equals="1"
    )


def test_states_of_a_fitted_model_are_neither_listed_nor_guessed() -> None:
    for values in ("", "cellar"):
        with pytest.raises(QueryError) as refused:
            model_and_query(Choices(values=values), FITTED)[0].check_query(
                model_and_query(Choices(values=values), FITTED)[1]
            )
        assert "attic" not in str(refused.value)
        assert "hall" not in str(refused.value)
    with pytest.raises(QueryError, match="adds up the states"):
        model_and_query(Choices(kind="sum"), MarkovChain.from_counts([[5, 2], [2, 5]], states=[981, 982]))


@pytest.mark.parametrize(
    "chosen", [Choices(kind="median"), Choices(kind="no"), Choices(kind="sum", low="x"), Choices(kind="mean", size="")]
)
def test_what_is_no_question_is_refused(chosen: Choices) -> None:
    with pytest.raises(BayesDPError):
        model_and_query(chosen, NUMBERS)
