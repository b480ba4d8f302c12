"""Models ask a table only what `TableView` offers, and believe its answers: here a table that is made up."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from bayesdp import ArbitraryGroups, GaussianGroups, MarkovChain, Model, Network
from bayesdp._support.validation import Values
from bayesdp.errors import RecordsError
from bayesdp.models.layout import ChainLayout
from bayesdp.models.view import Chains, TableView


@dataclass
class MadeUp:
    """A table with one chain and one largest group, that keeps what it was asked."""

    longest: int = 4
    unbroken: bool = True
    name: str = "a table"
    asked: list[object] = field(default_factory=list)

    def chains(self, subject: str, states: Values, layout: ChainLayout | None) -> Chains:
        self.asked.append((subject, tuple(states), layout))
        return Chains(self.longest, self.unbroken)

    def largest_group(self, group: Sequence[str], value: str | None = None) -> int:
        self.asked.append((tuple(group), value))
        return self.longest

    def roles(self, group: Sequence[str], role: str, value: str | None = None) -> dict[str, int]:
        self.asked.append((tuple(group), role, value))
        return {"father": 1, "child": self.longest}


CHAIN = MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["a", "b"], column="s", length=4, layout=ChainLayout("t", step=1))


def test_a_chain_asks_the_table_for_its_states_in_its_order() -> None:
    table = MadeUp()
    assert CHAIN.check_table(table) == CHAIN
    assert table.asked == [("s", ("a", "b"), ChainLayout("t", step=1))]
    assert CHAIN.check_table(MadeUp(unbroken=False)).gaps


@pytest.mark.parametrize(
    "model",
    [
        CHAIN,
        ArbitraryGroups(4, group="g"),
        GaussianGroups(correlation=0.2, size=4).located(value="v", group="g"),
        Network(odds=1.5, degree=2, records=4, group="g"),
    ],
    ids=lambda model: model.kind,
)
def test_what_is_larger_than_the_model_says_is_refused_and_named(model: Model) -> None:
    table: TableView = MadeUp(4)
    assert model.check_table(table) == model
    with pytest.raises(RecordsError, match=r"a table .*5"):
        model.check_table(MadeUp(5))
