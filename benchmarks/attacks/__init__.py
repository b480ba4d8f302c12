"""Attacks from outside; run them after every change: `cd benchmarks && python -m attacks.races --short`."""
