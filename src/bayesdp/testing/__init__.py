"""The suite every theorem must pass, for our own theorems and for yours.

    from bayesdp.testing import TheoremContract, chain_cases

    class TestMyTheorem(TheoremContract):
        theorem = MyTheorem()
        cases = chain_cases()
        refused = [(Independent(), Count(equals=1))]

Run it with pytest. It needs `pip install "bayesdp[testing]"`.
"""

from importlib.util import find_spec

from bayesdp.errors import MissingDependencyError

for _needed in ("hypothesis", "pytest"):
    if find_spec(_needed) is None:
        raise MissingDependencyError(
            f'the theorem suite needs {_needed}, which is not installed; get it with: pip install "bayesdp[testing]"'
        )

from bayesdp.testing.cases import (  # noqa: E402
    Case,
    chain_cases,
    every_case,
    gaussian_cases,
    group_cases,
    independent_cases,
    transition_matrices,
)
from bayesdp.testing.contract import TheoremContract  # noqa: E402
from bayesdp.testing.odds_cases import hidden_markov_cases, network_cases, tree_cases  # noqa: E402

__all__ = [
    "Case",
    "TheoremContract",
    "chain_cases",
    "every_case",
    "gaussian_cases",
    "group_cases",
    "hidden_markov_cases",
    "independent_cases",
    "network_cases",
    "transition_matrices",
    "tree_cases",
]
