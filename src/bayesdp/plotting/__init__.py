"""Plots of leakages, calibrations, budgets, diagnoses and beliefs."""
