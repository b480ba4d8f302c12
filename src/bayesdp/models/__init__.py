"""What is assumed about how records are correlated."""

from bayesdp.models.any_of import AnyOf
from bayesdp.models.arbitrary import ArbitraryGroups
from bayesdp.models.base import SCHEMA, Model
from bayesdp.models.gaussian import GaussianGroups, Moments
from bayesdp.models.independent import Independent
from bayesdp.models.markov import MarkovChain

__all__ = ["SCHEMA", "AnyOf", "ArbitraryGroups", "GaussianGroups", "Independent", "MarkovChain", "Model", "Moments"]
