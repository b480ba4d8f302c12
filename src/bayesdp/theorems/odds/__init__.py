"""Bounded odds: theorems that need one number for each dependence instead of a model of it."""
