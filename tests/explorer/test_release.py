"""The release that a holder signs: what it needs, and that it is charged once."""

from dataclasses import replace
from pathlib import Path
from random import Random

import polars
import pytest

from bayesdp import Answer
from bayesdp.errors import InvalidInputError
from bayesdp.explorer.choices import Choices
from bayesdp.explorer.code import release_script
from bayesdp.explorer.explored_file import ExploredFile
from bayesdp.explorer.priced_assumptions import PricedAssumptions, priced_assumptions_of
from bayesdp.explorer.release import ReleaseOrder, Signed, order_of
from bayesdp.ledger import Ledger

CHOSEN = Choices(kind="sum", column="height", low="150", high="190", group="family")


@pytest.fixture(scope="module")
def explored(tmp_path_factory: pytest.TempPathFactory) -> ExploredFile:
    draw = Random(3)
    means = [draw.gauss(170, 5) for _ in range(80)]
    rows = [{"family": family, "height": draw.gauss(mean, 5)} for family, mean in enumerate(means) for _ in range(3)]
    path = tmp_path_factory.mktemp("families") / "families.csv"
    polars.DataFrame(rows).write_csv(path)
    return ExploredFile.of(path)


@pytest.fixture(scope="module")
def priced(explored: ExploredFile) -> PricedAssumptions:
    return priced_assumptions_of(explored, CHOSEN)


@pytest.fixture
def signed(tmp_path: Path) -> Signed:
    return Signed("families", str(tmp_path / "ledger.db"), "2", "A. Holder", "")


def released(order: ReleaseOrder) -> Answer:
    """Release, and return the one answer."""
    answer = order.released()
    assert isinstance(answer, Answer)
    return answer


def test_a_second_release_is_the_first_again(explored: ExploredFile, priced: PricedAssumptions, signed: Signed) -> None:
    order = order_of(explored, CHOSEN, priced, signed)
    preview, first, second = order.previewed(), released(order), released(order)
    assert preview.epsilon == pytest.approx(first.epsilon)
    assert (first.value, first.by) == (second.value, "A. Holder")
    assert first.epsilon == pytest.approx(1, rel=1e-3)
    assert second.reused
    with Ledger(signed.ledger, create=False) as ledger:
        assert len(ledger.entries("families", "charge")) == 1


def test_a_column_that_divides_is_declared_public(priced: PricedAssumptions, signed: Signed) -> None:
    chosen = replace(CHOSEN, public="family", cells="1,2")
    order = order_of(ExploredFile("table", "families.csv"), chosen, replace(priced, choices=chosen), signed)
    assert order.account["public"] == ["family"]


def test_the_delta_of_the_page_is_that_of_the_account(
    explored: ExploredFile, priced: PricedAssumptions, signed: Signed
) -> None:
    answer = released(order_of(explored, replace(CHOSEN, definition="approximate"), priced, signed))
    assert answer.delta == 1e-6


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [("name", " ", "your name"), ("dataset", "", "the data set"), ("ledger", "", "ledger"), ("budget", "x", "budget")],
)
def test_what_is_not_signed_is_not_released(
    explored: ExploredFile, priced: PricedAssumptions, signed: Signed, field: str, text: str, said: str
) -> None:
    with pytest.raises(InvalidInputError, match=said):
        order_of(explored, CHOSEN, priced, replace(signed, **{field: text}))


def test_a_contradicted_assumption_needs_a_reason(
    explored: ExploredFile, priced: PricedAssumptions, signed: Signed, capsys: pytest.CaptureFixture[str]
) -> None:
    denied = replace(CHOSEN, assumption="independent")
    with pytest.raises(InvalidInputError, match="contradicts the assumption 'independent'"):
        order_of(explored, denied, priced, signed)
    order = order_of(explored, denied, priced, replace(signed, reason="a comparison"))
    answer = released(order)
    assert answer.accepted == "a comparison"
    assert answer.denied
    exec(release_script(order, priced.advice.next_steps), {})
    assert "Released before" in capsys.readouterr().out


def test_other_choices_than_the_priced_ones_are_refused(
    explored: ExploredFile, priced: PricedAssumptions, signed: Signed
) -> None:
    with pytest.raises(InvalidInputError, match="choose a question"):
        order_of(explored, replace(CHOSEN, high="200"), priced, signed)
    with pytest.raises(InvalidInputError, match="choose a question"):
        order_of(explored, CHOSEN, None, signed)
