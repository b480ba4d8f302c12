"""Markov chains: what is proven of any mechanism, and of counts."""
