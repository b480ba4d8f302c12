"""Models: assumptions about how records are correlated."""

from bayesdp.models.any_of import AnyOf
from bayesdp.models.arbitrary import ArbitraryGroups
from bayesdp.models.base import SCHEMA, Model
from bayesdp.models.chain import CHAIN_OPTIONS, Chain
from bayesdp.models.fit_option import MISSING, RECORD, FitOption
from bayesdp.models.gaussian import GaussianGroups
from bayesdp.models.hidden_markov import HiddenMarkov
from bayesdp.models.independent import Independent
from bayesdp.models.layout import ChainLayout, GroupLayout
from bayesdp.models.markov import MarkovChain
from bayesdp.models.moments import AnovaMoments, Moments
from bayesdp.models.network import Network
from bayesdp.models.odds_chain import OddsChain
from bayesdp.models.odds_series import OddsSeries
from bayesdp.models.series import GaussianSeries

__all__ = [
    "CHAIN_OPTIONS",
    "MISSING",
    "RECORD",
    "SCHEMA",
    "AnovaMoments",
    "AnyOf",
    "ArbitraryGroups",
    "Chain",
    "ChainLayout",
    "FitOption",
    "GaussianGroups",
    "GaussianSeries",
    "GroupLayout",
    "HiddenMarkov",
    "Independent",
    "MarkovChain",
    "Model",
    "Moments",
    "Network",
    "OddsChain",
    "OddsSeries",
]
