"""Attacks from outside, to be run again after every change: `cd benchmarks && python -m attacks.races --short`."""
