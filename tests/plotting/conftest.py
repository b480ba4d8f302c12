"""Pictures of answers are drawn of those that the tests of sessions share."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "session"))
