"""How many draws tell a share of a posterior, and which of them has that share on its safe side."""

import pytest
from scipy.stats import binom

from bayesdp.errors import InvalidInputError
from bayesdp.models.posterior import MONTE_CARLO_RISK, chosen_rank, draws_needed


@pytest.mark.parametrize("credibility", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("draws", [200, 1000, 4000])
def test_the_rank_misleads_in_at_most_one_case_of_a_hundred(credibility: float, draws: int) -> None:
    rank = chosen_rank(credibility, draws)
    misled = binom.cdf([rank - 1, rank], draws, 1 - credibility)
    assert misled[0] <= MONTE_CARLO_RISK * (1 + 1e-9) < misled[1] * (1 + 1e-6)


@pytest.mark.parametrize("credibility", [0.1, 0.95, 0.999, 0.99999])
def test_there_are_enough_draws_for_a_first_rank(credibility: float) -> None:
    assert chosen_rank(credibility, draws_needed(credibility, None)) >= 1


def test_too_few_and_too_many_draws_are_refused() -> None:
    for draws in (10, 10**7, 0, 1.5):
        with pytest.raises(InvalidInputError):
            draws_needed(0.95, draws)  # type: ignore[arg-type]
    for credibility in (0, 1, 1 - 1e-9, float("nan")):
        with pytest.raises(InvalidInputError):
            draws_needed(credibility, None)
