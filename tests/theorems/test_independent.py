from bayesdp import ArbitraryGroups, Count, GaussianGroups, MarkovChain
from bayesdp.testing import TheoremContract, independent_cases
from bayesdp.theorems.independent import IndependentRecords


class TestIndependentRecords(TheoremContract):
    theorem = IndependentRecords()
    cases = independent_cases()
    refused = (
        (ArbitraryGroups(2), Count(equals=1)),
        (GaussianGroups(correlation=0.1, size=2), Count(equals=1)),
        (MarkovChain([[0.5, 0.5], [0.5, 0.5]]), Count(equals=1)),
    )
