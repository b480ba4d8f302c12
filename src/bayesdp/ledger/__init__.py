"""What was spent: an append-only, hash-chained account of every release, in a SQLite file or in PostgreSQL.

The ledger keeps budgets and losses, and admits no uncharged release. Theorems, models and noise belong to other
packages. A release is charged in a transaction of its own, which is durable before the noise is drawn: a crash leaves
the charge without an answer, never the reverse. The ledger stores what it is given, so give it released values and
public descriptions only, never records.
"""

from bayesdp._support.documents import fingerprint
from bayesdp.ledger.ledger import Account, Ledger
from bayesdp.ledger.location import default_ledger
from bayesdp.ledger.postings import Requester
from bayesdp.ledger.records import Charge, Check, Entry, Pending, Receipt, State, Total, Verification
from bayesdp.queries.region import Region

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
