"""What was spent: an append-only, hash-chained account of every release, in a SQLite file or in PostgreSQL.

The ledger keeps budgets and losses, and admits no uncharged release. Theorems, models and noise belong to other
packages. A release is charged in a transaction of its own, which is durable before the noise is drawn: a crash leaves
the charge without an answer, never the reverse. The ledger stores what it is given, so give it released values and
public descriptions only, never records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesdp._support.documents import fingerprint
from bayesdp._support.lazy import lazily
from bayesdp.queries.region import Region

if TYPE_CHECKING:
    from bayesdp.ledger.ledger import Account, Ledger
    from bayesdp.ledger.location import default_ledger
    from bayesdp.ledger.postings import Requester
    from bayesdp.ledger.records import Charge, Check, Entry, Pending, Receipt, State, Total, Verification

__all__ = [
    "Account",
    "Charge",
    "Check",
    "Entry",
    "Ledger",
    "Pending",
    "Receipt",
    "Region",
    "Requester",
    "State",
    "Total",
    "Verification",
    "default_ledger",
    "fingerprint",
]

_HOMES = {
    "Account": "ledger",
    "Charge": "records",
    "Check": "records",
    "Entry": "records",
    "Ledger": "ledger",
    "Pending": "records",
    "Receipt": "records",
    "Requester": "postings",
    "State": "records",
    "Total": "records",
    "Verification": "records",
    "default_ledger": "location",
}

__getattr__ = lazily(__name__, _HOMES, globals())
