"""Default ledger location: one for each user, so that the same table has one account in every folder."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["VARIABLE", "default_ledger", "user_ledger"]

VARIABLE = "BAYESDP_LEDGER"


def default_ledger() -> str | Path:
    """Return the ledger that is used when none is named: the one in BAYESDP_LEDGER, else the user's own."""
    return os.environ.get(VARIABLE, "").strip() or user_ledger()


def user_ledger() -> Path:
    """Return the file of the user's own ledger. Its folder is made, for the user alone, together with the ledger."""
    from platformdirs import user_data_path

    return user_data_path("bayesdp", appauthor=False) / "ledger.db"
