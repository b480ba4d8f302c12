"""Theorems about Markov chains: for any mechanism, and for counts."""
