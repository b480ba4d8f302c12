"""What is asked: counts, sums, means and histograms."""

from bayesdp.queries.kinds import Count, Histogram, Mean, Query, Sum, query_from_dict

__all__ = ["Count", "Histogram", "Mean", "Query", "Sum", "query_from_dict"]
