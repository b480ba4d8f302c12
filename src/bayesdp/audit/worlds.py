"""The former name of `bayesdp.audit.neighbouring_tables`; it goes with the next version."""

from bayesdp._support.lazy import renamed

__getattr__ = renamed(
    __name__,
    "bayesdp.audit.neighbouring_tables",
    {"Worlds": "NeighbouringTables", "pairs_of_worlds": "pairs_of_neighbouring_tables"},
)
