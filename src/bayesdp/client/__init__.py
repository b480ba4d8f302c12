"""Releases from a server that holds the data: the same questions, the same answers, and no table on this machine.

This package and what it imports are also distributed alone, as bayesdp-client (packaging/client).
"""

from bayesdp.client.description import Description
from bayesdp.client.remote import Remote, RemoteDataset, connect

__all__ = ["Description", "Remote", "RemoteDataset", "connect"]
