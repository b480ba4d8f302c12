"""Aggregates of tables: sums, counts, transitions and moments, computed in the table's own engine."""
