"""A real PostgreSQL that fails at every moment: nothing is lost or charged twice, and no answer is without its charge.

Clients connect through a proxy on loopback, which cuts connections between any two messages; the server is stopped, its
backends are terminated, and its clients have clocks of their own.
"""

import itertools
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import bayesdp as bdp
from bayesdp.errors import LedgerError
from bayesdp.ledger import Account, Charge, Ledger, State, database
from tests_support import PostgreSQL

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("faults")]
