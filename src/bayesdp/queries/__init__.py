"""Queries, one in each file. Messages and the command line list them in the order of the imports here."""

# isort: off
from bayesdp.queries.ledger_key import LedgerKey
from bayesdp.queries.query import Query, Value, query_from_dict
from bayesdp.queries.count import Count
from bayesdp.queries.sum import Sum
from bayesdp.queries.mean import Mean
from bayesdp.queries.histogram import Histogram
from bayesdp.queries.proportion import Proportion
from bayesdp.queries.variance import Variance
from bayesdp.queries.quantile import Median, Quantile
from bayesdp.queries.any_mechanism import AnyMechanism
from bayesdp.queries.averaged import Averaged
from bayesdp.queries.clipped import Clipped
from bayesdp.queries.counting import Counting
# isort: on

__all__ = [
    "AnyMechanism",
    "Averaged",
    "Clipped",
    "Count",
    "Counting",
    "Histogram",
    "LedgerKey",
    "Mean",
    "Median",
    "Proportion",
    "Quantile",
    "Query",
    "Sum",
    "Value",
    "Variance",
    "query_from_dict",
]
