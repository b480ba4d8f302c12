"""Test suites that every theorem must pass, built in or registered.

    from bayesdp.testing import TheoremContract, chain_cases

    class TestMyTheorem(TheoremContract):
        theorem = MyTheorem()
        cases = chain_cases()
        refused = [(Independent(), Count(equals=1))]

If your theorem also holds against side information, add a second class that inherits `SideInformationContract` and sets
`laws` instead of `cases`. If it covers every mechanism, and so lifts to (ε, δ), add a class that inherits
`ApproximateContract`. Run the classes with pytest. They need `pip install "bayesdp[testing]"`.
"""

from importlib.util import find_spec

from bayesdp.errors import MissingDependencyError

for _needed in ("hypothesis", "pytest"):
    if find_spec(_needed) is None:
        raise MissingDependencyError(
            f'the test suites need {_needed}, which is not installed; install it with: pip install "bayesdp[testing]"'
        )

from bayesdp.testing.cases import (  # noqa: E402
    Case,
    chain_cases,
    every_case,
    gaussian_cases,
    group_cases,
    independent_cases,
    memory_cases,
    transition_matrices,
    walk_cases,
)
from bayesdp.testing.contract import ApproximateContract, SideInformationContract, TheoremContract  # noqa: E402
from bayesdp.testing.laws import (  # noqa: E402
    Law,
    additive_laws,
    chain_laws,
    group_laws,
    hidden_chain_laws,
    independent_laws,
    markov_laws,
    memory_chain_laws,
    network_laws,
    release_cases,
    series_laws,
    side_information,
    tree_laws,
)

__all__ = [
    "ApproximateContract",
    "Case",
    "Law",
    "SideInformationContract",
    "TheoremContract",
    "additive_laws",
    "chain_cases",
    "chain_laws",
    "every_case",
    "gaussian_cases",
    "group_cases",
    "group_laws",
    "hidden_chain_laws",
    "independent_cases",
    "independent_laws",
    "markov_laws",
    "memory_cases",
    "memory_chain_laws",
    "network_laws",
    "release_cases",
    "series_laws",
    "side_information",
    "transition_matrices",
    "tree_laws",
    "walk_cases",
]
