"""Helpers for all packages: validation, JSON documents, files, printing, progress, names that load when used."""
