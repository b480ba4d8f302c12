"""Theorems about clipped sums of normal records."""
