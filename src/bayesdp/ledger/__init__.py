"""What was spent: an append-only, hash-chained account of every release, in a SQLite file or in PostgreSQL.

The ledger knows no theorem, no model's mathematics and no noise: it keeps budgets and τ's, and lets nobody pass. A
release is charged in a transaction of its own and that is durable before the noise is drawn: a crash leaves the charge
and no answer, never the reverse. The ledger stores what it is given, so give it released values and public descriptions
only, never records.
"""

from bayesdp._support.documents import fingerprint
from bayesdp.ledger.ledger import Account, Ledger
from bayesdp.ledger.location import default_ledger
from bayesdp.ledger.records import Charge, Check, Entry, Pending, Receipt, State, Total, Verification

__all__ = [
    "Account",
    "Charge",
    "Check",
    "Entry",
    "Ledger",
    "Pending",
    "Receipt",
    "State",
    "Total",
    "Verification",
    "default_ledger",
    "fingerprint",
]
