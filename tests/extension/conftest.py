"""Makes the extension importable as a package; it is not collected as tests."""

import sys
from pathlib import Path

collect_ignore = ["twins.py"]
sys.path.insert(0, str(Path(__file__).parent))
