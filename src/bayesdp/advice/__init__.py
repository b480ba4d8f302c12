"""Advice on models: priced assumptions, the verdict of a table on each, and the leakage if one is wrong."""
