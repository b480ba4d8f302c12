"""Theorems about bounded odds: one number for each dependence instead of a model of it."""
